"""Places of their own for the tests' servers: short, and reachable for the user the database runs as."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memoryconsole.embedded.broker import Broker
from memoryconsole.embedded.postgres import Postgres

INSTANCES = ("main", "test")


@contextmanager
def new_ground() -> Iterator[Path]:
    """A new folder outside of private homes. pytest's own temporary folders are closed to other users."""
    folder = Path(tempfile.mkdtemp(prefix="mc-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@contextmanager
def new_state(ground: Path) -> Iterator[Path]:
    """An empty state folder, with a space in its name. Whatever was started in it is stopped afterwards."""
    with pytest.MonkeyPatch.context() as environment:
        folder = ground / "a state"
        environment.setenv("MEMORYCONSOLE_STATE_DIR", str(folder))
        environment.setenv("MEMORYCONSOLE_RUNTIME_DIR", str(ground / "r"))
        yield folder
        for instance in INSTANCES:
            Postgres(instance).stop(immediate=True)
            Broker(instance).stop()


@pytest.fixture
def ground() -> Iterator[Path]:
    with new_ground() as folder:
        yield folder


@pytest.fixture
def state(ground: Path) -> Iterator[Path]:
    with new_state(ground) as folder:
        yield folder


@pytest.fixture(scope="module")
def shared_state() -> Iterator[Path]:
    """One state for the tests of a module that leave it as they found it: making a database takes a while."""
    with new_ground() as ground, new_state(ground) as folder:
        yield folder


@pytest.fixture
def plain_environment() -> dict[str, str]:
    """The environment without what names a database or a broker, for those who use the embedded ones."""
    taken = {
        "DATABASE_URL",
        "CELERY_BROKER_URL",
        "MEMORYCONSOLE_JOBS_INLINE",
        "MEMORYCONSOLE_TEST_DATABASE_URL",
    }
    return {name: value for name, value in os.environ.items() if name not in taken}
