"""The statements of the read side, in SQL: columns of many entries come as packed bytes, since a row object per entry
would cost more than all the arithmetic, and putting the statements together anew for every call half of it.

The condition of a read scope alone is made by Django, from the one place that says what a scope is (`scope.py`);
its values are parameters, as all values are.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connection
from django.db.models import Q
from numpy.typing import NDArray

from memoryconsole.models import IndexEntry, Store
from memoryconsole.models.search import Part
from memoryconsole.scope import ReadScope
from memoryconsole.search.fuse import Key, Kind
from memoryconsole.search.lexical import OUTSIDE, RECORDS, SUMMARIES, Found, Ints
from memoryconsole.search.texts import Kind as RowKind
from memoryconsole.search.vectors import cosines, literal
from memoryconsole.statements import all_rows, one_row, unpacked

_FOUND = [("id", ">i8"), ("length", ">i4"), ("bytes", ">i4")]
_PLACED = [("row", ">i8"), ("number", ">i8")]
_INSIDE = [("inside", ">i4")]
_COSINE = np.dtype([("id", ">i8"), ("distance", ">f8")])

# A vector looked up by its entry takes as long as this many read in a row (measured: 3 us and 0.5 us).
LOOK_UP_COST = 6


@dataclass(frozen=True, slots=True)
class Standing:
    """Of the parts that are searched, together: how many entries, the last one's primary key, how often any were taken
    away (`IndexPart`).
    """

    entries: int
    last: int
    removals: int


@dataclass(frozen=True, slots=True)
class Ground:
    """What a search stands on: the store's live entries, those in scope, and the active space.

    `total`: entries of the store. `scope`: the ids of those in scope, ascending; None: all are.
    `model`: (name, fingerprint) of the model behind the space. `graph`: summaries of summaries are seen too.
    `part`: what is searched. `kind`: the kind of row whose primary keys are read along with entries that hold words.
    `session`: the primary key of the session of which they are told to be or not to be. `standing`: what tells whether
    what was counted of this ground before still holds; None: a ground of few rows, of which nothing is counted.
    """

    total: int
    scope: Ints | None
    language: str
    space: int | None
    model: tuple[str, str] | None
    graph: bool = False
    part: Part = Part.RECALL
    kind: RowKind | None = None
    session: int | None = None
    standing: Standing | None = None

    @property
    def parts(self) -> str:
        """The condition on what is searched at all, as SQL behind other conditions."""
        return f" AND part <= {Part.GRAPH}" if self.graph else f" AND part = {self.part:d}"

    @property
    def entries(self) -> str:
        """The same beside keys. A part beside recall needs none: it has keys of its own, and the condition would only
        lead PostgreSQL to read the part's whole index.
        """
        return "" if self.part > Part.GRAPH else self.parts

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


def counted(parts: Collection[Part], of: Part = Part.RECALL) -> str:
    """SQL of one row `counted` beside a store `s`: the entries of the part `of`, and the Standing of the parts."""
    return f"""LATERAL (
        SELECT coalesce(sum(entries) FILTER (WHERE part = {of:d}), 0)::bigint AS total,
               coalesce(sum(entries), 0)::bigint AS entries, coalesce(max(last), 0) AS last,
               coalesce(sum(removals), 0)::bigint AS removals
        FROM mc_index_part WHERE store_id = s.id AND part IN ({", ".join(str(part.value) for part in parts)})
    ) AS counted"""  # noqa: S608


def read_ground(store: Store, scope: ReadScope) -> Ground:
    """One statement. The scope is read here, once for both legs of the search."""
    where, values = _condition(scope)
    seen = "NULL"
    if values:
        entries = f"mc_index_entry WHERE store_id = s.id AND part = 0 AND {where}"
        seen = f"(SELECT string_agg(int8send(id), ''::bytea) FROM {entries})"  # noqa: S608
    row = one_row(
        f"""
        SELECT counted.*, {seen}, s.language, s.active_space_id, p.name, p.fingerprint
        FROM mc_store AS s LEFT JOIN mc_embedding_space AS p ON p.id = s.active_space_id
        CROSS JOIN {counted([Part.RECALL])}
        WHERE s.id = %s
        """,  # noqa: S608
        [*values, store.pk],
    )
    total, *standing, packed, language, space, name, fingerprint = row
    return Ground(
        total=total,
        scope=np.sort(unpacked(packed)) if values else None,
        language=language,
        space=space,
        model=None if space is None else (name, fingerprint),
        standing=Standing(*standing),
    )


def read_session_ground(store: Store, session_id: str) -> Ground | None:
    """The ground of a search inside a session that sees the whole store, summaries of summaries too. One statement.
    None: the store has no such session.
    """
    found = all_rows(_SESSION_GROUND, {"store": store.pk, "session": session_id})
    if not found:
        return None
    ((total, entries, last, removals, session, language, space, name, fingerprint),) = found
    return Ground(
        total=total,
        scope=None,
        language=language,
        space=space,
        model=None if space is None else (name, fingerprint),
        graph=True,
        session=session,
        standing=Standing(entries, last, removals),
    )


_SESSION_GROUND = f"""
    SELECT counted.*, n.id, s.language, s.active_space_id, p.name, p.fingerprint
    FROM mc_session AS n JOIN mc_store AS s ON s.id = n.store_id
    LEFT JOIN mc_embedding_space AS p ON p.id = s.active_space_id
    CROSS JOIN {counted([Part.RECALL, Part.GRAPH])}
    WHERE n.store_id = %(store)s AND n.session_id = %(session)s
"""  # noqa: S608


def read_found(
    store: Store,
    ground: Ground,
    keys: Sequence[int],
    phrases: Sequence[Sequence[int]],
    *,
    also: Sequence[int] = (),
    max_bytes: int,
    shortest: bool = False,
    fits: bool = False,
) -> tuple[Found, bool]:
    """(entries, whether these are all): every entry of the store that holds one of the keys, or all keys of one
    of the phrases, until their forward lists come to `max_bytes`. One statement.

    `also`: entries that are read whatever they hold. `shortest`: the shortest first (to be asked for when not all fit:
    sorting costs more than reading). `fits`: the lists are known to come to less.

    The whole store's, not the scope's: a term is as rare as it is in the store, whoever asks.
    """
    asked: list[tuple[str, list[int]]] = [("keys @> %s::bigint[]", list(phrase)) for phrase in phrases]
    if keys or not also:
        asked.append(("keys && %s::bigint[]", list(keys)))
    if also:
        asked.append(("id = ANY(%s::bigint[])", list(also)))
    either = " OR ".join(condition for condition, _ in asked)
    order = "ORDER BY octet_length(forward), id" if shortest else ""
    sofar = "0" if fits else f"sum(octet_length(forward)) OVER ({order} ROWS UNBOUNDED PRECEDING)"
    columns, head, layout = _head(ground)
    # Fenced by OFFSET: beside the store's condition PostgreSQL would read the store's whole index as well.
    heads, forward, size = one_row(
        f"""
        SELECT string_agg({head}, ''::bytea) FILTER (WHERE sofar <= %s),
               string_agg(forward, ''::bytea) FILTER (WHERE sofar <= %s), max(sofar)
        FROM (
            SELECT {columns}, {sofar} AS sofar
            FROM (SELECT * FROM mc_index_entry WHERE {either} OFFSET 0) AS held
            WHERE store_id = %s{ground.entries}) AS found
        """,  # noqa: S608
        [max_bytes, max_bytes, *(values for _, values in asked), store.pk],
    )
    read = np.frombuffer(heads or b"", dtype=layout)
    found = Found.of(read, forward, ground.sees(read["id"].astype(np.int64)))
    return found, (size or 0) <= max_bytes


def _head(ground: Ground) -> tuple[str, str, np.dtype[Any]]:
    """(the columns that are read of each entry; all but the forward list packed, in SQL; the same as columns)."""
    columns, layout = "id, length, forward", list(_FOUND)
    head = "int8send(id) || int4send(length) || int4send(octet_length(forward))"
    if ground.kind:
        columns += f", coalesce({ground.kind}_id, 0) AS row, number"
        head += " || int8send(row) || int8send(number)"
        layout += _PLACED
    if ground.session is not None:
        columns += f""", CASE WHEN session_id IS DISTINCT FROM {ground.session:d} THEN {OUTSIDE}
                              WHEN record_id IS NOT NULL THEN {RECORDS} ELSE {SUMMARIES} END AS inside"""
        head += " || int4send(inside)"
        layout += _INSIDE
    return columns, head, np.dtype(layout)


def read_cosines(
    store: Store, ground: Ground, query: NDArray[np.int16], *, only: Ints | None = None
) -> tuple[Ints, Ints, int]:
    """(entry ids, cosines in 1/10,000, how many entries in scope the space has) of every entry in scope with a
    vector of the active space. One statement. `only`: of these entries alone, which are looked up where they are few.

    An exact scan of the store's vectors: an approximate index over all stores is slower for one store, and wrong.
    """
    compared, values = _cosines(store, ground, query, only)
    return _read_cosines(one_row(compared, values)[0], ground, only)


def read_first(
    store: Store, ground: Ground, query: NDArray[np.int16], first: Ints, kinds: Collection[int]
) -> tuple[Ints, Ints, dict[int, Ints]]:
    """(entry ids, cosines in 1/10,000, the session's entries of these kinds: RECORDS, SUMMARIES) where the cosines are
    those of the `first` entries. One statement.
    """
    compared, values = _cosines(store, ground, query, first)
    parts, wanted = [f"({compared})"] if len(first) else ["NULL"], values if len(first) else []
    for which in kinds:
        parts.append(
            f"""(SELECT string_agg(int8send(id), ''::bytea) FROM mc_index_entry
                 WHERE store_id = %s AND session_id = %s AND record_id IS {"NOT" if which == RECORDS else ""} NULL)"""  # noqa: S608
        )
        wanted += [store.pk, ground.session]
    packed, *listed = one_row(f"SELECT {', '.join(parts)}", wanted)
    ids, near, _ = _read_cosines(packed, ground, first)
    return ids, near, {which: unpacked(each) for which, each in zip(kinds, listed, strict=True)}


def _few(ground: Ground, only: Ints | None) -> bool:
    return only is not None and len(only) * LOOK_UP_COST < ground.total


def _cosines(
    store: Store, ground: Ground, query: NDArray[np.int16], only: Ints | None
) -> tuple[str, list[Any]]:
    """The statement that `read_cosines` makes, and its values."""
    among = " AND entry_id = ANY(%s::bigint[])" if _few(ground, only) else ""
    statement = f"""
        SELECT string_agg(int8send(entry_id) || float8send(embedding <=> %s::halfvec), ''::bytea)
        FROM mc_entry_vector WHERE store_id = %s AND space_id = %s AND part = 0{among}
    """  # noqa: S608
    return statement, [
        literal(query),
        store.pk,
        ground.space,
        *([only.tolist()] if among and only is not None else []),
    ]


def _read_cosines(packed: bytes | None, ground: Ground, only: Ints | None) -> tuple[Ints, Ints, int]:
    columns = np.frombuffer(packed or b"", dtype=_COSINE)
    ids = columns["id"].astype(np.int64)
    distances = columns["distance"].astype(np.float64)
    seen = ground.sees(ids)
    # A text the model finds nothing in is kept as zeros (`vectors.py`), which have no distance to anything.
    points = seen & np.isfinite(distances)
    if only is not None and not _few(ground, only):
        points &= np.isin(ids, only)
    return ids[points], cosines(distances[points]), int(seen.sum())


def read_places(store: Store, scores: dict[int, int]) -> dict[int, Place]:
    """Where entries' rows are, by entry id. One statement."""
    rows = all_rows(
        """
        SELECT id, record_id, summary_id, number, instant, digest
        FROM mc_index_entry WHERE store_id = %(store)s AND id = ANY(%(entries)s::bigint[])
        """,
        {"store": store.pk, "entries": list(scores)},
    )
    places = {}
    for pk, record, summary, number, instant, digest in rows:
        kind = Kind.MEM if summary is None else Kind.EP
        key = Key(scores[pk], instant, kind, bytes(digest), number)
        places[pk] = Place(kind, record if summary is None else summary, number, key)
    return places


def read_frequencies(
    store: Store, ground: Ground, keys: Sequence[int], *, cap: int, since: Mapping[int, int] | None = None
) -> dict[int, tuple[int, int]]:
    """(how many entries hold it, bytes of their forward lists) by key, counted to `cap` entries; of the keys in
    `since`, the entries past a primary key alone. One statement, none for nothing to count.
    """
    asked: list[tuple[str, list[Any]]] = []
    if keys:
        whole = f"""
            SELECT key, held.entries, held.bytes
            FROM unnest(%s::bigint[]) AS key, LATERAL (
                SELECT count(*) AS entries, coalesce(sum(size), 0)::bigint AS bytes FROM (
                    SELECT octet_length(forward) AS size FROM mc_index_entry
                    WHERE store_id = %s AND keys @> ARRAY[key]{ground.entries} LIMIT %s) AS counted) AS held
        """  # noqa: S608
        asked.append((whole, [list(keys), store.pk, cap]))
    if since:
        # Fenced by OFFSET: the index of the keys would lead to all the entries that hold them.
        added = f"""
            SELECT known.key, count(added.id), coalesce(sum(added.size), 0)::bigint
            FROM unnest(%s::bigint[], %s::bigint[]) AS known (key, last)
            LEFT JOIN (
                SELECT id, keys, octet_length(forward) AS size FROM mc_index_entry
                WHERE store_id = %s{ground.parts} AND id > %s OFFSET 0) AS added
            ON added.id > known.last AND known.key = ANY(added.keys)
            GROUP BY known.key
        """  # noqa: S608
        asked.append((added, [list(since), list(since.values()), store.pk, min(since.values())]))
    if not asked:
        return {}
    statement = " UNION ALL ".join(part for part, _ in asked)
    rows = _all(statement, [value for _, values in asked for value in values])
    return {hashed: (entries, size) for hashed, entries, size in rows}


def read_texts(store: Store, ground: Ground, entries: Ints, *, max_bytes: int) -> dict[int, str]:
    """The texts behind entries of the store, by entry id, until they come to `max_bytes`: those in scope first,
    then the shortest, since a phrase is worth most there. One statement.
    """
    rows = _all(
        """
        SELECT id, text FROM (
            SELECT id, text, sum(octet_length(text)) OVER (
                ORDER BY (id = ANY(%s::bigint[])) DESC, octet_length(text), id ROWS UNBOUNDED PRECEDING) AS sofar
            FROM (
                SELECT e.id, coalesce(r.content, s.summary) AS text FROM mc_index_entry AS e
                LEFT JOIN mc_record AS r ON r.id = e.record_id
                LEFT JOIN mc_summary AS s ON s.id = e.summary_id
                WHERE e.store_id = %s AND e.id = ANY(%s::bigint[])) AS held) AS ordered
        WHERE sofar <= %s
        """,
        [entries[ground.sees(entries)].tolist(), store.pk, entries.tolist(), max_bytes],
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
