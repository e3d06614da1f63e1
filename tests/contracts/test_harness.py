"""What a scenario may say, the data it makes, what it replaces, and what is counted."""

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from memoryconsole import search
from memoryconsole.models import (
    Association,
    EntryVector,
    IndexEntry,
    Mention,
    Record,
    RecordNode,
    StoreCounter,
)
from memoryconsole.scope import ReadScope
from tests.contracts import candidate_stage, running, skipping
from tests.contracts.conftest import Tally
from tests.contracts.embedder import InjectedEmbedder
from tests.contracts.reconstruct_format import validate
from tests.contracts.values import FormatError, Results
from tests.contracts.world import World

RECORD = {"id": 3, "content": "lamp oil"}
RECONSTRUCT = {"tool": "reconstruct", "args": {"query": "lamp"}}


def scenario(*, given: Any = None, call: Any = RECONSTRUCT, **members: Any) -> dict[str, Any]:
    check = {"path": "items", "op": "eq", "value": []}
    return {"id": "X", "given": given or {}, "call": call, "check": [check], **members}


def world(*agents: str, **given: Any) -> World:
    embedder = InjectedEmbedder("m1")
    with embedder.injected():
        return World(given, agents, embedder)


def run(**members: Any) -> Results:
    wanted = scenario(**members)
    validate(wanted)
    return running.run(wanted)


@pytest.mark.parametrize(
    "wrong",
    [
        {"author": "x"},
        {"check": []},
        {"given": {"record": []}},
        {"given": {"records": [{"id": 1}]}},
        {"given": {"records": [RECORD | {"title": "x"}]}},
        {"given": {"records": [RECORD | {"source": {"type": "User", "name": "x"}}]}},
        {"given": {"records": [RECORD | {"nodes": {"model": "m1", "spans": []}}]}},
        {"given": {"episodes": [{"id": 1, "summary": "x", "begin": ""}]}},
        {"given": {"entities": [{"name": "x", "alias": []}]}},
        {"given": {"relations": [{"subject": "x", "predicate": "y"}]}},
        {"given": {"config": {"max_counts": 3}}},
        {"given": {"retrieval": {"order": []}}},
        {"given": {"retrieval": {"query_embedding": "broken"}}},
        {"given": {"steps": [{"op": "forget", "ref": "mem:1"}]}},
        {"given": {"steps": [{"op": "delete"}]}},
        {"given": {"steps": [{"op": "wait_for_nodes", "seconds": 1}]}},
        {"call": {"tool": "search", "args": {}}},
        {"call": {"tool": "client", "args": {}}},
        {"call": {"tool": "recall", "args": {}, "store": "a"}},
        {"call": {"tool": "startup", "args": {"store": {}}}},
        {"call": {"tool": "startup", "args": {"environment": {"max_counts": 3}}}},
        {"more_calls": [{"tool": "search", "args": {}}]},
        {"variants": [{"call": RECONSTRUCT}]},
        {"variants": [{"given": {"record": []}, "call": RECONSTRUCT}]},
    ],
)
def test_what_the_format_does_not_have_is_an_error(wrong: dict[str, Any]) -> None:
    validate(scenario())
    with pytest.raises(FormatError):
        validate(scenario(**wrong))


def test_a_manual_scenario_is_skipped_whatever_its_call_says() -> None:
    manual = scenario(call={"tool": "client", "args": {}}, check=[], manual=True)
    validate(manual)
    assert skipping.reason("reconstruct", manual) == skipping.MANUAL


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"call": {"tool": "store", "args": {"records": [{"content": "x", "associations": {}}]}}},
        {"more_calls": [{"tool": "traverse", "args": {}}]},
        {"given": {"steps": [{"op": "declare", "args": {}}]}},
    ],
)
def test_what_a_scenario_asks_for_is_no_reason_to_skip_it(members: dict[str, Any]) -> None:
    assert skipping.reason("reconstruct", scenario(**members)) is None


def test_rows_have_the_numbers_given_and_the_counters_stand_past_them() -> None:
    made = world(
        records=[RECORD, {"id": 7, "content": "rope"}],
        episodes=[{"id": 2, "summary": "muster", "start": "2026-01-01", "end": "2026-01-02"}],
        entities=[
            {"name": "Pier  Nine", "aliases": ["moorings"], "mentions": ["mem:7", "ep:2"]},
            {"name": "Crew"},
        ],
        relations=[{"subject": "pier nine", "predicate": "Run  By", "object": "Crew", "id": 9}],
    )
    store = made.stores["a"]
    assert list(Record.objects.filter(store=store).order_by("pk").values_list("number", flat=True)) == [3, 7]
    counter = StoreCounter.objects.get(store=store)
    assert (counter.record, counter.summary, counter.entity, counter.association) == (7, 2, 2, 9)
    assert Association.objects.get(store=store).predicate == "run by"
    assert Mention.objects.filter(store=store).count() == 2


def test_an_agent_is_a_store_and_a_foreign_graph_may_name_the_default_agents_rows() -> None:
    made = world(
        "c",
        records=[RECORD, RECORD | {"agent": "b", "content": "theirs"}, {"id": 4, "content": "mine alone"}],
        entities=[{"name": "Pier", "agent": "b", "mentions": ["mem:3", "mem:4"]}],
    )
    assert sorted(made.stores) == ["a", "b", "c"]
    mentioned = Mention.objects.filter(store=made.stores["b"]).order_by("record__number")
    assert list(mentioned.values_list("record__content", flat=True)) == ["theirs", "mine alone"]


@pytest.mark.parametrize(
    "given",
    [
        {"entities": [{"name": "Pier", "mentions": ["mem:9"]}]},
        {"relations": [{"subject": "Pier", "predicate": "owns", "object": "Crew"}]},
        {"relations": [{"subject": "mem:1", "predicate": "owns", "object": "mem:2"}]},
        {
            "entities": [{"name": "Pier"}],
            "relations": [{"subject": "Pier", "predicate": "owns", "object": "Pier", "declared_at": "soon"}],
        },
        {"records": [RECORD | {"similarity": 1.2}]},
    ],
)
def test_data_that_names_what_is_not_there_is_an_error(given: dict[str, Any]) -> None:
    with pytest.raises(FormatError):
        world(**given)


def test_a_row_has_a_vector_when_it_has_a_similarity() -> None:
    made = world(records=[RECORD, {"id": 4, "content": "rope", "similarity": 0.5}])
    store = made.stores["a"]
    assert IndexEntry.objects.filter(store=store).count() == 2
    vectors = EntryVector.objects.filter(store=store)
    # All zeros: the model found nothing in the text.
    assert [vector.entry.number for vector in vectors if any(vector.embedding)] == [4]


def test_nodes_are_made_in_the_space_of_their_model() -> None:
    nodes = {"model": "m2", "spans": [[0, 4], [4, 8]], "similarity": [0.1, 0.9]}
    made = world(records=[RECORD | {"nodes": nodes}])
    found = RecordNode.objects.filter(store=made.stores["a"]).order_by("index")
    assert list(found.values_list("start", "end", "space__name")) == [(0, 4, "m2"), (4, 8, "m2")]
    made.drop_nodes("mem:3")
    assert not found.all().exists()


@pytest.mark.parametrize("similarity", [-1.0, -0.4, 0.0, 0.02, 0.31, 0.5, 0.77, 0.78, 0.93, 0.9999, 1, 1.0])
def test_injected_vectors_have_the_cosine_given(similarity: float) -> None:
    query, row = InjectedEmbedder.vector(1.0), InjectedEmbedder.vector(similarity)
    cosine = float(query @ row / (np.linalg.norm(query) * np.linalg.norm(row)))
    assert cosine == pytest.approx(similarity, abs=1e-4)
    assert np.abs(row).max() == 127


def test_the_ranking_is_scoped_and_cut_and_nothing_else_is_replaced() -> None:
    made = world(
        records=[
            {"id": 1, "content": "one", "project": "p1"},
            {"id": 2, "content": "two", "project": "p2"},
            {"id": 3, "content": "three"},
            {"id": 4, "content": "four"},
        ],
    )
    query = search.Query("q")
    with candidate_stage.injected({"ranking": ["mem:4", "mem:2", "mem:9", "mem:1", "mem:3"]}):
        found = search.candidates(made.stores["a"], query, ReadScope(project_id="p1"), limit=2)
    assert [(row.kind, row.number) for row in found.rows] == [("mem", 4), ("mem", 1)]
    assert not search.candidates(made.stores["a"], search.Query("absent"), ReadScope(), limit=2).rows


@pytest.mark.parametrize(
    ("scope", "read"),
    [
        ({}, ["mem", "mem p c u1", "ep", "ep p c"]),
        ({"project_id": ""}, ["mem", "ep"]),
        ({"project_id": "p"}, ["mem", "mem p c u1", "ep", "ep p c"]),
        ({"project_id": "q"}, ["mem", "ep"]),
        ({"channel": "d"}, ["mem", "ep"]),
        ({"source_id": "u"}, ["mem p c u1"]),
        ({"source_id": "u1x"}, []),
        ({"source_id": "u", "channel": "c"}, ["mem p c u1", "ep", "ep p c"]),
    ],
)
def test_the_read_scope(scope: dict[str, str], read: list[str]) -> None:
    rows = {"mem": ("", "", ""), "mem p c u1": ("p", "c", "u1"), "ep": ("", "", ""), "ep p c": ("p", "c", "")}
    readable = [
        name
        for name, row in rows.items()
        if candidate_stage.readable(ReadScope(**scope), name.split()[0], *row)
    ]
    assert readable == read


def test_what_retrieval_says_reaches_the_answer() -> None:
    advisory, update = {"degraded": True}, {"kind": "newer"}
    given = {
        "records": [RECORD],
        "retrieval": {
            "ranking": ["mem:3"],
            "rows_without_ref": 2,
            "gate_fallback": True,
            "advisory": advisory,
            "update": update,
        },
    }
    body = run(given=given).done[0].body
    assert body["items"][0]["head_ref"] == "mem:3"
    assert body["reconstruction"] == {"excluded_without_provenance": 2}
    assert (body["gate_fallback"], body["advisory"], body["update"]) == (True, advisory, update)


def test_settings_of_a_scenario_are_in_force_for_it_alone() -> None:
    given = {"config": {"default_count": 2, "max_count": 2}}
    variant = {"given": {"config": {}}, "call": RECONSTRUCT}
    results = run(given=given, more_calls=[RECONSTRUCT], variants=[variant])
    assert [result.body["effective_count"] for result in results.done] == [2, 2, 1]


def test_variants_run_on_fresh_data_and_more_calls_on_the_same() -> None:
    store = {"tool": "store", "args": {"records": [{"content": "rope"}]}}
    variant = {"given": {"records": []}, "call": store}
    results = run(given={"records": [RECORD]}, call=store, more_calls=[store], variants=[variant])
    assert [results.at(f"r{n}.records[0].ref") for n in range(3)] == ["mem:4", "mem:5", "mem:1"]
    assert results.at("r0.$status") == 201
    assert results.at("r0.$media") == "application/json"


def test_steps_come_before_the_call_which_may_refer_to_them() -> None:
    records = [RECORD | {"message_id": "m", "project": "p", "source": {"type": "User", "id": "u"}}]
    steps = [
        {"op": "supersede", "ref": "mem:3", "content": "lamp oil, two barrels", "timestamp": "2026-02-01"},
        {"op": "delete", "ref": "mem:3"},
    ]
    call = {"tool": "recall", "args": {"query": {"$from": "$steps[0].ref"}}}
    again = {"tool": "recall", "args": {"query": {"$text": {"prefix": "lamp", "fill": " oil", "length": 8}}}}
    results = run(given={"records": records, "steps": steps}, call=call, more_calls=[again])
    assert results.at("r0.$steps[0]") == {"ref": "mem:4"}
    assert results.at("r0.$embedded") == ["mem:4"]
    assert results.at("r1.results[*].ref") == ["mem:4"]
    assert results.at("r1.results[0].project_id") == "p"
    assert results.at("r1.$embedded") == ["lamp oil"]
    assert Record.objects.filter(content="lamp oil, two barrels").latest("pk").source_id == "u"


def test_a_step_that_is_refused_is_no_pass() -> None:
    with pytest.raises(AssertionError, match="refused"):
        run(given={"steps": [{"op": "delete", "ref": "mem:8"}]})


def test_a_refused_call_is_a_result() -> None:
    results = run(call={"tool": "reconstruct", "args": {"query": "q", "count": True}})
    assert results.at("$status") == 400
    assert results.at("$media") == "application/problem+json"
    assert results.at("items") == []


def test_a_row_of_unknown_context_is_a_case_for_the_core() -> None:
    near = {"source": {"type": "User", "id": "u"}, "timestamp": "2026-01-01T10:00:00Z"}
    rows = [{"id": n, "content": f"row {n}", "project": "p", **near} for n in (1, 2, 3)]
    given = {
        "records": [rows[0] | {"context_unknown": True}, *rows[1:]],
        "retrieval": {"ranking": ["mem:1", "mem:2", "mem:3"]},
        "relations": [{"subject": "mem:3", "predicate": "Corrects", "object": "mem:2"}],
    }
    call = {"tool": "reconstruct", "args": {"query": "q", "count": 9, "trace": True}}
    results = run(given=given, call=call)
    assert results.at("trace.clusters") == [["mem:1"], ["mem:2", "mem:3"]]
    assert results.at("items[1].claims[ref=mem:2].roles") == [{"ref": "mem:3", "role": "corrects"}]
    with pytest.raises(FormatError):
        run(given=given, call={"tool": "recall", "args": {"query": "q"}})


def test_start_up_and_overrides() -> None:
    def start(**args: Any) -> dict[str, Any]:
        return {"tool": "startup", "args": args}

    results = run(
        call=start(environment={"max_count": 5}),
        more_calls=[
            start(environment={"max_count": 5, "default_count": 6}),
            start(environment={"max_count": True}),
            start(environment={"max_count": 5}, store={"default_count": 6}),
            start(environment={"max_count": 9}, store={"default_count": 6}),
        ],
    )
    assert results.at("r0") == {"started": True, "named": []}
    assert results.at("r1") == {"started": False, "named": ["default_count", "max_count"]}
    assert results.at("r2") == {"started": False, "named": ["max_count"]}
    assert [results.at(f"r3.{name}") for name in ("started", "saved", "$status")] == [True, False, 400]
    assert "default_count" in results.at("r3.named")
    assert [results.at(f"r4.{name}") for name in ("started", "saved", "$status")] == [True, True, 200]
    with pytest.raises(FormatError):
        run(call=start(environment={"rrf_k": 3}))


def test_a_whole_body_is_compared_but_for_the_order_of_two_sets() -> None:
    given = {"records": [RECORD, RECORD | {"id": 4}], "retrieval": {"ranking": ["mem:4", "mem:3"]}}
    call = {"tool": "reconstruct", "args": {"query": "q", "trace": True}}
    results = run(given=given, call=call)
    body = json.loads(json.dumps(results.done[0].body))
    body["trace"]["candidate_refs"].reverse()
    body["trace"]["clusters"].reverse()
    assert running.faults({"expected_response": body}, results) == []
    assert len(running.faults({"expected_response": body | {"returned_count": 1.0}}, results)) == 1


def test_every_run_has_its_own_whole_body() -> None:
    results = run(more_calls=[RECONSTRUCT])
    body = results.done[0].body
    assert running.faults({"expected_response": {"r1": body, "r0": body}}, results) == []
    assert len(running.faults({"expected_response": {"r0": body, "r1": {}}}, results)) == 1
    with pytest.raises(FormatError):
        running.faults({"expected_response": {"r0": body}}, results)


def test_the_tally_counts_scenarios_once_each_by_file() -> None:
    def report(case: str, when: str, outcome: str, file: str = "reconstruct") -> Any:
        return SimpleNamespace(
            nodeid=f"tests/contracts/test_{file}.py::test_scenario[{case}]",
            when=when,
            outcome=outcome,
            failed=outcome == "failed",
            skipped=outcome == "skipped",
        )

    tally = Tally()
    for case, outcomes in {
        "passes": ("passed", "passed", "passed"),
        "fails]": ("passed", "failed", "passed"),
        "errs": ("failed",),
        "late": ("passed", "passed", "failed"),
        "skips": ("passed", "skipped", "passed"),
    }.items():
        for when, outcome in zip(("setup", "call", "teardown"), outcomes, strict=False):
            tally.take(report(case, when, outcome))
    tally.take(report("x", "call", "skipped", file="expand_query"))
    tally.take(SimpleNamespace(nodeid="tests/contracts/test_harness.py::test_this[a]", when="call"))
    assert [json.loads(line) for line in tally.lines()] == [
        {"file": "reconstruct.json", "ran": 4, "passed": 1, "failed": 3, "skipped": 1},
        {"file": "expand_query.json", "ran": 0, "passed": 0, "failed": 0, "skipped": 1},
    ]
