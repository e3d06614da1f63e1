"""A scenario of `expand_query.json` from its data to its verdict: the builder on the pure core, the rest over HTTP."""

from copy import deepcopy
from typing import Any

from provenance.expand_query.core import Scope, build_provenance, read_blocks
from tests.contracts.expand_format import Step, generate
from tests.contracts.expand_values import Result, Results, fault_of, resolve
from tests.contracts.expand_world import World
from tests.contracts.scenario_files import Scenario
from tests.contracts.values import FormatError

# What a step of the builder leaves out.
DEFAULT_STATUS = "completed"


_ROUTES = {"expand_query": "expand-query", "expand": "expand"}


def run(scenario: Scenario) -> Results:
    """The results of every step. The scenario has been validated."""
    if scenario["level"] == "builder":
        return _run_builder(scenario)
    given = generate(scenario["given"])
    world = World(given)
    results = Results()
    for step in scenario["call"]["steps"]:
        _take(world, step, resolve(generate(step["args"]), results), results)
        if "as" in step and step["as"] == given.get("revoke_access_after"):
            world.revoke()
    return results


def _take(world: World, step: Step, args: Any, results: Results) -> None:
    if step["op"] == "mutate":
        world.mutate(args)
    elif step["op"] == "set":
        world.set(args)
    elif "as" not in step:
        raise FormatError(f"{step['op']} without a name for its result")
    else:
        results.named[step["as"]] = world.send(_ROUTES[step["op"]], args)


def _run_builder(scenario: Scenario) -> Results:
    blocks = generate(scenario["given"].get("context_blocks", []))
    before = deepcopy(blocks)
    results = Results()
    for step in scenario["call"]["steps"]:
        results.named[step["as"]] = Result(_build(step, blocks))
    results.extras["$blocks_unchanged"] = blocks == before
    return results


def _build(step: Step, blocks: list[Any]) -> dict[str, Any]:
    args = generate(step["args"])
    session_ids = args.get("session_ids") or [args["session_id"]]
    return build_provenance(
        read_blocks(blocks),
        scope=Scope(
            session_id=args.get("session_id", session_ids[0]),
            session_ids=tuple(session_ids),
            kind=args.get("scope_kind", "current_session"),
        ),
        synthesis_status=args.get("synthesis_status", DEFAULT_STATUS),
        context_truncated=args.get("context_truncated", False),
    )


def faults(scenario: Scenario, results: Results) -> list[str]:
    """Everything the scenario finds wrong with its results."""
    found = [fault_of(expectation, results) for expectation in scenario["expect"]]
    return [fault for fault in found if fault is not None]
