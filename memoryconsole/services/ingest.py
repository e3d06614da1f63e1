"""Records and summaries come in: numbered, versioned and indexed in one transaction, all or nothing."""

import hashlib
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction

from memoryconsole import search
from memoryconsole.bulk import copy_instances
from memoryconsole.declarations import Declaration, RowRef, read_declaration
from memoryconsole.errors import Fault, InvalidParameter
from memoryconsole.models import Payload, Record, Session, Store, StoreCounter, Summary, SummarySource, User
from memoryconsole.models.summaries import SourceType
from memoryconsole.services.conversations import open_session_documents, open_source_documents
from memoryconsole.services.declare import DeclaredBy, Report, ride
from memoryconsole.services.declare_plan import Row
from memoryconsole.services.dividing import divide_later, needs_nodes
from memoryconsole.services.following import follow_messages
from memoryconsole.services.indexing import embed_later, language_changed
from memoryconsole.services.numbering import TICK, lock_counter, take_beliefs, take_numbers
from memoryconsole.times import read_stamp, write_stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRecord:
    """A record as its caller gives it. `timestamp` None: the server's time; '': unknown time."""

    content: str
    message_id: str = ""
    project_id: str = ""
    channel: str = ""
    session_id: str = ""
    source_type: str = ""
    source_id: str = ""
    source_name: str = ""
    role: str = ""
    timestamp: str | None = None
    tool_call_id: str = ""
    tool_name: str = ""
    tool_calls: Any = None
    conversation_id: str = ""
    # The ref of the payload that the text is a placeholder for.
    payload: str = ""
    # What rides on the record, as it came; None: nothing.
    associations: Any = None


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """What became of one row: its record, whether it is new, the version before it, whether a job will divide its
    text into nodes, and what became of what rode on it.
    """

    ref: str
    created: bool
    version_of: str | None = None
    nodes_queued: bool = False
    associations: Report | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSummary:
    """An episode (its own span) or a node of the summary graph (ordered sources)."""

    summary: str
    start: str = ""
    end: str = ""
    project_id: str = ""
    channel: str = ""
    session_id: str = ""
    depth: int = 0
    source_type: str = ""
    source_ids: tuple[int, ...] = field(default=())
    token_count: int = 0
    source_token_count: int = 0
    expand_hint: str = ""


def digest_of(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def store_records(
    store: Store,
    rows: Sequence[NewRecord],
    *,
    by: User | None = None,
    declared_by: DeclaredBy | None = None,
    now: datetime,
) -> list[StoredRecord]:
    """Store rows in order, all or nothing; answers one result per row.

    A row with the message id of an earlier one in the same project is compared with its latest version only: the
    same text is that record (not stored again), another text is a new version. Without a message id nothing is
    ever a duplicate.

    A payload that a row names has to be there (InvalidParameter).

    Associations that ride on a row are anchored in its record, new or not. `declared_by` None: whoever writes may not
    declare; the rows are stored and say so.
    """
    # Rows without a time of their own follow one another, so that two versions in one call have an order.
    arrivals = [_arrival(store, row, now=now, at=now + place * TICK) for place, row in enumerate(rows)]
    # Most of the work needs no lock: writers of one store only follow one another through what comes after.
    analysis = search.analyse(store, [arrival.record for arrival in arrivals])
    for arrival in arrivals:
        arrival.long = needs_nodes(arrival.row.content, analysis)
    riders = [_rider(row) for row in rows]
    with transaction.atomic():
        counter = lock_counter(store)
        if language_changed(store):
            analysis = search.analyse(store, [arrival.record for arrival in arrivals])
        _link_payloads(store, arrivals)
        _compare(store, arrivals)
        fresh = [place for place, arrival in enumerate(arrivals) if arrival.existing is None]
        if fresh:
            _insert(
                store, counter, [arrivals[place] for place in fresh], analysis.only(fresh), by=by, now=now
            )
        reports = _declare(store, counter, arrivals, riders, declared_by=declared_by, now=now)
    return [arrival.stored(report) for arrival, report in zip(arrivals, reports, strict=True)]


def _rider(row: NewRecord) -> Declaration | None:
    """What rides on a row, in the row's own project and channel; None when nothing does."""
    if row.associations is None:
        return None
    read = read_declaration(row.associations, project_id=row.project_id, channel=row.channel)
    return read if read.declares else None


def _declare(
    store: Store,
    counter: StoreCounter,
    arrivals: "Sequence[_Arrival]",
    riders: Sequence[Declaration | None],
    *,
    declared_by: DeclaredBy | None,
    now: datetime,
) -> list[Report | None]:
    """One report per row, None where nothing rode on it."""
    if declared_by is None:
        refused = Report(dropped=[{"item": "associations", "reason": "this needs the scope 'declare'"}])
        return [refused if rider is not None else None for rider in riders]
    anchored = {
        place: (rider, arrivals[place].row_in_store())
        for place, rider in enumerate(riders)
        if rider is not None
    }
    if not anchored:
        return [None] * len(riders)
    declared = ride(store, counter, list(anchored.values()), declared_by=declared_by, now=now)
    reports = dict(zip(anchored, declared, strict=True))
    return [reports.get(place) for place in range(len(riders))]


@dataclass(slots=True)
class _Arrival:
    """A row on its way in. `existing`: the record it is a duplicate of; `before`: the version before it.
    `long`: a job will divide its text.
    """

    row: NewRecord
    record: Record
    existing: Record | None = None
    before: Record | None = None
    long: bool = False

    def stored(self, report: Report | None = None) -> StoredRecord:
        if self.existing is not None:
            return StoredRecord(self.existing.ref, created=False, associations=report)
        return StoredRecord(
            self.record.ref,
            created=True,
            version_of=self.before.ref if self.before else None,
            nodes_queued=self.long,
            associations=report,
        )

    def row_in_store(self) -> Row:
        """The record that now stands for this row, as an anchor."""
        record = self.existing or self.record
        return Row(RowRef("mem", record.number), record.pk)


def _arrival(store: Store, row: NewRecord, *, now: datetime, at: datetime) -> _Arrival:
    """The row as a record, all but its number, belief instant and session."""
    stamp = write_stamp(at) if row.timestamp is None else row.timestamp
    record = Record(
        store=store,
        uuid=uuid.uuid4(),
        project_id=row.project_id,
        channel=row.channel,
        message_id=row.message_id,
        source_type=row.source_type,
        source_id=row.source_id,
        source_name=row.source_name,
        role=row.role,
        timestamp=stamp,
        instant=read_stamp(stamp),
        content=row.content,
        digest=digest_of(row.content),
        tool_call_id=row.tool_call_id,
        tool_name=row.tool_name,
        tool_calls=row.tool_calls,
        conversation_id=row.conversation_id,
        created_at=now,
    )
    return _Arrival(row, record)


def _link_payloads(store: Store, arrivals: Sequence[_Arrival]) -> None:
    """Link the rows that are placeholders with what they stand for. Raises InvalidParameter."""
    wanted = {arrival.row.payload for arrival in arrivals if arrival.row.payload}
    if not wanted:
        return
    found = dict(Payload.objects.filter(store=store, ref__in=wanted).values_list("ref", "pk"))
    faults = [
        Fault(f"/records/{place}/payload", "unknown", "No such payload.")
        for place, arrival in enumerate(arrivals)
        if arrival.row.payload and arrival.row.payload not in found
    ]
    if faults:
        raise InvalidParameter(f"{faults[0].pointer}: {faults[0].message}", errors=faults[:50])
    for arrival in arrivals:
        arrival.record.payload_id = found.get(arrival.row.payload)


def _compare(store: Store, arrivals: Sequence[_Arrival]) -> None:
    """Find each row's latest version, earlier rows of the batch included, and mark duplicates and versions."""
    keys = {(a.row.project_id, a.row.message_id) for a in arrivals if a.row.message_id}
    latest = Record.objects.latest_versions(store, keys) if keys else {}
    for arrival in arrivals:
        key = (arrival.row.project_id, arrival.row.message_id)
        before = latest.get(key) if arrival.row.message_id else None
        if before is not None and arrival.record.digest in _digests(before):
            arrival.existing = before
            continue
        arrival.before = before
        latest[key] = arrival.record


def _digests(before: Record) -> set[bytes]:
    """The digest of a row's text, and of the text that was moved out of it: both are what was said."""
    moved = getattr(before, "payload_digest", None)
    return {bytes(before.digest)} | ({bytes(moved)} if moved is not None else set())


def _insert(
    store: Store,
    counter: StoreCounter,
    arrivals: Sequence[_Arrival],
    analysis: search.Analysis,
    *,
    by: User | None,
    now: datetime,
) -> None:
    numbers = take_numbers(counter, "record", len(arrivals))
    beliefs = take_beliefs(counter, len(arrivals), now=now)
    for arrival, number, believed_at in zip(arrivals, numbers, beliefs, strict=True):
        arrival.record.number = number
        arrival.record.believed_at = believed_at
    counter.save(update_fields=["record", "belief_at"])
    session_ids = [arrival.row.session_id for arrival in arrivals]
    records = [arrival.record for arrival in arrivals]
    write_records(store, counter, records, session_ids, analysis=analysis, by=by, now=now)
    newer = [(arrival.before, arrival.record) for arrival in arrivals if arrival.before is not None]
    follow_messages(store, counter, newer, now=now)


def write_records(
    store: Store,
    counter: StoreCounter,
    records: Sequence[Record],
    session_ids: Sequence[str],
    *,
    analysis: search.Analysis,
    by: User | None,
    now: datetime,
) -> None:
    """Insert numbered records, one session id each ('' is none), and make them findable; also the documents that
    sessions and sources are, where these are new. Call holding the store's counter.
    """
    sessions = sessions_of(store, counter, session_ids, now=now)
    for record, session_id in zip(records, session_ids, strict=True):
        record.session = sessions.get(session_id)
    apart = {(record.source_type, record.source_id) for record in records if record.session is None}
    open_source_documents(store, counter, apart, now=now)
    insert_records(store, records, analysis=analysis, by=by, now=now)


def insert_records(
    store: Store,
    records: Sequence[Record],
    *,
    analysis: search.Analysis,
    by: User | None,
    now: datetime,
) -> None:
    """Insert records that are whole, and make them findable. Call holding the store's counter."""
    copy_instances(Record, records)
    if search.index(store, records=records, analysis=analysis, now=now).owed:
        embed_later(store, by=by, now=now)
    long = [record for record in records if needs_nodes(record.content, analysis)]
    divide_later(store, records=long, by=by, now=now)


def sessions_of(
    store: Store, counter: StoreCounter, session_ids: Iterable[str], *, now: datetime
) -> dict[str, Session]:
    """The sessions by id, made where they are new, with the documents that they are. '' is no session."""
    wanted = {session_id for session_id in session_ids if session_id}
    if not wanted:
        return {}
    found = {s.session_id: s for s in Session.objects.filter(store=store, session_id__in=wanted)}
    missing = sorted(wanted - found.keys())
    # The store's counter lock keeps two writers from making the same session.
    made = Session.objects.bulk_create(Session(store=store, session_id=s, created_at=now) for s in missing)
    open_session_documents(store, counter, made, now=now)
    return found | {session.session_id: session for session in made}


@transaction.atomic
def store_summary(store: Store, new: NewSummary, *, by: User | None = None, now: datetime) -> Summary:
    """Store one summary with its ordered sources. Sources that do not exist keep their place."""
    counter = lock_counter(store)
    language_changed(store)
    sources = _find_sources(store, new)
    (number,) = take_numbers(counter, "summary", 1)
    (believed_at,) = take_beliefs(counter, 1, now=now)
    covered = _coverage(new, sources)
    summary = Summary.objects.create(
        store=store,
        number=number,
        uuid=uuid.uuid4(),
        session=sessions_of(store, counter, [new.session_id], now=now).get(new.session_id),
        depth=new.depth,
        source_type=new.source_type,
        summary=new.summary,
        digest=digest_of(new.summary),
        token_count=new.token_count,
        source_token_count=new.source_token_count,
        expand_hint=new.expand_hint,
        created_at=now,
        believed_at=believed_at,
        **covered,
    )
    _link_sources(summary, new, sources)
    counter.save(update_fields=["summary", "belief_at"])
    analysis = search.analyse(store, [summary])
    if search.index(store, summaries=[summary], analysis=analysis, now=now).owed:
        embed_later(store, by=by, now=now)
    # Summaries of summaries are no candidates of recall, so none is ever quoted by a node.
    if new.source_type != SourceType.NODES and needs_nodes(summary.summary, analysis):
        divide_later(store, summaries=[summary], by=by, now=now)
    return summary


def _find_sources(store: Store, new: NewSummary) -> dict[int, Record] | dict[int, Summary]:
    if new.source_type == SourceType.MESSAGES:
        records = Record.objects.live().filter(store=store, number__in=new.source_ids).defer("content")
        return {record.number: record for record in records}
    if new.source_type == SourceType.NODES:
        summaries = Summary.objects.live().filter(store=store, number__in=new.source_ids).defer("summary")
        return {summary.number: summary for summary in summaries}
    return {}


def _coverage(new: NewSummary, sources: dict[int, Record] | dict[int, Summary]) -> dict[str, Any]:
    """Span, project and channel: as given for an episode, the sources' own where there are sources."""
    found: list[Record | Summary] = [*sources.values()]
    project_id = _common({source.project_id for source in found}, new.project_id)
    channel = _common({source.channel for source in found}, new.channel)
    start, earliest_at = _edge(new.start, found, last=False)
    end, latest_at = _edge(new.end, found, last=True)
    if earliest_at is not None and latest_at is not None and latest_at < earliest_at:
        given = "/end" if new.end else "/start"
        message = "Lies on the wrong side of the other end of the span, which the sources give."
        raise InvalidParameter.of(Fault(given, "contradiction", message))
    return {
        "project_id": project_id,
        "channel": channel,
        "start": start,
        "end": end,
        "earliest_at": earliest_at,
        "latest_at": latest_at,
    }


def _common(values: set[str | None], given: str) -> str | None:
    """What the sources have in common; None when they differ: unknown, and it then bundles with nothing."""
    if not values:
        return given
    return values.pop() if len(values) == 1 else None


def _edge(given: str, sources: Sequence[Record | Summary], *, last: bool) -> tuple[str, datetime | None]:
    """One end of the span: the caller's stamp, else the earliest or latest readable one among the sources."""
    if given or not sources:
        return given, read_stamp(given)
    stamps = [_stamp(source, last=last) for source in sources]
    readable = [(instant, text) for text, instant in stamps if instant is not None]
    if not readable:
        return "", None
    instant, text = max(readable) if last else min(readable)
    return text, instant


def _stamp(source: Record | Summary, *, last: bool) -> tuple[str, datetime | None]:
    if isinstance(source, Record):
        return source.timestamp, source.instant
    return (source.end, source.latest_at) if last else (source.start, source.earliest_at)


def _link_sources(summary: Summary, new: NewSummary, sources: dict[int, Record] | dict[int, Summary]) -> None:
    links = []
    for place, number in enumerate(new.source_ids):
        source = sources.get(number)
        links.append(
            SummarySource(
                store=summary.store,
                summary=summary,
                source_index=place,
                number=number,
                record=source if isinstance(source, Record) else None,
                child=source if isinstance(source, Summary) else None,
            )
        )
    SummarySource.objects.bulk_create(links)
