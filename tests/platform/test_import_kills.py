"""An import through real processes that are killed again and again: every line is there once, and the job ends."""

import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from typing import Any

import psutil
import pytest

from memoryconsole.embedded import processes
from memoryconsole.embedded.broker import available
from tests.platform.test_run import MANAGE, Run, environment, ready, run  # noqa: F401  (fixtures)

# More of them by MEMORYCONSOLE_KILLS: a killed worker's job waits for its lease, so that twenty take ten minutes.
KILLS = int(os.environ.get("MEMORYCONSOLE_KILLS", "3"))
LINES = 1700 * KILLS
ACCOUNT = """
from django.utils import timezone
from memoryconsole.models import Token, User
user = User.objects.create_user("importer", can_create_stores=True)
scopes = ["read", "write", "declare", "operate"]
print("token", Token.issue(user=user, name="test", scopes=scopes, now=timezone.now())[1])
"""


class Server:
    """The API of a running server, asked again while it is being restarted."""

    def __init__(self, url: str, token: str) -> None:
        self._url, self._token = url, token

    def call(
        self, method: str, path: str, body: bytes | None = None, media_type: str = "application/json"
    ) -> Any:
        request = urllib.request.Request(f"{self._url}/api/v1{path}", body, method=method)
        request.add_header("Authorization", f"Bearer {self._token}")
        request.add_header("Content-Type", media_type)
        deadline = time.monotonic() + 30
        while True:
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return json.loads(answer.read())
            except urllib.error.HTTPError as refused:
                if refused.code != 503 or time.monotonic() > deadline:
                    raise
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.2)


def kill_all(program: psutil.Process) -> None:
    """A process and all it started, without a word."""
    for process in [program, *program.children(recursive=True)]:
        os.kill(process.pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.skipif(not available(), reason="no embedded broker for this platform")
def test_an_import_survives_its_processes(run: Run, environment: dict[str, str]) -> None:  # noqa: F811
    url = run.wait_for(r"serves on (http://127\.0\.0\.1:\d+)")[1]
    made = subprocess.run(
        [*MANAGE, "shell", "-c", ACCOUNT], env=environment, capture_output=True, text=True, check=True
    )
    server = Server(url, made.stdout.rsplit("token ", 1)[1].strip())
    store = server.call("POST", "/stores", b'{"name": "killed"}')["id"]
    # Every second line has no message id, and every tenth is the same as others.
    texts = [f"note {n}" if n % 10 else "tick" for n in range(LINES)]
    file = b"".join(
        json.dumps({"content": text} | ({"message_id": f"m{n}"} if n % 2 else {})).encode() + b"\n"
        for n, text in enumerate(texts)
    )
    job = server.call("POST", f"/stores/{store}/imports", file, "application/x-ndjson")["id"]

    def done() -> int:
        return int(server.call("GET", f"/jobs/{job}")["done"])

    for _ in range(KILLS):
        before = done()
        assert processes.wait_until(lambda before=before: done() > before, 60), run.said
        kill_all(run.child("celery"))
        os.kill(run.child("gunicorn").pid, signal.SIGKILL)
        assert processes.wait_until(lambda: ready(url), 30), run.said
    assert processes.wait_until(
        lambda: server.call("GET", f"/jobs/{job}")["state"] == "done", 90 + LINES // 100
    ), run.said

    told = server.call("GET", f"/jobs/{job}")
    assert told["counts"] == {"created": LINES, "duplicate": 0, "bad": 0}
    stored, cursor = [], ""
    while cursor is not None:
        page = server.call("GET", f"/stores/{store}/records?limit=200{cursor and '&cursor=' + cursor}")
        stored += [row["content"] for row in page["results"]]
        cursor = page["next_cursor"]
    assert stored == texts[::-1]
