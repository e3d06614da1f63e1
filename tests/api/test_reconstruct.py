"""Reconstruct and recall through HTTP, on the real candidate stage."""

import itertools
import json
import os
import random
import subprocess
import sys
from pathlib import Path

from django.db import connections

from memoryconsole.models import Record, SessionNotice, Trace
from tests.conftest import make_client, make_store, url

ROOT = Path(__file__).resolve().parents[2]


def quotes(body):
    """Every quote of an answer, in the contract's sequence: heads first, then excerpts in rounds."""
    rounds = [
        [(item["head_ref"], item["content"]) for item in body["items"]],
        *itertools.zip_longest(
            *([(e["ref"], e["content"]) for e in item.get("excerpts", [])] for item in body["items"])
        ),
    ]
    return [quote for turn in rounds for quote in turn if quote is not None]


# Quotes.


def test_every_quote_is_a_substring_of_its_stored_row(ask, say, store):
    say(
        *(
            {"content": f"walrus {n} " + "🐋e\u0301 long tail " * (n * 9), "timestamp": f"2026-01-01T10:00:{n:02}Z",
             "source": {"type": "User", "id": "u"}}
            for n in range(12)
        )
    )  # fmt: skip
    body = ask("walrus", count=10, budget=20_000, top_k=100)
    stored = {record.ref: record.content for record in Record.objects.filter(store=store)}
    assert len(quotes(body)) == 12
    for ref, content in quotes(body):
        assert content in stored[ref]
        assert len(content) <= 500


def test_a_cut_quote_says_how_long_its_text_is_and_that_it_is_the_start(ask, say):
    say("walrus " + "x" * 1000)
    (item,) = ask("walrus")["items"]
    assert (len(item["content"]), item["content_len"], item["content_truncated"]) == (500, 1007, True)
    assert item["node_unavailable"] == "no_nodes"


# The budget is one sequence.


def test_the_budget_keeps_a_prefix_and_raising_it_only_adds(api, store, ask, say):
    """A long head stops the sequence: no shorter later text slips in, and the answer says why it is short."""
    api.patch(url(store), {"settings": {"preview_chars": 60}}, format="json")
    say(
        "walrus",
        "the walrus of pier nine and its calf on the warm stones, " + "all day " * 9,
        "walrus on pier nine",
        "a walrus on some pier",
    )
    full = ask("walrus of pier nine and its calf", count=4, budget=20_000)
    lengths = [len(content) for _, content in quotes(full)]
    assert sorted(lengths) == [6, 19, 21, 60]
    assert lengths.index(60) < 3
    before: list = []
    for budget in range(60, sum(lengths) + 1):
        body = ask("walrus of pier nine and its calf", count=4, budget=budget)
        carried = quotes(body)
        assert carried == quotes(full)[: len(carried)]
        assert len(carried) >= len(before)
        before = carried
        if len(carried) < len(lengths):
            assert body["shortfall_reason"] == "budget_exhausted"
            assert (
                body["used_budget"] == sum(len(content) for _, content in carried) <= body["effective_budget"]
            )
            # The next quote did not fit.
            assert body["used_budget"] + lengths[len(carried)] > budget
    assert len(before) == len(lengths)


# Breadth is separate from count.


def test_count_moves_neither_the_candidates_nor_earlier_items(ask, say):
    say(*(f"the spare winch pawl lies in shed {n}, near the old ropes" for n in range(25)))
    say("the spare winch pawl 44-B17 lies in the blue box")
    answers = {count: ask("spare winch pawl 44-B17", count=count, trace=True) for count in (1, 3, 10)}
    refs = [answer["trace"]["candidate_refs"] for answer in answers.values()]
    assert refs[0] == refs[1] == refs[2]
    assert answers[1]["items"] == answers[10]["items"][:1]
    assert answers[3]["items"] == answers[10]["items"][:3]
    assert answers[1]["items"][0]["content"].endswith("the blue box")


def test_a_rare_word_is_found_whatever_the_rest_says(ask, say):
    say(*(f"daily report {n}: nothing new" for n in range(60)))
    (needle,) = say("error KX-8812 on panel four")
    assert ask("KX-8812")["items"][0]["head_ref"] == needle


# Determinism.


TWELVE = [
    {"content": f"{word} tide table", "message_id": word, "timestamp": "2026-01-01T10:00:00Z"}
    for word in ("alder", "birch", "cedar", "elder", "hazel", "larch", "maple", "olive", "pecan", "rowan", "tulip", "yucca")
]  # fmt: skip


def by_message(store, body):
    """An answer with refs replaced by message ids."""
    names = {record.ref: record.message_id for record in Record.objects.filter(store=store)}
    text = json.dumps(body)
    for ref in sorted(names, key=len, reverse=True):
        text = text.replace(f'"{ref}"', f'"{names[ref]}"')
    return text


def test_equal_rows_come_in_one_order_whatever_the_order_of_insertion(ada):
    answers = set()
    for seed in (1, 2, 3):
        store = make_store(ada)
        client = make_client(ada, store)
        rows = random.Random(seed).sample(TWELVE, 12)
        assert client.post(url(store, "/records"), {"records": rows}, format="json").status_code == 201
        for _ in range(5):
            body = client.post(
                url(store, "/reconstruct"), {"query": "tide table", "count": 10, "trace": True}, format="json"
            ).json()
            assert len(body["items"]) == 10
            answers.add(by_message(store, body))
    assert len(answers) == 1


ASKING = """
import django; django.setup()
from memoryconsole.models import Store
from reconstruct import services
from reconstruct.core import Request
import json, sys
store = Store.objects.get(public_id=sys.argv[1])
ask = services.ReconstructAsk(request=Request(query="tide table", count=10, trace=True))
print(json.dumps(services.reconstruct(store, ask).body))
"""


def test_processes_with_different_hash_seeds_answer_the_same_bytes(api, store, say):
    say(*TWELVE)
    database = connections["default"].settings_dict
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "memoryconsole.settings",
        "DATABASE_URL": f"postgresql://{database['USER']}:{database['PASSWORD']}@:{database['PORT']}"
        f"/{database['NAME']}?host={database['HOST'].replace('/', '%2F')}",
        "MEMORYCONSOLE_SECRET_KEY": "not used here",
    }
    outputs = {
        subprocess.run(
            [sys.executable, "-c", ASKING, store.public_id],
            env=environment | {"PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4711")
    }
    assert len(outputs) == 1
    body = api.post(
        url(store, "/reconstruct"), {"query": "tide table", "count": 10, "trace": True}, format="json"
    )
    assert json.loads(outputs.pop()) == body.json()


# Bundling, on stored rows.


def test_a_judgement_restated_in_a_burst_is_one_item_and_a_month_later_another(ask, say):
    source = {"type": "User", "id": "u1"}
    say(
        *(
            {"content": f"the crane is unsafe, said for time {n}", "source": source,
             "timestamp": f"2026-01-01T10:00:{n * 4:02}Z"}
            for n in range(13)
        ),
        {"content": "the crane is unsafe, as said last month", "source": source, "timestamp": "2026-02-01T10:00:00Z"},
        {"content": "the crane is not unsafe at all", "source": {"type": "User", "id": "u2"},
         "timestamp": "2026-01-01T10:00:30Z"},
    )  # fmt: skip
    items = ask("is the crane unsafe", count=10, top_k=50)["items"]
    sizes = sorted(len(item["claims"]) for item in items)
    assert sizes == [1, 1, 13]
    burst = next(item for item in items if len(item["claims"]) == 13)
    assert burst["independence_reason"] == "cluster:adjacent"
    assert all(item["independence_reason"] == "singleton" for item in items if item is not burst)


def test_naive_and_aware_stamps_order_by_instant(ask, say):
    stamps = [
        "2026-01-01T12:00:00",
        "2026-01-01T12:30:00+02:00",
        "2026-01-01T08:00:00-05:00",
        "2026-01-01 09:00",
    ]
    say(
        *(
            {"content": f"walrus v{n}", "message_id": "m", "timestamp": stamp}
            for n, stamp in enumerate(stamps)
        )
    )
    (item,) = ask("walrus")["items"]
    assert [claim["as_of"] for claim in item["claims"]] == [stamps[2], stamps[0], stamps[1], stamps[3]]
    assert item["content"] == "walrus v2"


def test_an_episode_contains_by_instant_whatever_the_spelling(api, store, ask, say):
    (inside,) = say({"content": "walrus on the slip", "timestamp": "2026-01-02T00:00:00+09:00"})
    say({"content": "walrus on the quay", "timestamp": "2026-01-01T16:00:01Z"})
    made = api.post(
        url(store, "/summaries"),
        {"summary": "walrus afternoon", "start": "2026-01-01 14:00:00", "end": "2026-01-01 16:00:00"},
        format="json",
    )
    assert made.status_code == 201
    items = ask("walrus", count=5)["items"]
    (bundle,) = [item for item in items if item["independence_reason"] == "cluster:episode"]
    roles = {claim["ref"]: claim.get("roles") for claim in bundle["claims"]}
    assert roles == {inside: [{"ref": "ep:1", "role": "supports"}], "ep:1": None}


def test_two_projects_with_one_message_id_never_supersede_each_other(ask, say):
    say(
        {
            "content": "walrus in the north",
            "message_id": "m",
            "project_id": "a",
            "timestamp": "2026-01-01T00:00:00Z",
        },
        {
            "content": "walrus in the south",
            "message_id": "m",
            "project_id": "b",
            "timestamp": "2026-02-01T00:00:00Z",
        },
    )
    items = ask("walrus", count=5)["items"]
    assert [item["independence_reason"] for item in items] == ["singleton", "singleton"]


# Scope.


def test_the_read_scope(api, store, say):
    refs = say(
        *(
            {"content": f"walrus {p or 'global'} {c or 'shared'}", "project_id": p, "channel": c,
             "source": {"type": "User", "id": f"u-{p}"}, "timestamp": f"2026-01-{n:02}T00:00:00Z"}
            for n, (p, c) in enumerate(itertools.product(("", "a", "b"), ("", "x", "y")), start=1)
        )
    )  # fmt: skip
    place = dict(zip(itertools.product(("", "a", "b"), ("", "x", "y")), refs, strict=True))

    def found(**scope):
        body = {"query": "walrus", "limit": 50, **scope}
        rows = api.post(url(store, "/recall"), body, format="json").json()["results"]
        return {row["ref"] for row in rows}

    assert found() == set(refs)
    assert found(project_id=None) == set(refs)
    assert found(project_id="") == {ref for (p, _), ref in place.items() if p == ""}
    assert found(project_id="a") == {ref for (p, _), ref in place.items() if p in ("", "a")}
    assert found(channel="x") == {ref for (_, c), ref in place.items() if c in ("", "x")}
    assert found(project_id="a", channel="x") == {place[p, c] for p in ("", "a") for c in ("", "x")}
    assert found(source_id="u-a") == {ref for (p, _), ref in place.items() if p == "a"}
    assert found(source_id="u-") == set(refs)
    assert found(source_id="%") == set()


def test_a_source_leaves_episodes_out_unless_a_channel_is_given(api, store, say):
    say({"content": "walrus", "source": {"type": "User", "id": "u1"}, "channel": "x"})
    api.post(url(store, "/summaries"), {"summary": "walrus week", "channel": "x"}, format="json")

    def found(**scope):
        rows = api.post(url(store, "/recall"), {"query": "walrus", **scope}, format="json").json()["results"]
        return {row["ref"] for row in rows}

    assert found() == {"mem:1", "ep:1"}
    assert found(source_id="u1") == {"mem:1"}
    assert found(source_id="u1", channel="x") == {"mem:1", "ep:1"}


# Empty queries, empty stores, no embedder.


def test_an_empty_query_answers_the_latest_records(api, store, say):
    refs = say(*(f"text {n}" for n in range(5)))
    body = api.post(url(store, "/recall"), {"query": " ", "limit": 3}, format="json").json()
    assert [row["ref"] for row in body["results"]] == refs[:1:-1]


def test_nothing_stored_and_nothing_found_say_so(ask, say):
    assert ask("walrus")["shortfall_reason"] == "no_relevant_evidence"
    say("something else entirely")
    body = ask("walrus", count=3)
    assert (body["items"], body["returned_count"], body["effective_count"]) == ([], 0, 3)
    assert body["shortfall_reason"] == "no_relevant_evidence"


def test_without_an_embedder_answers_come_with_a_notice(ask, say, settings, api, store):
    settings.EMBEDDER = "none"
    say("the walrus sleeps")
    body = ask("walrus")
    assert body["items"][0]["content"] == "the walrus sleeps"
    assert body["advisory"]["degraded"] is True
    assert body["advisory"]["severity"] == "hint"
    # On every path: nothing found, count 0, recall.
    assert ask("zebra")["advisory"] == body["advisory"]
    assert ask("walrus", count=0)["advisory"] == body["advisory"]
    recalled = api.post(url(store, "/recall"), {"query": "walrus"}, format="json").json()
    assert recalled["advisory"] == body["advisory"]
    # A degraded row is still found when the model is back.
    settings.EMBEDDER = "wordllama"
    assert ask("walrus")["items"][0]["content"] == "the walrus sleeps"


def test_with_an_embedder_no_notice(ask, say):
    say("the walrus sleeps")
    assert "advisory" not in ask("walrus")


# What a read leaves behind.


AUDIT = (Trace, SessionNotice)


def test_reads_write_nothing_but_their_trace(api, store, say):
    """Every table's content before and after (the token's "last used" is written once a minute, so it is warm)."""
    from django.apps import apps

    say("the walrus sleeps")

    def state():
        models = apps.get_app_config("memoryconsole").get_models()
        return {model._meta.db_table: list(model.objects.order_by("pk").values_list()) for model in models
                if "store" in {f.name for f in model._meta.local_fields} and model not in AUDIT}  # fmt: skip

    before = state()
    for path in ("/recall", "/reconstruct"):
        api.post(url(store, path), {"query": "walrus", "session_key": "s"}, format="json")
    assert state() == before


def test_the_answer_holds_no_score(ask, say):
    say("the walrus sleeps", "the walrus wakes")
    text = json.dumps(ask("walrus", count=5, trace=True))
    for word in ("score", "similarity", "confidence", "cosine"):
        assert word not in text
