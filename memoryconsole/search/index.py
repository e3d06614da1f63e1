"""The write side: what makes a row findable, in the row's own transaction, and what takes that away again."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import accumulate
from typing import Any

from django.db.models import Exists, F, Func, IntegerField, OuterRef, QuerySet
from django.db.models.functions import Coalesce

from memoryconsole import embedding
from memoryconsole.bulk import copy_rows, take_ids
from memoryconsole.models import EmbeddingSpace, EntryVector, IndexEntry, Record, Store, Summary
from memoryconsole.models.search import Part
from memoryconsole.models.summaries import SourceType
from memoryconsole.search.analyze import ANALYZER, index_terms, query_units
from memoryconsole.search.lexical import key, pack, votes
from memoryconsole.search.vectors import Whole, literal, nothing, quantize

# Of a row's digest, what orders ties: two texts that differ share it once in 2**64.
DIGEST_BYTES = 8
# A step of `fill_space` and `reanalyze`, in entries and in bytes of text: seconds at most under the store's lock.
_BATCH = 1000
_BATCH_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Indexed:
    """What a write did: entries and vectors written. `failure`: why there are no vectors although a model is
    configured ('' otherwise); `fill_space` writes them later. `owed`: the store lacks vectors of the running
    model, from this write or before: `fill_space` is to be called.
    """

    entries: int = 0
    vectors: int = 0
    failure: str = ""
    owed: bool = False


@dataclass(frozen=True, slots=True)
class Analysed:
    """What the index will hold of one text: its words as keys and forward bytes, and its vector."""

    keys: list[int]
    forward: bytes
    length: int
    vector: Whole | None = None


@dataclass(frozen=True, slots=True)
class Analysis:
    """What the index will hold of some rows, one entry a row, and the model that made the vectors."""

    rows: tuple[Analysed, ...]
    model: embedding.Embedder | None = None
    failure: str = ""

    def only(self, places: Iterable[int]) -> "Analysis":
        """The same for some of the rows."""
        return replace(self, rows=tuple(self.rows[place] for place in places))


def analyse(store: Store, rows: Sequence[Record | Summary]) -> Analysis:
    """The work of indexing that needs no database, and no row saved: words and vectors.

    It is most of a write's time, so it comes before the store's counter is locked. A failing embedder does not
    fail the write: the rows then have no vectors, and `failure` says why.
    """
    words = [_analysed(store, row) for row in rows]
    try:
        model = embedding.current()
        vectors = iter(embedded(model, [_text(row) for row in rows if not _graph(row)]))
    except embedding.EmbeddingFailed as fault:
        return Analysis(rows=tuple(Analysed(*entry) for entry in words), failure=str(fault))
    entries = (
        Analysed(*entry, None if _graph(row) else next(vectors))
        for entry, row in zip(words, rows, strict=True)
    )
    return Analysis(rows=tuple(entries), model=model)


def index(
    store: Store,
    *,
    records: Sequence[Record] = (),
    summaries: Sequence[Summary] = (),
    analysis: Analysis | None = None,
    now: datetime,
) -> Indexed:
    """Make saved rows findable. Call in the transaction that inserted them, holding the store's counter.

    `analysis`: what `analyse` gave for these rows, in this order; made here when it is not given. Summaries of
    summaries are no candidates of recall: they are found by their words, inside their session.
    """
    rows: list[Record | Summary] = [*records, *summaries]
    if not rows:
        return Indexed()
    made = analyse(store, rows) if analysis is None else analysis
    ids = take_ids(IndexEntry, len(rows))
    entries = (_entry(store, pk, row, entry) for pk, row, entry in zip(ids, rows, made.rows, strict=True))
    copy_rows(IndexEntry, _ENTRY_COLUMNS, entries)
    written = _write_vectors(store, made.model, ids, [entry.vector for entry in made.rows], now=now)
    owed = bool(made.failure) or _behind(store, made.model, ids[0])
    return Indexed(entries=len(rows), vectors=written, failure=made.failure, owed=owed)


def remove(store: Store, *, record_ids: Iterable[int] = (), summary_ids: Iterable[int] = ()) -> None:
    """Make rows unfindable, by primary key. Call in the transaction that hides or deletes them."""
    for condition in ({"record_id__in": list(record_ids)}, {"summary_id__in": list(summary_ids)}):
        if any(condition.values()):
            entries = IndexEntry.objects.filter(store=store, **condition)
            EntryVector.objects.filter(store=store, entry__in=entries).delete()
            entries.delete()


def fill_space(store: Store, *, after: int = 0, limit: int = _BATCH, now: datetime) -> int | None:
    """Embed the next entries past `after` that have no vector of the running model, `limit` at most.

    Answers where to go on from, or None at the end; the running model's space is then the store's active one.
    That is how a store changes its model, and how it recovers from writes during which the model failed. Call
    each step in a transaction holding the store's counter. Raises embedding.EmbeddingFailed.
    """
    model = embedding.current()
    if model is None:
        return None
    space = space_of(store, model, now=now)
    vectors = EntryVector.objects.filter(store=store, space=space, entry=OuterRef("pk"))
    missing = IndexEntry.objects.filter(
        ~Exists(vectors), store=store, part=Part.RECALL, pk__gt=after
    ).order_by("pk")
    entries, more = _step(missing, limit)
    made = embedded(model, [_text(_row(entry)) for entry in entries])
    _write_vectors(store, model, [entry.pk for entry in entries], made, now=now)
    if more:
        return entries[-1].pk
    Store.objects.filter(pk=store.pk).update(active_space=space)
    return None


def reanalyze(store: Store, *, after: int = 0, limit: int = _BATCH) -> int | None:
    """Analyse the texts of the next entries past `after` again, `limit` at most, with today's rules and language.

    Answers where to go on from, or None at the end. For a new ANALYZER, and for a store whose language changed:
    until the end, the words of the two are not the same words. Call each step in a transaction holding the
    store's counter.
    """
    entries = IndexEntry.objects.filter(store=store, pk__gt=after).order_by("pk")
    batch, more = _step(entries, limit)
    for entry in batch:
        entry.keys, entry.forward, entry.length = _analysed(store, _row(entry))
        entry.analyzer = ANALYZER
    IndexEntry.objects.bulk_update(batch, ["keys", "forward", "length", "analyzer"], batch_size=_BATCH)
    return batch[-1].pk if more else None


def index_missing(store: Store, *, now: datetime) -> int:
    """Make the next summaries findable that are not, as those of a time when summaries of summaries were not.

    Answers how many; 0 at the end. Call each step in a transaction holding the store's counter.
    """
    entries = IndexEntry.objects.filter(store=store, summary=OuterRef("pk"))
    missing = list(Summary.objects.live().filter(~Exists(entries), store=store).order_by("pk")[:_BATCH])
    index(store, summaries=missing, now=now)
    return len(missing)


def matching_keys(store: Store, text: str) -> list[int]:
    """The keys an entry holds that has all the words of a text, for `keys__contains`. Empty: the text has no
    words.
    """
    units = query_units(text, store.language, keep_stops=True)
    return sorted({key(store.pk, term) for unit in units for term in unit.terms})


def records_with_words(store: Store, text: str) -> QuerySet[IndexEntry, int | None]:
    """The primary keys of the records that have all the words of a text, as a subquery; none for a text of
    none.
    """
    entries = IndexEntry.objects.filter(store=store, record__isnull=False)
    keys = matching_keys(store, text)
    return (entries.filter(keys__contains=keys) if keys else entries.none()).values_list(
        "record_id", flat=True
    )


def _step(entries: QuerySet[IndexEntry], limit: int) -> tuple[list[IndexEntry], bool]:
    """(the first of these entries with their rows, whether more follow): as many as _BATCH_BYTES hold, one at
    least.
    """
    size = Coalesce(_octets("record__content"), _octets("summary__summary"))
    ahead = list(entries.annotate(size=size).values_list("pk", "size")[:limit])
    sofar = accumulate(size for _, size in ahead)
    taken = [pk for place, ((pk, _), sofar) in enumerate(zip(ahead, sofar, strict=True))
             if not place or sofar <= _BATCH_BYTES]  # fmt: skip
    batch = IndexEntry.objects.filter(pk__in=taken).order_by("pk").select_related("record", "summary")
    return list(batch), len(ahead) == limit or len(taken) < len(ahead)


def _octets(column: str) -> Func:
    # Not its length: that would read the text.
    return Func(F(column), function="octet_length", output_field=IntegerField())


def _behind(store: Store, model: embedding.Embedder | None, first: int) -> bool:
    """Whether what the store held last before entry `first` has no vector in an active space of this model.

    One entry tells: a write that leaves a gap owes a job itself, which goes on until the gap is closed. It is
    the gaps of writes without a model, or with another one, that no job knows of, and they end here.
    """
    if model is None:
        return False
    vectors = EntryVector.objects.filter(
        store=store,
        entry=OuterRef("pk"),
        space=OuterRef("store__active_space"),
        space__name=model.name,
        space__fingerprint=model.fingerprint,
    )
    before = IndexEntry.objects.filter(store=store, part=Part.RECALL, pk__lt=first).order_by(
        "-stored_at", "-number"
    )
    return before.annotate(done=Exists(vectors)).values_list("done", flat=True).first() is False


def _row(entry: IndexEntry) -> Record | Summary:
    row = entry.record or entry.summary
    if row is None:
        raise LookupError(f"index entry {entry.pk} has no row")
    return row


def _graph(row: Record | Summary) -> bool:
    return isinstance(row, Summary) and row.source_type == SourceType.NODES


def _text(row: Record | Summary) -> str:
    return row.content if isinstance(row, Record) else row.summary


def _analysed(store: Store, row: Record | Summary) -> tuple[list[int], bytes, int]:
    """(keys, forward, length) of a row's entry."""
    terms = index_terms(_text(row), store.language)
    if isinstance(row, Record):
        lent = votes({row.source_name, row.source_id}, row.instant, store.language)
    else:
        lent = votes((), row.earliest_at, store.language)
    keys, forward = pack(store.pk, terms.counts, lent)
    return keys, forward, terms.length


_ENTRY_COLUMNS = (
    "id", "store_id", "record_id", "summary_id", "number", "project_id", "channel", "source_id", "session_id", "part",
    "instant", "stored_at", "digest", "analyzer", "keys", "forward", "length",
)  # fmt: skip


def _entry(store: Store, pk: int, row: Record | Summary, made: Analysed) -> tuple[Any, ...]:
    """The columns of a row's entry."""
    if isinstance(row, Record):
        record, summary, source_id, instant = row.pk, None, row.source_id, row.instant
    else:
        record, summary, source_id, instant = None, row.pk, "", row.earliest_at
    return (
        pk, store.pk, record, summary, row.number, row.project_id, row.channel, source_id,
        row.session_id, Part.GRAPH if _graph(row) else Part.RECALL, instant, row.created_at,
        bytes(row.digest)[:DIGEST_BYTES], ANALYZER,
        f"{{{','.join(map(str, made.keys))}}}",
        made.forward, made.length,
    )  # fmt: skip


def embedded(model: embedding.Embedder | None, texts: Sequence[str]) -> list[Whole | None]:
    """A vector of whole numbers a text, pointing nowhere for a text that has none; None without a model."""
    if model is None or not texts:
        return [None] * len(texts)
    empty = nothing(model.dimensions)
    made = [None if v is None else quantize(v) for v in embedding.embed_texts(model, texts)]
    return [empty if vector is None else vector for vector in made]


def _write_vectors(
    store: Store,
    model: embedding.Embedder | None,
    entries: Sequence[int],
    vectors: Sequence[Whole | None],
    *,
    now: datetime,
) -> int:
    made = [(entry, vector) for entry, vector in zip(entries, vectors, strict=True) if vector is not None]
    if model is None or not entries:
        return 0
    space = space_of(store, model, now=now)
    rows = [(store.pk, entry, space.pk, Part.RECALL, literal(vector)) for entry, vector in made]
    copy_rows(EntryVector, ("store_id", "entry_id", "space_id", "part", "embedding"), rows)
    return sum(bool(vector.any()) for _, vector in made)


def space_of(store: Store, model: embedding.Embedder, *, now: datetime) -> EmbeddingSpace:
    """The running model's space in the store, made at first use. A store's first space is its active one.

    Another model than the active one writes beside it: the active space stays, since its vectors are the
    complete ones, until `fill_space` has embedded the rest.
    """
    space, made = EmbeddingSpace.objects.get_or_create(
        store=store,
        name=model.name,
        fingerprint=model.fingerprint,
        defaults={"dimensions": model.dimensions, "created_at": now},
    )
    if made:
        Store.objects.filter(pk=store.pk, active_space=None).update(active_space=space)
    return space
