"""Reading the stamps callers send. The text is kept as it came; only its meaning is computed here."""

import re
from datetime import UTC, datetime, timedelta, timezone

# ISO 8601: a date, then optionally a time after T or a space, with seconds, a fraction and an offset.
_STAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?"
    r"\s?([Zz]|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)


def read_stamp(text: str) -> datetime | None:
    """The instant an ISO 8601 stamp names, in UTC; None when it is empty or unreadable (unknown time, not now).

    A stamp without an offset is UTC (contract: reconstruct A.3). Digits beyond microseconds are cut.
    """
    match = _STAMP.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, offset = match.groups()
    try:
        stamp = datetime(
            int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0),
            int((fraction or "0")[:6].ljust(6, "0")), tzinfo=_zone(offset),
        )  # fmt: skip
        return stamp.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _zone(offset: str | None) -> timezone:
    if offset is None or offset in "Zz":
        return UTC
    digits = offset[1:].replace(":", "")
    hours, minutes = int(digits[:2]), int(digits[2:] or 0)
    if hours > 23 or minutes > 59:
        raise ValueError("offset out of range")
    delta = timedelta(hours=hours, minutes=minutes)
    return timezone(-delta if offset[0] == "-" else delta)


def write_stamp(instant: datetime) -> str:
    """An instant as the API writes it: ISO 8601 with microseconds when there are any, and Z."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")
