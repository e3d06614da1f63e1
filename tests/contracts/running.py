"""A scenario of `reconstruct.json` from its data to its verdict."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from reconstruct import core
from tests.contracts import core_alone
from tests.contracts.embedder import InjectedEmbedder
from tests.contracts.reconstruct_format import Call, Given, plans
from tests.contracts.scenario_files import Scenario
from tests.contracts.tools import call_tool, in_force, policy, take_step
from tests.contracts.values import FormatError, Result, Results, canonical, expand, fault_of, require_keys
from tests.contracts.world import DEFAULT_AGENT, World

DEFAULT_MODEL = "m1"


def run(scenario: Scenario) -> Results:
    """The results of every run, in order. The scenario has been validated."""
    data = list(plans(scenario))
    results = Results(total=sum(len(calls) for _, calls in data))
    for given, calls in data:
        if core_alone.concerns(given):
            results.done += [_ask_core(given, call, results) for call in calls]
        else:
            _run_on(given, calls, results)
    return results


def _run_on(given: Given, calls: list[Call], results: Results) -> None:
    config = given.get("config", {})
    available = given.get("retrieval", {}).get("query_embedding") != "unavailable"
    embedder = InjectedEmbedder(config.get("embedding_model", DEFAULT_MODEL), available=available)
    with ExitStack() as settled:
        settled.enter_context(in_force(config))
        settled.enter_context(embedder.injected())
        world = World(given, [call.get("agent", DEFAULT_AGENT) for call in calls], embedder)
        steps: list[Any] = []
        for step in given.get("steps", ()):
            steps.append(take_step(world, step, expand(step.get("args"), _reader(results, steps))))
        for call in calls:
            embedder.asked.clear()
            result = call_tool(world, given, call, expand(call["args"], _reader(results, steps)))
            result.extras.update({"$embedded": list(embedder.asked), "$steps": steps})
            results.done.append(result)


def _ask_core(given: Given, call: Call, results: Results) -> Result:
    if call["tool"] != "reconstruct" or given.get("steps"):
        raise FormatError("rows of unknown context are a case for the core of reconstruct alone")
    settings = core.Settings(**policy(given.get("config", {})))
    args = expand(call["args"], _reader(results, []))
    return core_alone.reconstruct(given, args, call.get("agent", DEFAULT_AGENT), settings)


def _reader(results: Results, steps: list[Any]) -> Callable[[Any], Any]:
    """How `$from` reads inside `args`: earlier results, and the steps of the same run."""

    def at(path: Any) -> Any:
        if isinstance(path, str) and path.startswith("$steps"):
            return Results(total=1, done=[Result(None, {"$steps": steps})]).at(path)
        return results.at(path)

    return at


def faults(scenario: Scenario, results: Results) -> list[str]:
    """Everything the scenario finds wrong with its results."""
    found = [fault_of(check, results) for check in scenario.get("check", ())]
    if "expected_response" in scenario:
        found += [_body_fault(path, wanted, results) for path, wanted in _expected(scenario, results)]
    return [fault for fault in found if fault is not None]


def _expected(scenario: Scenario, results: Results) -> list[tuple[int, Any]]:
    """(number of the run, its whole body)."""
    expected = scenario["expected_response"]
    if results.total == 1:
        return [(0, expected)]
    names = [f"r{number}" for number in range(results.total)]
    require_keys(expected, "expected_response", set(names), set(names))
    return [(number, expected[name]) for number, name in enumerate(names)]


def _body_fault(number: int, wanted: Any, results: Results) -> str | None:
    body = results.done[number].body
    if canonical(_unordered(body)) == canonical(_unordered(wanted)):
        return None
    return f"the body of r{number} is {canonical(body)}, expected {canonical(wanted)}"


def _unordered(body: Any) -> Any:
    """The body with trace.candidate_refs and trace.clusters, which are sets, in one order."""
    if not isinstance(body, dict) or not isinstance(body.get("trace"), dict):
        return body
    trace = dict(body["trace"])
    if isinstance(trace.get("candidate_refs"), list):
        trace["candidate_refs"] = sorted(trace["candidate_refs"], key=canonical)
    if isinstance(trace.get("clusters"), list):
        clusters = [
            sorted(each, key=canonical) if isinstance(each, list) else each for each in trace["clusters"]
        ]
        trace["clusters"] = sorted(clusters, key=canonical)
    return body | {"trace": trace}
