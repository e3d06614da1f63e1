"""The embedded PostgreSQL: made, started, found again and stopped, whatever happened to it before.

Only a Unix socket inside a folder of mode 0700 leads to it, so that nobody else on the machine can.
"""

import locale
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from memoryconsole.embedded import paths, processes
from memoryconsole.embedded.errors import StartFailed, StopFailed, with_tail
from memoryconsole.embedded.programs import copied_postgres_tools, postgres_tools
from memoryconsole.embedded.system_user import ServerUser, check_reach, server_user

MAJOR = "18"
INITDB_SECONDS = 120  # measured 2 to 5 s; a busy disk takes longer
START_SECONDS = 60  # recovery after a crash included: measured 3 to 4 s
REMOVE_SECONDS = 10.0
SOCKET_SECONDS = 10.0  # a starting server makes its socket before all else
LOCK_SECONDS = INITDB_SECONDS + START_SECONDS
TOOL_SECONDS = 20
ORPHAN_SECONDS = 5.0  # backends end by themselves when they see their postmaster gone
LOG_BYTES = 10_000_000  # an older log is put aside at a start
# A machine with two cores that serves other things too. Measured: 100,000 records fit in these buffers.
SETTINGS = {
    "shared_buffers": "256MB",
    "work_mem": "16MB",
    "maintenance_work_mem": "128MB",
    "effective_cache_size": "1GB",
    "max_connections": "100",
    "max_wal_size": "2GB",
    "random_page_cost": "1.1",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] ",
    # A statement or a failing row in the log would be stored text in the log.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}
# For data that nobody would miss: what a test run writes need not outlive the machine.
DISPOSABLE_SETTINGS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
DISPOSABLE_INSTANCE = "test"


def _silent(_line: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Status:
    """`pid` is None when no server runs; `accepts` says whether it answers."""

    pid: int | None
    accepts: bool
    data: Path
    log: Path
    url: str


class Postgres:
    """One instance's server. Every method may be called by several processes at once."""

    def __init__(self, instance: str = "main", say: Callable[[str], None] = _silent) -> None:
        self.places = paths.places(instance)
        self.disposable = instance == DISPOSABLE_INSTANCE
        self._say = say

    def start(self, database: str = paths.DATABASE) -> bool:
        """Have the server running with `database` in it. True if this call started it.

        Raises Unavailable (no programs), PlaceError (folders), Busy, StartFailed, StopFailed (remains of a
        killed server).
        """
        paths.make_home(self.places)
        with self._lock():
            if self._accepts():
                self._ensure_database(database)
                return False
            user = server_user(self.places.postgres_home)
            tools = self._prepare(user)
            try:
                self._bring_up(user, tools)
            except StartFailed:
                if not self.disposable:
                    raise
                self._say("the test database could not start from its files: they are made anew")
                self._end_all()
                shutil.rmtree(self.places.postgres_data)
                self._bring_up(user, tools)
            self._ensure_database(database)
            return True

    def stop(self, immediate: bool = False, seconds: float = 20.0) -> bool:
        """Stop the server; when it has not ended after `seconds`, at once. True if there was one to stop.

        "At once" loses nothing that was committed: the next start recovers it from the log.
        """
        if not self.places.home.is_dir():
            return False
        with self._lock():
            server = self._postmaster()
            if server is None:
                # A start that was interrupted, or the backends of a killed server.
                return self._end_all()
            at_once = (signal.SIGQUIT, 10.0)
            if not processes.end([server], [at_once] if immediate else [(signal.SIGINT, seconds), at_once]):
                raise StopFailed(with_tail(f"the database (pid {server.pid}) does not end", self._log))
            return True

    def status(self) -> Status:
        server = self._postmaster()
        accepts = server is not None and self._accepts()
        return Status(
            server.pid if server else None, accepts, self.places.postgres_data, self._log,
            self.places.database_url(),
        )  # fmt: skip

    def is_running(self) -> bool:
        return self._postmaster() is not None

    def log_size(self) -> int:
        return self._log.stat().st_size if self._log.exists() else 0

    # Finding the server

    @property
    def _log(self) -> Path:
        return self.places.postgres_log

    def _lock(self) -> AbstractContextManager[None]:
        lock = self.places.home / "postgres.lock"
        return processes.exclusive(lock, LOCK_SECONDS, "starting or stopping the database")

    def _accepts(self) -> bool:
        if not self.places.postgres_socket.exists():
            return False
        done = self._tool("pg_isready", "--quiet", "--timeout=3", "--dbname=postgres")
        return done.returncode == 0

    def _postmaster(self) -> psutil.Process | None:
        """The live server of our data. The pid file alone proves nothing: it outlives a killed server."""
        pid = _first_number(self.places.postgres_data / "postmaster.pid")
        process = processes.live_process(pid) if pid else None
        if process and str(self.places.postgres_data) in processes.command_line(process):
            return process
        return None

    # Starting

    def _prepare(self, user: ServerUser) -> Path:
        """The folders, and the programs the server's user can run."""
        tools = copied_postgres_tools(self.places.state) if user.drops else postgres_tools()
        home = paths.make_dir(self.places.postgres_home)
        if user.drops and home.stat().st_uid != user.uid:
            os.chown(home, user.uid, user.gid)
        paths.make_socket_dir(self.places, self.places.postgres_socket_dir, user.uid, user.gid)
        check_reach(user, tools / "postgres", home)
        if user.drops and not self.places.postgres_data.exists():
            self._say(f"the database runs as {user.name} ({user.how}), because it does not run as root")
        return tools

    def _bring_up(self, user: ServerUser, tools: Path) -> None:
        self._ensure_initialised(user, tools)
        if self._await_other_start():
            return
        self._clear_remains()
        self._launch(user, tools)

    def _ensure_initialised(self, user: ServerUser, tools: Path) -> None:
        data = self.places.postgres_data
        if data.exists():
            _check_version(data)
            return
        for interrupted in self.places.postgres_home.glob("init-*"):
            processes.end(processes.working_in(interrupted, ("initdb", "postgres")), [(signal.SIGKILL, 5.0)])
            if not processes.wait_until(partial(_is_removed, interrupted), REMOVE_SECONDS):
                raise StartFailed(f"{interrupted}, of an interrupted first start, cannot be removed")
        draft = self.places.postgres_home / f"init-{os.getpid()}"
        self._say("making the database (once)")
        command: list[str | Path] = [
            tools / "initdb", "-D", draft, "-U", paths.ROLE, "--encoding=UTF8", "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8", *_letters(), "--auth-local=trust", "--auth-host=scram-sha-256",
            *(["--no-sync"] if self.disposable else []),
        ]  # fmt: skip
        done, output = self._run(user, command, INITDB_SECONDS)
        if done != 0:
            raise StartFailed(f"initdb failed ({done}):\n{output}")
        draft.rename(data)  # only whole data ever has the name that a start looks for

    def _await_other_start(self) -> bool:
        """A live server that does not answer yet is starting, or ending: wait for the one or the other."""
        server = self._postmaster()
        if server is None:
            return False
        socket = self.places.postgres_socket
        if not processes.wait_until(
            lambda: not processes.is_alive(server) or socket.exists(), SOCKET_SECONDS
        ):
            self._say("a server runs on the data, but its socket was removed: restarting it")
            processes.end([server], [(signal.SIGINT, START_SECONDS), (signal.SIGQUIT, 10.0)])
        done = processes.wait_until(lambda: not processes.is_alive(server) or self._accepts(), START_SECONDS)
        if not done:
            raise StartFailed(
                with_tail(f"a server (pid {server.pid}) runs on the data but does not answer", self._log)
            )
        return processes.is_alive(server)

    def _clear_remains(self) -> None:
        """After a kill: see the last backends off, then remove files that name a process that is no more.

        PostgreSQL itself refuses to start while the process of its pid file is a zombie, or while another
        process has that number; and it must not start while backends of the killed one still write.
        """
        self._end_all()
        socket = self.places.postgres_socket
        pid_file = self.places.postgres_data / "postmaster.pid"
        for remains in (pid_file, socket, socket.with_name(f"{socket.name}.lock")):
            remains.unlink(missing_ok=True)

    def _end_all(self) -> bool:
        """See off every process that works on the data. True if there was one."""
        left = processes.working_in(self.places.postgres_data, ("postgres",))
        steps = [(signal.SIGQUIT, 3.0), (signal.SIGKILL, 5.0)]
        if not processes.wait_ended(left, ORPHAN_SECONDS) and not processes.end(left, steps):
            pids = ", ".join(str(process.pid) for process in left)
            raise StopFailed(f"processes of an earlier server do not end: {pids}")
        return bool(left)

    def _launch(self, user: ServerUser, tools: Path) -> None:
        if self.log_size() > LOG_BYTES:
            self._log.rename(self._log.with_suffix(".log.1"))
        offset = self.log_size()
        settings = SETTINGS | (DISPOSABLE_SETTINGS if self.disposable else {}) | _chosen_settings()
        settings |= {
            "listen_addresses": "",
            "port": str(paths.PORT),
            "unix_socket_directories": _quoted_for_list(self.places.postgres_socket_dir),
            "unix_socket_permissions": "0700",
        }
        # pg_ctl hands these to a shell.
        options = " ".join(f"-c {shlex.quote(f'{name}={value}')}" for name, value in settings.items())
        command: list[str | Path] = [
            tools / "pg_ctl", "-D", self.places.postgres_data, "-l", self._log, "-o", options,
            "-w", "-t", str(START_SECONDS), "start",
        ]  # fmt: skip
        done, output = self._run(user, command, START_SECONDS + TOOL_SECONDS)
        if done != 0 or not self._accepts():
            raise StartFailed(with_tail(f"the database did not start: {output}", self._log, offset))

    def _ensure_database(self, name: str) -> None:
        if name not in self._query("SELECT datname FROM pg_database").splitlines():
            self._query(f'CREATE DATABASE "{name}"')

    # Running programs

    def _query(self, statement: str) -> str:
        done = self._tool("psql", "--no-psqlrc", "-qAt", "-d", "postgres", "-c", statement)
        if done.returncode != 0:
            raise StartFailed(with_tail(f"the database refuses: {done.stderr.strip()}", self._log))
        return done.stdout.strip()

    def _tool(self, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a client as the caller, without the PG* variables that would send it elsewhere."""
        place = ["-h", str(self.places.postgres_socket_dir), "-p", str(paths.PORT), "-U", paths.ROLE]
        return subprocess.run(
            [postgres_tools() / name, *place, *arguments], text=True, capture_output=True, check=False,
            stdin=subprocess.DEVNULL, timeout=TOOL_SECONDS, env={"PATH": os.defpath, "LC_ALL": "C"},
        )  # fmt: skip

    def _run(self, user: ServerUser, command: list[str | Path], seconds: float) -> tuple[int, str]:
        """Run a server program as its user; its exit code and what it said.

        Its output goes to a file: the server it leaves behind would hold a pipe open for ever.
        """
        with tempfile.TemporaryFile("w+") as output:
            try:
                done = subprocess.run(
                    command, cwd=self.places.postgres_home, stdout=output, stderr=subprocess.STDOUT,
                    timeout=seconds, check=False, **user.run_options(),
                )  # fmt: skip
            except subprocess.TimeoutExpired as fault:
                raise StartFailed(with_tail(f"{command[0]} took over {seconds} s", self._log)) from fault
            output.seek(0)
            return done.returncode, output.read().strip()


def _chosen_settings() -> dict[str, str]:
    buffers = os.environ.get("MEMORYCONSOLE_PG_SHARED_BUFFERS", "")
    return {"shared_buffers": buffers} if buffers else {}


def _quoted_for_list(folder: Path) -> str:
    # The setting is a list: a name with a comma or a space in it stands in double quotes.
    escaped = str(folder).replace('"', '""')
    return f'"{escaped}"'


def _letters() -> list[str]:
    """What tells initdb that letters are those of every script.

    Names that are nearly alike are found by trigrams, which ask the system's locale what a letter is; under "C" only
    ASCII has any. A system without such a locale stays there.
    """
    before = locale.setlocale(locale.LC_CTYPE)
    try:
        for name in ("C.UTF-8", "en_US.UTF-8"):
            with suppress(locale.Error):
                locale.setlocale(locale.LC_CTYPE, name)
                return [f"--lc-ctype={name}"]
    finally:
        locale.setlocale(locale.LC_CTYPE, before)
    return []


def _check_version(data: Path) -> None:
    try:
        found = (data / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        raise StartFailed(f"{data} is not the data of a PostgreSQL server: move it away") from None
    if found != MAJOR:
        raise StartFailed(
            f"{data} was written by PostgreSQL {found}; the installed one is {MAJOR}: dump it with the old "
            "programs and load it again, or move it away"
        )


def _is_removed(folder: Path) -> bool:
    """Remove it; False when somebody who is just ending still changed it meanwhile."""
    try:
        shutil.rmtree(folder)
    except OSError:
        return not folder.exists()
    return True


def _first_number(path: Path) -> int | None:
    try:
        return int(path.read_text().split(maxsplit=1)[0])
    except (FileNotFoundError, ValueError, IndexError):
        return None
