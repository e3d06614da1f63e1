"""`manage.py run`: everything one needs, from the database to an address to open, in one command."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from argparse import ArgumentTypeError
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DEFAULT_DB_ALIAS, connections
from django.db import Error as DatabaseError
from django.db.backends.postgresql.base import DatabaseWrapper
from django.db.migrations.executor import MigrationExecutor

from memoryconsole.embedded import paths, processes
from memoryconsole.embedded.broker import Broker, available
from memoryconsole.embedded.errors import EmbeddedError
from memoryconsole.embedded.listen import answers, base_url, listen
from memoryconsole.embedded.postgres import Postgres
from memoryconsole.embedded.supervisor import (
    AlreadyRunning,
    Child,
    Part,
    StopRequested,
    Supervisor,
    only_one,
    stop_on_signals,
)

READY_SECONDS = 60.0
STOP_SECONDS = 15.0
GRACE_SECONDS = "3"  # for requests under way; the supervisor waits longer than that
MANAGE = paths.CHECKOUT / "manage.py"


class Command(BaseCommand):
    help = "Start the database, the broker, a worker and the web server; migrate; load the demo store; serve."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
        parser.add_argument("--port", default=8000, type=_port, help="first port to try (8000); 0: any")
        parser.add_argument("--web-processes", default=2, type=int, help="web server processes (2)")
        parser.add_argument("--web-threads", default=4, type=int, help="threads in each of them (4)")
        parser.add_argument("--worker-processes", default=2, type=int, help="background processes (2)")
        parser.add_argument("--no-demo", action="store_true", help="do not load the demo store")
        parser.add_argument("--stop", action="store_true", help="stop what runs from this checkout, and end")

    def handle(self, *args: Any, **options: Any) -> None:
        places = paths.places()
        try:
            paths.make_home(places)
            with only_one(places), stop_on_signals():
                self._run(places, options)
        except StopRequested:
            self._say("stopped")
        except AlreadyRunning as other:
            if not options["stop"]:
                raise CommandError(str(other)) from other
            self._stop_other(other)
        except (EmbeddedError, DatabaseError) as fault:
            raise CommandError(str(fault)) from fault

    def _run(self, places: paths.Places, options: dict[str, Any]) -> None:
        supervisor = Supervisor(places, self._environment(), self._say)
        parts = self._parts(supervisor.environment)
        try:
            supervisor.end_leftovers()
            if options["stop"]:
                for name, part in parts.items():
                    supervisor.adopt_part(name, part)
                self._say("no run is at work in this checkout; ending what may be left of one")
                return
            for name, part in parts.items():
                supervisor.start_part(name, part)
            self._migrate()
            with listen(options["host"], options["port"], self._say) as listener:
                self._serve(supervisor, places, listener, options)
        finally:
            supervisor.stop()

    def _environment(self) -> dict[str, str]:
        environment = dict(os.environ)
        if not settings.JOBS_INLINE and not _given("CELERY_BROKER_URL") and not available():
            self._say("no embedded broker for this platform: background work runs inside the requests")
            environment["MEMORYCONSOLE_JOBS_INLINE"] = "1"
        return environment

    def _parts(self, environment: dict[str, str]) -> dict[str, Part]:
        """What is ours to run, in the order of starting: nothing that the operator gave an address for."""
        parts: dict[str, Part] = {}
        if not _given("DATABASE_URL"):
            parts["database"] = Postgres(say=self._say)
        if not _given("CELERY_BROKER_URL") and not _inline(environment):
            parts["broker"] = Broker(say=self._say)
        return parts

    def _migrate(self) -> None:
        connection = connections[DEFAULT_DB_ALIAS]
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            self._say("database: making the tables")
            call_command("migrate", interactive=False, verbosity=0)
        # The supervisor itself needs the database no more, and must not hold connections when it restarts it.
        connection.close()
        if isinstance(connection, DatabaseWrapper):
            connection.close_pool()

    def _serve(
        self, supervisor: Supervisor, places: paths.Places, listener: socket.socket, options: dict[str, Any]
    ) -> None:
        url = base_url(listener)
        supervisor.start_child(_web(places, listener, options))
        host = _host_header(url)
        supervisor.wait_ready(lambda: answers(listener, "/healthz", host), READY_SECONDS)
        # After the web server is up: both are busy importing at first, and somebody waits for the former.
        if not _inline(supervisor.environment):
            supervisor.start_child(_worker(places, options))
        supervisor.announce(url)
        self._say(f"memoryconsole serves on {url}  (logs: {places.logs}; Ctrl-C stops it)")
        if not options["no_demo"]:
            self._demo(supervisor, places, url)
        supervisor.watch()

    def _demo(self, supervisor: Supervisor, places: paths.Places, url: str) -> None:
        command = [
            sys.executable,
            str(MANAGE),
            "demo",
            "--base-url",
            url,
            "--state",
            str(places.home / "demo.json"),
        ]
        # The demo's answer is for a person: its requests need no log lines between.
        environment = {"MEMORYCONSOLE_LOG_LEVEL": "WARNING"} | supervisor.environment
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, start_new_session=True, check=False
        )
        if done.returncode:
            self._say(f"the demo store could not be loaded (code {done.returncode}); the server goes on")

    def _stop_other(self, other: AlreadyRunning) -> None:
        process = processes.live_process(other.pid) if other.pid else None
        if process is None or not processes.end([process], [(signal.SIGTERM, STOP_SECONDS)]):
            raise CommandError(f"{other}, and does not stop")
        self._say(f"stopped (pid {other.pid})")

    def _say(self, line: str) -> None:
        # The terminal may be gone, which is when everything has to be stopped all the same.
        with contextlib.suppress(OSError):
            self.stdout.write(line)
            self.stdout.flush()


def _web(places: paths.Places, listener: socket.socket, options: dict[str, Any]) -> Child:
    command = [
        sys.executable, "-m", "gunicorn", "memoryconsole.wsgi:application", "--chdir", str(paths.CHECKOUT),
        "--bind", f"fd://{listener.fileno()}", "--worker-class", "gthread",
        "--workers", str(options["web_processes"]), "--threads", str(options["web_threads"]),
        # Imported once and then forked: half the time to the first answer, and a killed process is back at once.
        "--preload", "--graceful-timeout", GRACE_SECONDS, "--no-control-socket",
        # The longest it takes: filters are texts, and a character may be twelve bytes of an address.
        "--limit-request-line", "8190",
    ]  # fmt: skip
    return Child("web", command, places.logs / "web.log", pass_fds=(listener.fileno(),))


def _worker(places: paths.Places, options: dict[str, Any]) -> Child:
    command = [
        sys.executable, "-m", "celery", "-A", "memoryconsole.celery:app", "--workdir", str(paths.CHECKOUT),
        "worker", "-B", "--schedule", str(places.home / "beat-schedule"), "-O", "fair",
        "--concurrency", str(options["worker_processes"]), "--loglevel", "INFO",
        "--without-gossip", "--without-mingle", "--without-heartbeat",
    ]  # fmt: skip
    return Child("worker", command, places.logs / "worker.log")


def _host_header(url: str) -> str:
    """A name that the installation serves, so that asking whether it is up is not refused for its name."""
    own = url.removeprefix("http://")
    allowed = settings.ALLOWED_HOSTS
    if not allowed or "*" in allowed or own.rsplit(":", 1)[0] in allowed:
        return own
    return str(allowed[0]).lstrip(".")


def _inline(environment: dict[str, str]) -> bool:
    return environment.get("MEMORYCONSOLE_JOBS_INLINE") == "1"


def _given(variable: str) -> bool:
    return bool(os.environ.get(variable))


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise ArgumentTypeError(f"{text!r} is no port: 0 to 65535")
    return int(text)
