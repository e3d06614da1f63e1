"""The whole console as `manage.py run` starts it, on a database of its own, with the demo store in it."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from memoryconsole.embedded import paths, processes
from tests.benchmarks.server import manage, new_database

START_SECONDS = 180.0
STOP_SECONDS = 20.0
INDEX_SECONDS = 60.0
VIEWER_PASSWORD = "only looking around"
VIEWER = """
from memoryconsole.models import Membership, Role, Store, User
vera = User.objects.create_user("vera", password="{password}")
Membership.objects.create(user=vera, store=Store.objects.get(public_id="{store}"), role=Role.VIEWER)
"""
# Taken from the server's environment: what the test run has set for itself.
OURS = ("MEMORYCONSOLE_JOBS_INLINE", "CELERY_BROKER_URL", "MEMORYCONSOLE_TEST_DATABASE_URL")


@dataclass(frozen=True, slots=True)
class Console:
    """A running console: its address, the demo store's id, and who may sign in, by name."""

    url: str
    store: str
    token: str
    passwords: dict[str, str]

    def at(self, place: str = "", store: str = "") -> str:
        """The address of a page of a store, the demo's unless named."""
        return f"{self.url}/stores/{store or self.store}/{place}"

    def call(self, method: str, path: str, body: "dict[str, Any] | None" = None) -> Any:
        """Ask the API as the demo account."""
        answer = httpx.request(
            method, f"{self.url}/api/v1{path}", json=body, timeout=60, trust_env=False,
            headers={"Authorization": f"Bearer {self.token}"},
        )  # fmt: skip
        answer.raise_for_status()
        return answer.json()

    def new_store(self, name: str, *records: "str | dict[str, Any]") -> str:
        """Make a store that holds the records; its id."""
        store = str(self.call("POST", "/stores", {"name": name})["id"])
        if records:
            bodies = [{"content": record} if isinstance(record, str) else record for record in records]
            self.call("POST", f"/stores/{store}/records", {"records": bodies})
        return store

    def wait_for_jobs(self, store: str = "") -> None:
        """Until nothing is queued or runs any more."""
        where = f"/stores/{store or self.store}/jobs?state="
        until = time.monotonic() + INDEX_SECONDS
        while any(self.call("GET", where + state)["results"] for state in ("queued", "running")):
            assert time.monotonic() < until, f"jobs still wait after {INDEX_SECONDS} s"
            time.sleep(0.3)


@contextmanager
def running(server: str) -> Iterator[Console]:
    """Run the console on a fresh database of the server at that address. Whatever it started ends with the block."""
    with tempfile.TemporaryDirectory(prefix="mc-", dir="/tmp") as ground, new_database(server) as database:
        environment = {
            **{name: value for name, value in os.environ.items() if name not in OURS},
            "DATABASE_URL": database,
            "DJANGO_SETTINGS_MODULE": "memoryconsole.settings",
            "MEMORYCONSOLE_LOG_LEVEL": "WARNING",
            "MEMORYCONSOLE_STATE_DIR": f"{ground}/state",
            "MEMORYCONSOLE_RUNTIME_DIR": f"{ground}/r",
        }
        command = [
            sys.executable, "manage.py", "run", "--port", "0",
            "--web-processes", "1", "--worker-processes", "1",
        ]  # fmt: skip
        run = subprocess.Popen(
            command, cwd=paths.CHECKOUT, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        try:
            yield _furnished(_told(run), Path(ground) / "state", environment)
        finally:
            run.send_signal(signal.SIGTERM)
            try:
                run.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                run.kill()
                run.wait()


def _told(run: "subprocess.Popen[str]") -> str:
    """The address that the command serves on, once the demo is in."""
    said: list[str] = []

    def read() -> None:
        assert run.stdout is not None
        said.extend(iter(run.stdout.readline, ""))

    threading.Thread(target=read, daemon=True).start()
    done = processes.wait_until(
        lambda: any("Ask the demo store" in line for line in said) or run.poll() is not None, START_SECONDS
    )
    address = re.search(r"serves on (http://\S+)", "".join(said))
    if not done or run.poll() is not None or address is None:
        raise RuntimeError("the console did not start:\n" + "".join(said))
    return address[1]


def _furnished(url: str, state: Path, environment: dict[str, str]) -> Console:
    """Beside the demo account one that may only look."""
    demo = json.loads((state / "main" / "demo.json").read_text(encoding="utf-8"))
    manage(
        environment,
        "shell",
        "--no-imports",
        "-c",
        VIEWER.format(store=demo["store"], password=VIEWER_PASSWORD),
    )
    console = Console(url, demo["store"], demo["token"], {"demo": demo["password"], "vera": VIEWER_PASSWORD})
    console.wait_for_jobs()
    return console
