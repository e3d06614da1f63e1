"""The index follows what is held: facts, and the profiles of the entities they are about."""

from collections.abc import Sequence
from datetime import datetime

from memoryconsole import search
from memoryconsole.models import Entity, Fact, Store
from memoryconsole.services.facts.endpoints import ends_of
from memoryconsole.services.indexing import embed_later, language_changed


def foresee(store: Store, *, found: Sequence[Fact] = (), lost: Sequence[Fact] = ()) -> search.Foreseen:
    """What the index will hold when facts that are not stored yet are held (`found`), and others no longer (`lost`).
    Call before the store's counter is locked: an embedder may be slow, and other writers do not wait for it.
    """
    if not found and not lost:
        return search.NOTHING
    return search.foresee(store, [*found, *_ends(store, [*found, *lost])], adding=found, without=lost)


def follow(
    store: Store,
    *,
    found: Sequence[Fact],
    lost: Sequence[Fact],
    foreseen: search.Foreseen = search.NOTHING,
    now: datetime,
) -> None:
    """Make facts findable that are held from now on, and write the profiles of all ends again. Call in the transaction
    of the change, holding the store's counter.

    Those that are held no longer (`lost`) stay in the index, as claims do that are not current: readers ask what is
    believed, and a later page of an answer counts what it lost on the way (context-bundle F.5).
    """
    language_changed(store)
    profiles = _ends(store, [*found, *lost])
    if search.index(store, facts=found, profiles=profiles, foreseen=foreseen, now=now).owed:
        embed_later(store, by=None, now=now)


def _ends(store: Store, facts: Sequence[Fact]) -> list[Entity]:
    ends = {end.pk for end in ends_of(store, facts).values()}
    return list(Entity.objects.filter(pk__in=ends).order_by("pk"))
