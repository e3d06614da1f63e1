"""Two entities are said to be one, and perhaps not after all (contract: context-bundle A.3, M.2; decision 18).

A merge points the absorbed entity at its survivor and rewrites nothing; reversing it lets go again. Both are commands
of somebody's, in the transcript of both entities.
"""

from datetime import datetime
from uuid import UUID, uuid4

from django.db import transaction

from memoryconsole.errors import Fault, InvalidParameter, NotFound, StaleResource, StateConflict
from memoryconsole.identity import MAX_HOPS, Merges, read_merges
from memoryconsole.models import Decision, Entity, MergeEvent, Store, StoreCounter
from memoryconsole.models.facts import Outcome
from memoryconsole.models.graph import EntityStatus
from memoryconsole.services.facts.transcript import Decider
from memoryconsole.services.numbering import lock_counter, take_beliefs
from memoryconsole.services.profiles import follow_labels, follow_names


@transaction.atomic
def merge(
    store: Store,
    survivor_uuid: UUID,
    absorbed_uuid: UUID,
    *,
    decider: Decider,
    if_version: int | None = None,
    now: datetime,
) -> MergeEvent:
    """From now on what is stored of the absorbed entity is read as the survivor's.

    Raises NotFound for a survivor that is not there, InvalidParameter for an absorbed one that is not; StaleResource
    when `if_version` is not the survivor's; StateConflict when the two are one already, when either is merged or
    retired, or when the merges behind the absorbed one would lead through more than MAX_HOPS.
    """
    counter = lock_counter(store)
    found = {
        row.uuid: row for row in Entity.objects.filter(store=store, uuid__in=[survivor_uuid, absorbed_uuid])
    }
    if survivor_uuid not in found:
        raise NotFound("No such entity")
    if absorbed_uuid not in found:
        raise InvalidParameter.of(Fault("/absorbed_id", "unknown", "No such entity of this store."))
    survivor, absorbed = found[survivor_uuid], found[absorbed_uuid]
    if if_version is not None and survivor.row_version != if_version:
        raise StaleResource(f"The entity is at version {survivor.row_version}")
    if survivor.pk == absorbed.pk:
        raise StateConflict("An entity cannot be merged into itself")
    for row in (survivor, absorbed):
        if row.status != EntityStatus.ACTIVE:
            raise StateConflict(f"The entity {row.uuid} is {row.status}")
    if height(read_merges(store), absorbed.pk) + 1 > MAX_HOPS:
        raise StateConflict(f"More than {MAX_HOPS} merges would lead from one entity to its survivor")
    at = _take_belief(counter, now)
    event = MergeEvent.objects.create(
        store=store,
        uuid=uuid4(),
        survivor=survivor,
        absorbed=absorbed,
        merged_at=at,
        merged_by=decider.words,
    )
    absorbed.status, absorbed.merged_into = EntityStatus.MERGED, survivor
    _write(event, Outcome.MERGE, decider, at=at, now=now)
    return event


@transaction.atomic
def reverse(store: Store, merge_uuid: UUID, *, decider: Decider, now: datetime) -> MergeEvent:
    """Undo a merge: the absorbed entity is itself again, with all that was stored of it.

    Raises NotFound; StateConflict when the merge is reversed already, or while a later merge rests on it: its
    survivor, this one's names and rows included, was merged further on.
    """
    counter = lock_counter(store)
    event = (
        MergeEvent.objects.select_related("survivor", "absorbed").filter(store=store, uuid=merge_uuid).first()
    )
    if event is None:
        raise NotFound("No such merge")
    if event.reversed_at is not None:
        raise StateConflict("The merge is reversed already")
    if event.survivor.status == EntityStatus.MERGED:
        raise StateConflict("The survivor was merged later on: reverse that first")
    at = _take_belief(counter, now)
    event.reversed_at, event.reversed_by = at, decider.words
    event.save(update_fields=["reversed_at", "reversed_by"])
    event.absorbed.status, event.absorbed.merged_into = EntityStatus.ACTIVE, None
    _write(event, Outcome.UNMERGE, decider, at=at, now=now)
    return event


def height(merges: Merges, entity: int) -> int:
    """How many merges lead to an entity from the farthest of those that are read as it."""
    return max(merges.distances(entity).values())


def _take_belief(counter: StoreCounter, now: datetime) -> datetime:
    (at,) = take_beliefs(counter, 1, now=now)
    counter.save(update_fields=["belief_at"])
    return at


def _write(event: MergeEvent, outcome: Outcome, decider: Decider, *, at: datetime, now: datetime) -> None:
    """Save both entities, each a version further, tell the transcript of each, and make the index follow."""
    pair = (event.survivor, event.absorbed)
    for row in pair:
        row.row_version += 1
        row.save(update_fields=["status", "merged_into", "row_version"])
    Decision.objects.bulk_create(
        Decision(
            store=event.store,
            subject_kind="entity",
            subject_uuid=subject.uuid,
            outcome=outcome,
            method="declared",
            related_uuid=related.uuid,
            decided_by=decider.decided_by,
            decided_at=at,
            features=decider.features | {"merge": str(event.uuid), "role": role},
        )
        for (subject, related), role in (
            (pair, "survivor"),
            (pair[::-1], "absorbed"),
        )
    )
    follow_names(event.store, [row.pk for row in pair], now=now)
    follow_labels(event.store, event.absorbed.pk, now=now)
