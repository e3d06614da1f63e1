"""Results, paths and operators of `expand_query.json`, strictly: what is not known here is an error."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from tests.contracts.expand_format import generate
from tests.contracts.values import MISSING, FormatError, canonical, require_keys, same


@dataclass(slots=True)
class Result:
    """What a step gave. `extras`: its `$` members, which are no part of the body."""

    body: Any
    extras: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Results:
    """Every step's result by its name, and the `$` members of the whole scenario."""

    named: dict[str, Result] = field(default_factory=dict)
    extras: dict[str, Any] = field(default_factory=dict)

    def at(self, path: Any) -> Any:
        """The value at a path, or MISSING. Raises FormatError for a path the format does not know."""
        segments = parse_path(path)
        name = segments[0]
        if name.startswith("$"):
            if name not in self.extras:
                raise FormatError(f"a scenario has no {name}")
            return find(self.extras, segments)
        word = name.partition("[")[0]
        if word not in self.named:
            raise FormatError(f"{path!r}: there is no result {word!r} (yet)")
        result = self.named[word]
        if len(segments) > 1 and segments[1].startswith("$"):
            if segments[1].partition("[")[0] not in result.extras:
                raise FormatError(f"{path!r}: a result has no {segments[1]}")
            return find(result.extras, segments[1:])
        return find({word: result.body}, segments)


_BRACKET = r"\[(?:-?\d+|\*|[^\[\]=*]+=[^\]]*)\]"
_SEGMENT = rf"[^.\[\]]+(?:{_BRACKET})*"
_PATH = re.compile(rf"{_SEGMENT}(?:\.{_SEGMENT})*")
_PARTS = re.compile(_SEGMENT)
_BRACKETS = re.compile(_BRACKET)


def parse_path(path: Any) -> list[str]:
    """The dot-separated segments of a path, each a member with its brackets."""
    if not isinstance(path, str) or not _PATH.fullmatch(path):
        raise FormatError(f"{path!r} is no path")
    return _PARTS.findall(path)


def find(value: Any, segments: list[str]) -> Any:
    """The value at the end of the segments, or MISSING."""
    if not segments:
        return value
    segment, rest = segments[0], segments[1:]
    if not isinstance(value, dict):
        return MISSING
    # `metadata_truncation` has members that are written like a path: `session_ids[0]`.
    if segment in value:
        return find(value[segment], rest)
    member = segment.partition("[")[0]
    return _within(value.get(member, MISSING), _BRACKETS.findall(segment), rest)


def _within(value: Any, brackets: list[str], rest: list[str]) -> Any:
    """What the brackets, and then the segments, lead to. `[*]` gives a list, without what is missing in it."""
    if not brackets:
        return value if value is MISSING else find(value, rest)
    if not isinstance(value, list):
        return MISSING
    asked, further = brackets[0][1:-1], brackets[1:]
    if asked == "*":
        found = [_within(element, further, rest) for element in value]
        return [each for each in found if each is not MISSING]
    if "=" in asked:
        return _within(next((each for each in value if _selects(asked, each)), MISSING), further, rest)
    index = int(asked)
    inside = -len(value) <= index < len(value)
    return _within(value[index], further, rest) if inside else MISSING


def _selects(asked: str, element: Any) -> bool:
    member, _, text = asked.partition("=")
    if not isinstance(element, dict) or member not in element:
        return False
    value = element[member]
    return (value if isinstance(value, str) else canonical(value)) == text


def resolve(value: Any, results: Results) -> Any:
    """The value with every `{"$ref": path}` in it replaced by what an earlier step gave."""
    if isinstance(value, list):
        return [resolve(element, results) for element in value]
    if not isinstance(value, dict):
        return value
    if "$ref" not in value:
        return {name: resolve(member, results) for name, member in value.items()}
    require_keys(value, "a reference", {"$ref"})
    found = results.at(value["$ref"])
    if found is MISSING:
        raise AssertionError(f"nothing at {value['$ref']}")
    return found


def _text(value: Any) -> str:
    """A text, or an object's JSON text, in which texts are looked for."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _sized(found: Any) -> bool:
    return isinstance(found, list | str)


def _names(found: Any, value: Any) -> tuple[set[str], set[str]]:
    """(members of an object, names wanted). What is no object has no members that could be wanted or not."""
    if not isinstance(found, dict):
        raise TypeError
    return set(found), set(value)


def _texts(found: Any, value: Any) -> tuple[str, str]:
    if not isinstance(found, str) or not isinstance(value, str):
        raise TypeError
    return found, value


def _numbers(found: Any, value: Any) -> tuple[float, float]:
    if not _number(found) or not _number(value):
        raise TypeError
    return found, value


def _sizes(found: Any, value: Any) -> tuple[int, int]:
    if not _sized(found) or type(value) is not int:
        raise TypeError
    return len(found), value


def _sorted(value: Any) -> list[str]:
    if not isinstance(value, list):
        raise TypeError
    return sorted(canonical(each) for each in value)


def _less(pair: tuple[Any, Any]) -> bool:
    return bool(pair[0] <= pair[1])


def _more(pair: tuple[Any, Any]) -> bool:
    return bool(pair[0] >= pair[1])


def _same(pair: tuple[Any, Any]) -> bool:
    return bool(pair[0] == pair[1])


def _contains(found: Any, value: Any) -> bool:
    if not isinstance(value, str) or not isinstance(found, str | dict | list):
        raise TypeError
    return value in _text(found)


def _all_equal(found: Any, value: Any) -> bool:
    return isinstance(found, list) and bool(found) and all(same(each, value) for each in found)


# What each operator asks of the value at the path (never MISSING here) and of its own. A TypeError: of the wrong kind.
VALUED: dict[str, Callable[[Any, Any], bool]] = {
    "eq": same,
    "ne": lambda found, value: not same(found, value),
    "len_eq": lambda found, value: _same(_sizes(found, value)),
    "len_le": lambda found, value: _less(_sizes(found, value)),
    "len_ge": lambda found, value: _more(_sizes(found, value)),
    "le": lambda found, value: _less(_numbers(found, value)),
    "ge": lambda found, value: _more(_numbers(found, value)),
    "starts_with": lambda found, value: str.startswith(*_texts(found, value)),
    "ends_with": lambda found, value: str.endswith(*_texts(found, value)),
    "contains": _contains,
    "not_contains": lambda found, value: not _contains(found, value),
    "regex": lambda found, value: re.fullmatch(*reversed(_texts(found, value))) is not None,
    "keys_eq": lambda found, value: _same(_names(found, value)),
    "keys_include": lambda found, value: _more(_names(found, value)),
    "keys_exclude": lambda found, value: set.isdisjoint(*_names(found, value)),
    "all_eq": _all_equal,
    "set_eq": lambda found, value: _sorted(found) == _sorted(value),
    "json_len_eq": lambda found, value: same(len(json.dumps(found)), value),
    "json_len_le": lambda found, value: _less(_numbers(len(json.dumps(found)), value)),
    "sha256_of": lambda found, value: found == sha256(value.encode()).hexdigest(),
}
UNVALUED: dict[str, Callable[[Any], bool]] = {
    "present": lambda found: found is not MISSING,
    "absent": lambda found: found is MISSING,
    "absent_or_empty": lambda found: found is MISSING or found == [],
}
# Their value is itself a path; both must exist.
BETWEEN_PATHS: dict[str, Callable[[Any, Any], bool]] = {
    "eq_path": same,
    "ne_path": lambda found, value: not same(found, value),
    "prefix_of_path": lambda found, value: str.startswith(*reversed(_texts(found, value))),
    "starts_with_path": lambda found, value: str.startswith(*_texts(found, value)),
}


def fault_of(expectation: Any, results: Results) -> str | None:
    """What an expectation finds wrong, None when it holds. Raises FormatError when it is none."""
    require_keys(expectation, "an expectation", {"path", "op", "value"}, {"path", "op"})
    op, path = expectation["op"], expectation["path"]
    found = results.at(path)
    if op in UNVALUED:
        return None if UNVALUED[op](found) else f"{path} {op}, found {_shown(found)}"
    if op not in VALUED and op not in BETWEEN_PATHS:
        raise FormatError(f"unknown operator {op!r}")
    if "value" not in expectation:
        raise FormatError(f"{op} without a value")
    value = results.at(expectation["value"]) if op in BETWEEN_PATHS else generate(expectation["value"])
    held = found is not MISSING and value is not MISSING and _holds(op, found, value)
    return None if held else f"{path} {op} {_shown(value)}, found {_shown(found)}"


def _holds(op: str, found: Any, value: Any) -> bool:
    try:
        return (BETWEEN_PATHS.get(op) or VALUED[op])(found, value)
    except TypeError:
        return False


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 500 else f"{shown[:400]}... ({len(shown)} characters)"
