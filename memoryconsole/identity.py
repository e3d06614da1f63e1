"""Who is whom: what is stored of a merged entity is read as its survivor's (contract: context-bundle A.3, D.7).

No row is rewritten by a merge: names, mentions, associations and facts keep the entity they were declared for, and
readers follow. The survivor of an entity is what `merged_into` leads to, as far as it leads, when that is active. The
way fails closed: beyond `MAX_HOPS`, in a cycle, or at an entity that is retired or gone, there is no such entity.

A stored row is read where it was declared: read scopes look at the entity that the row names, and its survivor stands
for it. So a merge neither widens nor narrows what a scope reads.

Two ways to follow, and they agree: `Merges` holds a store's merges in memory, for readers that walk; `FOLLOWED` is the
same in SQL, for those that look up among many entities.
"""

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import BigIntegerField, Case, Exists, F, Q, Value, When

from memoryconsole.models import Entity, MergeEvent, Store
from memoryconsole.models.graph import EntityStatus

# Contract: context-bundle A.3.
MAX_HOPS = 64

# (primary key, number) of an entity, of what it was merged into, and whether that one can be found at all.
Step = tuple[int, int, int, int, bool]


@dataclass(frozen=True, slots=True)
class ReadAs:
    """The survivor that an entity is read as: primary key and public number."""

    pk: int
    number: int


class Merges:
    """The merges of a store, as they are or as they were at an instant (`read_merges`). Entities are primary keys.

    An entity that is in no merge is its own survivor. An empty one is false.
    """

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self._into: dict[int, int] = {}
        self._number: dict[int, int] = {}
        self._absorbed: dict[int, list[int]] = defaultdict(list)
        self._gone: set[int] = set()
        for absorbed, number, survivor, survivor_number, found in steps:
            self._into[absorbed] = survivor
            self._number |= {absorbed: number, survivor: survivor_number}
            self._absorbed[survivor].append(absorbed)
            if not found:
                self._gone.add(survivor)
        # One that was merged further on is found where that leads.
        self._gone -= self._into.keys()

    def __bool__(self) -> bool:
        return bool(self._into)

    def survivor(self, entity: int) -> int | None:
        """What the entity is read as: itself, when it is in no merge. None: no such entity."""
        for _ in range(MAX_HOPS + 1):
            if entity not in self._into:
                return None if entity in self._gone else entity
            entity = self._into[entity]
        return None

    def read_as(self, entity: int, number: int) -> "ReadAs | None":
        """The survivor of an entity whose own public number is `number`. None: no such entity."""
        survivor = self.survivor(entity)
        return None if survivor is None else ReadAs(survivor, self._number.get(survivor, number))

    def members(self, entity: int) -> tuple[int, ...]:
        """The entity itself, then all that was merged into it, directly or by way of others."""
        return tuple(self.distances(entity))

    def distances(self, entity: int) -> dict[int, int]:
        """The members, nearest first, each with how many merges lead from it to the entity (0: it is the entity)."""
        found = {entity: 0}
        level = [entity]
        for hops in range(1, MAX_HOPS + 1):
            level = [each for above in level for each in self._absorbed.get(above, ()) if each not in found]
            if not level:
                break
            found |= dict.fromkeys(level, hops)
        return found

    def members_of(self, entities: Iterable[int]) -> set[int]:
        """The entities and all that was merged into any of them."""
        return {member for entity in entities for member in self.members(entity)}

    def by_survivor(self, entities: Iterable[int], column: str = "entity") -> Case | F:
        """An expression: the survivor of the entity that a row's `column` names, for those read as `entities`."""
        found = [
            When(**{f"{column}__in": members}, then=Value(entity))
            for entity in entities
            if len(members := self.members(entity)) > 1
        ]
        return Case(*found, default=F(f"{column}_id"), output_field=BigIntegerField()) if found else F(column)


NONE = Merges()


def read_merges(store: Store, *, at: datetime | None = None) -> Merges:
    """The store's merges in force, today's or those of a belief instant (one statement, a row per merged entity).

    Merges are made one by one, by explicit commands: a store has few beside its rows.
    """
    if at is None:
        rows: Any = Entity.objects.filter(store=store, merged_into__isnull=False).values_list(
            "pk", "number", "merged_into", "merged_into__number", "merged_into__status"
        )
        return Merges((*step, status == EntityStatus.ACTIVE) for *step, status in rows)
    events: Any = MergeEvent.objects.filter(
        Q(reversed_at=None) | Q(reversed_at__gt=at), store=store, merged_at__lte=at
    ).values_list("absorbed", "absorbed__number", "survivor", "survivor__number", "survivor__status")
    # One that is merged today was active before: then no event of its own is among these.
    return Merges((*step, status != EntityStatus.RETIRED) for *step, status in events)


def ever_absorbed(store: Store, numbers: Collection[int]) -> dict[int, set[int]]:
    """By public number, the primary keys of all that was ever merged into the entity, directly or by way of others,
    merges that were reversed included (one statement). A trace may hold names of theirs under its number.
    """
    below: dict[int, set[int]] = defaultdict(set)
    key_of: dict[int, int] = {}
    events = MergeEvent.objects.filter(store=store)
    for survivor, number, absorbed in events.values_list("survivor", "survivor__number", "absorbed"):
        below[survivor].add(absorbed)
        key_of[number] = survivor
    found: dict[int, set[int]] = {}
    for number in numbers:
        level = {key_of[number]} if number in key_of else set()
        met = set(level)
        while level:
            level = {each for above in level for each in below.get(above, ())} - met
            met |= level
        found[number] = met
    return found


class Following:
    """The merges of one snapshot, read when the first row says that the store has some (`told`): a store without any
    takes no statement for them. `merges`: those to follow, when they are known already.
    """

    def __init__(self, store: Store, merges: Merges | None = None) -> None:
        self._store = store
        self._merges = merges

    def survivor(self, entity: int, number: int, *, told: bool) -> "ReadAs | None":
        """What the entity of a row is read as; None: no such entity. `told`: what `has_merges` was in that row."""
        if self._merges is None and told:
            self._merges = read_merges(self._store)
        if self._merges is None:
            return ReadAs(entity, number)
        return self._merges.read_as(entity, number)

    @property
    def known(self) -> Merges:
        """The merges, once some row has told that there are any."""
        return NONE if self._merges is None else self._merges


def has_merges(store: Store) -> Exists:
    """An expression: whether the store has merged entities at all. PostgreSQL evaluates it once a statement."""
    return Exists(Entity.objects.filter(store=store, merged_into__isnull=False))


def findable(through: str = "") -> Q:
    """The condition on an entity that it is active, or merged into something. `through`: a foreign key to it."""
    at = f"{through}__" if through else ""
    return Q(**{f"{at}status": EntityStatus.ACTIVE}) | Q(**{f"{at}merged_into__isnull": False})


# Common table expressions behind `WITH RECURSIVE hit (entity_id) AS (...),`, with the parameter %(store)s.
# `survivor (start_id, id)`: what each hit is read as. `family (survivor_id, id)`: each survivor's members, itself
# among them. Both carry `declared` along, so that nobody looks the members up once more. `current_entity (id)`: the
# survivors that still have provenance: somebody declared a member, or a live record (of a version and a document that
# are not deleted) or a live summary mentions one.
FOLLOWED = f"""
    walked (start_id, id, status, merged_into_id, declared, hops) AS (
        SELECT e.id, e.id, e.status, e.merged_into_id, e.declared, 0 FROM mc_entity AS e
        WHERE e.store_id = %(store)s AND e.id IN (SELECT entity_id FROM hit)
        UNION ALL
        SELECT w.start_id, e.id, e.status, e.merged_into_id, e.declared, w.hops + 1
        FROM walked AS w JOIN mc_entity AS e ON e.id = w.merged_into_id WHERE w.hops < {MAX_HOPS}),
    survivor (start_id, id, declared) AS (SELECT start_id, id, declared FROM walked WHERE status = 'active'),
    family (survivor_id, id, declared, hops) AS (
        SELECT DISTINCT id, id, declared, 0 FROM survivor
        UNION ALL
        SELECT f.survivor_id, e.id, e.declared, f.hops + 1
        FROM family AS f JOIN mc_entity AS e ON e.store_id = %(store)s AND e.merged_into_id = f.id
        WHERE f.hops < {MAX_HOPS}),
    current_entity (id) AS (
        SELECT DISTINCT f.survivor_id FROM family AS f
        WHERE f.declared OR EXISTS (
            SELECT FROM mc_mention AS m
            LEFT JOIN mc_record AS r ON r.id = m.record_id
            LEFT JOIN mc_passage AS p ON p.record_id = m.record_id
            LEFT JOIN mc_document_version AS v ON v.id = p.version_id
            LEFT JOIN mc_document AS d ON d.id = v.document_id
            LEFT JOIN mc_summary AS s ON s.id = m.summary_id
            WHERE m.store_id = %(store)s AND m.entity_id = f.id AND (
                (r.id IS NOT NULL AND r.deleted_at IS NULL AND v.deleted_at IS NULL AND d.deleted_at IS NULL)
                OR (s.id IS NOT NULL AND s.deleted_at IS NULL))))
"""  # noqa: S608  (a constant of this module)

_SURVIVORS = f"""
    WITH RECURSIVE hit (entity_id) AS (
        SELECT id FROM mc_entity WHERE store_id = %(store)s AND id = ANY(%(keys)s)
        UNION SELECT id FROM mc_entity WHERE store_id = %(store)s AND uuid = ANY(%(uuids)s)),
    {FOLLOWED}
    SELECT a.id, a.uuid, e.id, e.number, e.uuid, e.name
    FROM survivor AS s JOIN mc_entity AS a ON a.id = s.start_id JOIN mc_entity AS e ON e.id = s.id
    WHERE s.id IN (SELECT id FROM current_entity)
"""  # noqa: S608  (put together from constants)


@dataclass(frozen=True, slots=True, kw_only=True)
class Survivor:
    """A current entity (active, with provenance) and the entity that was asked for: one and the same unless that was
    merged away. `asked`, `asked_uuid`, `pk`: primary key and UUID of what was asked for, primary key of the survivor.
    """

    asked: int
    asked_uuid: uuid.UUID
    pk: int
    number: int
    uuid: uuid.UUID
    name: str

    @property
    def is_asked(self) -> bool:
        """What was asked for was not merged away: it may be an anchor (decision 18)."""
        return self.asked == self.pk


def survivors(
    store: Store, *, keys: Collection[int] = (), uuids: Collection[uuid.UUID] = ()
) -> list[Survivor]:
    """The current entity behind each of these, those without one left out (one statement, none for nothing asked)."""
    if not keys and not uuids:
        return []
    with connection.cursor() as cursor:
        cursor.execute(_SURVIVORS, {"store": store.pk, "keys": [*keys], "uuids": [*uuids]})
        return [
            Survivor(asked=asked, asked_uuid=asked_uuid, pk=pk, number=number, uuid=uid, name=name)
            for asked, asked_uuid, pk, number, uid, name in cursor.fetchall()
        ]


_FAMILIES = f"""
    WITH RECURSIVE hit (entity_id) AS (SELECT unnest(%(keys)s::bigint[])), {FOLLOWED}
    SELECT survivor_id, id FROM family ORDER BY survivor_id, hops, id
"""  # noqa: S608  (put together from constants)


def families(store: Store, entities: Collection[int]) -> dict[int, tuple[int, ...]]:
    """The members of the survivor of each entity, by the survivor's primary key, itself first (one statement)."""
    found: dict[int, list[int]] = defaultdict(list)
    if entities:
        with connection.cursor() as cursor:
            cursor.execute(_FAMILIES, {"store": store.pk, "keys": [*entities]})
            for survivor, member in cursor.fetchall():
                found[survivor].append(member)
    return {survivor: tuple(members) for survivor, members in found.items()}
