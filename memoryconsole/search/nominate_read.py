"""The statements of nomination, as `read.py` has those of recall: one part of the index, rows by primary key."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from memoryconsole.identity import FOLLOWED
from memoryconsole.models import Store
from memoryconsole.models.search import Part
from memoryconsole.search.lexical import Found, Ints
from memoryconsole.search.read import Ground, Standing, counted
from memoryconsole.search.texts import Kind
from memoryconsole.search.vectors import COSINE_SCALE, Whole, cosines, literal
from memoryconsole.statements import all_rows, one_row

_ROW = np.dtype([("entry", ">i8"), ("row", ">i8"), ("number", ">i8")])
_HEAD = np.dtype([("id", ">i8"), ("row", ">i8"), ("number", ">i8"), ("length", ">i4"), ("bytes", ">i4")])
_COSINE = np.dtype([("id", ">i8"), ("distance", ">f8")])

# How much of a name's word and a question's word must be the same, in trigrams, for one to be the other misspelled:
# one letter of five may be wrong ("Astrd" is 0.44 of "Astrid"), and "work" is not "Worth" (0.37).
NEARLY = 0.4
SIMILARITY_SCALE = 10_000


@dataclass(frozen=True, slots=True)
class Rows:
    """Entries of the index and the rows they stand for, one element each: entry, primary key and number of the row."""

    entries: Ints
    ids: Ints
    numbers: Ints

    def of(self, entries: Ints) -> tuple["Rows", Ints]:
        """(the rows of these entries, the places of those that have one), in the order of the entries."""
        if not len(self.entries):
            return self, self.entries
        order = np.argsort(self.entries, kind="stable")
        at = order[np.minimum(np.searchsorted(self.entries, entries, sorter=order), len(order) - 1)]
        places = np.flatnonzero(self.entries[at] == entries)
        at = at[places]
        return Rows(self.entries[at], self.ids[at], self.numbers[at]), places

    def and_(self, other: "Rows") -> "Rows":
        return Rows(
            np.concatenate([self.entries, other.entries]),
            np.concatenate([self.ids, other.ids]),
            np.concatenate([self.numbers, other.numbers]),
        )


@dataclass(frozen=True, slots=True)
class Near:
    """Entries with their cosine distances. `seen`: how many in scope have a vector or were asked for one. `cut`: more
    were near enough than these.
    """

    entries: Ints
    distances: NDArray[np.float64]
    seen: int
    cut: bool = False

    @property
    def cosines(self) -> Ints:
        """In 1/10,000."""
        return cosines(self.distances)

    def at(self, places: NDArray[np.int64]) -> "Near":
        return replace(self, entries=self.entries[places], distances=self.distances[places])


@dataclass(frozen=True, slots=True)
class Few:
    """A scope of few rows, read whole: it is all that is searched. `found` None: its forward lists are too long for it.
    `near`: the vectors of the model that was asked for, if that is the store's.
    """

    ground: Ground
    rows: Rows
    found: Found | None
    near: Near


_SPACE = "s.language, s.active_space_id, p.name, p.fingerprint"
# For the rest of the transaction: what `read_nearly_named` takes for nearly.
_SET_NEARLY = f"set_config('pg_trgm.strict_word_similarity_threshold', '{NEARLY}', TRUE)"


def read_few(
    store: Store,
    part: Part,
    kind: Kind,
    among: Collection[int],
    vector: Whole | None,
    model: tuple[str, str] | None,
    *,
    max_bytes: int,
) -> Few:
    """The rows in scope that a part has, with what they hold and how near they are. One statement.

    Its `ground.total` are these rows alone: of the part nothing is read, it is not even counted.
    """
    name, fingerprint = model or (None, None)
    # Fenced by OFFSET: with the store's condition beside it, PostgreSQL would look the rows up by a longer index.
    ((language, space, space_name, space_print, _, heads, forward, size, near, seen),) = all_rows(
        f"""
        SELECT {_SPACE}, {_SET_NEARLY}, r.heads, r.forward, r.size, r.near, r.seen
        FROM mc_store AS s LEFT JOIN mc_embedding_space AS p ON p.id = s.active_space_id
        CROSS JOIN LATERAL (
            SELECT string_agg(int8send(id) || int8send({kind}_id) || int8send(number) || int4send(length)
                              || int4send(octet_length(forward)), ''::bytea) AS heads,
                   string_agg(forward, ''::bytea) FILTER (WHERE sofar <= %(most)s) AS forward, max(sofar) AS size,
                   string_agg(int8send(id) || float8send(distance), ''::bytea)
                       FILTER (WHERE distance <= 'infinity') AS near,
                   count(entry_id) AS seen
            FROM (
                SELECT e.*, v.entry_id, v.embedding <=> %(vector)s::halfvec AS distance,
                       sum(octet_length(forward)) OVER (ROWS UNBOUNDED PRECEDING) AS sofar
                FROM (SELECT * FROM mc_index_entry WHERE {kind}_id = ANY(%(among)s::bigint[]) OFFSET 0) AS e
                LEFT JOIN mc_entry_vector AS v ON v.entry_id = e.id AND v.space_id = s.active_space_id
                    AND p.name = %(name)s AND p.fingerprint = %(fingerprint)s
                WHERE e.store_id = s.id AND e.part = {part:d}) AS held) AS r
        WHERE s.id = %(store)s
        """,  # noqa: S608
        {
            "store": store.pk,
            "among": list(among),
            "vector": None if vector is None else literal(vector),
            "name": name,
            "fingerprint": fingerprint,
            "most": max_bytes,
        },
    )
    columns = np.frombuffer(heads or b"", dtype=_HEAD)
    found = Found.of(columns, forward, np.ones(len(columns), dtype=np.bool_))
    rows = Rows(found.ids, *(columns[name].astype(np.int64) for name in ("row", "number")))
    ground = Ground(
        total=len(columns),
        scope=np.sort(found.ids),
        language=language,
        space=space,
        model=None if space is None else (space_name, space_print),
        part=part,
        kind=kind,
    )
    return Few(ground, rows, found if (size or 0) <= max_bytes else None, _near(near, seen))


def read_part(
    store: Store, part: Part, kind: Kind, among: Collection[int] | None
) -> tuple[Ground, Rows | None]:
    """(the ground of a search in a part, the rows in scope that it has; None: all are). One statement, which also sets
    for the rest of the transaction what `read_nearly_named` takes for nearly.
    """
    rows = "NULL"
    if among is not None:
        rows = f"""(SELECT string_agg(int8send(id) || int8send(row) || int8send(number), ''::bytea)
                    FROM (SELECT id, {kind}_id AS row, number, store_id, part FROM mc_index_entry
                          WHERE {kind}_id = ANY(%s::bigint[]) OFFSET 0) AS seen
                    WHERE store_id = s.id AND part = {part:d})"""  # noqa: S608
    total, *standing, packed, language, space, name, fingerprint, _ = one_row(
        f"""
        SELECT counted.*, {rows}, {_SPACE}, {_SET_NEARLY}
        FROM mc_store AS s LEFT JOIN mc_embedding_space AS p ON p.id = s.active_space_id
        CROSS JOIN {counted([part], part)}
        WHERE s.id = %s
        """,  # noqa: S608
        [*([list(among)] if among is not None else []), store.pk],
    )
    seen = None if among is None else _rows(packed)
    ground = Ground(
        total=total,
        scope=None if seen is None else np.sort(seen.entries),
        language=language,
        space=space,
        model=None if space is None else (name, fingerprint),
        part=part,
        kind=kind,
        standing=Standing(*standing),
    )
    return ground, seen


def read_rows(store: Store, kind: Kind, entries: Ints) -> Rows:
    """The rows of this kind behind entries. One statement, none for no entries."""
    if not len(entries):
        return _rows(None)
    (packed,) = one_row(
        f"""
        SELECT string_agg(int8send(id) || int8send({kind}_id) || int8send(number), ''::bytea)
        FROM mc_index_entry WHERE store_id = %s AND id = ANY(%s::bigint[]) AND {kind}_id IS NOT NULL
        """,  # noqa: S608
        [store.pk, entries.tolist()],
    )
    return _rows(packed)


def read_near(store: Store, ground: Ground, query: Whole) -> Near:
    """The entries in scope that have a vector, however far. One exact scan of the scope's."""
    scope = [] if ground.scope is None else ground.scope.tolist()
    return _read(store, ground, query, "'infinity'", " AND entry_id = ANY(%s::bigint[])", [scope])


def read_nearest(store: Store, ground: Ground, query: Whole, *, floor: int, most: int) -> Near:
    """The entries of the part with a cosine of at least `floor`, the nearest `most` of them, equal ones in the order of
    their keys. One exact scan of the part's vectors.

    Where records are looked for, summaries are not in their way; they are counted (`seen`).
    """
    # A hundredth of a unit more than the floor: what is read is rounded here, and cut exactly.
    farthest = str(1 - (floor - 0.51) / COSINE_SCALE)
    if ground.part == Part.RECALL:
        farthest += f""" AND entry_id NOT IN (SELECT id FROM mc_index_entry
                             WHERE store_id = {store.pk:d} AND part = {Part.RECALL:d} AND record_id IS NULL)"""  # noqa: S608
    near = _read(store, ground, query, farthest)
    passed = np.flatnonzero(near.cosines >= floor)
    if len(passed) > most:
        passed = passed[np.lexsort((near.entries[passed], near.distances[passed]))]
    return replace(near, cut=len(passed) > most).at(passed[:most])


def _read(
    store: Store, ground: Ground, query: Whole, farthest: str, scope: str = "", values: Sequence[Any] = ()
) -> Near:
    # Put in order here: PostgreSQL would first copy every row that it also counts.
    seen, packed = one_row(
        f"""
        SELECT count(*), string_agg(int8send(entry_id) || float8send(distance), ''::bytea)
                   FILTER (WHERE distance <= {farthest})
        FROM (SELECT entry_id, embedding <=> %s::halfvec AS distance FROM mc_entry_vector
              WHERE store_id = %s AND space_id = %s AND part = {ground.part:d}{scope}) AS compared
        """,  # noqa: S608
        [literal(query), store.pk, ground.space, *values],
    )
    return _near(packed, seen)


def _near(packed: bytes | None, seen: int) -> Near:
    columns = np.frombuffer(packed or b"", dtype=_COSINE)
    return Near(columns["id"].astype(np.int64), columns["distance"].astype(np.float64), seen)


def read_nearly_named(store: Store, words: Sequence[str]) -> list[tuple[int, int, int]]:
    """(primary key, number, similarity in 1/10,000) of the entities with a profile one of whose names has a word
    that is nearly one of these (folded as `resolve_key` is). A merged entity's names lead to its survivor. One
    statement.
    """
    if not words:
        return []
    with connection.cursor() as cursor:
        cursor.execute(_NEARLY_NAMED, {"store": store.pk, "words": list(words)})
        return cursor.fetchall()


_SHARE = f"round((strict_word_similarity(w, {{0}}) * {SIMILARITY_SCALE})::numeric)::bigint"

_NEARLY_NAMED = f"""
    WITH RECURSIVE
    found (entity_id, score) AS MATERIALIZED (
        SELECT e.id, {_SHARE.format("e.resolve_key")} FROM unnest(%(words)s::text[]) AS w
        JOIN mc_entity AS e ON e.store_id = %(store)s AND e.resolve_key %%>> w
        UNION ALL
        SELECT a.entity_id, {_SHARE.format("a.resolve_key")} FROM unnest(%(words)s::text[]) AS w
        JOIN mc_entity_alias AS a ON a.store_id = %(store)s AND a.resolve_key %%>> w),
    hit (entity_id) AS (SELECT DISTINCT entity_id FROM found),
    {FOLLOWED}
    SELECT e.id, e.number, max(f.score) FROM found AS f
    JOIN survivor AS s ON s.start_id = f.entity_id JOIN mc_entity AS e ON e.id = s.id
    WHERE EXISTS (SELECT FROM mc_index_entry AS p WHERE p.entity_id = e.id)
    GROUP BY e.id, e.number
"""  # noqa: S608  (put together from constants)


def _rows(packed: bytes | None) -> Rows:
    columns = np.frombuffer(packed or b"", dtype=_ROW)
    return Rows(*(columns[name].astype(np.int64) for name in ("entry", "row", "number")))
