"""Entities made on purpose, their aliases, and where they are mentioned (contract: context-bundle A.3, M.2).

`declare` reuses what a name resolves to; these commands never do: two entities may have one name.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import F

from memoryconsole.errors import Fault, InvalidParameter, NotFound, StaleResource, StateConflict
from memoryconsole.folding import declared_key, resolve_key
from memoryconsole.identity import survivors
from memoryconsole.models import Entity, EntityAlias, Mention, Passage, Record, Store
from memoryconsole.models.graph import EntityStatus, with_keys
from memoryconsole.services.numbering import lock_counter, take_numbers
from memoryconsole.services.profiles import follow_names

DeclaredBy = Literal["agent", "operator"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntity:
    """An entity to create. Names are trimmed; `aliases` are read in its scope."""

    name: str
    aliases: Sequence[str] = ()
    project_id: str = ""
    channel: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMention:
    """Where an entity is mentioned: `chunk` is a record's UUID, `start` and `end` code points of its representation
    (for a passage: the text of the document's version), or `quote`, words that stand there exactly once.
    """

    chunk: UUID
    entity: UUID
    start: int | None = None
    end: int | None = None
    quote: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mentioned:
    """A stored mention, with its place in the representation."""

    mention: Mention
    start: int
    end: int
    created: bool


@transaction.atomic
def create_entity(store: Store, wanted: NewEntity, *, declared_by: DeclaredBy, now: datetime) -> Entity:
    """A new entity, whoever else has the name. Aliases that fold alike, or like the name, are one."""
    counter = lock_counter(store)
    (number,) = take_numbers(counter, "entity", 1)
    counter.save(update_fields=["entity"])
    entity = Entity.objects.create(
        store=store,
        number=number,
        uuid=uuid4(),
        project_id=wanted.project_id,
        channel=wanted.channel,
        name=wanted.name,
        declared_key=declared_key(wanted.name),
        resolve_key=resolve_key(wanted.name),
        declared_by=declared_by,
        created_at=now,
    )
    by_key = {declared_key(alias): alias for alias in reversed(wanted.aliases)}
    by_key.pop(entity.declared_key, None)
    EntityAlias.objects.bulk_create(_alias(entity, alias) for alias in reversed(by_key.values()))
    return entity


@transaction.atomic
def add_alias(
    store: Store, entity_uuid: UUID, alias: str, *, if_version: int | None = None, now: datetime
) -> tuple[Entity, bool]:
    """(the entity, whether the alias is new). It is read in the entity's scope, whoever else is called so.

    Raises NotFound, StaleResource, StateConflict for an entity that is not active.
    """
    lock_counter(store)
    entity = Entity.objects.filter(store=store, uuid=entity_uuid).first()
    if entity is None:
        raise NotFound("No such entity")
    if if_version is not None and entity.row_version != if_version:
        raise StaleResource(f"The entity is at version {entity.row_version}")
    _check_active(store, entity)
    key = declared_key(alias)
    known = with_keys(
        EntityAlias.objects.filter(
            store=store, entity=entity, project_id=entity.project_id, channel=entity.channel
        ),
        [key],
    )
    if key == entity.declared_key or known.exists():
        return entity, False
    _alias(entity, alias).save()
    Entity.objects.filter(pk=entity.pk).update(row_version=F("row_version") + 1)
    entity.row_version += 1
    follow_names(store, [entity.pk], now=now)
    return entity, True


@transaction.atomic
def add_mention(store: Store, wanted: NewMention, *, declared_by: DeclaredBy, now: datetime) -> Mentioned:
    """A record mentions an entity at a place; the same again is the mention there is.

    Raises InvalidParameter for a chunk or an entity that is not there, and for a place that is not inside the chunk;
    StateConflict for an entity that is not active.
    """
    lock_counter(store)
    record = Record.objects.live().filter(store=store, uuid=wanted.chunk).first()
    passage = Passage.objects.select_related("version__document").filter(record=record).first()
    if record is None or (passage is not None and _is_deleted(passage)):
        raise _invalid("/chunk_id", "unknown", "No such chunk of this store.")
    entity = Entity.objects.filter(store=store, uuid=wanted.entity).first()
    if entity is None:
        raise _invalid("/entity_id", "unknown", "No such entity of this store.")
    _check_active(store, entity)
    # Places are stored as code points of the record's own text.
    offset = passage.char_start if passage is not None else 0
    start, end = _place(record.content, wanted, offset)
    mention, created = Mention.objects.get_or_create(
        store=store,
        entity=entity,
        record=record,
        summary=None,
        char_start=start,
        char_end=end,
        defaults={"declared_by": declared_by, "created_at": now},
    )
    return Mentioned(mention=mention, start=offset + start, end=offset + end, created=created)


def lose_places(store: Store, record: Record) -> None:
    """The record's text is another one now: what it mentions stays, no place of the old text does.

    Call in the transaction that changes the text.
    """
    mentions = Mention.objects.filter(store=store, record=record)
    kept = mentions.order_by("entity", "created_at", "pk").distinct("entity").values("pk")
    mentions.exclude(pk__in=list(kept.values_list("pk", flat=True))).delete()
    mentions.update(char_start=None, char_end=None)


def _alias(entity: Entity, alias: str) -> EntityAlias:
    return EntityAlias(
        store_id=entity.store_id,
        entity=entity,
        project_id=entity.project_id,
        channel=entity.channel,
        alias=alias,
        declared_key=declared_key(alias),
        resolve_key=resolve_key(alias),
    )


def _check_active(store: Store, entity: Entity) -> None:
    if entity.status == EntityStatus.ACTIVE:
        return
    where = [f" into {each.uuid}" for each in survivors(store, keys=[entity.pk])]
    raise StateConflict(f"The entity {entity.uuid} is {entity.status}{''.join(where)}")


def _is_deleted(passage: Passage) -> bool:
    return passage.version.deleted_at is not None or passage.version.document.deleted_at is not None


def _place(text: str, wanted: NewMention, offset: int) -> tuple[int, int]:
    """Where in the record's text, which begins at `offset` of the representation. Raises InvalidParameter."""
    if wanted.quote is not None:
        return _find(text, wanted.quote)
    if wanted.start is None or wanted.end is None:
        raise _invalid("", "required", "Give start and end, or a quote.")
    if not 0 <= wanted.start - offset < wanted.end - offset <= len(text):
        inside = f"[{offset}, {offset + len(text)})"
        raise _invalid("/start", "out_of_range", f"[{wanted.start}, {wanted.end}) is no place in {inside}.")
    return wanted.start - offset, wanted.end - offset


def _find(text: str, quote: str) -> tuple[int, int]:
    start = text.find(quote)
    if start < 0:
        raise _invalid("/quote", "not_found", "The chunk does not hold this text.")
    if text.find(quote, start + 1) >= 0:
        raise _invalid("/quote", "ambiguous", "The chunk holds this text more than once: give start and end.")
    return start, start + len(quote)


def _invalid(pointer: str, code: str, message: str) -> InvalidParameter:
    return InvalidParameter.of(Fault(pointer, code, message))
