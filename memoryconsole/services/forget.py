"""Deleting: hidden everywhere in its transaction, erased by a job soon after."""

from datetime import datetime

from django.db import connection, transaction
from django.db.models import QuerySet

from memoryconsole import jobs, search
from memoryconsole.errors import NotFound, StaleResource, StateConflict
from memoryconsole.models import (
    Association,
    Job,
    Mention,
    Passage,
    Payload,
    Record,
    RecordNode,
    Store,
    Summary,
    SummarySource,
    User,
)
from memoryconsole.models.traces import pruning
from memoryconsole.services.facts.forgetting import erase_empty_groups, erase_unbacked
from memoryconsole.services.numbering import lock_counter
from memoryconsole.services.settling import settle
from memoryconsole.services.standing import close_unsaid, hidden_with
from memoryconsole.services.transfer import withdraw_exports

# Rows erased per statement: short locks, steady progress.
_SLICE = 2000


def delete_record(store: Store, number: int, *, by: User, now: datetime) -> Job:
    """Hide a record and all that hangs on it; returns the job that erases it.

    Mentions, associations (as an end or as the anchor), nodes and index entries go at once, and the payload that it
    alone stood for; so do the claims taken from it, and facts that no current claim supports then are held no longer.
    Summaries that covered it stay and say `sources_gone`. Raises NotFound; StateConflict for a passage of a document.
    """
    return _delete(store, Record.objects.live(), number, by=by, now=now)


def delete_summary(store: Store, number: int, *, by: User, now: datetime) -> Job:
    """Hide a summary and all that hangs on it, as `delete_record` does; its sources stay. Raises NotFound."""
    return _delete(store, Summary.objects.live(), number, by=by, now=now)


@transaction.atomic
def _delete(
    store: Store, live: "QuerySet[Record] | QuerySet[Summary]", number: int, *, by: User, now: datetime
) -> Job:
    counter = lock_counter(store)
    row = live.filter(store=store, number=number).first()
    if row is None:
        raise NotFound("Nothing stored under this number")
    if isinstance(row, Record) and Passage.objects.filter(record=row).exists():
        # Its text is the document's too.
        raise StateConflict("A passage goes with its document")
    is_record = isinstance(row, Record)
    sources = SummarySource.objects.filter(store=store, **{"record" if is_record else "child": row})
    Summary.objects.filter(store=store, pk__in=sources.values("summary")).update(sources_gone=True)
    sources.update(**{"record" if is_record else "child": None})
    _drop_dependents(store, "record" if is_record else "summary", row)
    withdraw_exports(store)
    claims = hidden_with(store, row) if isinstance(row, Record) else []
    search.remove(store, **{"record_ids" if is_record else "summary_ids": [row.pk]}, claim_ids=claims)
    live.filter(pk=row.pk).update(deleted_at=now)
    settle(store, counter, claims, cause="source", now=now)
    if isinstance(row, Record):
        close_unsaid(store, counter, row, now=now)
    if isinstance(row, Record) and row.payload_id is not None:
        _drop_payload(store, row.payload_id)
    return jobs.start(store, "erase", {}, by=by, now=now)


@transaction.atomic
def delete_store(store: Store, *, by: User, if_version: int | None = None, now: datetime) -> None:
    """Close a store to everybody at once; a job erases what it held. Raises StaleResource."""
    version = Store.objects.select_for_update().values_list("version", flat=True).get(pk=store.pk)
    if if_version is not None and version != if_version:
        raise StaleResource(f"The store is at version {version}")
    Store.objects.filter(pk=store.pk).update(deleted_at=now)
    jobs.start(store, "erase_store", {}, by=by, now=now)


def _drop_payload(store: Store, payload: int) -> None:
    """Erase the text that a deleted record stood for, unless another record does so too."""
    if not Record.objects.live().filter(store=store, payload=payload).exists():
        Payload.objects.filter(store=store, pk=payload).delete()


def _drop_dependents(store: Store, kind: str, row: Record | Summary) -> None:
    Mention.objects.filter(store=store, **{kind: row}).delete()
    RecordNode.objects.filter(store=store, **{kind: row}).delete()
    Association.objects.filter(store=store).joining(row).delete()


@jobs.handles("erase", must_finish=True)
def erase(job: Job) -> None:
    """Physically remove the store's hidden records and summaries, the facts that rested on them alone, and groups of
    such facts.
    """
    done = 0
    for table in ("mc_record", "mc_summary"):
        while erased := _erase_slice(table, "deleted_at IS NOT NULL", job.store):
            done += erased
            jobs.report(job, done=done)
    for erase_some in (erase_unbacked, erase_empty_groups):
        while erased := erase_some(job.store_id, limit=_SLICE):
            done += erased
            jobs.report(job, done=done)


# Children before parents, so that no statement has much to cascade.
_STORE_TABLES = (
    "mc_job_chunk",
    "mc_trace",
    "mc_session_notice",
    "mc_entry_vector",
    "mc_index_entry",
    "mc_decision",
    "mc_contradiction_member",
    "mc_contradiction_group",
    "mc_fact_window",
    "mc_window_citation",
    "mc_fact_evidence",
    "mc_fact",
    "mc_claim_currency",
    "mc_claim_occurrence",
    "mc_claim",
    "mc_merge_event",
    "mc_association",
    "mc_mention",
    "mc_entity_alias",
    "mc_entity",
    "mc_record_node",
    "mc_summary_source",
    "mc_summary",
    "mc_record",
    "mc_payload",
    "mc_document_version",
    "mc_document",
    "mc_session",
)


@jobs.handles("erase_store", must_finish=True)
def erase_store(job: Job) -> None:
    """Physically remove a closed store. The last statement takes the store's row, and this job with it."""
    store = Store.objects.get(pk=job.store_id)
    done = 0
    for table in _STORE_TABLES:
        while erased := _erase_slice(table, "TRUE", store):
            done += erased
            jobs.report(job, done=done)
    with pruning():
        store.delete()


def _erase_slice(table: str, condition: str, store: Store) -> int:
    # Both names come from this module's constants, never from input.
    statement = (
        f"DELETE FROM {table} WHERE id IN"  # noqa: S608
        f" (SELECT id FROM {table} WHERE store_id = %s AND {condition} LIMIT {_SLICE})"
    )
    with pruning(), connection.cursor() as cursor:
        # Index entries are counted as they go, of several parts at once: a write that is still under way counts too.
        lock_counter(store)
        cursor.execute(statement, [store.pk])
        return int(cursor.rowcount)
