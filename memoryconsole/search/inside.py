"""The search inside one session, by recall's order. Call inside `snapshot()`.

A term is as rare as it is in the store, so that the words are looked for there; but vectors are compared only where
that can change the answer. A cosine is worth COSINE_WEIGHT of a score at most, and once enough rows are sure of more by
their words alone, nothing that holds no word, or less of them, comes before those.
"""

from dataclasses import dataclass

import numpy as np

from memoryconsole.models import Store
from memoryconsole.search.fuse import COSINE_WEIGHT, NO_VECTOR, Gate, Ranking, rank
from memoryconsole.search.lexical import RECORDS, SUMMARIES, Ints
from memoryconsole.search.read import (
    LOOK_UP_COST,
    Ground,
    read_cosines,
    read_first,
    read_places,
    read_session_ground,
)
from memoryconsole.search.retrieve import Candidate, Query, as_candidates, comparable, pool_of
from memoryconsole.search.vectors import COSINE_SCALE, Whole
from memoryconsole.search.words import Words, read_words

# Of the rows that are best by their words, so many are compared before it is asked which others can come before them.
FIRST = 200


@dataclass(frozen=True, slots=True)
class InSession:
    """What was found inside one session, summaries and records apart, each best first.

    `session`: its primary key. `bounded`: as in `Candidates`.
    """

    session: int
    summaries: tuple[Candidate, ...] = ()
    records: tuple[Candidate, ...] = ()
    bounded: bool = False


def in_session(store: Store, query: Query, session_id: str, *, limit: int) -> InSession | None:
    """The summaries and the records of a session that may answer a query, at most `limit` of each, by recall's order.

    None: the store has no such session. Summaries of summaries are among them, found by words alone. Statements as in
    `candidates`, and one more where vectors are compared in two steps or rows that hold no word can be among the best.
    """
    ground = read_session_ground(store, session_id)
    if ground is None or ground.session is None:
        return None
    if not query.text.strip():
        return InSession(ground.session)
    words = read_words(store, ground, query.text, ())
    near = dict.fromkeys((SUMMARIES, RECORDS), (_NONE, _NONE))
    vector, _ = comparable(ground, query)
    if vector is not None and ground.total:
        near = _compared(store, ground, words, vector, limit)
    chosen = []
    for which in (SUMMARIES, RECORDS):
        pool = pool_of(words.of_session(which), *near[which])
        chosen.append((pool, rank(pool, words.matches.ideal, Gate(), limit=limit, near=0)))
    scores = {int(p.ids[place]): int(r.scores[place]) for p, r in chosen for place in r.order}
    places = read_places(store, scores)
    summaries, records = (as_candidates(pool, words, r.order, places)[:limit] for pool, r in chosen)
    return InSession(ground.session, summaries, records, words.bounded)


_NONE: Ints = np.zeros(0, dtype=np.int64)

_Near = tuple[Ints, Ints]
"""(entry ids, their cosines)."""


def _compared(store: Store, ground: Ground, words: Words, vector: Whole, limit: int) -> dict[int, _Near]:
    """(entry ids, cosines) of the session's SUMMARIES and RECORDS, of all that can be among the best `limit`."""
    kinds = {which: words.of_session(which) for which in (SUMMARIES, RECORDS)}
    best = {which: each for which, kind in kinds.items() if (each := _best(kind, limit)) is not None}
    several = ground.total > 2 * FIRST * LOOK_UP_COST
    first = {which: best[which] if which in best and several else _NONE for which in kinds}
    unsettled = [which for which in kinds if which not in best]
    ids, cosine, listed = _NONE, _NONE, dict[int, Ints]()
    if several or unsettled:
        asked = np.concatenate(list(first.values()))
        ids, cosine, listed = read_first(store, ground, vector, asked, unsettled)
    near = {which: _among(ids, cosine, first[which]) for which in kinds}
    # What is known of the first ones only ever leaves fewer: a strong row stays strong, and `sure` rises.
    wanted = {which: _contenders(kinds[which], *near[which], limit) for which in best} | listed
    rest = {which: np.setdiff1d(entries, first[which]) for which, entries in wanted.items()}
    if any(map(len, rest.values())):
        only = np.concatenate(list(rest.values()))
        ids, cosine, _ = read_cosines(store, ground, vector, only=only)
        # The first ones stay: that one of them is strong may be why the others were not compared.
        near = {which: _and(near[which], _among(ids, cosine, rest[which])) for which in kinds}
    return near


def _best(words: Words, limit: int) -> Ints | None:
    """The best in scope by words alone. None: rows that hold no word can be among the best `limit`, too."""
    pool = pool_of(words, None, None)
    most = max(FIRST, limit)
    ranking = rank(pool, words.matches.ideal, Gate(), limit=most, near=0)
    return None if _sure(ranking, limit) is None else pool.ids[ranking.order[:most]]


def _contenders(words: Words, ids: Ints, cosine: Ints, limit: int) -> Ints:
    """Of the rows in scope that hold words, those that can be among the best `limit`, some of the cosines being known,
    where it is sure that others cannot.
    """
    pool = pool_of(words, ids, cosine)
    ranking = rank(pool, words.matches.ideal, Gate(), limit=limit, near=0)
    sure = _sure(ranking, limit)
    if sure is None:
        raise RuntimeError("a session's best rows by words were sure, and are not any more")
    return pool.ids[ranking.scores + np.where(pool.cosine == NO_VECTOR, _MOST, 0) >= sure]


def _sure(ranking: Ranking, limit: int) -> int | None:
    """The score of the last of the best `limit`, if no row without a word of the query can have it."""
    # Without a row that is known to be strong, who is admitted hangs on the cosines.
    if ranking.fallback or not 0 < limit <= len(ranking.order):
        return None
    sure = int(ranking.scores[ranking.order[limit - 1]])
    return sure if sure > _MOST else None


def _among(ids: Ints, cosine: Ints, entries: Ints) -> _Near:
    kept = np.isin(ids, entries)
    return ids[kept], cosine[kept]


def _and(near: _Near, more: _Near) -> _Near:
    return np.concatenate([near[0], more[0]]), np.concatenate([near[1], more[1]])


# What a cosine is worth at most.
_MOST = COSINE_WEIGHT * COSINE_SCALE
