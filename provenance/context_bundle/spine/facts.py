"""Facts as rows: which are in scope, which may be nominated, what each is, and who else is in its group."""

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from memoryconsole.identity import FOLLOWED
from memoryconsole.models import Store
from memoryconsole.statements import all_rows, unpacked
from provenance.context_bundle.core.contradiction import CO_MEMBERS_MAX, NOBODY, MembersAfter
from provenance.context_bundle.core.seen import Entity, Fact, FactKey, Group
from provenance.context_bundle.core.temporal import Scope, Window
from provenance.context_bundle.nominating import Among
from provenance.context_bundle.spine.anchors import Anchor
from provenance.context_bundle.spine.sql import HELD, VISIBLE, Keys, scope_values
from provenance.context_bundle.spine.words import name_text, text_of

MEMBERS_READ: Final = CO_MEMBERS_MAX + 1
"""Contract, section E.2: so many others stand in a block, and the fact itself may be among the first."""


@dataclass(frozen=True, slots=True)
class FactScope:
    """Which facts a question is about: its scope of time, its predicate, whether it goes on from an earlier page."""

    time: Scope
    predicate: str | None = None
    later: bool = False

    @property
    def values(self) -> dict[str, Any]:
        return scope_values(self.time, later=self.later) | {"predicate": self.predicate}


_WANTED: Final = f"(%(predicate)s::text IS NULL OR f.predicate = %(predicate)s) AND {HELD}"

_ABOUT: Final = f"""
    SELECT string_agg(int8send(f.id), ''::bytea), string_agg(int8send(f.subject_id), ''::bytea),
           string_agg(int8send(coalesce(f.object_id, 0)), ''::bytea)
    FROM mc_fact AS f
    WHERE f.store_id = %(store)s AND (f.subject_id = ANY(%(entities)s) OR f.object_id = ANY(%(entities)s))
        AND {_WANTED}
"""  # noqa: S608  (constants)


@dataclass(frozen=True, slots=True)
class About:
    """Facts by primary key, with their ends as they are stored (0: no object)."""

    keys: Keys
    subjects: Keys
    objects: Keys

    def have(self, members: Collection[int]) -> NDArray[np.bool_]:
        """Which of them have one of these entities as an end."""
        wanted = np.array(list(members), dtype=np.int64)
        return np.isin(self.subjects, wanted) | np.isin(self.objects, wanted)

    def among(self, anchors: Sequence[Anchor]) -> Among:
        touched = np.zeros(len(self.keys), dtype=np.int64)
        for anchor in anchors:
            touched += self.have(anchor.members)
        return Among.of(self.keys, touched)


def read_about(store: Store, scope: FactScope, entities: Collection[int]) -> About:
    """The facts that have one of these entities (primary keys) as an end, as far as their own columns tell (one
    statement).
    """
    values = scope.values | {"store": store.pk, "entities": list(entities)}
    ((keys, subjects, objects),) = all_rows(_ABOUT, values)
    return About(unpacked(keys), unpacked(subjects), unpacked(objects))


_ROWS: Final = f"""
    SELECT f.id, f.number, f.uuid::text, f.kind, f.predicate, f.statement, f.valid_from, f.valid_until,
           f.valid_precision, f.ingested_at, f.invalidated_at, f.support, g.uuid::text, {HELD},
           b.visible, b.supports, b.contradicts, f.subject_id, f.object_id
    FROM mc_fact AS f
    LEFT JOIN mc_contradiction_member AS m ON m.fact_id = f.id AND m.left_at IS NULL
    LEFT JOIN mc_contradiction_group AS g ON g.id = m.group_id AND g.resolved_at IS NULL
    CROSS JOIN LATERAL (
        SELECT count(*) > 0 AS visible,
               count(DISTINCT c.document_id)
                   FILTER (WHERE x.stance = 'supports' AND c.is_current AND d.deleted_at IS NULL) AS supports,
               count(DISTINCT c.document_id)
                   FILTER (WHERE x.stance = 'contradicts' AND c.is_current AND d.deleted_at IS NULL) AS contradicts
        FROM mc_fact_evidence AS x JOIN mc_claim AS c ON c.id = x.claim_id
        JOIN mc_record AS r ON r.id = c.record_id AND r.deleted_at IS NULL
        JOIN mc_document AS d ON d.id = c.document_id
        WHERE x.fact_id = f.id) AS b
    WHERE f.store_id = %(store)s AND f.id = ANY(%(keys)s::bigint[])
"""  # noqa: S608  (constants)

# What the ends of facts are read as. Read apart from the facts: many of them share one.
_ENDS: Final = f"""
    WITH RECURSIVE hit (entity_id) AS (SELECT unnest(%(ends)s::bigint[])),
    {FOLLOWED}
    SELECT v.start_id, e.number, e.uuid::text, e.name, e.id IN (SELECT id FROM current_entity)
    FROM survivor AS v JOIN mc_entity AS e ON e.id = v.id
"""  # noqa: S608  (constants)


@dataclass(frozen=True, slots=True)
class Read:
    """A fact as the spine holds it. `row` None: no evidence of it is in visible history, or an end leads nowhere.
    `admitted`: the product may nominate it.
    """

    key: FactKey
    row: Fact | None
    ends: tuple[Entity, ...]
    admitted: bool


@dataclass(frozen=True, slots=True)
class End:
    """What an end of a fact is read as, and whether that is a current entity."""

    entity: Entity
    current: bool


@dataclass(slots=True)
class Facts:
    """The facts that were read for an answer, each once. Primary keys in, rows out.

    `ends`: what an entity that a fact names is read as, by its primary key; None: it leads nowhere.
    """

    store: Store
    scope: FactScope
    read: dict[int, Read] = field(default_factory=dict)
    ends: dict[int, End | None] = field(default_factory=dict)

    def fetch(self, keys: Iterable[int]) -> None:
        """Read those of the facts that were not read yet, and their ends (at most a statement each)."""
        wanted = [key for key in dict.fromkeys(keys) if key not in self.read]
        if not wanted:
            return
        rows = all_rows(_ROWS, self.scope.values | {"store": self.store.pk, "keys": wanted})
        self._fetch_ends(end for row in rows for end in row[-2:] if end is not None)
        for row in rows:
            self.read[row[0]] = self._fact(row)

    def _fetch_ends(self, entities: Iterable[int]) -> None:
        wanted = [each for each in dict.fromkeys(entities) if each not in self.ends]
        if not wanted:
            return
        self.ends |= dict.fromkeys(wanted)
        for start, number, entity_id, name, current in all_rows(
            _ENDS, {"store": self.store.pk, "ends": wanted}
        ):
            entity = Entity(number=number, entity_id=entity_id, name=name_text(entity_id, name))
            self.ends[start] = End(entity, current)

    def admits(self, keys: Collection[int]) -> set[int]:
        """Those that may be shown (contract, section G.2)."""
        self.fetch(keys)
        return {key for key in keys if key in self.read and self.read[key].admitted}

    def key(self, pk: int) -> FactKey:
        """What the core knows a fact by. One that is not there has a number that no row has."""
        return self.read[pk].key if pk in self.read else ("observation", -1 - pk)

    @property
    def rows(self) -> tuple[Fact, ...]:
        return tuple(each.row for each in self.read.values() if each.row is not None)

    @property
    def entities(self) -> dict[int, Entity]:
        """The current entities among the ends, by number."""
        return {
            end.entity.number: end.entity for end in self.ends.values() if end is not None and end.current
        }

    def _fact(self, row: tuple[Any, ...]) -> Read:
        (_pk, number, fact_id, kind, said, statement, valid_from, valid_until, precision, ingested_at, invalidated_at,
         support, group, held, visible, supports, contradicts, subject_pk, object_pk) = row  # fmt: skip
        subject, other = self.ends[subject_pk], None if object_pk is None else self.ends[object_pk]
        ends = tuple(end.entity for end in (subject, other) if end is not None and end.current)
        is_alone = object_pk is None
        fact = None
        if visible and subject is not None and (is_alone or other is not None):
            fact = Fact(
                number=number,
                fact_id=fact_id,
                kind=kind,
                subject=subject.entity.number,
                predicate=said,
                object=None if other is None else other.entity.number,
                statement=None if kind == "relation" else text_of(f"observation:{fact_id}", statement),
                window=Window(valid_from=valid_from, valid_until=valid_until, precision=precision),
                ingested_at=ingested_at,
                invalidated_at=invalidated_at,
                withdrawn=support == "withdrawn",
                supports=supports,
                contradicts=contradicts,
                group=group,
            )
        asked = self.scope.predicate is None or said == self.scope.predicate
        admitted = fact is not None and held and asked and len(ends) == 2 - is_alone
        return Read((kind, number), fact, ends, admitted)


# Live members in order, and how many there are (contract, section E). A group crosses kinds and predicates.
_MEMBERS: Final = f"""
    WITH RECURSIVE member AS MATERIALIZED (
        SELECT g.uuid AS group_id, f.* FROM mc_contradiction_group AS g
        JOIN mc_contradiction_member AS m ON m.group_id = g.id AND m.left_at IS NULL
        JOIN mc_fact AS f ON f.id = m.fact_id
        WHERE g.store_id = %(store)s AND g.uuid = ANY(%(groups)s::uuid[]) AND g.resolved_at IS NULL
            AND {HELD} AND {VISIBLE}),
    hit (entity_id) AS (
        SELECT subject_id FROM member UNION SELECT object_id FROM member WHERE object_id IS NOT NULL),
    {FOLLOWED},
    live AS (
        SELECT group_id, f.id, count(*) OVER (PARTITION BY group_id) AS total,
               row_number() OVER (PARTITION BY group_id ORDER BY f.ingested_at, f.kind COLLATE "C", f.number) AS place
        FROM member AS f
        WHERE EXISTS (SELECT FROM survivor AS s WHERE s.start_id = f.subject_id
                      AND s.id IN (SELECT id FROM current_entity))
            AND (f.object_id IS NULL OR EXISTS (SELECT FROM survivor AS s WHERE s.start_id = f.object_id
                                                AND s.id IN (SELECT id FROM current_entity))))
    SELECT group_id::text, id, total FROM live WHERE place <= {MEMBERS_READ} ORDER BY group_id, place
"""  # noqa: S608  (constants)


# Whoever was in a group, in order, as far as the columns of facts tell; on a later page also who left it since.
_LISTED: Final = f"""
    SELECT f.id FROM mc_contradiction_group AS g
    JOIN mc_contradiction_member AS m ON m.group_id = g.id
        AND (m.left_at IS NULL OR (%(later)s AND m.left_at > %(believed_at)s))
    JOIN mc_fact AS f ON f.id = m.fact_id
    WHERE g.store_id = %(store)s AND g.uuid = %(group)s AND {HELD}
        AND (f.kind, f.number) <> (%(viewpoint)s, %(viewed)s)
        AND (%(after)s::timestamptz IS NULL
             OR (f.ingested_at, f.kind COLLATE "C", f.number) > (%(after)s::timestamptz, %(kind)s, %(number)s))
    GROUP BY f.id ORDER BY f.ingested_at, f.kind COLLATE "C", f.number
"""  # noqa: S608  (constants)


def read_listed(facts: Facts, group: str, after: MembersAfter | None) -> Keys:
    """The members of a group behind a place in its list, but for the viewpoint of that (one statement)."""
    viewpoint, viewed = NOBODY if after is None else after.viewpoint
    ingested_at, kind, number = (None, "", 0) if after is None else after.after
    values = facts.scope.values | {
        "store": facts.store.pk,
        "group": uuid.UUID(group),
        "viewpoint": viewpoint,
        "viewed": viewed,
        "after": ingested_at,
        "kind": kind,
        "number": number,
    }
    return np.array([pk for (pk,) in all_rows(_LISTED, values)], dtype=np.int64)


def read_groups(facts: Facts, groups: Iterable[str]) -> tuple[Group, ...]:
    """The groups with their first live members, whose rows are then among the facts (at most three statements)."""
    wanted = sorted(set(groups))
    if not wanted:
        return ()
    values = scope_values(facts.scope.time, later=False) | {
        "store": facts.store.pk,
        "groups": [uuid.UUID(each) for each in wanted],
    }
    members: dict[str, list[int]] = defaultdict(list)
    totals: dict[str, int] = dict.fromkeys(wanted, 0)
    for group, pk, total in all_rows(_MEMBERS, values):
        members[group].append(pk)
        totals[group] = total
    facts.fetch(pk for found in members.values() for pk in found)
    return tuple(
        Group(group_id=group, members=tuple(facts.key(pk) for pk in members[group]), total=totals[group])
        for group in wanted
    )
