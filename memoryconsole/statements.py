"""Reading by SQL whose columns come in binary form, and whose plan may be kept.

Bytes are half as long as in PostgreSQL's text form, and nobody takes them apart digit by digit: a fifth of a scan of
100,000 vectors. And a statement that is the same text at every call can keep its plan: `all_rows`.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import Any

import numpy as np
import psycopg
from django.db import DEFAULT_DB_ALIAS, NotSupportedError, OperationalError, connection
from django.db.models import Expression, Model, QuerySet
from numpy.typing import NDArray
from psycopg.types.numeric import Int8


class _Apart(psycopg.Cursor[tuple[Any, ...]]):
    """`keeps_plan`: the statement is planned once a connection, and not for these values."""

    def __init__(self, on: psycopg.Connection[Any], *, keeps_plan: bool) -> None:
        super().__init__(on)
        self._keeps_plan = keeps_plan

    def execute(self, query: Any, params: Any = None, **_options: Any) -> "_Apart":
        return super().execute(query, params, prepare=self._keeps_plan, binary=True)

    def _convert_query(self, query: Any, params: Any = None) -> Any:
        # Django logs and counts a statement by this, which psycopg leaves out for a prepared one.
        self._query = super()._convert_query(query, params)
        return self._query


def all_rows(statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """The rows of a statement that is the same text at every call: what changes is among the values.

    It keeps its plan, so its good plan must not depend on the values: it looks rows up by key. Planning such a one
    takes PostgreSQL up to four milliseconds, mostly longer than running it. What scans or searches is for `one_row`.
    A value stands where its type is plain, or is cast there. Instants come in UTC, JSON as Python's values. Logs show
    the statement without its values.

    Raises OperationalError when a column that is read changed its type since the plan was made.
    """
    return _rows(
        statement, {name: _sized(_written(value)) for name, value in values.items()}, keeps_plan=True
    )


class Given(Expression):
    """In the conditions of a queryset that is `compiled`: a value that comes with each call, by its name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[str | int, ...]]:
        return f"%({self.name})s", ()


def compiled(rows: QuerySet[Any]) -> str:
    """A queryset as a statement for `instances`: to have the framework put one together takes it longer than PostgreSQL
    takes to answer. Raises ValueError when it holds a value that is not Given.
    """
    statement, values = rows.query.sql_with_params()
    if values:
        raise ValueError("a compiled queryset holds values of one call")
    return str(statement)


def instances(
    statement: str, models: Sequence[type[Model]], values: Mapping[str, Any]
) -> list[tuple[Any, ...]]:
    """The rows of a `compiled` queryset of the first model, with those that it selects along, in their order, none of
    which may be missing: an instance of each. Raises ValueError for other models than are selected.
    """
    names = [[field.attname for field in model._meta.concrete_fields] for model in models]
    width = sum(map(len, names))
    found = []
    for row in all_rows(statement, values):
        if len(row) != width:
            raise ValueError(f"{len(row)} columns for models of {width}")
        columns = iter(row)
        found.append(
            tuple(
                model.from_db(DEFAULT_DB_ALIAS, named, list(islice(columns, len(named))))
                for model, named in zip(models, names, strict=True)
            )
        )
    return found


def one_row(statement: str, values: Sequence[Any]) -> tuple[Any, ...]:
    """The one row of a statement that is planned for its values, as what scans or searches wants: they are written
    into it. Columns as in `all_rows`. Raises ValueError for another number of rows.
    """
    connection.ensure_connection()
    whole = psycopg.ClientCursor(connection.connection).mogrify(
        statement, [_written(each) for each in values]
    )
    (row,) = _rows(whole, None, keeps_plan=False)
    return row


def unpacked(packed: bytes | None) -> NDArray[np.int64]:
    """The numbers that `string_agg(int8send(...), '')` put together: a row object each costs more than a search."""
    return np.frombuffer(packed or b"", dtype=">i8").astype(np.int64)


def _rows(statement: str, values: Any, *, keeps_plan: bool) -> list[tuple[Any, ...]]:
    connection.ensure_connection()
    raw: Any = _Apart(connection.connection, keeps_plan=keeps_plan)
    # Inside Django's wrappers: queries are counted, logged and timed as any others.
    wrap = connection.make_debug_cursor if connection.queries_logged else connection.make_cursor
    try:
        with closing(wrap(raw)) as cursor:
            cursor.execute(statement, values)
            rows: list[tuple[Any, ...]] = cursor.fetchall()
            return rows
    except NotSupportedError as fault:
        if not keeps_plan:
            raise
        # A column has another type than when the plan was made. It would fail for ever here: the next connection
        # plans anew, and whoever asked may ask again.
        connection.connection.close()
        if not connection.in_atomic_block:  # whoever ends the transaction closes it
            connection.close()
        raise OperationalError("the tables were changed while a plan for them was kept") from fault


def _written(value: Any) -> Any:
    """A list of numbers as PostgreSQL writes an array: a driver takes a millisecond for a thousand."""
    if type(value) is list and all(type(each) is int for each in value):
        return f"{{{','.join(map(str, value))}}}"
    return value


def _sized(value: Any) -> Any:
    """A plain number as a bigint: as short as it may be, every size of it would make another statement."""
    return Int8(value) if type(value) is int else value
