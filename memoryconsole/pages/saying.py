"""Sentences that name refs and stored names: made of parts, so that a page links the ones and isolates the others."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AtRef:
    """A row's ref inside a sentence."""

    ref: str


@dataclass(frozen=True, slots=True)
class Named:
    """A stored name inside a sentence: somebody else's words."""

    text: str


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a question inside a sentence, in its own direction and without quotation marks."""

    text: str


Part = str | AtRef | Named | Word
Said = tuple[Part, ...]


def listed(refs: Iterable[str], most: int = 3) -> Said:
    """Refs as a sentence lists them; the number of those that it leaves out."""
    every = list(refs)
    shown = every[:most]
    said: list[Part] = []
    for place, ref in enumerate(shown):
        if place:
            said.append(" and " if place == len(every) - 1 else ", ")
        said.append(AtRef(ref))
    if len(every) > most:
        said.append(f" and {len(every) - most:,} more")
    return tuple(said)


def plural(number: int, one: str, many: str = "") -> str:
    """A number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th, 21st."""
    last = number % 10 if number % 100 not in (11, 12, 13) else 0
    return f"{number:,}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th') }"


def share(value: int | None) -> str:
    """A share or a cosine that is kept in 1/10,000, with two digits."""
    return "—" if value is None else f"{value / 10_000:.2f}"
