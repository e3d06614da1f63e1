"""The core against slower ways to the same result, and against a reader that reads only what it must."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import assume, given

from reconstruct.core import Snapshot
from reconstruct.core.bundle import bundle
from reconstruct.core.types import EntityRecords, EntityRelation, Graph, Pool, Ref, Row
from reconstruct.core.walk import reach
from tests.core.strategies import ENTITIES, World, answer, decided, relaxed, worlds

FAR = 10**6


@relaxed
@given(worlds())
def test_clusters_are_the_connected_components_of_the_keys(world: World) -> None:
    pool = world.snapshot.pool
    window = world.settings.adjacency_seconds
    components = {row.ref: {row.ref} for row in pool.rows}
    for one, other in _linked_pairs(pool, window):
        if components[one] is not components[other]:
            components[one] |= components[other]
            for ref in components[one]:
                components[ref] = components[one]
    expected = {frozenset(component) for component in components.values()}
    assert {frozenset(cluster.refs) for cluster in bundle(pool, window)} == expected


def _linked_pairs(pool: Pool, window: int) -> list[tuple[Ref, Ref]]:
    """Every pair of candidates that a key links, found the slow way."""
    rows = pool.rows
    refs = {row.ref for row in rows}
    pairs = [(each.subject, each.object) for each in pool.relations if {each.subject, each.object} <= refs]
    pairs += [
        (a.ref, b.ref) for a in rows for b in rows if a.identity is not None and a.identity == b.identity
    ]
    pairs += [(a.ref, b.ref) for a in rows for b in rows if a.covers(b)]
    for row in rows:
        burst = _burst_from(row, rows, window)
        pairs += [(row.ref, ref) for ref in burst]
    return pairs


def _burst_from(first: Row, rows: tuple[Row, ...], window: int) -> list[Ref]:
    """The burst that ``first`` anchors, or nothing when it is no anchor."""
    same = [
        (row.instant, row.ref)
        for row in rows
        if window
        and row.ref.kind == "mem"
        and row.source_id
        and row.context is not None
        and row.instant is not None
        and (row.source_type, row.source_id, row.context)
        == (first.source_type, first.source_id, first.context)
    ]
    waiting = sorted(same)
    while waiting:
        anchor = waiting[0]
        burst = [each for each in waiting if each[0] - anchor[0] <= timedelta(seconds=window)]
        if anchor[1] == first.ref:
            return [ref for _, ref in burst]
        waiting = waiting[len(burst) :]
    return []


@relaxed
@given(worlds())
def test_the_walk_finds_shortest_ways_and_knows_what_it_left(world: World) -> None:
    result = decided(world)
    for item in result.items:
        starts = {each.entity for each in world.snapshot.graph.mentions if each.ref in item.cluster.refs}
        distance = _distances(starts, world.snapshot.graph.relations)
        limit = result.policy.max_hops
        expected = {entity: hops for entity, hops in distance.items() if 1 <= hops <= limit}
        assert {each.entity: each.hops for each in item.reach.entities} == expected
        assert item.reach.unfollowed == (limit + 1 in distance.values())


def _distances(starts: set[int], relations: tuple[EntityRelation, ...]) -> dict[int, int]:
    distance = dict.fromkeys(starts, 0)
    for _ in ENTITIES:
        for each in relations:
            for one, other in ((each.subject, each.object), (each.object, each.subject)):
                if one in distance and distance[one] + 1 < distance.get(other, len(ENTITIES) + 1):
                    distance[other] = distance[one] + 1
    return distance


@relaxed
@given(worlds())
def test_reading_step_by_step_is_enough_for_the_same_answer(world: World) -> None:
    """A reader that asks each stage what to read next misses nothing the whole store would have told."""
    result = decided(world)
    assume(result.items)
    seen = world.snapshot
    refs = {ref for item in result.items for ref in item.cluster.refs}
    mentions = tuple(each for each in seen.graph.mentions if each.ref in refs)
    near = _distances({each.entity for each in mentions}, seen.graph.relations)
    limit = result.policy.max_hops
    graph = Graph(
        mentions=mentions,
        relations=tuple(
            each
            for each in seen.graph.relations
            if min(near.get(each.subject, FAR), near.get(each.object, FAR)) <= limit
        ),
    )
    chosen = tuple(item.cluster for item in result.items)
    reached = {each.entity for found in reach(chosen, graph, limit) for each in found.entities}
    narrow = Snapshot(
        pool=seen.pool,
        graph=graph,
        records=tuple(
            _as_read(entry, result.policy.max_evidence) for entry in seen.records if entry.entity in reached
        ),
        texts=tuple(text for text in seen.texts if any(text.ref in item.kept for item in result.items)),
    )
    assert answer(replace(world, snapshot=narrow)) == answer(world)


def _as_read(entry: EntityRecords, limit: int) -> EntityRecords:
    ordered = sorted(entry.rows, key=lambda row: (row.ref.number, row.ref.kind))
    return EntityRecords(
        entity=entry.entity, rows=tuple(ordered[:limit]), more=entry.more or len(ordered) > limit
    )
