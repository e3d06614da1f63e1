"""The embedded broker: Valkey's server on a Unix socket, its queue kept in an append-only file.

The queue only says that there is work: the jobs themselves are rows of the database. A second of appended
entries that a crash of the machine may cost is found again by the sweep of the jobs table.
"""

import os
import signal
import socket
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager

import psutil

from memoryconsole.embedded import paths, processes
from memoryconsole.embedded.errors import StartFailed, StopFailed, Unavailable, with_tail
from memoryconsole.embedded.programs import broker_program

START_SECONDS = 15.0  # measured 0.1 s; a long queue is read back first
LOCK_SECONDS = 30.0
ANSWER_SECONDS = 2.0
LOG_BYTES = 10_000_000


def _silent(_line: str) -> None:
    pass


def available() -> bool:
    """Whether the installed package has a server for this platform."""
    return broker_program() is not None


class Broker:
    """One instance's broker. Every method may be called by several processes at once."""

    def __init__(self, instance: str = "main", say: Callable[[str], None] = _silent) -> None:
        self.places = paths.places(instance)
        self._say = say

    def start(self) -> bool:
        """Have the broker running. True if this call started it.

        Raises Unavailable (no program), PlaceError (folders), Busy, StartFailed.
        """
        program = broker_program()
        if program is None:
            raise Unavailable("no embedded broker for this platform is installed: set CELERY_BROKER_URL")
        paths.make_home(self.places)
        with self._lock():
            if self._answers() or self._await_other_start():
                return False
            paths.make_dir(self.places.broker_home)
            paths.make_socket_dir(self.places, self.places.broker_socket_dir, os.geteuid(), os.getegid())
            self._launch(str(program))
            return True

    def stop(self, seconds: float = 5.0) -> bool:
        """Stop the broker; a queue not yet on disk is written first. True if there was one to stop."""
        if not self.places.home.is_dir():
            return False
        with self._lock():
            server = self._server()
            if server is None:
                return False
            if not processes.end([server], [(signal.SIGTERM, seconds), (signal.SIGKILL, 5.0)]):
                raise StopFailed(f"the broker (pid {server.pid}) does not end")
            return True

    def is_running(self) -> bool:
        return self._server() is not None

    def pid(self) -> int | None:
        server = self._server()
        return server.pid if server else None

    def _lock(self) -> AbstractContextManager[None]:
        lock = self.places.home / "broker.lock"
        return processes.exclusive(lock, LOCK_SECONDS, "starting or stopping the broker")

    def _server(self) -> psutil.Process | None:
        """The live server of our socket. The pid file alone proves nothing: it outlives a killed server."""
        try:
            pid = int((self.places.broker_home / "broker.pid").read_text())
        except (FileNotFoundError, ValueError):
            return None
        process = processes.live_process(pid)
        if process and str(self.places.broker_socket) in processes.command_line(process):
            return process
        return None

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(ANSWER_SECONDS)
            try:
                connection.connect(str(self.places.broker_socket))
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")  # "-LOADING" while it reads its file
            except OSError:
                return False

    def _await_other_start(self) -> bool:
        server = self._server()
        if server is None:
            return False
        if not processes.wait_until(lambda: not processes.is_alive(server) or self._answers(), START_SECONDS):
            self._say("a broker runs, but does not answer on its socket: restarting it")
            processes.end([server], [(signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)])
        return processes.is_alive(server)

    def _launch(self, program: str) -> None:
        log = self.places.broker_log
        if log.exists() and log.stat().st_size > LOG_BYTES:
            log.rename(log.with_suffix(".log.1"))
        offset = log.stat().st_size if log.exists() else 0
        settings = {
            "port": "0",
            "unixsocket": str(self.places.broker_socket),
            "unixsocketperm": "700",
            "dir": str(self.places.broker_home),
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "daemonize": "yes",
            "set-proc-title": "no",  # keeps the socket on the command line, by which it is known
            "pidfile": str(self.places.broker_home / "broker.pid"),
            "logfile": str(log),
        }
        command = [program, *(part for name, value in settings.items() for part in (f"--{name}", value))]
        done = subprocess.run(
            command, cwd="/", capture_output=True, text=True, timeout=START_SECONDS, check=False,
            stdin=subprocess.DEVNULL, start_new_session=True, env={"PATH": os.defpath, "LC_ALL": "C"},
        )  # fmt: skip
        if done.returncode != 0 or not processes.wait_until(self._answers, START_SECONDS):
            said = (done.stderr or done.stdout).strip()
            raise StartFailed(
                with_tail(
                    f"the broker did not start. {said}\nWork waits in the database, not in the broker: "
                    f"if its files are damaged, remove {self.places.broker_home}",
                    log,
                    offset,
                )
            )
