"""What is read of a graph suffices: the context is the one that the whole session, read at once, would give."""

import random
import uuid

import pytest
from django.utils import timezone

from memoryconsole.models import Record, Session, Summary, SummarySource
from memoryconsole.services.ingest import digest_of
from memoryconsole.snapshot import snapshot
from provenance.expand_query import core, lineage
from provenance.expand_query.core import Lineage, Message, Node, Page
from provenance.expand_query.core.pages import estimate_tokens
from tests.conftest import make_store

NOW = timezone.now()
SCRIPTS = ("pier gauge ", "Größe über ", "水位計の値 ", "🛶⚓", "x")


@pytest.fixture
def session(ada):
    store = make_store(ada)
    return Session.objects.create(store=store, session_id="s", created_at=NOW)


def said(session, number, text):
    return Record.objects.create(
        store=session.store, session=session, number=number, uuid=uuid.uuid4(), content=text,
        digest=digest_of(text), created_at=NOW, believed_at=NOW,
    )  # fmt: skip


def summed(session, number, text, kind, depth=0):
    return Summary.objects.create(
        store=session.store, session=session, number=number, uuid=uuid.uuid4(), source_type=kind, summary=text,
        depth=depth, digest=digest_of(text), created_at=NOW, believed_at=NOW,
    )  # fmt: skip


def linked(summary, sources):
    """`sources`: rows, or None for a gap."""
    end = "record" if summary.source_type == "messages" else "child"
    SummarySource.objects.bulk_create(
        SummarySource(
            store=summary.store, summary=summary, source_index=place, number=source.number if source else 999,
            **{end: source},
        )
        for place, source in enumerate(sources)
    )  # fmt: skip


def random_graph(session, chance):
    """Rows, leaves over them, and nodes over leaves and nodes: shared, with gaps, and with cycles."""

    def text(longest):
        return chance.choice(SCRIPTS) * chance.randint(1, longest)

    rows = [said(session, n, text(40)) for n in range(1, 41)]
    leaves = [summed(session, n, text(12), "messages") for n in range(1, 13)]
    nodes = [summed(session, n, text(12), "nodes", 1) for n in range(13, 24)]
    for leaf in leaves:
        linked(leaf, chance.choices([*rows, None], k=chance.randint(0, 9)))
    for node in nodes:
        linked(node, chance.choices([*leaves, *nodes, None], k=chance.randint(0, 5)))
    return [*leaves, *nodes]


def everything(session):
    """The whole session as a lineage."""
    rows = Record.objects.filter(session=session)
    nodes = {}
    for summary in Summary.objects.filter(session=session):
        links = list(summary.sources.order_by("source_index"))
        present = [link.number if link.record_id or link.child_id else None for link in links]
        nodes[summary.number] = Node(
            node_id=summary.number, depth=summary.depth, summary=summary.summary, source_type=summary.source_type,
            sources=tuple(present), total_sources=len(links),
        )  # fmt: skip
    messages = {
        row.number: Message(
            store_id=row.number,
            session_id="s",
            page=Page(content=row.content, content_chars=len(row.content)),
        )
        for row in rows
    }
    return Lineage(nodes=nodes, messages=messages)


@pytest.mark.parametrize("seed", range(12))
def test_the_context_is_that_of_the_whole_session(session, seed):
    chance = random.Random(seed)
    graph = random_graph(session, chance)
    whole = everything(session)
    for budget in (1, 20, 60, 150, 400, 1000, 3000):
        roots = [node.number for node in chance.sample(graph, 3)]
        with snapshot():
            reading = lineage.read(
                session.store, "s", lineage.select(session.store, "s", roots), budget=budget
            )
            read = core.collect(reading.nodes, reading.lineage, budget=budget, count=estimate_tokens)
        known = core.collect([whole.node(n) for n in roots], whole, budget=budget, count=estimate_tokens)
        assert core.write_blocks(read.blocks) == core.write_blocks(known.blocks)
        assert read.pending == known.pending


def test_many_selected_summaries_cost_the_plan_nothing_each(session):
    rows = [said(session, n, f"row {n}") for n in range(1, 101)]
    leaves = [summed(session, n, f"leaf {n}", "messages") for n in range(1, 101)]
    for leaf, row in zip(leaves, rows, strict=True):
        linked(leaf, [row])
    chosen = lineage.select(session.store, "s", range(1, 101))
    with snapshot():
        reading = lineage.read(session.store, "s", chosen, budget=1000)
        context = core.collect(reading.nodes, reading.lineage, budget=1000, count=estimate_tokens)
    assert core.context_pagination(context) == []
    assert len(context.blocks) == 200


@pytest.mark.parametrize(
    "text", [s * n for s in (*SCRIPTS, "abcd🛶", "abc🛶é", "é水🛶a") for n in (1, 3, 17, 200)]
)
def test_no_text_counts_fewer_tokens_than_the_plan_takes_it_for(text):
    assert estimate_tokens(text) >= len(text.encode()) * 10 // 64
