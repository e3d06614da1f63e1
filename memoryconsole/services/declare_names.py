"""Who is called what, and where: names and aliases are one namespace, searched one scope after the other.

Its own project and channel, its project, its channel in the global pool, the global pool (reconstruct J).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from memoryconsole.declarations import Declaration, Name
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
        self._holders: dict[str, list[tuple[Scope, PlannedEntity]]] = defaultdict(list)
        self._entities: dict[int, PlannedEntity] = {}
        # A set's order is not the same twice; names are looked up in one order for the sake of repeatable plans.
        keys = iter(sorted({key for declaration in declarations for key in _keys(declaration)}))
        within = _within(declarations)
        while chunk := list(islice(keys, _CHUNK)):
            self._load(store, chunk, within)

    def _load(self, store: Store, keys: list[str], within: dict[str, set[str]]) -> None:
        entities = with_keys(Entity.objects.filter(store=store, **within), keys)
        for entity in entities.only("number", "name", "declared_key", "project_id", "channel"):
            known = self._known(entity)
            self.add(entity.declared_key, known.scope, known)
        aliases = with_keys(EntityAlias.objects.filter(store=store, **within), keys).select_related("entity")
        for alias in aliases.only(
            "declared_key", "project_id", "channel", "entity__number", "entity__name", "entity__declared_key",
            "entity__project_id", "entity__channel",
        ):  # fmt: skip
            self.add(alias.declared_key, (alias.project_id, alias.channel), self._known(alias.entity))

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
        self._holders[key].append((scope, entity))

    def resolve(self, key: str, levels: Sequence[Scope]) -> PlannedEntity | None:
        """The entity of that name or alias in the first scope that has one; of several, the lowest number."""
        for level in levels:
            # An alias is of use where both it and its entity can be read.
            found = [
                entity
                for scope, entity in self._holders.get(key, ())
                if scope == level and entity.scope in levels
            ]
            if found:
                return min(found, key=lambda entity: entity.order)
        return None

    def holders(self, key: str, levels: Sequence[Scope]) -> set[PlannedEntity]:
        """Every entity of that name or alias in any of the scopes."""
        return {
            entity
            for scope, entity in self._holders.get(key, ())
            if scope in levels and entity.scope in levels
        }


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
