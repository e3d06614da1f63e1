"""Windows of world time, the instants of belief, and which facts a scope selects (contract, sections A.4 and D).

Rule 1: a fact's window is half-open, a claim's has inclusive ends, a request's bounds are inclusive. Rule 2: a bound
that is None never excludes. Rule 3: whether a match is confirmed depends on the window alone, not on the mode.

Every instant is aware. What leaves is written by ``write_instant``: UTC, ``Z``, microseconds only when there are any.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import ClassVar, Final, Literal

Precision = Literal["unknown", "instant", "day", "month", "quarter", "year", "open"]
TemporalMatch = Literal["confirmed", "possible"]
Regime = Literal["current", "as_of"]

PRECISIONS: Final = ("unknown", "instant", "day", "month", "quarter", "year", "open")
MICROSECOND: Final = timedelta(microseconds=1)

INSTANTS_KEPT: Final = 4096
"""Several times as many as the largest answer names."""


class InvalidWindow(ValueError):
    """A window whose bounds do not fit its precision (contract, section A.4)."""


class InvalidScope(ValueError):
    """A scope that no answer can have: an overlap that ends before it starts, or an instant without an offset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """When a fact was so: [``valid_from``, ``valid_until``) at one ``precision``; None is an unknown bound.

    Raises InvalidWindow for a shape that section A.4 does not list.
    """

    valid_from: datetime | None = None
    valid_until: datetime | None = None
    precision: Precision = "unknown"

    def __post_init__(self) -> None:
        since, until, precision = self.valid_from is not None, self.valid_until is not None, self.precision
        if precision == "unknown":
            shaped = not (since or until)
        elif precision == "open":
            shaped = since and not until
        else:
            shaped = precision in PRECISIONS and (since or until)
        if not shaped:
            raise InvalidWindow(f"[{self.valid_from}, {self.valid_until}) is no {self.precision} window")
        if self.valid_from and self.valid_until and self.valid_from >= self.valid_until:
            raise InvalidWindow(f"[{self.valid_from}, {self.valid_until}) is empty")

    @property
    def complete(self) -> bool:
        """Both ends are known, or the start is and the thing is known to be still running."""
        return self.precision == "open" or (self.valid_from is not None and self.valid_until is not None)

    @property
    def temporal_match(self) -> TemporalMatch:
        """Section D.4: possible says that the dates held are incomplete and do not exclude the fact."""
        return "confirmed" if self.complete else "possible"


UNDATED: Final = Window()


@dataclass(frozen=True, slots=True, kw_only=True)
class Current:
    """What is held now, and is so now. ``evaluated_at`` is the one instant of the answer."""

    mode: ClassVar[str] = "current"

    evaluated_at: datetime
    identity_regime: Regime = "current"

    def __post_init__(self) -> None:
        _require_aware(self.evaluated_at)

    @property
    def believed_at(self) -> datetime:
        """Outside of as_of, belief is that of the evaluation."""
        return self.evaluated_at


@dataclass(frozen=True, slots=True, kw_only=True)
class At(Current):
    """What is held now, and was so at one instant."""

    mode: ClassVar[str] = "at"

    at: datetime

    def __post_init__(self) -> None:
        _require_aware(self.evaluated_at, self.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap(Current):
    """What is held now, and was so at some instant from ``start`` to ``end``, both included."""

    mode: ClassVar[str] = "overlap"

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        _require_aware(self.evaluated_at, self.start, self.end)
        if self.end < self.start:
            raise InvalidScope("an overlap ends before it starts")


@dataclass(frozen=True, slots=True, kw_only=True)
class History(Current):
    """What is held now, and has begun."""

    mode: ClassVar[str] = "history"


@dataclass(frozen=True, slots=True, kw_only=True)
class AsOf:
    """What was held at ``believed_at``, and was so at ``valid_at``. ``evaluated_at`` is when it was read."""

    mode: ClassVar[str] = "as_of"

    valid_at: datetime
    evaluated_at: datetime
    believed_at: datetime
    identity_regime: Regime = "current"

    def __post_init__(self) -> None:
        _require_aware(self.evaluated_at, self.believed_at, self.valid_at)


Scope = Current | At | Overlap | History | AsOf


@dataclass(frozen=True, slots=True, kw_only=True)
class Time:
    """The argument ``time`` as it was asked (section D.2), instants in UTC. ``start`` and ``end``: ``from``, ``to``.

    Raises InvalidScope when an instant of the mode is missing, or another mode's is there.
    """

    mode: Literal["current", "at", "overlap", "history"] = "current"
    at: datetime | None = None
    start: datetime | None = None
    end: datetime | None = None

    def __post_init__(self) -> None:
        wanted = {"current": (), "at": ("at",), "overlap": ("start", "end"), "history": ()}.get(self.mode)
        given = tuple(name for name in ("at", "start", "end") if getattr(self, name) is not None)
        if wanted != given:
            raise InvalidScope(f"time mode {self.mode} with {given}")

    def scope(self, evaluated_at: datetime) -> Scope:
        """The scope of an answer that is evaluated at this instant."""
        if self.at is not None:
            return At(evaluated_at=evaluated_at, at=self.at)
        if self.start is not None and self.end is not None:
            return Overlap(evaluated_at=evaluated_at, start=self.start, end=self.end)
        return (History if self.mode == "history" else Current)(evaluated_at=evaluated_at)


NOW: Final = Time()


def _require_aware(*instants: datetime) -> None:
    for instant in instants:
        if instant.utcoffset() is None:
            raise InvalidScope(f"an instant has no offset: {instant!r}")


def selects(scope: Scope, window: Window) -> bool:
    """Whether the window passes the scope's world condition (section D.3)."""
    match scope:
        case Overlap():
            return _begun(window, scope.end) and _unended(window, scope.start)
        case History():
            return _begun(window, scope.evaluated_at)
        case At():
            world = scope.at
        case AsOf():
            world = scope.valid_at
        case _:
            world = scope.evaluated_at
    return _begun(window, world) and _unended(window, world)


def believes(scope: Scope, ingested_at: datetime, invalidated_at: datetime | None) -> bool:
    """Whether the store held it for the scope (section D.3): in as_of then, in every other mode to this day."""
    if ingested_at > scope.believed_at:
        return False
    if isinstance(scope, AsOf):
        return invalidated_at is None or invalidated_at > scope.believed_at
    return invalidated_at is None


def _begun(window: Window, instant: datetime) -> bool:
    return window.valid_from is None or window.valid_from <= instant


def _unended(window: Window, instant: datetime) -> bool:
    return window.valid_until is None or window.valid_until > instant


def canonical_window(precision: Precision, first: datetime | None, last: datetime | None) -> Window:
    """The window from the unit that ``first`` lies in to the end of the unit that ``last`` lies in (section D.5).

    None is an unknown bound. An open window starts at ``first`` as it is. Raises InvalidWindow for a shape that is
    none, and for a unit whose end no date can name.
    """
    if precision in ("unknown", "open"):
        return Window(valid_from=first, valid_until=last, precision=precision)
    until = None if last is None else _next(precision, last)
    if last is not None and until is None:
        raise InvalidWindow(f"the {precision} of {last} has no end")
    since = None if first is None else _start(precision, first)
    return Window(valid_from=since, valid_until=until, precision=precision)


def aligned(window: Window) -> bool:
    """Whether both bounds lie where units of the window's precision begin, in UTC."""
    bounds = [bound for bound in (window.valid_from, window.valid_until) if bound is not None]
    return all(_start(window.precision, bound) == bound for bound in bounds)


def claim_window(valid_from: datetime | None, valid_until: datetime | None, precision: Precision) -> Window:
    """A claim's window, whose ends are inclusive, as a half-open one.

    Its end may be the last instant of its last unit or any other of it. The last unit of all has no end.
    """
    until = None if valid_until is None else _next(precision, valid_until)
    return Window(valid_from=valid_from, valid_until=until, precision=precision)


_MONTHS: Final[dict[str, int]] = {"month": 1, "quarter": 3, "year": 12}


def _start(precision: Precision, moment: datetime) -> datetime:
    """Where the unit begins that the moment lies in."""
    moment = moment.astimezone(UTC)
    if precision in ("instant", "unknown", "open"):
        return moment
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if precision == "day":
        return midnight
    months = _MONTHS[precision]
    return midnight.replace(day=1, month=(moment.month - 1) // months * months + 1)


def _next(precision: Precision, moment: datetime) -> datetime | None:
    """Where the unit begins that follows the moment's; None after the last one of all."""
    start = _start(precision, moment)
    try:
        if precision in _MONTHS:
            elapsed = start.month - 1 + _MONTHS[precision]
            return start.replace(year=start.year + elapsed // 12, month=elapsed % 12 + 1)
        return start + (timedelta(days=1) if precision == "day" else MICROSECOND)
    except (OverflowError, ValueError):
        return None


def write_instant(instant: datetime) -> str:
    """RFC 3339 in UTC with ``Z``; microseconds only when there are any. Raises InvalidScope without an offset."""
    _require_aware(instant)
    return _write_utc(instant.astimezone(UTC))


@lru_cache(maxsize=INSTANTS_KEPT)
def _write_utc(instant: datetime) -> str:
    """An instant in UTC, written once: the rows of an answer share theirs, and it names each several times."""
    return instant.isoformat().replace("+00:00", "Z")


def write_instant_or_none(instant: datetime | None) -> str | None:
    return None if instant is None else write_instant(instant)


def write_scope(scope: Scope) -> dict[str, str]:
    """``temporal_scope`` (section B.3): the mode, its world coordinates, the instants, the identity regime."""
    match scope:
        case At():
            world = {"at": scope.at}
        case Overlap():
            world = {"from": scope.start, "to": scope.end}
        case AsOf():
            world = {"valid_at": scope.valid_at}
        case _:
            world = {}
    return {
        "mode": scope.mode,
        **{name: write_instant(instant) for name, instant in world.items()},
        "evaluated_at": write_instant(scope.evaluated_at),
        "believed_at": write_instant(scope.believed_at),
        "identity_regime": scope.identity_regime,
    }
