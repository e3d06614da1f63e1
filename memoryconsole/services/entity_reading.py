"""Entities as lists and pages show them. A merged one is told at its survivor: there are its names and mentions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery, Window
from django.db.models.functions import Coalesce, RowNumber

from memoryconsole.errors import NotFound
from memoryconsole.folding import declared_key
from memoryconsole.identity import NONE, Merges, read_merges
from memoryconsole.listing import page
from memoryconsole.models import Entity, EntityAlias, Mention, MergeEvent, Store
from memoryconsole.models.graph import EntityStatus, with_keys
from memoryconsole.services.graph import SHOWN, association_shapes, associations_of, joining_entities
from memoryconsole.snapshot import snapshot
from memoryconsole.times import write_stamp

# As many as one call declares for an entity.
_ALIASES_SHOWN = 32


def entities_of(store: Store, query: Mapping[str, Any]) -> "QuerySet[Any]":
    """The store's entities with their `mention_count` and whether each absorbed others (`absorbs`).

    `name` finds by name or alias, folded; a merged entity's names find its survivor too (a statement more).
    """
    rows = Entity.objects.filter(store=store)
    for name in ("project_id", "channel", "status"):
        if name in query:
            rows = rows.filter(**{name: query[name]})
    if "name" in query:
        rows = rows.filter(_called(store, query["name"]))
    mentions = Mention.objects.filter(store=store, entity=OuterRef("pk")).order_by().values("entity")
    counted = Subquery(mentions.annotate(count=_ROWS).values("count"))
    absorbed = Entity.objects.filter(store=store, merged_into=OuterRef("pk"))
    return rows.select_related("merged_into").annotate(
        mention_count=Coalesce(counted, 0), absorbs=Exists(absorbed)
    )


# A row that mentions an entity at several places is one row.
_ROWS = Count("record", distinct=True) + Count("summary", distinct=True)


def _called(store: Store, name: str) -> Q:
    keys = [declared_key(name)]
    aliased = with_keys(EntityAlias.objects.filter(store=store), keys).values("entity")
    named = with_keys(Entity.objects.filter(store=store), keys).values("pk")
    called = Q(pk__in=named) | Q(pk__in=aliased)
    merged = list(
        Entity.objects.filter(called, store=store, merged_into__isnull=False).values_list("pk", flat=True)
    )
    if not merged:
        return called
    merges = read_merges(store)
    return called | Q(pk__in={pk for each in merged if (pk := merges.survivor(each)) is not None})


def entity_shapes(store: Store, entities: Iterable[Any]) -> list[dict[str, Any]]:
    """Entities as lists answer them, from `entities_of`: one statement for all their aliases; three more when one of
    them has absorbed others.
    """
    rows = list(entities)
    if not rows:
        return []
    merges = read_merges(store) if any(row.absorbs for row in rows) else NONE
    active = [row.pk for row in rows if row.status != EntityStatus.MERGED]
    counts = {row.pk: row.mention_count for row in rows if row.status != EntityStatus.MERGED}
    aliases = _aliases(store, merges, active)
    families = [pk for pk in active if len(merges.members(pk)) > 1]
    if families:
        counts |= _mention_counts(store, merges, families)
    return [_shape(row, aliases.get(row.pk, _Aliases()), counts.get(row.pk, 0)) for row in rows]


@dataclass(slots=True)
class _Aliases:
    """Some of an entity's further names, by key, and how many it has."""

    shown: tuple[tuple[str, dict[str, str]], ...] = ()
    count: int = 0

    def add(self, names: Sequence[tuple[str, dict[str, str]]], count: int) -> None:
        ordered = sorted([*self.shown, *names], key=lambda name: (name[0], *name[1].values()))
        self.shown = tuple(ordered[:_ALIASES_SHOWN])
        self.count += count


def _aliases(store: Store, merges: Merges, entities: Sequence[int]) -> dict[int, _Aliases]:
    """Each entity's first further names, with the scope that declared them: its aliases, those of what it absorbed,
    and their names.
    """
    survivor = merges.by_survivor(entities)
    order = [F("declared_key"), F("project_id"), F("channel"), F("pk")]
    members = merges.members_of(entities)
    rows: Any = EntityAlias.objects.filter(store=store, entity__in=members).annotate(
        survivor=survivor,
        place=Window(RowNumber(), partition_by=survivor, order_by=order),
        of=Window(Count("pk"), partition_by=survivor),
    )
    found: dict[int, _Aliases] = {}
    for row in rows.filter(place__lte=_ALIASES_SHOWN).order_by("survivor", "place"):
        aliases = found.setdefault(row.survivor, _Aliases(count=row.of))
        aliases.shown += ((row.declared_key, _name(row.alias, row)),)
    absorbed = members.difference(entities)
    if absorbed:
        for entity in Entity.objects.filter(store=store, pk__in=absorbed):
            read_as = merges.survivor(entity.pk)
            if read_as is not None:
                aliases = found.setdefault(read_as, _Aliases())
                aliases.add([(entity.declared_key, _name(entity.name, entity))], 1)
    return found


def _name(text: str, row: Entity | EntityAlias) -> dict[str, str]:
    return {"alias": text, "project_id": row.project_id, "channel": row.channel}


def _mention_counts(store: Store, merges: Merges, entities: Sequence[int]) -> dict[int, int]:
    """How many rows mention each entity, by what is stored of any of its members (one statement)."""
    rows: Any = (
        Mention.objects.filter(store=store, entity__in=merges.members_of(entities))
        .annotate(survivor=merges.by_survivor(entities))
        .order_by()
        .values("survivor")
        .annotate(count=_ROWS)
    )
    return {row["survivor"]: row["count"] for row in rows}


def _shape(entity: Any, aliases: _Aliases, mention_count: int) -> dict[str, Any]:
    return {
        "id": entity.number,
        "entity_id": str(entity.uuid),
        "name": entity.name,
        "project_id": entity.project_id,
        "channel": entity.channel,
        "status": entity.status,
        "merged_into": str(entity.merged_into.uuid) if entity.merged_into else None,
        "aliases": [name for _, name in aliases.shown],
        "alias_count": aliases.count,
        "mention_count": mention_count,
        "declared_by": entity.declared_by,
        "created_at": write_stamp(entity.created_at),
    }


def entity_details(store: Store, number: int) -> dict[str, Any]:
    """One entity with where it is mentioned and what it is associated with. Raises NotFound."""
    with snapshot():
        entity = _find(store, number=number)
        members = _members(store, entity)
        mentions: Any = (
            Mention.objects.filter(store=store, entity__in=members)
            .order_by(Coalesce("record__number", "summary__number"), F("summary").asc(nulls_last=True))
            .values_list("record__number", "summary__number")
            .annotate(spans=Count("pk"))
        )
        related = joining_entities(associations_of(store), members).order_by("-number")
        return entity_shapes(store, [entity])[0] | {
            "mentions": [
                f"mem:{record}" if record is not None else f"ep:{summary}"
                for record, summary, _ in mentions[:SHOWN]
            ],
            "associations": association_shapes(store, related[:SHOWN]),
        }


def entity_whole(store: Store, uuid: UUID, query: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """(one entity with its newest merges and a page of its mentions, newest first; its version). Raises NotFound.

    `query`: a PageIn, of the mentions.
    """
    with snapshot():
        entity = _find(store, uuid=uuid)
        members = _members(store, entity)
        rows = Mention.objects.filter(store=store, entity__in=members).select_related(
            "entity", "record", "summary"
        )
        rows = rows.defer("record__content", "record__tool_calls", "summary__summary")
        found, cursor = page(rows, dict(query), order="pk", list="mentions", store=store.pk, entity=str(uuid))
        merges = merges_of(store, uuid, None).order_by("-merged_at", "-pk")[:SHOWN]
        shape = entity_shapes(store, [entity])[0] | {
            "survivor": _survivor(store, entity),
            "merges": [_merge_shape(event) for event in merges],
            "mentions": {"results": [_mention_shape(row) for row in found], "next_cursor": cursor},
        }
        return shape, entity.row_version


def merges_of(store: Store, entity: UUID | None, in_force: bool | None) -> "QuerySet[MergeEvent]":
    """The store's merges with both entities joined in; of one entity, on either side; those in force, or those that
    were reversed.
    """
    rows = MergeEvent.objects.filter(store=store).select_related("survivor", "absorbed")
    if entity is not None:
        rows = rows.filter(Q(survivor__uuid=entity) | Q(absorbed__uuid=entity))
    if in_force is not None:
        rows = rows.filter(reversed_at__isnull=in_force)
    return rows


def _merge_shape(event: MergeEvent) -> dict[str, Any]:
    return merge_shape(event) | {
        "survivor_name": event.survivor.name,
        "absorbed_name": event.absorbed.name,
    }


def merge_shape(event: MergeEvent) -> dict[str, Any]:
    """A merge, its two entities joined in, without their names."""
    return {
        "merge_id": str(event.uuid),
        "survivor_id": str(event.survivor.uuid),
        "absorbed_id": str(event.absorbed.uuid),
        "merged_at": write_stamp(event.merged_at),
        "reversed_at": write_stamp(event.reversed_at) if event.reversed_at else None,
    }


def _find(store: Store, **wanted: Any) -> Any:
    entity = entities_of(store, {}).filter(**wanted).first()
    if entity is None:
        raise NotFound("No such entity")
    return entity


def _members(store: Store, entity: Any) -> tuple[int, ...]:
    """Whose rows are told at the entity: none for one that was merged away (a statement more for a survivor)."""
    if entity.status == EntityStatus.MERGED:
        return ()
    return read_merges(store).members(entity.pk) if entity.absorbs else (entity.pk,)


def _survivor(store: Store, entity: Any) -> str | None:
    """The id that a merged entity leads to in the end, at once its own when it is not merged; None: to nothing."""
    if entity.status != EntityStatus.MERGED:
        return str(entity.uuid) if entity.status == EntityStatus.ACTIVE else None
    survivor = read_merges(store).survivor(entity.pk) if entity.merged_into_id else None
    if survivor is None:
        return None
    return str(Entity.objects.values_list("uuid", flat=True).get(pk=survivor))


def _mention_shape(mention: Mention) -> dict[str, Any]:
    """A mention, by which entity it was declared for. Offsets count in the row's own text."""
    row = mention.record or mention.summary
    if row is None:
        raise RuntimeError("a mention without a place")
    return {
        "ref": row.ref,
        "chunk_id": str(mention.record.uuid) if mention.record else None,
        "entity_id": str(mention.entity.uuid),
        "char_start": mention.char_start,
        "char_end": mention.char_end,
        "declared_by": mention.declared_by,
        "created_at": write_stamp(mention.created_at),
    }
