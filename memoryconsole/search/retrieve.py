"""The read side: a query in, the rows that may answer it out, best first. Call inside `snapshot()`.

Statements, whatever the store and the query: the ground; the rows that hold words; the vectors, when the
query has one; where the rows on the answer are. One more when a declared alias of several words is looked for
(its phrase is checked in the text), and at most one more in a store of more than MAX_ROWS entries (two
where the rows are longer than MAX_FOUND_BYTES). A blank query is
one statement.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from memoryconsole import embedding
from memoryconsole.embedding import Vector
from memoryconsole.models import IndexEntry, Store
from memoryconsole.scope import ReadScope
from memoryconsole.search import advisories
from memoryconsole.search.analyze import ANALYZER
from memoryconsole.search.fuse import NO_VECTOR, Gate, Kind, Pool, rank
from memoryconsole.search.lexical import Ints
from memoryconsole.search.read import Ground, Place, entries_in, read_cosines, read_ground, read_places
from memoryconsole.search.vectors import Whole, quantize
from memoryconsole.search.words import Words, read_words

# Rows just cut or just not admitted that an audit may show, of each kind.
NEAR_MISSES = 20

RowKind = Literal["mem", "ep"]


@dataclass(frozen=True, slots=True)
class Query:
    """A query and its vector, made outside of any transaction.

    `model`: (name, fingerprint) of the model that was asked, whether it answered or not. `advisory`: what is degraded
    about it, or None.
    """

    text: str
    vector: Vector | None = field(default=None, repr=False, compare=False)
    model: tuple[str, str] | None = None
    advisory: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a row is a candidate. Numbers are whole; scores have no unit, cosines and coverage are in 1/10,000.

    `words`: the query's terms the row holds, with their rarity, rarest first. `own`: what they are worth
    (BM25).
    `votes`: what producer and date add; `cues`: what declared aliases add. `cosine`: None without a vector.
    `coverage`: how much of the query the row holds; `rare`, `marked`: `coverage.py`.
    """

    words: tuple[tuple[str, int], ...] = ()
    own: int = 0
    votes: int = 0
    cues: int = 0
    cosine: int | None = None
    coverage: int = 0
    rare: bool = False
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row that may answer. `kind`: 'mem' or 'ep'. `row_id`: the record's or summary's primary key."""

    kind: RowKind
    number: int
    row_id: int
    score: int
    evidence: Evidence = Evidence()


@dataclass(frozen=True, slots=True)
class Totals:
    """How many live entries: in the store, in scope, in scope holding a word, in scope compared by vector
    (None: the vectors were not read), and admitted.
    """

    stored: int
    in_scope: int
    matched: int = 0
    compared: int | None = None
    admitted: int = 0


@dataclass(frozen=True, slots=True)
class Weighing:
    """What the store made of the query: with it any row's evidence can be had again, exactly, when the store has
    changed since (`weigh.py`).

    `df`: how many rows held each term, of `total`. `lent`: the terms that a row's producer or date lent it. `cue_df`:
    how many held each declared alias. `full`: the lexical score that counted as a whole share. `analyzer`: the
    version of the rules that cut texts into terms. `vector`: the query's, as vectors are kept; empty without one.
    `space`: the primary key of the space it was compared in.
    """

    language: str
    total: int
    df: dict[str, int]
    lent: tuple[str, ...]
    cue_df: tuple[int, ...]
    full: int
    analyzer: int
    vector: tuple[int, ...] = field(default=(), repr=False)
    space: int | None = None


@dataclass(frozen=True, slots=True)
class Candidates:
    """What recall found. `rows`: best first, at most the limit.

    `gate`: the thresholds used; None for a blank query, which has none. `gate_fallback`: no row was strong
    enough, and the rows are those that hold the query's own words. `behind`: the best admitted rows that the
    limit cut, `below`: the best rows not admitted; at most NEAR_MISSES of each.
    `bounded`: the query or the store was larger than what is searched exactly. `without_vector`: rows in
    scope that the active space's model has not been asked about; None when the vectors were not read. A text
    in which it found nothing is none of them. `weighing`: None for a blank query.
    """

    rows: tuple[Candidate, ...]
    totals: Totals
    gate: Gate | None = None
    gate_fallback: bool = False
    query_vector: Vector | None = field(default=None, repr=False, compare=False)
    advisory: dict[str, Any] | None = None
    behind: tuple[Candidate, ...] = ()
    below: tuple[Candidate, ...] = ()
    bounded: bool = False
    without_vector: int | None = None
    weighing: Weighing | None = None


def prepare(text: str) -> Query:
    """Embed a query, once. Never raises for the embedder: a failure becomes the query's advisory."""
    asked = None
    try:
        model = embedding.current()
        if model is None:
            return Query(text, advisory=advisories.no_embedder())
        asked = (model.name, model.fingerprint)
        return Query(text, embedding.embed_query(text) if text.strip() else None, asked)
    except embedding.EmbeddingFailed as fault:
        return Query(text, model=asked, advisory=advisories.embedder_failed(str(fault)))


def candidates(
    store: Store,
    query: Query | str,
    scope: ReadScope,
    *,
    limit: int,
    deep: bool = False,
    cue_terms: Sequence[str] = (),
) -> Candidates:
    """The rows in scope that may answer a query, best first.

    A blank query is answered by the records stored last, newest first, equal times higher number first,
    without a gate. `cue_terms`: names and aliases of what the query mentions: they vote in the lexical
    channel, as whole phrases, and admit nothing. `deep` halves the gate's thresholds.
    """
    asked = query if isinstance(query, Query) else prepare(query)
    ground = read_ground(store, scope)
    if not asked.text.strip():
        return _recent(store, scope, ground, asked, limit=limit)
    words = read_words(store, ground, asked.text, cue_terms)
    ids, cosine, missing, advisory = _cosines(store, ground, asked)
    pool = pool_of(words, ids, cosine)
    gate = Gate().deepened() if deep else Gate()
    ranking = rank(pool, words.matches.ideal, gate, limit=limit + NEAR_MISSES, near=NEAR_MISSES)
    shown = np.concatenate([ranking.order, ranking.near])
    places = read_places(store, {int(pool.ids[place]): int(ranking.scores[place]) for place in shown})
    admitted = as_candidates(pool, words, ranking.order, places)
    return Candidates(
        rows=admitted[:limit],
        behind=admitted[limit : limit + NEAR_MISSES],
        below=as_candidates(pool, words, ranking.near, places)[:NEAR_MISSES],
        totals=Totals(
            stored=ground.total,
            in_scope=ground.in_scope,
            matched=int((words.found.in_scope & (words.matches.own > 0)).sum()),
            compared=None if ids is None else len(ids),
            admitted=ranking.passed,
        ),
        gate=gate,
        gate_fallback=ranking.fallback,
        query_vector=asked.vector,
        # One notice an answer: what is missing altogether outranks what was cut.
        advisory=advisory or (advisories.bounded() if words.bounded else None),
        bounded=words.bounded,
        without_vector=missing,
        weighing=_weighing(ground, words, ranking.full, asked if ids is not None else None),
    )


def _weighing(ground: Ground, words: Words, full: int, compared: Query | None) -> Weighing:
    vector = None if compared is None or compared.vector is None else quantize(compared.vector)
    return Weighing(
        language=ground.language,
        total=ground.total,
        df=dict(zip(words.matches.terms, words.matches.df.tolist(), strict=True)),
        lent=words.matches.lent,
        cue_df=words.cue_df,
        full=full,
        analyzer=ANALYZER,
        vector=() if vector is None else tuple(vector.tolist()),
        space=None if vector is None else ground.space,
    )


def _recent(store: Store, scope: ReadScope, ground: Ground, asked: Query, *, limit: int) -> Candidates:
    entries = IndexEntry.objects.filter(entries_in(scope), store=store, record__isnull=False)
    newest = entries.order_by("-stored_at", "-number").values_list("number", "record_id")[:limit]
    return Candidates(
        rows=tuple(Candidate("mem", number, row_id, 0) for number, row_id in newest if row_id is not None),
        totals=Totals(stored=ground.total, in_scope=ground.in_scope),
        advisory=asked.advisory,
    )


def _cosines(
    store: Store, ground: Ground, asked: Query
) -> tuple[Ints | None, Ints | None, int | None, dict[str, Any] | None]:
    """(entry ids, cosines, rows not embedded, advisory); no vectors where there are none to compare, with the
    reason.
    """
    query, advisory = comparable(ground, asked)
    if query is None or not ground.total:
        return None, None, None, advisory if ground.total else asked.advisory
    ids, cosine, embedded = read_cosines(store, ground, query)
    missing = ground.in_scope - embedded
    return ids, cosine, missing, advisories.incomplete(missing) if missing else asked.advisory


def comparable(ground: Ground, asked: Query) -> tuple[Whole | None, dict[str, Any] | None]:
    """(the query's vector, if it can be compared with the store's, and what is degraded about that)."""
    if asked.vector is None or asked.model is None:
        return None, asked.advisory
    if ground.space is None or ground.model is None:
        return None, advisories.no_vectors()
    if ground.model != asked.model:
        return None, advisories.other_model(ground.model[0], asked.model[0])
    return quantize(asked.vector), asked.advisory


def pool_of(words: Words, ids: Ints | None, cosine: Ints | None) -> Pool:
    """Everything in scope that either leg reached."""
    rows = np.flatnonzero(words.found.in_scope)
    matched = words.found.ids[rows]
    if ids is None or cosine is None:
        ids, cosine = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    at, unseen = _places(ids, matched)
    reached = np.concatenate([ids, matched[unseen]])
    at[unseen] = np.arange(len(ids), len(reached))
    found = np.full(len(reached), -1, dtype=np.int64)
    found[at] = rows

    def spread(column: Any) -> Any:
        whole = np.zeros(len(reached), dtype=column.dtype)
        whole[at] = column[rows]
        return whole

    matches, evidence = words.matches, words.matches.evidence
    return Pool(
        ids=reached,
        own=spread(matches.own),
        votes=spread(matches.votes),
        cues=spread(words.cues),
        cosine=np.concatenate([cosine, np.full(len(reached) - len(ids), NO_VECTOR, dtype=np.int64)]),
        coverage=spread(evidence.coverage),
        rare=spread(evidence.rare),
        marked=spread(evidence.marked),
        found=found,
    )


def _places(ids: Ints, wanted: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """(the place of each wanted id among ids, which wanted ids are not there)."""
    order = np.argsort(ids, kind="stable")
    if not len(ids):
        return np.zeros(len(wanted), dtype=np.int64), np.ones(len(wanted), dtype=np.bool_)
    at = order[np.minimum(np.searchsorted(ids, wanted, sorter=order), len(ids) - 1)]
    return at, ids[at] != wanted


def as_candidates(pool: Pool, words: Words, chosen: Ints, places: dict[int, Place]) -> tuple[Candidate, ...]:
    """The chosen places of the pool as candidates, in the total order."""
    held = words.matches.words(pool.found[chosen])
    rows = []
    for place, terms in zip(chosen.tolist(), held, strict=True):
        cosine = int(pool.cosine[place])
        evidence = Evidence(
            words=terms,
            own=int(pool.own[place]),
            votes=int(pool.votes[place]),
            cues=int(pool.cues[place]),
            cosine=None if cosine == NO_VECTOR else cosine,
            coverage=int(pool.coverage[place]),
            rare=bool(pool.rare[place]),
            marked=bool(pool.marked[place]),
        )
        rows.append((places[int(pool.ids[place])], evidence))
    rows.sort(key=lambda row: row[0].key.sort_key())
    return tuple(
        Candidate(_KINDS[place.kind], place.number, place.row_id, place.key.score, evidence)
        for place, evidence in rows
    )


_KINDS: dict[Kind, RowKind] = {Kind.MEM: "mem", Kind.EP: "ep"}
