"""What a scenario of `expand_query.json` may say, and how its texts are made. Anything else is a FormatError."""

from typing import Any

from tests.contracts.scenario_files import Scenario
from tests.contracts.values import FormatError, require_keys

Given = dict[str, Any]
Step = dict[str, Any]

_SCENARIO = {
    "id",
    "title",
    "topic",
    "level",
    "requirement",
    "seed_clause",
    "note",
    "given",
    "call",
    "expect",
}
MANUAL = "manual"
_WORLD = {
    "token_counter",
    "session",
    "messages",
    "nodes",
    "payloads",
    "search_stub",
    "synthesizer",
    "revoke_access_after",
}
# What the data of a level may hold.
_GIVEN: dict[str, set[str]] = {"builder": {"context_blocks"}, "api": _WORLD, "expand": _WORLD}
_PROVENANCE_ARGS = {"session_id", "session_ids", "scope_kind", "synthesis_status", "context_truncated"}
_STEPS: dict[str, set[str]] = {
    "builder": {"build_provenance"},
    "api": {"expand_query", "expand", "mutate", "set"},
    "expand": {"expand_query", "expand", "mutate", "set"},
}


def validate(scenario: Scenario) -> None:
    """Raises FormatError, naming what the format does not have. Expectations are read when they are applied."""
    require_keys(scenario, "the scenario", _SCENARIO, {"id", "level", "given", "call", "expect"})
    level = scenario["level"]
    if level == MANUAL:
        return
    if level not in _GIVEN:
        raise FormatError(f"unknown level {level!r}")
    if not scenario["expect"]:
        raise FormatError("the scenario expects nothing")
    require_keys(scenario["given"], "given", _GIVEN[level])
    require_keys(scenario["call"], "call", {"steps"}, {"steps"})
    for step in scenario["call"]["steps"]:
        _validate_step(level, step)


def _validate_step(level: str, step: Step) -> None:
    require_keys(step, "a step", {"op", "args", "as"}, {"op", "args"})
    if step["op"] not in _STEPS[level]:
        raise FormatError(f"{level}: unknown step {step['op']!r}")
    if step["op"] == "build_provenance":
        require_keys(step, "build_provenance", {"op", "args", "as"}, {"as"})
        require_keys(step["args"], "build_provenance", _PROVENANCE_ARGS)
        if not {"session_id", "session_ids"} & step["args"].keys():
            raise FormatError("build_provenance without a session")


def generate(value: Any, number: int | None = None) -> Any:
    """The value with `$repeat`, `$concat`, `$each` and `$i` carried out, at any depth.

    `number` is the turn of the `$each` that this value lies in; `{i}` in a text stands for it.
    """
    if isinstance(value, str):
        return value if number is None else value.replace("{i}", str(number))
    if isinstance(value, list):
        return [made for element in value for made in _elements(element, number)]
    if not isinstance(value, dict):
        return value
    words = [name for name in value if name.startswith("$") and name != "$ref"]
    if not words:
        return {name: generate(member, number) for name, member in value.items()}
    if len(value) > 1 or words[0] not in _GENERATORS:
        raise FormatError(f"{sorted(value)} is no generator")
    return _GENERATORS[words[0]](value[words[0]], number)


def _elements(element: Any, number: int | None) -> list[Any]:
    """What one element of a list becomes: several for `$each`."""
    if not (isinstance(element, dict) and "$each" in element):
        return [generate(element, number)]
    require_keys(element, "$each", {"$each"})
    turns = element["$each"]
    require_keys(turns, "$each", {"from", "to", "item"}, {"from", "to", "item"})
    return [generate(turns["item"], turn) for turn in range(turns["from"], turns["to"] + 1)]


def _repeat(value: Any, number: int | None) -> str:
    if not isinstance(value, list) or len(value) != 2:
        raise FormatError(f"$repeat of {value!r}")
    text, times = (generate(part, number) for part in value)
    if not isinstance(text, str) or type(times) is not int or times < 0:
        raise FormatError(f"$repeat of {text!r}, {times!r}")
    return text * times


def _concat(value: Any, number: int | None) -> str:
    parts = generate(value, number)
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise FormatError(f"$concat of {parts!r}")
    return "".join(parts)


def _turn(value: Any, number: int | None) -> int:
    if number is None or type(value) is not int:
        raise FormatError(f"$i of {value!r} outside of $each")
    return number + value


_GENERATORS = {"$repeat": _repeat, "$concat": _concat, "$i": _turn}
