"""Exported entities, aliases, mentions and associations become rows again. `rows.py` says how rows are known."""

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Q

from memoryconsole.folding import declared_key, resolve_key
from memoryconsole.models import Association, Entity, EntityAlias, Mention, Record, Summary
from memoryconsole.models.records import char_length
from memoryconsole.services.numbering import lock_counter, take_numbers
from memoryconsole.services.transfer.lines import BadLine
from memoryconsole.services.transfer.rows import (
    Context,
    Item,
    Outcome,
    check_number,
    known_rows,
    taken_numbers,
)

_MODELS: dict[str, Any] = {"entity": Entity, "record": Record, "summary": Summary}
# The columns of an association that make it the same one, in the order of its unique key.
_SAME = (
    "project_id", "channel", "predicate", "subject_entity_id", "subject_record_id", "subject_summary_id",
    "object_entity_id", "object_record_id", "object_summary_id", "anchor_record_id", "anchor_summary_id",
)  # fmt: skip


def store_entities(context: Context, items: Sequence[Item]) -> Outcome:
    """Insert entities under their UUIDs. Call in a transaction."""
    counter = lock_counter(context.store)
    known = known_rows(context.store, Entity, (m["uuid"] for _, m in items), "name", "project_id", "channel")
    taken = taken_numbers(context, Entity, items)
    outcome = Outcome()
    fresh: list[Entity] = []
    for line, members in items:
        try:
            if members["uuid"] in known:
                _check_same(known[members["uuid"]], members)
                outcome.duplicate += 1
                continue
            check_number(context, "entity", members["number"], taken)
        except BadLine as bad:
            outcome.refused.append((line, bad))
            continue
        names = ("uuid", "number", "project_id", "channel", "name", "declared", "declared_by")
        entity = Entity(
            store=context.store,
            declared_key=declared_key(members["name"]),
            resolve_key=resolve_key(members["name"]),
            created_at=members["created_at"] if context.restoring else context.now,
            **{name: members[name] for name in names},
        )
        known[entity.uuid] = entity
        fresh.append(entity)
    if context.restoring is None:
        for entity, number in zip(fresh, take_numbers(counter, "entity", len(fresh)), strict=True):
            entity.number = number
        counter.save(update_fields=["entity"])
    Entity.objects.bulk_create(fresh)
    outcome.created = len(fresh)
    return outcome


def _check_same(entity: Entity, members: dict[str, Any]) -> None:
    if any(getattr(entity, name) != members[name] for name in ("name", "project_id", "channel")):
        raise BadLine("conflict", "An entity with this UUID is here and has another name or scope.", "/uuid")


def store_aliases(context: Context, items: Sequence[Item]) -> Outcome:
    """Insert aliases of entities that are here. Call in a transaction."""
    lock_counter(context.store)
    places = _Places(context, (("entity", m["entity"]) for _, m in items))
    rows = EntityAlias.objects.filter(store=context.store, entity__in=places.keys("entity"))
    known = set(rows.values_list("entity_id", "project_id", "channel", "declared_key"))
    outcome = Outcome()
    fresh: list[EntityAlias] = []
    for line, members in items:
        try:
            entity = places.find(("entity", members["entity"]), "/entity")
        except BadLine as bad:
            outcome.refused.append((line, bad))
            continue
        alias = EntityAlias(
            store=context.store,
            entity_id=entity,
            project_id=members["project_id"],
            channel=members["channel"],
            alias=members["alias"],
            declared_key=declared_key(members["alias"]),
            resolve_key=resolve_key(members["alias"]),
        )
        same = (entity, alias.project_id, alias.channel, alias.declared_key)
        _note(outcome, known, same, alias, fresh)
    EntityAlias.objects.bulk_create(fresh)
    return outcome


def store_mentions(context: Context, items: Sequence[Item]) -> Outcome:
    """Insert mentions whose entity and row are here. Call in a transaction."""
    lock_counter(context.store)
    named = [("entity", m["entity"]) for _, m in items] + [m["by"] for _, m in items]
    places = _Places(context, named)
    by_row = Q(record__in=places.keys("record")) | Q(summary__in=places.keys("summary"))
    rows = Mention.objects.filter(by_row, store=context.store, entity__in=places.keys("entity"))
    known = set(rows.values_list("entity_id", "record_id", "summary_id", "char_start", "char_end"))
    lengths = places.lengths({m["by"] for _, m in items if "char_end" in m})
    outcome = Outcome()
    fresh: list[Mention] = []
    for line, members in items:
        try:
            entity = places.find(("entity", members["entity"]), "/entity")
            ends = places.columns("", members["by"], "/by", "record", "summary")
            _check_inside(members, lengths)
        except BadLine as bad:
            outcome.refused.append((line, bad))
            continue
        mention = Mention(
            store=context.store,
            entity_id=entity,
            **ends,
            char_start=members.get("char_start"),
            char_end=members.get("char_end"),
            declared_by=members["declared_by"],
            created_at=members["created_at"] if context.restoring else context.now,
        )
        same = (entity, mention.record_id, mention.summary_id, mention.char_start, mention.char_end)
        _note(outcome, known, same, mention, fresh)
    Mention.objects.bulk_create(fresh)
    return outcome


def _check_inside(members: dict[str, Any], lengths: dict[tuple[str, uuid.UUID], int]) -> None:
    if members.get("char_end", 0) > lengths.get(members["by"], 0):
        raise BadLine("out_of_range", "Lies behind the end of the text.", "/char_end")


def store_associations(context: Context, items: Sequence[Item]) -> Outcome:
    """Insert associations whose ends and anchor are here. Call in a transaction."""
    counter = lock_counter(context.store)
    named = [m[end] for _, m in items for end in ("subject", "object", "anchor") if end in m]
    places = _Places(context, named)
    known = set(_between(context, places).values_list(*_SAME))
    taken = taken_numbers(context, Association, items)
    outcome = Outcome()
    fresh: list[Association] = []
    for line, members in items:
        try:
            row = _association(context, places, members)
            same = tuple(getattr(row, column) for column in _SAME)
            if same not in known:
                check_number(context, "association", row.number, taken)
        except BadLine as bad:
            outcome.refused.append((line, bad))
            continue
        _note(outcome, known, same, row, fresh)
    if context.restoring is None:
        for row, number in zip(fresh, take_numbers(counter, "association", len(fresh)), strict=True):
            row.number = number
        counter.save(update_fields=["association"])
    Association.objects.bulk_create(fresh)
    return outcome


def _between(context: Context, places: "_Places") -> Any:
    """The store's associations that start and end among these rows."""
    starts, ends = Q(), Q()
    for kind in _MODELS:
        starts |= Q(**{f"subject_{kind}__in": places.keys(kind)})
        ends |= Q(**{f"object_{kind}__in": places.keys(kind)})
    return Association.objects.filter(starts & ends, store=context.store)


def _association(context: Context, places: "_Places", members: dict[str, Any]) -> Association:
    ends = places.columns("subject_", members["subject"], "/subject", *_MODELS)
    ends |= places.columns("object_", members["object"], "/object", *_MODELS)
    if "anchor" in members:
        ends |= places.columns("anchor_", members["anchor"], "/anchor", "record", "summary")
    return Association(
        store=context.store,
        number=members["number"],
        project_id=members["project_id"],
        channel=members["channel"],
        predicate=declared_key(members["predicate"]),
        declared_by=members["declared_by"],
        declared_at=members["declared_at"] if context.restoring else context.now,
        **ends,
    )


def _note(outcome: Outcome, known: set[Any], same: Any, row: Any, fresh: list[Any]) -> None:
    if same in known:
        outcome.duplicate += 1
        return
    known.add(same)
    fresh.append(row)
    outcome.created += 1


class _Places:
    """Where rows of the file are in this store: primary keys by (kind, UUID), live rows alone."""

    def __init__(self, context: Context, named: Iterable[tuple[str, uuid.UUID]]) -> None:
        wanted: dict[str, set[uuid.UUID]] = {kind: set() for kind in _MODELS}
        for kind, uid in named:
            wanted[kind].add(uid)
        self._found: dict[str, dict[uuid.UUID, int]] = {}
        for kind, uids in wanted.items():
            rows = _MODELS[kind].objects if kind == "entity" else _MODELS[kind].objects.live()
            pairs = rows.filter(store=context.store, uuid__in=uids).values_list("uuid", "pk")
            self._found[kind] = dict(pairs) if uids else {}

    def keys(self, kind: str) -> list[int]:
        return [*self._found[kind].values()]

    def lengths(self, wanted: Iterable[tuple[str, uuid.UUID]]) -> dict[tuple[str, uuid.UUID], int]:
        """How long the texts of these records and summaries are, in code points (a statement a kind)."""
        found: dict[tuple[str, uuid.UUID], int] = {}
        for kind, text in (("record", "content"), ("summary", "summary")):
            keys = [
                self._found[kind][uid] for each, uid in wanted if each == kind and uid in self._found[kind]
            ]
            if keys:
                rows = _MODELS[kind].objects.filter(pk__in=keys).annotate(length=char_length(text))
                found |= {(kind, uid): length for uid, length in rows.values_list("uuid", "length")}
        return found

    def find(self, place: tuple[str, uuid.UUID], pointer: str) -> int:
        """Raises BadLine."""
        kind, uid = place
        found = self._found[kind].get(uid)
        if found is None:
            raise BadLine("unknown_row", f"The {kind} it names is not here.", pointer)
        return found

    def columns(
        self, prefix: str, place: tuple[str, uuid.UUID], pointer: str, *kinds: str
    ) -> dict[str, int | None]:
        """The foreign keys of one end: the one that is set, the others None. Raises BadLine."""
        found = self.find(place, pointer)
        return {f"{prefix}{kind}_id": found if kind == place[0] else None for kind in kinds}
