"""Who is asked about: the anchors, and the entities around them in the live graph."""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from memoryconsole.identity import FOLLOWED, MAX_HOPS
from memoryconsole.models import Store
from memoryconsole.statements import all_rows
from provenance.context_bundle.core.reach import expand
from provenance.context_bundle.core.seen import Entity, ScopeEntity
from provenance.context_bundle.spine.sql import CERTAIN, VISIBLE
from provenance.context_bundle.spine.words import name_text

WALKED: Final = 400
"""A guess: relations followed from one entity, lowest neighbour number first. A scope holds 20 entities, so its share
is filled long before; an entity with more relations counts as cut.
"""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A current entity that was not merged away, and the primary keys of all that are read as it, its own first."""

    entity: Entity
    members: tuple[int, ...]

    @property
    def pk(self) -> int:
        return self.members[0]


@dataclass(frozen=True, slots=True)
class Reach:
    """The entities in scope. `keys`: the primary keys of all that are read as one of them."""

    entities: tuple[ScopeEntity, ...]
    rows: tuple[Entity, ...]
    keys: frozenset[int]
    capped: bool = False


_ANCHORS: Final = f"""
    WITH RECURSIVE hit (entity_id) AS (
        SELECT id FROM mc_entity WHERE store_id = %(store)s AND uuid = ANY(%(ids)s::uuid[])),
    {FOLLOWED}
    SELECT e.uuid::text, e.number, e.name, f.id
    FROM family AS f JOIN mc_entity AS e ON e.id = f.survivor_id
    WHERE e.uuid = ANY(%(ids)s::uuid[]) AND e.id IN (SELECT id FROM current_entity)
    ORDER BY e.number, f.hops, f.id
"""  # noqa: S608  (constants)


def read_anchors(store: Store, ids: Sequence[str]) -> tuple[Anchor, ...] | None:
    """The anchors in the order asked (one statement). None: at least one is no current entity, or was merged away."""
    rows = all_rows(_ANCHORS, {"store": store.pk, "ids": [uuid.UUID(each) for each in ids]})
    found: dict[str, Entity] = {}
    members: dict[str, list[int]] = defaultdict(list)
    for entity_id, number, name, member in rows:
        found[entity_id] = Entity(number=number, entity_id=entity_id, name=name_text(entity_id, name))
        members[entity_id].append(member)
    if found.keys() != set(ids):
        return None
    return tuple(Anchor(found[each], tuple(members[each])) for each in ids)


# `kin`: the frontier and all that is read as one of it. `stepped`: the relations that leave it. An end is followed to
# its survivor, and counts when that is a current entity and not where the step began.
_STEP: Final = f"""
    WITH RECURSIVE kin (survivor_id, id, depth) AS (
        SELECT id, id, 0 FROM mc_entity WHERE store_id = %(store)s AND number = ANY(%(frontier)s)
        UNION ALL
        SELECT k.survivor_id, e.id, k.depth + 1
        FROM kin AS k JOIN mc_entity AS e ON e.store_id = %(store)s AND e.merged_into_id = k.id
        WHERE k.depth < {MAX_HOPS}),
    stepped AS MATERIALIZED (
        SELECT start_id, other_id, place FROM (
            SELECT s.start_id, s.other_id, s.fact_id,
                   row_number() OVER (PARTITION BY s.start_id ORDER BY o.number, s.fact_id) AS place
            FROM (
                SELECT k.survivor_id AS start_id, f.object_id AS other_id, f.id AS fact_id
                FROM kin AS k JOIN mc_fact AS f ON f.subject_id = k.id
                WHERE f.kind = 'relation' AND (%(predicate)s::text IS NULL OR f.predicate = %(predicate)s) AND {CERTAIN}
                UNION ALL
                SELECT k.survivor_id, f.subject_id, f.id FROM kin AS k JOIN mc_fact AS f ON f.object_id = k.id
                WHERE f.kind = 'relation' AND (%(predicate)s::text IS NULL OR f.predicate = %(predicate)s) AND {CERTAIN}
            ) AS s JOIN mc_entity AS o ON o.id = s.other_id) AS f
        WHERE place <= {WALKED} + 1 AND {VISIBLE.replace("f.id", "f.fact_id")}),
    hit (entity_id) AS (SELECT other_id FROM stepped),
    {FOLLOWED}
    SELECT DISTINCT a.number, e.number, e.uuid::text, e.name, s.place > {WALKED}
    FROM stepped AS s JOIN survivor AS v ON v.start_id = s.other_id
    JOIN mc_entity AS a ON a.id = s.start_id JOIN mc_entity AS e ON e.id = v.id
    WHERE v.id <> s.start_id AND v.id IN (SELECT id FROM current_entity)
"""  # noqa: S608  (constants)


@dataclass(slots=True)
class _Walk:
    neighbours: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    found: dict[int, Entity] = field(default_factory=dict)
    capped: bool = False


def reach(
    store: Store, anchors: Sequence[Anchor], *, hops: int, predicate: str | None, at: datetime
) -> Reach:
    """What the live graph joins to the anchors within `hops`, both directions (one statement a hop, one for families).

    `at`: relations are walked that are believed and certainly so at this instant.
    """
    walk = _Walk(found={anchor.entity.number: anchor.entity for anchor in anchors})
    frontier: Iterable[int] = list(walk.found)
    for _ in range(hops):
        frontier = _step(store, walk, list(frontier), predicate, at)
        if not frontier:
            break
    numbers = [anchor.entity.number for anchor in anchors]
    entities, cut = expand(numbers, _sorted(walk.neighbours), hops)
    reached = [each.number for each in entities if each.hops]
    keys = {member for anchor in anchors for member in anchor.members}
    keys |= read_members(store, reached) if reached else set()
    rows = tuple(walk.found[each.number] for each in entities)
    return Reach(entities, rows, frozenset(keys), cut or walk.capped)


def _step(
    store: Store, walk: _Walk, frontier: Sequence[int], predicate: str | None, at: datetime
) -> list[int]:
    """One hop from these entities; those met for the first time."""
    values = {"store": store.pk, "frontier": frontier, "predicate": predicate, "at": at}
    fresh = []
    for start, number, entity_id, name, beyond in all_rows(_STEP, values):
        if beyond:
            walk.capped = True
            continue
        walk.neighbours[start].add(number)
        if number not in walk.found:
            walk.found[number] = Entity(number=number, entity_id=entity_id, name=name_text(entity_id, name))
            fresh.append(number)
    return fresh


def _sorted(neighbours: Mapping[int, set[int]]) -> dict[int, list[int]]:
    return {start: sorted(found) for start, found in neighbours.items()}


_MEMBERS: Final = f"""
    WITH RECURSIVE kin (id, depth) AS (
        SELECT id, 0 FROM mc_entity WHERE store_id = %(store)s AND number = ANY(%(numbers)s)
        UNION ALL
        SELECT e.id, k.depth + 1 FROM kin AS k
        JOIN mc_entity AS e ON e.store_id = %(store)s AND e.merged_into_id = k.id WHERE k.depth < {MAX_HOPS})
    SELECT id FROM kin
"""  # noqa: S608  (constants)


def read_members(store: Store, numbers: Sequence[int]) -> set[int]:
    """The primary keys of all that are read as one of these entities (one statement)."""
    return {pk for (pk,) in all_rows(_MEMBERS, {"store": store.pk, "numbers": list(numbers)})}
