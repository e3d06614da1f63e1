"""Orders and choices: rankings fused, testimony grouped, evidence shared out (contract, sections C.2 and C.3).

Rule 1: every order is total and ends in public numbers. Rule 2: scores are compared as whole numbers, so that equal
sums are equal in whatever order they were added.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from math import lcm
from typing import Any, Final, Generic, Protocol, TypeVar

from provenance.context_bundle.core.cursor import microseconds
from provenance.context_bundle.core.schema import Json, make
from provenance.context_bundle.core.seen import Backing, Claim, Stance
from provenance.context_bundle.core.types import ASSOCIATIONS_MAX

RRF_CONSTANT: Final = 60
"""Contract, section C.2."""

STANCES: Final[tuple[Stance, Stance]] = ("supports", "contradicts")


class Key(Hashable, Protocol):
    """What rankings hold: an id that orders ties by itself, as numbers and (kind, number) do."""

    def __lt__(self, other: Any, /) -> bool: ...


K = TypeVar("K", bound=Key)


@dataclass(frozen=True, slots=True)
class Fused(Generic[K]):
    """A candidate in the fused order. ``ranks``: its best place in each channel from 1, None where it is missing."""

    key: K
    ranks: tuple[int | None, ...]

    @property
    def score(self) -> float:
        """For reading; the order does not come from it."""
        return sum(1 / (RRF_CONSTANT + rank) for rank in self.ranks if rank is not None)


def rrf(channels: Sequence[Sequence[K]], constant: int = RRF_CONSTANT) -> list[Fused[K]]:
    """The candidates by reciprocal rank fusion: sum of 1 / (constant + rank), ties by key.

    A key that stands twice in one channel counts once, at its best place; what follows it keeps its own.
    """
    places: list[dict[K, int]] = []
    for channel in channels:
        place: dict[K, int] = {}
        for rank, key in enumerate(channel, start=1):
            place.setdefault(key, rank)
        places.append(place)
    depth = max((len(channel) for channel in channels), default=0)
    shares = _shares(constant, depth)
    scores: dict[K, int] = {}
    for place in places:
        for key, rank in place.items():
            scores[key] = scores.get(key, 0) + shares[rank - 1]
    ordered = sorted(sorted(scores), key=scores.__getitem__, reverse=True)
    ranks = zip(*(map(place.get, ordered) for place in places), strict=True)
    return [Fused(key, each) for key, each in zip(ordered, ranks, strict=True)]


@lru_cache(maxsize=64)
def _shares(constant: int, depth: int) -> list[int]:
    """1 / (constant + rank) of each rank from 1 to ``depth``, as whole parts of one unit: their sums are exact."""
    unit = lcm(*range(constant + 1, constant + depth + 1))
    return [unit // (constant + rank) for rank in range(1, depth + 1)]


def ranking(channels: Sequence[Sequence[str]]) -> list[Json]:
    """``ranking`` (section B.12): ids fused, with their place in each channel as a signal."""
    return [
        make(
            "RankedItem",
            item_id=each.key,
            score=each.score,
            signals={f"channel_{n}": rank for n, rank in enumerate(each.ranks) if rank is not None},
        )
        for each in rrf(channels)
    ]


def by_coverage(keys: Iterable[K], coverage: Mapping[K, int]) -> list[K]:
    """More anchors first, otherwise in the order given (section C.2, step 6)."""
    return sorted(keys, key=lambda key: -coverage[key])


def statement_key(text: str) -> str:
    """What two texts share that say the same (section C.2, step 5): NFKC, case-folded, single spaces, without
    punctuation around. A text of nothing but punctuation keeps it.
    """
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    start, end = 0, len(folded)
    while start < end and _is_punctuation(folded[start]):
        start += 1
    while start < end and _is_punctuation(folded[end - 1]):
        end -= 1
    return folded[start:end] or folded


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character).startswith("P")


@dataclass(frozen=True, slots=True)
class Testimony:
    """Claims that say the same, best first: the first of them represents the rest."""

    claims: tuple[Claim, ...]

    @property
    def representative(self) -> Claim:
        return self.claims[0]

    @property
    def corroboration_count(self) -> int:
        """Distinct documents behind it."""
        return len({claim.document for claim in self.claims})


def group_claims(claims: Iterable[Claim]) -> list[Testimony]:
    """Claims, best first, into groups that say the same, in the order of their representatives.

    Differently dated, attributed or current testimony never meets (section C.2, step 5).
    """
    groups: dict[tuple[object, ...], list[Claim]] = {}
    for claim in claims:
        groups.setdefault(_testimony_key(claim), []).append(claim)
    return [Testimony(tuple(group)) for group in groups.values()]


def _testimony_key(claim: Claim) -> tuple[object, ...]:
    return (
        statement_key(claim.claim_text.text),
        claim.asserted_at,
        claim.valid_from,
        claim.valid_until,
        claim.valid_precision,
        claim.valid_kind,
        claim.is_attributed,
        claim.is_current,
    )


def share_evidence(
    facts: Sequence[int],
    backing: Iterable[Backing],
    claims: Mapping[int, Claim],
    *,
    per_fact: int,
    budget: int = ASSOCIATIONS_MAX,
) -> list[Backing]:
    """The associations an answer shows, in order of selection (section C.3, step 7).

    Of each lineage its latest current claim stands for it. Depth by depth, every fact in answer order gives one
    supporting and one contradicting lineage, until ``per_fact`` of each or the budget is reached.
    """
    lineages = _lineages(backing, claims)
    chosen: list[Backing] = []
    for depth in range(per_fact):
        for fact in facts:
            for stance in STANCES:
                chosen += lineages.get((fact, stance), [])[depth : depth + 1]
    return chosen[:budget]


def _lineages(
    backing: Iterable[Backing], claims: Mapping[int, Claim]
) -> dict[tuple[int, Stance], list[Backing]]:
    """Per fact and stance one association for each lineage, latest assertion first."""
    current = [each for each in backing if each.claim in claims and claims[each.claim].is_current]
    current.sort(key=lambda each: (each.fact, each.stance, *_newest_first(claims[each.claim])))
    lineages: dict[tuple[int, Stance], list[Backing]] = {}
    for pair, associations in groupby(current, key=lambda each: (each.fact, each.stance)):
        best: dict[int, Backing] = {}
        for each in associations:
            best.setdefault(claims[each.claim].document, each)
        lineages[pair] = list(best.values())
    return lineages


def _newest_first(claim: Claim) -> tuple[bool, int, int, int]:
    """Asserted latest first, undated last, then document and claim."""
    said = claim.asserted_at
    return (said is None, 0 if said is None else -microseconds(said), claim.document, claim.number)
