"""What was seen as JSON and back, without its texts: how a trace keeps an answer that can be decided again.

Rule 1: a ``Text`` is written as [ref, digest]; who reads it back says what stands there. Rule 2: the codec knows no
class by name: it follows the fields of frozen dataclasses, so that a new field needs nothing here.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from provenance.context_bundle.core.seen import Text
from provenance.context_bundle.core.temporal import write_instant

Seen = TypeVar("Seen")
Texts = Callable[[str, str], str]
"""(ref, digest) -> the text. What it raises when the text is gone or another goes through."""


class Unreadable(ValueError):
    """JSON that ``write`` has not written for this class."""


def write(value: Any) -> Any:
    """A frozen value as JSON: members by name, defaults left out, instants in UTC, texts as [ref, digest]."""
    kind: Any = type(value)
    if kind in _PLAIN:
        return value
    if kind is tuple:
        return [each if type(each) in _PLAIN else write(each) for each in value]
    if kind is Text:
        return [value.ref, value.digest]
    if kind is datetime:
        return write_instant(value)
    mode, named = _plan(kind)
    members: dict[str, Any] = {} if mode is None else {"mode": mode}
    for name, default in named:
        member = getattr(value, name)
        if default is _REQUIRED or member != default:
            members[name] = member if type(member) in _PLAIN else write(member)
    return members


_PLAIN = frozenset({type(None), bool, int, float, str})


_REQUIRED: Final = object()
"""What stands for the default of a field that has none."""


@cache
def _plan(kind: type) -> tuple[str | None, tuple[tuple[str, Any], ...]]:
    """(the mode of a scope that does not hold it as a member, each field with its default). Once a class: a trace
    holds hundreds of rows.
    """
    if not is_dataclass(kind):
        raise TypeError(f"{kind.__name__} has no JSON")
    named = tuple(
        (field.name, _REQUIRED if field.default is MISSING else field.default) for field in fields(kind)
    )
    mode = getattr(kind, "mode", None)
    return (mode if isinstance(mode, str) and "mode" not in _hints(kind) else None), named


def read(kind: type[Seen], written: Any, texts: Texts) -> Seen:
    """The value of this class. Raises Unreadable, what the class itself raises for a value that breaks its rules, and
    what ``texts`` raises.
    """
    value: Seen = _read(kind, written, texts)
    return value


def collect_texts(value: Any) -> dict[str, str]:
    """The digest of every text in a frozen value, by ref."""
    if isinstance(value, Text):
        return {value.ref: value.digest}
    parts: tuple[Any, ...] = ()
    if isinstance(value, tuple):
        parts = value
    elif is_dataclass(value):
        parts = tuple(getattr(value, field.name) for field in fields(value))
    return {ref: digest for part in parts for ref, digest in collect_texts(part).items()}


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _read(kind: Any, written: Any, texts: Texts) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _read_union(arguments, written, texts)
    if origin is tuple:
        return _read_tuple(arguments, written, texts)
    if origin is Literal:
        if written not in arguments:
            raise Unreadable(f"{written!r} is none of {arguments}")
        return written
    if kind is Text and isinstance(written, list) and len(written) == 2:
        ref, digest = written
        return Text(ref=ref, digest=digest, text=texts(ref, digest))
    if kind is datetime and isinstance(written, str):
        return datetime.fromisoformat(written)
    if kind is float and type(written) in (int, float):
        return float(written)
    if kind in (str, int, bool) and type(written) is kind:
        return written
    if is_dataclass(kind) and isinstance(written, dict):
        return _read_members(kind, written, texts)
    raise Unreadable(f"{written!r} is no {kind}")


def _read_union(kinds: tuple[Any, ...], written: Any, texts: Texts) -> Any:
    if written is None and type(None) in kinds:
        return None
    kinds = tuple(kind for kind in kinds if kind is not type(None))
    if len(kinds) == 1:
        return _read(kinds[0], written, texts)
    mode = written.get("mode") if isinstance(written, dict) else None
    for kind in kinds:
        if getattr(kind, "mode", None) == mode:
            return _read_members(kind, written, texts)
    raise Unreadable(f"no scope has the mode {mode!r}")


def _read_tuple(kinds: tuple[Any, ...], written: Any, texts: Texts) -> tuple[Any, ...]:
    if not isinstance(written, list):
        raise Unreadable(f"{written!r} is no list")
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(_read(kinds[0], each, texts) for each in written)
    if len(kinds) != len(written):
        raise Unreadable(f"{written!r} has not {len(kinds)} parts")
    return tuple(_read(kind, each, texts) for kind, each in zip(kinds, written, strict=True))


def _read_members(kind: Any, written: dict[str, Any], texts: Texts) -> Any:
    hints = _hints(kind)
    named = {name: each for name, each in written.items() if name in hints or name != "mode"}
    if not named.keys() <= hints.keys():
        raise Unreadable(f"{kind.__name__} has no {sorted(named.keys() - hints.keys())}")
    try:
        return kind(**{name: _read(hints[name], each, texts) for name, each in named.items()})
    except TypeError as error:
        raise Unreadable(f"{kind.__name__}: {error}") from error
