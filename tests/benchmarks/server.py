"""A real server for a benchmark: its own database, its own port, gone afterwards."""

import os
import re
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.sql import SQL, Identifier

from memoryconsole.embedded.sharing import borrowed_database

CHECKOUT = Path(__file__).resolve().parents[2]
START_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Served:
    """Where a server listens, a token that may make stores and all but declare, its process, and its database."""

    base_url: str
    token: str
    pid: int
    database_url: str


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@contextmanager
def served(**environment: str) -> Iterator[Served]:
    """Serve a fresh database on the test server for as long as the block runs (`served_on`)."""
    with borrowed_database(say) as server, served_on(server, **environment) as serving:
        yield serving


@contextmanager
def served_on(server: str, processes: int = 1, **environment: str) -> Iterator[Served]:
    """Serve a fresh database of a running PostgreSQL with gunicorn, four threads a process.

    `environment`: further variables of the web server, for instance MEMORYCONSOLE_EMBEDDER.
    """
    with new_database(server) as address:
        variables = {
            **os.environ,
            "MEMORYCONSOLE_SECRET_KEY": secrets.token_urlsafe(32),
            "MEMORYCONSOLE_LOG_LEVEL": "WARNING",
            "DJANGO_SETTINGS_MODULE": "memoryconsole.settings",
            "DATABASE_URL": address,
            **environment,
        }
        manage(variables, "migrate", "--verbosity", "0")
        token = manage(
            variables, "token", "benchmark", "--can-create-stores",
            *(part for scope in ("read", "write", "operate") for part in ("--scope", scope)),
        )  # fmt: skip
        with gunicorn(variables, processes) as (base_url, pid):
            yield Served(base_url, token.strip().splitlines()[-1], pid, address)


@contextmanager
def new_database(server: str) -> Iterator[str]:
    """A database of its own on a server that may be shared; dropped afterwards."""
    name = f"benchmark_{secrets.token_hex(6)}"
    with psycopg.connect(make_conninfo(server, dbname="postgres"), autocommit=True) as connection:
        connection.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
        try:
            yield as_url(make_conninfo(server, dbname=name))
        finally:
            connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


def as_url(conninfo: str) -> str:
    """A connection string in the form of an address, which is what DATABASE_URL takes."""
    parts = conninfo_to_dict(conninfo)
    query = httpx.QueryParams({key: str(value) for key, value in parts.items() if value not in (None, "")})
    return f"postgresql:///?{query}"


def manage(variables: Mapping[str, str], *arguments: str) -> str:
    command = [sys.executable, "manage.py", *arguments]
    done = subprocess.run(command, cwd=CHECKOUT, env=variables, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


@contextmanager
def gunicorn(variables: Mapping[str, str], processes: int) -> Iterator[tuple[str, int]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        command = [
            sys.executable, "-m", "gunicorn", "memoryconsole.wsgi:application", "--bind",
            f"fd://{listener.fileno()}", "--worker-class", "gthread", "--workers", str(processes), "--threads", "4",
            "--timeout", "300", "--log-level", "warning", "--no-control-socket",
        ]  # fmt: skip
        process = subprocess.Popen(command, cwd=CHECKOUT, env=variables, pass_fds=[listener.fileno()])
        try:
            wait_for(base_url, process)
            yield base_url, process.pid
        finally:
            process.terminate()
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def wait_for(base_url: str, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}")
        try:
            if httpx.get(f"{base_url}/healthz", timeout=2).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise RuntimeError(f"the server did not answer within {START_SECONDS} s")


def revision() -> str:
    """The commit measured, with + when files differ from it; 'unknown' outside of git."""
    command = ["git", "describe", "--always", "--dirty=+", "--abbrev=12"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def file_name(label: str) -> str:
    return re.sub(r"[^A-Za-z0-9.+-]+", "-", label)
