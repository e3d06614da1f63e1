"""Random contexts: any blocks as JSON, and graphs with what was selected and found in them.

Ids come from small sets, so that identities repeat, graphs share nodes and run in circles. Texts reach over
every bound and are long only now and then.
"""

from dataclasses import dataclass, replace
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from provenance.expand_query.core import (
    Context,
    Lineage,
    Message,
    Node,
    Page,
    Payload,
    Scope,
    TokenCounter,
    collect,
    estimate_tokens,
)
from provenance.expand_query.core.blocks import EXTERNALIZED_PAYLOAD
from tests.properties import examples

relaxed = settings(
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

JUNK = st.sampled_from([None, True, False, -1, 0, 2.5, "", "7", [], {}])
LETTERS = ("a", "é", "漢", "🛶", '"', "\n")
LENGTHS = (0, 1, 2, 30, 255, 256, 257, 499, 500, 501, 1200)
TEXTS = st.builds(lambda letter, length: letter * length, st.sampled_from(LETTERS), st.sampled_from(LENGTHS))
IDS = st.one_of(st.integers(1, 6), JUNK)
SOURCES = st.sampled_from(
    ["message", "raw_search_hit", "externalized_payload", "transcript_content", "", None]
)
STATUSES = st.sampled_from(["completed", "failed", "not_run"])


def _object(members: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    return st.one_of(st.fixed_dictionaries({}, optional=members), JUNK)


_PATH = st.lists(_object({"node_id": IDS, "source_index": IDS}), max_size=12)
_PLACE: dict[str, st.SearchStrategy[Any]] = {
    "node_id": IDS,
    "parent_node_id": IDS,
    "source_index": IDS,
    "source_path": st.one_of(_PATH, JUNK),
    "source_path_depth": st.one_of(st.integers(-1, 20), JUNK),
    "source_path_truncated": st.booleans(),
}
_ENTRY: dict[str, st.SearchStrategy[Any]] = {
    "node_id": IDS,
    "store_id": IDS,
    "source_index": IDS,
    "session_id": st.one_of(TEXTS, JUNK),
    "source": st.one_of(TEXTS, JUNK),
    "role": st.one_of(TEXTS, JUNK),
    "summary": st.one_of(TEXTS, JUNK),
    "content": st.one_of(TEXTS, JUNK),
    "content_offset": IDS,
    "content_chars": IDS,
    "content_source": SOURCES,
    "transcript_content": st.one_of(TEXTS, JUNK),
    "externalized": _object({"ref": st.one_of(TEXTS, JUNK), "kind": JUNK}),
    "tool_calls_omitted": JUNK,
    "search_rank": JUNK,
}
_TYPES = (
    "summary",
    "child_nodes",
    "descendant_child_nodes",
    "messages",
    "child_messages",
    "raw_messages",
    "weather",
)
_LISTED = st.lists(_object(_ENTRY), max_size=8)


def written_blocks() -> st.SearchStrategy[list[Any]]:
    """Blocks as JSON from anywhere: any member may be missing or of another type."""
    block = st.fixed_dictionaries(
        {"type": st.sampled_from(_TYPES)},
        optional={
            **_PLACE,
            "summary": st.one_of(TEXTS, JUNK),
            "children": st.one_of(_LISTED, JUNK),
            "messages": st.one_of(_LISTED, JUNK),
            "pagination": _object({"has_more": JUNK, "next_store_id": IDS, "total_sources": IDS}),
        },
    )
    return st.lists(st.one_of(block, JUNK), max_size=8)


def scopes() -> st.SearchStrategy[Scope]:
    session_ids = st.lists(TEXTS, min_size=1, max_size=20).map(tuple)
    kinds = st.sampled_from(["current_session", "explicit_sessions"])
    return st.builds(Scope, session_id=TEXTS, session_ids=session_ids, kind=kinds)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What was selected, what it leads to, what was found, and what it may cost.

    ``rows`` and ``payloads`` are the stored texts, by number and by ref.
    """

    selected: tuple[Node, ...]
    lineage: Lineage
    hits: tuple[Message, ...]
    query: str
    rows: dict[int, str]
    payloads: dict[str, str]
    budget: int
    count: TokenCounter

    def collect(self, budget: int | None = None) -> Context:
        return collect(
            self.selected,
            self.lineage,
            budget=self.budget if budget is None else budget,
            count=self.count,
            hits=self.hits,
            query=self.query,
        )


def count_code_points(text: str) -> int:
    return len(text)


ROWS = range(1, 9)
NODES = range(1, 9)
_STORED = st.sampled_from(
    ["", "rope", "no ROPE here", "ß" * 9 + "rope", "漢字" * 40, "x" * 700, "🛶rope" * 150]
)


_ROW = st.sampled_from(ROWS)
# A node's number is given to it later; what it summarizes may be itself.
_PLACES = st.lists(st.sampled_from([None, *NODES]), max_size=3).map(tuple)
_NODE = st.builds(
    lambda kind, places, summary: Node(
        node_id=0, summary=summary, source_type=kind, sources=places, total_sources=len(places)
    ),
    st.sampled_from(["messages", "nodes"]),
    _PLACES,
    _STORED,
)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    texts = dict(zip(ROWS, draw(st.lists(_STORED, min_size=len(ROWS), max_size=len(ROWS))), strict=True))
    payloads = {f"{number}.json": text for number, text in draw(st.dictionaries(_ROW, _STORED)).items()}
    rows = {number: _row(number, text, payloads) for number, text in texts.items()}
    drawn = draw(st.lists(_NODE, min_size=len(NODES), max_size=len(NODES)))
    nodes = {number: replace(node, node_id=number) for number, node in zip(NODES, drawn, strict=True)}
    found = draw(st.lists(_ROW, unique=True, max_size=4))
    return World(
        selected=tuple(nodes[number] for number in draw(st.lists(st.sampled_from(NODES), max_size=3))),
        lineage=Lineage(nodes=nodes, messages=rows),
        # A hit is shown as it stands in its row.
        hits=tuple(_row(number, texts[number], {}) for number in found),
        query=draw(st.sampled_from(["", "rope", '"no rope" x', "漢"])),
        rows=texts,
        payloads=payloads,
        budget=draw(st.sampled_from([0, 1, 7, 60, 900, 20_000])),
        count=draw(st.sampled_from([count_code_points, estimate_tokens])),
    )


def _row(number: int, text: str, payloads: dict[str, str]) -> Message:
    ref = f"{number}.json"
    shown = payloads.get(ref, text)
    hydration: dict[str, Any] = {}
    if ref in payloads:
        hydration = {
            "content_source": EXTERNALIZED_PAYLOAD,
            "transcript_content": text,
            "externalized": Payload(ref=ref),
        }
    return Message(store_id=number, page=Page(content=shown, content_chars=len(shown)), **hydration)
