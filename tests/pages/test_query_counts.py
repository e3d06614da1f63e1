"""How many statements each page takes, in a data file: a change is a decision, and no page grows with its rows."""

import json
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memoryconsole import jobs
from memoryconsole.services import ingest

EXPECTED = json.loads((Path(__file__).parent / "page_query_counts.json").read_text())
ADDRESSES = {
    "overview": "",
    "records": "records",
    "record": "records/mem:1",
    "record-delete": "records/mem:1/delete",
    "summaries": "summaries",
    "summary": "summaries/ep:1",
    "jobs": "jobs",
    "settings": "settings",
}


def fill(store, say, ada, api, amount):
    say(
        *(
            {"content": f"walrus log {n}", "message_id": f"m{n // 4}", "session_id": f"s{n % 3}",
             "timestamp": f"2026-01-01T10:{n % 60:02}:00Z"}
            for n in range(amount)
        )
    )  # fmt: skip
    now = timezone.now()
    for n in range(amount // 2):
        ingest.store_summary(
            store,
            ingest.NewSummary(
                summary=f"walrus {n}", session_id="s0", source_type="messages", source_ids=(1,)
            ),
            by=ada,
            now=now,
        )
        jobs.start(store, "embed", {}, by=ada, now=now)
        api.post(f"/api/v1/stores/{store.public_id}/reconstruct", {"query": "walrus log"}, format="json")


def counted(console, address):
    # What a session does once (a first look) is not what a page costs.
    assert console.get(address).status_code == 200
    with CaptureQueriesContext(connection) as captured:
        console.get(address)
    return len(captured)


@pytest.mark.parametrize("name", EXPECTED)
def test_statements_per_page_whatever_the_store_holds(name, console, at, store, say, ada, api):
    address = "/" if name == "home" else at(ADDRESSES[name])
    fill(store, say, ada, api, 4)
    few = counted(console, address)
    fill(store, say, ada, api, 16)
    assert (counted(console, address), few) == (EXPECTED[name], EXPECTED[name])
