"""Which of several equal lines of a file one is: a line without a message id is known by its text and this.

A large file has millions of lines, so that what is kept of each is eight bytes while the file is scanned, and nothing
afterwards unless it stands there more than once.
"""

import hashlib
from array import array
from collections.abc import Iterable

import numpy as np

from memoryconsole.services.transfer.pieces import Line

_SHORT_BYTES = 8
# Forty megabytes while the file is scanned, and as much again while it is sorted. The largest file of the shortest
# lines would take a worker gigabytes; a file of records has far fewer lines.
MAX_LINES = 5_000_000


class TooManyLines(Exception):
    """A file of more lines than can be told apart."""


class Occurrences:
    """How often each repeated line has occurred so far.

    `lines`: the whole file. Lines up to number `past` have occurred already. `total`: how many lines there are.
    Raises TooManyLines.
    """

    def __init__(self, lines: Iterable[Line], *, past: int) -> None:
        seen, seen_past = array("Q"), 0
        self.total = 0
        for line in lines:
            self.total = line.number
            if self.total > MAX_LINES:
                raise TooManyLines
            if line.data:
                seen.append(_short(hashlib.sha256(line.data).digest()))
                seen_past += line.number <= past
        every = np.frombuffer(seen, dtype=np.uint64) if seen else np.empty(0, dtype=np.uint64)
        ordered = np.sort(every)
        self._repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
        self._counts = np.zeros(len(self._repeated), dtype=np.int64)
        if len(self._repeated):
            before = every[:seen_past]
            places = np.minimum(np.searchsorted(self._repeated, before), len(self._repeated) - 1)
            np.add.at(self._counts, places[self._repeated[places] == before], 1)

    def message_id(self, data: bytes) -> str:
        """The message id of the next line with this text that has none of its own. Call once for each, in order."""
        digest = hashlib.sha256(data).digest()
        return f"import:{digest.hex()}:{self._next(_short(digest))}"

    def _next(self, short: int) -> int:
        value = np.uint64(short)
        place = int(np.searchsorted(self._repeated, value))
        if place == len(self._repeated) or self._repeated[place] != value:
            return 1
        self._counts[place] += 1
        return int(self._counts[place])


def _short(digest: bytes) -> int:
    return int.from_bytes(digest[:_SHORT_BYTES], "big")
