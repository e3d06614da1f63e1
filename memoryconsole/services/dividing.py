"""Building the nodes of long texts, in the background (contract: reconstruct A.6).

A write queues the rows it owes nodes; a change of the model, or its return, queues the whole store. Texts are read,
divided and embedded outside of any transaction. Then, under the store's counter, which every change of a text and
every deletion takes too, nodes are written for the rows that are still there and still say the same.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, Func, IntegerField, QuerySet
from django.db.models.functions import Length
from django.utils import timezone

from memoryconsole import embedding, jobs, search
from memoryconsole.bulk import copy_rows
from memoryconsole.divide import divide, fits
from memoryconsole.models import Job, Record, RecordNode, Store, Summary, User
from memoryconsole.models.jobs import JobState
from memoryconsole.nodes import Parent, StoredNode, read_nodes, state
from memoryconsole.search.vectors import Whole, literal
from memoryconsole.services.numbering import lock_counter

KIND = "divide"
# Rows whose texts are held in memory together: 4 million code points at most.
_SLICE = 20
_TABLES: dict[str, Any] = {"mem": Record, "ep": Summary}
_TEXTS = {"mem": "content", "ep": "summary"}


def needs_nodes(text: str, analysis: search.Analysis) -> bool:
    """Whether a text that was just analysed is longer than the model reads at once. Never, where no model is
    configured: without vectors no node could be used.
    """
    return bool(analysis.model or analysis.failure) and not fits(text, embedding.window_of(analysis.model))


def divide_later(
    store: Store,
    *,
    records: Iterable[Record] = (),
    summaries: Iterable[Summary] = (),
    by: User | None,
    now: datetime,
) -> None:
    """Have a job build the nodes of these rows. Call in the transaction that writes them."""
    numbers = {"mem": [row.number for row in records], "ep": [row.number for row in summaries]}
    if any(numbers.values()):
        jobs.start(store, KIND, numbers, by=by, now=now)


def divide_store_later(store: Store, *, by: User | None, now: datetime) -> None:
    """Have a job rebuild whatever nodes of the store are not those of the running model, if it has long texts.

    Raises embedding.EmbeddingFailed.
    """
    window = embedding.window_of(embedding.current())
    waiting = Job.objects.filter(store=store, kind=KIND, state=JobState.QUEUED, arguments={})
    if any(_long(store, kind, window.sure).exists() for kind in _TABLES) and not waiting.exists():
        jobs.start(store, KIND, {}, by=by, now=now)


@jobs.handles(KIND, must_finish=True)
def build_nodes(job: Job) -> None:
    """Build the nodes of the rows the job names, or of all rows of the store, that have no current set."""
    model = embedding.current()
    if model is None:
        # Nothing to embed them with. The job that embeds the store once a model is there asks for nodes too.
        return
    done = 0
    for kind in _TABLES:
        numbers = job.arguments.get(kind, []) if job.arguments else None
        for rows in _slices(job.store, kind, numbers, model):
            _build(job.store, kind, rows, model)
            done += len(rows)
            jobs.report(job, done=done, message="texts")


@dataclass(frozen=True, slots=True)
class _Row:
    """A long text as it was read."""

    key: int
    digest: bytes
    text: str


def _long(store: Store, kind: str, sure: int) -> "QuerySet[Any]":
    """The live rows of a kind whose texts may be longer than `sure` code points. Summaries of summaries are no
    candidates and are never quoted.
    """
    rows = Summary.objects.episodes() if kind == "ep" else Record.objects.live()
    # In bytes, of which a text has at least as many: to count code points would be to read every text.
    size = Func(F(_TEXTS[kind]), function="octet_length", output_field=IntegerField())
    return rows.filter(store=store).annotate(octets=size).filter(octets__gt=sure)


def _slices(
    store: Store, kind: str, numbers: Sequence[int] | None, model: embedding.Embedder
) -> Iterator[list[_Row]]:
    """The rows that lack a current node set, some at a time; of all rows where no numbers are given."""
    rows = _long(store, kind, embedding.window_of(model).sure).order_by("number")
    if numbers is not None:
        rows = rows.filter(number__in=numbers)
    rows = rows.annotate(length=Length(_TEXTS[kind]))
    place = 0
    while True:
        found = list(rows.filter(number__gt=place).values_list("number", "pk", "length")[:_SLICE])
        if not found:
            return
        place = found[-1][0]
        stored = read_nodes(
            store, (model.name, model.fingerprint), [_parent(kind, key) for _, key, _ in found]
        )
        owed = [key for _, key, length in found if _lacks(stored.get(_parent(kind, key), []), length)]
        yield [
            _Row(key, bytes(digest), text)
            for key, digest, text in _TABLES[kind]
            .objects.filter(store=store, pk__in=owed)
            .order_by("number")
            .values_list("pk", "digest", _TEXTS[kind])
        ]


def _parent(kind: str, key: int) -> Parent:
    return ("mem" if kind == "mem" else "ep", key)


def _lacks(nodes: Sequence[StoredNode], length: int) -> bool:
    return state(nodes, length) != "current"


def _build(store: Store, kind: str, rows: Sequence[_Row], model: embedding.Embedder) -> None:
    window = embedding.window_of(model)
    # One span is a text that fits: it has no nodes.
    spans = {row.key: cut if len(cut := divide(row.text, window)) > 1 else [] for row in rows}
    texts = [row.text[start:end] for row in rows for start, end in spans[row.key]]
    vectors = iter(search.embedded(model, texts))
    made = {row.key: [(*span, next(vectors)) for span in spans[row.key]] for row in rows}
    with transaction.atomic():
        lock_counter(store)
        live = _TABLES[kind].objects.live().filter(store=store, store__deleted_at=None, pk__in=made)
        digests = {key: bytes(digest) for key, digest in live.values_list("pk", "digest")}
        unchanged = [row.key for row in rows if digests.get(row.key) == row.digest]
        _replace(store, kind, {key: made[key] for key in unchanged}, model)


def _replace(
    store: Store,
    kind: str,
    made: dict[int, list[tuple[int, int, Whole | None]]],
    model: embedding.Embedder,
) -> None:
    """The rows' nodes instead of those they have."""
    parent = "record" if kind == "mem" else "summary"
    RecordNode.objects.filter(store=store, **{f"{parent}__in": list(made)}).delete()
    if not any(made.values()):
        return
    space = search.space_of(store, model, now=timezone.now())
    columns = ("store_id", f"{parent}_id", "index", "start", "end", "space_id", "embedding")
    copy_rows(
        RecordNode,
        columns,
        (
            (store.pk, key, index, start, end, space.pk, None if vector is None else literal(vector))
            for key, nodes in made.items()
            for index, (start, end, vector) in enumerate(nodes)
        ),
    )
