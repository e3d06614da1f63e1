"""Candidates into clusters (contract, section D).

Rule 1: everything that puts two candidates into one cluster lives in this file. Rule 2: this file does not
know what a row says; it sees identities, spans, instants, sources and declarations.

Theory of operation. Four keys, strongest first, each yield *joins* of two candidates. They are applied in
that order to a union-find. A join of two rows already together changes nothing, so a row's ``why`` is the
label of the first join that linked it to any other row. Joins are transitive: one cluster may hang together
by several keys, and then span more time than the adjacency window, which bounds its own key only.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from reconstruct.core.types import Context, Pool, RecordRelation, Ref, Row, Span

SEED = "seed"
MESSAGE = "cluster:msg_id"
EPISODE = "cluster:episode"
ADJACENT = "cluster:adjacent"
RELATION = "cluster:relation"
SINGLETON = "singleton"
RELATION_PREFIX = "relation:"

Join = tuple[Ref, Ref, str]
Value = TypeVar("Value")

_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A row of the pool, its rank (0 = best), and the key that first linked it to another, or ``seed``."""

    row: Row
    rank: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Candidates bundled together, best rank first; ``reason``: the strongest key, or ``singleton``."""

    candidates: tuple[Candidate, ...]
    reason: str

    @property
    def refs(self) -> tuple[Ref, ...]:
        return tuple(candidate.row.ref for candidate in self.candidates)


def bundle(pool: Pool, adjacency_seconds: int) -> tuple[Cluster, ...]:
    """All clusters in item order: by their best rank. Every candidate is in exactly one."""
    rows = pool.rows
    parent = {row.ref: row.ref for row in rows}
    whys: dict[Ref, str] = {}
    for left, right, label in _joins(rows, pool.relations, adjacency_seconds):
        root, other = _root(parent, left), _root(parent, right)
        if root != other:
            parent[other] = root
            whys.setdefault(left, label)
            whys.setdefault(right, label)
    members: dict[Ref, list[Candidate]] = defaultdict(list)
    for rank, row in enumerate(rows):
        candidate = Candidate(row=row, rank=rank, why=whys.get(row.ref, SEED))
        members[_root(parent, row.ref)].append(candidate)
    # Ranks were handed out in order: clusters and their members already stand best first.
    return tuple(Cluster(candidates=tuple(found), reason=_reason(found)) for found in members.values())


def _root(parent: dict[Ref, Ref], ref: Ref) -> Ref:
    while parent[ref] != ref:
        parent[ref] = parent[parent[ref]]
        ref = parent[ref]
    return ref


def _reason(candidates: list[Candidate]) -> str:
    whys = {candidate.why for candidate in candidates}
    for key in (MESSAGE, EPISODE, ADJACENT):
        if key in whys:
            return key
    return SINGLETON if whys == {SEED} else RELATION


def _joins(
    rows: tuple[Row, ...], relations: tuple[RecordRelation, ...], adjacency_seconds: int
) -> Iterator[Join]:
    yield from _same_message(rows)
    yield from _inside_episode(rows)
    if adjacency_seconds > 0:
        yield from _adjacent(rows, adjacency_seconds)
    yield from _declared(rows, relations)


def _same_message(rows: tuple[Row, ...]) -> Iterator[Join]:
    for first, *others in _grouped((row.identity, row.ref) for row in rows):
        for other in others:
            yield first, other, MESSAGE


def _inside_episode(rows: tuple[Row, ...]) -> Iterator[Join]:
    """Each episode with the first record in its span, and the records of one span in a chain.

    A chain joins what joining the episode with every record would, but no two spans join the same records twice.
    """
    records: dict[Context, list[tuple[datetime, Ref]]] = defaultdict(list)
    episodes: dict[Context, list[tuple[Span, Ref]]] = defaultdict(list)
    for row in rows:
        if row.context is not None and row.span is not None:
            episodes[row.context].append((row.span, row.ref))
        elif row.context is not None and row.instant is not None and row.ref.kind == "mem":
            records[row.context].append((row.instant, row.ref))
    for context, spans in episodes.items():
        dated = sorted(records[context])
        instants = [instant for instant, _ in dated]
        chained = 0
        for span, episode in sorted(spans, key=lambda each: each[0].start):
            first, end = bisect_left(instants, span.start), bisect_right(instants, span.end)
            if first < end:
                yield episode, dated[first][1], EPISODE
            for index in range(max(first, chained), end - 1):
                yield dated[index][1], dated[index + 1][1], EPISODE
            chained = max(chained, end - 1)


def _adjacent(rows: tuple[Row, ...], window_seconds: int) -> Iterator[Join]:
    producers = (
        ((row.source_type, row.source_id, row.context), (row.instant, row.ref))
        for row in rows
        if row.source_id and row.context is not None and row.instant is not None
    )
    for records in _grouped(producers):
        (anchored_at, anchor), *later = sorted(records)
        for instant, ref in later:
            # Measured from the anchor, not from the row before: a chain of short gaps is not one burst.
            if (instant - anchored_at) // _MICROSECOND <= window_seconds * 1_000_000:
                yield anchor, ref, ADJACENT
            else:
                anchored_at, anchor = instant, ref


def _declared(rows: tuple[Row, ...], relations: tuple[RecordRelation, ...]) -> Iterator[Join]:
    candidates = {row.ref for row in rows}
    for relation in sorted(relations, key=lambda each: (each.subject, each.predicate, each.object)):
        if {relation.subject, relation.object} <= candidates:
            yield relation.subject, relation.object, RELATION_PREFIX + relation.predicate


def _grouped(keyed: Iterable[tuple[Hashable | None, Value]]) -> Iterable[list[Value]]:
    groups: dict[Hashable, list[Value]] = defaultdict(list)
    for key, value in keyed:
        if key is not None:
            groups[key].append(value)
    return groups.values()
