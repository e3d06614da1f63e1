"""The statements of the read side, in SQL: columns of many entries come as packed bytes, since a row object per
entry would cost more than all the arithmetic, and putting the statements together anew for every call half of it.

The condition of a read scope alone is made by Django, from the one place that says what a scope is (`scope.py`);
its values are parameters, as all values are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connection
from django.db.models import Q
from numpy.typing import NDArray

from memoryconsole.models import IndexEntry, Store
from memoryconsole.scope import ReadScope
from memoryconsole.search.fuse import Key, Kind
from memoryconsole.search.lexical import FORWARD_BYTES, Found, Ints
from memoryconsole.search.vectors import cosines, literal

_FOUND = np.dtype([("id", ">i8"), ("length", ">i4"), ("bytes", ">i4")])
_COSINE = np.dtype([("id", ">i8"), ("distance", ">f8")])


@dataclass(frozen=True, slots=True)
class Ground:
    """What a search stands on: the store's live entries, those in scope, and the active space.

    `total`: entries of the store. `scope`: the ids of those in scope, ascending; None: all are.
    `model`: (name, fingerprint) of the model behind the space.
    """

    total: int
    scope: Ints | None
    language: str
    space: int | None
    model: tuple[str, str] | None

    @property
    def in_scope(self) -> int:
        return self.total if self.scope is None else len(self.scope)

    def sees(self, ids: Ints) -> NDArray[np.bool_]:
        """Which of these entries are in scope."""
        if self.scope is None:
            return np.ones(len(ids), dtype=np.bool_)
        if not len(self.scope):
            return np.zeros(len(ids), dtype=np.bool_)
        at = np.minimum(np.searchsorted(self.scope, ids), len(self.scope) - 1)
        return self.scope[at] == ids


@dataclass(frozen=True, slots=True)
class Place:
    """Where a candidate is stored: the row's kind, primary key and number, and what orders its ties."""

    kind: Kind
    row_id: int
    number: int
    key: Key


def entries_in(scope: ReadScope) -> Q:
    """The condition on entries that a read scope sees (contract: reconstruct A.7)."""
    if not scope.source_id:
        return scope.context()
    records = Q(record__isnull=False) & scope.records()
    return records | (Q(summary__isnull=False) & scope.context()) if scope.reads_summaries else records


def read_ground(store: Store, scope: ReadScope) -> Ground:
    """One statement. The scope is read here, once for both legs of the search."""
    where, values = _condition(scope)
    seen = "NULL"
    if values:
        entries = f"mc_index_entry WHERE store_id = s.id AND {where}"
        seen = f"(SELECT string_agg(int8send(id), ''::bytea) FROM {entries})"  # noqa: S608
    row = _one(
        f"""
        SELECT (SELECT count(*) FROM mc_index_entry WHERE store_id = s.id), {seen},
               s.language, s.active_space_id, p.name, p.fingerprint
        FROM mc_store AS s LEFT JOIN mc_embedding_space AS p ON p.id = s.active_space_id
        WHERE s.id = %s
        """,  # noqa: S608
        [*values, store.pk],
    )
    total, packed, language, space, name, fingerprint = row
    return Ground(
        total=total,
        scope=np.sort(np.frombuffer(packed or b"", dtype=">i8").astype(np.int64)) if values else None,
        language=language,
        space=space,
        model=None if space is None else (name, fingerprint),
    )


def read_found(store: Store, ground: Ground, keys: Sequence[int], phrases: Sequence[Sequence[int]]) -> Found:
    """Every entry of the store that holds one of the keys, or all keys of one of the phrases. One statement.

    The whole store's, not the scope's: a term is as rare as it is in the store, whoever asks.
    """
    either = " OR ".join(["keys && %s::bigint[]", *["keys @> %s::bigint[]"] * len(phrases)])
    heads, forward = _one(
        f"""
        SELECT string_agg(int8send(id) || int4send(length) || int4send(octet_length(forward)), ''::bytea),
               string_agg(forward, ''::bytea)
        FROM mc_index_entry WHERE store_id = %s AND ({either})
        """,  # noqa: S608
        [store.pk, list(keys), *map(list, phrases)],
    )
    columns = np.frombuffer(heads or b"", dtype=_FOUND)
    ids = columns["id"].astype(np.int64)
    return Found(
        ids=ids,
        lengths=columns["length"].astype(np.int64),
        sizes=columns["bytes"].astype(np.int64) // FORWARD_BYTES,
        in_scope=ground.sees(ids),
        forward=bytes(forward or b""),
    )


def read_cosines(store: Store, ground: Ground, query: NDArray[np.int16]) -> tuple[Ints, Ints]:
    """(entry ids, cosines in 1/10,000) of every entry in scope with a vector of the active space. One statement.

    An exact scan of the store's vectors: an approximate index over all stores is slower for one store, and wrong.
    """
    (packed,) = _one(
        """
        SELECT string_agg(int8send(entry_id) || float8send(embedding <=> %s::halfvec), ''::bytea)
        FROM mc_entry_vector WHERE store_id = %s AND space_id = %s
        """,
        [literal(query), store.pk, ground.space],
    )
    columns = np.frombuffer(packed or b"", dtype=_COSINE)
    ids = columns["id"].astype(np.int64)
    seen = ground.sees(ids)
    return ids[seen], cosines(columns["distance"].astype(np.float64)[seen])


def read_places(store: Store, scores: dict[int, int]) -> dict[int, Place]:
    """Where entries' rows are, by entry id. One statement."""
    rows = _all(
        """
        SELECT id, record_id, summary_id, number, instant, digest
        FROM mc_index_entry WHERE store_id = %s AND id = ANY(%s::bigint[])
        """,
        [store.pk, list(scores)],
    )
    places = {}
    for pk, record, summary, number, instant, digest in rows:
        kind = Kind.MEM if summary is None else Kind.EP
        key = Key(scores[pk], instant, kind, bytes(digest), number)
        places[pk] = Place(kind, record if summary is None else summary, number, key)
    return places


def read_frequencies(store: Store, keys: Sequence[int], *, cap: int) -> dict[int, int]:
    """How many entries hold each key, counted to `cap`. One statement."""
    rows = _all(
        """
        SELECT key, (SELECT count(*) FROM (
            SELECT FROM mc_index_entry WHERE store_id = %s AND keys @> ARRAY[key] LIMIT %s) AS counted)
        FROM unnest(%s::bigint[]) AS key
        """,
        [store.pk, cap, list(keys)],
    )
    return dict(rows)


def read_texts(entries: Ints) -> dict[int, str]:
    """The texts behind entries, by entry id. One statement."""
    rows = _all(
        """
        SELECT e.id, coalesce(r.content, s.summary) FROM mc_index_entry AS e
        LEFT JOIN mc_record AS r ON r.id = e.record_id LEFT JOIN mc_summary AS s ON s.id = e.summary_id
        WHERE e.id = ANY(%s::bigint[])
        """,
        [entries.tolist()],
    )
    return dict(rows)


def _condition(scope: ReadScope) -> tuple[str, list[Any]]:
    """A scope's condition on mc_index_entry as SQL, with its values; no values: everything is seen."""
    seen = entries_in(scope)
    if not seen:
        return "TRUE", []
    query = IndexEntry.objects.filter(seen).query
    where, values = query.where.as_sql(query.get_compiler(connection=connection), connection)
    return where, list(values)


def _all(statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def _one(statement: str, values: Sequence[Any]) -> tuple[Any, ...]:
    (row,) = _all(statement, values)
    return row
