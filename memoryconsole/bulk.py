"""Many rows of one table at once, by COPY.

An INSERT of a thousand rows spends five times as long being put together as PostgreSQL takes to store it (measured on
records and index entries).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from django.db import connection
from django.db.models import Model
from numpy.typing import NDArray
from psycopg.sql import SQL, Identifier

# What a binary COPY begins and ends with (PostgreSQL: COPY, "Binary Format"): its signature, no flags, no extension;
# a row of -1 columns.
_SIGNATURE = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
_END = b"\xff\xff"


def take_ids(model: type[Model], amount: int) -> list[int]:
    """The next primary keys of a table, in rising order."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)",
            [model._meta.db_table, amount],
        )
        return [key for (key,) in cursor.fetchall()]


def copy_rows(model: type[Model], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows given as the named columns' values. Constraints hold as for any insert."""
    names = SQL(", ").join(map(Identifier, columns))
    statement = SQL("COPY {} ({}) FROM STDIN").format(Identifier(model._meta.db_table), names)
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)


def copy_columns(model: type[Model], columns: Mapping[str, NDArray[Any]]) -> None:
    """Insert rows given as whole columns, none of them null, in PostgreSQL's own bytes: nothing is written out and
    read again. The dtypes are those of the columns, high byte first: '>i8' a bigint, '>i2' a smallint.
    """
    layout: list[Any] = [("columns", ">i2")]
    for name, values in columns.items():
        layout += [(f"{name} size", ">i4"), (name, values.dtype)]
    rows = np.empty(len(next(iter(columns.values()))), dtype=layout)
    rows["columns"] = len(columns)
    for name, values in columns.items():
        rows[f"{name} size"] = values.dtype.itemsize
        rows[name] = values
    statement = SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(
        Identifier(model._meta.db_table), SQL(", ").join(map(Identifier, columns))
    )
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.write(_SIGNATURE + rows.tobytes() + _END)


def copy_instances(model: type[Model], instances: Sequence[Model]) -> None:
    """Insert unsaved instances, giving each its primary key, as `bulk_create` would."""
    fields = model._meta.local_concrete_fields
    for instance, key in zip(instances, take_ids(model, len(instances)), strict=True):
        instance.pk = key
        instance._state.adding = False
        instance._state.db = connection.alias
    prepare = [(field.attname, field.get_db_prep_save) for field in fields]
    copy_rows(
        model,
        [str(field.column) for field in fields],
        ([to_db(getattr(row, name), connection) for name, to_db in prepare] for row in instances),
    )
