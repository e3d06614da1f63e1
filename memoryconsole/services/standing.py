"""Which texts are a source's current ones, and which claims stand in them (contract: context-bundle A.2)."""

from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet

from memoryconsole.models import Claim, ClaimOccurrence, Record, Store, StoreCounter
from memoryconsole.models.testimony import CurrencyReason
from memoryconsole.services.currency import change_currency
from memoryconsole.services.following import find_again


def current_records(store: Store) -> "QuerySet[Record]":
    """The records that are current passages: live, and of their source's newest version.

    A passage is while its version and its document are; a message while no live record has its message id and a
    higher number.
    """
    newer = Record.objects.live().filter(
        store=OuterRef("store"),
        project_id=OuterRef("project_id"),
        message_id=OuterRef("message_id"),
        number__gt=OuterRef("number"),
    )
    ingested = Q(
        passage__version__superseded_at=None,
        passage__version__deleted_at=None,
        passage__version__document__deleted_at=None,
    )
    said = Q(message_id="") | ~Exists(newer)
    return Record.objects.live().filter(Q(passage=None) | ingested, said, store=store)


def is_said(store: Store, claim: Claim, *, now: datetime) -> bool:
    """Whether a current passage has the claim's words: its own, that of a later occurrence, or one in which they are
    found only now, which becomes an occurrence. Call holding the store's counter.
    """
    later = ClaimOccurrence.objects.filter(store=store, claim=claim).values("record")
    known = current_records(store).filter(Q(pk=claim.record_id) | Q(pk__in=later))
    return known.exists() or find_again(store, claim, now=now)


def hidden_with(store: Store, record: Record) -> list[int]:
    """The primary keys of the claims that are seen no more when this record is deleted."""
    return list(Claim.objects.filter(store=store, record=record).values_list("pk", flat=True))


def close_unsaid(store: Store, counter: StoreCounter, record: Record, *, now: datetime) -> None:
    """Claims that were found again in a record, which is hidden now, and that no current text says any more, are so
    no longer. Call holding the store's counter.
    """
    if not record.message_id or not counter.claim:
        return
    places = ClaimOccurrence.objects.filter(claim=OuterRef(OuterRef("pk")), record=OuterRef("pk"))
    said = current_records(store).filter(Q(pk=OuterRef("record")) | Exists(places))
    found = Claim.objects.filter(
        ~Exists(said), store=store, is_current=True, record__deleted_at=None, occurrences__record=record
    )
    unsaid = [claim for claim in found.order_by("number") if not find_again(store, claim, now=now)]
    reason = CurrencyReason.VERSION_DELETED
    change_currency(store, counter, unsaid, current=False, reason=reason, cause="source", now=now)
