"""The write side: what makes a row findable, in the row's own transaction, and what takes that away again."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np
from django.db import connection
from django.db.models import Exists, F, Func, IntegerField, Model, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce

from memoryconsole import embedding
from memoryconsole.bulk import copy_columns, copy_rows
from memoryconsole.models import (
    Claim,
    EmbeddingSpace,
    Entity,
    EntryVector,
    Fact,
    FactEvidence,
    IndexEntry,
    Record,
    Store,
    Summary,
)
from memoryconsole.models.graph import EntityStatus
from memoryconsole.models.search import Part
from memoryconsole.search.analysis import (
    NOTHING,
    Analysed,
    Analysis,
    Foreseen,
    analyse_rest,
    embedded,
    words_of,
)
from memoryconsole.search.analyze import ANALYZER, query_units
from memoryconsole.search.lexical import key
from memoryconsole.search.texts import Kind, Row, Searchable, salt, searchables
from memoryconsole.search.vectors import halfvecs

# Of a row's digest, what orders ties: two texts that differ share it once in 2**64.
DIGEST_BYTES = 8
# A step of `fill_space` and `reanalyze`, in entries and in bytes of text: seconds at most under the store's lock.
_BATCH = 1000
_BATCH_BYTES = 1_000_000

_M = TypeVar("_M", bound=Model)


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


def index(
    store: Store,
    *,
    records: Sequence[Record] = (),
    summaries: Sequence[Summary] = (),
    claims: Sequence[Claim] = (),
    facts: Sequence[Fact] = (),
    profiles: Sequence[Entity] = (),
    analysis: Analysis | None = None,
    foreseen: Foreseen = NOTHING,
    now: datetime,
) -> Indexed:
    """Make saved rows findable. Call in the transaction that inserted them, holding the store's counter.

    `analysis`: what `analyse` gave for the records, summaries and claims, in this order; made here when it is not
    given. `foreseen`: what `foresee` gave for any of the rows; the others are analysed here. Summaries of summaries are
    no candidates of recall: they are found by their words, inside their session.

    `profiles`: entities whose names or facts have changed, or those of whom they are merged: the profile there was
    goes, and an active entity has a new one. It holds words of facts and of merged names: whoever takes one of these
    away has the profile written again.

    Statements: one, two COPYs, one for the names in facts and profiles, and two more for profiles.
    """
    given: list[Record | Summary | Claim] = [*records, *summaries, *claims]
    active = [entity for entity in profiles if entity.status == EntityStatus.ACTIVE]
    told = searchables(store, [*facts, *active])
    remove(store, entity_ids=[entity.pk for entity in profiles])
    rows = [*searchables(store, given), *told]
    if not rows:
        return Indexed()
    made = analyse_rest(store, rows[: len(given)], foreseen) if analysis is None else analysis
    made = made.and_(analyse_rest(store, told, foreseen)) if told else made
    start = _start(store, made.model, rows)
    entries = (_entry(store, *entry) for entry in zip(start.ids, rows, made.rows, strict=True))
    copy_rows(IndexEntry, _ENTRY_COLUMNS, entries)
    written = 0
    if made.model is not None:
        space = start.space or space_of(store, made.model, now=now).pk
        written = _write_vectors(store, space, zip(start.ids, rows, made.rows, strict=True))
    return Indexed(len(rows), written, made.failure, owed=bool(made.failure) or start.behind)


def remove(
    store: Store,
    *,
    record_ids: Iterable[int] = (),
    summary_ids: Iterable[int] = (),
    claim_ids: Iterable[int] = (),
    fact_ids: Iterable[int] = (),
    entity_ids: Iterable[int] = (),
) -> None:
    """Make rows unfindable, by primary key. Call in the transaction that hides or deletes them. One statement, none
    for no rows; the vectors go with their entries.

    The words of a fact stay in the profiles of its ends until those are written again (`index`).
    """
    gone = {"record_id": record_ids, "summary_id": summary_ids, "claim_id": claim_ids, "fact_id": fact_ids,
            "entity_id": entity_ids}  # fmt: skip
    named = {column: ids for column, rows in gone.items() if (ids := list(rows))}
    if named:
        either = " OR ".join(f"{column} = ANY(%s::bigint[])" for column in named)
        with connection.cursor() as cursor:
            cursor.execute(
                f"DELETE FROM mc_index_entry WHERE store_id = %s AND ({either})",  # noqa: S608
                [store.pk, *named.values()],
            )


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
    missing = (
        IndexEntry.objects.filter(~Exists(vectors), store=store, pk__gt=after)
        .exclude(part=Part.GRAPH)
        .order_by("pk")
    )
    entries, more = _step(missing, limit)
    rows = searchables(store, [_row(entry) for entry in entries])
    made = embedded(model, [row.text for row in rows])
    analysed = [Analysed([], b"", 0, vector) for vector in made]
    _write_vectors(store, space.pk, zip([entry.pk for entry in entries], rows, analysed, strict=True))
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
    for entry, row in zip(batch, searchables(store, [_row(entry) for entry in batch]), strict=True):
        entry.keys, entry.forward, entry.length = words_of(store, row)
        entry.analyzer = ANALYZER
    IndexEntry.objects.bulk_update(batch, ["keys", "forward", "length", "analyzer"], batch_size=_BATCH)
    return batch[-1].pk if more else None


def index_missing(store: Store, *, now: datetime) -> int:
    """Make the next rows findable that are not: summaries, as those of a time when summaries of summaries were not,
    claims, facts that rest on some claim, and entities that facts are about.

    Answers how many; 0 at the end. Call each step in a transaction holding the store's counter.
    """
    evidence = FactEvidence.objects.filter(fact=OuterRef("pk"))
    ends = Fact.objects.filter(Q(subject=OuterRef("pk")) | Q(object=OuterRef("pk")), store=store)
    profiled = Entity.objects.filter(Exists(ends), status=EntityStatus.ACTIVE)
    return index(
        store,
        summaries=_unindexed(store, Summary.objects.live(), "summary"),
        claims=_unindexed(store, Claim.objects.filter(record__deleted_at=None), "claim"),
        facts=_unindexed(store, Fact.objects.filter(Exists(evidence)), "fact"),
        profiles=_unindexed(store, profiled, "entity"),
        now=now,
    ).entries


def _unindexed(store: Store, rows: QuerySet[_M], kind: Kind) -> list[_M]:
    entries = IndexEntry.objects.filter(store=store, **{kind: OuterRef("pk")})
    return list(rows.filter(~Exists(entries), store=store).order_by("pk")[:_BATCH])


def matching_keys(store: Store, text: str) -> list[int]:
    """The keys an entry holds that has all the words of a text, for `keys__contains`. Empty: the text has no
    words.
    """
    units = query_units(text, store.language, keep_stops=True)
    return sorted({key(salt(store, Part.RECALL), term) for unit in units for term in unit.terms})


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
    least. What a profile comes to is not known before it is made, and is little.
    """
    texts = ("record__content", "summary__summary", "claim__claim_text", "fact__statement")
    size = Coalesce(*map(_octets, texts), 0)
    ahead = list(entries.annotate(size=size).values_list("pk", "size")[:limit])
    sofar = accumulate(size for _, size in ahead)
    taken = [pk for place, ((pk, _), sofar) in enumerate(zip(ahead, sofar, strict=True))
             if not place or sofar <= _BATCH_BYTES]  # fmt: skip
    batch = IndexEntry.objects.filter(pk__in=taken).order_by("pk")
    rows = batch.select_related("record", "summary", "claim__record", "fact", "entity")
    return list(rows), len(ahead) == limit or len(taken) < len(ahead)


def _octets(column: str) -> Func:
    # Not its length: that would read the text.
    return Func(F(column), function="octet_length", output_field=IntegerField())


def _row(entry: IndexEntry) -> Row:
    row = entry.record or entry.summary or entry.claim or entry.fact or entry.entity
    if row is None:
        raise LookupError(f"index entry {entry.pk} has no row")
    return row


@dataclass(frozen=True, slots=True)
class _Start:
    """Where a write begins: its entries' primary keys, the running model's space (None: it has none here yet), and
    whether the store's last texts are without a vector in an active space of this model.
    """

    ids: list[int]
    space: int | None
    behind: bool


def _start(store: Store, model: embedding.Embedder | None, rows: Sequence[Searchable]) -> _Start:
    """One statement.

    Of each part that is written, and of recall's, the last entry tells whether the store is behind: a write that
    leaves a gap owes a job itself, which goes on until the gap is closed. It is the gaps of writes without a model,
    or with another one, that no job knows of, and they end there.
    """
    parts = {row.part for row in rows} - {Part.GRAPH} | {Part.RECALL}
    last = [
        f"SELECT id FROM mc_index_entry WHERE store_id = %(store)s AND part = {part:d} ORDER BY id DESC LIMIT 1"  # noqa: S608
        for part in sorted(parts)
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT ARRAY(SELECT nextval(pg_get_serial_sequence('mc_index_entry', 'id'))
                         FROM generate_series(1, %(rows)s)), p.id,
                   (SELECT bool_or(NOT EXISTS (
                        SELECT FROM mc_entry_vector AS v
                        WHERE v.store_id = s.id AND v.entry_id = last.id AND v.space_id = p.id
                        AND v.space_id = s.active_space_id))
                    FROM (({") UNION ALL (".join(last)})) AS last)
            FROM mc_store AS s LEFT JOIN mc_embedding_space AS p
            ON p.store_id = s.id AND p.name = %(name)s AND p.fingerprint = %(fingerprint)s
            WHERE s.id = %(store)s
            """,  # noqa: S608
            {
                "store": store.pk,
                "rows": len(rows),
                "name": model.name if model else None,
                "fingerprint": model.fingerprint if model else None,
            },
        )
        ids, space, behind = cursor.fetchone()
    return _Start(ids, space, bool(behind) and model is not None)


_KINDS = ("record", "summary", "claim", "fact", "entity")
_ENTRY_COLUMNS = (
    "id", "store_id", *(f"{kind}_id" for kind in _KINDS), "number", "project_id", "channel", "source_id", "session_id",
    "part", "instant", "stored_at", "digest", "analyzer", "keys", "forward", "length",
)  # fmt: skip


def _entry(store: Store, pk: int, row: Searchable, made: Analysed) -> tuple[Any, ...]:
    """The columns of a row's entry."""
    return (
        pk, store.pk, *(row.row_id if kind == row.kind else None for kind in _KINDS), row.number, row.project_id,
        row.channel, row.source_id, row.session_id, row.part, row.instant, row.stored_at, row.digest[:DIGEST_BYTES],
        ANALYZER, f"{{{','.join(map(str, made.keys))}}}", made.forward, made.length,
    )  # fmt: skip


def _write_vectors(store: Store, space: int, entries: Iterable[tuple[int, Searchable, Analysed]]) -> int:
    made = [(pk, row.part, entry.vector) for pk, row, entry in entries if entry.vector is not None]
    if not made:
        return 0
    keys, parts, vectors = zip(*made, strict=True)
    columns = {
        "store_id": np.full(len(made), store.pk, dtype=">i8"),
        "entry_id": np.array(keys, dtype=">i8"),
        "space_id": np.full(len(made), space, dtype=">i8"),
        "part": np.array(parts, dtype=">i2"),
        "embedding": halfvecs(vectors),
    }
    copy_columns(EntryVector, columns)
    return sum(bool(vector.any()) for vector in vectors)


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
