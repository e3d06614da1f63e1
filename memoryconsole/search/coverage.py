"""How much of a query a row holds: the evidence the gate looks at. Pure.

BM25 orders rows; it does not say whether the best of them answers anything. Coverage does: the share of the
query's units that a row holds, each unit weighing as much as it is rare. A question about somebody else's
affairs shares a common word or two with a store, and covers little of itself.
"""

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memoryconsole.search.analyze import Unit

Ints = NDArray[np.int64]

WHOLE = 10_000
WEIGHT_SCALE = 256
# Rows every store is taken to have besides its own: in a store of one record nothing is known to be common,
# and its words must not count for less than those it lacks.
PRIOR_ROWS = 100
# A word is rare when it weighs three quarters of one that no row holds: 1 row of 10, 2 of 600, 5 of 10,000.
RARE_NUMERATOR, RARE_DENOMINATOR = 3, 4
# What a unit weighs that only producers or dates match: as much as a vote (`lexical.py`).
LENT_WEIGHT = 2 * WEIGHT_SCALE


@dataclass(frozen=True, slots=True)
class Evidence:
    """One element a row. `coverage`: 0..10000, 0 for a row that holds no word of the query itself.

    `rare`: it holds a word that next to no row holds. `marked`: it holds such a word that is an identifier,
    whole.
    """

    coverage: Ints
    rare: NDArray[np.bool_]
    marked: NDArray[np.bool_]


def weight(total: int, df: int) -> int:
    """What a unit weighs whose term `df` of `total` rows hold. Falls with df; at least 1, so that a match
    counts.
    """
    return max(1, round(WEIGHT_SCALE * math.log((total + PRIOR_ROWS + 1) / (df + 0.5))))


def cover(
    units: Sequence[Unit],
    terms: Sequence[str],
    df: Ints,
    *,
    total: int,
    rows: int,
    held: list[Ints],
    lent: list[Ints],
    lent_elsewhere: AbstractSet[int] = frozenset(),
) -> Evidence:
    """The evidence of `rows` rows. `df`: how many rows of the store hold each term. `held`: of each term, the
    rows whose text holds it; `lent`: the rows whose producer or date does. What is lent counts beside a word
    that is held, and is nothing alone. `lent_elsewhere`: places of terms that are lent by rows not given here.
    """
    place = {term: index for index, term in enumerate(terms)}
    gained, own = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.bool_)
    rare, marked = np.zeros(rows, dtype=np.bool_), np.zeros(rows, dtype=np.bool_)
    asked = 0
    for unit in units:
        places = [place[term] for term in unit.terms]
        known = [index for index in places if df[index]]
        # The whole of a compound that no row holds says nothing beside its pieces (brother-in-law, brother in
        # law).
        basis = places[1:] if unit.compound and places[0] not in known else places
        weights = {index: weight(total, int(df[index])) for index in basis}
        worth = max(weights.values())
        lending = [lent[index] for index in places if len(lent[index])]
        others = np.setdiff1d(np.concatenate(lending), _union(held, known)) if lending else _NONE
        if not known and (len(others) or not lent_elsewhere.isdisjoint(places)):
            worth = min(worth, LENT_WEIGHT)
        asked += worth
        gained[others] += worth
        for index in known:
            gained[held[index]] += worth * weights[index] // sum(weights.values())
            own[held[index]] = True
            if RARE_DENOMINATOR * weights[index] >= RARE_NUMERATOR * weight(total, 0):
                rare[held[index]] = True
                marked[held[index]] |= unit.marked and index == places[0]
    share = np.minimum(WHOLE, (gained * WHOLE + asked // 2) // max(asked, 1))
    return Evidence(coverage=np.where(own, share, 0), rare=rare, marked=marked)


def _union(rows_of: list[Ints], places: Sequence[int]) -> Ints:
    return np.concatenate([rows_of[index] for index in places]) if places else _NONE


_NONE: Ints = np.zeros(0, dtype=np.int64)
