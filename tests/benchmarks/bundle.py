"""Context bundles over 100,000 claims and 50,000 facts, end to end through HTTP on loopback.

    python -m tests.benchmarks.bundle [--claims 100000] [--facts 50000]

The rows are written below the API, into the served database, and indexed as writes index them. Questions are about one
or two entities, about nobody in particular, about an entity of a thousand facts, and about a disagreement of fifty. The
last line printed is one JSON object, also written under benchmarks/results/.
"""

import argparse
import json
import logging
import os
import random
import sys
import time
from typing import Any

from tests.benchmarks.bench import assert_durable, client, durable_server, memory, stages, timed
from tests.benchmarks.server import CHECKOUT, Served, file_name, revision, served_on

ASKS = 100
# Whatever is asked about a disagreement costs the same: fewer questions and more rounds tell better what that is.
DISPUTES, DISPUTE_ROUNDS = 25, 12


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--claims", type=int, default=100_000)
    parser.add_argument("--facts", type=int, default=50_000)
    options = parser.parse_args()
    load = os.getloadavg()
    with durable_server() as server, served_on(server, 1) as serving:
        assert_durable(serving)
        row = measure(serving, options.claims, options.facts)
    result = {"benchmark": "bundle", "revision": revision(), "load": load[0], **row}
    folder = CHECKOUT / "benchmarks" / "results"
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result)
    (folder / f"bundle-{file_name(revision())}.json").write_text(text + "\n")
    print(text)
    return 0


def measure(serving: Served, claims: int, facts: int) -> dict[str, Any]:
    with client(serving) as api:
        store = api.post("/stores", json={"name": "bundle"}).raise_for_status().json()["id"]
        planted = plant(serving, store, claims, facts)
        choose = random.Random(20260105)

        def words() -> str:
            return str(planted.texts.sentence(6))

        def bundle(body: dict[str, Any]) -> Any:
            return api.post(f"/stores/{store}/context-bundle", json=body)

        def held(body: dict[str, Any]) -> Any:
            return api.post(f"/stores/{store}/operations/facts_context", json=body)

        def members(body: dict[str, Any]) -> Any:
            return api.post(f"/stores/{store}/operations/contradiction_members", json=body)

        few = [choose.sample(planted.entities, 1 + n % 2) for n in range(ASKS)]
        anchored = timed([{"query": words(), "entity_ids": ids} for ids in few], bundle)
        anchored_stages = stages(serving, "combined_context")
        result = {
            "claims": claims,
            "facts": facts,
            "anchored": anchored,
            "anchored_stages_p50_ms": anchored_stages,
            "two_hops": timed([{"query": words(), "entity_ids": ids, "hops": 2} for ids in few], bundle),
            "unanchored": timed([{"query": words()} for _ in range(ASKS)], bundle),
            "hub": timed([{"query": words(), "entity_ids": [planted.hub]} for _ in range(ASKS)], bundle),
            "fifty_facts": timed(
                [{"query": words(), "entity_ids": [planted.disputed]} for _ in range(DISPUTES)],
                held,
                rounds=DISPUTE_ROUNDS,
            ),
            "fifty_members": timed([{"group_id": planted.group}] * DISPUTES, members, rounds=DISPUTE_ROUNDS),
            "all_stages_p50_ms": stages(serving, "combined_context"),
            "web_memory_mb": round(memory(serving.pid) / 2**20),
        }
        return result | planted.hydration()


def plant(serving: Served, store: str, claims: int, facts: int) -> Any:
    """The rows in the served database."""
    os.environ |= {"DATABASE_URL": serving.database_url, "DJANGO_SETTINGS_MODULE": "memoryconsole.settings"}
    os.environ["MEMORYCONSOLE_SECRET_KEY"] = "not-a-secret-of-anybody"
    import django

    django.setup()
    logging.getLogger("httpx").setLevel(logging.WARNING)
    from memoryconsole.models import Store
    from tests.benchmarks.bundle_rows import Planting

    planting = Planting(Store.objects.get(public_id=store), claims, facts)
    started = time.monotonic()
    planting.write()
    print(f"planted in {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return planting


if __name__ == "__main__":
    sys.exit(main())
