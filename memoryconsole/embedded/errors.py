"""What can go wrong with the embedded parts. Each message says what to do about it."""

from pathlib import Path

TAIL_LINES = 15  # a guess: enough to hold the FATAL line and its HINT


class EmbeddedError(Exception):
    """An embedded part could not do what was asked."""


class PlaceError(EmbeddedError):
    """A folder cannot be used: not absolute, too long for a socket, somebody else's, not writable."""


class Unavailable(EmbeddedError):
    """The part has no program for this platform, or its package is not installed."""


class Busy(EmbeddedError):
    """Another process holds the lock for longer than one waits."""


class StartFailed(EmbeddedError):
    """The part did not come up. The message ends with what its log says."""


class StopFailed(EmbeddedError):
    """The part did not end in time."""


def tail(log: Path, offset: int = 0) -> str:
    """The last lines that `log` has gained since byte `offset`; "" for a log that does not exist."""
    try:
        with log.open("rb") as lines:
            lines.seek(offset)
            text = lines.read().decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.splitlines()[-TAIL_LINES:])


def with_tail(message: str, log: Path, offset: int = 0) -> str:
    """`message`, followed by the log's place and its last lines."""
    lines = tail(log, offset)
    return f"{message}\nThe log {log} ends with:\n{lines}" if lines else f"{message} (the log {log} is empty)"
