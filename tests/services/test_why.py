"""Why a row is in a traced answer or not, on real stores: every bound has a pair of calls with one row across it."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryconsole import search
from memoryconsole.models import (
    Association,
    EntityAlias,
    Mention,
    Record,
    Store,
    StoreCounter,
    Summary,
    Trace,
)
from memoryconsole.search import retrieve, words
from tests.api.test_walk import declare, mention, relate
from tests.conftest import make_client, make_store, make_user
from tests.properties import examples
from tests.search.builders import ChosenCosines, add, add_summary, running

Verdict = dict[str, Any]
Ask = Callable[..., str]


@pytest.fixture(autouse=True)
def _by_words_alone() -> Iterator[None]:
    """Tests that compare vectors choose them."""
    with running(None):
        yield


@pytest.fixture
def ask(api, store):
    """Ask, and the id of the trace that was left."""

    def ask(query: str, operation: str = "reconstruct", status: int = 200, **members: Any) -> str:
        answer = api.post(
            f"/api/v1/stores/{store.public_id}/{operation}", {"query": query, **members}, format="json"
        )
        assert answer.status_code == status, answer.content
        return answer.headers["Trace-Id"]

    return ask


@pytest.fixture
def why(api):
    def why(trace: str, ref: str) -> Verdict:
        answer = api.get(f"/api/v1/traces/{trace}/why?ref={ref}")
        assert answer.status_code == 200, answer.content
        told = answer.json()
        assert told["ref"] == ref
        return told

    return why


def short(told: Verdict) -> tuple[str, str, int | None]:
    return told["verdict"], told["bound"], told["by"]


def path(told: Verdict, name: str) -> Verdict:
    (found,) = [each for each in told["paths"] if each["path"] == name]
    return found


def rows(store: Store, refs: list[str]) -> list[Record]:
    found = {record.ref: record for record in Record.objects.filter(store=store)}
    return [found[ref] for ref in refs]


# What is in.


def test_a_head_an_excerpt_and_a_claim_are_in(ask, why, say):
    message = {"message_id": "m", "source": {"type": "User", "id": "u"}}
    first, second, third = say(
        {"content": "walrus " + "a" * 293, "timestamp": "2026-01-01T10:00:00Z", **message},
        {"content": "walrus " + "b" * 293, "timestamp": "2026-01-01T11:00:00Z", **message},
        {"content": "walrus " + "c" * 293, "timestamp": "2026-01-01T12:00:00Z", **message},
    )
    trace = ask("walrus", budget=600)
    told = [why(trace, ref) for ref in (first, second, third)]
    assert sorted(each["bound"] for each in told) == ["claim", "excerpt", "head"]
    assert {each["verdict"] for each in told} == {"in"}
    (claim,) = [each for each in told if each["bound"] == "claim"]
    assert (claim["value"], claim["limit"], claim["by"], claim["unit"]) == (900, 600, 300, "characters")
    assert why(ask("walrus", budget=900), claim["ref"])["bound"] == "excerpt"
    assert short(why(ask("walrus", budget=899), claim["ref"])) == ("in", "claim", 1)
    assert [each.get("superseded_by") for each in told] == [second, third, None]


# The bounds of the answer.


def test_count(ask, why, say):
    say("walrus", "walrus", "walrus", "walrus")
    assert short(why(ask("walrus", count=1), "mem:1")) == ("out", "beyond_count", 3)
    assert short(why(ask("walrus", count=3), "mem:1")) == ("out", "beyond_count", 1)
    assert short(why(ask("walrus", count=4), "mem:1")) == ("in", "head", None)
    told = why(ask("walrus", count=0), "mem:1")
    assert short(told) == ("out", "count_zero", 4)
    assert told["sentence"].startswith("mem:1 was the 4th of 4 candidates")


def test_budget(ask, why, say):
    say("walrus " + "a" * 393, "walrus " + "b" * 393)
    (out,) = [
        ref for ref in ("mem:1", "mem:2") if why(ask("walrus", count=2, budget=500), ref)["verdict"] == "out"
    ]
    assert short(why(ask("walrus", count=2, budget=500), out)) == ("out", "budget", 300)
    assert short(why(ask("walrus", count=2, budget=799), out)) == ("out", "budget", 1)
    assert short(why(ask("walrus", count=2, budget=800), out)) == ("in", "head", None)


def test_max_evidence_of_candidates(ask, why, say):
    say(
        *(
            {"content": f"walrus {n}", "message_id": "m", "timestamp": f"2026-01-0{n}T10:00:00Z"}
            for n in (1, 2, 3)
        )
    )
    last = next(ref for ref in ("mem:1", "mem:2") if why(ask("walrus", max_evidence=1), ref)["by"] == 2)
    assert short(why(ask("walrus", max_evidence=1), last)) == ("out", "max_evidence", 2)
    assert short(why(ask("walrus", max_evidence=2), last)) == ("out", "max_evidence", 1)
    assert why(ask("walrus", max_evidence=3), last)["verdict"] == "in"


@pytest.fixture
def crew(store, say):
    """Twelve rows of two entities, one hop from the only row that holds the word."""
    start, *others = rows(store, say("walrus", *(f"ballast {n}" for n in range(12))))
    pier, hands, tools = declare(store, "pier", "hands", "tools")
    relate(store, (pier, hands), (pier, tools))
    mention(
        store, (pier, start), *((hands, row) for row in others[:6]), *((tools, row) for row in others[4:])
    )
    return [row.ref for row in others]


def test_max_evidence_of_the_walk_counts_the_rows_that_were_not_read(ask, why, crew):
    for ref in crew:
        told = why(ask("walrus", max_evidence=3), ref)
        if told["verdict"] == "in":
            continue
        assert (told["bound"], told["unit"], path(told, "walk")["exact"]) == ("max_evidence", "rows", True)
        assert why(ask("walrus", max_evidence=told["value"]), ref)["verdict"] == "in"
        assert short(why(ask("walrus", max_evidence=told["value"] - 1), ref)) == ("out", "max_evidence", 1)
        assert path(told, "search")["bound"] == "no_evidence"


def test_rows_that_came_later_do_not_move_a_traced_place(ask, why, say, store, crew):
    trace = ask("walrus", max_evidence=3)
    before = {ref: short(why(trace, ref)) for ref in crew}
    late = rows(store, say("late ballast"))
    hands = Mention.objects.filter(store=store, record__number=2).get().entity
    Mention.objects.create(store=store, entity=hands, record=late[0], created_at=timezone.now())
    early = Record.objects.get(store=store, number=10)
    Mention.objects.create(store=store, entity=hands, record=early, created_at=timezone.now())
    assert {ref: short(why(trace, ref)) for ref in crew} == before


@pytest.fixture
def chain(store, say):
    """A row for each of six entities in a line, the first of which the row with the word mentions."""
    start, *others = rows(store, say("walrus", *(f"ballast {n}" for n in range(8))))
    line = declare(store, *(f"stop {n}" for n in range(7)), "island")
    relate(store, *pairwise(line[:7]))
    mention(store, (line[0], start), *zip(line, others, strict=True))
    return [row.ref for row in others]


def test_max_hops(ask, why, chain):
    at_home, *stops, six, island = chain
    for bound in (0, 1, 2, 4):
        trace = ask("walrus", max_hops=bound)
        for hops, ref in enumerate(stops, 1):
            told = short(why(trace, ref))
            assert told == (("out", "max_hops", hops - bound) if hops > bound else ("in", "excerpt", None))
    assert path(why(ask("walrus"), at_home), "walk")["bound"] == "same_entity"
    # Six hops are more than a call may walk.
    assert path(why(ask("walrus", max_hops=1), six), "walk")["bound"] == "no_path"
    assert path(why(ask("walrus", max_hops=5), six), "walk")["by"] == 1
    assert path(why(ask("walrus"), island), "walk")["bound"] == "no_path"


def test_relations_and_mentions_declared_since_are_not_taken_for_old_ones(ask, why, store, say):
    start, aside = rows(store, say("walrus", "ballast"))
    pier, hands = declare(store, "pier", "hands")
    mention(store, (pier, start))
    trace = ask("walrus")
    Mention.objects.create(store=store, entity=hands, record=aside, created_at=timezone.now())
    assert path(why(trace, aside.ref), "walk")["bound"] == "no_mention"
    trace = ask("walrus", max_hops=0)
    Association.objects.create(
        store=store,
        number=1,
        subject_entity=pier,
        predicate="near",
        object_entity=hands,
        declared_at=timezone.now(),
    )
    assert path(why(trace, aside.ref), "walk")["bound"] == "no_path"
    assert short(why(ask("walrus", max_hops=1), aside.ref)) == ("in", "excerpt", None)
    assert short(why(ask("walrus", max_hops=0), aside.ref)) == ("out", "max_hops", 1)


def test_what_was_retracted_since_is_said(ask, why, store, say):
    start, aside = rows(store, say("walrus", "ballast"))
    pier, hands = declare(store, "pier", "hands")
    relate(store, (pier, hands))
    mention(store, (pier, start), (hands, aside))
    trace = ask("walrus")
    assert "changed_since" not in why(trace, aside.ref)
    Association.objects.filter(store=store).delete()
    Mention.objects.filter(store=store, record=aside).delete()
    told = why(trace, aside.ref)
    assert short(told) == ("in", "excerpt", None)
    assert told["changed_since"] == {"mentions_gone": [hands.number], "relations_gone": [1]}


def test_a_walk_needs_an_item_and_a_mention(ask, why, say):
    say("walrus", "ballast")
    assert path(why(ask("walrus"), "mem:2"), "walk")["bound"] == "no_mention"
    assert path(why(ask("walrus", count=0), "mem:2"), "walk")["bound"] == "no_item"


# The bounds of the search.


def test_top_k(ask, why, say):
    say(*("walrus" for _ in range(5)))
    assert short(why(ask("walrus", top_k=2, count=9), "mem:1")) == ("out", "top_k", 3)
    assert short(why(ask("walrus", top_k=4, count=9), "mem:1")) == ("out", "top_k", 1)
    assert short(why(ask("walrus", top_k=5, count=9), "mem:1")) == ("in", "head", None)


def test_top_k_by_score_where_the_place_was_not_kept(ask, why, say, monkeypatch):
    monkeypatch.setattr(retrieve, "NEAR_MISSES", 0)
    say("walrus", "walrus and so on", "walrus and so on and on with more words of no use")
    asked = ask("walrus", top_k=1)
    told = why(asked, "mem:3")
    assert (told["bound"], told["unit"]) == ("top_k", "score")
    assert told["value"] + told["by"] == told["limit"]
    last = Trace.objects.get(pk=asked).seen["candidates"][-1]
    assert told["limit"] == last[1]
    found = Trace.objects.get(pk=ask("walrus", top_k=3)).seen["candidates"]
    assert told["value"] == next(each[1] for each in found if each[0] == "mem:3")
    # As many points as the last one has: it is the tie that decides, and no number says by how much.
    say("walrus")
    tied = why(ask("walrus", top_k=1), "mem:1")
    assert (tied["bound"], tied["by"], tied["value"]) == ("top_k", None, tied["limit"])


@pytest.mark.parametrize("near", [20, 0])
def test_gate_floor(ask, why, say, monkeypatch, near):
    monkeypatch.setattr(retrieve, "NEAR_MISSES", near)
    with running(ChosenCosines({"walrus": 0.9, "salt": 0.4502, "tide": 0.449, "deep": 0.2})):
        say("walrus", "salt", "tide", "deep")
        trace, deep = ask("walrus", count=9), ask("walrus", count=9, deep=True)
    assert why(trace, "mem:2")["verdict"] == "in"
    told = why(trace, "mem:3")
    assert (told["bound"], told["unit"], told["limit"]) == ("gate", "cosine", 4500)
    assert 0 < told["by"] < 30
    assert told["value"] + told["by"] == 4500
    assert why(deep, "mem:3")["verdict"] == "in"
    assert (why(deep, "mem:4")["bound"], why(deep, "mem:4")["limit"]) == ("gate", 2250)


@pytest.mark.parametrize("near", [20, 0])
def test_gate_coverage(ask, why, say, monkeypatch, near):
    monkeypatch.setattr(retrieve, "NEAR_MISSES", near)
    say("walrus pier larkspur meadow", *["the walrus met nobody by the pier"] * 30)
    (low,) = say("walrus")
    question = {"query": "walrus pier larkspur meadow trumpet", "top_k": 100}
    told = why(ask(**question), low)
    assert (told["bound"], told["unit"], told["limit"]) == ("gate", "coverage", 1500)
    assert told["value"] + told["by"] == 1500
    assert told["where"] == {"coverage": [told["value"], 1500], "cosine": [None, 4500], "fallback": False}
    # The row has more than half of the floor, which is the floor of a deep search.
    assert told["value"] >= 750
    assert why(ask(**question, deep=True), low)["bound"] == "beyond_count"


@pytest.mark.parametrize("near", [20, 0])
def test_gate_fallback_wants_a_word(ask, why, say, monkeypatch, near):
    monkeypatch.setattr(retrieve, "NEAR_MISSES", near)
    question = "walrus trumpet orchid meadow larkspur"
    with running(ChosenCosines({"tide": 0.5, "walrus tide": 0.5, "tide walrus": 0.6})):
        say("walrus tide", "tide")
        told = why(ask(question, count=9), "mem:2")
        assert (told["bound"], told["unit"], told["by"]) == ("gate", "words", 1)
        assert why(ask(question, count=9), "mem:1")["verdict"] == "in"
        # Nothing holds a word: only a strong row would come.
        told = why(ask("orchid"), "mem:2")
        assert (told["bound"], told["unit"], told["limit"]) == ("gate", "cosine", 6000)
        assert 900 < told["by"] < 1100


def test_no_evidence(ask, why, say):
    say("walrus", "ballast")
    assert why(ask("walrus"), "mem:2")["bound"] == "no_evidence"
    assert why(ask("ballast"), "mem:2")["verdict"] == "in"


@pytest.mark.parametrize(
    ("row", "asked", "filter_", "has"),
    [
        ({"project_id": "acme"}, {"project_id": "other"}, "project_id", "acme"),
        ({"project_id": "acme"}, {"project_id": ""}, "project_id", "acme"),
        ({"channel": "c"}, {"channel": "d"}, "channel", "c"),
        ({"source": {"type": "User", "id": "ada"}}, {"source_id": "ben"}, "source_id", "ada"),
    ],
)
def test_scope(ask, why, say, row, asked, filter_, has):
    say({"content": "walrus", **row})
    told = why(ask("walrus", **asked), "mem:1")
    assert (told["verdict"], told["bound"]) == ("out", "scope")
    assert told["where"] == {"filter": filter_, "has": has, "asked": asked[filter_]}
    assert [each["bound"] for each in told["paths"]] == ["scope", "scope"]
    assert why(ask("walrus", **{filter_: has}), "mem:1")["verdict"] == "in"


def counted_summary(store: Store, text: str, **fields: Any) -> str:
    summary = add_summary(store, text, **fields)
    StoreCounter.objects.filter(store=store).update(summary=summary.number)
    return summary.ref


def test_summaries_behind_a_source_filter_and_of_summaries(ask, why, store):
    ref = counted_summary(store, "walrus", channel="c")
    assert why(ask("walrus"), ref)["verdict"] == "in"
    told = why(ask("walrus", source_id="ada"), ref)
    assert (told["bound"], told["where"]["filter"]) == ("scope", "source_id")
    assert why(ask("walrus", source_id="ada", channel="c"), ref)["verdict"] == "in"
    trace = ask("tide")
    Summary.objects.filter(store=store).update(source_type="nodes")
    assert why(trace, ref)["bound"] == "not_a_candidate"


def test_recency(ask, why, say, store):
    say("a", "b", "c", "d")
    told = why(ask("", top_k=2, count=9), "mem:1")
    assert (short(told), told["exact"]) == (("out", "recency", 2), True)
    assert short(why(ask("", top_k=3, count=9), "mem:1")) == ("out", "recency", 1)
    assert why(ask("", top_k=4, count=9), "mem:1")["verdict"] == "in"
    trace = ask("", top_k=2, count=9)
    say("e")
    assert short(why(trace, "mem:1")) == ("out", "recency", 2)
    with transaction.atomic():
        Record.objects.filter(store=store, number=2).update(deleted_at=timezone.now())
    told = why(trace, "mem:1")
    assert (short(told), told["exact"]) == (("out", "recency", 1), False)
    assert why(trace, counted_summary(store, "walrus"))["bound"] == "stored_later"


# Rows that are not there, and calls that were not answered.


def test_rows_that_came_later_never_were_or_are_deleted(ask, why, say, api, store):
    say("walrus", "walrus ballast")
    trace = ask("walrus")
    assert short(why(trace, "mem:3")) == ("out", "no_such_row", 1)
    say("walrus again")
    assert short(why(trace, "mem:3")) == ("out", "stored_later", 1)
    assert why(ask("walrus", count=9), "mem:3")["verdict"] == "in"
    assert why(trace, "ep:1")["bound"] == "no_such_row"
    for number in (1, 2):
        assert api.delete(f"/api/v1/stores/{store.public_id}/records/mem:{number}").status_code == 202
    (head,) = [item["head"] for item in Trace.objects.get(pk=trace).told["items"]]
    (other,) = {"mem:1", "mem:2"} - {head}
    assert short(why(trace, head)) == ("in", "deleted", None)
    assert short(why(trace, other)) == ("out", "deleted", None)
    assert why(trace, other)["paths"] == []


def test_other_rows_of_an_answer_are_told_of_when_one_is_gone(ask, why, say, api, store):
    say("walrus", "walrus")
    trace = ask("walrus", count=1)
    (head,) = [item["head"] for item in Trace.objects.get(pk=trace).told["items"]]
    (other,) = {"mem:1", "mem:2"} - {head}
    api.delete(f"/api/v1/stores/{store.public_id}/records/{head}")
    assert short(why(trace, other)) == ("out", "beyond_count", 1)


@pytest.mark.parametrize("operation", ["reconstruct", "recall"])
def test_a_refused_call_searched_nothing(ask, why, say, operation):
    say("walrus")
    told = why(ask("walrus", operation=operation, status=400, deep="yes"), "mem:1")
    assert short(told) == ("out", "refused", None)
    assert "invalid_parameter" in told["sentence"]


def test_what_can_no_longer_be_said_is_not_guessed(ask, why, say, store):
    say("walrus", "ballast")
    trace = ask("walrus")
    assert why(trace, "mem:2")["bound"] == "no_evidence"
    Store.objects.filter(pk=store.pk).update(language="german")
    told = path(why(trace, "mem:2"), "search")
    assert (told["bound"], told["where"], told["exact"]) == (
        "not_known",
        {"reason": "language_changed"},
        False,
    )
    assert why(trace, "mem:1")["bound"] == "head"


def test_a_declared_name_that_is_gone_leaves_the_weighing_open(ask, why, say, store):
    say("walrus", "ballast")
    (pier,) = declare(store, "walrus")
    EntityAlias.objects.create(store=store, entity=pier, alias="larkspur quay", declared_key="larkspur quay")
    trace = ask("walrus")
    assert path(why(trace, "mem:2"), "search")["bound"] == "no_evidence"
    EntityAlias.objects.filter(store=store).delete()
    assert path(why(trace, "mem:2"), "search")["where"] == {"reason": "forgotten"}


def test_a_search_that_was_bounded_says_nothing_of_rows_it_did_not_list(ask, why, say, monkeypatch):
    say("walrus", "ballast")
    monkeypatch.setattr(words, "MAX_UNITS", 1)
    trace = ask("walrus trumpet")
    assert path(why(trace, "mem:2"), "search")["where"] == {"reason": "bounded"}
    assert why(trace, "mem:1")["bound"] == "head"


def test_a_vector_that_may_have_come_since_is_not_trusted(ask, why, say, store):
    say("tide")
    with running(ChosenCosines({"walrus": 0.9, "tide": 0.2})):
        say("walrus")
        trace = ask("walrus")
        assert path(why(trace, "mem:1"), "search")["bound"] == "no_evidence"
        with transaction.atomic():
            search.fill_space(store, now=timezone.now())
    told = path(why(trace, "mem:1"), "search")
    assert (told["bound"], told["exact"]) == ("gate", False)


# Recall.


def test_recall(ask, why, say):
    say("walrus", "walrus", "walrus", "ballast")
    told = why(ask("walrus", "recall", limit=3), "mem:1")
    assert (short(told), told["where"]) == (("in", "result", None), {"place": 2})
    told = why(ask("walrus", "recall", limit=1), "mem:1")
    assert short(told) == ("out", "top_k", 2)
    assert [each["path"] for each in told["paths"]] == ["search"]
    assert short(why(ask("walrus", "recall", limit=2), "mem:1")) == ("out", "top_k", 1)
    assert why(ask("walrus", "recall"), "mem:4")["bound"] == "no_evidence"
    assert short(why(ask("", "recall", limit=2), "mem:1")) == ("out", "recency", 2)
    assert why(ask("walrus", "recall", project_id="p"), "mem:1")["verdict"] == "in"


# All of it together.


def test_the_number_of_statements_is_bounded(ask, why, say, store, crew, chain):
    for trace in (ask("walrus", max_evidence=1, max_hops=0), ask("walrus", max_evidence=2), ask("", top_k=1)):
        for ref in (*crew, *chain, "mem:99"):
            with CaptureQueriesContext(connection) as captured:
                why(trace, ref)
            own = [query["sql"] for query in captured if "mc_" in query["sql"]]
            assert len(own) <= 14, own


WORDS = ["walrus", "pier", "tide", "ballast", "the larkspur"]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)


@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.too_slow])
@given(
    stored=st.lists(st.tuples(texts, st.sampled_from(["", "m"]), st.integers(0, 3)), min_size=1, max_size=8),
    query=texts | st.just(""),
    bounds=st.fixed_dictionaries(
        {},
        optional={
            "count": st.integers(0, 3),
            "top_k": st.integers(1, 5),
            "max_evidence": st.integers(1, 3),
            "max_hops": st.integers(0, 3),
            "deep": st.booleans(),
        },
    ),
)
def test_a_row_is_in_exactly_when_the_answer_claims_it(
    stored: list[tuple[str, str, int]], query: str, bounds: dict[str, Any]
) -> None:
    ada = make_user("ada")
    store = make_store(ada)
    api = make_client(ada, store)
    records = add(store, *({"content": text, "message_id": message} for text, message, _ in stored))
    StoreCounter.objects.filter(store=store).update(record=len(records))
    line = declare(store, "a", "b", "c", "d")
    relate(store, *pairwise(line))
    mention(store, *((line[place], row) for row, (_, _, place) in zip(records, stored, strict=True)))
    answer = api.post(
        f"/api/v1/stores/{store.public_id}/reconstruct", {"query": query, **bounds}, format="json"
    )
    claims = {claim["ref"] for item in answer.json()["items"] for claim in item["claims"]}
    inside = set()
    for record in records:
        told = api.get(f"/api/v1/traces/{answer.headers['Trace-Id']}/why?ref={record.ref}").json()
        assert told["bound"] != "not_known"
        if told["verdict"] == "in":
            inside.add(record.ref)
    assert inside == claims
