"""Processes as the operating system has them: who is alive, what belongs to whom, how to end it.

A process that ended and that its parent has not yet collected (a zombie) counts as ended everywhere here.
"""

import fcntl
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from memoryconsole.embedded.errors import Busy

POLL_SECONDS = 0.05


def live_process(pid: int) -> psutil.Process | None:
    """The running process with that id."""
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process
    except psutil.NoSuchProcess:
        return None


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def command_line(process: psutil.Process) -> list[str]:
    """Its arguments; none for a process that ended or that we may not look at."""
    try:
        return process.cmdline()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return []


def working_in(folder: Path, names: tuple[str, ...]) -> list[psutil.Process]:
    """Live processes of these names whose current folder is `folder`, or that have it as an argument."""
    real = os.path.realpath(folder)

    def works_there(process: psutil.Process) -> bool:
        return process.name() in names and (process.cwd() == real or str(folder) in process.cmdline())

    return _matching(works_there)


def carrying(variable: str, value: str) -> list[psutil.Process]:
    """Live processes that were started with this environment variable, or inherited it."""
    return _matching(lambda process: process.environ().get(variable) == value)


def _matching(test: Callable[[psutil.Process], bool]) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        # Processes of other users cannot be looked into, and are not ours.
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess, OSError):
            if process.pid != os.getpid() and is_alive(process) and test(process):
                found.append(process)
    return found


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Poll `condition`; True as soon as it holds, False when the time is over."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def wait_ended(processes: list[psutil.Process], seconds: float) -> bool:
    return wait_until(lambda: not any(is_alive(process) for process in processes), seconds)


def send(processes: list[psutil.Process], signal_number: signal.Signals) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            if is_alive(process):
                process.send_signal(signal_number)


def end(processes: list[psutil.Process], steps: list[tuple[signal.Signals, float]]) -> bool:
    """Send each step's signal and wait its seconds, until all have ended. True if they have."""
    for signal_number, seconds in steps:
        send(processes, signal_number)
        if wait_ended(processes, seconds):
            return True
    return not any(is_alive(process) for process in processes)


@contextmanager
def exclusive(lock: Path, seconds: float, doing: str) -> Iterator[None]:
    """Hold `lock`, which ends with the process however it ends. Raises Busy after `seconds`."""
    with lock.open("a") as held:
        if not wait_until(lambda: try_lock(held.fileno()), seconds):
            raise Busy(f"another process has been {doing} for {seconds:.0f} s (lock {lock})")
        yield


def try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
