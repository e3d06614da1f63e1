"""Where an answer goes on: the position inside a continuation (contract, section F.5).

Rule 1: nothing in it is a text. Rule 2: whoever holds the key signs it; this file only writes and reads bytes.

Theory of operation. A ranking may shift between two pages when the store changes, so "after the tenth" would repeat
or lose rows. A position therefore names what was returned, by public number. Numbers are sorted and written as the
gaps between them, most of which fit one byte; a position that would not fit a cursor cannot be resumed.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from provenance.context_bundle.core.temporal import (
    AsOf,
    At,
    Current,
    History,
    Overlap,
    Regime,
    Scope,
)

VERSION: Final = 1
TOKEN_MAX_CHARS: Final = 1024
"""Contract, section F.5: of the whole token, signature included."""

NUMBERS_MAX: Final = 100_000
"""A guess: far more than fits a token, so that bytes which are none cannot ask for more memory."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_MODES: Final = ("current", "at", "overlap", "history", "as_of")
_REGIMES: Final[tuple[Regime, ...]] = ("current", "as_of")


class MalformedCursor(ValueError):
    """Text or bytes that are no position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where the next page begins.

    ``digest``: of the operation's arguments. ``scope``: the pinned one. ``returned``: per list of the answer the
    numbers it has given so far, ascending. ``last``: the sort key of the last row, for lists that go on behind it:
    whole numbers and short words.
    """

    operation: str
    digest: bytes
    scope: Scope
    returned: tuple[tuple[int, ...], ...] = ()
    last: tuple[int | str, ...] = ()

    def __post_init__(self) -> None:
        for numbers in self.returned:
            if list(numbers) != sorted(set(numbers)) or (numbers and numbers[0] < 0):
                raise ValueError("returned numbers ascend from 0")

    def of(self, operation: str, digest: bytes) -> bool:
        """Whether it continues this operation with these arguments."""
        return (self.operation, self.digest) == (operation, digest)


Token = Callable[[Position], str | None]
"""Writes and signs a position; None when it cannot be resumed."""


def pack(position: Position) -> bytes:
    """The position as bytes."""
    return b"".join(
        (
            bytes([VERSION]),
            _word(position.operation.encode()),
            _word(position.digest),
            _scope(position.scope),
            _whole(len(position.returned)),
            *(_numbers(numbers) for numbers in position.returned),
            _whole(len(position.last)),
            *(_part(part) for part in position.last),
        )
    )


def unpack(packed: bytes) -> Position:
    """The position in the bytes. Raises MalformedCursor for bytes that ``pack`` did not write."""
    reader = _Reader(packed)
    try:
        if reader.byte() != VERSION:
            raise MalformedCursor("another version")
        position = Position(
            operation=reader.word().decode(),
            digest=reader.word(),
            scope=_read_scope(reader),
            returned=tuple(tuple(_read_numbers(reader)) for _ in range(reader.count())),
            last=tuple(_read_part(reader) for _ in range(reader.count())),
        )
    except (IndexError, OverflowError, ValueError) as error:
        raise MalformedCursor("these bytes are no position") from error
    # One position, one text: what else would read as the same is refused.
    if pack(position) != packed:
        raise MalformedCursor("these bytes are no position")
    return position


def encode(position: Position) -> str:
    """The position as base64url text without padding, to be signed."""
    return base64.urlsafe_b64encode(pack(position)).rstrip(b"=").decode("ascii")


def decode(text: str) -> Position:
    """The position in the text. Raises MalformedCursor."""
    try:
        packed = base64.b64decode(
            text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True
        )
    except (UnicodeEncodeError, binascii.Error) as error:
        raise MalformedCursor("this text is no position") from error
    position = unpack(packed)
    if encode(position) != text:
        raise MalformedCursor("this text is no position")
    return position


def fitting(token: str) -> str | None:
    """The signed token, or None when it is longer than a cursor may be."""
    return token if len(token) <= TOKEN_MAX_CHARS else None


def microseconds(instant: datetime) -> int:
    """Since 1970, exactly."""
    return (instant - _EPOCH) // _MICROSECOND


def from_microseconds(count: int) -> datetime:
    """Raises OverflowError for an instant that no date names."""
    return _EPOCH + count * _MICROSECOND


def _whole(number: int) -> bytes:
    """Seven bits a byte, lowest first, the top bit says that more follow."""
    written = bytearray()
    while number > 127:
        written.append(number & 127 | 128)
        number >>= 7
    written.append(number)
    return bytes(written)


def _signed(number: int) -> bytes:
    return _whole(2 * number if number >= 0 else -2 * number - 1)


def _word(word: bytes) -> bytes:
    return _whole(len(word)) + word


def _part(part: int | str) -> bytes:
    return b"\0" + _signed(part) if isinstance(part, int) else b"\1" + _word(part.encode())


def _numbers(numbers: Iterable[int]) -> bytes:
    ascending = tuple(numbers)
    gaps = (number - before for before, number in zip((0, *ascending), ascending, strict=False))
    return _whole(len(ascending)) + b"".join(_whole(gap) for gap in gaps)


def _scope(scope: Scope) -> bytes:
    match scope:
        case At():
            instants = [scope.at]
        case Overlap():
            instants = [scope.start, scope.end]
        case AsOf():
            instants = [scope.valid_at, scope.believed_at]
        case _:
            instants = []
    head = bytes([_MODES.index(scope.mode), _REGIMES.index(scope.identity_regime)])
    return head + b"".join(_signed(microseconds(each)) for each in (scope.evaluated_at, *instants))


class _Reader:
    """Reads on from where it stands. Raises IndexError at the end, ValueError for what no writer writes."""

    def __init__(self, packed: bytes) -> None:
        self._bytes = packed
        self._place = 0

    def byte(self) -> int:
        self._place += 1
        return self._bytes[self._place - 1]

    def whole(self) -> int:
        number = shift = 0
        while True:
            byte = self.byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7

    def count(self) -> int:
        count = self.whole()
        if count > NUMBERS_MAX:
            raise ValueError(f"{count} parts")
        return count

    def signed(self) -> int:
        number = self.whole()
        return -(number + 1) // 2 if number & 1 else number // 2

    def word(self) -> bytes:
        length = self.count()
        word = self._bytes[self._place : self._place + length]
        if len(word) < length:
            raise IndexError("the bytes end within a word")
        self._place += length
        return word

    def instant(self) -> datetime:
        return from_microseconds(self.signed())


def _read_numbers(reader: _Reader) -> Iterator[int]:
    number = 0
    for _ in range(reader.count()):
        number += reader.whole()
        yield number


def _read_part(reader: _Reader) -> int | str:
    return reader.word().decode() if reader.byte() else reader.signed()


def _read_scope(reader: _Reader) -> Scope:
    mode, regime = _MODES[reader.byte()], _REGIMES[reader.byte()]
    evaluated_at = reader.instant()
    match mode:
        case "at":
            return At(evaluated_at=evaluated_at, identity_regime=regime, at=reader.instant())
        case "overlap":
            return Overlap(
                evaluated_at=evaluated_at,
                identity_regime=regime,
                start=reader.instant(),
                end=reader.instant(),
            )
        case "as_of":
            return AsOf(
                evaluated_at=evaluated_at,
                identity_regime=regime,
                valid_at=reader.instant(),
                believed_at=reader.instant(),
            )
        case "history":
            return History(evaluated_at=evaluated_at, identity_regime=regime)
        case _:
            return Current(evaluated_at=evaluated_at, identity_regime=regime)
