"""Instants and windows of time: how they are read, what shapes they have, where their bounds may lie. Pure.

Contract: context-bundle A.2, A.4, D.2, D.5. A claim's window has inclusive ends and a fact's is half-open; both are
stored canonically: a bounded window begins where a unit of its precision begins. Its end is where another unit begins
(fact) or the microsecond before (claim).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import MAXYEAR, UTC, datetime, timedelta
from typing import Any, Literal, get_args

Precision = Literal["unknown", "instant", "day", "month", "quarter", "year", "open"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
# Those that have two ends, finest first.
BOUNDED: tuple[Precision, ...] = ("instant", "day", "month", "quarter", "year")

# The smallest step of time that is stored: how long an instant lasts.
TICK = timedelta(microseconds=1)

# RFC 3339: a whole date and time with seconds, at most microseconds, and a zone.
_INSTANT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII
)
# A unit by its name: 2024, 2024-Q1, 2024-02, 2024-02-29.
_UNITS: dict[Precision, re.Pattern[str]] = {
    "day": re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII),
    "month": re.compile(r"(\d{4})-(\d\d)", re.ASCII),
    "quarter": re.compile(r"(\d{4})-[Qq]([1-4])", re.ASCII),
    "year": re.compile(r"(\d{4})", re.ASCII),
}
_EXAMPLES: dict[Precision, str] = {
    "day": "2024-02-29",
    "month": "2024-02",
    "quarter": "2024-Q1",
    "year": "2024",
}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}


class BadWindow(ValueError):
    """A window that cannot be one. `pointer`: which member ('' for the window itself); `code` as in a Fault."""

    def __init__(self, pointer: str, code: str, message: str) -> None:
        super().__init__(message)
        self.pointer = pointer
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class Window:
    """Two bounds in UTC (None: none known, or none yet) and how exactly they are known."""

    valid_from: datetime | None = None
    valid_until: datetime | None = None
    precision: Precision = "unknown"

    @property
    def known(self) -> bool:
        return self.precision != "unknown"


UNKNOWN = Window()


def read_instant(text: Any) -> datetime:
    """The instant in UTC that a text names: RFC 3339 with a zone and at most microseconds, years 0001 to 9999.

    Raises ValueError for anything else: a plain date, a number, a form without separators, a naive time.
    """
    match = _INSTANT.fullmatch(text) if type(text) is str else None
    if match is None:
        raise ValueError("Not a date and time with a zone, such as 2026-01-05T10:00:00Z.")
    year, month, day, hour, minute, second, fraction, sign, hours, minutes = match.groups()
    if sign and (int(hours) > 23 or int(minutes) > 59):
        raise ValueError("The zone's offset is out of range.")
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    try:
        local = datetime(
            int(year), int(month), int(day), int(hour), int(minute), int(second),
            int((fraction or "0").ljust(6, "0")), tzinfo=UTC,
        )  # fmt: skip
        return local + offset if sign == "-" else local - offset
    except (ValueError, OverflowError):
        raise ValueError("No such date and time between the years 0001 and 9999.") from None


def read_claim_window(given: Mapping[str, Any] | None) -> Window:
    """What a claim says of time: {from?, until?, precision?}, ends inclusive (context-bundle A.2).

    unknown: no bound. open: `from` alone, an instant or any unit. instant: one moment; `until` repeats it or is left
    out. day, month, quarter, year: whole units. A bound is an instant, or a unit by its name ('2024-02'); `until` left
    out is the unit that begins at `from`. Raises BadWindow.
    """
    precision, start, end = _read(given, last=True)
    if precision in ("unknown", "open"):
        return Window(start, end, precision)
    if start is None:
        raise BadWindow("/from", "required", f"A claim's window of precision '{precision}' has a beginning.")
    if precision == "instant":
        if end not in (None, start):
            raise BadWindow("/until", "contradiction", "An instant ends where it begins.")
        return Window(start, start, precision)
    if end is None:
        end = _after(start, precision, "/from") - TICK
    if end < start:
        raise BadWindow("/until", "contradiction", "Lies before from.")
    return Window(start, end, precision)


def read_fact_window(given: Mapping[str, Any] | None) -> Window:
    """When a fact was so: {from?, until?, precision?}, half-open (context-bundle A.4, D.5).

    unknown: no bound. open: `from` alone, an instant or any unit, known to go on. instant: any two moments; day, month,
    quarter, year: whole units. One bound may be null: not known. A bound is an instant, or a unit by its name: '2024'
    as `until` is the end of 2024. Raises BadWindow.
    """
    precision, start, end = _read(given, last=False)
    if precision in ("unknown", "open"):
        return Window(start, end, precision)
    if start is None and end is None:
        raise BadWindow("/from", "required", f"A window of precision '{precision}' has a bound.")
    if start is not None and end is not None and end <= start:
        raise BadWindow("/until", "contradiction", "Is not later than from.")
    return Window(start, end, precision)


def half_open(window: Window) -> Window:
    """A claim's window as a fact's: it ends a microsecond later. Raises OverflowError at the end of the year 9999."""
    if window.valid_until is None:
        return window
    return Window(window.valid_from, window.valid_until + TICK, window.precision)


def begins_unit(instant: datetime, precision: Precision) -> bool:
    """Whether a unit of the precision begins here. Any instant does for instant, open and unknown."""
    return unit_start(instant, precision) == instant


def unit_start(instant: datetime, precision: Precision) -> datetime:
    """Where the unit (in UTC) begins that holds the instant; the instant itself for instant, open and unknown."""
    if precision in ("unknown", "open", "instant"):
        return instant
    midnight = instant.replace(hour=0, minute=0, second=0, microsecond=0)
    if precision == "day":
        return midnight
    months = _MONTHS[precision]
    return midnight.replace(month=(midnight.month - 1) // months * months + 1, day=1)


def next_unit(start: datetime, precision: Precision) -> datetime:
    """Where the unit after the one that begins at `start` begins. Raises OverflowError after the year 9999."""
    if precision in ("unknown", "open", "instant"):
        return start + TICK
    if precision == "day":
        return start + timedelta(days=1)
    years, month = divmod(start.month - 1 + _MONTHS[precision], 12)
    if start.year + years > MAXYEAR:
        raise OverflowError("beyond the year 9999")
    return start.replace(year=start.year + years, month=month + 1)


def common_precision(*instants: datetime | None) -> Precision:
    """The coarsest precision with units that begin at all of these instants: 'instant' where no other has."""
    given = [instant for instant in instants if instant is not None]
    for precision in reversed(BOUNDED):
        if all(begins_unit(instant, precision) for instant in given):
            return precision
    return "instant"


def _read(
    given: Mapping[str, Any] | None, *, last: bool
) -> tuple[Precision, datetime | None, datetime | None]:
    """(precision, from, until) with each bound at its place. `last`: `until` is the last microsecond that is in."""
    members = given or {}
    precision = members.get("precision", "unknown")
    if precision not in PRECISIONS:
        raise BadWindow("/precision", "invalid", f"Not one of {', '.join(PRECISIONS)}.")
    if precision == "unknown" and any(members.get(name) is not None for name in ("from", "until")):
        raise BadWindow(
            "/precision", "required", f"A window with a bound says how exactly: {', '.join(PRECISIONS[1:])}."
        )
    start = _bound(members.get("from"), "/from", precision, is_end=False, last=last)
    end = _bound(members.get("until"), "/until", precision, is_end=True, last=last)
    if precision == "open" and (start is None or end is not None):
        raise BadWindow(
            "/until" if end else "/from", "contradiction", "An open window has a beginning alone."
        )
    return precision, start, end


def _bound(text: Any, pointer: str, precision: Precision, *, is_end: bool, last: bool) -> datetime | None:
    if text is None:
        return None
    named = _named(text, precision)
    if named is not None:
        return (_after(named, precision, pointer) - (TICK if last else timedelta())) if is_end else named
    try:
        instant = read_instant(text)
    except ValueError as fault:
        raise BadWindow(pointer, "invalid", f"{fault}{_or_a_unit(precision)}") from None
    closed = is_end and last and precision in _UNITS
    edge = _tick_after(instant, pointer) if closed else instant
    if not begins_unit(edge, precision):
        what = f"the last microsecond of a {precision}" if closed else f"the beginning of a {precision}"
        raise BadWindow(pointer, "not_aligned", f"Is not {what} in UTC.")
    return instant


def _or_a_unit(precision: Precision) -> str:
    """What else a bound of this precision may be."""
    units = _UNITS if precision == "open" else [unit for unit in _UNITS if unit == precision]
    return f" Nor a {' or '.join(f'{unit} such as {_EXAMPLES[unit]}' for unit in units)}." if units else ""


def _named(text: Any, precision: Precision) -> datetime | None:
    """Where the unit begins that a text names; None when it names none of this precision. What is open is so since
    any unit.
    """
    if precision == "open":
        starts = (_named(text, unit) for unit in _UNITS)
        return next((start for start in starts if start is not None), None)
    form = _UNITS.get(precision)
    match = form.fullmatch(text) if form is not None and type(text) is str else None
    if match is None:
        return None
    year, *rest = (int(group) for group in match.groups())
    month = rest[0] if rest else 1
    try:
        if precision == "quarter":
            return datetime(year, 3 * month - 2, 1, tzinfo=UTC)
        return datetime(year, month, rest[1] if len(rest) > 1 else 1, tzinfo=UTC)
    except ValueError:
        return None


def _after(start: datetime, precision: Precision, pointer: str) -> datetime:
    try:
        return next_unit(start, precision)
    except OverflowError:
        raise BadWindow(pointer, "out_of_range", "Ends after the year 9999.") from None


def _tick_after(instant: datetime, pointer: str) -> datetime:
    try:
        return instant + TICK
    except OverflowError:
        raise BadWindow(pointer, "out_of_range", "Ends after the year 9999.") from None
