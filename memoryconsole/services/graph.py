"""The declared associations as lists and pages show them, their ends followed to the survivors of merges."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Q

from memoryconsole.declarations import read_ref
from memoryconsole.folding import declared_key
from memoryconsole.identity import read_merges
from memoryconsole.models import Association, Entity, Record, Store, Summary
from memoryconsole.models.graph import AssociationQuerySet, EntityStatus, KeyDigest, digest_of_key
from memoryconsole.times import write_stamp

# A page's worth of each thing that hangs on one row.
SHOWN = 100

_ROW_ENDS = ("subject_record", "subject_summary", "object_record", "object_summary")
_ANCHORS = ("anchor_record", "anchor_summary")
_ENTITY_ENDS = ("subject_entity", "object_entity")


def associations_of(store: Store) -> AssociationQuerySet:
    """The store's associations with their ends joined in, without any text of theirs."""
    ends = (*_ENTITY_ENDS, *_ROW_ENDS, *_ANCHORS)
    return (
        Association.objects.filter(store=store)
        .select_related(*ends)
        .only(
            "number",
            "predicate",
            "project_id",
            "channel",
            "declared_by",
            "declared_at",
            *(f"{end}__number" for end in ends),
            *(f"{end}__{name}" for end in _ENTITY_ENDS for name in ("name", "status", "merged_into")),
        )
    )


def filtered(store: Store, query: dict[str, Any]) -> AssociationQuerySet:
    """The store's associations that a list's filters leave, `entity` and `ref` taking a statement each. `ref` has been
    found to be one.
    """
    rows = associations_of(store)
    for name in ("project_id", "channel"):
        if name in query:
            rows = rows.filter(**{name: query[name]})
    if "predicate" in query:
        digest = digest_of_key(declared_key(query["predicate"]))
        rows = rows.alias(predicate_digest=KeyDigest("predicate")).filter(predicate_digest=digest)
    if "entity" in query:
        rows = joining_entities(rows, _members(store, query["entity"]))
    ref = read_ref(query["ref"]) if "ref" in query else None
    if ref is not None:
        rows = _joining(rows, Record if ref.kind == "mem" else Summary, store, ref.number)
    return rows


def _joining(rows: AssociationQuerySet, table: Any, store: Store, number: int) -> AssociationQuerySet:
    # The row first: asked for the number of a joined row, PostgreSQL reads every association of the store.
    row = table.objects.filter(store=store, number=number).only("pk").first()
    return rows.none() if row is None else rows.joining(row)


def joining_entities(rows: AssociationQuerySet, entities: Collection[int]) -> AssociationQuerySet:
    """Those of the associations that have one of these entities (primary keys) as an end."""
    return rows.filter(Q(subject_entity__in=entities) | Q(object_entity__in=entities))


def _members(store: Store, number: int) -> tuple[int, ...]:
    """All that is read as an entity is, by the number of any of them (two statements when there are others)."""
    others = Entity.objects.filter(store=store, merged_into=OuterRef("pk"))
    found: Any = Entity.objects.filter(store=store, number=number).annotate(absorbs=Exists(others))
    entity = found.only("merged_into").first()
    if entity is None:
        return ()
    if not entity.absorbs and entity.merged_into_id is None:
        return (entity.pk,)
    merges = read_merges(store)
    survivor = merges.survivor(entity.pk)
    return () if survivor is None else merges.members(survivor)


@dataclass(frozen=True, slots=True)
class ReadAs:
    """The entity that a stored one is read as."""

    number: int
    name: str


def read_as(store: Store, entities: Iterable[Entity]) -> dict[int, ReadAs]:
    """What each of these entities is read as, by primary key; one that leads nowhere is left out.

    Their status and `merged_into` are loaded. No statement when none of them was merged, else two.
    """
    rows = {entity.pk: entity for entity in entities}
    merged = [pk for pk, row in rows.items() if row.merged_into_id is not None]
    found = {
        pk: ReadAs(row.number, row.name) for pk, row in rows.items() if row.status == EntityStatus.ACTIVE
    }
    if merged:
        merges = read_merges(store)
        survivors = {pk: merges.survivor(pk) for pk in merged}
        named = Entity.objects.filter(store=store, pk__in={pk for pk in survivors.values() if pk})
        by_key = {row.pk: ReadAs(row.number, row.name) for row in named.only("number", "name")}
        found |= {pk: by_key[survivor] for pk, survivor in survivors.items() if survivor in by_key}
    return found


def association_shapes(store: Store, rows: Iterable[Association]) -> list[dict[str, Any]]:
    """Associations from `associations_of` as lists answer them; `anchor_ref` is absent when there is none.

    No statement, or two when one of their ends was merged away.
    """
    listed = list(rows)
    ends = [end for row in listed for end in (row.subject_entity, row.object_entity) if end is not None]
    names = read_as(store, ends)
    return [_association_shape(row, names) for row in listed]


def _association_shape(row: Association, names: Mapping[int, ReadAs]) -> dict[str, Any]:
    shape: dict[str, Any] = {
        "id": row.number,
        "subject": _end(names, row.subject_entity, row.subject_record, row.subject_summary),
        "predicate": row.predicate,
        "object": _end(names, row.object_entity, row.object_record, row.object_summary),
        "project_id": row.project_id,
        "channel": row.channel,
        "declared_by": row.declared_by,
        "declared_at": write_stamp(row.declared_at),
    }
    anchor = row.anchor_record or row.anchor_summary
    return shape | {"anchor_ref": anchor.ref} if anchor is not None else shape


def _end(
    names: Mapping[int, ReadAs], entity: Entity | None, record: Record | None, summary: Summary | None
) -> dict[str, Any]:
    if entity is not None:
        # What leads nowhere is told as it is stored: the list is of what was declared.
        shown = names.get(entity.pk) or ReadAs(entity.number, entity.name)
        return {"entity": shown.number, "name": shown.name}
    row = record or summary
    if row is None:
        raise RuntimeError("an association without an end")
    return {"ref": row.ref}


def associations_at(store: Store, row: Record | Summary) -> list[dict[str, Any]]:
    """The associations that have the row as an end or as their anchor, newest first (one statement, three when an
    end was merged away).
    """
    return association_shapes(store, associations_of(store).joining(row).order_by("-number")[:SHOWN])


def with_names(store: Store, reports: Iterable[dict[str, Any]]) -> None:
    """Write the names of declared entities into reports that were kept without them (one statement).

    What is kept for repeated requests holds no texts; an entity that is gone since has the name "".
    """
    entries = [entry for report in reports for entry in report["entities"]]
    numbers = {entry["id"] for entry in entries}
    if not numbers:
        return
    named = Entity.objects.filter(store=store, number__in=numbers).values_list("number", "name")
    names = dict(named)
    for entry in entries:
        entry["name"] = names.get(entry["id"], "")
