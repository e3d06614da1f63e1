"""Results, paths and operators of `context_bundle.json`, strictly: what is not known here is an error."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests.contracts.values import MISSING, FormatError, canonical, require_keys, same


@dataclass(slots=True)
class Result:
    """An answer, symbols in place of UUIDs, and its HTTP status (None for what is no HTTP call)."""

    body: Any
    status: int | None = None


@dataclass(slots=True)
class Results:
    """The answer of the call, and those of the calls before it by their names."""

    named: dict[str, Result] = field(default_factory=dict)
    last: Result | None = None

    def at(self, path: Any) -> Any:
        """The value at a path, or MISSING. Raises FormatError for a path the format does not know."""
        if not isinstance(path, str) or not _PATH.fullmatch(path):
            raise FormatError(f"{path!r} is no path")
        if path == "$status":
            return self._called().status
        if not path.startswith("$"):
            return find(self._called().body, _STEP.findall(path))
        name = _NAME.match(path)
        if name is None or name[1] not in self.named:
            raise FormatError(f"{path!r}: there is no result of that name (yet)")
        return find(self.named[name[1]].body, _STEP.findall(path[name.end() :]))

    def _called(self) -> Result:
        if self.last is None:
            raise FormatError("the call has no result yet")
        return self.last


_BRACKET = r"\[(?:\d+|\*|[^\[\]=*]+=[^\[\]]+)\]"
_MEMBER = r"[^.\[\]$]+"
_PATH = re.compile(
    rf"|\$status|\$\w+(?:\.{_MEMBER}(?:{_BRACKET})*)*|{_MEMBER}(?:{_BRACKET})*(?:\.{_MEMBER}(?:{_BRACKET})*)*"
)
_NAME = re.compile(r"\$(\w+)")
_STEP = re.compile(rf"{_MEMBER}(?=\.|\[|$)|{_BRACKET}")

# The id that a row of a list is known by; with a kind where ids are of two namespaces.
_OWN_ID: dict[str, tuple[str, str | None]] = {
    "facts": ("fact_id", "kind"),
    "co_members": ("fact_id", "kind"),
    "fact_evidence": ("fact_id", "fact_kind"),
    "evidence_totals": ("fact_id", "fact_kind"),
    "changes": ("id", "kind"),
    "evidence": ("claim_id", None),
    "chunks": ("chunk_id", None),
    "sources": ("doc_id", None),
    "entities": ("entity_id", None),
    "nodes": ("entity_id", None),
    "edges": ("relation_id", None),
    "ranking": ("item_id", None),
    "pages": ("artifact_id", None),
}


def find(value: Any, steps: list[str], within: str = "") -> Any:
    """The value at the end of the steps, or MISSING. `within`: the member that `value` is, which says what an id is."""
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if not step.startswith("["):
        if isinstance(value, dict):
            return find(value[step], rest, step) if step in value else MISSING
        return len(value) if step == "length" and isinstance(value, list) and not rest else MISSING
    if not isinstance(value, list):
        return MISSING
    asked = step[1:-1]
    if asked == "*":
        return _collect(value, rest, within)
    if "=" in asked:
        found = [each for each in value if _selects(asked, each, within)]
        if len(found) > 1:
            raise FormatError(f"[{asked}] selects {len(found)} rows")
        return find(found[0], rest) if found else MISSING
    return find(value[int(asked)], rest) if int(asked) < len(value) else MISSING


def _collect(value: list[Any], rest: list[str], within: str) -> Any:
    """What the rest leads to in each element, lists in it flattened. An element that lacks it: MISSING."""
    found: list[Any] = []
    for element in value:
        each = find(element, rest, within)
        if each is MISSING:
            return MISSING
        if isinstance(each, list) and "[*]" in rest:
            found += each
        else:
            found.append(each)
    return found


def _selects(asked: str, element: Any, within: str) -> bool:
    conditions = dict(each.partition("=")[::2] for each in asked.split(","))
    if not isinstance(element, dict):
        return False
    if "id" in conditions:
        if within not in _OWN_ID:
            raise FormatError(f"rows of {within or 'this list'} have no id of their own")
        id_member, kind_member = _OWN_ID[within]
        kind, _, name = conditions.pop("id").rpartition(":")
        if kind and kind_member is None:
            raise FormatError(f"rows of {within} are of one kind")
        conditions[id_member] = name
        if kind and kind_member is not None:
            conditions[kind_member] = kind
    for member, text in conditions.items():
        if member not in element:
            raise FormatError(f"a row of {within} has no {member}")
        own = element[member]
        if (own if isinstance(own, str) else canonical(own)) != text:
            return False
    return True


def resolve(value: Any, results: Results) -> Any:
    """The value with every text `$name.path` in it replaced by what an earlier call gave."""
    if isinstance(value, list):
        return [resolve(each, results) for each in value]
    if isinstance(value, dict):
        return {key: resolve(member, results) for key, member in value.items()}
    if not isinstance(value, str) or not value.startswith("$"):
        return value
    found = results.at(value)
    if found is MISSING:
        raise AssertionError(f"nothing at {value}")
    return found


def flip(text: Any) -> str:
    """The text with the letter or digit nearest its middle made an A (a B if it is one), the earlier one of two."""
    places = [place for place, char in enumerate(text) if char.isalnum()] if isinstance(text, str) else []
    if not places:
        raise AssertionError(f"{text!r} has no character to flip")
    place = min(places, key=lambda each: (abs(2 * each - (len(text) - 1)), each))
    return text[:place] + ("B" if text[place] == "A" else "A") + text[place + 1 :]


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    return value


def _names(value: Any) -> set[str]:
    return {canonical(each) for each in _list(value)}


def _contains(found: Any, value: Any) -> bool:
    if isinstance(found, str) and isinstance(value, str):
        return value in found
    return any(same(each, value) for each in _list(found))


def _ordered(value: Any) -> Any:
    """A number, or the instant that a text is."""
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value.replace("Z", "+00:00"))
        except ValueError:
            raise TypeError from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return value


def _keys(found: Any, value: Any) -> bool:
    return isinstance(found, dict) and set(found) == set(_list(value))


# What each operator asks of the value at the path (never MISSING here) and of its own. A TypeError: of the wrong kind.
VALUED: dict[str, Callable[[Any, Any], bool]] = {
    "eq": same,
    "ne": lambda found, value: not same(found, value),
    "in": lambda found, value: any(same(found, each) for each in _list(value)),
    "set_eq": lambda found, value: _names(found) == _names(value),
    "list_eq": lambda found, value: same(_list(found), _list(value)),
    "contains": _contains,
    "not_contains": lambda found, value: not _contains(found, value),
    "lt": lambda found, value: bool(_ordered(found) < _ordered(value)),
    "lte": lambda found, value: bool(_ordered(found) <= _ordered(value)),
    "gt": lambda found, value: bool(_ordered(found) > _ordered(value)),
    "gte": lambda found, value: bool(_ordered(found) >= _ordered(value)),
    "keys_eq": _keys,
}
UNVALUED: dict[str, Callable[[Any], bool]] = {
    "absent": lambda found: found is MISSING,
    "is_null": lambda found: found is None,
    "not_null": lambda found: found is not MISSING and found is not None,
}
# Their value is itself a path; both must exist.
BETWEEN_PATHS: dict[str, Callable[[Any, Any], bool]] = {
    "same_as": same,
    "disjoint": lambda found, value: _names(found).isdisjoint(_names(value)),
}


def fault_of(expectation: Any, results: Results) -> str | None:
    """What an expectation finds wrong, None when it holds. Raises FormatError when it is none."""
    require_keys(expectation, "an expectation", {"path", "op", "value"}, {"path", "op"})
    op, path = expectation["op"], expectation["path"]
    found = results.at(path)
    if op in UNVALUED:
        return None if UNVALUED[op](found) else f"{path!r} {op}, found {_shown(found)}"
    if op not in VALUED and op not in BETWEEN_PATHS:
        raise FormatError(f"unknown operator {op!r}")
    if "value" not in expectation:
        raise FormatError(f"{op} without a value")
    value = results.at(expectation["value"]) if op in BETWEEN_PATHS else expectation["value"]
    held = found is not MISSING and value is not MISSING and _holds(op, found, value)
    return None if held else f"{path!r} {op} {_shown(value)}, found {_shown(found)}"


def _holds(op: str, found: Any, value: Any) -> bool:
    try:
        return (BETWEEN_PATHS.get(op) or VALUED[op])(found, value)
    except TypeError:
        return False


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 500 else f"{shown[:400]}... ({len(shown)} characters)"
