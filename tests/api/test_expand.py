"""expand-query and expand over HTTP: beyond the scenarios, what a session's size, its gaps and its strangers change."""

import json
import math

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from drf_spectacular.generators import SchemaGenerator

from memoryconsole.models import Payload, Record, RecordNode, Summary, SummarySource
from memoryconsole.search import words as search_words
from memoryconsole.services.payloads import externalise
from provenance.expand_query import lineage
from provenance.expand_query.texts import FIRST_TEXTS, TEXTS_AT_ONCE
from tests.api.expanding import Graph
from tests.conftest import make_client, make_store
from tests.pages.test_ask import words as read_words


@pytest.fixture
def graph(api, store, settings):
    settings.EMBEDDER = "none"
    return Graph(api, store)


def items(answer):
    return answer["evidence_provenance"]["items"]


def ids(answer):
    return [item["evidence_id"] for item in items(answer)]


def test_a_query_finds_summaries_of_any_depth_and_rows_in_its_session_alone(graph):
    rows = graph.say("The walrus sleeps at pier 2.", "Nothing of note.")
    leaf = graph.sum_up("Animals seen: a walrus.", rows)
    root = graph.sum_up("Week 14, walrus week.", [leaf], "nodes")
    other = Graph(graph.api, graph.store, "elsewhere")
    other.sum_up("A walrus elsewhere.", other.say("Another walrus."))
    found = graph.ask(query="walrus")
    assert set(found["node_ids"]) == {leaf, root}
    assert "elsewhere" not in json.dumps(found)
    assert found["raw_matches"] == []  # shown below its summary already
    assert ids(found)[-1] != "store:3:0:raw_search_hit"


def test_summaries_of_summaries_do_not_move_recall(graph):
    rows = graph.say("The walrus sleeps.", "Fog.")
    leaf = graph.sum_up("A walrus.", rows)
    before = graph.post("recall", {"query": "walrus"})
    for _ in range(5):
        graph.sum_up("walrus walrus walrus", [leaf], "nodes")
    assert graph.post("recall", {"query": "walrus"}) == before


def test_words_of_another_session_find_nothing(graph):
    graph.say("Fog.")
    Graph(graph.api, graph.store, "elsewhere").say("The walrus sleeps.")
    assert graph.ask(query="walrus")["synthesis"] == {"status": "not_run", "reason": "no_matches"}


@pytest.mark.parametrize("ask", [{"query": "walrus"}, {"node_ids": [1]}])
def test_a_session_that_is_not_there_is_404(graph, ask):
    graph.sum_up("A walrus.", graph.say("The walrus sleeps."))
    nobody = Graph(graph.api, graph.store, "nobody")
    refused = nobody.ask(404, **ask)
    assert refused["error"] == "Session not found"
    assert nobody.expand(404, store_id=1)["error"] == "Session not found"


def test_ids_that_were_not_used_are_named(graph):
    rows = graph.say("a", "b")
    nodes = [graph.sum_up(f"n{n}", rows) for n in range(4)]
    stranger = Graph(graph.api, graph.store, "elsewhere").sum_up("x", rows)
    found = graph.ask(node_ids=[nodes[0], stranger, 999, *nodes[1:]], max_results=4)
    assert found["node_ids"] == [nodes[0], nodes[1]]
    assert found["node_ids_omitted"] == {"not_found": [stranger, 999], "over_limit": nodes[2:]}


def test_children_of_another_session_are_no_children_and_rows_are_rows(graph):
    elsewhere = Graph(graph.api, graph.store, "elsewhere")
    strange_row = elsewhere.say("From elsewhere.")
    strange_node = elsewhere.sum_up("A strange summary.", strange_row)
    leaf = graph.sum_up("Mixed.", [*strange_row, *graph.say("From here.")])
    root = graph.sum_up("Root.", [strange_node, leaf], "nodes")
    found = graph.ask(node_ids=[root])
    assert "strange" not in json.dumps(found)
    assert [item["session_id"] for item in items(found)] == ["s", "s", "elsewhere", "s"]
    assert items(found)[1]["source_index"] == 1


def test_a_deleted_source_leaves_a_gap_and_a_deleted_root_is_not_found(graph, run_jobs):
    rows = graph.say("first", "second", "third")
    node = graph.sum_up("three", rows)
    for done in (False, True):
        if done:
            run_jobs(graph.store)
        else:
            graph.api.delete(f"/api/v1/stores/{graph.store.public_id}/records/mem:{rows[1]}")
        shown = [item for item in items(graph.ask(node_ids=[node])) if item["source_type"] == "raw_message"]
        assert [(item["quote"], item["source_index"]) for item in shown] == [("first", 0), ("third", 2)]
        page = graph.expand(node_id=node)
        assert page["pagination"]["skipped_sources"] == 1
    graph.api.delete(f"/api/v1/stores/{graph.store.public_id}/summaries/ep:{node}")
    assert graph.ask(node_ids=[node])["node_ids_omitted"] == {"not_found": [node], "over_limit": []}


def test_every_emitted_locator_opens_on_the_quote(graph):
    ref = graph.keep("gauge=2.9m; trend=rising", kind="tool_result")
    rows = graph.say("[payload]", payload=ref) + graph.say("Pier 2 is closed. " * 100)
    leaf = graph.sum_up("Gauge and pier.", rows)
    root = graph.sum_up("Week 14.", [leaf], "nodes")
    for answer in (graph.ask(node_ids=[root]), graph.ask(query="closed pier", context_max_tokens=20)):
        assert items(answer)
        for item in items(answer):
            opened = graph.expand(**item["expand_args"])
            assert opened.get("content", opened.get("summary")).startswith(item["quote"])


def test_every_cursor_is_taken_as_it_is(graph):
    leaves = [
        graph.sum_up(f"leaf {n} " * 9, graph.say(*(f"row {n} {m} " * 20 for m in range(4)))) for n in range(4)
    ]
    root = graph.sum_up("root " * 50, leaves, "nodes")
    for budget in (1, 30, 60, 150, 400, 900):
        for output in ("answer", "evidence"):
            found = graph.ask(node_ids=[root], context_max_tokens=budget, output=output)
            for entry in found["context_pagination"]:
                graph.expand(**entry["expand_args"])
            assert found["context_truncated"] is bool(found["context_pagination"])


@pytest.mark.parametrize("offset", [3, 4, 1_000, 2**31 - 1])
def test_a_page_beyond_the_last_source_is_empty_whatever_its_offset(graph, offset):
    node = graph.sum_up("three", graph.say("a", "b", "c"))
    page = graph.expand(node_id=node, source_offset=offset)
    assert (page["summary"], page["expanded"]) == ("three", [])
    told = page["pagination"]
    assert (told["has_more"], told["remaining_sources"], told["total_sources"]) == (False, 0, 3)


def test_paging_by_cursors_reads_everything_once(graph):
    texts = [f"row {n}: " + "word " * 30 for n in range(7)]
    node = graph.sum_up("seven", graph.say(*texts))
    read, args = {}, {"node_id": node, "max_tokens": 60}
    for _ in range(100):
        page = graph.expand(**args)
        for row in page["expanded"]:
            read[row["store_id"]] = read.get(row["store_id"], "") + row["content"]
        cursor = page["pagination"]
        if not cursor["has_more"]:
            break
        args |= {
            "source_offset": cursor["next_source_offset"],
            "content_offset": cursor["next_content_offset"],
        }
    assert list(read.values()) == texts


def test_the_text_of_a_payload_stands_in_for_its_row_where_its_owner_may_see_it(graph):
    elsewhere = Graph(graph.api, graph.store, "elsewhere")
    mine = graph.keep("MINE", kind="raw_payload")
    ingested = graph.keep("INGESTED", kind="ingest_payload")
    foreign = elsewhere.keep("FOREIGN")
    rows = [
        *graph.say("[mine]", payload=mine),
        *graph.say("[ingested]", payload=ingested),
        *graph.say("[foreign]", payload=foreign),
        *elsewhere.say("[theirs]", payload=foreign),
    ]
    shown = [item["quote"] for item in items(graph.ask(node_ids=[graph.sum_up("four", rows)]))]
    assert shown == ["four", "MINE", "[mine]", "[ingested]", "[foreign]", "FOREIGN", "[theirs]"]
    # What was shown may be opened: its row is a source here.
    assert graph.expand(externalized_ref=foreign)["content"] == "FOREIGN"
    unseen = elsewhere.keep("UNSEEN")
    elsewhere.say("[unseen]", payload=unseen)
    refused = graph.expand(404, externalized_ref=unseen)
    unknown = graph.expand(404, externalized_ref="nothing")
    assert refused["detail"].replace(unseen, "nothing") == unknown["detail"]


def test_the_payload_of_a_deleted_record_goes_with_it_unless_another_row_has_it(graph):
    ref = graph.keep("SECRET")
    rows = graph.say("[one]", "[two]", payload=ref)
    address = f"/api/v1/stores/{graph.store.public_id}/records/mem:"
    graph.api.delete(f"{address}{rows[0]}")
    assert graph.expand(externalized_ref=ref)["content"] == "SECRET"
    graph.api.delete(f"{address}{rows[1]}")
    graph.expand(404, externalized_ref=ref)
    assert not Payload.objects.filter(store=graph.store).exists()


def test_a_text_that_imitates_a_placeholder_is_a_text(graph):
    ref = graph.keep("SECRET")
    rows = graph.say(f"[Externalized payload: kind=raw_payload; chars=6; ref={ref}]")
    assert "SECRET" not in json.dumps(graph.ask(node_ids=[graph.sum_up("one", rows)]))


def test_payloads_are_immutable_and_records_name_only_those_that_are(graph):
    assert graph.keep("x", ref="a.json") == graph.keep("x", ref="a.json") == "a.json"
    taken = graph.post("payloads", {"payloads": [{"content": "y", "session_id": "s", "ref": "a.json"}]}, 400)
    assert taken["errors"][0]["pointer"] == "/payloads/0/ref"
    unknown = graph.post("records", {"records": [{"content": "[p]", "payload": "b.json"}]}, 400)
    assert unknown["errors"] == [
        {"pointer": "/records/0/payload", "code": "unknown", "message": "No such payload."}
    ]
    nobody = graph.post("payloads", {"payloads": [{"content": "y", "session_id": ""}]}, 400)
    assert nobody["errors"][0]["pointer"] == "/payloads/0/session_id"
    assert not Record.objects.filter(store=graph.store).exists()


def test_externalising_moves_a_text_out_and_leaves_a_placeholder(graph, settings, capsys):
    (number,) = graph.say("The walrus dumped this. " * 40, message_id="m")
    node = graph.sum_up("a dump", [number])
    before = Record.objects.get(store=graph.store, number=number)
    RecordNode.objects.create(store=graph.store, record=before, index=0, start=0, end=5)
    call_command("externalise", graph.store.public_id, str(number))
    after = Record.objects.get(pk=before.pk)
    assert after.payload.content == before.content
    assert bytes(after.digest) != bytes(before.digest)
    assert len(after.content) < 512
    assert not RecordNode.objects.filter(record=after).exists()
    shown = items(graph.ask(node_ids=[node]))
    assert [item["content_source"] for item in shown[1:]] == ["externalized_payload", "transcript_content"]
    assert shown[1]["quote_chars_before_provenance_cap"] == len(before.content)
    # What was moved out and is sent again is still the same message.
    assert graph.say("The walrus dumped this. " * 40, message_id="m") == [number]
    found = graph.post("recall", {"query": "walrus dumped"})["results"]
    assert f"mem:{number}" not in [row["ref"] for row in found]


@pytest.mark.parametrize("count", [1, 150, 450, FIRST_TEXTS + 100])
@pytest.mark.parametrize("embedder", ["none", "wordllama"])
def test_statements_are_seven_and_few_for_texts_beyond_the_first(
    graph, settings, monkeypatch, embedder, count
):
    """In a store above whose size words are counted before they are looked for, and with vectors to compare."""
    settings.EMBEDDER = embedder
    monkeypatch.setattr(search_words, "MAX_ROWS", 1)
    texts = [f"walrus {n}" for n in range(count)]
    rows = [row for n in range(0, count, 1000) for row in graph.say(*texts[n : n + 1000])]
    leaves = [graph.sum_up(f"leaf {n}", rows[n : n + 30]) for n in range(0, count, 30)]
    root = graph.sum_up("root", leaves, "nodes")
    searched = 6 if embedder == "wordllama" else 4
    asks = (({"node_ids": [root]}, 1), ({"query": "walrus root", "max_results": 100}, searched))
    for ask, chosen in asks:
        with CaptureQueriesContext(connection) as captured:
            found = graph.ask(**ask)
        begins = next(
            n for n, q in enumerate(captured.captured_queries) if "transaction_timestamp" in q["sql"]
        )
        ends = next(n for n, q in enumerate(captured.captured_queries) if q["sql"] == "COMMIT")
        asked = count + len(leaves) + 1
        assert found["context_truncated"] is False
        # What a search found (105 at most) stands among the first texts twice: as found, and in its place.
        least, most = (
            math.ceil(max(asked + twice - FIRST_TEXTS, 0) / TEXTS_AT_ONCE)
            for twice in (0, 105 if "query" in ask else 0)
        )
        further = ends - begins - 1 - chosen - 1
        assert least <= further <= most
        assert chosen + 1 + further <= 6 + math.ceil(asked / 200)


def test_what_is_read_depends_on_the_budget_and_not_on_the_session(graph):
    rows = graph.say(*(f"row {n} " + "word " * 20 for n in range(900)))
    leaves = [graph.sum_up(f"leaf {n}", rows[n : n + 30]) for n in range(0, 900, 30)]
    graph.sum_up("root", leaves, "nodes")
    root = Summary.objects.get(store=graph.store, summary="root").number
    chosen = lineage.select(graph.store, graph.session, [root])
    readings = [
        lineage.read(graph.store, graph.session, chosen, budget=budget) for budget in (10, 500, 100_000)
    ]
    planned = [len(reading.texts.order) for reading in readings]
    assert planned[0] < 64
    assert planned[1] < 200
    assert planned[2] == 931
    # The texts themselves come along, as far as one statement goes.
    assert [len(reading.texts.rows) + len(reading.texts.read_nodes) for reading in readings] == planned


def test_a_chain_of_forty_levels_is_gone_down(graph):
    (row,) = graph.say("the bottom")
    node = graph.sum_up("0", [row])
    for n in range(1, 40):
        node = graph.sum_up(str(n), [node], "nodes")
    found = graph.ask(node_ids=[node], context_max_tokens=100_000, output="evidence")
    assert found["evidence"][-1]["messages"][0]["content"] == "the bottom"
    assert found["evidence"][-1]["source_path_depth"] == 39


def test_a_wide_graph_and_a_cycle_end(graph):
    (row,) = graph.say("leaf")
    leaf = graph.sum_up("leaf", [row])
    a = graph.sum_up("a", [leaf] * 50, "nodes")
    b = graph.sum_up("b", [a] * 50, "nodes")
    SummarySource.objects.filter(summary__number=a, summary__store=graph.store, source_index=0).update(
        number=b, child=Summary.objects.get(store=graph.store, number=b)
    )
    found = graph.ask(node_ids=[b], context_max_tokens=2000)
    assert found["context_truncated"] is True
    assert found["evidence_provenance"]["context_occurrence_count"] > 10


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"query": "x", "max_tokens": True}, "max_tokens must be an integer"),
        ({"query": "x", "max_tokens": 1.5}, "max_tokens must be an integer"),
        ({"query": "x", "max_results": "5"}, "max_results must be an integer"),
        ({"query": "x", "max_results": 0}, "max_results: Ensure this value is greater than or equal to 1."),
        ({"node_ids": [True]}, "node_ids must contain only integers"),
        ({"node_ids": 7}, "node_ids must contain only integers"),
        ({"query": "   "}, "Provide either query or node_ids"),
        ({"query": None}, "Provide either query or node_ids"),
        ({"query": "x", "prompt": ""}, "prompt is required"),
        ({"query": "x", "prompt": " \n"}, "prompt is required"),
        ({"query": "x", "session_id": ""}, "session_id: This field may not be blank."),
        ({"query": "x", "extra": 1}, "extra: No such member."),
    ],
)
def test_what_is_wrong_is_said_in_the_contracts_words(graph, body, sentence):
    refused = graph.ask(400, **body)
    assert (refused["error"], refused["code"]) == (sentence, "invalid_parameter")
    assert "evidence_provenance" not in refused


@pytest.mark.parametrize(
    "body",
    [
        {}, {"node_id": 1, "store_id": 1}, {"store_id": 1, "source_offset": 1}, {"store_id": "1"}, {"store_id": True},
        {"node_id": 1, "max_tokens": 0}, {"externalized_ref": ""}, {"node_id": 1, "content_offset": -1},
        {"node_id": 1, "session_id": ""},
    ],
)  # fmt: skip
def test_an_expansion_names_one_locator_and_sane_bounds(graph, body):
    graph.say("x")
    assert graph.expand(400, **body)["code"] == "invalid_parameter"


def test_two_tenants_with_the_same_numbers_see_their_own(graph, ada, cleo, settings):
    theirs = Graph(make_client(cleo, other := make_store(cleo)), other)
    for each, word in ((graph, "mine"), (theirs, "theirs")):
        ref = each.keep(f"payload {word}", ref="p.json")
        each.sum_up(f"summary {word}", each.say(f"row {word}", payload=ref))
    for each, word, strange in ((graph, "mine", "theirs"), (theirs, "theirs", "mine")):
        answers = [each.ask(node_ids=[1]), each.ask(query="row"), each.expand(store_id=1), each.expand(node_id=1),
                   each.expand(externalized_ref="p.json")]  # fmt: skip
        assert all(word in json.dumps(answer) and strange not in json.dumps(answer) for answer in answers)
    Payload.objects.filter(store=other).delete()
    Record.objects.filter(store=other).delete()
    assert theirs.expand(404, store_id=1)["error"] == "Message store_id 1 not found"
    assert theirs.expand(404, externalized_ref="p.json")["code"] == "not_found"


def test_a_call_writes_nothing_but_its_trace(graph):
    graph.sum_up("A walrus.", graph.say("The walrus sleeps."))
    with CaptureQueriesContext(connection) as captured:
        graph.ask(query="walrus")
        graph.expand(node_id=1)
    writes = [
        q["sql"] for q in captured.captured_queries if q["sql"].split()[0] in ("INSERT", "UPDATE", "DELETE")
    ]
    assert all(sql.startswith("INSERT INTO mc_trace") for sql in writes)
    assert len(writes) == 2


SAME = {"result": "identical"}
FORGOTTEN = {"result": "not_replayable", "reason": "forgotten"}


def trace_of(graph, tail, body):
    answer = graph.api.post(f"/api/v1/stores/{graph.store.public_id}/{tail}", body, format="json")
    return answer.headers["Trace-Id"]


def test_traces_hold_no_text_and_replay_to_the_same(graph, run_jobs):
    ref = graph.keep("gauge rising")
    rows = graph.say("The walrus sleeps at pier 2.", "Quietly.") + graph.say("[gauge]", payload=ref)
    root = graph.sum_up("Week of beasts.", [graph.sum_up("Animals.", rows)], "nodes")
    base = {"session_id": "s", "prompt": "why?"}
    traces = [
        trace_of(graph, "expand-query", base | {"node_ids": [root, 77], "context_max_tokens": 60}),
        trace_of(graph, "expand-query", base | {"query": "walrus", "output": "evidence"}),
        trace_of(graph, "expand-query", base | {"query": "zeppelin"}),
        trace_of(graph, "expand-query", base | {"query": "zeppelin", "max_results": 0}),
        trace_of(graph, "expand", {"session_id": "s", "node_id": root}),
        trace_of(graph, "expand", {"session_id": "s", "store_id": rows[0], "content_offset": 4}),
        trace_of(graph, "expand", {"session_id": "s", "externalized_ref": ref}),
    ]
    for trace in traces:
        told = graph.api.get(f"/api/v1/traces/{trace}")
        kept = {name: told.json()[name] for name in ("seen", "told", "notices")}
        for word in ("sleeps", "Quietly", "gauge rising", "Animals", "beasts"):
            assert word not in json.dumps(kept)
        replayed = graph.api.post(f"/api/v1/traces/{trace}/replay", {}, format="json").json()
        assert replayed["result"] == "identical", (trace, replayed)
    graph.say("A later walrus.")
    graph.api.delete(f"/api/v1/stores/{graph.store.public_id}/records/mem:{rows[0]}")
    results = [graph.api.post(f"/api/v1/traces/{trace}/replay", {}, format="json").json() for trace in traces]
    kept = [{"same_core": True} | result for result in (FORGOTTEN, FORGOTTEN, *[SAME] * 3, FORGOTTEN, SAME)]
    assert results == kept


def test_a_cursor_on_a_deleted_source_is_not_replayed(graph):
    leaves = [graph.sum_up(f"leaf {n}", graph.say(f"first {n}", f"second {n}")) for n in range(3)]
    root = graph.sum_up("root", leaves, "nodes")
    base = {"session_id": "s", "prompt": "p", "context_max_tokens": 1}
    traces = [
        trace_of(graph, "expand-query", base | {"node_ids": [leaves[0]]}),
        trace_of(graph, "expand", {"session_id": "s", "node_id": leaves[1], "max_tokens": 2}),
        trace_of(graph, "expand", {"session_id": "s", "node_id": root, "max_tokens": 4}),
    ]
    seen = [graph.api.get(f"/api/v1/traces/{trace}").json()["seen"] for trace in traces]
    assert [each["next"] for each in seen] == [["mem:1"], ["mem:4"], [f"ep:{leaves[2]}"]]
    url = f"/api/v1/stores/{graph.store.public_id}"
    gone = ("records/mem:1", "records/mem:4", f"summaries/ep:{leaves[2]}")
    for trace, path in zip(traces, gone, strict=True):
        replay = f"/api/v1/traces/{trace}/replay"
        assert graph.api.post(replay, {}, format="json").json() == {"same_core": True} | SAME
        assert graph.api.delete(f"{url}/{path}").status_code in (200, 202, 204)
        assert graph.api.post(replay, {}, format="json").json() == {"same_core": True} | FORGOTTEN


def test_a_rewritten_text_is_not_replayed(graph):
    (row,) = graph.say("The walrus sleeps.")
    node = graph.sum_up("Animals.", [row])
    trace = trace_of(graph, "expand-query", {"session_id": "s", "prompt": "p", "node_ids": [node]})
    externalise(graph.store, row, now=timezone.now())
    replayed = graph.api.post(f"/api/v1/traces/{trace}/replay", {}, format="json").json()
    assert (replayed["result"], replayed["reason"]) == ("not_replayable", "changed")


def test_why_a_row_is_there_or_not(graph):
    rows = graph.say("The walrus sleeps at pier 2.", "Fog. " * 200, "More fog. " * 200)
    leaf = graph.sum_up("Animals.", rows)
    lone = graph.sum_up("Alone.", rows)
    strange = Graph(graph.api, graph.store, "elsewhere").say("x")[0]
    trace = trace_of(graph, "expand-query", {"session_id": "s", "prompt": "p", "node_ids": [leaf],
                                             "context_max_tokens": 100})  # fmt: skip
    (late,) = graph.say("Later.")
    asked = {f"ep:{leaf}": "inside", f"mem:{rows[0]}": "inside", f"mem:{rows[2]}": "not_reached", f"ep:{lone}":
             "not_reached", f"mem:{strange}": "other_session", f"mem:{late}": "stored_later",
             "mem:99999": "no_such_row"}  # fmt: skip
    for ref, bound in asked.items():
        verdict = graph.api.get(f"/api/v1/traces/{trace}/why?ref={ref}").json()
        assert (verdict["bound"], verdict["verdict"]) == (bound, "in" if bound == "inside" else "out"), ref
        assert "walrus" not in verdict["sentence"]


def test_the_console_tells_the_story_of_both(graph, client, ada):
    ref = graph.keep("gauge rising")
    leaf = graph.sum_up("Animals.", graph.say("The walrus sleeps.") + graph.say("[gauge]", payload=ref))
    client.force_login(ada)
    for tail, body in (
        ("expand-query", {"prompt": "p", "node_ids": [leaf]}),
        ("expand-query", {"prompt": "p", "query": "zeppelin"}),
        ("expand", {"node_id": leaf}),
        ("expand", {"externalized_ref": ref}),
    ):
        trace = trace_of(graph, tail, {"session_id": "s"} | body)
        page = client.get(f"/stores/{graph.store.public_id}/traces/{trace}")
        assert page.status_code == 200
        assert "<script>" not in page.content.decode()


def _told(client, graph, trace):
    return read_words(client.get(f"/stores/{graph.store.public_id}/traces/{trace}").content.decode())


def test_the_story_shows_the_stretch_that_was_given_of_the_text_it_was_given_of(graph, client, ada):
    ref = graph.keep("gauge rising " * 40)
    text = "Dawn. " + "The walrus sleeps. " * 30 + "Dusk falls."
    rows = graph.say(text) + graph.say("[gauge]", payload=ref)
    leaf = graph.sum_up("Animals.", rows)
    client.force_login(ada)
    base = {"session_id": "s"}
    context = trace_of(graph, "expand-query", base | {"prompt": "p", "node_ids": [leaf]})
    node = trace_of(graph, "expand", base | {"node_id": leaf, "content_offset": 6})
    row = trace_of(graph, "expand", base | {"store_id": rows[0], "content_offset": len(text) - 5})
    payload = trace_of(graph, "expand", base | {"externalized_ref": ref, "content_offset": 515})
    told = _told(client, graph, context)
    assert f"mem:{rows[1]} the payload {ref} , characters 0 to 520" in told
    assert "gauge rising gauge" in told
    assert "[gauge]" not in told
    told = _told(client, graph, node)
    assert f"characters 6 to {len(text)} The walrus" in told
    assert f"mem:{rows[1]} characters 0 to 7 [gauge]" in told
    told = _told(client, graph, row)
    assert f"characters {len(text) - 5} to {len(text)} alls." in told
    assert "walrus" not in told
    told = _told(client, graph, payload)
    assert f"the payload {ref} , characters 515 to 520 sing" in told
    assert "gauge" not in told
    externalise(graph.store, rows[0], now=timezone.now())
    for trace in (context, node, row):
        assert _told(client, graph, trace).count("it is not the text it was") == 1
    graph.api.delete(f"/api/v1/stores/{graph.store.public_id}/records/mem:{rows[1]}")
    assert f"mem:{rows[1]} the payload {ref} , characters 0 to 520 forgotten" in _told(client, graph, context)
    assert "forgotten: it was deleted since" in _told(client, graph, payload)
    graph.api.delete(f"/api/v1/stores/{graph.store.public_id}/records/mem:{rows[0]}")
    graph.api.delete(f"/api/v1/stores/{graph.store.public_id}/summaries/ep:{leaf}")
    for trace, lines in ((context, 3), (node, 3), (row, 1)):
        assert _told(client, graph, trace).count("forgotten: it was deleted since") == lines


def test_the_console_says_what_was_asked(graph, client, ada):
    leaf = graph.sum_up("Animals.", graph.say("The walrus sleeps."))
    client.force_login(ada)
    base = {"session_id": "s", "prompt": "Where is it asleep?"}
    by_id = trace_of(graph, "expand-query", base | {"node_ids": [leaf]})
    by_words = trace_of(graph, "expand-query", base | {"query": "walrus"})
    opened = trace_of(graph, "expand", {"session_id": "s", "node_id": leaf})
    asked = {by_id: "Where is it asleep?", by_words: "walrus", opened: "(a locator followed)"}
    traces = f"/stores/{graph.store.public_id}/traces"
    listed = client.get(traces).content.decode()
    for trace, question in asked.items():
        assert f">{question}<" in listed
        assert f">{question}</h1>" in client.get(f"{traces}/{trace}").content.decode()
        compared = client.get(f"{traces}/{trace}/compare?b={by_id}").content.decode()
        assert f">{question}<" in compared
    assert "not kept" not in listed


def test_the_schema_states_the_boundary():
    schema = SchemaGenerator().get_schema(request=None, public=True)
    told = schema["paths"]["/api/v1/stores/{store}/expand-query"]["post"]["description"].lower()
    for words in (
        "locator coverage",
        "unverified",
        "semantic entailment",
        "non-authoritative",
        "store_id",
        "node_id",
    ):
        assert words in told


def test_the_bound_holds_over_http_for_many_texts_beyond_ascii(graph):
    rows = graph.say(*(f"entry {n} " + "水🛶" * 200 for n in range(40)))
    found = graph.ask(node_ids=[graph.sum_up("forty", rows)], context_max_tokens=100_000)
    provenance = found["evidence_provenance"]
    assert len(json.dumps(provenance)) <= provenance["serialized_char_limit"] == 10_000
    assert provenance["items_truncated"] is True
    assert provenance["context_unique_item_count"] == 41
