"""Starts the processes of one installation, restarts what dies, and stops exactly what it started.

Every child carries a mark in its environment, which its own children inherit. So whatever is left after a
`kill -9`, of a child or of the supervisor itself, is found again and ended before anything is started anew.
"""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from memoryconsole.embedded import processes
from memoryconsole.embedded.errors import EmbeddedError, StartFailed, tail, with_tail
from memoryconsole.embedded.paths import Places

MARK = "MEMORYCONSOLE_SUPERVISED"
CHECK_SECONDS = 0.5
# Stopping takes 10 s at most: these, one after the other, with time to spare.
CHILD_STOP_SECONDS = 5.0
PART_STOP_SECONDS = 1.5
LEFTOVER_SECONDS = 3.0
RESTART_WINDOW_SECONDS = 60.0
FREE_RESTARTS = 3  # within the window; each further one waits twice as long
LONGEST_WAIT_SECONDS = 30.0
LOG_BYTES = 10_000_000


class Part(Protocol):
    """A server that may have been running before us, and that outlives its starter: database, broker."""

    def start(self) -> bool: ...

    def stop(self, *, seconds: float) -> bool: ...

    def is_running(self) -> bool: ...


@dataclass
class Child:
    """A program that runs as long as we do. `log` gets what it prints."""

    name: str
    command: list[str]
    log: Path
    pass_fds: tuple[int, ...] = ()
    process: subprocess.Popen[bytes] | None = None
    log_offset: int = 0
    restarts: list[float] = field(default_factory=list)
    wait_until: float = 0.0


class AlreadyRunning(EmbeddedError):
    """Another supervisor of this state is at work; `pid` is its process."""

    def __init__(self, message: str, pid: int | None) -> None:
        super().__init__(message)
        self.pid = pid


class StopRequested(BaseException):
    """Ctrl-C, or a signal that asks for the same. Not an Exception: nothing on the way may swallow it."""


class Supervisor:
    """One at a time for each state, held by a lock that ends with the process."""

    def __init__(self, places: Places, environment: dict[str, str], say: Callable[[str], None]) -> None:
        self._places = places
        self._say = say
        self.mark = str(places.home)
        self.environment = environment | {MARK: self.mark, "PYTHONUNBUFFERED": "1"}
        self._children: list[Child] = []
        self._parts: dict[str, Part] = {}
        self._ledger = Ledger(places.home / "run.json")
        self._owned: list[str] = self._ledger.owned()

    def end_leftovers(self) -> None:
        """End the children of an earlier supervisor that was killed."""
        left = processes.carrying(MARK, self.mark)
        if not left:
            return
        self._say(f"ending {len(left)} processes that an earlier run left behind")
        if not processes.end(left, [(signal.SIGTERM, LEFTOVER_SECONDS), (signal.SIGKILL, LEFTOVER_SECONDS)]):
            raise StartFailed(
                "processes of an earlier run do not end: " + ", ".join(str(p.pid) for p in left)
            )

    def start_part(self, name: str, part: Part) -> None:
        """Have `part` running. It stops with us if it did not run before, or an earlier run started it."""
        if not part.is_running() and name not in self._owned:
            self._owned.append(name)
        self._ledger.write(self._owned)  # before the start: a kill in the middle of it must not lose it
        self._parts[name] = part
        began = time.monotonic()
        started = part.start()
        self._say(
            f"{name}: started in {time.monotonic() - began:.1f} s" if started else f"{name}: runs already"
        )

    def adopt_part(self, name: str, part: Part) -> None:
        """Stop `part` with us if an earlier run started it."""
        self._parts[name] = part

    def start_child(self, child: Child) -> None:
        child.log.parent.mkdir(exist_ok=True)
        if child.log.exists() and child.log.stat().st_size > LOG_BYTES:
            child.log.rename(child.log.with_suffix(".log.1"))
        child.log_offset = child.log.stat().st_size if child.log.exists() else 0
        if child not in self._children:
            self._children.append(child)
        with child.log.open("ab") as output:
            child.process = subprocess.Popen(
                child.command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                env=self.environment, pass_fds=child.pass_fds, start_new_session=True,
            )  # fmt: skip

    def announce(self, url: str) -> None:
        """Let others find us: what a second run in the same checkout is told."""
        self._ledger.write(self._owned, url)

    def wait_ready(self, ready: Callable[[], bool], seconds: float) -> None:
        """Wait until `ready`. Raises StartFailed when a child ends instead, or nothing happens in time."""
        settled = processes.wait_until(lambda: any(map(_has_ended, self._children)) or ready(), seconds)
        for child in self._children:
            if child.process and child.process.returncode is not None:
                how = _how(child.process.returncode)
                raise StartFailed(
                    with_tail(f"{child.name}: {how} while starting", child.log, child.log_offset)
                )
        if not settled:
            web = self._children[0]
            raise StartFailed(with_tail(f"nothing answers after {seconds:.0f} s", web.log, web.log_offset))

    def watch(self) -> None:
        """Restart what dies, until StopRequested."""
        while True:
            for name, part in self._parts.items():
                self._check_part(name, part)
            for child in self._children:
                self._check_child(child)
            time.sleep(CHECK_SECONDS)

    def stop(self) -> None:
        """Children first, then the parts that are ours, the last started first. Within 10 s."""
        running = [child for child in self._children if child.process]
        for child in running:
            if child.process and child.process.poll() is None:
                child.process.terminate()
        if not processes.wait_until(lambda: all(map(_has_ended, running)), CHILD_STOP_SECONDS):
            slow = ", ".join(child.name for child in running if not _has_ended(child))
            self._say(f"{slow}: still at work after {CHILD_STOP_SECONDS:.0f} s, ended")
        self._kill_marked()
        for name, part in reversed(self._parts.items()):
            if name in self._owned:
                try:
                    if part.stop(seconds=PART_STOP_SECONDS):
                        self._say(f"{name}: stopped")
                except EmbeddedError as fault:
                    self._say(f"{name}: {fault}")
        self._ledger.remove()

    def _check_part(self, name: str, part: Part) -> None:
        if part.is_running():
            return
        self._say(f"{name}: ended unexpectedly, starting it again")
        began = time.monotonic()
        try:
            part.start()
        except EmbeddedError as fault:
            self._say(f"{name}: {fault}\nTrying again in {LONGEST_WAIT_SECONDS:.0f} s")
            time.sleep(LONGEST_WAIT_SECONDS)
            return
        self._say(f"{name}: runs again after {time.monotonic() - began:.1f} s")

    def _check_child(self, child: Child) -> None:
        assert child.process is not None
        code = child.process.poll()
        if code is None or time.monotonic() < child.wait_until:
            return
        if not child.wait_until:
            wait = self._wait_before_restart(child)
            self._report_death(child, code, wait)
            child.wait_until = time.monotonic() + wait
            if wait:
                return
        child.wait_until = 0.0
        self._end_orphans_of(child)
        self.start_child(child)
        self._say(f"{child.name}: started again (pid {child.process.pid})")

    def _wait_before_restart(self, child: Child) -> float:
        now = time.monotonic()
        child.restarts = [when for when in child.restarts if now - when < RESTART_WINDOW_SECONDS] + [now]
        extra = len(child.restarts) - FREE_RESTARTS
        return min(2.0**extra, LONGEST_WAIT_SECONDS) if extra > 0 else 0.0

    def _report_death(self, child: Child, code: int, wait: float) -> None:
        assert child.process is not None
        later = f", next try in {wait:.0f} s" if wait else ""
        self._say(f"{child.name}: (pid {child.process.pid}) {_how(code)}{later}; its log is {child.log}")
        if code > 0:
            self._say(tail(child.log, child.log_offset))

    def _end_orphans_of(self, child: Child) -> None:
        """What a killed child started itself is in its session, which nobody else is."""
        assert child.process is not None
        session = child.process.pid
        orphans = [p for p in processes.carrying(MARK, self.mark) if _session_of(p.pid) == session]
        processes.end(orphans, [(signal.SIGKILL, LEFTOVER_SECONDS)])

    def _kill_marked(self) -> None:
        processes.end(processes.carrying(MARK, self.mark), [(signal.SIGKILL, 1.0)])
        for child in self._children:
            if child.process:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.process.wait(1.0)


class Ledger:
    """Written for the next run: who we are, where we serve, which parts we have to stop."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> dict[str, Any]:
        try:
            found = json.loads(self._path.read_text())
        except (FileNotFoundError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def owned(self) -> list[str]:
        return [str(name) for name in self.read().get("owned", [])]

    def write(self, owned: list[str], url: str = "") -> None:
        draft = self._path.with_suffix(".draft")
        draft.write_text(json.dumps({"pid": os.getpid(), "url": url, "owned": owned}))
        draft.replace(self._path)

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)


@contextlib.contextmanager
def only_one(places: Places) -> Iterator[None]:
    """Raises AlreadyRunning, naming the other's process and address."""
    ledger = Ledger(places.home / "run.json")
    with (places.home / "run.lock").open("a") as held:
        if not processes.try_lock(held.fileno()):
            other = ledger.read()
            where = f" at {other['url']}" if other.get("url") else ""
            pid = other.get("pid")
            raise AlreadyRunning(f"memoryconsole runs from this checkout already{where} (pid {pid})", pid)
        ledger.write(ledger.owned())
        yield


@contextlib.contextmanager
def stop_on_signals() -> Iterator[None]:
    """The first Ctrl-C, SIGTERM or SIGHUP raises StopRequested; later ones wait for the stop to end."""
    asked = False

    def handle(_number: int, _frame: object) -> None:
        nonlocal asked
        if not asked:
            asked = True
            raise StopRequested

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, handle) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _how(code: int) -> str:
    if code >= 0:
        return f"ended with code {code}"
    return f"was ended by {signal.Signals(-code).name}"


def _has_ended(child: Child) -> bool:
    return child.process is not None and child.process.poll() is not None


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None
