"""Who is called what, and where: names and aliases are one namespace, searched one scope after the other.

Its own project and channel, its project, its channel in the global pool, the global pool (reconstruct J).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.db.models import Exists, OuterRef

from memoryconsole.declarations import Declaration, Name
from memoryconsole.identity import NONE, findable, read_merges
from memoryconsole.models import Entity, EntityAlias, Store
from memoryconsole.models.graph import with_keys

# (project, channel)
Scope = tuple[str, str]
# Names looked up by one statement.
_CHUNK = 5000


@dataclass(eq=False, slots=True)
class PlannedEntity:
    """An entity, stored (`pk`, `number`) or to be registered. `order`: which of several has the lower number."""

    name: str
    key: str
    scope: Scope
    order: tuple[int, int]
    pk: int | None = None
    number: int | None = None

    def columns(self, prefix: str) -> dict[str, int]:
        if self.pk is None:
            raise RuntimeError("an entity is written before what joins it")
        return {f"{prefix}entity_id": self.pk}


def levels_of(declaration: Declaration) -> list[Scope]:
    """The scopes a declaration's names are looked up in, in order; the first is where it registers.

    Its own project and channel, its project, its channel in the global pool, the global pool.
    """
    project_id, channel = declaration.project_id, declaration.channel
    return list(dict.fromkeys([(project_id, channel), (project_id, ""), ("", channel), ("", "")]))


class Names:
    """Who is called what, where: the names and aliases that the declarations touch."""

    def __init__(self, store: Store, declarations: Sequence[Declaration]) -> None:
        self._holders: dict[str, list[_Holder]] = defaultdict(list)
        self._entities: dict[int, PlannedEntity] = {}
        # Those of the store, once a name leads to an entity that is in one.
        self.merges = NONE
        stored: list[_Stored] = []
        # A set's order is not the same twice; names are looked up in one order for the sake of repeatable plans.
        keys = iter(sorted({key for declaration in declarations for key in _keys(declaration)}))
        within = _within(declarations)
        while chunk := list(islice(keys, _CHUNK)):
            stored += _load(store, chunk, within)
        self._follow(store, stored)

    def _follow(self, store: Store, stored: "list[_Stored]") -> None:
        """Note who is called what; the names of what was merged away lead to the survivor (two statements more, for
        names that lead to an entity that is in a merge).
        """
        entities = {each.entity.pk: each.entity for each in stored}
        if any(each.in_merge for each in stored):
            self.merges = read_merges(store)
            survivors = {self.merges.survivor(pk) for pk in entities} - entities.keys()
            rows = Entity.objects.filter(store=store, pk__in={pk for pk in survivors if pk})
            entities |= {row.pk: row for row in rows.only(*_COLUMNS)}
        for each in stored:
            survivor = self.merges.survivor(each.entity.pk)
            if survivor is not None:
                home = (each.entity.project_id, each.entity.channel)
                self._holders[each.key].append(_Holder(each.scope, home, self._known(entities[survivor])))

    def _known(self, entity: Entity) -> PlannedEntity:
        if entity.pk not in self._entities:
            self._entities[entity.pk] = PlannedEntity(
                entity.name,
                entity.declared_key,
                (entity.project_id, entity.channel),
                order=(0, entity.number),
                pk=entity.pk,
                number=entity.number,
            )
        return self._entities[entity.pk]

    def add(self, key: str, scope: Scope, entity: PlannedEntity) -> None:
        self._holders[key].append(_Holder(scope, entity.scope, entity))

    def resolve(self, key: str, levels: Sequence[Scope]) -> PlannedEntity | None:
        """The entity of that name or alias in the first scope that has one; of several, the lowest number."""
        for level in levels:
            # An alias is of use where both it and its entity can be read.
            found = [
                each.entity
                for each in self._holders.get(key, ())
                if each.scope == level and each.home in levels
            ]
            if found:
                return min(found, key=lambda entity: entity.order)
        return None

    def holders(self, key: str, levels: Sequence[Scope]) -> set[PlannedEntity]:
        """Every entity of that name or alias in any of the scopes."""
        return {
            each.entity for each in self._holders.get(key, ()) if each.scope in levels and each.home in levels
        }


@dataclass(frozen=True, slots=True)
class _Holder:
    """Who has a name: where that was declared, and where the entity was that it was declared for, merged or not."""

    scope: Scope
    home: Scope
    entity: PlannedEntity


@dataclass(frozen=True, slots=True)
class _Stored:
    """A stored name or alias and its entity, and whether that is in a merge, on either side."""

    key: str
    scope: Scope
    entity: Entity
    in_merge: bool


_COLUMNS = ("number", "name", "declared_key", "project_id", "channel", "status", "merged_into")


def _load(store: Store, keys: list[str], within: dict[str, set[str]]) -> "Iterator[_Stored]":
    absorbed = Entity.objects.filter(store=store, merged_into=OuterRef("pk"))
    entities: Any = with_keys(Entity.objects.filter(findable(), store=store, **within), keys)
    for entity in entities.only(*_COLUMNS).annotate(absorbs=Exists(absorbed)):
        in_merge = entity.absorbs or entity.merged_into_id is not None
        yield _Stored(entity.declared_key, (entity.project_id, entity.channel), entity, in_merge)
    absorbed = Entity.objects.filter(store=store, merged_into=OuterRef("entity"))
    aliases: Any = with_keys(EntityAlias.objects.filter(findable("entity"), store=store, **within), keys)
    columns = ("declared_key", "project_id", "channel", *(f"entity__{name}" for name in _COLUMNS))
    for alias in aliases.select_related("entity").only(*columns).annotate(absorbs=Exists(absorbed)):
        in_merge = alias.absorbs or alias.entity.merged_into_id is not None
        yield _Stored(alias.declared_key, (alias.project_id, alias.channel), alias.entity, in_merge)


def _keys(declaration: Declaration) -> Iterator[str]:
    for entity in declaration.entities:
        yield entity.name.key
        yield from (alias.key for _, alias in entity.aliases)
    for relation in declaration.relations:
        yield from (end.key for end in (relation.subject, relation.object) if isinstance(end, Name))


def _within(declarations: Iterable[Declaration]) -> dict[str, set[str]]:
    scopes = {scope for declaration in declarations for scope in levels_of(declaration)}
    return {
        "project_id__in": {project_id for project_id, _ in scopes},
        "channel__in": {channel for _, channel in scopes},
    }
