"""The embedded PostgreSQL comes up, whatever happened to it before. Real servers in folders of their own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from memoryconsole.embedded import paths, processes
from memoryconsole.embedded.errors import StartFailed
from memoryconsole.embedded.postgres import Postgres

START = "from memoryconsole.embedded.postgres import Postgres; print(Postgres('main').start())"


@pytest.fixture
def server(shared_state: Path) -> Postgres:
    server = Postgres("main")
    server.start()
    return server


def ask(server: Postgres, statement: str) -> str:
    with psycopg.connect(server.places.database_url(), autocommit=True) as connection:
        row = connection.execute(statement).fetchone()  # type: ignore[call-overload]
    return str(row[0]) if row else ""


def pid_of(server: Postgres) -> int:
    pid = server.status().pid
    assert pid is not None
    return pid


def sleeper(server: Postgres) -> "subprocess.Popen[bytes]":
    """A process of the user the server runs as: PostgreSQL takes other users' processes for no obstacle."""
    owner = server.places.postgres_data.stat()
    user = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []} if os.geteuid() == 0 else {}
    return subprocess.Popen(["sleep", "60"], **user)  # type: ignore[call-overload]


def do(server: Postgres, statement: str) -> None:
    with psycopg.connect(server.places.database_url(), autocommit=True) as connection:
        connection.execute(statement)  # type: ignore[call-overload]


def test_start_twice_stop_twice_and_the_data_stays(state: Path) -> None:
    said: list[str] = []
    server = Postgres("main", said.append)
    assert server.status().pid is None
    assert not server.stop()
    assert server.start()
    assert "making the database (once)" in said
    pid = pid_of(server)
    assert not server.start()
    assert pid_of(server) == pid
    do(server, "CREATE TABLE kept AS SELECT 42 AS value")
    assert server.stop()
    assert not server.stop()
    assert server.status().pid is None
    assert server.start()
    assert ask(server, "SELECT value FROM kept") == "42"
    assert server.status().data.is_relative_to(state)


def test_it_is_the_database_the_project_needs(server: Postgres) -> None:
    assert int(ask(server, "SHOW server_version_num")) >= 170000
    assert ask(server, "SHOW server_encoding") == "UTF8"
    assert ask(server, "SHOW listen_addresses") == ""
    assert ask(server, "SHOW fsync") == "on"
    assert ask(server, "SHOW synchronous_commit") == "on"
    assert ask(server, "SHOW timezone") == "UTC"
    locale = (
        "SELECT concat(datlocprovider, ' ', datlocale) FROM pg_database WHERE datname = current_database()"
    )
    assert ask(server, locale) == "b C.UTF-8"
    do(server, "CREATE EXTENSION pg_trgm")
    assert float(ask(server, "SELECT similarity('Петров', 'Петровв')")) > 0.3
    available = ask(server, "SELECT string_agg(name, ' ') FROM pg_available_extensions").split()
    assert {"vector", "pg_trgm", "unaccent", "btree_gin"} <= set(available)


def test_only_its_own_user_and_root_can_connect(state: Path) -> None:
    server = Postgres("test")
    server.start()
    folder = server.places.postgres_socket_dir.stat()
    assert folder.st_mode & 0o777 == 0o700
    assert server.places.postgres_socket.stat().st_mode & 0o777 == 0o700
    running = processes.live_process(pid_of(server))
    assert running is not None
    assert running.uids().real == folder.st_uid != 0
    assert running.net_connections("inet") == []
    # The test server trades safety for speed; the other one does not (see above).
    unsafe = [ask(server, f"SHOW {name}") for name in ("fsync", "synchronous_commit", "full_page_writes")]
    assert unsafe == ["off", "off", "off"]


def test_killed_with_backends_at_work_it_recovers_what_was_committed(server: Postgres) -> None:
    do(server, "CREATE TABLE counted (value int)")
    busy = psycopg.connect(server.places.database_url())
    busy.execute("INSERT INTO counted SELECT generate_series(1, 1000)")
    busy.commit()
    busy.execute("INSERT INTO counted VALUES (-1)")
    os.kill(pid_of(server), signal.SIGKILL)
    began = time.monotonic()
    assert server.start()
    assert time.monotonic() - began < 15
    busy.close()
    assert ask(server, "SELECT count(*) FROM counted") == "1000"


def test_a_pid_file_that_names_another_living_process_does_not_block(server: Postgres) -> None:
    old = pid_of(server)
    pid_file = server.places.postgres_data / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    os.kill(old, signal.SIGKILL)
    processes.wait_until(lambda: processes.live_process(old) is None, 5)
    bystander = sleeper(server)
    try:
        pid_file.write_text("\n".join([str(bystander.pid), *lines[1:]]) + "\n")
        assert server.status().pid is None
        assert server.start()
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_a_zombie_postmaster_does_not_block(server: Postgres) -> None:
    """Killed, but not collected by its parent: its number is taken, and PostgreSQL alone refuses to start."""
    assert server.stop()
    zombie = sleeper(server)
    zombie.kill()
    assert processes.wait_until(lambda: processes.live_process(zombie.pid) is None, 5)
    os.kill(zombie.pid, 0)  # not yet waited for: the number is taken
    data = server.places.postgres_data
    lock = server.places.postgres_socket.with_name(".s.PGSQL.5432.lock")
    for path in (data / "postmaster.pid", lock):
        path.write_text(f"{zombie.pid}\n{data}\n{int(time.time())}\n{paths.PORT}\n")
    assert server.start()
    zombie.wait()


def test_started_by_several_processes_at_once_there_is_one_server(
    state: Path, plain_environment: dict[str, str]
) -> None:
    command = [sys.executable, "-c", START]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=plain_environment) for _ in range(4)
    ]
    said = sorted(process.communicate(timeout=60)[0].strip() for process in running)
    assert said == ["False", "False", "False", "True"]
    assert ask(Postgres("main"), "SELECT 1") == "1"


def test_an_interrupted_first_start_is_made_good(state: Path, plain_environment: dict[str, str]) -> None:
    server = Postgres("main")
    home = server.places.postgres_home
    starting = subprocess.Popen([sys.executable, "-c", START], env=plain_environment)
    assert processes.wait_until(lambda: any(home.glob("init-*/PG_VERSION")), 30)
    starting.kill()
    starting.wait()
    assert not server.places.postgres_data.exists()
    assert server.start()
    assert ask(server, "SELECT 1") == "1"
    assert not list(home.glob("init-*"))


def test_a_removed_socket_is_made_again(server: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when something empties the folder of temporary files while the server runs."""
    monkeypatch.setattr("memoryconsole.embedded.postgres.SOCKET_SECONDS", 0.5)
    server.places.postgres_socket.unlink()
    assert server.start()
    assert ask(server, "SELECT 1") == "1"


def test_a_server_that_cannot_start_says_why(server: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    server.stop()
    monkeypatch.setenv("MEMORYCONSOLE_PG_SHARED_BUFFERS", "much")
    with pytest.raises(StartFailed, match=r'invalid value for parameter "shared_buffers": "much"'):
        server.start()
    monkeypatch.setenv("MEMORYCONSOLE_PG_SHARED_BUFFERS", "64MB")
    assert server.start()
    assert ask(server, "SHOW shared_buffers") == "64MB"


def test_data_of_another_version_is_left_alone(server: Postgres) -> None:
    server.stop()
    version = server.places.postgres_data / "PG_VERSION"
    kept = version.read_text()
    version.write_text("15\n")
    with pytest.raises(StartFailed, match="written by PostgreSQL 15"):
        server.start()
    version.write_text(kept)
    assert server.start()


def test_spoilt_data_of_tests_is_made_anew(state: Path) -> None:
    server = Postgres("test")
    server.start()
    server.stop(immediate=True)
    (server.places.postgres_data / "global" / "pg_control").write_bytes(b"spoilt")
    assert server.start()
    assert ask(server, "SELECT 1") == "1"


def test_spoilt_real_data_is_left_alone(server: Postgres) -> None:
    server.stop(immediate=True)
    control = server.places.postgres_data / "global" / "pg_control"
    kept = control.read_bytes()
    control.write_bytes(b"spoilt")
    with pytest.raises(StartFailed, match="pg_control"):
        server.start()
    control.write_bytes(kept)
    assert server.start()


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's server runs as that user")
def test_root_is_told_when_the_servers_user_cannot_reach_the_state(
    ground: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = ground / "home"
    private.mkdir(mode=0o700)
    monkeypatch.setenv("MEMORYCONSOLE_STATE_DIR", str(private / "state"))
    with pytest.raises(StartFailed, match=r"cannot reach .* set MEMORYCONSOLE_STATE_DIR"):
        Postgres("test").start()
    assert private.stat().st_mode & 0o777 == 0o700
