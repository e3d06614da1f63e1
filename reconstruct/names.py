"""The declared names that a question mentions, and what else their entities are called (contract: reconstruct C).

Called inside the caller's snapshot.
"""

from collections.abc import Iterable
from typing import Any

from django.db.models import F, Func, IntegerField, QuerySet, TextField, Value
from django.db.models.lookups import GreaterThan

from memoryconsole.folding import declared_key
from memoryconsole.identity import Following, ever_absorbed, findable, has_merges
from memoryconsole.models import Entity, EntityAlias, Store
from memoryconsole.scope import ReadScope
from reconstruct.core.cues import Cues, Name, expand, mentioned


def read_cues(store: Store, query: str, scope: ReadScope, following: Following) -> Cues:
    """The declared names the query mentions, and the terms they add to the lexical search.

    Two statements at most, and one when the store has merged entities: their names are further names of survivors.
    """
    key = declared_key(query)
    if not key:
        return Cues()
    found = _names(store, scope, following, occurring_in=key)
    entities = mentioned(key, (name for _, name in found))
    if not entities:
        return Cues()
    members = following.known.members_of({pk for pk, name in found if name.entity in entities})
    return expand(key, entities, [name for _, name in _names(store, scope, following, of=members)])


def _names(
    store: Store,
    scope: ReadScope,
    following: Following,
    *,
    occurring_in: str | None = None,
    of: Iterable[int] = (),
) -> list[tuple[int, Name]]:
    """Names and aliases in scope, each with the primary key of the entity it is read as: those standing somewhere in
    a folded query, or all those of some entities (primary keys).
    """
    entities = Entity.objects.filter(scope.context(), findable(), store=store)
    # An alias is readable where it was declared, and its entity must be readable too.
    aliases = EntityAlias.objects.filter(
        scope.context(), scope.context(through="entity"), findable("entity"), store=store
    )
    if occurring_in is None:
        entities, aliases = entities.filter(pk__in=of), aliases.filter(entity__in=of)
    else:
        entities, aliases = _occurring(entities, occurring_in), _occurring(aliases, occurring_in)
    told = has_merges(store)
    rows = (
        entities.order_by()
        .values_list("pk", "number", "name", "declared_key", Value(False), told)
        .union(
            aliases.order_by().values_list(
                "entity", "entity__number", "alias", "declared_key", Value(True), told
            ),
            all=True,
        )
    )
    found = []
    for pk, number, text, key, alias, merged in rows:
        survivor = following.survivor(pk, number, told=merged)
        if survivor is not None:
            # The name of what was merged away is one more alias.
            name = Name(entity=survivor.number, text=text, key=key, alias=alias or survivor.pk != pk)
            found.append((survivor.pk, name))
    return found


def _occurring(names: "QuerySet[Any]", query_key: str) -> "QuerySet[Any]":
    text = Value(query_key, output_field=TextField())
    place = Func(text, F("declared_key"), function="strpos", output_field=IntegerField())
    return names.filter(GreaterThan(place, 0)).exclude(declared_key="")


def names_of(store: Store, numbers: set[int]) -> list[tuple[int, str]]:
    """(entity's number, text) of every name and alias of these entities, in whatever scope (two statements)."""
    entities = Entity.objects.filter(store=store, number__in=numbers).values_list("number", "name")
    aliases = EntityAlias.objects.filter(store=store, entity__number__in=numbers)
    return [*entities, *aliases.values_list("entity__number", "alias")]


def names_ever_of(store: Store, numbers: set[int]) -> list[tuple[int, str]]:
    """The same for what was ever merged into these entities (three statements)."""
    absorbed = ever_absorbed(store, numbers)
    members = {pk for found in absorbed.values() for pk in found}
    names = [
        *Entity.objects.filter(store=store, pk__in=members).values_list("pk", "name"),
        *EntityAlias.objects.filter(store=store, entity__in=members).values_list("entity", "alias"),
    ]
    return [(number, text) for number, found in absorbed.items() for pk, text in names if pk in found]
