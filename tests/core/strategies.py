"""Random worlds: a snapshot, a request and settings that fit together.

Times, sources, message ids and contexts come from small sets, so that rows tie, bundle and conflict often.
What a row or a text may look like is listed whole beforehand and drawn in one go: a world has many rows.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from reconstruct.core import Reconstruction, Request, Settings, Snapshot, rebuild, reconstruct
from reconstruct.core.structure import ROLES
from reconstruct.core.types import (
    Context,
    EntityRecords,
    EntityRelation,
    Graph,
    Mention,
    Node,
    Pool,
    RecordRelation,
    Ref,
    Row,
    Span,
    StoredText,
)
from tests.core.builders import Body
from tests.properties import examples

START = datetime(2026, 1, 1, 9, tzinfo=UTC)
INSTANTS = tuple(START + timedelta(seconds=seconds) for seconds in (0, 20, 60, 61, 90, 3600))
CONTEXTS = (
    Context(project_id="", channel=""),
    Context(project_id="p", channel=""),
    Context(project_id="", channel="c"),
    None,
)
SOURCES = ("u1", "u1", "u2", "")
MESSAGES = ("", "x", "", "y", "")
SPANS = tuple(timedelta(seconds=seconds) for seconds in (3600, 60, 0))
PREDICATES = (*sorted(ROLES), "near")
ENTITIES = (1, 2, 3, 4, 5)
QUERIES = ("", "ab", "winch", "The Winch brake", "🦀🦀🦀")
TEXTS = (
    "",
    "x",
    "winch",
    "The winch brake.",
    "naïve 🦀🦀🦀 crabs",
    "x" * 40,
    "The winch brake sticks\nin frost; warm the winch first. ",
    "İİİ brake 🦀🦀🦀🦀 winch ab",
)

ANY = Ref("mem", 1)

# Building a world takes longer than answering in it; that says nothing about the core.
relaxed = settings(
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    snapshot: Snapshot
    request: Request
    settings: Settings


def answer(world: World) -> Body:
    return reconstruct(snapshot=world.snapshot, request=world.request, settings=world.settings)


def decided(world: World) -> Reconstruction:
    return rebuild(world.snapshot, world.request, world.settings)


def _records() -> list[Row]:
    return [
        Row(
            ref=ANY,
            timestamp=instant.isoformat() if instant else "some day",
            instant=instant,
            context=context,
            message_id=message,
            source_type="User",
            source_id=source,
        )
        for instant, context, source, message in product((*INSTANTS, None), CONTEXTS, SOURCES, MESSAGES)
    ]


def _episodes() -> list[Row]:
    return [
        Row(
            ref=Ref("ep", 1),
            timestamp=start.isoformat() if start else "",
            instant=start,
            context=context,
            span=Span(start=start, end=start + length) if start else None,
        )
        for start, context, length in product((*INSTANTS, None), CONTEXTS, SPANS)
    ]


def _texts() -> list[StoredText]:
    whole = [StoredText(ref=ANY, text=text, node_state="no_nodes") for text in TEXTS]
    stale = [StoredText(ref=ANY, text=text, node_state="not_current") for text in TEXTS]
    return whole + stale + [_divided(text, size) for text, size in product(TEXTS[1:], (3, 7, 14, 60))]


def _divided(text: str, size: int) -> StoredText:
    """Nodes of ``size`` characters, with cosines that tie now and then."""
    nodes = tuple(
        Node(start=start, end=min(start + size, len(text)), cosine=(0.1, 0.9, 0.1, 0.25)[index % 4])
        for index, start in enumerate(range(0, len(text), size))
    )
    return StoredText(ref=ANY, text=text, node_state="current", nodes=nodes)


record_shapes = st.sampled_from(_records())
episode_shapes = st.sampled_from(_episodes())
text_shapes = st.sampled_from(_texts())
entities = st.sampled_from(ENTITIES)
refs = st.sampled_from([Ref("mem", number) for number in range(1, 10)] + [Ref("ep", 2), Ref("ep", 5)])
relations = st.lists(
    st.builds(RecordRelation, subject=refs, predicate=st.sampled_from(PREDICATES), object=refs), max_size=4
)
requests = st.builds(
    Request,
    query=st.sampled_from(QUERIES),
    count=st.sampled_from((None, 0, 1, 2, 3, 4, 5, 6)),
    top_k=st.sampled_from((None, 1, 5, 10)),
    max_hops=st.sampled_from((None, 0, 1, 2, 3, 7)),
    max_evidence=st.sampled_from((None, 1, 2, 3, 4)),
    budget=st.sampled_from((None, 1, 15, 30, 45, 60, 90)),
    trace=st.booleans(),
)
server_settings = st.builds(
    Settings,
    default_count=st.integers(1, 4),
    adjacency_seconds=st.sampled_from((60, 0)),
    preview_chars=st.sampled_from((12, 5, 0)),
    default_budget=st.integers(12, 60),
    max_budget=st.integers(60, 80),
    library_max=st.sampled_from((100, 5)),
    max_count=st.integers(4, 6),
)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    mentions = draw(st.lists(st.tuples(refs, entities), min_size=3, max_size=8, unique=True))
    ends = st.tuples(entities, st.sampled_from(("runs", "near")), entities, st.sampled_from(INSTANTS))
    declared = enumerate(draw(st.lists(ends, min_size=2, max_size=7)), 1)
    return Graph(
        mentions=tuple(Mention(ref=ref, entity=entity) for ref, entity in mentions),
        relations=tuple(
            EntityRelation(
                number=number, subject=subject, predicate=predicate, object=object_, declared_at=at
            )
            for number, (subject, predicate, object_, at) in declared
        ),
    )


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """The first few rows can only be walked to; the others, now and then none, are candidates."""
    rows = tuple(
        replace(draw(record_shapes if ref.kind == "mem" else episode_shapes), ref=ref)
        for ref in draw(st.lists(refs, unique=True, min_size=4))
    )
    split = draw(st.sampled_from((2, 1, 3, 2, 1, 3, 0, len(rows))))
    pool = Pool(
        rows=rows[split:],
        relations=tuple(draw(relations)),
        query_embedded=draw(st.booleans()),
        **draw(st.sampled_from(_EXTRAS)),
    )
    snapshot = Snapshot(
        pool=pool,
        graph=draw(graphs()),
        records=_mentioned(draw, rows[:split]),
        texts=tuple(replace(draw(text_shapes), ref=row.ref) for row in rows),
    )
    return World(snapshot=snapshot, request=draw(requests), settings=draw(server_settings))


_EXTRAS: tuple[dict[str, Any], ...] = (
    {},
    {"rows_without_ref": 2, "gate_fallback": True},
    {"advisory": {"degraded": True, "evidence": {"tries": [1]}}, "cues": {"entities": ["Pier Nine"]}},
)


def _mentioned(draw: st.DrawFn, outside: tuple[Row, ...]) -> tuple[EntityRecords, ...]:
    """Which of the rows outside the pool each entity is mentioned by."""
    if not outside:
        return ()
    by_entity: dict[int, list[Row]] = {}
    for entity, row in draw(
        st.lists(
            st.tuples(entities, st.sampled_from(outside)),
            unique_by=lambda pair: (pair[0], pair[1].ref),
            min_size=3,
        )
    ):
        by_entity.setdefault(entity, []).append(row)
    more = draw(st.sampled_from(ENTITIES))
    return tuple(
        EntityRecords(entity=entity, rows=tuple(rows), more=entity == more)
        for entity, rows in by_entity.items()
    )
