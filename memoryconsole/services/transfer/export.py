"""A store written out: everything it holds, as of one snapshot, in bounded memory."""

import queue
import threading
import uuid
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from django.db import connection, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Collate

from memoryconsole import jobs
from memoryconsole.models import (
    Association,
    Entity,
    EntityAlias,
    Job,
    JobChunk,
    Mention,
    Passage,
    Record,
    Store,
    StoreCounter,
    Summary,
    SummarySource,
    User,
)
from memoryconsole.models.jobs import JobState
from memoryconsole.services.numbering import lock_counter
from memoryconsole.services.transfer import lines
from memoryconsole.services.transfer.pieces import in_pieces, stored_parts
from memoryconsole.snapshot import snapshot

# Rows fetched at once: whole texts, up to 800 kB each, and rows without texts.
_TEXTS_AT_ONCE = 50
_ROWS_AT_ONCE = 1000
# What a stream sends at once.
_BLOCK_BYTES = 64 * 1024
# A reader who takes nothing for so long loses the snapshot, which keeps PostgreSQL from cleaning up, and a connection.
STALLED_MS = 60_000
# A file may be downloaded for so long (`docs/api.md`).
FILES_KEPT = timedelta(days=1)
# Pieces read ahead of those that are stored.
_AHEAD = 2


def stream_export(store: Store) -> Iterator[bytes]:
    """Everything in the store, in blocks, from one snapshot, which stays open until the last block is taken.

    Whatever interrupts it, the file then lacks its last line.
    """
    with snapshot():
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL idle_in_transaction_session_timeout = {STALLED_MS}")
        block = bytearray()
        for line in store_lines(store):
            block += line
            if len(block) >= _BLOCK_BYTES:
                yield bytes(block)
                block.clear()
        yield bytes(block)


def start_export(store: Store, *, by: User, now: datetime) -> Job:
    """Have a job write everything in the store into a file, kept for a day (`file_of`)."""
    return jobs.start(store, "export", {}, by=by, now=now)


def file_of(job: Job) -> Iterator[bytes] | None:
    """The file an export made; None when there is none: not made, not yet, no more, or withdrawn."""
    return stored_parts(job) if has_file(job) else None


def has_file(job: Job) -> bool:
    """Whether the job has a file to give."""
    return bool(with_files([job]))


def with_files(among: Sequence[Job]) -> set[int]:
    """The primary keys of those of one store's jobs that have a file to give."""
    made = [job for job in among if job.kind == "export" and job.state == JobState.DONE]
    if not made:
        return set()
    first = JobChunk.objects.filter(store=made[0].store_id, job__in=made, index=0)
    return set(first.values_list("job_id", flat=True))


def withdraw_exports(store: Store) -> None:
    """Take back the files that may hold what is being deleted. Call in the deleting transaction, with the counter.

    An export at work has to begin again, from a snapshot of its own after this.
    """
    exports = Job.objects.filter(store=store, kind="export")
    # In this order: one that ends between the two has its file deleted.
    exports.filter(state=JobState.RUNNING).update(state=JobState.QUEUED, failures=0, leased_until=None)
    JobChunk.objects.filter(store=store, job__in=exports.filter(state=JobState.DONE)).delete()


def drop_files(*, now: datetime) -> None:
    """Remove the files of jobs that ended: an import's at once, an export's when it was there long enough."""
    ended = Job.objects.exclude(finished_at=None)
    kept = Q(job__kind="export", job__state=JobState.DONE, job__finished_at__gte=now - FILES_KEPT)
    JobChunk.objects.filter(job__in=ended).exclude(kept).delete()


@jobs.handles("export")
def run_export(job: Job) -> None:
    """Write the store into the job's file. A worker that dies leaves nothing of use: the next begins again."""
    with transaction.atomic():
        # Whoever deletes holds the counter until it is visible; whoever comes later finds this job running.
        lock_counter(job.store)
        JobChunk.objects.filter(store=job.store_id, job=job).delete()
        jobs.report(job, done=0, kept=False)
    written = Written()
    with closing(_read_apart(written.pieces(job.store))) as pieces:
        for index, piece in enumerate(pieces):
            with transaction.atomic():
                JobChunk.objects.create(store=job.store, job=job, index=index, data=piece)
                jobs.report(job, done=written.lines, total=written.total, message="lines", kept=False)
    jobs.report(job, done=written.lines, total=written.lines, message="lines", kept=False)


class Written:
    """How far the writing of a store has come, in lines; `total` is known when the first piece is there."""

    def __init__(self) -> None:
        self.lines = 0
        self.total: int | None = None

    def pieces(self, store: Store) -> Generator[bytes, None, None]:
        """The store's file in pieces, from one snapshot."""
        with snapshot():
            yield from in_pieces(self._count(store_lines(store, told=self)))

    def _count(self, parts: Iterable[bytes]) -> Iterator[bytes]:
        for part in parts:
            self.lines += 1
            yield part


def _read_apart(pieces: Generator[bytes, None, None]) -> Generator[bytes, None, None]:
    """Take `pieces` in a thread, which has a connection of its own: a snapshot can neither write nor be written in."""
    ready: queue.Queue[bytes | BaseException | None] = queue.Queue(_AHEAD)
    stop = threading.Event()

    def put(item: bytes | BaseException | None) -> None:
        while not stop.is_set():
            try:
                ready.put(item, timeout=0.2)
            except queue.Full:
                continue
            return

    def read() -> None:
        try:
            with closing(pieces):
                for piece in pieces:
                    put(piece)
                    if stop.is_set():
                        return
            put(None)
        except BaseException as fault:
            put(fault)  # raised where the pieces are taken
        finally:
            connection.close()

    reader = threading.Thread(target=read, name="export", daemon=True)
    reader.start()
    try:
        while (item := ready.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stop.set()
        reader.join()


def store_lines(store: Store, told: Written | None = None) -> Iterator[bytes]:
    """Every line of the store's file, in order. Call inside a snapshot."""
    written = 0
    for members in _members(store, told):
        written += 1
        yield lines.write_line(members)
    yield lines.write_line(lines.end_line(written))


def _members(store: Store, told: Written | None) -> Iterator[dict[str, Any]]:
    header = _header(store)
    if told is not None:
        told.total = sum(header["counts"].values()) + 2
    yield header
    for record in _texts(_records(store).select_related("session")):
        yield lines.record_line(record)
    yield from _summaries(store)
    entities = Entity.objects.filter(store=store).order_by("number")
    for entity in entities.iterator(_ROWS_AT_ONCE):
        yield lines.entity_line(entity)
    aliases = EntityAlias.objects.filter(store=store).select_related("entity")
    texts = [Collate(name, "C") for name in ("project_id", "channel", "alias")]
    for alias in aliases.order_by("entity__number", *texts).iterator(_ROWS_AT_ONCE):
        yield lines.alias_line(alias)
    mentions = _mentions(store).select_related("entity", "record", "summary")
    for mention in _without_texts(mentions, "record", "summary").order_by(
        "entity__number", "record__number", "summary__number", F("char_start").asc(nulls_first=True), "char_end"
    ).iterator(_ROWS_AT_ONCE):  # fmt: skip
        yield lines.mention_line(mention)
    ends = [f"{place}_{kind}" for place in ("subject", "object") for kind in ("entity", "record", "summary")]
    anchors = ["anchor_record", "anchor_summary"]
    associations = _associations(store).select_related(*ends, *anchors).order_by("number")
    with_texts = [place for place in [*ends, *anchors] if not place.endswith("entity")]
    for association in _without_texts(associations, *with_texts).iterator(_ROWS_AT_ONCE):
        yield lines.association_line(association)


def _header(store: Store) -> dict[str, Any]:
    counter = StoreCounter.objects.get(store=store)
    return lines.header_line(
        language=Store.objects.values_list("language", flat=True).get(pk=store.pk),
        counts={
            "record": _records(store).count(),
            "summary": Summary.objects.live().filter(store=store).count(),
            "entity": Entity.objects.filter(store=store).count(),
            "alias": EntityAlias.objects.filter(store=store).count(),
            "mention": _mentions(store).count(),
            "association": _associations(store).count(),
        },
        last={kind: getattr(counter, kind) for kind in lines.NUMBERED},
        believed_at=counter.belief_at,
    )


def _replaced(store: Store) -> "QuerySet[Passage, int]":
    """Passages that a newer version of their document replaced. A file says of no record that it is one, so where it
    is imported they would be found again.
    """
    passages = Passage.objects.filter(store=store, version__superseded_at__isnull=False)
    return passages.values_list("record", flat=True)


def _records(store: Store) -> "QuerySet[Record]":
    return Record.objects.live().filter(store=store).exclude(pk__in=_replaced(store))


def _mentions(store: Store) -> "QuerySet[Mention]":
    return Mention.objects.filter(store=store).exclude(record__in=_replaced(store))


def _associations(store: Store) -> "QuerySet[Association]":
    gone = _replaced(store)
    ends = Q(subject_record__in=gone) | Q(object_record__in=gone) | Q(anchor_record__in=gone)
    return Association.objects.filter(store=store).exclude(ends)


def _texts(rows: "QuerySet[Any]") -> Iterator[Any]:
    return rows.order_by("number").iterator(_TEXTS_AT_ONCE)


def _without_texts(rows: "QuerySet[Any]", *places: str) -> "QuerySet[Any]":
    """The joined records and summaries without what makes them large."""
    large = {"record": ("content", "tool_calls"), "summary": ("summary",)}
    names = [f"{place}__{name}" for place in places for name in large[place.rsplit("_", 1)[-1]]]
    return rows.defer(*names)


def _summaries(store: Store) -> Iterator[dict[str, Any]]:
    """Summaries beside their sources, both read in the order of the summaries."""
    sources = (
        SummarySource.objects.filter(store=store, summary__deleted_at=None)
        .order_by("summary__number", "source_index")
        .values_list("summary__number", "number", "record__uuid", "child__uuid")
    )
    groups = groupby(sources.iterator(_ROWS_AT_ONCE), key=lambda row: row[0])
    number, group = next(groups, (None, iter(())))
    for summary in _texts(Summary.objects.live().filter(store=store).select_related("session")):
        places: list[uuid.UUID | int] = []
        if summary.number == number:
            places = [record or child or gone for _, gone, record, child in group]
            number, group = next(groups, (None, iter(())))
        yield lines.summary_line(summary, places)
