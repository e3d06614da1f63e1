"""Long texts get nodes in the background, and one answer to whether they may be used."""

import numpy as np
import pytest
from django.db import connection

from memoryconsole import embedding
from memoryconsole.divide import CharacterWindow
from memoryconsole.models import Job, Record, RecordNode
from memoryconsole.nodes import NOWHERE, StoredNode, partitions, read_nodes, running_model, state
from memoryconsole.services import dividing
from memoryconsole.services.ingest import digest_of
from reconstruct import texts
from tests.conftest import url

SECTIONS = [
    "alpha about routine things, lamps and rope.",
    "the lighthouse code is 58-12-4 and nobody knows it.",
    "tail of the log, with the weather and the tide.",
]
LONG = "\n\n".join(f"{section} " + f"Then entry {n} was made. " * 70 for n, section in enumerate(SECTIONS))


def nodes_of(api, store, ref):
    route = "records" if ref.startswith("mem:") else "summaries"
    return api.get(url(store, f"/{route}/{ref}")).json()["nodes"]


def ask(api, store, query="lighthouse code", **more):
    answer = api.post(url(store, "/reconstruct"), {"query": query, **more}, format="json")
    assert answer.status_code == 200, answer.content
    return answer.json()


class OtherModel:
    """A model of few dimensions that counts letters; its texts, and what it did before each, can be watched."""

    name, dimensions, fingerprint = "letters", 4, "letters-1"

    def __init__(self):
        self.before = lambda texts: None

    def embed(self, texts):
        self.before(texts)
        return [np.array([text.count(letter) + 1 for letter in "aeio"], dtype=np.float32) for text in texts]


@pytest.fixture
def other_model(monkeypatch):
    model = OtherModel()
    monkeypatch.setattr(embedding, "current", lambda: model)
    return model


def test_a_long_text_is_divided_after_its_write_and_then_quoted_from_its_best_node(api, store, say, run_jobs):
    body = {"records": [{"content": LONG, "message_id": "m"}, {"content": "short"}]}
    stored = api.post(url(store, "/records"), body, format="json").json()["records"]
    assert stored == [
        {"ref": "mem:1", "created": True, "nodes": {"status": "queued"}},
        {"ref": "mem:2", "created": True},
    ]
    # The same text again is that record, whose nodes are under way.
    again = api.post(url(store, "/records"), {"records": body["records"][:1]}, format="json").json()
    assert again["records"] == [{"ref": "mem:1", "created": False}]
    item = ask(api, store)["items"][0]
    assert (item["content"], item["node_unavailable"]) == (LONG[:500], "no_nodes")
    assert nodes_of(api, store, "mem:1") == {"state": "no_nodes", "count": 0}

    run_jobs(store)
    spans = list(RecordNode.objects.filter(store=store).order_by("index").values_list("start", "end"))
    assert [LONG[start:][:5] for start, _ in spans] == ["alpha", "the l", "tail "]
    assert nodes_of(api, store, "mem:1") == {"state": "current", "count": 3}
    assert nodes_of(api, store, "mem:2") == {"state": "no_nodes", "count": 0}
    answer = ask(api, store, trace=True)
    item = answer["items"][0]
    start, end = spans[1]
    assert item["content"] == LONG[start : start + 500]
    assert item["node"] == {"index": 1, "of": 3, "span": [start, start + 500]}
    assert (item["content_len"], item["content_truncated"]) == (end - start, True)
    assert item["expand"] == {"ref": "mem:1", "node": 1}
    assert "node_unavailable" not in item
    assert "quote_selection" not in answer
    assert answer["trace"]["node_order"]["mem:1"][0] == 1
    assert len(answer["trace"]["node_order"]["mem:1"]) == 3
    rest = api.post(url(store, "/contents"), {"refs": [item["expand"]]}, format="json").json()["items"][0]
    assert rest["content"] == LONG[start:end]


def test_a_text_of_exactly_the_window_has_no_nodes_and_one_more_character_has(api, store, say, run_jobs):
    say("x" * embedding.WINDOW_CHARS, "y" * embedding.WINDOW_CHARS + "z", "é" * embedding.WINDOW_CHARS)
    run_jobs(store)
    assert [nodes_of(api, store, f"mem:{n}")["count"] for n in (1, 2, 3)] == [0, 2, 0]


def test_episodes_have_nodes_and_summaries_of_summaries_do_not(api, store, run_jobs):
    first = api.post(url(store, "/summaries"), {"summary": LONG}, format="json")
    above = {"summary": LONG, "source_type": "nodes", "source_ids": [1]}
    assert {first.status_code, api.post(url(store, "/summaries"), above, format="json").status_code} == {201}
    run_jobs(store)
    dividing.divide_store_later(store, by=None, now=store.created_at)
    run_jobs(store)
    assert nodes_of(api, store, "ep:1") == {"state": "current", "count": 3}
    assert nodes_of(api, store, "ep:2") == {"state": "no_nodes", "count": 0}
    item = ask(api, store)["items"][0]
    assert (item["head_ref"], item["node"]["index"]) == ("ep:1", 1)


def test_embedding_is_outside_of_any_transaction(other_model, store, say, run_jobs):
    say(LONG)
    inside = []
    other_model.before = lambda texts: inside.append((len(texts), connection.in_atomic_block))
    run_jobs(store)
    assert (3, False) in inside
    assert not any(atomic for _, atomic in inside)


@pytest.mark.parametrize("what", ["changed", "deleted", "closed"])
def test_a_build_that_finds_the_row_changed_writes_nothing(what, other_model, api, store, say, run_jobs):
    say(LONG, {"content": "B" + LONG})

    def meanwhile(_texts):
        other_model.before = lambda texts: None
        if what == "changed":
            Record.objects.filter(store=store, number=1).update(content="new", digest=digest_of("new"))
        else:
            gone = api.delete(url(store, "/records/mem:1" if what == "deleted" else ""))
            assert gone.status_code in (202, 204)

    other_model.before = meanwhile
    run_jobs(store)
    kept = set(RecordNode.objects.filter(store=store).values_list("record__number", flat=True))
    assert kept == (set() if what == "closed" else {2})


def test_deleting_takes_the_nodes_in_its_own_transaction(api, store, say, run_jobs):
    say(LONG)
    run_jobs(store)
    assert RecordNode.objects.filter(store=store).count() == 3
    api.delete(url(store, "/records/mem:1"))
    assert not RecordNode.objects.filter(store=store).exists()


def test_another_model_makes_nodes_not_current_until_they_are_built_again(
    api, store, say, run_jobs, monkeypatch
):
    say(LONG)
    run_jobs(store)
    model = OtherModel()
    monkeypatch.setattr(embedding, "current", lambda: model)
    assert nodes_of(api, store, "mem:1") == {"state": "not_current", "count": 3}
    item = ask(api, store)["items"][0]
    assert (item["content"], item["node_unavailable"]) == (LONG[:500], "not_current")
    # Where a node lies depends on the text alone.
    part = api.post(url(store, "/contents"), {"refs": [{"ref": "mem:1", "node": 0}]}, format="json").json()
    assert part["count"] == 1
    # A write meets the new model, has the store embedded again, and that has the nodes built again.
    say("a note")
    run_jobs(store)
    run_jobs(store)
    assert nodes_of(api, store, "mem:1") == {"state": "current", "count": 3}
    assert set(RecordNode.objects.filter(store=store).values_list("space__name", flat=True)) == {"letters"}
    assert ask(api, store)["items"][0]["node"]["index"] == 1


def test_a_model_that_is_away_is_still_the_one_that_runs(api, store, say, run_jobs, monkeypatch):
    """Its queries have no vector; whether nodes are its own does not depend on that."""
    say(LONG)
    run_jobs(store)
    working = embedding.current()

    def away(_texts):
        raise ConnectionError("away")

    for model, by_node in ((working, True), (OtherModel(), False)):
        away_now = OtherModel()
        away_now.name, away_now.dimensions, away_now.fingerprint = (
            model.name,
            model.dimensions,
            model.fingerprint,
        )
        away_now.before = away
        monkeypatch.setattr(embedding, "current", lambda model=away_now: model)
        answer = ask(api, store)
        assert ("node" in answer["items"][0]) is by_node
        assert answer.get("quote_selection") == ("lexical_only" if by_node else None)
        assert answer["items"][0].get("node_unavailable") == (None if by_node else "not_current")


def test_nodes_owed_by_an_outage_are_built_when_the_model_is_back(other_model, api, store, say, run_jobs):
    def away(_texts):
        raise ConnectionError("away")

    other_model.before = away
    body = {"records": [{"content": LONG}]}
    assert api.post(url(store, "/records"), body, format="json").json()["records"][0]["nodes"]
    run_jobs(store)
    assert not RecordNode.objects.filter(store=store).exists()
    assert Job.objects.get(store=store, kind="divide").state == "queued"
    other_model.before = lambda texts: None
    Job.objects.filter(store=store).update(leased_until=None)
    run_jobs(store)
    assert nodes_of(api, store, "mem:1") == {"state": "current", "count": 3}


def test_without_an_embedder_nothing_is_built_and_what_is_there_is_ranked_by_words(
    api, store, say, run_jobs, settings
):
    say(LONG)
    run_jobs(store)
    settings.EMBEDDER = "none"
    body = {"records": [{"content": "B" + LONG}]}
    told = api.post(url(store, "/records"), body, format="json").json()["records"]
    assert told == [{"ref": "mem:2", "created": True}]
    assert not Job.objects.filter(store=store, state="queued").exists()
    # The vectors are still those of the model the store was embedded with.
    assert nodes_of(api, store, "mem:1") == {"state": "current", "count": 3}
    answer = ask(api, store, count=2, top_k=2)
    assert answer["quote_selection"] == "lexical_only"
    by_ref = {item["head_ref"]: item for item in answer["items"]}
    assert by_ref["mem:1"]["node"]["index"] == 1
    assert by_ref["mem:2"]["node_unavailable"] == "no_nodes"
    # With a model again, the next write has both made up for.
    settings.EMBEDDER = "wordllama"
    say("a note")
    run_jobs(store)
    run_jobs(store)
    assert nodes_of(api, store, "mem:2") == {"state": "current", "count": 3}


def test_a_broken_set_is_not_current_for_anybody_and_is_built_again(api, store, say, run_jobs, ada):
    say(LONG)
    run_jobs(store)
    RecordNode.objects.filter(store=store, index=1).update(embedding=None)
    assert nodes_of(api, store, "mem:1") == {"state": "not_current", "count": 3}
    assert ask(api, store)["items"][0]["node_unavailable"] == "not_current"
    store.refresh_from_db()
    dividing.divide_store_later(store, by=ada, now=store.created_at)
    dividing.divide_store_later(store, by=ada, now=store.created_at)
    assert Job.objects.filter(store=store, kind="divide", state="queued").count() == 1
    run_jobs(store)
    assert nodes_of(api, store, "mem:1") == {"state": "current", "count": 3}


def test_a_store_without_long_texts_has_no_job(store, say, ada):
    say("short")
    dividing.divide_store_later(store, by=ada, now=store.created_at)
    assert not Job.objects.filter(store=store).exists()


def test_slices_cover_every_row_and_a_current_set_is_left_alone(
    other_model, store, say, run_jobs, monkeypatch
):
    monkeypatch.setattr(dividing, "_SLICE", 2)
    say(*(f"{n} {LONG}" for n in range(5)), "short")
    run_jobs(store)
    assert RecordNode.objects.filter(store=store).values("record").distinct().count() == 5
    RecordNode.objects.filter(store=store, record__number=4, index=2).delete()
    before = set(
        RecordNode.objects.filter(store=store).exclude(record__number=4).values_list("pk", flat=True)
    )
    seen = []
    other_model.before = lambda texts: seen.append(len(texts))
    dividing.divide_store_later(store, by=None, now=store.created_at)
    run_jobs(store)
    assert sum(seen) == 3
    assert before < set(RecordNode.objects.filter(store=store).values_list("pk", flat=True))
    assert RecordNode.objects.filter(store=store).count() == 15


def test_a_model_with_a_window_of_its_own_decides_where_a_text_is_cut(api, store, say, run_jobs, monkeypatch):
    class Windowed(OtherModel):
        window = CharacterWindow(20)

    monkeypatch.setattr(embedding, "current", Windowed)
    text = "one two three four five six seven"
    body = {"records": [{"content": text}, {"content": text[:20]}]}
    stored = api.post(url(store, "/records"), body, format="json").json()["records"]
    assert [row.get("nodes") for row in stored] == [{"status": "queued"}, None]
    run_jobs(store)
    found = RecordNode.objects.filter(store=store).order_by("index").values_list("start", "end")
    assert [text[start:end] for start, end in found] == ["one two three four ", "five six seven"]


def test_a_node_in_which_the_model_finds_nothing_is_the_least_alike(store, say, run_jobs):
    say(LONG + "\n\n" + " " * 2000)
    run_jobs(store)
    record = Record.objects.get(store=store)
    width = embedding.current().dimensions
    (nodes,) = read_nodes(
        store, running_model(), [("mem", record.pk)], np.ones(width, dtype=np.int16)
    ).values()
    assert state(nodes, len(record.content)) == "current"
    assert nodes[-1].cosine == NOWHERE
    assert all(-1 <= node.cosine <= 1 and node.cosine != NOWHERE for node in nodes[:3])
    # A query of another width cannot be compared with any of them.
    narrow = read_nodes(store, running_model(), [("mem", record.pk)], np.ones(3, dtype=np.int16))
    assert state(narrow["mem", record.pk], len(record.content)) == "not_current"


def test_rows_past_the_bound_are_quoted_from_their_start(api, store, say, run_jobs, monkeypatch):
    say(*({"content": f"{n} {LONG}", "timestamp": f"2026-01-0{n}T10:00:00Z"} for n in (1, 2, 3)))
    run_jobs(store)
    monkeypatch.setattr(texts, "MAX_DIVIDED_CHARS", 2 * len(LONG) + 10)
    answer = ask(api, store, count=3)
    assert ["node" in item for item in answer["items"]] == [True, True, False]
    assert answer["items"][2]["node_unavailable"] == "not_current"


NODES = [StoredNode(0, 0, 4, True), StoredNode(1, 4, 9, True), StoredNode(2, 9, 10, True)]


@pytest.mark.parametrize(
    ("nodes", "length", "expected"),
    [
        ([], 10, "no_nodes"),
        (NODES, 10, "current"),
        (NODES, 11, "not_current"),
        (NODES[:2], 10, "not_current"),
        (NODES[1:], 10, "not_current"),
        ([NODES[0], NODES[2]], 10, "not_current"),
        ([NODES[0], StoredNode(1, 5, 9, True), NODES[2]], 10, "not_current"),
        ([NODES[0], StoredNode(1, 3, 9, True), NODES[2]], 10, "not_current"),
        ([StoredNode(n.index + 100, n.start, n.end, True) for n in NODES], 10, "not_current"),
        ([*NODES[:2], StoredNode(2, 9, 10, False)], 10, "not_current"),
    ],
)
def test_current_is_a_partition_of_the_text_with_vectors_of_the_running_model(nodes, length, expected):
    assert state(nodes, length) == expected
    assert partitions(nodes, length) is (expected == "current" or not all(node.usable for node in nodes))
