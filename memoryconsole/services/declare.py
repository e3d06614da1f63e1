"""Entities, aliases, mentions and associations come in and are retracted, as declared (reconstruct J).

A declaration is planned first and then applied. The preview of a declaration is its plan; declaring applies the very
same plan under the store's counter lock. Nothing is extracted from texts and nothing is inferred.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from django.db import transaction

from memoryconsole.declarations import Declaration
from memoryconsole.folding import resolve_key
from memoryconsole.models import Association, Entity, EntityAlias, Mention, Store, StoreCounter
from memoryconsole.services.declare_names import PlannedEntity
from memoryconsole.services.declare_plan import PlannedRelation, Planner, Retraction, Row
from memoryconsole.services.numbering import lock_counter, take_numbers
from memoryconsole.services.profiles import follow_names
from memoryconsole.snapshot import snapshot

DeclaredBy = Literal["agent", "operator"]

# Rows of one INSERT: enough that a call takes few, few enough that none is a text of megabytes.
_BATCH = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What became of one declaration. Numbers of what is new are there once it has been applied.

    `entities` has one entry per accepted item in order, with whether that item registered it; `mentions` counts the
    entities that the anchor mentions through this declaration, new or not; `relations` has one entry per accepted item.
    """

    entities: tuple[tuple[PlannedEntity, bool], ...] = ()
    mentions: int = 0
    relations: tuple[PlannedRelation, ...] = ()
    dropped: list[dict[str, str]] = field(default_factory=list)
    retracted: dict[str, int] | None = None

    def shape(self, *, names: bool = True) -> dict[str, Any]:
        """The contract's members; ids of what is only planned are None. Without `names` it holds no texts."""
        shape: dict[str, Any] = {
            "entities": [
                {"id": entity.number, **({"name": entity.name} if names else {}), "created": created}
                for entity, created in self.entities
            ],
            "mentions": self.mentions,
            "relations": [relation.number for relation in self.relations],
            "dropped": self.dropped,
        }
        if self.retracted is not None:
            shape["retracted"] = self.retracted
        return shape


def declare(store: Store, declaration: Declaration, *, declared_by: DeclaredBy, now: datetime) -> Report:
    """Record what is declared and remove what is retracted, retractions first: all that is not in `dropped`."""
    with transaction.atomic():
        counter = lock_counter(store)
        planner, report = _planned(store, declaration)
        _apply(store, counter, planner, declared_by=declared_by, now=now)
    return report


def preview(store: Store, declaration: Declaration) -> tuple[Report, dict[str, Any]]:
    """What `declare` would answer, and what it would register; nothing is written."""
    with snapshot():
        planner, report = _planned(store, declaration)
    return report, planner.registered()


def ride(
    store: Store,
    counter: StoreCounter,
    riders: Sequence[tuple[Declaration, Row]],
    *,
    declared_by: DeclaredBy,
    now: datetime,
) -> list[Report]:
    """Declare what came with stored rows, each anchored in its row, in the write's transaction and under its lock.

    The number of statements does not depend on how many there are.
    """
    planner = Planner(store, [declaration for declaration, _ in riders])
    reports = [_plan(planner, declaration, anchor) for declaration, anchor in riders]
    planner.compare()
    _apply(store, counter, planner, declared_by=declared_by, now=now)
    return reports


def _planned(store: Store, declaration: Declaration) -> tuple[Planner, Report]:
    retraction = Retraction(store, declaration)
    planner = Planner(store, [declaration], retraction)
    anchor = planner.row(declaration.anchor)
    if declaration.declares and declaration.anchor_given and anchor is None:
        declaration.dropped.add("anchor_ref", "is no record or summary of this store")
    report = _plan(planner, declaration, anchor, retraction.counts() if declaration.retracts else None)
    planner.compare()
    return planner, report


def _plan(
    planner: Planner, declaration: Declaration, anchor: Row | None, retracted: dict[str, int] | None = None
) -> Report:
    entities = [planner.entity(declaration, wanted) for wanted in declaration.entities]
    if anchor is not None:
        for entity, _ in entities:
            planner.mention(entity, anchor)
    # Without its anchor a relation would say more than was declared.
    lost = anchor is None and declaration.anchor_given
    relations = [planner.relation(declaration, wanted, anchor, lost=lost) for wanted in declaration.relations]
    return Report(
        entities=tuple(entities),
        mentions=len({entity for entity, _ in entities}) if anchor is not None else 0,
        relations=tuple(relation for relation in relations if relation is not None),
        dropped=declaration.dropped.listed(),
        retracted=retracted,
    )


def _apply(
    store: Store, counter: StoreCounter, planner: Planner, *, declared_by: DeclaredBy, now: datetime
) -> None:
    """Write a plan. Call under the counter lock that it was made under."""
    if planner.retraction is not None:
        planner.retraction.apply()
    # Stored entities that get a further name.
    renamed = {alias.entity.pk for alias in planner.new_aliases if alias.entity.pk is not None}
    _write_entities(store, counter, planner.new_entities, declared_by=declared_by, now=now)
    EntityAlias.objects.bulk_create(
        (
            EntityAlias(
                store=store,
                **alias.entity.columns(""),
                project_id=alias.scope[0],
                channel=alias.scope[1],
                alias=alias.name.text,
                declared_key=alias.name.key,
                resolve_key=resolve_key(alias.name.text),
            )
            for alias in planner.new_aliases
        ),
        batch_size=_BATCH,
    )
    Mention.objects.bulk_create(
        (
            Mention(
                store=store,
                declared_by=declared_by,
                created_at=now,
                **entity.columns(""),
                **row.columns(""),
            )
            for entity, row in planner.new_mentions
        ),
        batch_size=_BATCH,
    )
    _write_relations(store, counter, planner.new_relations, declared_by=declared_by, now=now)
    if planner.new_entities or planner.new_relations:
        counter.save(update_fields=["entity", "association"])
    if renamed:
        follow_names(store, renamed, now=now)


def _write_entities(
    store: Store,
    counter: StoreCounter,
    planned: Sequence[PlannedEntity],
    *,
    declared_by: DeclaredBy,
    now: datetime,
) -> None:
    numbers = take_numbers(counter, "entity", len(planned))
    rows = Entity.objects.bulk_create(
        (
            Entity(
                store=store,
                number=number,
                uuid=uuid.uuid4(),
                project_id=entity.scope[0],
                channel=entity.scope[1],
                name=entity.name,
                declared_key=entity.key,
                resolve_key=resolve_key(entity.name),
                declared_by=declared_by,
                created_at=now,
            )
            for entity, number in zip(planned, numbers, strict=True)
        ),
        batch_size=_BATCH,
    )
    for entity, row in zip(planned, rows, strict=True):
        entity.pk, entity.number = row.pk, row.number


def _write_relations(
    store: Store,
    counter: StoreCounter,
    planned: Sequence[PlannedRelation],
    *,
    declared_by: DeclaredBy,
    now: datetime,
) -> None:
    numbers = take_numbers(counter, "association", len(planned))
    Association.objects.bulk_create(
        (
            Association(
                store=store,
                number=number,
                project_id=relation.scope[0],
                channel=relation.scope[1],
                predicate=relation.predicate,
                declared_by=declared_by,
                declared_at=now,
                **relation.columns(),
            )
            for relation, number in zip(planned, numbers, strict=True)
        ),
        batch_size=_BATCH,
    )
    for relation, number in zip(planned, numbers, strict=True):
        relation.number = number
