"""The harness runs a context-bundle scenario as its format says."""

from datetime import UTC, datetime
from typing import Any

import pytest

from memoryconsole.models import Fact
from tests.contracts import bundle_running
from tests.contracts.bundle_symbols import symbols_of
from tests.contracts.bundle_values import Results
from tests.contracts.bundle_world import World
from tests.contracts.values import FormatError

NOW = "2026-09-30T10:00:00Z"
GIVEN: dict[str, Any] = {
    "now": NOW,
    "entities": [{"id": "E1", "name": "Aurora Tern"}, {"id": "E2", "name": "Pier 4"}],
    "documents": [{"id": "D1", "text": "Aurora Tern: harbour sheet.", "source_kind": "file"}],
    "claims": [{"id": "C1", "doc": "D1", "text": "Aurora Tern: harbour sheet.", "mentions": ["E1"]}],
    "facts": [
        {"id": f"F{n}", "kind": "observation", "subject": "E1", "statement": f"Aurora Tern trait {n}",
         "evidence": [["C1", "supports"]]}
        for n in (1, 2)
    ],
}  # fmt: skip
ASK = {"op": "facts_context", "args": {"query": "Aurora Tern", "entity_ids": ["E1"]}}


def run(call: Any = None, **given: Any) -> Results:
    return bundle_running.run({"given": GIVEN | given, "call": call or ASK})


def asked(name: str, op: str = "facts_context", **args: Any) -> dict[str, Any]:
    return {"as": name, "op": op, "args": ASK["args"] | args if op == "facts_context" else args}


def test_the_clock_stands_still_or_steps() -> None:
    for given, instants in (({}, [NOW, NOW]), ({"clock": "step"}, [NOW, "2026-09-30T10:00:01Z"])):
        results = run(prior_calls=[asked("p")], **given)
        found = [results.at(f"{name}temporal_scope.evaluated_at") for name in ("$p.", "")]
        assert found == instants


def test_answers_are_in_symbols_and_may_be_asked_with() -> None:
    args = ASK["args"] | {"k": 1}
    page = {"op": "facts_context", "args": args | {"continuation": "$p.truncation.continuation"}}
    results = run(page, prior_calls=[asked("p", k=1)])
    assert results.at("$p.facts[*].fact_id") == ["F1"]
    assert results.at("facts[*].fact_id") == ["F2"]
    assert results.at("evidence[0].doc_id") == "D1"


def test_a_fact_is_declared_at_the_scenarios_clock() -> None:
    args = {"id": "F9", "kind": "relation", "subject": "E1", "predicate": "located_in", "object": "E2",
            "evidence": [["C1", "supports"]]}  # fmt: skip
    results = run(prior_calls=[{"as": "w", "op": "declare_fact", "args": args}], clock="step")
    assert results.at("facts[id=relation:F9].label") == "Aurora Tern located in Pier 4"
    assert results.at("facts[id=relation:F9].validity.ingested_at") == NOW
    assert Fact.objects.filter(ingested_at=datetime(2026, 9, 30, 10, tzinfo=UTC), kind="relation").exists()


def test_a_document_of_the_same_source_is_no_second_one() -> None:
    results = run({"op": "ingest_document", "args": {"same_source_as": "D1"}})
    assert (results.at("$status"), results.at("created")) == (200, False)


def test_what_a_projection_holds_comes_first_and_is_counted() -> None:
    facts = [*GIVEN["facts"], GIVEN["facts"][0] | {"id": "F3", "evidence": [["CX", "supports"]]}]
    projection = {"stale_facts": ["observation:F3", "relation:F98", "observation:F1"]}
    results = run(facts=facts, projection=projection)
    assert results.at("facts[*].fact_id") == ["F1", "F2"]
    assert results.at("dropped_by_hydration") == 2
    results = run({"op": "claims_and_sources_context", "args": ASK["args"]},
                  projection={"stale_claims": ["C9"], "stale_chunks": ["K1", "K2"]})  # fmt: skip
    assert results.at("dropped_by_hydration") == 3
    exhausted = run(facts=[], projection={"nominations_exhausted": True})
    assert exhausted.at("truncation.total_is_exact") is False


def test_no_read_walks_a_graph_that_could_lag() -> None:
    with pytest.raises(FormatError):
        run(projection={"graph_still_holds": ["F1"]})


@pytest.mark.parametrize(
    "fault",
    [
        {"in": "facts_context", "raise": "out of luck"},
        {"in": "claims_and_sources_context", "emit_extra_field": "confidence"},
    ],
)
def test_a_child_that_fails(fault: dict[str, str]) -> None:
    bundle = {"op": "combined_context", "args": ASK["args"]}
    assert run(bundle).at("$status") == 200
    failed = run(bundle, fault=fault)
    assert failed.at("$status") == 500
    assert "out of luck" not in str(failed.last)


@pytest.mark.parametrize(("credential", "status"), [(None, 401), ("read", 200), ("write", 403)])
def test_a_credential_is_one_scope_or_none(credential: str | None, status: int) -> None:
    assert run(credential=credential).at("$status") == status
    with pytest.raises(FormatError):
        run(credential="ingest")


def test_another_deployment_is_another_store() -> None:
    other = {"entities": [{"id": "Z1", "name": "Aurora Tern"}], "documents": GIVEN["documents"]}
    results = run({"op": "resolve_entity", "args": {"name": "Aurora Tern"}}, other_deployment=other)
    assert results.at("entities[*].entity_id") == ["E1"]


def test_rrf_and_the_list_of_operations_are_asked_too() -> None:
    ranking = run({"op": "rrf", "args": {"channels": [["B", "A"], ["A"]]}})
    assert ranking.at("ranking[*].item_id") == ["A", "B"]
    assert ranking.at("ranking[id=B].signals") == {"channel_0": 1}
    assert run({"op": "list_operations", "args": {}}).at("operations.length") == 4


def test_nothing_is_sent_that_nobody_has_written_how_to() -> None:
    with pytest.raises(FormatError):
        run({"op": "forget_document", "args": {"document_id": "D1"}})
    with pytest.raises(FormatError):
        run({"op": "declare_fact", "args": {"id": "F9", "confidence": 1}})
    with pytest.raises(FormatError):
        run(fault={"forget": "running"})


def test_worlds_of_one_scenario_share_their_symbols() -> None:
    scenario = {"given": GIVEN | {"other_deployment": {"entities": GIVEN["entities"]}}, "call": ASK}
    symbols = symbols_of(scenario)
    worlds = [World(GIVEN, symbols), World(scenario["given"]["other_deployment"], symbols)]
    assert len({made.entities["E1"].uuid for made in worlds}) == 1
    assert len({made.store.pk for made in worlds}) == 2
