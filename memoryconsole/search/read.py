"""The statements of the read side. Each reads columns of many entries at once, as packed bytes: a row object
per entry would cost more than all the arithmetic.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from django.db import connection
from django.db.models import (
    Aggregate,
    BinaryField,
    Case,
    F,
    Func,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.expressions import Expression
from django.db.models.functions import Coalesce, Length
from numpy.typing import NDArray

from memoryconsole.models import EntryVector, IndexEntry, Store
from memoryconsole.scope import ReadScope
from memoryconsole.search.fuse import Key, Kind
from memoryconsole.search.lexical import FORWARD_BYTES, Found, Ints
from memoryconsole.search.vectors import cosines, literal

_FOUND = np.dtype([("id", ">i8"), ("length", ">i4"), ("bytes", ">i4"), ("in_scope", "u1")])
_COSINE = np.dtype([("id", ">i8"), ("distance", ">f8")])


@dataclass(frozen=True, slots=True)
class Ground:
    """What a search stands on: how many live entries the store and the scope have, and the active space."""

    total: int
    in_scope: int
    language: str
    space: int | None
    model: tuple[str, str] | None
    dimensions: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where a candidate is stored: the row's kind, primary key and number, and what orders its ties."""

    kind: Kind
    row_id: int
    number: int
    key: Key


class _Packed(Aggregate):
    """Expressions of type bytea, joined in a row and then over the rows."""

    function = "string_agg"
    template = "%(function)s(%(expressions)s, ''::bytea)"
    arg_joiner = " || "
    output_field = BinaryField()


def _send(expression: str | Expression, width: str) -> Func:
    return Func(F(expression) if isinstance(expression, str) else expression, function=f"{width}send",
                output_field=BinaryField())  # fmt: skip


def entries_in(scope: ReadScope) -> Q:
    """The condition on entries that a read scope sees (contract: reconstruct A.7)."""
    if not scope.source_id:
        return scope.context()
    records = Q(record__isnull=False) & scope.records()
    return records | (Q(summary__isnull=False) & scope.context()) if scope.reads_summaries else records


def read_ground(store: Store, scope: ReadScope) -> Ground:
    """One statement."""
    entries = IndexEntry.objects.filter(store=OuterRef("pk")).order_by()
    seen = entries_in(scope)

    def count(rows: QuerySet[IndexEntry]) -> Subquery:
        # count(*) is answered from an index alone; the ORM's would add a GROUP BY and read every row.
        number = Func(function="count", template="%(function)s(*)", output_field=IntegerField())
        return Subquery(rows.annotate(n=number).values("n"))

    total, in_scope, language, space, name, fingerprint, dimensions = Store.objects.values_list(
        count(entries), count(entries.filter(seen)) if seen else Value(-1), "language", "active_space",
        "active_space__name", "active_space__fingerprint", "active_space__dimensions",
    ).get(pk=store.pk)  # fmt: skip
    return Ground(
        total=total,
        in_scope=in_scope if seen else total,
        language=language,
        space=space,
        model=None if space is None else (name, fingerprint),
        dimensions=dimensions or 0,
    )


def read_found(
    store: Store, scope: ReadScope, keys: Sequence[int], phrases: Iterable[Sequence[int]]
) -> Found:
    """Every entry of the store that holds one of the keys, or all keys of one of the phrases. One statement.

    The whole store's, not the scope's: a term is as rare as it is in the store, whoever asks.
    """
    holding = Q()
    if keys:
        holding |= Q(keys__overlap=list(keys))
    for phrase in phrases:
        holding |= Q(keys__contains=list(phrase))
    if not holding:
        return unpack_found(b"", b"")
    seen = entries_in(scope)
    in_scope = (
        Case(When(seen, then=Value(b"\1")), default=Value(b"\0"), output_field=BinaryField())
        if seen
        else None
    )
    columns = IndexEntry.objects.filter(holding, store=store).aggregate(
        heads=_Packed(
            _send("id", "int8"), _send("length", "int4"), _send(Length("forward"), "int4"),
            in_scope or Value(b"\1", output_field=BinaryField()),
        ),
        forward=_Packed("forward"),
    )  # fmt: skip
    return unpack_found(columns["heads"] or b"", columns["forward"] or b"")


def unpack_found(heads: bytes, forward: bytes) -> Found:
    columns = np.frombuffer(heads, dtype=_FOUND)
    return Found(
        ids=columns["id"].astype(np.int64),
        lengths=columns["length"].astype(np.int64),
        sizes=columns["bytes"].astype(np.int64) // FORWARD_BYTES,
        in_scope=columns["in_scope"] == 1,
        forward=bytes(forward),
    )


def read_cosines(store: Store, scope: ReadScope, space: int, query: NDArray[np.int16]) -> tuple[Ints, Ints]:
    """(entry ids, cosines in 1/10,000) of every entry in scope that has a vector of the space. One statement.

    An exact scan of the store's vectors: an approximate index over all stores is slower for one store, and
    wrong.
    """
    vectors = EntryVector.objects.filter(store=store, space=space)
    seen = entries_in(scope)
    if seen:
        visible = IndexEntry.objects.filter(seen, store=store)
        vectors = vectors.filter(entry__in=visible)
    distance = Func(
        F("embedding"), Value(literal(query)), template="%(expressions)s::halfvec", arg_joiner=" <=> "
    )
    packed = vectors.aggregate(rows=_Packed(_send("entry_id", "int8"), _send(distance, "float8")))["rows"]
    columns = np.frombuffer(packed or b"", dtype=_COSINE)
    return columns["id"].astype(np.int64), cosines(columns["distance"].astype(np.float64))


def read_places(store: Store, scores: dict[int, int]) -> dict[int, Place]:
    """Where entries' rows are, by entry id. One statement."""
    rows = IndexEntry.objects.filter(store=store, pk__in=scores).values_list(
        "pk", "record_id", "summary_id", "number", "instant", "digest"
    )
    places = {}
    for pk, record, summary, number, instant, digest in rows:
        kind = Kind.MEM if summary is None else Kind.EP
        key = Key(scores[pk], instant, kind, bytes(digest), number)
        places[pk] = Place(kind, record if summary is None else summary, number, key)
    return places


def read_frequencies(store: Store, keys: Sequence[int], *, cap: int) -> dict[int, int]:
    """How many entries hold each key, counted to `cap`. One statement."""
    statement = """
        SELECT key, (SELECT count(*) FROM (
            SELECT FROM mc_index_entry WHERE store_id = %s AND keys @> ARRAY[key] LIMIT %s) AS counted)
        FROM unnest(%s::bigint[]) AS key
    """
    with connection.cursor() as cursor:
        cursor.execute(statement, [store.pk, cap, list(keys)])
        return dict(cursor.fetchall())


def read_texts(entries: Ints) -> dict[int, str]:
    """The texts behind entries, by entry id. One statement."""
    rows = IndexEntry.objects.filter(pk__in=entries.tolist())
    return dict(rows.values_list("pk", Coalesce("record__content", "summary__summary")))
