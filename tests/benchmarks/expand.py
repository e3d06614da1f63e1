"""expand-query over a session of 100,000 messages under a graph of depth 6, end to end through HTTP on loopback.

    python -m tests.benchmarks.expand [--messages 100000]

The session is written below the API, into the served database, and made findable; each question then names another of
its summaries, or asks by words. Beside them two floors: a request that asks for nothing, and a bare SELECT of as many
rows as an answer reads. The last line printed is one JSON object, also written under benchmarks/results/.
"""

import argparse
import json
import logging
import os
import random
import statistics
import sys
import time
from typing import Any

import psycopg

from tests.benchmarks.bench import assert_durable, client, durable_server, memory, stages, timed
from tests.benchmarks.server import CHECKOUT, Served, file_name, revision, served_on

ASKS = 100
# What the default budget reads of this session.
ROWS = 1_240
INDEXED_AT_ONCE = 2_000


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=100_000)
    options = parser.parse_args()
    load = os.getloadavg()
    with durable_server() as server, served_on(server, 1) as serving:
        assert_durable(serving)
        row = measure(serving, options.messages)
    result = {"benchmark": "expand", "revision": revision(), "load": load[0], **row}
    folder = CHECKOUT / "benchmarks" / "results"
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result)
    (folder / f"expand-{file_name(revision())}.json").write_text(text + "\n")
    print(text)
    return 0


def measure(serving: Served, messages: int) -> dict[str, Any]:
    with client(serving) as api:
        store = api.post("/stores", json={"name": "expand"}).raise_for_status().json()["id"]
        roots, depth = planted(serving, store, messages)
        choose = random.Random(20260105)
        by_ids = [{"node_ids": [choose.choice(roots)]} for _ in range(ASKS)]
        by_words = [{"query": f"gauge pier {n % 9} reads {n % 50}"} for n in range(ASKS)]

        def ask(body: dict[str, Any]) -> Any:
            body = {"session_id": "s", "prompt": "what did the gauges say?", **body}
            return api.post(f"/stores/{store}/expand-query", json=body)

        ids = timed(by_ids, ask)
        ids_stages = stages(serving, "expand_query")
        floors = {
            "healthz": timed(range(ASKS), lambda _: api.get(f"{serving.base_url}/healthz")),
            "bare_select_p50_ms": bare_select(serving, min(ROWS, messages)),
        }
        return {
            "messages": messages,
            "depth": depth,
            "by_ids": ids,
            "by_ids_stages_p50_ms": ids_stages,
            "floors": floors,
            "by_words": timed(by_words, ask),
            "all_stages_p50_ms": stages(serving, "expand_query"),
            "web_memory_mb": round(memory(serving.pid) / 2**20),
        }


def bare_select(serving: Served, rows: int) -> float:
    """Milliseconds that the texts and digests of so many records take, by their numbers, and nothing else."""
    took = []
    with psycopg.connect(serving.database_url) as connection:
        for start in range(ASKS):
            began = time.perf_counter()
            connection.execute(
                "SELECT number, content, digest FROM mc_record WHERE store_id = (SELECT min(id) FROM mc_store)"
                " AND number = ANY(%s)",
                [list(range(start * 7 + 1, start * 7 + 1 + rows))],
            ).fetchall()
            took.append((time.perf_counter() - began) * 1000)
    return round(statistics.median(took), 2)


def planted(serving: Served, store: str, messages: int) -> tuple[list[int], int]:
    """The session in the served database: (the numbers of its topmost summaries, its depth)."""
    os.environ |= {"DATABASE_URL": serving.database_url, "DJANGO_SETTINGS_MODULE": "memoryconsole.settings"}
    os.environ["MEMORYCONSOLE_SECRET_KEY"] = "not-a-secret-of-anybody"
    import django

    django.setup()
    logging.getLogger("httpx").setLevel(logging.WARNING)
    from django.db import transaction
    from django.utils import timezone

    from memoryconsole import jobs, search
    from memoryconsole.models import Record, Store, Summary
    from tests.api.test_expand_large import tree

    owner = Store.objects.get(public_id=store)
    _, depth = tree(owner, messages)
    # What is written below the services is not indexed yet. A job makes up for summaries alone.
    for start in range(1, messages + 1, INDEXED_AT_ONCE):
        rows = Record.objects.filter(store=owner, number__gte=start, number__lt=start + INDEXED_AT_ONCE)
        with transaction.atomic():
            search.index(owner, records=list(rows), now=timezone.now())
    job = jobs.start(owner, "analyse", {}, by=None, now=timezone.now())
    jobs.run(job.pk)
    tops = Summary.objects.filter(store=owner, depth__gte=depth - 3).values_list("number", flat=True)
    return sorted(tops), depth


if __name__ == "__main__":
    sys.exit(main())
