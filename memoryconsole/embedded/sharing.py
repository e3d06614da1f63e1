"""The test server, shared by test runs that overlap: each has databases of its own, the last stops it."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO

from memoryconsole.embedded import paths, processes
from memoryconsole.embedded.errors import Busy
from memoryconsole.embedded.postgres import DISPOSABLE_INSTANCE, LOCK_SECONDS, Postgres

SEATS = 16  # more test runs of one checkout at once than two cores can carry


class SharedTestServer:
    """A seat at the test server. Seat 0 has the usual database names, the others a number in theirs.

    A seat is a file lock: however a run ends, its seat is free again, and the next run takes over its
    databases.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._server = Postgres(DISPOSABLE_INSTANCE, say)
        self._folder = paths.make_dir(paths.make_home(self._server.places) / "seats")
        self._seat, self._held = self._take_seat()

    @property
    def database(self) -> str:
        return paths.DATABASE if self._seat == 0 else f"{paths.DATABASE}_{self._seat + 1}"

    @property
    def url(self) -> str:
        return self._server.places.database_url(self.database)

    def start(self) -> None:
        """Raises the errors of `Postgres.start`."""
        with self._gate():
            self._server.start(self.database)

    def leave(self) -> None:
        """Give the seat back, and stop the server if nobody else has one."""
        with self._gate():
            self._held.close()
            if not any(_is_taken(self._seat_file(seat)) for seat in range(SEATS)):
                self._server.stop(immediate=True)

    def _gate(self) -> AbstractContextManager[None]:
        # Starting and leaving exclude each other: nobody stops a server that somebody just found running.
        doing = "starting or stopping the test database"
        return processes.exclusive(self._folder / "gate", LOCK_SECONDS, doing)

    def _seat_file(self, seat: int) -> Path:
        return self._folder / f"seat-{seat}"

    def _take_seat(self) -> tuple[int, IO[str]]:
        with self._gate():
            for seat in range(SEATS):
                held = self._seat_file(seat).open("a")
                if processes.try_lock(held.fileno()):
                    return seat, held
                held.close()
        raise Busy(f"{SEATS} test runs use the test server already")


def _is_taken(seat: Path) -> bool:
    if not seat.exists():
        return False
    with seat.open("a") as file:
        return not processes.try_lock(file.fileno())


@contextmanager
def borrowed_database(say: Callable[[str], None]) -> Iterator[str]:
    """The address of a test database for as long as the block runs; DATABASE_URL's, where that is set."""
    given = os.environ.get("MEMORYCONSOLE_TEST_DATABASE_URL") or os.environ.get("DATABASE_URL")
    if given:
        yield given
        return
    shared = SharedTestServer(say)
    try:
        shared.start()
        yield shared.url
    finally:
        shared.leave()
