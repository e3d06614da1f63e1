"""Who a name may mean, and whose profile was found."""

import uuid
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from memoryconsole.identity import FOLLOWED
from memoryconsole.models import Store
from memoryconsole.search import names
from memoryconsole.statements import all_rows
from provenance.context_bundle.core.seen import Entity, Freshness, NearName, ResolveSeen
from provenance.context_bundle.core.temporal import Current
from provenance.context_bundle.core.types import ResolveRequest
from provenance.context_bundle.spine.words import name_text


@dataclass(frozen=True, slots=True)
class Owner:
    """A current entity by its number, and the primary keys of all that are read as it."""

    number: int
    members: tuple[int, ...]


_OWNERS: Final = f"""
    WITH RECURSIVE hit (entity_id) AS (
        SELECT id FROM mc_entity WHERE store_id = %(store)s AND id = ANY(%(keys)s)),
    {FOLLOWED}
    SELECT s.start_id, e.number, f.id
    FROM survivor AS s JOIN mc_entity AS e ON e.id = s.id JOIN family AS f ON f.survivor_id = s.id
    WHERE s.id IN (SELECT id FROM current_entity)
    ORDER BY s.start_id, f.hops, f.id
"""  # noqa: S608  (constants)


@dataclass(slots=True)
class Profiles:
    """Who each entity (primary key) whose profile was nominated is read as; None: it leads to no current entity."""

    store: Store
    owners: dict[int, Owner | None] = field(default_factory=dict)

    def admits(self, keys: Collection[int]) -> set[int]:
        """Those that lead to a current entity (one statement, none when all were asked about before)."""
        wanted = [key for key in keys if key not in self.owners]
        self.owners |= dict.fromkeys(wanted)
        if wanted:
            self.owners |= _read_owners(self.store, wanted)
        return {key for key in keys if self.owners[key] is not None}

    def numbers(self, keys: Collection[int]) -> list[int]:
        """The owners of these profiles, in order; one that leads nowhere is left out."""
        self.admits(keys)
        return [owner.number for key in keys if (owner := self.owners[key]) is not None]

    def members(self, number: int) -> tuple[int, ...]:
        return next(owner.members for owner in self.owners.values() if owner and owner.number == number)


def _read_owners(store: Store, keys: Collection[int]) -> dict[int, Owner]:
    numbers: dict[int, int] = {}
    members: dict[int, list[int]] = defaultdict(list)
    for start, number, member in all_rows(_OWNERS, {"store": store.pk, "keys": list(keys)}):
        numbers[start] = number
        members[start].append(member)
    return {start: Owner(number, tuple(members[start])) for start, number in numbers.items()}


def read_resolved(
    store: Store, request: ResolveRequest, evaluated_at: datetime, freshness: Freshness
) -> ResolveSeen:
    """What `resolve_entity` is made of (at most three statements)."""
    context = [uuid.UUID(each) for each in request.context_entity_ids]
    found = names.lookup(store, request.name, context, at=evaluated_at)
    return ResolveSeen(
        scope=Current(evaluated_at=evaluated_at),
        freshness=freshness,
        exact=tuple(each.number for each in found if each.tier == "T0"),
        near=tuple(
            NearName(
                entity=each.number,
                tier=each.tier,
                score=each.score / names.UNIT,
                likeness=each.likeness / names.UNIT,
            )
            for each in found
            if each.tier != "T0"
        ),
        context_hits=tuple((each.number, each.context_hits) for each in found if each.context_hits),
        entities=tuple(
            Entity(number=each.number, entity_id=str(each.uuid), name=name_text(str(each.uuid), each.name))
            for each in found
        ),
    )
