"""The relation walk (contract, section F).

Rule 1: everything that leads from an item to a row outside the pool lives in this file.
Rule 2: the walk adds evidence inside an item. It makes no item, moves none, and never adds a row twice.

Theory of operation. ``reach`` walks each chosen cluster on its own, breadth first and in either direction
over the declared entity -> entity relations, starting from the entities its candidates mention. It knows
entities only. The reader then reads the rows that mention a reached entity, and ``gather`` hands them out in
item order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter, itemgetter

from reconstruct.core.bundle import Cluster
from reconstruct.core.types import EntityRecords, EntityRelation, Graph, Ref, Row

# Per entity: the relations that touch it and the entity at their other end, most recent first.
Edges = dict[int, list[tuple[int, EntityRelation, int]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachedEntity:
    """An entity the walk came to: after how many hops (1 or more), and by which relation."""

    entity: int
    hops: int
    relation: EntityRelation


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What one cluster's walk reached: fewest hops first, then most recent relation.

    ``unfollowed``: max_hops stopped it before a relation that leads on, whether or not any row lies there.
    """

    entities: tuple[ReachedEntity, ...] = ()
    unfollowed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkedRow:
    """A row outside the pool, and the entity that led to it."""

    row: Row
    via: ReachedEntity


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What one item's walk adds, in walk order; ``bound_met``: some entity had more rows than were read."""

    rows: tuple[WalkedRow, ...] = ()
    bound_met: bool = False


def reach(chosen: tuple[Cluster, ...], graph: Graph, max_hops: int) -> tuple[Reach, ...]:
    """One reach per chosen cluster. All its candidates are starts, also those max_evidence will cut."""
    edges = _edges(graph.relations)
    mentioned: dict[Ref, set[int]] = defaultdict(set)
    for mention in graph.mentions:
        mentioned[mention.ref].add(mention.entity)
    return tuple(
        _reach({entity for ref in cluster.refs for entity in mentioned.get(ref, ())}, edges, max_hops)
        for cluster in chosen
    )


def neighbourhood(starts: Iterable[int], relations: tuple[EntityRelation, ...], max_hops: int) -> Reach:
    """What lies within max_hops of some entities, as an item's walk would reach it."""
    return _reach(set(starts), _edges(relations), max_hops)


def gather(
    reaches: tuple[Reach, ...],
    records: tuple[EntityRecords, ...],
    pool_refs: Iterable[Ref],
    max_evidence: int,
) -> tuple[Gathered, ...]:
    """One gathering per reach, in item order: what an earlier item took is not added to a later one.

    Reads of an entity are bounded before earlier items' rows are left out, so that they stay bounded.
    """
    taken = set(pool_refs)
    read = {entry.entity: _bounded(entry, taken, max_evidence) for entry in records}
    gathered = []
    for each in reaches:
        found = _gather(each, read, taken)
        taken.update(walked.row.ref for walked in found.rows)
        gathered.append(found)
    return tuple(gathered)


def _edges(relations: tuple[EntityRelation, ...]) -> Edges:
    by_number = sorted(relations, key=attrgetter("number"))
    recent_first = sorted(by_number, key=attrgetter("declared_at"), reverse=True)
    edges: Edges = defaultdict(list)
    for recency, relation in enumerate(recent_first):
        edges[relation.subject].append((recency, relation, relation.object))
        edges[relation.object].append((recency, relation, relation.subject))
    return edges


def _reach(starts: set[int], edges: Edges, max_hops: int) -> Reach:
    known = set(starts)
    frontier = starts
    reached: list[ReachedEntity] = []
    for hops in range(1, max_hops + 1):
        steps = [
            (recency, relation, entity)
            for origin in frontier
            for recency, relation, entity in edges.get(origin, ())
            if entity not in known
        ]
        frontier = set()
        for _, relation, entity in sorted(steps, key=itemgetter(0)):
            if entity not in frontier:
                frontier.add(entity)
                reached.append(ReachedEntity(entity=entity, hops=hops, relation=relation))
        known |= frontier
    unfollowed = any(entity not in known for origin in frontier for _, _, entity in edges.get(origin, ()))
    return Reach(entities=tuple(reached), unfollowed=unfollowed)


def _bounded(entry: EntityRecords, pool: set[Ref], max_evidence: int) -> tuple[tuple[Row, ...], bool]:
    outside = sorted((row for row in entry.rows if row.ref not in pool), key=_by_number)
    return tuple(outside[:max_evidence]), entry.more or len(outside) > max_evidence


def _gather(reached: Reach, read: dict[int, tuple[tuple[Row, ...], bool]], taken: set[Ref]) -> Gathered:
    walked: dict[Ref, WalkedRow] = {}
    bound_met = False
    for via in reached.entities:
        rows, more = read.get(via.entity, ((), False))
        bound_met = bound_met or more
        for row in rows:
            # Entities come best first, so the first that leads to a row is the row's best.
            if row.ref not in taken and row.ref not in walked:
                walked[row.ref] = WalkedRow(row=row, via=via)
    return Gathered(rows=tuple(walked.values()), bound_met=bound_met)


def _by_number(row: Row) -> tuple[int, str]:
    # At one number the episode comes first ("ep" < "mem").
    return (row.ref.number, row.ref.kind)
