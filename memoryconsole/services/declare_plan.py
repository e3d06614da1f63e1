"""What a declaration comes to in a store as it is: reused, registered, dropped, retracted. Reads only.

Names and aliases are one namespace, and one scope is searched after the other: the declaration's own, then what it
shares with others, the global pool last (reconstruct J). What an earlier item registers, a later one finds.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Q

from memoryconsole.declarations import Declaration, End, Name, RowRef, WantedEntity, WantedRelation
from memoryconsole.identity import NONE, Merges, read_merges
from memoryconsole.models import Association, Entity, Mention, Record, Store, Summary
from memoryconsole.models.graph import KeyDigest, digest_of_key
from memoryconsole.services.declare_names import Names, PlannedEntity, Scope, levels_of

_ENDS = ("subject", "object", "anchor")


@dataclass(frozen=True, slots=True)
class Row:
    """A stored record or summary, as an end, an anchor or where an entity is mentioned."""

    ref: RowRef
    pk: int

    def columns(self, prefix: str) -> dict[str, int]:
        return {f"{prefix}{'record' if self.ref.kind == 'mem' else 'summary'}_id": self.pk}


PlannedEnd = PlannedEntity | Row


@dataclass(eq=False, slots=True)
class PlannedRelation:
    """A relation, stored (`number`) or to be registered."""

    scope: Scope
    subject: PlannedEnd
    predicate: str
    object: PlannedEnd
    anchor: Row | None
    number: int | None = None

    def columns(self) -> dict[str, int]:
        anchor = self.anchor.columns("anchor_") if self.anchor is not None else {}
        return self.subject.columns("subject_") | self.object.columns("object_") | anchor

    def is_between_stored(self) -> bool:
        return not any(
            isinstance(end, PlannedEntity) and end.pk is None for end in (self.subject, self.object)
        )


@dataclass(frozen=True, slots=True)
class PlannedAlias:
    entity: PlannedEntity
    scope: Scope
    name: Name


class Retraction:
    """The associations and mentions of the store that a declaration takes back. Those of others are not found."""

    def __init__(self, store: Store, declaration: Declaration) -> None:
        self.relations: set[int] = set()
        self.mentions: dict[int, set[tuple[int, RowRef]]] = {}
        if declaration.gone_relations:
            found = Association.objects.filter(store=store, number__in=set(declaration.gone_relations))
            self.relations = set(found.values_list("pk", flat=True))
        if declaration.gone_mentions:
            self._find_mentions(store, set(declaration.gone_mentions))

    def _find_mentions(self, store: Store, wanted: set[tuple[int, RowRef]]) -> None:
        number_of = _members(store, {entity for entity, _ in wanted})
        at = Q()
        for column, kind in (("record", "mem"), ("summary", "ep")):
            numbers = {ref.number for _, ref in wanted if ref.kind == kind}
            if numbers:
                at |= Q(**{f"{column}__number__in": numbers})
        found = Mention.objects.filter(at, store=store, entity__in=number_of)
        for pk, entity, record, summary in found.values_list(
            "pk", "entity_id", "record__number", "summary__number"
        ):
            ref = RowRef("mem", record) if record is not None else RowRef("ep", summary)
            pairs = wanted & {(number, ref) for number in number_of[entity]}
            if pairs:
                self.mentions[pk] = pairs

    def counts(self) -> dict[str, int]:
        # However many places a row mentions an entity at, that is one mention.
        mentions = {pair for pairs in self.mentions.values() for pair in pairs}
        return {"relations": len(self.relations), "mentions": len(mentions)}

    def apply(self) -> None:
        if self.relations:
            Association.objects.filter(pk__in=self.relations).delete()
        if self.mentions:
            Mention.objects.filter(pk__in=self.mentions).delete()


class Planner:
    """Plans declarations one after the other. Call `compare` when all are planned: it finds what is there already."""

    def __init__(
        self, store: Store, declarations: Sequence[Declaration], retraction: Retraction | None = None
    ) -> None:
        self._store = store
        self.retraction = retraction
        self._names = Names(store, declarations)
        self._rows = _rows(store, declarations)
        self._mentions: dict[tuple[PlannedEntity, Row], None] = {}
        self._relations: dict[tuple[Any, ...], PlannedRelation] = {}
        self.new_entities: list[PlannedEntity] = []
        self.new_aliases: list[PlannedAlias] = []
        self.new_mentions: list[tuple[PlannedEntity, Row]] = []
        self.new_relations: list[PlannedRelation] = []

    def row(self, ref: RowRef | None) -> Row | None:
        """The live row that a ref leads to; None when it leads to none."""
        return self._rows.get(ref) if ref is not None else None

    def entity(self, declaration: Declaration, wanted: WantedEntity) -> tuple[PlannedEntity, bool]:
        """The entity a name resolves to, and whether it had to be registered. Its aliases are added or dropped."""
        levels = levels_of(declaration)
        found = self._names.resolve(wanted.name.key, levels)
        entity = found or self._register(wanted.name, levels[0])
        for path, alias in wanted.aliases:
            holders = self._names.holders(alias.key, levels)
            if entity in holders:
                continue
            if holders:
                declaration.dropped.add(path, "already names another entity in this scope")
                continue
            self.new_aliases.append(PlannedAlias(entity, levels[0], alias))
            self._names.add(alias.key, levels[0], entity)
        return entity, found is None

    def mention(self, entity: PlannedEntity, row: Row) -> None:
        self._mentions[entity, row] = None

    def relation(
        self, declaration: Declaration, wanted: WantedRelation, anchor: Row | None, *, lost: bool
    ) -> PlannedRelation | None:
        """The relation of two valid ends; None, and nothing registered, when it is dropped.

        `lost`: it was to be anchored in what is no row.
        """
        faults = [
            name
            for name, end in (("subject", wanted.subject), ("object", wanted.object))
            if isinstance(end, RowRef) and end not in self._rows
        ]
        for name in faults:
            declaration.dropped.add(f"{wanted.path}.{name}", "is no record or summary of this store")
        if lost:
            declaration.dropped.add(wanted.path, "its anchor_ref is no record or summary of this store")
        if faults or lost:
            return None
        levels = levels_of(declaration)
        subject, object_ = self._end(wanted.subject, levels), self._end(wanted.object, levels)
        key = (levels[0], subject, wanted.predicate.key, object_, anchor)
        return self._relations.setdefault(
            key, PlannedRelation(levels[0], subject, wanted.predicate.key, object_, anchor)
        )

    def _end(self, end: End, levels: Sequence[Scope]) -> PlannedEnd:
        if isinstance(end, RowRef):
            return self._rows[end]
        return self._names.resolve(end.key, levels) or self._register(end, levels[0])

    def _register(self, name: Name, scope: Scope) -> PlannedEntity:
        entity = PlannedEntity(name.text, name.key, scope, order=(1, len(self.new_entities)))
        self.new_entities.append(entity)
        self._names.add(name.key, scope, entity)
        return entity

    def compare(self) -> None:
        """Tell the mentions and relations that are new from those that are stored and stay (two statements)."""
        mentioned = self._stored_mentions()
        self.new_mentions = [
            (entity, row)
            for entity, row in self._mentions
            if (entity.pk, *_row_columns(row)) not in mentioned
        ]
        stored = self._stored_relations()
        for relation in self._relations.values():
            # Two anchors or scopes make two relations: all of it is the key.
            if relation.is_between_stored():
                relation.number = stored.get(_key_of(relation))
        self.new_relations = [each for each in self._relations.values() if each.number is None]

    def _stored_mentions(self) -> set[tuple[int | None, int | None, int | None]]:
        entities = {entity.pk for entity, _ in self._mentions if entity.pk is not None}
        if not entities:
            return set()
        rows = {row for _, row in self._mentions}
        members = self._names.merges.members_of(entities)
        found = Mention.objects.filter(_at("", rows), store=self._store, entity__in=members)
        gone = set(self.retraction.mentions) if self.retraction is not None else set()
        columns = found.values_list("pk", "entity_id", "record_id", "summary_id")
        read_as = self._names.merges.survivor
        return {
            (read_as(entity), record, summary) for pk, entity, record, summary in columns if pk not in gone
        }

    def _stored_relations(self) -> dict[tuple[Any, ...], int]:
        wanted = [relation for relation in self._relations.values() if relation.is_between_stored()]
        if not wanted:
            return {}
        digests = {digest_of_key(relation.predicate) for relation in wanted}
        found = (
            Association.objects.alias(predicate_digest=KeyDigest("predicate"))
            .filter(
                self._at("subject_", {relation.subject for relation in wanted}),
                self._at("object_", {relation.object for relation in wanted}),
                store=self._store,
                predicate_digest__in=digests,
            )
            .values_list("pk", "number", "project_id", "channel", "predicate", *_end_columns())
        )
        gone = self.retraction.relations if self.retraction is not None else set()
        stored: dict[tuple[Any, ...], int] = {}
        for pk, number, project_id, channel, predicate, *ends in found.order_by("number"):
            if pk not in gone:
                # Two of entities that are one since say the same: the first does.
                stored.setdefault((project_id, channel, predicate, *self._read_as(ends)), number)
        return stored

    def _at(self, prefix: str, ends: Iterable[PlannedEnd]) -> Q:
        """Associations one of whose ends is one of these, or was merged into one."""
        return _at(prefix, ends, self._names.merges)

    def _read_as(self, ends: Sequence[int | None]) -> Iterator[int | None]:
        """The foreign keys of an association's ends, those of entities followed."""
        for column, pk in zip(_end_columns(), ends, strict=True):
            yield self._names.merges.survivor(pk) if pk is not None and "_entity_" in column else pk

    def registered(self) -> dict[str, Any]:
        """What applying the plan would add, for people to read. Call after `compare`."""
        return {
            "entities": [entity.name for entity in self.new_entities],
            "aliases": [
                {"entity": alias.entity.name, "alias": alias.name.text} for alias in self.new_aliases
            ],
            "mentions": [{"entity": entity.name, "ref": str(row.ref)} for entity, row in self.new_mentions],
            "relations": [
                {
                    "subject": _shown(relation.subject),
                    "predicate": relation.predicate,
                    "object": _shown(relation.object),
                }
                for relation in self.new_relations
            ],
        }


def _members(store: Store, numbers: set[int]) -> dict[int, set[int]]:
    """Whose mentions are those of the entities of these numbers: by primary key, the numbers (one statement, two when
    others were merged into one of them). Of one that was merged away, its own alone.
    """
    others = Entity.objects.filter(store=store, merged_into=OuterRef("pk"))
    found: Any = Entity.objects.filter(store=store, number__in=numbers).annotate(absorbs=Exists(others))
    rows = list(found.values_list("pk", "number", "absorbs"))
    merges = read_merges(store) if any(absorbs for *_, absorbs in rows) else NONE
    number_of: dict[int, set[int]] = defaultdict(set)
    for pk, number, _ in rows:
        for member in merges.members(pk):
            number_of[member].add(number)
    return number_of


def _rows(store: Store, declarations: Sequence[Declaration]) -> dict[RowRef, Row]:
    """The live rows among those that are named (two statements)."""
    named = {declaration.anchor for declaration in declarations if declaration.anchor is not None}
    for declaration in declarations:
        for relation in declaration.relations:
            named |= {end for end in (relation.subject, relation.object) if isinstance(end, RowRef)}
    rows: dict[RowRef, Row] = {}
    tables: tuple[tuple[Any, Any], ...] = (("mem", Record), ("ep", Summary))
    for kind, table in tables:
        numbers = {ref.number for ref in named if ref.kind == kind and ref.number}
        if numbers:
            found = table.objects.live().filter(store=store, number__in=numbers)
            rows |= {
                RowRef(kind, number): Row(RowRef(kind, number), pk)
                for number, pk in found.values_list("number", "pk")
            }
    return rows


def _at(prefix: str, ends: Iterable[PlannedEnd], merges: Merges = NONE) -> Q:
    """Rows one of whose foreign keys of this prefix leads to one of the ends, or to what was merged into one."""
    by_column: dict[str, set[int]] = defaultdict(set)
    for end in ends:
        for column, pk in end.columns(prefix).items():
            by_column[column] |= {*merges.members(pk)} if isinstance(end, PlannedEntity) else {pk}
    condition = Q()
    for column, pks in sorted(by_column.items()):
        condition |= Q(**{f"{column}__in": pks})
    return condition


def _end_columns() -> list[str]:
    return [
        f"{end}_{kind}_id"
        for end in _ENDS
        for kind in ("entity", "record", "summary")
        if (end, kind) != ("anchor", "entity")
    ]


def _key_of(relation: PlannedRelation) -> tuple[Any, ...]:
    columns = relation.columns()
    return (*relation.scope, relation.predicate, *(columns.get(column) for column in _end_columns()))


def _row_columns(row: Row) -> tuple[int | None, int | None]:
    columns = row.columns("")
    return columns.get("record_id"), columns.get("summary_id")


def _shown(end: PlannedEnd) -> str:
    return end.name if isinstance(end, PlannedEntity) else str(end.ref)
