"""`manage.py run` as a whole: it serves, mends what is killed, and leaves nothing behind."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import psutil
import pytest
from django.core.management import CommandError, call_command

from memoryconsole.embedded import paths, processes
from memoryconsole.embedded.broker import Broker, available
from memoryconsole.embedded.postgres import Postgres
from memoryconsole.embedded.supervisor import MARK
from memoryconsole.management.commands.run import Command as RunCommand

MANAGE = [sys.executable, str(paths.CHECKOUT / "manage.py")]


class Run:
    """The command in a process of its own, and what it has said so far."""

    def __init__(self, environment: dict[str, str], *arguments: str) -> None:
        self.said: list[str] = []
        self.process = subprocess.Popen(
            [*MANAGE, "run", "--port", "0", "--no-demo", *arguments], env=environment, cwd="/",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line.rstrip())

    def wait_for(self, pattern: str, seconds: float = 60) -> re.Match[str]:
        def found() -> re.Match[str] | None:
            return next(filter(None, (re.search(pattern, line) for line in list(self.said))), None)

        processes.wait_until(lambda: found() is not None or self.process.poll() is not None, seconds)
        match = found()
        assert match, f"it never said {pattern!r}:\n" + "\n".join(self.said)
        return match

    def child(self, program: str) -> psutil.Process:
        """The living child that runs `program`."""
        children = psutil.Process(self.process.pid).children()
        return next(c for c in children if processes.is_alive(c) and program in processes.command_line(c))


@pytest.fixture
def environment(shared_state: Path, plain_environment: dict[str, str]) -> dict[str, str]:
    del plain_environment["MEMORYCONSOLE_SECRET_KEY"]  # of the tests: the embedded state has its own
    return plain_environment


@pytest.fixture
def run(environment: dict[str, str]) -> Iterator[Run]:
    run = Run(environment)
    yield run
    run.process.kill()
    run.process.wait()
    processes.end(marked(), [(signal.SIGKILL, 5)])


def marked() -> list[psutil.Process]:
    return processes.carrying(MARK, str(paths.places().home))


def ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=10) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return False


@pytest.mark.skipif(not available(), reason="no embedded broker for this platform")
def test_it_serves_mends_what_is_killed_and_leaves_nothing(run: Run, environment: dict[str, str]) -> None:
    url = run.wait_for(r"serves on (http://127\.0\.0\.1:\d+)")[1]
    assert ready(url)
    server, broker = Postgres(), Broker()
    web, worker = run.child("gunicorn"), run.child("celery")
    database = server.status().pid
    assert database is not None
    queue = broker.pid()
    assert queue is not None
    for pid in (web.pid, worker.pid, queue, database):
        os.kill(pid, signal.SIGKILL)
    killed = time.monotonic()
    for line in ("web: started again", "worker: started again", "database: runs again", "broker: runs again"):
        run.wait_for(line)
    assert processes.wait_until(lambda: ready(url), 15), run.said
    assert time.monotonic() - killed < 15

    second = subprocess.run(
        [*MANAGE, "run"], env=environment, capture_output=True, text=True, timeout=30, check=False
    )
    assert second.returncode == 1
    assert f"runs from this checkout already at {url} (pid {run.process.pid})" in second.stderr

    run.process.send_signal(signal.SIGTERM)
    asked = time.monotonic()
    assert run.process.wait(15) == 0, run.said
    assert time.monotonic() - asked < 10
    assert marked() == []
    assert not server.is_running()
    assert not broker.is_running()


@pytest.mark.slow
def test_killed_itself_it_is_followed_by_a_run_that_takes_over(run: Run, environment: dict[str, str]) -> None:
    run.wait_for("serves on")
    left = {process.pid for process in marked()}
    run.process.kill()
    run.process.wait()
    began = time.monotonic()
    following = Run(environment)
    try:
        url = following.wait_for(r"serves on (http://\S+)")[1]
        assert time.monotonic() - began < 10  # the second start of a checkout
        following.wait_for(r"ending \d+ processes that an earlier run left behind")
        following.wait_for("database: runs already")
        assert not left & {process.pid for process in marked()}
        assert ready(url)
        stopped = subprocess.run([*MANAGE, "run", "--stop"], env=environment, timeout=30, check=False)
        assert stopped.returncode == 0
        assert following.process.wait(1) == 0
        assert not Postgres().is_running()
    finally:
        following.process.kill()
        following.process.wait()


@pytest.mark.parametrize("port", ["-1", "65536", "http", "٨٠"])
def test_a_wrong_port_is_refused(port: str) -> None:
    with pytest.raises(CommandError, match="is no port"):
        RunCommand().create_parser("manage.py", "run").parse_args(["--port", port])


@pytest.fixture
def without_address(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_URL", "MEMORYCONSOLE_TEST_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("without_address")
def test_a_command_runs_with_a_test_database_which_is_gone_afterwards(
    capfd: pytest.CaptureFixture[str],
) -> None:
    connect = "psycopg.connect(os.environ['DATABASE_URL'])"
    program = f"import os, psycopg; print({connect}.info.dbname); raise SystemExit(7)"
    with pytest.raises(SystemExit) as ended:
        call_command("pg", "exec", "--", sys.executable, "-c", program)
    assert ended.value.code == 7
    assert "memoryconsole" in capfd.readouterr().out.splitlines()
    assert not Postgres("test").is_running()


@pytest.mark.usefixtures("without_address")
def test_the_database_command_starts_tells_and_stops() -> None:
    def pg(*arguments: str) -> str:
        said = StringIO()
        call_command("pg", *arguments, stdout=said)
        return said.getvalue()

    with pytest.raises(SystemExit) as ended:
        pg("status")
    assert ended.value.code == 3
    assert paths.database_url() in pg("start")
    assert f"running, pid {Postgres().status().pid}" in pg("status")
    assert pg("start").startswith("PostgreSQL runs already")
    assert pg("stop") == "PostgreSQL stopped\n"
    assert pg("stop") == "PostgreSQL does not run\n"
    assert not Postgres().is_running()
    with pytest.raises(CommandError, match="no name for an instance"):
        pg("status", "--instance", "../x")
