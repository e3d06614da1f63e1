"""One consistent view of the database for a whole read."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from django.db import connection, transaction

from memoryconsole.errors import ConsoleError


class NestedSnapshotError(RuntimeError):
    """A snapshot was opened inside a transaction: it would not be one view, and a caller's writes would be in it."""


@contextmanager
def snapshot() -> Iterator[datetime]:
    """Everything read inside sees one state of the database; nothing can be written.

    Yields the snapshot's instant (PostgreSQL's clock, aware, UTC). Close it before any network call.

    Raises NestedSnapshotError inside another transaction.
    """
    if connection.in_atomic_block:
        raise NestedSnapshotError("snapshot() inside a transaction")
    refusal: ConsoleError | None = None
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        cursor.execute("SELECT transaction_timestamp()")
        try:
            yield cursor.fetchone()[0]
        except ConsoleError as fault:
            # There is nothing to roll back, and a rollback would cost the connection all plans that it keeps.
            refusal = fault
    if refusal is not None:
        raise refusal
