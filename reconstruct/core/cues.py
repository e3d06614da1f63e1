"""Which declared names a query mentions, and which further names that brings in (contract, section C).

Rule 1: names are compared by their keys; what is shown and searched is the name as written.
Rule 2: a cue is a vote for the lexical search. Nothing here touches the query itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

MATCHES_MAX = 64
"""Contract, section C: at most so many names are taken from one query."""

TERMS_MAX = 32
"""Contract, section C: at most so many extra terms; the rest is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A name or alias of an entity in the call's read scope, as written and as its key."""

    entity: int
    text: str
    key: str
    alias: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Cues:
    """The entities a query mentions, by name, and the names and aliases it adds to the search as terms."""

    entities: tuple[Name, ...] = ()
    added: tuple[Name, ...] = ()
    terms_omitted: int = 0

    @property
    def terms(self) -> tuple[str, ...]:
        return tuple(name.text for name in self.added)

    def shown(self) -> dict[str, Any] | None:
        """``trace.cues``: absent when no entity was mentioned, its members absent when empty."""
        if not self.entities:
            return None
        shown: dict[str, Any] = {"entities": [name.text for name in self.entities]}
        if self.terms:
            shown["terms"] = list(self.terms)
        if self.terms_omitted:
            shown["terms_omitted"] = self.terms_omitted
        return shown


def mentioned(query_key: str, names: Iterable[Name]) -> tuple[int, ...]:
    """The entities whose names occur in the query, longest name first (ties: key, then entity).

    A name claims where it stands: a shorter one found only inside claimed places does not count.
    """
    text = _Text(query_key)
    # Per place of the query: where the farthest of the claims that start there ends, and of those up to there.
    ends = [0] * len(query_key)
    farthest = ends
    found: dict[int, None] = {}
    taken = 0
    for key, entities in _longest_first(names):
        places = list(text.places(key))
        if not places:
            continue
        entities = entities[: MATCHES_MAX - taken]
        taken += len(entities)
        if any(farthest[place] < place + len(key) for place in places):
            found |= dict.fromkeys(entities)
            for place in places:
                ends[place] = max(ends[place], place + len(key))
            farthest = list(accumulate(ends, max))
        if taken == MATCHES_MAX:
            break
    return tuple(found)


def _longest_first(names: Iterable[Name]) -> list[tuple[str, list[int]]]:
    by_key: dict[str, set[int]] = defaultdict(set)
    for name in names:
        if name.key:
            by_key[name.key].add(name.entity)
    return [(key, sorted(by_key[key])) for key in sorted(by_key, key=lambda key: (-len(key), key))]


def expand(query_key: str, entities: Sequence[int], names: Iterable[Name]) -> Cues:
    """The cues of the mentioned entities: each one's name, then its aliases by key, without what is there already."""
    by_entity: dict[int, list[Name]] = {entity: [] for entity in entities}
    for name in names:
        if name.entity in by_entity:
            by_entity[name.entity].append(name)
    text = _Text(query_key)
    shown: list[Name] = []
    terms: dict[str, Name] = {}
    for entity in entities:
        ordered = sorted(by_entity[entity], key=lambda name: (name.alias, name.key, name.text))
        shown.extend(name for name in ordered if not name.alias)
        for name in ordered:
            if name.key and not any(True for _ in text.places(name.key)):
                terms.setdefault(name.key, name)
    added = tuple(terms.values())
    return Cues(entities=tuple(shown), added=added[:TERMS_MAX], terms_omitted=max(0, len(added) - TERMS_MAX))


class _Text:
    """A folded query, and where in it a name may start: it is walked once, not once per name."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._starts: dict[str, list[int]] = defaultdict(list)
        for start, char in enumerate(key):
            if not _continues(key[start - 1 : start], char):
                self._starts[char].append(start)

    def places(self, name: str) -> Iterator[int]:
        """Where a name's key stands in the query, lowest first, a Latin word never inside a longer one."""
        if name not in self._key:
            return
        for start in self._starts.get(name[0], ()):
            end = start + len(name)
            if self._key.startswith(name, start) and not _continues(name[-1], self._key[end : end + 1]):
                yield start


def _continues(before: str, after: str) -> bool:
    """Whether two neighbouring characters belong to one word of a script that writes spaces between words."""
    return _latin(before) and _latin(after)


def _latin(char: str) -> bool:
    # Latin letters (Latin-1, Extended-A and -B, Additional) and ASCII digits; keys are already NFKC.
    return bool(char) and char.isalnum() and (char <= "\u024f" or "\u1e00" <= char <= "\u1eff")
