"""The declared names that a question mentions, and what else their entities are called (contract: reconstruct C).

Called inside the caller's snapshot.
"""

from collections.abc import Iterable
from typing import Any

from django.db.models import F, Func, IntegerField, QuerySet, TextField, Value
from django.db.models.lookups import GreaterThan

from memoryconsole.folding import declared_key
from memoryconsole.models import Entity, EntityAlias, Store
from memoryconsole.scope import ReadScope
from reconstruct.core.cues import Cues, Name, expand, mentioned


def read_cues(store: Store, query: str, scope: ReadScope) -> Cues:
    """The declared names the query mentions, and the terms they add to the lexical search."""
    key = declared_key(query)
    if not key:
        return Cues()
    entities = mentioned(key, _names(store, scope, occurring_in=key))
    if not entities:
        return Cues()
    return expand(key, entities, _names(store, scope, of=entities))


def _names(
    store: Store, scope: ReadScope, *, occurring_in: str | None = None, of: Iterable[int] = ()
) -> list[Name]:
    """Names and aliases in scope: those standing somewhere in a folded query, or all those of some entities."""
    entities = Entity.objects.filter(scope.context(), store=store)
    # An alias is readable where it was declared, and its entity must be readable too.
    aliases = EntityAlias.objects.filter(scope.context(), scope.context(through="entity"), store=store)
    if occurring_in is None:
        entities, aliases = entities.filter(number__in=of), aliases.filter(entity__number__in=of)
    else:
        entities, aliases = _occurring(entities, occurring_in), _occurring(aliases, occurring_in)
    rows = (
        entities.order_by()
        .values_list("number", "name", "declared_key", Value(False))
        .union(
            aliases.order_by().values_list("entity__number", "alias", "declared_key", Value(True)), all=True
        )
    )
    return [Name(entity=entity, text=text, key=key, alias=alias) for entity, text, key, alias in rows]


def _occurring(names: "QuerySet[Any]", query_key: str) -> "QuerySet[Any]":
    text = Value(query_key, output_field=TextField())
    place = Func(text, F("declared_key"), function="strpos", output_field=IntegerField())
    return names.filter(GreaterThan(place, 0)).exclude(declared_key="")


def names_of(store: Store, numbers: set[int]) -> list[tuple[int, str]]:
    """(entity's number, text) of every name and alias of these entities, in whatever scope (two statements)."""
    entities = Entity.objects.filter(store=store, number__in=numbers).values_list("number", "name")
    aliases = EntityAlias.objects.filter(store=store, entity__number__in=numbers)
    return [*entities, *aliases.values_list("entity__number", "alias")]
