"""JSON values as the scenarios' format reads them: typed equality, texts, paths, references and operators."""

import json
import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Final


class FormatError(Exception):
    """A scenario says something the format does not have. Never a pass, whatever the product answers."""


class NoValue(AssertionError):
    """A reference leads to no value."""


class _Missing:
    def __repr__(self) -> str:
        return "no value"


MISSING: Final = _Missing()


def canonical(value: Any) -> str:
    """One text per typed JSON value: 1, 1.0, true and "1" all differ, the order of members does not."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def same(left: Any, right: Any) -> bool:
    return canonical(left) == canonical(right)


def require_keys(value: Any, where: str, allowed: Set[str], required: Set[str] = frozenset()) -> None:
    if not isinstance(value, dict):
        raise FormatError(f"{where} is no object")
    if unknown := sorted(value.keys() - allowed):
        raise FormatError(f"{where}: unknown {', '.join(unknown)}")
    if missing := sorted(required - value.keys()):
        raise FormatError(f"{where}: without {', '.join(missing)}")


def text_of(spec: Any) -> str:
    """A text written out, `{prefix, fill, length}` (code points) or `{parts: [...]}`."""
    if isinstance(spec, str):
        return spec
    if isinstance(spec, dict) and spec.keys() == {"parts"} and isinstance(spec["parts"], list):
        return "".join(text_of(part) for part in spec["parts"])
    require_keys(spec, "a text", {"prefix", "fill", "length"}, {"prefix", "fill", "length"})
    prefix, fill, length = spec["prefix"], spec["fill"], spec["length"]
    missing = length - len(prefix)
    if missing < 0 or (missing and not fill):
        raise FormatError(f"no text of length {length} is made of {prefix!r} and {fill!r}")
    return str(prefix + (fill * missing)[:missing])


_MEMBER = r"[^.\[\]]+"
_BRACKET = r"\[(?:\d+|\*|[^\[\]=*]+=[^\]]*)\]"
_PATH = re.compile(rf"{_MEMBER}(?:{_BRACKET})*(?:\.{_MEMBER}(?:{_BRACKET})*)*")
_STEP = re.compile(
    rf"(?P<member>{_MEMBER})|\[(?P<index>\d+)\]|\[(?P<every>\*)\]|\[(?P<field>[^\[\]=*]+)=(?P<text>[^\]]*)\]"
)

Steps = Sequence["re.Match[str]"]


def parse_path(path: Any) -> Steps:
    """The steps of a path. Raises FormatError for anything the format does not know."""
    if not isinstance(path, str) or not _PATH.fullmatch(path):
        raise FormatError(f"{path!r} is no path")
    steps: list[re.Match[str]] = []
    position = 0
    while position < len(path):
        # Only dots lie between steps: the whole was matched above.
        step = _STEP.match(path, position + (path[position] == "."))
        if step is None:
            raise FormatError(f"{path!r} is no path")
        steps.append(step)
        position = step.end()
    return steps


def find(value: Any, steps: Steps) -> Any:
    """The value at the end of the steps, or MISSING."""
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    name = step["member"]
    if name is not None:
        return find(value[name], rest) if isinstance(value, dict) and name in value else MISSING
    if not isinstance(value, list):
        return MISSING
    if step["every"]:
        found = [find(element, rest) for element in value]
        return [each for each in found if each is not MISSING] or MISSING
    if step["index"]:
        index = int(step["index"])
        return find(value[index], rest) if index < len(value) else MISSING
    return next((find(element, rest) for element in value if _selects(step, element)), MISSING)


def _selects(step: "re.Match[str]", element: Any) -> bool:
    if not isinstance(element, dict) or step["field"] not in element:
        return False
    value = element[step["field"]]
    return (value if isinstance(value, str) else canonical(value)) == step["text"]


EXTRAS: Final = frozenset({"$status", "$media", "$embedded", "$steps"})


@dataclass(frozen=True, slots=True)
class Result:
    """What one run answered. `extras`: those of EXTRAS it has; they are no part of the body."""

    body: Any
    extras: dict[str, Any] = field(default_factory=dict)


_RUN = re.compile(r"r(\d+)(?:$|\.(?=.)|(?=\[))")


@dataclass(slots=True)
class Results:
    """The results so far of a scenario that has `total` runs. With several, a path starts with its run."""

    total: int
    done: list[Result] = field(default_factory=list)

    def at(self, path: Any) -> Any:
        """The value at a path, or MISSING. Raises FormatError for a path the format does not know."""
        if self.total == 1:
            return self._within(0, path)
        run = _RUN.match(path) if isinstance(path, str) else None
        if run is None:
            raise FormatError(f"{path!r}: with several runs a path starts with one of them")
        return self._within(int(run[1]), path[run.end() :])

    def _within(self, number: int, path: Any) -> Any:
        if number >= len(self.done):
            raise FormatError(f"there is no result r{number} (yet)")
        result = self.done[number]
        if path == "" and self.total > 1:
            return result.body
        if isinstance(path, str) and path.startswith("["):
            # A list as the whole body: any name for it does.
            return find({"body": result.body}, parse_path(f"body{path}"))
        steps = parse_path(path)
        name = steps[0]["member"]
        if not name.startswith("$"):
            return find(result.body, steps)
        if name not in EXTRAS:
            raise FormatError(f"{path!r}: a result has no {name}")
        return find(result.extras, steps)


def expand(value: Any, at: Callable[[Any], Any]) -> Any:
    """The value with every `{"$from": path}` and `{"$text": text}` in it replaced, at any depth.

    Raises NoValue when a path leads nowhere, FormatError for another `$` word.
    """
    if isinstance(value, list):
        return [expand(element, at) for element in value]
    if not isinstance(value, dict):
        return value
    if not any(name.startswith("$") for name in value):
        return {name: expand(member, at) for name, member in value.items()}
    if value.keys() == {"$text"}:
        return text_of(value["$text"])
    if value.keys() != {"$from"}:
        raise FormatError(f"{sorted(value)} is no reference")
    found = at(value["$from"])
    if found is MISSING:
        raise NoValue(f"nothing at {value['$from']}")
    return found


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _listed(value: Any) -> list[str]:
    return [canonical(element) for element in value] if isinstance(value, list) else []


def _flat(value: Any) -> list[str]:
    if isinstance(value, list):
        return [leaf for element in value for leaf in _flat(element)]
    return [canonical(value)]


def _lists(left: Any, right: Any) -> bool:
    return isinstance(left, list) and isinstance(right, list)


def _texts(left: Any, right: Any) -> bool:
    return isinstance(left, str) and isinstance(right, str)


def _prefix_of(left: Any, right: Any) -> bool:
    return _lists(left, right) and same(left, right[: len(left)])


# What each operator asks of the value at the path (never MISSING here) and of its own value.
VALUED: dict[str, Callable[[Any, Any], bool]] = {
    "eq": same,
    "ne": lambda found, value: not same(found, value),
    "set": lambda found, value: _lists(found, value) and sorted(_listed(found)) == sorted(_listed(value)),
    "len": lambda found, value: isinstance(found, list) and same(len(found), value),
    "strlen": lambda found, value: isinstance(found, str) and same(len(found), value),
    "gte": lambda found, value: _number(found) and _number(value) and found >= value,
    "lte": lambda found, value: _number(found) and _number(value) and found <= value,
    "has": lambda found, value: canonical(value) in _listed(found),
    "hasnt": lambda found, value: isinstance(found, list) and canonical(value) not in _listed(found),
    "keys": lambda found, value: isinstance(found, dict) and same(sorted(found), sorted(value)),
    "prefix": lambda found, value: _texts(found, value) and found.startswith(value),
    "contains": lambda found, value: _texts(found, value) and value in found,
    "proper_superset": lambda found, value: (
        _lists(found, value) and set(_listed(found)) > set(_listed(value))
    ),
}
UNVALUED: dict[str, Callable[[Any], bool]] = {
    "absent": lambda found: found is MISSING,
    "present": lambda found: found is not MISSING and found is not None,
    "unique": lambda found: isinstance(found, list) and len(set(_flat(found))) == len(_flat(found)),
}
# Their value is itself a path; both must exist.
BETWEEN_PATHS: dict[str, Callable[[Any, Any], bool]] = {"same": same, "list_prefix_of": _prefix_of}


def fault_of(check: Any, results: Results) -> str | None:
    """What a check finds wrong, None when it holds. Raises FormatError when it is no check."""
    require_keys(check, "a check", {"path", "op", "value"}, {"path", "op"})
    op = check["op"]
    if op not in UNVALUED and "value" not in check:
        raise FormatError(f"{op} without a value")
    found = results.at(check["path"])
    if op in UNVALUED:
        return None if UNVALUED[op](found) else f"{check['path']} {op}, found {_shown(found)}"
    if op in VALUED or op in BETWEEN_PATHS:
        try:
            value = results.at(check["value"]) if op in BETWEEN_PATHS else expand(check["value"], results.at)
        except NoValue as nothing:
            return f"{check['path']} {op}: {nothing}"
        operator = BETWEEN_PATHS.get(op) or VALUED[op]
        held = found is not MISSING and value is not MISSING and operator(found, value)
    else:
        raise FormatError(f"unknown operator {op!r}")
    return None if held else f"{check['path']} {op} {_shown(value)}, found {_shown(found)}"


def _shown(value: Any) -> str:
    """A value as a message tells it: whole, unless it is a long text's."""
    shown = repr(value)
    return shown if len(shown) <= 500 else f"{shown[:400]}... ({len(shown)} characters)"
