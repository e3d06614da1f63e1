"""Gives every test run a real PostgreSQL: the embedded one, unless an address is given.

Loaded before Django reads its settings (`addopts` in pyproject.toml). MEMORYCONSOLE_TEST_DATABASE_URL or
DATABASE_URL name another server. The process that the user started owns the server; pytest-xdist's workers
inherit its address.
"""

import os
import sys

import pytest

from memoryconsole.embedded.errors import EmbeddedError
from memoryconsole.embedded.sharing import SharedTestServer

# Set in pytest-xdist's workers before they load plugins.
WORKER = "PYTEST_XDIST_WORKER"
# Settings with an address of their own want a key of their own. It signs nothing outside of the tests.
TEST_KEY = "a key for the tests alone, which protects nothing"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _seat() -> SharedTestServer | None:
    """Name the database in the environment; the server that has to be started for it, if any."""
    os.environ.setdefault("MEMORYCONSOLE_SECRET_KEY", TEST_KEY)
    given = os.environ.get("MEMORYCONSOLE_TEST_DATABASE_URL")
    if given:
        os.environ["DATABASE_URL"] = given
    if os.environ.get("DATABASE_URL") or WORKER in os.environ:
        return None
    seat = SharedTestServer(_say)
    os.environ["DATABASE_URL"] = seat.url
    return seat


try:
    SEAT = _seat()
except EmbeddedError as fault:
    raise pytest.UsageError(f"no test database: {fault}") from fault
STARTED = pytest.StashKey[bool]()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    if SEAT is None or session.config.option.collectonly:
        return
    try:
        SEAT.start()
    except EmbeddedError as fault:
        raise pytest.UsageError(f"no test database: {fault}") from fault
    session.config.stash[STARTED] = True


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    if SEAT is not None and config.stash.get(STARTED, False):
        SEAT.leave()
