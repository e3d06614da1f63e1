"""expand-query over a session of 100,000 messages under a graph of depth 6, end to end through HTTP on loopback.

    python -m tests.benchmarks.expand [--messages 100000]

The session is written below the API, into the served database; each question then names another of its summaries, or
asks by words. The last line printed is one JSON object, also written under benchmarks/results/.
"""

import argparse
import json
import logging
import os
import random
import sys
from typing import Any

from tests.benchmarks.bench import assert_durable, client, durable_server, memory, stages, timed
from tests.benchmarks.server import CHECKOUT, Served, file_name, revision, served_on

ASKS = 100


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
        return {
            "messages": messages,
            "depth": depth,
            "by_ids": ids,
            "by_ids_stages_p50_ms": ids_stages,
            "by_words": timed(by_words, ask),
            "all_stages_p50_ms": stages(serving, "expand_query"),
            "web_memory_mb": round(memory(serving.pid) / 2**20),
        }


def planted(serving: Served, store: str, messages: int) -> tuple[list[int], int]:
    """The session in the served database: (the numbers of its topmost summaries, its depth)."""
    os.environ |= {"DATABASE_URL": serving.database_url, "DJANGO_SETTINGS_MODULE": "memoryconsole.settings"}
    os.environ["MEMORYCONSOLE_SECRET_KEY"] = "not-a-secret-of-anybody"
    import django

    django.setup()
    logging.getLogger("httpx").setLevel(logging.WARNING)
    from django.utils import timezone

    from memoryconsole import jobs
    from memoryconsole.models import Store, Summary
    from tests.api.test_expand_large import tree

    owner = Store.objects.get(public_id=store)
    _, depth = tree(owner, messages)
    # What is written below the services is not indexed yet.
    job = jobs.start(owner, "analyse", {}, by=None, now=timezone.now())
    jobs.run(job.pk)
    tops = Summary.objects.filter(store=owner, depth__gte=depth - 3).values_list("number", flat=True)
    return sorted(tops), depth


if __name__ == "__main__":
    sys.exit(main())
