"""What a scenario of `context_bundle.json` may say. Anything else is a FormatError."""

from typing import Any

from tests.contracts.scenario_files import Scenario
from tests.contracts.values import FormatError, require_keys

Given = dict[str, Any]
Call = dict[str, Any]

_SCENARIO = {"id", "title", "topic", "authority", "given", "call", "expect", "note"}
# The rows of a store: what each may hold, and what it must.
ROWS: dict[str, tuple[set[str], set[str]]] = {
    "entities": (
        {"id", "name", "aliases", "merged_into", "merged_at", "status", "provenance"},
        {"id", "name"},
    ),
    "documents": ({"id", "title", "text", "source_kind", "deleted"}, {"id", "text"}),
    "claims": (
        {"id", "doc", "text", "quote", "mentions", "current", "attributed", "asserted", "from", "until", "precision"},
        {"id", "doc", "text"},
    ),
    "facts": (
        {"id", "kind", "subject", "predicate", "object", "statement", "from", "until", "precision", "ingested",
         "invalidated", "support", "evidence", "window_claims"},
        {"id", "kind", "subject"},
    ),
    "groups": ({"id", "members", "resolved"}, {"id", "members"}),
    "transcript": (
        {"subject_kind", "subject_id", "outcome", "method", "related_id", "decided_by", "decided_at", "features"},
        {"subject_kind", "subject_id", "outcome"},
    ),
}  # fmt: skip
_OF_A_STORE = {*ROWS, "config"}
_GIVEN = {
    *_OF_A_STORE,
    "now",
    "clock",
    "projection",
    "channels_note",
    "fault",
    "credential",
    "other_deployment",
    "prior_calls",
    "mutate",
}
PROJECTION = {"stale_claims", "stale_chunks", "stale_facts", "graph_still_holds", "nominations_exhausted"}
CLOCKS = {"frozen", "step"}
FLIP = "flip one character"

# Reads that are asked by their name, and the writes that a scenario may put between them.
READS = {
    "resolve_entity",
    "claims_and_sources_context",
    "facts_context",
    "combined_context",
    "facts_as_of",
    "lookup_relations",
    "lookup_observations",
    "hydrate_relation",
    "hydrate_observation",
    "transcript_relation",
    "transcript_observation",
    "graph_neighborhood",
    "graph_path",
    "contradiction_members",
    "claims_about",
    "claims_as_of",
    "delta",
}
WRITES = {"declare_fact", "forget_document", "ingest_document"}
OPS = READS | WRITES | {"rrf", "list_operations"}


def validate(scenario: Scenario) -> None:
    """Raises FormatError, naming what the format does not have. Expectations are read when they are applied."""
    require_keys(scenario, "the scenario", _SCENARIO, {"id", "given", "call", "expect"})
    if not scenario["expect"]:
        raise FormatError("the scenario expects nothing")
    given = scenario["given"]
    require_keys(given, "given", _GIVEN, {"now"})
    _validate_store(given)
    require_keys(given.get("other_deployment", {}), "other_deployment", _OF_A_STORE)
    _validate_store(given.get("other_deployment", {}))
    require_keys(given.get("projection", {}), "projection", PROJECTION)
    if given.get("clock", "frozen") not in CLOCKS:
        raise FormatError(f"clock {given['clock']!r}")
    _validate_fault(given.get("fault"))
    _validate_mutation(given.get("mutate"))
    for each in given.get("prior_calls", ()):
        require_keys(each, "a prior call", {"as", "op", "args"}, {"as", "op", "args"})
        _validate_op(each)
    require_keys(scenario["call"], "call", {"op", "args"}, {"op", "args"})
    _validate_op(scenario["call"])


def _validate_store(given: Given) -> None:
    for name, (allowed, required) in ROWS.items():
        for row in given.get(name, ()):
            require_keys(row, f"a row of {name}", allowed, required)
    require_keys(given.get("config", {}), "config", {"horizon"})


def _validate_op(call: Call) -> None:
    if call["op"] not in OPS:
        raise FormatError(f"unknown operation {call['op']!r}")


def _validate_fault(fault: Any) -> None:
    if fault is None:
        return
    if isinstance(fault, dict) and fault.keys() == {"forget"}:
        if fault["forget"] != "running":
            raise FormatError(f"forget {fault['forget']!r}")
        return
    require_keys(fault, "fault", {"in", "raise", "emit_extra_field"}, {"in"})
    if len(fault) != 2 or fault["in"] not in {"facts_context", "claims_and_sources_context"}:
        raise FormatError(f"fault {fault!r}")


def _validate_mutation(mutate: Any) -> None:
    if mutate is None:
        return
    require_keys(mutate, "mutate", {"path", "change"}, {"path", "change"})
    if mutate["change"] != FLIP:
        raise FormatError(f"mutate: unknown change {mutate['change']!r}")


def operations(scenario: Scenario) -> list[str]:
    """Every operation the scenario needs, in order, each once."""
    given = scenario["given"]
    needed = [each["op"] for each in [*given.get("prior_calls", ()), scenario["call"]]]
    if "forget" in (given.get("fault") or {}):
        needed.append("forget_document")
    return list(dict.fromkeys(needed))
