"""One row's evidence again, as a search that was made before had it. Call inside `snapshot()`.

A row's evidence comes from the row itself, which never changes, and from what the store made of the query, which
the search wrote down (`Weighing`). So it can be had for any row that was there, although the store has grown and
shrunk since. Where that is not so, it is said and nothing is guessed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import isfinite
from typing import Any

import numpy as np
from django.db import connection

from memoryconsole.models import Store
from memoryconsole.search.analyze import ANALYZER, occurs, phrase, phrase_terms, query_units
from memoryconsole.search.fuse import NO_VECTOR, Gate, Key, Kind, Pool, admit, mix
from memoryconsole.search.lexical import (
    FORWARD_BYTES,
    Found,
    Ints,
    Matches,
    holding,
    idf,
    impacts,
    key,
    match,
)
from memoryconsole.search.retrieve import Evidence, RowKind, Weighing
from memoryconsole.search.vectors import cosines, literal
from memoryconsole.search.words import MAX_UNITS

Row = tuple[RowKind, int]


class NotWeighable(Exception):
    """The evidence cannot be had again. `reason`: `language_changed`, `analyzer_changed` (texts are cut into terms by
    other rules since) or `space_gone` (the vectors that were compared).
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Weighed:
    """A row as a search had it. `key`: what ordered it, its score included. `reached`: words or vectors reached it at
    all.
    """

    key: Key
    evidence: Evidence

    @property
    def reached(self) -> bool:
        evidence = self.evidence
        return evidence.own > 0 or evidence.cues > 0 or evidence.cosine is not None


@dataclass(frozen=True, slots=True)
class _Entry:
    """One index entry, and its cosine with the query's vector (NO_VECTOR: none)."""

    key: Key
    found: Found
    cosine: int
    text: str


def weigh(
    store: Store, weighing: Weighing, text: str, cue_terms: Sequence[str], rows: Iterable[Row]
) -> dict[Row, Weighed]:
    """The evidence and the score of rows that were live when the search was made (one statement).

    `text`, `cue_terms`: of that search. Rows without an index entry are left out. A vector written since is taken for
    one that was there: ask the search's `without_vector`. Raises NotWeighable.
    """
    units = query_units(text, weighing.language)[:MAX_UNITS]
    terms = {term for unit in units for term in unit.terms}
    if weighing.analyzer != ANALYZER or terms != weighing.df.keys():
        raise NotWeighable("analyzer_changed")
    phrases = any(len(phrase_terms(term, weighing.language)) > 1 for term in cue_terms)
    entries = _read_entries(store, weighing, list(rows), texts=phrases)
    weighed = {}
    for row, entry in entries.items():
        # One at a time: together they would be counted among those that hold a term.
        matches = match(
            entry.found,
            units,
            total=weighing.total,
            salt=store.pk,
            at_least=weighing.df,
            lent_elsewhere=weighing.lent,
        )
        weighed[row] = _weighed(entry, matches, _cues(store, weighing, entry, cue_terms), weighing.full)
    return weighed


def passes(evidence: Evidence, gate: Gate, *, beside_strong: bool) -> bool:
    """Whether the gate admits a row. `beside_strong`: the search found some strong row, so that its floor counted."""
    row = _pool(evidence)
    strong = _pool(Evidence(marked=beside_strong))
    both = Pool(
        **{name: np.concatenate([getattr(row, name), getattr(strong, name)]) for name in Pool.__slots__}
    )
    return bool(admit(both, gate)[0][0])


def _weighed(entry: _Entry, matches: Matches, cues: int, full: int) -> Weighed:
    (words,) = matches.words(np.zeros(1, dtype=np.int64))
    evidence = Evidence(
        words=words,
        own=int(matches.own[0]),
        votes=int(matches.votes[0]),
        cues=cues,
        cosine=None if entry.cosine == NO_VECTOR else entry.cosine,
        coverage=int(matches.evidence.coverage[0]),
        rare=bool(matches.evidence.rare[0]),
        marked=bool(matches.evidence.marked[0]),
    )
    return Weighed(replace(entry.key, score=int(mix(_pool(evidence), full)[0])), evidence)


def _pool(evidence: Evidence) -> Pool:
    """A pool of one row."""

    def column(value: int) -> Ints:
        return np.array([value], dtype=np.int64)

    return Pool(
        ids=column(0),
        own=column(evidence.own),
        votes=column(evidence.votes),
        cues=column(evidence.cues),
        cosine=column(NO_VECTOR if evidence.cosine is None else evidence.cosine),
        coverage=column(evidence.coverage),
        rare=np.array([evidence.rare]),
        marked=np.array([evidence.marked]),
        found=column(0),
    )


def _cues(store: Store, weighing: Weighing, entry: _Entry, cue_terms: Sequence[str]) -> int:
    """What declared aliases add to a row: each phrase it holds, once, as rare as the phrase was."""
    once = int(impacts(np.ones(1, dtype=np.int64), entry.found.lengths)[0])
    sequence: tuple[str, ...] | None = None
    score = 0
    for term, df in zip(cue_terms, weighing.cue_df, strict=True):
        keys = dict.fromkeys(key(store.pk, word) for word in phrase_terms(term, weighing.language))
        if not keys or not holding(entry.found, list(keys))[0]:
            continue
        if len(keys) > 1:
            sequence = phrase(entry.text, weighing.language) if sequence is None else sequence
            if not occurs(phrase(term, weighing.language), sequence):
                continue
        score += idf(weighing.total, df) * once
    return score


def _read_entries(store: Store, weighing: Weighing, rows: list[Row], *, texts: bool) -> dict[Row, _Entry]:
    """The index entries of these rows, with their texts where `texts`. By the rows' keys: no index of the entries leads
    to a number.
    """
    numbers = {kind: [number for each, number in rows if each == kind] for kind in ("mem", "ep")}
    vector = literal(np.array(weighing.vector, dtype=np.int16)) if weighing.vector else None
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT CASE WHEN NOT EXISTS (
                       SELECT FROM mc_job WHERE store_id = s.id AND kind = 'analyse' AND state IN ('queued', 'running')
                   ) THEN s.language END,
                   p.id, e.id, e.summary_id IS NULL, e.number, e.instant, e.digest, e.analyzer, e.forward, e.length,
                   v.embedding <=> %(vector)s::halfvec,
                   CASE WHEN %(texts)s THEN coalesce(r.content, u.summary) ELSE '' END
            FROM mc_store AS s
            LEFT JOIN mc_embedding_space AS p ON p.id = %(space)s
            LEFT JOIN mc_index_entry AS e ON e.store_id = s.id AND (
                e.record_id = ANY(ARRAY(
                    SELECT id FROM mc_record WHERE store_id = %(store)s AND number = ANY(%(mem)s::bigint[])))
                OR e.summary_id = ANY(ARRAY(
                    SELECT id FROM mc_summary WHERE store_id = %(store)s AND number = ANY(%(ep)s::bigint[]))))
            LEFT JOIN mc_entry_vector AS v ON v.store_id = s.id AND v.entry_id = e.id AND v.space_id = p.id
            LEFT JOIN mc_record AS r ON r.id = e.record_id
            LEFT JOIN mc_summary AS u ON u.id = e.summary_id
            WHERE s.id = %(store)s
            """,
            {"vector": vector, "space": weighing.space, "store": store.pk, "texts": texts, **numbers},
        )
        found = cursor.fetchall()
    return {("mem" if row[3] else "ep", row[4]): _entry(*row) for row in _same_rules(found, weighing)}


def _same_rules(found: list[tuple[Any, ...]], weighing: Weighing) -> list[tuple[Any, ...]]:
    """The entries among the rows read. Raises NotWeighable."""
    language, space = found[0][:2]
    # None while a job analyses the store again: its entries are of two languages, whichever the store has by now.
    if language != weighing.language:
        raise NotWeighable("language_changed")
    if space != weighing.space:
        raise NotWeighable("space_gone")
    entries = [row for row in found if row[2] is not None]
    if any(row[7] != weighing.analyzer for row in entries):
        raise NotWeighable("analyzer_changed")
    return entries


def _entry(
    _language: str | None,
    _space: int | None,
    pk: int,
    is_record: bool,
    number: int,
    instant: datetime | None,
    digest: Any,
    _analyzer: int,
    forward: Any,
    length: int,
    distance: float | None,
    text: str,
) -> _Entry:
    packed = bytes(forward)
    # As where many are read: a text the model found nothing in has no distance to anything.
    has_vector = distance is not None and isfinite(distance)
    return _Entry(
        key=Key(0, instant, Kind.MEM if is_record else Kind.EP, bytes(digest), number),
        found=Found(
            ids=np.array([pk], dtype=np.int64),
            lengths=np.array([length], dtype=np.int64),
            sizes=np.array([len(packed) // FORWARD_BYTES], dtype=np.int64),
            in_scope=np.ones(1, dtype=np.bool_),
            forward=packed,
        ),
        cosine=int(cosines(np.array([distance]))[0]) if has_vector else NO_VECTOR,
        text=text,
    )
