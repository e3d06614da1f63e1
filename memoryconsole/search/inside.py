"""The search inside one session, by recall's order. Call inside `snapshot()`.

A term is as rare as it is in the store, so that the words are looked for there; but vectors are compared only where
that can change the answer. A cosine is worth COSINE_WEIGHT of a score at most, and once enough rows are sure of more by
their words alone, nothing that holds no word, or less of them, comes before those.
"""

from dataclasses import dataclass

import numpy as np

from memoryconsole.models import Store
from memoryconsole.search.fuse import COSINE_WEIGHT, NO_VECTOR, Gate, rank
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


def _compared(
    store: Store, ground: Ground, words: Words, vector: Whole, limit: int
) -> dict[int, tuple[Ints, Ints]]:
    """(entry ids, cosines) of the session's SUMMARIES and RECORDS, of all that can be among the best `limit`."""
    kinds = {which: words.of_session(which) for which in (SUMMARIES, RECORDS)}
    known = {which: _contenders(kind, _NONE, _NONE, limit) for which, kind in kinds.items()}
    settled = [which for which, entries in known.items() if entries is not None]
    first = _NONE
    if settled and ground.total > 2 * FIRST * LOOK_UP_COST:
        first = np.concatenate([_best(kinds[which], max(FIRST, limit)) for which in settled])
    ids, cosine = _NONE, _NONE
    wanted: dict[int, Ints] = {}
    unsettled = [which for which in kinds if which not in settled]
    if len(first) or unsettled:
        ids, cosine, wanted = read_first(store, ground, vector, first, unsettled)
    for which in settled:
        # What is known of the first ones only ever leaves fewer: a strong row stays strong, and `sure` rises.
        contenders = _contenders(kinds[which], ids, cosine, limit)
        if contenders is None:
            raise RuntimeError("a session's best rows by words were sure, and are not any more")
        wanted[which] = contenders
    rest = np.setdiff1d(np.concatenate(list(wanted.values())), first)
    if len(rest):
        more, cosines, _ = read_cosines(store, ground, vector, only=rest)
        ids, cosine = np.concatenate([ids, more]), np.concatenate([cosine, cosines])
    # The first ones stay: that one of them is strong may be why the others were not compared.
    return {
        which: _among(ids, cosine, np.concatenate([entries, _held(kinds[which])]))
        for which, entries in wanted.items()
    }


def _held(words: Words) -> Ints:
    return words.found.ids[words.found.in_scope]


def _best(words: Words, most: int) -> Ints:
    """The best in scope by words alone."""
    pool = pool_of(words, None, None)
    return pool.ids[rank(pool, words.matches.ideal, Gate(), limit=most, near=0).order[:most]]


def _contenders(words: Words, ids: Ints, cosine: Ints, limit: int) -> Ints | None:
    """Of the rows in scope that hold words, those that can be among the best `limit`, some of the cosines being known.
    None: rows that hold no word can be, too.
    """
    pool = pool_of(words, *_among(ids, cosine, _held(words)))
    ranking = rank(pool, words.matches.ideal, Gate(), limit=limit, near=0)
    # Without a row that is known to be strong, who is admitted hangs on the cosines.
    if ranking.fallback or not 0 < limit <= len(ranking.order):
        return None
    sure = int(ranking.scores[ranking.order[limit - 1]])
    if sure <= _MOST:
        return None
    return pool.ids[ranking.scores + np.where(pool.cosine == NO_VECTOR, _MOST, 0) >= sure]


def _among(ids: Ints, cosine: Ints, entries: Ints) -> tuple[Ints, Ints]:
    kept = np.isin(ids, entries)
    return ids[kept], cosine[kept]


# What a cosine is worth at most.
_MOST = COSINE_WEIGHT * COSINE_SCALE
