"""Which declared names a query mentions, and which further names that brings in (contract, section C).

Rule 1: names are compared by their keys; what is shown and searched is the name as written.
Rule 2: a cue is a vote for the lexical search. Nothing here touches the query itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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
    """The entities a query mentions, by name, and the terms they add."""

    entities: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    terms_omitted: int = 0

    def shown(self) -> dict[str, Any] | None:
        """``trace.cues``: absent when no entity was mentioned, its members absent when empty."""
        if not self.entities:
            return None
        shown: dict[str, Any] = {"entities": list(self.entities)}
        if self.terms:
            shown["terms"] = list(self.terms)
        if self.terms_omitted:
            shown["terms_omitted"] = self.terms_omitted
        return shown


def mentioned(query_key: str, names: Iterable[Name]) -> tuple[int, ...]:
    """The entities whose names occur in the query, longest name first (ties: key, then entity).

    A name claims where it stands: a shorter one found only inside claimed places does not count.
    """
    by_key: dict[str, set[int]] = {}
    for name in names:
        if name.key:
            by_key.setdefault(name.key, set()).add(name.entity)
    claimed: list[tuple[int, int]] = []
    found: list[int] = []
    matches = 0
    for key in sorted(by_key, key=lambda key: (-len(key), key)):
        places = _places(query_key, key)
        if not places:
            continue
        matches += len(by_key[key])
        if any(not _inside(place, claimed) for place in places):
            found.extend(sorted(by_key[key]))
            claimed.extend(places)
        if matches >= MATCHES_MAX:
            break
    return tuple(dict.fromkeys(found))


def expand(query_key: str, entities: Sequence[int], names: Iterable[Name]) -> Cues:
    """The cues of the mentioned entities: each one's name, then its aliases by key, without what is there already."""
    by_entity: dict[int, list[Name]] = {entity: [] for entity in entities}
    for name in names:
        if name.entity in by_entity:
            by_entity[name.entity].append(name)
    shown: list[str] = []
    terms: dict[str, str] = {}
    for entity in entities:
        ordered = sorted(by_entity[entity], key=lambda name: (name.alias, name.key, name.text))
        shown.extend(name.text for name in ordered if not name.alias)
        for name in ordered:
            if name.key and not _places(query_key, name.key):
                terms.setdefault(name.key, name.text)
    texts = tuple(terms.values())
    return Cues(entities=tuple(shown), terms=texts[:TERMS_MAX], terms_omitted=max(0, len(texts) - TERMS_MAX))


def _places(query_key: str, key: str) -> list[tuple[int, int]]:
    """Where the key stands in the query, as [start, end), a Latin word never inside a longer one."""
    places = []
    start = query_key.find(key)
    while start >= 0:
        end = start + len(key)
        if not (
            _continues(query_key[start - 1 : start], key[0]) or _continues(key[-1], query_key[end : end + 1])
        ):
            places.append((start, end))
        start = query_key.find(key, start + 1)
    return places


def _continues(before: str, after: str) -> bool:
    """Whether two neighbouring characters belong to one word of a script that writes spaces between words."""
    return _latin(before) and _latin(after)


def _latin(char: str) -> bool:
    # Latin letters (Latin-1, Extended-A and -B, Additional) and ASCII digits; keys are already NFKC.
    return bool(char) and char.isalnum() and (char <= "\u024f" or "\u1e00" <= char <= "\u1eff")


def _inside(place: tuple[int, int], claimed: Iterable[tuple[int, int]]) -> bool:
    return any(start <= place[0] and place[1] <= end for start, end in claimed)
