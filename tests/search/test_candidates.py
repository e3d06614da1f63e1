"""Recall on a real database: equal to reading every row by hand, in scope, in order, gone when deleted."""

import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryconsole import search
from memoryconsole.models import IndexEntry, Record, Store
from memoryconsole.scope import ReadScope
from memoryconsole.search import words
from memoryconsole.search.fuse import Gate
from tests.properties import examples
from tests.search import brute_force
from tests.search.brute_force import Row
from tests.search.builders import (
    NOW,
    ChosenCosines,
    add,
    add_summary,
    ask,
    digest_of,
    new_store,
    refs,
    running,
)

# Few words, so that random texts share them; one of every kind the analyser knows.
WORDS = [
    "ferry",
    "ferries",
    "pier",
    "nine",
    "rota",
    "the",
    "PO-7741",
    "po",
    "城の鍵",
    "城",
    "café",
    "👍",
    "may",
    "2026",
    "ada",
]
SPEAKERS = ["", "ada", "ada-2", "Pier"]

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
contexts = st.sampled_from(["", "", "p", "q"])
instants = st.sampled_from([None, NOW, NOW, NOW + timedelta(days=70), NOW - timedelta(days=400)])
record_rows = st.fixed_dictionaries({
    "content": texts, "project_id": contexts, "channel": contexts, "instant": instants,
    "source_id": st.sampled_from(SPEAKERS), "source_name": st.sampled_from(["", "Ada"]),
})  # fmt: skip
summary_rows = st.fixed_dictionaries(
    {"text": texts, "project_id": st.sampled_from(["", "p", None]), "earliest_at": instants}
)
scopes = st.builds(
    ReadScope,
    project_id=st.sampled_from([None, None, "", "p", "x"]),
    channel=contexts,
    source_id=st.sampled_from(["", "", "ada", "nobody"]),
)
similarities = st.dictionaries(texts, st.sampled_from([-0.5, 0.0, 0.3, 0.5, 0.62, 0.9]), max_size=12)


def by_hand(records: Sequence[Record], summaries: Sequence[Any], cosines: ChosenCosines | None) -> list[Row]:
    def vector(text: str) -> Any:
        return None if cosines is None else cosines.embed([text])[0]

    rows = [
        Row(
            "mem",
            r.number,
            r.content,
            digest_of(r.content),
            r.instant,
            r.project_id,
            r.channel,
            r.source_id,
            (r.source_name, r.source_id),
            vector(r.content),
        )
        for r in records
    ]
    return rows + [
        Row(
            "ep",
            s.number,
            s.summary,
            digest_of(s.summary),
            s.earliest_at,
            s.project_id,
            s.channel,
            vector=vector(s.summary),
        )
        for s in summaries
    ]


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    records=st.lists(record_rows, max_size=14),
    summaries=st.lists(summary_rows, max_size=3),
    cosines=st.none() | similarities.map(ChosenCosines),
    query=texts,
    scope=scopes,
    cues=st.lists(
        st.sampled_from(["Pier Nine", "rota", "城の鍵", "ferry pier", "!"]), max_size=2, unique=True
    ),
    deep=st.booleans(),
    limit=st.integers(1, 6),
)
def test_recall_equals_reading_every_row(
    records: list[dict[str, Any]],
    summaries: list[dict[str, Any]],
    cosines: ChosenCosines | None,
    query: str,
    scope: ReadScope,
    cues: list[str],
    deep: bool,
    limit: int,
) -> None:
    store = new_store()
    with running(cosines):
        stored = add(store, *records)
        kept = [add_summary(store, row.pop("text"), **row) for row in map(dict, summaries)]
        found = ask(store, query, scope, limit=limit, deep=deep, cue_terms=cues)
    rows = by_hand(stored, kept, cosines)
    # A store whose rows have no vector at all has nothing to compare a query with.
    asked = cosines.embed_query(query) if cosines and any(r.vector is not None for r in rows) else None
    judged, ideal = brute_force.judge(rows, query, scope, cues, asked)
    gate = Gate().deepened() if deep else Gate()
    expected, fallback = brute_force.rank(judged, ideal, gate, limit)
    assert [(f"{row.kind}:{row.number}", row.score) for row in found.rows] == [
        (f"{j.row.kind}:{j.row.number}", j.score) for j in expected
    ]
    assert found.gate_fallback == fallback
    shown = [(e.own, e.votes, e.cues, e.cosine, e.coverage) for e in (row.evidence for row in found.rows)]
    assert shown == [(j.own, j.votes, j.cues, j.cosine, j.coverage) for j in expected]
    assert found.totals.stored == len(rows)
    assert found.totals.in_scope == sum(brute_force.visible(row, scope) for row in rows)


def test_the_same_rows_give_the_same_order_however_they_came_in() -> None:
    rows: list[dict[str, Any]] = [
        {"content": f"{word} pier rota {'x' * (place % 3)}", "message_id": str(place), "instant": NOW}
        for place, word in enumerate(["ferry", "tide", "log", "salt"] * 6)
    ]  # fmt: skip
    answers = []
    for seed in range(4):
        random.Random(seed).shuffle(rows)
        store = new_store()
        for start in range(0, len(rows), 1 + 7 * seed):
            add(store, *rows[start : start + 1 + 7 * seed])
        found = ask(store, "ferry rota at the pier", limit=15)
        names = dict(Record.objects.filter(store=store).values_list("pk", "message_id"))
        # Twins are told apart by their number alone, which the order of arrival decides.
        answers.append([(rows_text(store, row.row_id), row.score, row.evidence) for row in found.rows])
        assert len({names[row.row_id] for row in found.rows}) == 15
    assert answers[1:] == answers[:-1]


def test_equal_rows_are_ordered_by_digest_and_then_by_number() -> None:
    store = new_store()
    digests = [b"\0" * 7 + last for last in (b"\3", b"\1", b"\2", b"\1")]
    add(store, *({"content": "ferry", "instant": NOW, "digest": digest + b"\0" * 24} for digest in digests))
    found = ask(store, "ferry")
    assert refs(found) == ["mem:2", "mem:4", "mem:3", "mem:1"]
    assert refs(ask(store, "ferry", limit=2)) == ["mem:2", "mem:4"]


def rows_text(store: Store, pk: int) -> str:
    return Record.objects.get(store=store, pk=pk).content


def test_a_record_is_found_when_its_write_is_done_and_gone_with_it() -> None:
    store = new_store()
    first, second = add(store, "the ferry leaves at seven", "the ferry was late")
    assert set(refs(ask(store, "ferry"))) == {"mem:1", "mem:2"}
    with transaction.atomic():
        search.remove(store, record_ids=[first.pk])
    assert refs(ask(store, "ferry")) == ["mem:2"]
    assert refs(ask(store, "")) == ["mem:2"]
    assert not IndexEntry.objects.filter(store=store, record=first).exists()
    episode = add_summary(store, "ferry week")
    assert "ep:1" in refs(ask(store, "ferry"))
    with transaction.atomic():
        search.remove(store, summary_ids=[episode.pk])
        second.delete()
    assert refs(ask(store, "ferry")) == []


def test_removing_nothing_removes_nothing() -> None:
    store = new_store()
    add(store, "ferry")
    search.remove(store)
    search.remove(store, record_ids=[], summary_ids=[])
    assert refs(ask(store, "ferry")) == ["mem:1"]


def test_stores_never_meet() -> None:
    one, other = new_store(), new_store()
    add(one, "the ferry leaves at seven")
    add(other, "the ferry leaves at eight", "tide table")
    assert refs(ask(one, "ferry")) == ["mem:1"]
    found = ask(other, "ferry")
    assert found.totals.stored == 2
    with transaction.atomic():
        # Foreign keys of another store are not this store's to remove.
        search.remove(one, record_ids=list(Record.objects.filter(store=other).values_list("pk", flat=True)))
    assert ask(other, "ferry") == found


def test_a_blank_query_lists_the_records_stored_last() -> None:
    store = new_store()
    add(
        store,
        {"content": "oldest", "created_at": NOW - timedelta(days=1)},
        {"content": "twin", "created_at": NOW},
        {"content": "twin too", "created_at": NOW},
        {"content": "stamped late, stored early", "created_at": NOW - timedelta(days=9), "instant": NOW},
    )
    add_summary(store, "an episode is no record")
    for blank in ("", "  \n\t"):
        found = ask(store, blank)
        assert refs(found) == ["mem:3", "mem:2", "mem:1", "mem:4"]
        assert found.gate is None
        assert not found.gate_fallback
    assert refs(ask(store, "", limit=2)) == ["mem:3", "mem:2"]


def test_scope_filters_every_kind_of_read() -> None:
    store = new_store()
    add(
        store,
        {"content": "ferry one", "project_id": "acme"},
        {"content": "ferry two", "project_id": "acme1"},
        {"content": "ferry three", "project_id": "ACME"},
        {"content": "ferry four", "project_id": "acme "},
        {"content": "ferry five", "project_id": "acme\u0301"},
        {"content": "ferry six"},
        {"content": "ferry seven", "channel": "c", "source_id": "test_user1"},
        {"content": "ferry eight", "channel": "d", "source_id": "test_user"},
        {"content": "ferry nine", "channel": "c", "source_id": "testxuser"},
    )
    add_summary(store, "ferry ten", channel="c")
    add_summary(store, "ferry eleven", project_id=None, channel=None)

    def seen(**scope: Any) -> set[str]:
        read = ReadScope(**scope)
        found, latest = set(refs(ask(store, "ferry", read))), set(refs(ask(store, "", read)))
        assert latest == {ref for ref in found if ref.startswith("mem")}
        return found

    everything = {f"mem:{number}" for number in range(1, 10)} | {"ep:1", "ep:2"}
    assert seen() == everything
    assert seen(project_id="acme") == {"mem:1", "mem:6", "mem:7", "mem:8", "mem:9", "ep:1"}
    assert seen(project_id="") == {"mem:6", "mem:7", "mem:8", "mem:9", "ep:1"}
    assert seen(channel="c") == everything - {"mem:8", "ep:2"}
    assert seen(source_id="test_user") == {"mem:7", "mem:8"}
    assert seen(source_id="test_user1") == {"mem:7"}
    assert seen(source_id="test%") == set()
    assert seen(source_id="test_user", channel="c") == {"mem:7", "ep:1"}


def test_rarity_is_the_stores_whoever_asks() -> None:
    store = new_store()
    add(
        store,
        {"content": "ferry tide", "project_id": "p"},
        *({"content": "ferry", "project_id": "q"} for _ in range(9)),
    )
    wide = ask(store, "ferry tide").rows[0]
    narrow = ask(store, "ferry tide", ReadScope(project_id="p")).rows[0]
    assert narrow.evidence.words == wide.evidence.words


def statements(store: Store, query: str, **options: Any) -> int:
    prepared = search.prepare(query)
    with CaptureQueriesContext(connection) as captured:
        ask(store, prepared, **options)
    own = ("BEGIN", "COMMIT", "SET TRANSACTION", "SELECT transaction_timestamp()")
    return sum(not query["sql"].startswith(own) for query in captured)


def test_the_number_of_statements_does_not_depend_on_the_rows() -> None:
    small, large = new_store(), new_store()
    add(small, "ferry", {"content": "ferry", "project_id": "p", "channel": "c", "source_id": "s"})
    add(large, {"content": "ferry", "project_id": "p", "channel": "c", "source_id": "s"})
    add(large, *(f"ferry {number} to pier nine" for number in range(300)))
    for store in (small, large):
        assert statements(store, "ferry to pier nine") == 4
        assert statements(store, "ferry", scope=ReadScope(project_id="p", channel="c", source_id="s")) == 4
        assert statements(store, "ferry", cue_terms=["larkspur"]) == 4
        assert statements(store, "") == 2
    assert statements(large, "ferry", cue_terms=["pier nine", "ferry 7"]) == 5


def test_aliases_vote_as_whole_phrases() -> None:
    store = new_store()
    add(store, "ferry moorings", "pier nine ferry", "pier log of nine ferry")
    plain = {row.number: row for row in ask(store, "ferry").rows}
    voted = {row.number: row for row in ask(store, "ferry", cue_terms=["Pier Nine"]).rows}
    assert voted[2].score > plain[2].score
    assert (voted[1], voted[3]) == (plain[1], plain[3])
    assert voted[2].evidence.cues > 0
    assert refs(ask(store, "ferry", cue_terms=["Pier Nine"]))[0] == "mem:2"


def test_a_store_above_the_guard_says_that_it_was_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    store = new_store()
    add(store, *(f"ferry log {number}" for number in range(30)), "ferry larkspur", "larkspur tide")
    exact = ask(store, "ferry larkspur")
    assert not exact.bounded
    monkeypatch.setattr(words, "MAX_ROWS", 10)
    bounded = ask(store, "ferry larkspur", limit=100)
    assert bounded.bounded
    # The common word finds no rows any more, and still counts where it is.
    assert refs(bounded)[:2] == refs(exact)[:2] == ["mem:31", "mem:32"]
    assert bounded.rows[0].evidence.coverage == exact.rows[0].evidence.coverage
    assert {row.number for row in bounded.rows if row.evidence.own} == {31, 32}
    assert statements(store, "ferry larkspur") == 5
    # The rarest word is looked for however common it is.
    assert len(ask(store, "ferry", limit=100).rows) == 31


def test_rows_too_large_together_are_bounded_and_never_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    store = new_store()
    long = " ".join(f"word{number}" for number in range(200))
    add(store, *(f"ferry {long} {number}" for number in range(10)), "ferry larkspur", f"larkspur {long}")
    exact = ask(store, "ferry larkspur")
    assert not exact.bounded
    monkeypatch.setattr(words, "MAX_FOUND_BYTES", 2_500)
    bounded = ask(store, "ferry larkspur", limit=100)
    assert bounded.bounded
    # The common word's rows are left out, not those of the rare one.
    assert {row.number for row in bounded.rows if row.evidence.own} == {11, 12}
    assert bounded.rows[0].evidence.coverage == exact.rows[0].evidence.coverage
    assert statements(store, "ferry larkspur") == 6
    # One word alone: as many rows as fit, the shortest first.
    alone = ask(store, "ferry", limit=100)
    assert alone.bounded
    assert sorted(row.number for row in alone.rows if row.evidence.own) == [1, 11]


def test_texts_are_read_for_phrases_to_a_bound_in_scope_first(monkeypatch: pytest.MonkeyPatch) -> None:
    store = new_store()
    add(
        store,
        "ferry pier nine " + "tide " * 100,
        "ferry at pier nine of the harbour",
        {"content": "ferry pier nine", "project_id": "other"},
    )
    scope = ReadScope(project_id="")

    def cues() -> tuple[set[int], bool]:
        found = ask(store, "ferry", scope, cue_terms=["pier nine"])
        return {row.number for row in found.rows if row.evidence.cues}, found.bounded

    assert cues() == ({1, 2}, False)
    monkeypatch.setattr(words, "MAX_TEXT_BYTES", 40)
    assert cues() == ({2}, True)


def test_a_query_longer_than_is_read_says_so() -> None:
    store = new_store()
    add(store, "ferry", "word7")
    found = ask(store, "ferry " + " ".join(f"word{number}" for number in range(words.MAX_UNITS + 5)))
    assert found.bounded
    assert {row.number for row in found.rows} >= {2}


def test_what_was_not_admitted_is_kept_for_the_audit() -> None:
    store = new_store()
    with running(ChosenCosines({"tide": 0.2, "salt": 0.44, "ferry log": 0.1})):
        add(store, "ferry log", "tide", "salt")
        found = ask(store, "ferry")
    assert refs(found) == ["mem:1"]
    assert [(row.number, round(row.evidence.cosine or 0, -2)) for row in found.below] == [
        (3, 4400),
        (2, 2000),
    ]
    assert found.totals == search.Totals(stored=3, in_scope=3, matched=1, compared=3, admitted=1)


def test_lists_are_filtered_by_words() -> None:
    store = new_store()
    add(store, "the ferry leaves pier nine", "ferries at PO-7741", "café 城の鍵")

    def with_words(text: str) -> list[int]:
        rows = Record.objects.filter(store=store, pk__in=search.records_with_words(store, text))
        return sorted(rows.values_list("number", flat=True))

    assert with_words("Ferry") == [1, 2]
    assert with_words("ferry nine") == [1]
    assert with_words("the") == [1]
    assert with_words("po-7741") == [2]
    assert with_words("CAFE") == [3]
    assert with_words("城") == [3]
    assert with_words("ferry absent") == []
    assert with_words("%") == []
    assert search.matching_keys(store, "%") == []
