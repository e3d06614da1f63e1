"""`manage.py pg start|stop|status|exec`: the embedded PostgreSQL."""

import os
import subprocess
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from memoryconsole.embedded.errors import EmbeddedError
from memoryconsole.embedded.postgres import Postgres
from memoryconsole.embedded.sharing import borrowed_database

NOT_RUNNING = 3  # what pg_ctl answers for the same


class Command(BaseCommand):
    help = "Start, stop or look at the embedded PostgreSQL, or run a command with a test database."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=["start", "stop", "status", "exec"])
        parser.add_argument("--instance", default="main", help='"main" (default) or "test"')
        parser.add_argument(
            "command", nargs="*", help="for exec, after --: run with DATABASE_URL naming a test database"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if options["action"] == "exec":
                self._exec(options["command"])
                return
            server = Postgres(options["instance"], self._say)
            getattr(self, f"_{options['action']}")(server)
        except EmbeddedError as fault:
            raise CommandError(str(fault)) from fault

    def _start(self, server: Postgres) -> None:
        started = server.start()
        self._say("PostgreSQL started" if started else "PostgreSQL runs already")
        self._say(server.status().url)

    def _stop(self, server: Postgres) -> None:
        self._say("PostgreSQL stopped" if server.stop() else "PostgreSQL does not run")

    def _status(self, server: Postgres) -> None:
        status = server.status()
        running = f"running, pid {status.pid}" if status.pid else "not running"
        self._say(f"PostgreSQL  {running}{'' if status.accepts or not status.pid else ', not answering yet'}")
        self._say(f"address     {status.url}\ndata        {status.data}\nlog         {status.log}")
        if status.pid is None:
            sys.exit(NOT_RUNNING)

    def _exec(self, command: list[str]) -> None:
        if not command:
            raise CommandError("exec needs a command: manage.py pg exec -- command argument ...")
        with borrowed_database(self._say) as url:
            # Settings with an address of their own want a key of their own.
            key = {"MEMORYCONSOLE_SECRET_KEY": settings.SECRET_KEY}
            done = subprocess.run(command, env=os.environ | key | {"DATABASE_URL": url}, check=False)
        if done.returncode:
            sys.exit(done.returncode)

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
