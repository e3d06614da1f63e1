"""Who is admitted, and in which order: the gate, the mix and the ties. Pure: arrays in, arrays out.

Rule 1: the gate looks at the row's own evidence: the words of the query it holds, and its cosine. Producer
and date count beside a word it holds and are nothing alone; a declared alias moves a row, and never admits one.
Rule 2: the order is total and made of whole numbers.

The gate has two thresholds. A *strong* row is one that a store which knows nothing of the matter hardly ever
has; if there is none, nothing is admitted. Beside a strong row, rows above the *floor* are admitted too: they
are weaker answers to a question this store can answer. Measured on LoCoMo, five conversations, each question
also asked of the four other conversations' stores: a strong row is found for 2.5 % of the foreign questions and
for 77 % of the own ones. The rest of those comes back by the fallback, so nDCG is what it is without a gate
(48); one threshold for every row, at the strong level, costs 5 points.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# The mix: a row's share of the best lexical score, and its cosine. Both in 1/10,000. Flat between 2 and 5 of
# 10 for the cosine (LoCoMo: 48.0 to 48.3).
LEXICAL_WEIGHT, COSINE_WEIGHT = 10, 4
SHARE_SCALE = 10_000
# The best lexical score counts as full only when it reaches half of the ideal: otherwise one common word
# would beat any cosine.
IDEAL_DIVISOR = 2


@dataclass(frozen=True, slots=True)
class Gate:
    """Thresholds in 1/10,000. `deep` halves them all and changes nothing else (contract: reconstruct B)."""

    strong_coverage: int = 5_500
    strong_cosine: int = 6_000
    floor_coverage: int = 1_500
    floor_cosine: int = 4_500

    def deepened(self) -> "Gate":
        return Gate(
            self.strong_coverage // 2,
            self.strong_cosine // 2,
            self.floor_coverage // 2,
            self.floor_cosine // 2,
        )


@dataclass(frozen=True, slots=True)
class Pool:
    """Every row in scope that words or vectors reach, as columns. `cosine` is NO_VECTOR where a row has none.

    `own`, `votes`, `cues`: lexical scores: the row's own words; producer and date; declared aliases.
    `coverage`, `rare`, `marked`: `coverage.py`. `found`: the row of `lexical.Found`, -1 for none.
    """

    ids: Ints
    own: Ints
    votes: Ints
    cues: Ints
    cosine: Ints
    coverage: Ints
    rare: Bools
    marked: Bools
    found: Ints


NO_VECTOR = -10_001


@dataclass(frozen=True, slots=True)
class Ranking:
    """`order`: admitted places of the pool, best first, with every tie of the last one wanted. `near`: the
    places just not admitted, likewise. `passed`: how many were admitted in all. `full`: the lexical score that
    counted as a whole share.
    """

    scores: Ints
    order: Ints
    near: Ints
    passed: int
    fallback: bool
    full: int


def full_score(pool: Pool, ideal: int) -> int:
    """The lexical score that counts as a whole share. At least 1."""
    # Aliases do not move the scale: a vote for one row takes nothing from another.
    return max(int((pool.own + pool.votes).max(initial=0)), ideal // IDEAL_DIVISOR, 1)


def mix(pool: Pool, full: int) -> Ints:
    """The score of each row: lexical share and cosine, weighted. At least 0."""
    share = (pool.own + pool.votes + pool.cues) * SHARE_SCALE // full
    return LEXICAL_WEIGHT * share + COSINE_WEIGHT * np.maximum(pool.cosine, 0)


def admit(pool: Pool, gate: Gate) -> tuple[Bools, bool]:
    """(which rows are admitted, whether that is the fallback).

    The fallback, when no row is strong: the rows that hold the query's own words. A row that only an alias
    found is not among them.
    """
    strong = (
        (pool.coverage >= gate.strong_coverage) | (pool.cosine >= gate.strong_cosine) | pool.marked
    )  # fmt: skip
    if not strong.any():
        matched = pool.own > 0
        return matched, bool(matched.any())
    floor = (pool.coverage >= gate.floor_coverage) | (pool.cosine >= gate.floor_cosine)
    return strong | floor | pool.rare, False


def rank(pool: Pool, ideal: int, gate: Gate, *, limit: int, near: int) -> Ranking:
    """Order the pool. Ties at a border are all kept, for `Key` to decide."""
    full = full_score(pool, ideal)
    scores = mix(pool, full)
    admitted, fallback = admit(pool, gate)
    return Ranking(
        scores=scores,
        order=_best(scores, np.flatnonzero(admitted), limit),
        near=_best(scores, np.flatnonzero(~admitted & (scores > 0)), near),
        passed=int(admitted.sum()),
        fallback=fallback,
        full=full,
    )


def _best(scores: Ints, places: Ints, wanted: int) -> Ints:
    if len(places) > wanted > 0:
        last = np.partition(scores[places], len(places) - wanted)[len(places) - wanted]
        places = places[scores[places] >= last]
    elif wanted <= 0:
        places = places[:0]
    return places[np.argsort(-scores[places], kind="stable")]


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Kind(IntEnum):
    """In the order of ties."""

    MEM = 0
    EP = 1


@dataclass(frozen=True, slots=True)
class Key:
    """What decides between rows, in this order."""

    score: int
    instant: datetime | None
    kind: Kind
    digest: bytes
    number: int

    def sort_key(self) -> tuple[int, bool, timedelta, Kind, bytes, int]:
        oldest = timedelta(0) if self.instant is None else _EPOCH - self.instant
        return -self.score, self.instant is None, oldest, self.kind, self.digest, self.number
