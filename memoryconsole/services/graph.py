"""The declared graph as lists and pages show it: entities, and the associations that join them or rows."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery, Window
from django.db.models.functions import Coalesce, RowNumber

from memoryconsole.declarations import read_ref
from memoryconsole.errors import NotFound
from memoryconsole.folding import declared_key
from memoryconsole.models import Association, Entity, EntityAlias, Mention, Record, Store, Summary
from memoryconsole.models.graph import AssociationQuerySet, KeyDigest, digest_of_key, with_keys
from memoryconsole.snapshot import snapshot
from memoryconsole.times import write_stamp

# A page's worth of each thing that hangs on one row.
SHOWN = 100
# As many as one call declares for an entity.
_ALIASES_SHOWN = 32

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
            *(f"{end}__name" for end in _ENTITY_ENDS),
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
        rows = _joining(rows, Entity, store, query["entity"])
    ref = read_ref(query["ref"]) if "ref" in query else None
    if ref is not None:
        rows = _joining(rows, Record if ref.kind == "mem" else Summary, store, ref.number)
    return rows


def _joining(rows: AssociationQuerySet, table: Any, store: Store, number: int) -> AssociationQuerySet:
    # The row first: asked for the number of a joined row, PostgreSQL reads every association of the store.
    row = table.objects.filter(store=store, number=number).only("pk").first()
    return rows.none() if row is None else rows.joining(row)


def association_shape(row: Association) -> dict[str, Any]:
    """An association as lists answer it; `anchor_ref` is absent when it has none."""
    shape: dict[str, Any] = {
        "id": row.number,
        "subject": _end(row.subject_entity, row.subject_record, row.subject_summary),
        "predicate": row.predicate,
        "object": _end(row.object_entity, row.object_record, row.object_summary),
        "project_id": row.project_id,
        "channel": row.channel,
        "declared_by": row.declared_by,
        "declared_at": write_stamp(row.declared_at),
    }
    anchor = row.anchor_record or row.anchor_summary
    return shape | {"anchor_ref": anchor.ref} if anchor is not None else shape


def _end(entity: Entity | None, record: Record | None, summary: Summary | None) -> dict[str, Any]:
    if entity is not None:
        return {"entity": entity.number, "name": entity.name}
    row = record or summary
    if row is None:
        raise RuntimeError("an association without an end")
    return {"ref": row.ref}


def associations_at(store: Store, row: Record | Summary) -> list[dict[str, Any]]:
    """The associations that have the row as an end or as their anchor, newest first (one statement)."""
    found = associations_of(store).joining(row).order_by("-number")
    return [association_shape(each) for each in found[:SHOWN]]


def entities_of(store: Store, query: dict[str, Any]) -> "QuerySet[Entity]":
    """The store's entities with their `mention_count`. `name` finds by name or alias, folded."""
    rows = Entity.objects.filter(store=store)
    for name in ("project_id", "channel"):
        if name in query:
            rows = rows.filter(**{name: query[name]})
    if "name" in query:
        keys = [declared_key(query["name"])]
        aliased = with_keys(EntityAlias.objects.filter(store=store), keys).values("entity")
        named = with_keys(Entity.objects.filter(store=store), keys).values("pk")
        rows = rows.filter(Q(pk__in=named) | Q(pk__in=aliased))
    mentions = Mention.objects.filter(store=store, entity=OuterRef("pk")).order_by().values("entity")
    counted = Subquery(mentions.annotate(count=Count("pk")).values("count"))
    return rows.annotate(mention_count=Coalesce(counted, 0))


def entity_shapes(store: Store, entities: Iterable[Entity]) -> list[dict[str, Any]]:
    """Entities as lists answer them, from `entities_of` (one statement for all their aliases)."""
    rows = list(entities)
    aliases = _aliases(store, [entity.pk for entity in rows]) if rows else {}
    return [_entity_shape(entity, *aliases.get(entity.pk, ([], 0))) for entity in rows]


def _entity_shape(entity: Any, aliases: list[dict[str, str]], alias_count: int) -> dict[str, Any]:
    return {
        "id": entity.number,
        "name": entity.name,
        "project_id": entity.project_id,
        "channel": entity.channel,
        "aliases": aliases,
        "alias_count": alias_count,
        "mention_count": entity.mention_count,
        "declared_by": entity.declared_by,
        "created_at": write_stamp(entity.created_at),
    }


def _aliases(store: Store, entities: list[int]) -> dict[int, tuple[list[dict[str, str]], int]]:
    """Each entity's first aliases, with the scope that declared them, and how many it has."""
    order = [F("declared_key"), F("project_id"), F("channel")]
    place = Window(RowNumber(), partition_by=F("entity"), order_by=order)
    found = (
        EntityAlias.objects.filter(store=store, entity__in=entities)
        .annotate(place=place, of=Window(Count("pk"), partition_by=F("entity")))
        .filter(place__lte=_ALIASES_SHOWN)
        .order_by("entity", "place")
    )
    aliases: dict[int, tuple[list[dict[str, str]], int]] = {}
    for row in found:
        shown, _ = aliases.setdefault(row.entity_id, ([], row.of))
        shown.append({"alias": row.alias, "project_id": row.project_id, "channel": row.channel})
    return aliases


def entity_details(store: Store, number: int) -> dict[str, Any]:
    """One entity with where it is mentioned and what it is associated with. Raises NotFound."""
    with snapshot():
        entity = entities_of(store, {}).filter(number=number).first()
        if entity is None:
            raise NotFound("No such entity")
        mentions = (
            Mention.objects.filter(store=store, entity=entity)
            .order_by(Coalesce("record__number", "summary__number"), F("summary").asc(nulls_last=True))
            .values_list("record__number", "summary__number")
        )
        related = associations_of(store).joining(entity)
        return entity_shapes(store, [entity])[0] | {
            "mentions": [
                f"mem:{record}" if record is not None else f"ep:{summary}"
                for record, summary in mentions[:SHOWN]
            ],
            "associations": [association_shape(row) for row in related.order_by("-number")[:SHOWN]],
        }


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
