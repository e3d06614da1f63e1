"""Test runs that overlap share one server, each with databases of its own; the last one stops it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memoryconsole.embedded import paths, processes, remove
from memoryconsole.embedded.broker import Broker
from memoryconsole.embedded.postgres import Postgres
from memoryconsole.embedded.sharing import SharedTestServer, borrowed_database
from memoryconsole.embedded.supervisor import AlreadyRunning, only_one

HOLD = (
    "import time\nfrom memoryconsole.embedded.sharing import SharedTestServer\n"
    "seat = SharedTestServer(print)\nseat.start()\nprint(seat.database, flush=True)\ntime.sleep(120)"
)


def say(_line: str) -> None:
    pass


@pytest.mark.usefixtures("shared_state")
def test_the_last_one_stops_the_server() -> None:
    one, other = SharedTestServer(say), SharedTestServer(say)
    assert (one.database, other.database) == ("memoryconsole", "memoryconsole_2")
    assert one.url != other.url
    one.start()
    other.start()
    server = Postgres("test")
    pid = server.status().pid
    one.leave()
    assert server.status().pid == pid is not None
    third = SharedTestServer(say)
    assert third.database == "memoryconsole"
    third.start()
    other.leave()
    assert server.status().accepts
    third.leave()
    assert server.status().pid is None


@pytest.mark.usefixtures("shared_state")
def test_a_killed_run_leaves_its_seat_and_the_server_to_the_next(plain_environment: dict[str, str]) -> None:
    killed = subprocess.Popen(
        [sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True, env=plain_environment
    )
    assert killed.stdout is not None
    while (line := killed.stdout.readline()) and line != "memoryconsole\n":
        pass
    assert line, "it ended before it had a server"
    assert SharedTestServer(say).database == "memoryconsole_2"
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert Postgres("test").is_running()
    following = SharedTestServer(say)
    assert following.database == "memoryconsole"
    following.start()
    following.leave()
    assert not Postgres("test").is_running()


@pytest.mark.usefixtures("state")
def test_a_given_address_is_taken_and_nothing_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMORYCONSOLE_TEST_DATABASE_URL", raising=False)
    monkeypatch.setenv("DATABASE_URL", "postgresql://elsewhere/given")
    with borrowed_database(say) as url:
        assert url == "postgresql://elsewhere/given"
    monkeypatch.setenv("MEMORYCONSOLE_TEST_DATABASE_URL", "postgresql://elsewhere/preferred")
    with borrowed_database(say) as url:
        assert url == "postgresql://elsewhere/preferred"
    assert not paths.places("test").home.exists()


def test_removing_deletes_what_is_ours_and_nothing_else(state: Path) -> None:
    Postgres("test").start()
    Broker("main").start()
    paths.secret_key()
    (state / "kept.txt").write_text("not ours")
    with only_one(paths.places()):
        assert remove.main(["main"]) == 1  # in use
        with pytest.raises(AlreadyRunning):
            remove.remove_instance("main")
    assert Broker("main").is_running()
    assert remove.main([]) == 0
    assert os.listdir(state) == ["kept.txt"]
    assert not paths.runtime_dir().exists()
    assert processes.working_in(paths.places("test").postgres_data, ("postgres",)) == []
    assert remove.main([]) == 0
