"""Reading by statements that the database plans once a connection, not once a question.

For statements whose good plan does not depend on their values: rows looked up by key. Planning such a one takes
PostgreSQL up to four milliseconds, mostly longer than running it. A statement that scans or searches is planned for its
values: `connection.cursor()`.
"""

from collections.abc import Mapping
from contextlib import closing
from typing import Any

import psycopg
from django.db import connection
from psycopg.types.numeric import Int8Dumper


class _Prepared(psycopg.Cursor[tuple[Any, ...]]):
    """Sends values apart from the statement, and takes columns in binary form."""

    def __init__(self, on: psycopg.Connection[Any]) -> None:
        super().__init__(on)
        # As short as its value may be, every size of a number would make another statement.
        self.adapters.register_dumper(int, Int8Dumper)

    def execute(self, query: Any, params: Any = None, **_options: Any) -> "_Prepared":
        return super().execute(query, params, prepare=True, binary=True)

    def _convert_query(self, query: Any, params: Any = None) -> Any:
        # Django logs and counts a statement by this, which psycopg leaves out for a prepared one.
        self._query = super()._convert_query(query, params)
        return self._query


def all_rows(statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """The rows of a statement, which is the same text at every call: what changes is among the values.

    A value stands where its type is plain, or is cast there. Instants come in UTC, JSON as Python's values.
    """
    connection.ensure_connection()
    raw: Any = _Prepared(connection.connection)
    # Inside Django's wrappers: queries are counted, logged and timed as any others.
    wrap = connection.make_debug_cursor if connection.queries_logged else connection.make_cursor
    with closing(wrap(raw)) as cursor:
        cursor.execute(statement, {name: _written(value) for name, value in values.items()})
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def _written(value: Any) -> Any:
    """A list of numbers as PostgreSQL writes an array: a driver takes a millisecond for a thousand."""
    if type(value) is list and all(type(each) is int for each in value):
        return f"{{{','.join(map(str, value))}}}"
    return value
