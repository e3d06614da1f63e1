"""How long the database may work for one answer: one deadline, shared by all of its statements (contract, section C.3).

The server ends a statement that is still running when the time is over. What was read until then is thrown away: an
answer is whole or says that it is none.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import ceil
from time import monotonic
from typing import Any, Final, ParamSpec, TypeVar

from django.db import OperationalError, connection
from psycopg.errors import QueryCanceled

from provenance.context_bundle.core.types import DATABASE_SECONDS

P = ParamSpec("P")
Read = TypeVar("Read")

RENEWED_SECONDS: Final = 1.0
"""How old the limit of a single statement may be, and so how much too long an answer may take. Setting it is a round
trip: an ordinary answer has one.
"""


class TimeSpent(RuntimeError):
    """The database's time for this answer is over."""


@contextmanager
def deadline(seconds: float | None = None) -> Iterator[None]:
    """What is read inside shares this time, DATABASE_SECONDS if none is given. Call inside `snapshot()`.

    Raises TimeSpent from the statement that is cut, and from every later one.
    """
    clock = _Clock(monotonic() + (DATABASE_SECONDS if seconds is None else seconds))
    with connection.execute_wrapper(clock):
        yield


def in_time(read: Callable[P, Read], *args: P.args, **kwargs: P.kwargs) -> Read | None:
    """What `read` gives; None when the deadline around it passed."""
    try:
        return read(*args, **kwargs)
    except TimeSpent:
        return None


class _Clock:
    def __init__(self, ends: float) -> None:
        self._ends = ends
        self._set = float("-inf")
        self._spent = False

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        now = monotonic()
        if self._spent or now >= self._ends:
            raise TimeSpent
        if now - self._set >= RENEWED_SECONDS:
            self._set = now
            left = str(ceil((self._ends - now) * 1000))
            # Past Django's cursor: this statement is no part of what is read.
            context["cursor"].cursor.execute("SELECT set_config('statement_timeout', %s, TRUE)", [left])
        try:
            return execute(sql, params, many, context)
        except OperationalError as fault:
            if not isinstance(fault.__cause__, QueryCanceled):
                raise
            self._spent = True
            raise TimeSpent from None
