"""A session of 100,000 messages under a graph of depth 6: an answer costs what its budget costs."""

import tracemalloc
import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memoryconsole.bulk import copy_instances
from memoryconsole.models import Record, Session, Summary, SummarySource
from memoryconsole.services.ingest import digest_of
from provenance.expand_query import services
from tests.conftest import make_store

pytestmark = pytest.mark.slow

FAN = 7
NOW = timezone.now()


def tree(store, messages):
    """A session of so many messages, each FAN of them summarized, and so on up to one root: (its number, its depth)."""
    session = Session.objects.create(store=store, session_id="s", created_at=NOW)
    common = {"store": store, "session": session, "created_at": NOW, "believed_at": NOW}
    rows = []
    for number in range(1, messages + 1):
        text = f"message {number} says that the gauge at pier {number % 9} reads {number % 50} and that nothing else is new"
        rows.append(Record(number=number, uuid=uuid.uuid4(), content=text, digest=digest_of(text), **common))
    copy_instances(Record, rows)
    level, kind, end, number, depth = rows, "messages", "record", 0, -1
    while len(level) > 1:
        depth += 1
        parts = [level[place : place + FAN] for place in range(0, len(level), FAN)]
        made = []
        for part in parts:
            number += 1
            text = f"summary {number} of {len(part)}, of depth {depth}: the gauges were read and nothing else was new"
            made.append(
                Summary(
                    number=number, uuid=uuid.uuid4(), depth=depth, source_type=kind, summary=text,
                    digest=digest_of(text), **common,
                )
            )  # fmt: skip
        copy_instances(Summary, made)
        links = [
            SummarySource(
                store=store, summary=summary, source_index=place, number=source.number, **{end: source}
            )
            for summary, part in zip(made, parts, strict=True)
            for place, source in enumerate(part)
        ]
        copy_instances(SummarySource, links)
        level, kind, end = made, "nodes", "child"
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE mc_record, mc_summary, mc_summary_source")
    return number, depth + 1


def cost(store, root):
    """(statements of the whole call, texts read, peak of memory in bytes) of one answer."""
    ask = services.QueryAsk(session_id="s", prompt="p", node_ids=(root,))
    services.expand_query(store, ask)
    tracemalloc.start()
    try:
        with CaptureQueriesContext(connection) as captured:
            told = services.expand_query(store, ask)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert told.body["context_truncated"] is True
    return len(captured), len(told.seen["digests"]), peak


def test_a_session_of_a_hundred_thousand_messages_costs_what_its_budget_costs(ada):
    small, large = make_store(ada), make_store(ada)
    (few, _), (many, depth) = tree(small, 3_000), tree(large, 100_000)
    assert depth == 6
    statements, texts, peak = cost(large, many)
    # Four frame the snapshot.
    assert statements - 4 <= 6 + texts / 200
    assert texts < 2_000
    assert peak < 16_000_000
    assert peak < 1.5 * cost(small, few)[2]
