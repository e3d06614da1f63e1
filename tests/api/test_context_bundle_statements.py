"""A bounded number of statements, whatever is found: none of these grows with the rows of an answer."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.api.harbour import Harbour
from tests.conftest import url

# Of an anchored bundle: `spine/contexts.py` says which. Access, the trace and the frames of transactions included.
MOST = 26
OPEN = {"from": "2020-01-01T00:00:00Z", "precision": "open"}


@pytest.fixture
def harbour(api, store):
    return Harbour(api, store)


def counted(harbour, operation, **body):
    address = url(harbour.store, f"/operations/{operation}")
    with CaptureQueriesContext(connection) as captured:
        answer = harbour.api.post(address, body, format="json")
    assert answer.status_code == 200, answer.content
    return len(captured)


def test_a_larger_answer_takes_no_more_statements(harbour):
    ferry, line = harbour.entity("Aurora Tern"), harbour.entity("Skerry Line")
    harbour.relate(ferry, "part_of", line, window=OPEN)

    def grow(amount):
        for n in range(amount):
            new = harbour.entity(f"Quay {n}")
            harbour.relate(ferry, "other:calls_at", new, window=OPEN)
            sides = [harbour.observe(ferry, f"the ferry carries {n} {side}") for side in ("boxes", "horses")]
            harbour.contradict(*(("observation", side) for side in sides))

    def ask():
        anchored = {"entity_ids": [ferry, line]}
        return {
            "facts": counted(harbour, "facts_context", query="ferry", **anchored),
            "open": counted(harbour, "facts_context", query="ferry"),
            "said": counted(harbour, "claims_and_sources_context", query="ferry", **anchored),
            "said open": counted(harbour, "claims_and_sources_context", query="ferry"),
            "both": counted(harbour, "combined_context", query="ferry", hops=2, **anchored),
            "named": counted(harbour, "resolve_entity", name="quay", context_entity_ids=[ferry]),
        }

    grow(2)
    few = ask()
    assert few["both"] <= MOST
    assert few["both"] < few["facts"] + few["said"]
    grow(8)
    # Ends of facts that were all met before take none.
    assert all(0 <= now - few[asked] <= 1 for asked, now in ask().items())
