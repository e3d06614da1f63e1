"""How far the budget reaches (contract, section G).

The quoted text is one fixed sequence: every item's head, then every item's first excerpt, then every second,
and so on. An answer carries the longest prefix that fits. The budget moves the end of that prefix and nothing
else: it never looks past the first quote that does not fit, however small the next one is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reconstruct.core.quote import Quote


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A quote in the sequence: of which item (its index); turn 0 is the head, turn n the nth excerpt."""

    item: int
    turn: int
    quote: Quote


def sequence(quotes: Sequence[Sequence[Quote]]) -> tuple[Place, ...]:
    """``quotes``: per item, in item order, its head and then its excerpts, most relevant first."""
    places = [
        Place(item=item, turn=turn, quote=quote)
        for item, own in enumerate(quotes)
        for turn, quote in enumerate(own)
    ]
    return tuple(sorted(places, key=lambda place: (place.turn, place.item)))


def carried(places: Sequence[Place], budget: int) -> int:
    """How many of the first ``places`` fit into ``budget`` code points.

    The very first is carried whatever its size: with quote cutting off a head may be larger than any budget,
    and an answer that quotes nothing would be worth nothing.
    """
    used = 0
    for count, place in enumerate(places):
        used += len(place.quote.content)
        if used > budget and count > 0:
            return count
    return len(places)
