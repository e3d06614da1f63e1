"""What a scenario of `reconstruct.json` may say. Whatever is not written here is a FormatError."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from reconstruct.core import Settings
from tests.contracts.scenario_files import Scenario
from tests.contracts.values import FormatError, require_keys

# Section B of the contract.
SETTINGS = frozenset(setting.name for setting in fields(Settings))
TOOLS = frozenset(
    {
        "reconstruct",
        "recall",
        "traverse",
        "get_contents",
        "declare_associations",
        "store",
        "startup",
    }
)

_SCENARIO = {
    "id",
    "title",
    "topic",
    "basis",
    "seed",
    "given",
    "call",
    "more_calls",
    "variants",
    "expect",
    "check",
    "expected_response",
    "manual",
}
_GIVEN = {"config", "records", "episodes", "entities", "relations", "retrieval", "steps"}
_HOME = {"agent", "project", "channel"}
# For each kind of row: what it may say, and of that what it must.
_ROWS: dict[str, tuple[set[str], set[str]]] = {
    "records": (
        {
            "id",
            "source",
            "message_id",
            "timestamp",
            "content",
            "context_unknown",
            "nodes",
            "similarity",
        },
        {"id", "content"},
    ),
    "episodes": ({"id", "summary", "start", "end"}, {"id", "summary"}),
    "entities": ({"id", "name", "aliases", "mentions"}, {"name"}),
    "relations": (
        {"id", "subject", "predicate", "object", "declared_at"},
        {"subject", "predicate", "object"},
    ),
}
_RETRIEVAL = {"ranking", "rows_without_ref", "gate_fallback", "query_embedding", "advisory", "update"}
_STEPS: dict[str, set[str]] = {
    "delete": {"ref"},
    "supersede": {"ref", "content", "timestamp"},
    "declare": {"args"},
    "drop_nodes": {"ref"},
    "wait_for_nodes": set(),
}

Given = dict[str, Any]
Call = dict[str, Any]


def validate(scenario: Scenario) -> None:
    """Raises FormatError, naming what the format does not have. Checks are read when they are applied."""
    require_keys(scenario, "the scenario", _SCENARIO, {"id", "given", "call"})
    if scenario.get("manual"):
        return
    if not scenario.get("check") and "expected_response" not in scenario:
        raise FormatError("the scenario checks nothing")
    for given, calls in plans(scenario):
        _validate_given(given)
        for call in calls:
            _validate_call(call)


def plans(scenario: Scenario) -> Iterator[tuple[Given, list[Call]]]:
    """Each set of data with the calls that run on it, in the order of their results."""
    given = scenario["given"]
    yield given, [scenario["call"], *scenario.get("more_calls", ())]
    for variant in scenario.get("variants", ()):
        require_keys(variant, "a variant", {"given", "call"}, {"given", "call"})
        yield given | variant["given"], [variant["call"]]


def _validate_call(call: Call) -> None:
    require_keys(call, "a call", {"tool", "args", "agent"}, {"tool", "args"})
    if call["tool"] not in TOOLS:
        raise FormatError(f"unknown tool {call['tool']!r}")
    if call["tool"] == "startup":
        require_keys(call["args"], "startup", {"environment", "store"}, {"environment"})
        for part in call["args"].values():
            require_keys(part, "startup", SETTINGS)


def _validate_given(given: Given) -> None:
    require_keys(given, "given", _GIVEN)
    require_keys(given.get("config", {}), "config", SETTINGS | {"embedding_model"})
    for kind, (allowed, required) in _ROWS.items():
        for row in given.get(kind, ()):
            require_keys(row, f"one of {kind}", allowed | _HOME, required)
    for record in given.get("records", ()):
        require_keys(record.get("source", {}), "a source", {"type", "id"})
        if "nodes" in record:
            members = {"model", "spans", "similarity"}
            require_keys(record["nodes"], "nodes", members, members)
    _validate_retrieval(given.get("retrieval", {}))
    for step in given.get("steps", ()):
        if not isinstance(step, dict) or step.get("op") not in _STEPS:
            raise FormatError(f"unknown step {step!r}")
        require_keys(step, f"the step {step['op']}", {"op", *_STEPS[step["op"]]}, _STEPS[step["op"]])


def _validate_retrieval(retrieval: dict[str, Any]) -> None:
    require_keys(retrieval, "retrieval", _RETRIEVAL)
    if retrieval.get("query_embedding", "available") not in ("available", "unavailable"):
        raise FormatError(f"query_embedding {retrieval['query_embedding']!r}")
