"""Latency and ingest, end to end through HTTP on loopback, on a database that keeps what it acknowledges.

    SIZES=1000,10000 python -m tests.benchmarks.bench [--clients 2]

Invented records go in through `POST .../records` in batches, embedded and indexed; then single requests are timed,
warm, with different questions. Machines are shared and noisy: compare the columns of one run. The last line printed
is one JSON object, also written under benchmarks/results/.
"""

import argparse
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import psutil
import psycopg

from memoryconsole.embedded.postgres import Postgres
from tests.benchmarks.server import CHECKOUT, Served, file_name, revision, say, served_on

BATCH = 500
# As `make run` serves.
WEB_PROCESSES = 2
QUESTIONS = 200
WRITES = 50
# How often each question is asked: the best time of them is the nearest to what it costs on idle cores.
ROUNDS = 3
# A vocabulary of made-up words with the skew of language: the n-th word is about n times rarer than the first.
WORDS = 30_000
SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "ar", "en", "il", "os", "um")]


class Texts:
    """Records and questions, the same in every run."""

    def __init__(self) -> None:
        self.random = random.Random(20260105)
        words = {
            "".join(self.random.choices(SYLLABLES, k=self.random.choice((2, 2, 3, 3, 4))))
            for _ in range(WORDS * 2)
        }
        self.words = sorted(words)[:WORDS]
        self.random.shuffle(self.words)
        self.weights = [1 / (rank + 10) for rank in range(len(self.words))]

    def sentence(self, length: int) -> str:
        return " ".join(self.random.choices(self.words, self.weights, k=length))

    def record(self, number: int) -> dict[str, Any]:
        return {
            "content": self.sentence(self.random.randint(8, 40)),
            "message_id": f"b{number}",
            "session_id": f"s{number // 40}",
            "source": {"type": "User", "id": f"u{number % 3}", "name": f"Person {number % 3}"},
            "timestamp": f"2026-01-{number // 1440 % 28 + 1:02}T{number // 60 % 24:02}:{number % 60:02}:00Z",
        }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=int, default=2, help="writers at once (2)")
    options = parser.parse_args()
    sizes = [int(size) for size in os.environ.get("SIZES", "1000,10000").split(",")]
    load = os.getloadavg()
    print(f"load {load[0]:.1f}, revision {revision()}, {psutil.cpu_count()} cores, writers {options.clients}")
    with durable_server() as server:
        rows = [measure(server, size, options.clients) for size in sizes]
    result = {"benchmark": "bench", "revision": revision(), "load": load[0], "rows": rows}
    folder = CHECKOUT / "benchmarks" / "results"
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result)
    (folder / f"bench-{file_name(revision())}.json").write_text(text + "\n")
    print(text)
    return 0


@contextmanager
def durable_server() -> Iterator[str]:
    """A PostgreSQL of the benchmark's own with every write on disk, stopped afterwards."""
    server = Postgres("bench", say)
    server.start()
    try:
        yield server.places.database_url("postgres")
    finally:
        server.stop()


def measure(server: str, size: int, clients: int) -> dict[str, Any]:
    with served_on(server, WEB_PROCESSES) as serving:
        assert_durable(serving)
        with client(serving) as api:
            made = api.post("/stores", json={"name": f"bench {size}"}).raise_for_status().json()
            if made["audit"] != "required":
                raise AssertionError("the store is not audited")
            store = f"/stores/{made['id']}"
            texts = Texts()
            row: dict[str, Any] = {"records": size} | ingest(serving, store, texts, size, clients)
            row["web_memory_mb"] = round(memory(serving.pid) / 2**20)
            questions = [texts.sentence(texts.random.randint(3, 9)) for _ in range(QUESTIONS)]
            for name, body in (
                ("reconstruct", {"count": 10, "top_k": 50}),
                ("recall", {"limit": 20}),
            ):
                asks = [(f"{store}/{name}", body | {"query": question}) for question in questions]
                row[name] = timed(asks, lambda ask: api.post(ask[0], json=ask[1]))
            row["audit"] = audit_cost(api, store, questions)
            row["stages_p50_ms"] = stages(serving, "reconstruct")
            row["healthz"] = timed(range(QUESTIONS), lambda _: api.get(f"{serving.base_url}/healthz"))
            row["write_one"] = timed(
                range(WRITES),
                lambda n: api.post(f"{store}/records", json={"records": [{"content": f"one more {n}"}]}),
            )
            row["database_bytes_per_record"] = database_size(serving) // size
            show(row)
            return row


def ingest(serving: Served, store: str, texts: Texts, size: int, clients: int) -> dict[str, Any]:
    batches = [
        [texts.record(number) for number in range(start, min(start + BATCH, size))]
        for start in range(0, size, BATCH)
    ]
    with client(serving) as api:

        def send(batch: list[dict[str, Any]]) -> float:
            began = time.perf_counter()
            api.post(f"{store}/records", json={"records": batch}).raise_for_status()
            return time.perf_counter() - began

        # The first request loads the embedding model.
        send([{"content": "warm", "message_id": "warm"}])
        began = time.perf_counter()
        with ThreadPoolExecutor(clients) as pool:
            seconds = list(pool.map(send, batches))
        whole = time.perf_counter() - began
    return {"records_per_s": round(size / whole), "batch_p50_ms": round(statistics.median(seconds) * 1000)}


def timed(asks: Any, call: Callable[[Any], httpx.Response], *, rounds: int = ROUNDS) -> dict[str, float]:
    """p50 and p95 in ms of one call after another, after a fifth of them to warm up, in so many rounds.

    `idle_p50_ms`, `idle_p95_ms`: the same over each question's best round. Rounds are apart in time, so that what else
    the machine did falls out, and what makes one question dearer than another stays.
    """
    asks = list(asks)
    for ask in asks[: len(asks) // 5]:
        call(ask).raise_for_status()
    spent: list[list[float]] = []
    for _ in range(rounds):
        spent.append([])
        for ask in asks:
            began = time.perf_counter()
            call(ask).raise_for_status()
            spent[-1].append((time.perf_counter() - began) * 1000)
    every = sorted(took for each in spent for took in each)
    best = sorted(min(question) for question in zip(*spent, strict=True))
    return {
        "p50_ms": _share(every, 0.5),
        "p95_ms": _share(every, 0.95),
        "idle_p50_ms": _share(best, 0.5),
        "idle_p95_ms": _share(best, 0.95),
    }


def _share(ordered: list[float], share: float) -> float:
    return round(ordered[int(len(ordered) * share)], 1)


def audit_cost(api: httpx.Client, store: str, questions: list[str]) -> dict[str, float]:
    """What its trace adds to a request: each question is asked with `audit` required and with it off, in turn, so
    that whatever else the machine does falls on both alike. `cost_ms`: the median of the differences.
    """

    def asked(question: str, audit: str) -> float:
        api.patch(store, json={"audit": audit}).raise_for_status()
        began = time.perf_counter()
        body = {"query": question, "count": 10, "top_k": 50}
        api.post(f"{store}/reconstruct", json=body).raise_for_status()
        return (time.perf_counter() - began) * 1000

    pairs = []
    for number, question in enumerate(questions):
        order = ("required", "off") if number % 2 else ("off", "required")
        took = {audit: asked(question, audit) for audit in order}
        pairs.append((took["required"], took["off"]))
    api.patch(store, json={"audit": "required"}).raise_for_status()
    required, off = (statistics.median(column) for column in zip(*pairs, strict=True))
    return {
        "required_p50_ms": round(required, 2),
        "off_p50_ms": round(off, 2),
        "cost_ms": round(statistics.median(a - b for a, b in pairs), 2),
        "ratio": round(required / off, 3),
    }


def stages(serving: Served, operation: str) -> dict[str, float]:
    """Where an operation's time went, by its traces: the median of each stage, and of the whole."""
    with psycopg.connect(serving.database_url) as connection:
        rows = connection.execute(
            "SELECT stages, duration_us FROM mc_trace WHERE operation = %s AND outcome <> 'refused'",
            [operation],
        ).fetchall()
    names = dict.fromkeys(name for kept, _ in rows for name, _ in kept)
    found = {name: [spent for kept, _ in rows for each, spent in kept if each == name] for name in names}
    found["total"] = [total for _, total in rows]
    return {name: round(statistics.median(spent) / 1000, 2) for name, spent in found.items()}


def client(serving: Served) -> httpx.Client:
    return httpx.Client(
        base_url=f"{serving.base_url}/api/v1",
        headers={"Authorization": f"Bearer {serving.token}"},
        timeout=120,
        trust_env=False,
    )


def assert_durable(serving: Served) -> None:
    with psycopg.connect(serving.database_url) as connection:
        for name in ("fsync", "synchronous_commit"):
            value = connection.execute(f"SHOW {name}").fetchone()
            if value != ("on",):
                raise AssertionError(f"{name} is {value}")


def database_size(serving: Served) -> int:
    with psycopg.connect(serving.database_url) as connection:
        found = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        return int(found[0]) if found else 0


def memory(pid: int) -> int:
    """Resident bytes of the largest web process."""
    parent = psutil.Process(pid)
    return max(process.memory_info().rss for process in [parent, *parent.children(recursive=True)])


def show(row: dict[str, Any]) -> None:
    for name, value in row.items():
        timing = isinstance(value, dict) and "p95_ms" in value
        shown = (
            f"{value['p50_ms']} / {value['p95_ms']} ms (p50 / p95), idle {value['idle_p50_ms']} / {value['idle_p95_ms']}"
            if timing
            else value
        )
        print(f"  {name:26} {shown}")


if __name__ == "__main__":
    sys.exit(main())
