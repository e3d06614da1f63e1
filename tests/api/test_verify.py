"""Quotes of an answer, pasted or stored, come back current, changed or gone."""

import pytest
from django.utils import timezone

from memoryconsole.models import Payload, Record
from memoryconsole.services.ingest import digest_of
from memoryconsole.services.payloads import externalise
from tests.api.expanding import Graph
from tests.conftest import make_client, make_store


@pytest.fixture
def graph(api, store, settings):
    settings.EMBEDDER = "none"
    return Graph(api, store)


def states(answer):
    return [quote["state"] for quote in answer["quotes"]]


@pytest.fixture
def told(graph):
    """An answer with a summary, a payload, its placeholder and a row."""
    ref = graph.keep("gauge rising")
    rows = graph.say("[gauge]", payload=ref) + graph.say("The walrus sleeps.")
    answer = graph.ask(node_ids=[graph.sum_up("Animals.", rows)])
    return answer, rows, ref


def test_what_stands_as_it_was_quoted_is_current(graph, told):
    answer, _, _ = told
    for pasted in (answer, answer["evidence_provenance"]):
        verified = graph.post("verify", {"answer": pasted})
        assert states(verified) == ["current"] * 4
        assert verified["counts"] == {"current": 4, "changed": 0, "gone": 0, "not_located": 0}
    assert verified["quotes"][1]["path"] == "/items/1/quote"
    assert verified["quotes"][1]["ref"].startswith("payload:")


def test_what_was_rewritten_is_changed_and_what_was_deleted_is_gone(graph, told):
    answer, rows, ref = told
    Record.objects.filter(store=graph.store, number=rows[0]).update(content="[g]", digest=digest_of("[g]"))
    graph.api.delete(f"/api/v1/stores/{graph.store.public_id}/records/mem:{rows[1]}")
    Payload.objects.filter(store=graph.store, ref=ref).update(session=None)
    assert states(graph.post("verify", {"answer": answer})) == ["current", "gone", "changed", "gone"]


def test_a_quote_of_a_slice_is_compared_with_that_slice(graph):
    graph.say("wood " * 60 + "needle here, and more")
    answer = graph.ask(query="needle", context_max_tokens=5)
    (quote,) = graph.post("verify", {"answer": answer})["quotes"]
    assert (quote["state"], quote["offset"] > 0) == ("current", True)
    answer["evidence_provenance"]["items"][0]["expand_args"]["content_offset"] += 1
    assert states(graph.post("verify", {"answer": answer})) == ["changed"]


def test_reconstructions_are_verified_too(graph):
    rows = graph.say("The walrus sleeps at pier 2.", message_id="m") + graph.say(
        "A walrus wakes.", message_id="m"
    )
    answer = graph.post("reconstruct", {"query": "walrus", "count": 2})
    assert states(graph.post("verify", {"answer": answer})) == ["current", "current"]
    externalise(graph.store, rows[0], now=timezone.now())
    assert sorted(states(graph.post("verify", {"answer": answer}))) == ["changed", "current"]


def test_a_stored_answer_is_verified_by_its_digests(graph):
    rows = graph.say("The walrus sleeps.", "Fog.", "A walrus.")
    body = {"session_id": "s", "prompt": "p", "node_ids": [graph.sum_up("Animals.", rows)]}
    asked = graph.api.post(f"/api/v1/stores/{graph.store.public_id}/expand-query", body, format="json")
    trace = asked.headers["Trace-Id"]
    assert graph.post("verify", {"trace": trace})["counts"]["current"] == 4
    graph.api.delete(f"/api/v1/stores/{graph.store.public_id}/records/mem:{rows[0]}")
    externalise(graph.store, rows[1], now=timezone.now())
    found = {quote["ref"]: quote["state"] for quote in graph.post("verify", {"trace": trace})["quotes"]}
    assert found == {"ep:1": "current", "mem:1": "gone", "mem:2": "changed", "mem:3": "current"}


@pytest.mark.parametrize(
    "answer",
    [
        {}, {"items": None}, {"items": [None, 7, {}]}, {"evidence_provenance": {"items": "x"}},
        {"items": [{"quote": 7}, {"content": "x", "excerpts": [None, {"content": 1}]}]},
    ],
)  # fmt: skip
def test_what_is_no_answer_has_no_quotes_to_speak_of(graph, answer):
    assert set(states(graph.post("verify", {"answer": answer}))) <= {"not_located"}


@pytest.mark.parametrize(
    "args",
    [
        None, [], {}, {"store_id": "1"}, {"store_id": True}, {"store_id": 2**60}, {"store_id": 1, "content_offset": -1},
        {"node_id": 1.0}, {"externalized_ref": 7}, {"store_id": 1, "content_offset": 2**60},
    ],
)  # fmt: skip
def test_a_locator_that_is_none_locates_nothing(graph, args):
    answer = {"items": [{"quote": "x", "expand_args": args}]}
    assert states(graph.post("verify", {"answer": answer})) == ["not_located"]


@pytest.mark.parametrize("offset", [0, 5, 2**31, 2**52])
def test_an_offset_beyond_the_text_is_changed(graph, offset):
    graph.say("abc")
    answer = {"items": [{"quote": "xyz", "expand_args": {"store_id": 1, "content_offset": offset}}]}
    assert states(graph.post("verify", {"answer": answer})) == ["changed"]


def test_too_many_quotes_and_both_questions_are_refused(graph):
    many = {"items": [{"quote": "x"}] * 501}
    assert graph.post("verify", {"answer": many}, 400)["errors"][0]["pointer"] == "/answer"
    assert graph.post("verify", {}, 400)["code"] == "invalid_parameter"


def test_another_stores_rows_and_traces_are_gone_and_unknown(graph, told, cleo):
    answer, _, _ = told
    other = make_store(cleo)
    theirs = Graph(make_client(cleo, other), other)
    assert set(states(theirs.post("verify", {"answer": answer}))) == {"gone"}
    body = {"session_id": "s", "prompt": "p", "query": "walrus"}
    asked = graph.api.post(f"/api/v1/stores/{graph.store.public_id}/expand-query", body, format="json")
    assert theirs.post("verify", {"trace": asked.headers["Trace-Id"]}, 404)["code"] == "not_found"
