"""The other system of `peer`: installed into an environment of its own, spoken to in its own protocol.

It is driven through MCP over stdio and asks this process for vectors through the HTTP contract its documentation
describes. Nothing of it is imported.
"""

import json
import os
import queue
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any

PACKAGE = "cpersona==2.6.0a5"
PROTOCOL = "2025-06-18"
ANSWER_SECONDS = 60
NODES_SECONDS = 60

# A batch of texts to one vector each.
Embed = Callable[[Sequence[str]], Sequence[Sequence[float]]]


class PeerFailed(Exception):
    """The other system could not be installed or started, or refused a call. The message says what it said."""


def install(folder: Path) -> Path:
    """An environment with the package in `folder`; returns its interpreter. One that is there already is used.

    Raises PeerFailed with the installer's last lines.
    """
    python = folder / "bin" / "python"
    if not python.exists():
        _run([sys.executable, "-m", "venv", str(folder)])
    _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE])
    return python


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        said = " / ".join((done.stderr or done.stdout).strip().splitlines()[-3:])
        raise PeerFailed(f"{' '.join(command[1:4])} ended with {done.returncode}: {said}")


class Peer:
    """One running server and its database file."""

    def __init__(self, process: "subprocess.Popen[str]", database: Path) -> None:
        assert process.stdin
        assert process.stdout
        self.database = database
        self._process = process
        self._write: IO[str] = process.stdin
        self._lines: queue.Queue[str] = queue.Queue()
        self._number = 0
        threading.Thread(target=self._read, args=(process.stdout,), daemon=True).start()
        self.request(
            "initialize",
            {
                "protocolVersion": PROTOCOL,
                "capabilities": {},
                "clientInfo": {"name": "bench-peer", "version": "1"},
            },
        )
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The tool's answer. Raises PeerFailed when the call was refused."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        text = "".join(part.get("text", "") for part in result["content"])
        if result.get("isError"):
            raise PeerFailed(f"{tool}: {text[:500]}")
        answer: dict[str, Any] = json.loads(text)
        return answer

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        until = time.monotonic() + ANSWER_SECONDS
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                raise PeerFailed(f"{method}: no answer within {ANSWER_SECONDS} s") from None
            if not line:
                raise PeerFailed(f"{method}: the server ended with {self._process.wait()}")
            message = json.loads(line)
            if message.get("id") != self._number:
                continue
            if "error" in message:
                raise PeerFailed(f"{method}: {message['error']}")
            result: dict[str, Any] = message["result"]
            return result

    def _send(self, message: dict[str, Any]) -> None:
        try:
            self._write.write(json.dumps(message) + "\n")
            self._write.flush()
        except BrokenPipeError:
            raise PeerFailed("the server has ended") from None

    def _read(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._lines.put(line)
        self._lines.put("")

    def wait_for_nodes(self) -> None:
        """Wait until nothing is left to build in the background."""
        until = time.monotonic() + NODES_SECONDS
        while self.call("get_queue_status").get("pending"):
            if time.monotonic() > until:
                raise PeerFailed(f"nodes were not built within {NODES_SECONDS} s")
            time.sleep(0.2)

    def settle(self, message_ids: Mapping[int, str]) -> None:
        """Write into the database file what `store` cannot: message ids that several rows of one project share, as
        only older data has them (contract: reconstruct A.1), and a time of storing that is not the same second for all.
        """
        with sqlite3.connect(self.database, timeout=10) as connection:
            connection.execute("DROP INDEX IF EXISTS idx_memories_dedup_msg_id")
            for number, message_id in message_ids.items():
                connection.execute("UPDATE memories SET msg_id = ? WHERE id = ?", (message_id, number))
            connection.execute(
                "UPDATE memories SET created_at = datetime('2026-04-01', '+' || id || ' seconds')"
            )
        connection.close()


@contextmanager
def running(python: Path, folder: Path, embed_url: str, **environment: str) -> Iterator[Peer]:
    """A server with a fresh database in `folder`, for as long as the block runs."""
    folder.mkdir(parents=True)
    variables = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(folder),
        "CPERSONA_DB_PATH": str(folder / "memory.db"),
        "CPERSONA_UPDATE_CHECK": "false",
        "CPERSONA_EMBEDDING_MODE": "http",
        "CPERSONA_EMBEDDING_URL": embed_url,
        "NO_PROXY": "*",
        **environment,
    }
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [str(python.parent / "cpersona")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            text=True, encoding="utf-8", env=variables, cwd=folder,
        )  # fmt: skip
        try:
            yield Peer(process, folder / "memory.db")
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def embedding_server(embed: Embed, window: int) -> Iterator[str]:
    """Serve vectors on loopback; yields the address of /embed. A token is a code point, and `window` of them fit."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            texts = body["texts"]
            answer: dict[str, Any] = {}
            if self.path.endswith("/embed"):
                vectors = [list(vector) for vector in embed(texts)]
                answer = {"embeddings": vectors, "dimensions": len(vectors[0])}
            if self.path.endswith("/count_tokens") or body.get("token_info"):
                answer["token_info"] = [token_info(text, window) for text in texts]
            payload = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *_: Any) -> None:
            """Quiet: a line a request says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/embed"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def token_info(text: str, window: int) -> dict[str, Any]:
    return {
        "count": len(text),
        "window": window,
        "truncated": len(text) > window,
        "window_end_char": min(len(text), window),
    }
