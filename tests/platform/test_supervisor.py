"""What the supervisor starts it restarts when it dies, stops when asked, and finds after its own death."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from memoryconsole.embedded import paths, processes
from memoryconsole.embedded.errors import StartFailed
from memoryconsole.embedded.supervisor import (
    MARK,
    AlreadyRunning,
    Child,
    StopRequested,
    Supervisor,
    only_one,
    stop_on_signals,
)

pytestmark = pytest.mark.usefixtures("state")
SLEEP = [sys.executable, "-c", "import time; time.sleep(120)"]
# A parent whose own child outlives it, as a worker's pool does.
FAMILY = [
    sys.executable,
    "-c",
    "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(120)']);"
    " time.sleep(120)",
]
DEAF = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True);"
    " time.sleep(120)",
]
# A whole supervisor in a process of its own: argument 1 is the child's program.
RUN = """
import sys
from memoryconsole.embedded import paths
from memoryconsole.embedded.supervisor import Child, StopRequested, Supervisor, only_one, stop_on_signals
places = paths.places()
paths.make_home(places)
with only_one(places), stop_on_signals():
    supervisor = Supervisor(places, {}, lambda line: print(line, flush=True))
    try:
        supervisor.end_leftovers()
        supervisor.start_child(Child("web", [sys.executable, "-c", sys.argv[1]], places.logs / "web.log"))
        supervisor.announce("http://127.0.0.1:1")
        print("ready", flush=True)
        supervisor.watch()
    except StopRequested:
        print("asked to stop", flush=True)
    finally:
        supervisor.stop()
"""


class FakePart:
    """A database or broker as the supervisor sees one."""

    def __init__(self, running: bool = False) -> None:
        self.running = running
        self.stops = 0

    def start(self) -> bool:
        was, self.running = self.running, True
        return not was

    def stop(self, *, seconds: float) -> bool:
        self.stops += 1
        self.running = False
        return True

    def is_running(self) -> bool:
        return self.running


def make(say: Callable[[str], None] = lambda _line: None) -> Supervisor:
    places = paths.places()
    paths.make_home(places)
    return Supervisor(places, {}, say)


def child(command: list[str], name: str = "web") -> Child:
    return Child(name, command, paths.places().logs / f"{name}.log")


def marked() -> list[psutil.Process]:
    return processes.carrying(MARK, str(paths.places().home))


def pid_of(one: Child) -> int:
    assert one.process is not None
    return one.process.pid


@contextmanager
def watching(supervisor: Supervisor, until: Callable[[], bool], seconds: float = 15) -> Iterator[None]:
    """Let it watch until the condition holds: an alarm interrupts it, as Ctrl-C would."""
    deadline = time.monotonic() + seconds

    def look(_number: int, _frame: object) -> None:
        if until() or time.monotonic() > deadline:
            raise StopRequested

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    try:
        with pytest.raises(StopRequested):
            supervisor.watch()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    yield


@pytest.fixture
def start_run(plain_environment: dict[str, str]) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    running: list[subprocess.Popen[str]] = []

    def start(program: str = SLEEP[2]) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-c", RUN, program], stdout=subprocess.PIPE, text=True, env=plain_environment
        )
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate(timeout=10)
    processes.end(marked(), [(signal.SIGKILL, 5)])


def read_until(process: "subprocess.Popen[str]", word: str) -> list[str]:
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line.strip())
        if word in line:
            return lines
    raise AssertionError(f"it ended without saying {word!r}: {lines}")


def test_a_killed_child_is_started_again_and_its_orphans_are_ended() -> None:
    said: list[str] = []
    supervisor = make(said.append)
    web = child(FAMILY)
    supervisor.start_child(web)
    assert processes.wait_until(lambda: len(marked()) == 2, 10)
    first, orphans = pid_of(web), {process.pid for process in marked()}
    os.kill(first, signal.SIGKILL)
    with watching(supervisor, until=lambda: pid_of(web) != first and len(marked()) == 2):
        assert not orphans & {process.pid for process in marked()}
    assert said[0].startswith(f"web: (pid {first}) was ended by SIGKILL")
    assert said[1] == f"web: started again (pid {pid_of(web)})"
    supervisor.stop()
    assert marked() == []


def test_a_child_that_keeps_dying_is_started_ever_later_and_its_log_is_shown() -> None:
    said: list[str] = []
    supervisor = make(said.append)
    supervisor.start_child(child([sys.executable, "-c", "print('no such setting'); raise SystemExit(3)"]))
    with watching(supervisor, until=lambda: any("next try in 4 s" in line for line in said), seconds=20):
        pass
    deaths = [line for line in said if "ended with code 3" in line]
    assert len(deaths) == 5
    assert "no such setting" in said
    supervisor.stop()


def test_a_part_that_died_is_started_again() -> None:
    said: list[str] = []
    supervisor, part = make(said.append), FakePart()
    supervisor.start_part("database", part)
    part.running = False
    with watching(supervisor, until=lambda: part.running):
        assert said[-2] == "database: ended unexpectedly, starting it again"
    supervisor.stop()
    assert part.stops == 1


def test_only_the_parts_it_started_are_stopped() -> None:
    supervisor, ours, theirs = make(), FakePart(), FakePart(running=True)
    supervisor.start_part("database", theirs)
    supervisor.start_part("broker", ours)
    supervisor.stop()
    assert (ours.stops, theirs.stops) == (1, 0)


def test_parts_of_a_killed_run_belong_to_the_next() -> None:
    part = FakePart()
    make().start_part("database", part)  # and then it is gone, without stop()
    following = make()
    following.start_part("database", part)
    following.stop()
    assert part.stops == 1
    last, again = make(), FakePart(running=True)
    last.start_part("database", again)
    last.stop()
    assert again.stops == 0


def test_a_deaf_child_does_not_keep_it_from_stopping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryconsole.embedded.supervisor.CHILD_STOP_SECONDS", 0.5)
    said: list[str] = []
    supervisor = make(said.append)
    web = child(DEAF)
    supervisor.start_child(web)
    assert processes.wait_until(lambda: web.log.exists() and "deaf" in web.log.read_text(), 10)
    supervisor.stop()
    assert marked() == []
    assert said[0].startswith("web: still at work")


def test_a_child_that_ends_while_starting_is_reported_with_its_log() -> None:
    supervisor = make()
    supervisor.start_child(child([sys.executable, "-c", "raise SystemExit('the setting X is wrong')"]))
    with pytest.raises(
        StartFailed, match=r"(?s)web: ended with code 1 while starting.*the setting X is wrong"
    ):
        supervisor.wait_ready(lambda: False, 10)
    supervisor.stop()


def test_nothing_that_answers_in_time_is_a_failed_start() -> None:
    supervisor = make()
    supervisor.start_child(child(SLEEP))
    with pytest.raises(StartFailed, match="nothing answers after 0 s"):
        supervisor.wait_ready(lambda: False, 0.2)
    supervisor.stop()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_stops_when_asked(
    start_run: Callable[..., "subprocess.Popen[str]"], number: signal.Signals
) -> None:
    run = start_run()
    read_until(run, "ready")
    assert len(marked()) == 1
    run.send_signal(number)
    run.send_signal(number)  # the impatient press it twice
    assert read_until(run, "asked to stop")
    assert run.wait(10) == 0
    assert marked() == []
    assert not (paths.places().home / "run.json").exists()


def test_a_second_run_is_told_where_the_first_one_is(
    start_run: Callable[..., "subprocess.Popen[str]"],
) -> None:
    run = start_run()
    read_until(run, "ready")
    with (
        pytest.raises(AlreadyRunning, match=r"already at http://127\.0\.0\.1:1 ") as other,
        only_one(paths.places()),
    ):
        pass
    assert other.value.pid == run.pid


def test_after_a_kill_the_next_run_ends_what_was_left(
    start_run: Callable[..., "subprocess.Popen[str]"],
) -> None:
    first = start_run(FAMILY[2])
    read_until(first, "ready")
    assert processes.wait_until(lambda: len(marked()) == 2, 10)
    left = {process.pid for process in marked()}
    first.kill()
    first.wait(10)
    assert {process.pid for process in marked()} == left
    second = start_run()
    assert "ending 2 processes that an earlier run left behind" in read_until(second, "ready")
    assert not left & {process.pid for process in marked()}


def test_the_handlers_of_before_are_put_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with stop_on_signals():
        assert signal.getsignal(signal.SIGTERM) not in before
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def test_a_spoilt_ledger_is_no_obstacle() -> None:
    home = paths.make_home(paths.places())
    for text in ("", "{", "[]", json.dumps({"pid": 1})):
        (home / "run.json").write_text(text)
        part = FakePart(running=True)
        supervisor = make()
        supervisor.start_part("database", part)
        supervisor.stop()
        assert part.stops == 0


def test_folders_named_by_the_mark_are_told_apart(ground: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    supervisor = make()
    supervisor.start_child(child(SLEEP))
    monkeypatch.setenv("MEMORYCONSOLE_STATE_DIR", str(ground / "another"))
    neighbour = make()
    neighbour.end_leftovers()
    neighbour.stop()
    assert len(processes.carrying(MARK, supervisor.mark)) == 1
    supervisor.stop()
