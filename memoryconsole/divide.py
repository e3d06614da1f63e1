"""A long text to spans that a model reads whole (contract: reconstruct A.6). Pure.

A text that fits into the model's window is one span. Of a longer one, spans are cut off its beginning until the rest
fits: each ends at the best boundary at or before the place where the window closes. Best is by class, a blank line
before a line break before the end of a sentence before any whitespace, and within a class the last. A class whose
last boundary would leave a span shorter than half of the window is passed over, and without any boundary the cut
falls where the window closes. What separates two spans stays with the one before it.

A window is never shown all of the rest, but a stretch that is doubled while all of it fits; and each span is at least
half as long as what fitted. The whole therefore takes time in proportion to the text's length.
"""

import re
from dataclasses import dataclass
from typing import Protocol

_BREAK = r"(?:\r\n|\r(?!\n)|[\n\v\f\x1c-\x1e\x85\u2028\u2029])"
# Strongest first. A match is the whole separator: a boundary lies at its end.
_CLASSES = (
    re.compile(rf"{_BREAK}(?:[ \t]*{_BREAK})+"),
    re.compile(rf"{_BREAK}(?:[ \t]*{_BREAK})*"),
    # Possessive, and from the first of its marks on: a long row of dots is read once.
    re.compile(r"(?:[。．！？]++|(?<![.!?])[.!?]++(?=\s|\Z))\s*"),
    re.compile(r"\s+"),
)


class Window(Protocol):
    """How much of a text a model reads.

    `sure`: no text of so many code points, or of fewer, is too long. `closes`: the code points from the text's
    beginning that fit, from 1 to its length; its length when it fits. What cannot be counted never fits.
    """

    @property
    def sure(self) -> int: ...
    def closes(self, text: str) -> int: ...


@dataclass(frozen=True, slots=True)
class CharacterWindow:
    """A window of a fixed number of code points."""

    sure: int

    def closes(self, text: str) -> int:
        return min(self.sure, len(text))


def fits(text: str, window: Window) -> bool:
    return len(text) <= window.sure or window.closes(text) >= len(text)


def divide(text: str, window: Window) -> list[tuple[int, int]]:
    """The spans of a text as [start, end) in code points: contiguous, complete, in order. One for a text that fits,
    none for an empty one. Raises ValueError when the window answers what is no place in the text it was shown.
    """
    spans = []
    start = 0
    while start < len(text):
        end = _cut(text, start, window)
        spans.append((start, end))
        start = end
    return spans


def _cut(text: str, start: int, window: Window) -> int:
    """Where the span that begins at `start` ends."""
    limit = _limit(text, start, window)
    if limit == len(text):
        return limit
    end = _boundary(text, start, limit)
    # A part may count more than it did inside the whole: what is cut off is measured on its own.
    while (closes := _ask(window, text[start:end])) < end - start:
        end = _boundary(text, start, start + closes)
    return end


def _limit(text: str, start: int, window: Window) -> int:
    shown = window.sure + 1
    while True:
        stretch = text[start : start + shown]
        closes = _ask(window, stretch)
        if closes < len(stretch) or start + closes == len(text):
            return start + closes
        shown *= 2


def _ask(window: Window, text: str) -> int:
    closes = window.closes(text)
    if not 1 <= closes <= len(text):
        raise ValueError(f"a window closes at {closes} of {len(text)} characters")
    return closes


def _boundary(text: str, start: int, limit: int) -> int:
    """The best boundary after `start` and at or before `limit`, which is before the text's end; else `limit`."""
    # One character more than the span may have: a separator that goes on beyond it is none.
    horizon = limit + 1
    for separator in _CLASSES:
        ends = [match.end() for match in separator.finditer(text, start, horizon)]
        last = max((end for end in ends if end <= limit), default=start)
        if 2 * (last - start) >= limit - start:
            return last
    return limit
