"""A file of lines taken in by a job: batch by batch, each with its place in the file in one transaction.

So a worker may die anywhere: what was committed is there once, and the next lease goes on behind it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, BinaryIO

from django.db import transaction
from django.utils import timezone

from memoryconsole import jobs
from memoryconsole.models import Job, JobChunk, Store, User
from memoryconsole.services import ingest
from memoryconsole.services.declare import DeclaredBy
from memoryconsole.services.numbering import lock_counter
from memoryconsole.services.transfer import declarations, rows
from memoryconsole.services.transfer.lines import NUMBERED, BadLine, read_line
from memoryconsole.services.transfer.occurrences import MAX_LINES, Occurrences, TooManyLines
from memoryconsole.services.transfer.pieces import (
    Line,
    keep,
    lines_of,
    read_parts,
    stored_parts,
)
from memoryconsole.services.transfer.rows import Context, Item, Outcome, Restoring
from memoryconsole.shapes import new_record
from memoryconsole.times import read_stamp, write_stamp

# Of bad lines, so many are told of one by one; all are counted.
MAX_ERRORS = 100
# A batch is one transaction, far below a lease even where texts are long, and what a killed worker does again.
BATCH_LINES = 500
BATCH_BYTES = 250_000
# Pieces of the file scanned between two reports.
_SCAN_STEP = 8
# A store never comes near it by counting, and from here it may count nine times as far: a file that says more would
# leave the store without a number that an address can name.
MAX_TAKEN_OVER = 10**14
# How far ahead another host's clock may be.
_OTHER_CLOCK = timedelta(days=1)

_DECLARATIONS: dict[str, Callable[[Context, Sequence[Item]], Outcome]] = {
    "entity": declarations.store_entities,
    "alias": declarations.store_aliases,
    "mention": declarations.store_mentions,
    "association": declarations.store_associations,
}
_TEXTS = {"record": rows.store_records, "summary": rows.store_summaries}


@transaction.atomic
def start_import(
    store: Store, file: BinaryIO, *, name: str = "", declared_by: DeclaredBy | None, by: User, now: datetime
) -> Job:
    """Keep a file and have a job take it in.

    `name`: the file's, to show. `declared_by`: as whom its owner declares what rides on plain lines; None: they may
    not declare, and lines that do are refused.
    """
    job = jobs.start(store, "import", {"name": name, "declared_by": declared_by}, by=by, now=now)
    keep(job, read_parts(file))
    return job


@jobs.handles("import")
def run_import(job: Job) -> None:
    """Take in the job's file from where the last committed batch ended."""
    _Import(job).run()


@dataclass(slots=True)
class _Progress:
    """How far an import has come, as `Job.progress` keeps it.

    `line`, `offset`: the last line that is done and where the next begins. `written`: lines that were not blank.
    `header`: what the file's header says, once read. `restoring`: rows keep the file's numbers and times. `end`: how
    many lines the file says it has, once its last line was read. `done`: everything is.
    """

    line: int = 0
    offset: int = 0
    written: int = 0
    header: dict[str, Any] | None = None
    restoring: bool = False
    end: int | None = None
    done: bool = False
    counts: dict[str, int] = field(default_factory=lambda: {"created": 0, "duplicate": 0, "bad": 0})

    def after(self, batch: "_Batch", outcome: Outcome) -> "_Progress":
        counts = {
            "created": self.counts["created"] + outcome.created,
            "duplicate": self.counts["duplicate"] + outcome.duplicate,
            "bad": self.counts["bad"] + len(outcome.refused),
        }
        return _Progress(
            line=batch.line,
            offset=batch.offset,
            written=self.written + batch.written,
            header=self.header,
            restoring=self.restoring,
            end=self.end,
            counts=counts,
        )

    def kept(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    def message(self) -> str:
        return ", ".join(f"{amount} {name}" for name, amount in self.counts.items())


@dataclass(slots=True)
class _Batch:
    """Lines of one kind that follow one another. `line`, `offset`: behind its last one; `bytes` of its rows."""

    kind: str = ""
    items: list[Item] = field(default_factory=list)
    refused: list[tuple[int, BadLine]] = field(default_factory=list)
    line: int = 0
    offset: int = 0
    written: int = 0
    bytes: int = 0

    @property
    def full(self) -> bool:
        return len(self.items) + len(self.refused) >= BATCH_LINES or self.bytes >= BATCH_BYTES


class _Import:
    def __init__(self, job: Job) -> None:
        self._job = job
        self._progress = _Progress(**job.progress)
        # Of the file as read, which is ahead of what is stored.
        self._seen_any = self._progress.written > 0
        self._has_header = self._progress.header is not None
        self._ended = self._progress.end is not None

    def run(self) -> None:
        """Raises jobs.CannotFinish for a file that cannot be read to its end."""
        if self._progress.done:
            return
        try:
            self._occurrences = Occurrences(lines_of(self._told()), past=self._progress.line)
        except TooManyLines:
            raise jobs.CannotFinish(f"The file has more than {MAX_LINES:,} lines: divide it.") from None
        jobs.report(self._job, done=self._progress.line, total=self._occurrences.total, kept=False)
        for batch in self._batches():
            self._store(batch)
        self._finish()

    def _told(self) -> Iterator[bytes]:
        """The file's pieces, for the scan; the lease is renewed on the way."""
        for index, part in enumerate(stored_parts(self._job)):
            if index % _SCAN_STEP == 0:
                jobs.report(self._job, done=self._progress.line, message="reading", kept=False)
            yield part

    def _batches(self) -> Iterator[_Batch]:
        start = self._progress
        parts = stored_parts(self._job, start.offset)
        batch = _Batch()
        for line in lines_of(parts, number=start.line, offset=start.offset):
            read = self._read(line)
            if isinstance(read, tuple) and read[0] != batch.kind:
                if batch.line:
                    yield batch
                batch = _Batch(kind=read[0])
            self._add(batch, line, read)
            if batch.full:
                yield batch
                batch = _Batch(kind=batch.kind)
        if batch.line:
            yield batch

    def _add(self, batch: _Batch, line: Line, read: "tuple[str, dict[str, Any]] | BadLine | None") -> None:
        batch.line, batch.offset = line.number, line.after
        if read is None:
            return
        batch.written += 1
        if isinstance(read, BadLine):
            batch.refused.append((line.number, read))
        else:
            batch.items.append((line.number, read[1]))
            batch.bytes += len(line.data or b"")

    def _read(self, line: Line) -> "tuple[str, dict[str, Any]] | BadLine | None":
        """(kind, members), what is wrong with the line, or None for a blank one."""
        if line.data == b"":
            return None
        first, self._seen_any = not self._seen_any, True
        try:
            kind, members = read_line(line)
            self._check_place(kind, first=first)
        except BadLine as bad:
            if first and bad.kind == "header":
                raise jobs.CannotFinish(f"The header cannot be read: {bad.pointer}: {bad.message}") from None
            return bad
        if kind == "" and line.data and not members["message_id"].strip():
            members["message_id"] = self._occurrences.message_id(line.data)
        return kind, members

    def _check_place(self, kind: str, *, first: bool) -> None:
        """Raises BadLine for a line that may not stand where it stands, or not come from this owner."""
        if self._ended:
            raise BadLine("after_end", "Stands behind the file's last line.")
        if kind == "header":
            if not first:
                raise BadLine("second_header", "A header is a file's first line.")
            self._has_header = True
        elif kind and not self._has_header:
            raise BadLine("no_header", "Lines with a kind need the header that an export begins with.")
        if kind in _DECLARATIONS and self._job.arguments["declared_by"] is None:
            raise BadLine("not_permitted", "This needs the scope 'declare' on the store.")
        self._ended = kind == "end"

    def _store(self, batch: _Batch) -> None:
        """One batch and the place behind it, in one transaction."""
        context = Context(
            store=self._job.store, by=self._job.created_by, now=timezone.now(), restoring=self._restoring()
        )
        prepared = rows.prepare(context, batch.kind, batch.items) if batch.kind in _TEXTS else None
        with transaction.atomic():
            if not Store.objects.live().filter(pk=self._job.store_id).exists():
                raise jobs.CannotFinish("The store was deleted.")
            outcome = self._apply(context, batch, prepared)
            outcome.refused += batch.refused
            progress = self._special(batch, self._progress.after(batch, outcome))
            self._advance(progress, errors=self._errors(outcome))
        self._progress = progress

    def _restoring(self) -> Restoring | None:
        header = self._progress.header
        if header is None or not self._progress.restoring:
            return None
        return Restoring(header["last"], read_stamp(header["believed_at"]))

    def _apply(self, context: Context, batch: _Batch, prepared: rows.Prepared | None) -> Outcome:
        if not batch.items:
            return Outcome()
        if batch.kind in _DECLARATIONS:
            return _DECLARATIONS[batch.kind](context, batch.items)
        if prepared is not None:
            return _TEXTS[batch.kind](context, batch.items, prepared)
        if batch.kind == "":
            return self._store_plain(context, batch.items)
        return Outcome()

    def _store_plain(self, context: Context, items: Sequence[Item]) -> Outcome:
        stored = ingest.store_records(
            context.store,
            [new_record(members) for _, members in items],
            by=context.by,
            declared_by=self._job.arguments["declared_by"],
            now=context.now,
        )
        outcome = Outcome(created=sum(row.created for row in stored))
        outcome.duplicate = len(stored) - outcome.created
        for (line, _), row in zip(items, stored, strict=True):
            if row.associations is not None:
                # Which item, and not why: a reason may name what is stored.
                dropped = [_path(item["item"]) for item in row.associations.dropped]
                outcome.told += [(line, BadLine("dropped", "Not declared.", path)) for path in dropped]
        return outcome

    def _special(self, batch: _Batch, progress: _Progress) -> _Progress:
        """What the header and the last line change."""
        if batch.kind == "header" and batch.items:
            _, header = batch.items[0]
            believed_at = header.get("believed_at")
            if believed_at is not None and believed_at > timezone.now() + _OTHER_CLOCK:
                raise jobs.CannotFinish("The header cannot be read: /believed_at: Lies in the future.")
            progress.header = {
                "last": header["last"],
                "believed_at": write_stamp(believed_at) if believed_at else "",
            }
            progress.restoring = _take_over(self._job.store, header)
        if batch.kind == "end" and batch.items:
            progress.end = batch.items[0][1]["lines"]
        return progress

    def _errors(self, outcome: Outcome) -> list[Any] | None:
        room = MAX_ERRORS - len(self._job.errors)
        told = sorted([*outcome.refused, *outcome.told], key=lambda bad: bad[0])[: max(0, room)]
        return [*self._job.errors, *(_error(line, bad) for line, bad in told)] if told else None

    def _finish(self) -> None:
        """Let go of the file. Raises jobs.CannotFinish when it was cut short."""
        progress = self._progress
        if progress.header is not None and progress.end is None:
            raise jobs.CannotFinish(
                f"The file was cut short: its last line is missing. Taken in: {progress.message()}"
            )
        if progress.end is not None and progress.end != progress.written - 1:
            raise jobs.CannotFinish(
                f"The file was changed: its last line counts {progress.end} lines before it, and there are"
                f" {progress.written - 1}. Taken in: {progress.message()}"
            )
        with transaction.atomic():
            JobChunk.objects.filter(store=self._job.store_id, job=self._job).delete()
            progress.done = True
            self._advance(progress)

    def _advance(self, progress: _Progress, errors: list[Any] | None = None) -> None:
        jobs.advance(
            self._job, done=progress.line, progress=progress.kept(), errors=errors, message=progress.message()
        )


def _path(item: str) -> str:
    """Where something stands that rode on a record, as a pointer: `relations[1].subject` as /relations/1/subject."""
    inner = item.replace("[", "/").replace("]", "").replace(".", "/")
    return "/associations" if inner == "associations" else f"/associations/{inner}"


def _error(line: int, bad: BadLine) -> dict[str, Any]:
    error: dict[str, Any] = {"line": line, "code": bad.code, "message": bad.message}
    return error | ({"pointer": bad.pointer} if bad.pointer else {})


def _take_over(store: Store, header: dict[str, Any]) -> bool:
    """Whether the store becomes the exported one: when it never numbered anything, and the file's numbers leave room.

    The file's numbers are then reserved at once, so that whoever writes meanwhile gets later ones.
    """
    counter = lock_counter(store)
    if any(getattr(counter, kind) for kind in NUMBERED) or max(header["last"].values()) > MAX_TAKEN_OVER:
        return False
    for kind in NUMBERED:
        setattr(counter, kind, header["last"][kind])
    counter.belief_at = header.get("believed_at")
    counter.save()
    before = Store.objects.select_for_update().get(pk=store.pk)
    if before.language != header["language"]:
        # Nothing is stored yet that would have to be analysed again.
        before.language = header["language"]
        before.version += 1
        before.save(update_fields=["language", "version"])
    return True
