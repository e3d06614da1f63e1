"""The tools a scenario calls and the steps before a call, each through the product's own routes."""

import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.test import override_settings

from memoryconsole.environment import EnvironmentFault, read_environment, reconstruct_policy
from memoryconsole.models import Record, Store
from reconstruct import services
from tests.contracts import candidate_stage
from tests.contracts.reconstruct_format import SETTINGS, Call, Given
from tests.contracts.values import FormatError, Result
from tests.contracts.world import DEFAULT_AGENT, World

_ROUTES = {
    "reconstruct": "/reconstruct",
    "recall": "/recall",
    "traverse": "/traverse",
    "get_contents": "/contents",
    "declare_associations": "/associations",
    "store": "/records",
}
_PREFIX = "MEMORYCONSOLE_RECONSTRUCT_"


def call_tool(world: World, given: Given, call: Call, args: Any) -> Result:
    """The answer of a tool over HTTP. Only reconstruct's candidates are ever replaced."""
    if call["tool"] == "startup":
        return _start_up(world, **args)
    stage: AbstractContextManager[None] = nullcontext()
    if call["tool"] == "reconstruct" and "retrieval" in given:
        stage = candidate_stage.injected(given["retrieval"])
    with stage:
        store = world.stores[call.get("agent", DEFAULT_AGENT)]
        return _send(world.client.post, store, _ROUTES[call["tool"]], args)


def _send(method: Callable[..., Any], store: Store, route: str, *body: Any) -> Result:
    # Written here: the client's own encoder cannot say everything that a scenario's JSON can.
    content = {"data": json.dumps(*body), "content_type": "application/json"} if body else {}
    answer = method(f"/api/v1/stores/{store.public_id}{route}", **content)
    media = answer.headers.get("Content-Type", "").partition(";")[0].strip()
    return Result(
        json.loads(answer.content) if answer.content else None,
        {"$status": answer.status_code, "$media": media},
    )


def take_step(world: World, step: dict[str, Any], args: Any) -> Any:
    """Do a step on the default agent's store. Its result; a refusal is an AssertionError."""
    return _STEPS[step["op"]](world, step, args)


def _done(result: Result) -> Any:
    if result.extras["$status"] >= 300:
        raise AssertionError(f"the step was refused: {result.body}")
    return result.body


def _delete(world: World, step: dict[str, Any], _args: Any) -> Any:
    route = "records" if step["ref"].startswith("mem:") else "summaries"
    return _done(_send(world.client.delete, world.stores[DEFAULT_AGENT], f"/{route}/{step['ref']}"))


def _supersede(world: World, step: dict[str, Any], _args: Any) -> Any:
    before = world.row(step["ref"])
    if not isinstance(before, Record) or not before.message_id:
        raise FormatError(f"{step['ref']} has no message id under which it could be superseded")
    written = {
        "content": step["content"],
        "timestamp": step["timestamp"],
        "message_id": before.message_id,
        "project_id": before.project_id,
        "channel": before.channel,
        "source": {"type": before.source_type, "id": before.source_id},
    }
    answer = _done(_send(world.client.post, world.stores[DEFAULT_AGENT], "/records", {"records": [written]}))
    return {"ref": answer["records"][0]["ref"]}


def _declare(world: World, _step: dict[str, Any], args: Any) -> Any:
    return _done(_send(world.client.post, world.stores[DEFAULT_AGENT], "/associations", args))


def _drop_nodes(world: World, step: dict[str, Any], _args: Any) -> Any:
    world.drop_nodes(step["ref"])
    return {}


def _wait_for_nodes(world: World, _step: dict[str, Any], _args: Any) -> Any:
    world.finish_jobs()
    return {}


_STEPS: dict[str, Callable[[World, dict[str, Any], Any], Any]] = {
    "delete": _delete,
    "supersede": _supersede,
    "declare": _declare,
    "drop_nodes": _drop_nodes,
    "wait_for_nodes": _wait_for_nodes,
}


def policy(config: dict[str, Any]) -> dict[str, Any]:
    """The reconstruct settings of a server whose environment names nothing, with a scenario's on top."""
    chosen = {name: value for name, value in config.items() if name != "embedding_model"}
    return reconstruct_policy(read_environment({})) | chosen


def in_force(config: dict[str, Any]) -> override_settings:
    """The scenario's settings, whatever this process was started with."""
    return override_settings(RECONSTRUCT=policy(config))


def _start_up(world: World, environment: dict[str, Any], store: dict[str, Any] | None = None) -> Result:
    """Validate an environment as at start-up, then save a store's overrides under it."""
    refusal, started = _validated(environment)
    if started is None or store is None:
        body = {"started": started is not None, "named": _named(refusal)}
        return Result(body)
    fresh, client = world.empty_store()
    with override_settings(RECONSTRUCT=started):
        answer = _send(client.patch, fresh, "", {"settings": store})
    saved = answer.extras["$status"] < 300
    outcome = {"started": True, "saved": saved, "named": [] if saved else _named(json.dumps(answer.body))}
    return Result(answer.body | outcome, answer.extras)


def _validated(environment: dict[str, Any]) -> tuple[str, dict[str, Any] | None]:
    """(the refusal's text, None) or ('', the settings in force)."""
    variables = {
        _PREFIX + name.upper(): value if isinstance(value, str) else json.dumps(value)
        for name, value in environment.items()
        if value is not None
    }
    known = {name for name in read_environment({}) if name.startswith(_PREFIX)}
    if unknown := sorted(variables.keys() - known):
        raise FormatError(f"the product's environment has no {', '.join(unknown)}")
    try:
        started = reconstruct_policy(read_environment(variables))
    except EnvironmentFault as fault:
        return str(fault), None
    faults = services.policy_faults(started, {})
    return "; ".join(fault.message for fault in faults), None if faults else started


def _named(text: str) -> list[str]:
    """The settings of section B that a text names, in the contract's spelling or as environment variables."""
    return [
        name
        for name in sorted(SETTINGS)
        if re.search(rf"(?<!\w)(?:{_PREFIX})?{name}(?!\w)", text, flags=re.IGNORECASE)
    ]
