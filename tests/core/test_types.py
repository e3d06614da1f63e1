"""A value that breaks its own rules cannot be built."""

from dataclasses import FrozenInstanceError
from datetime import datetime

import pytest

from reconstruct.core import Request
from reconstruct.core.types import (
    Context,
    EntityRecords,
    EntityRelation,
    Graph,
    InvalidRequest,
    InvalidSnapshot,
    Kind,
    Node,
    NodeState,
    Pool,
    Ref,
    Row,
    Snapshot,
    Span,
    StoredText,
)
from tests.core.builders import linked, moment, record

NAIVE = datetime(2026, 1, 1)


def test_refs_order_by_kind_then_by_number_and_not_as_text() -> None:
    refs = [Ref("mem", 10), Ref("mem", 9), Ref("ep", 11)]
    assert [str(ref) for ref in sorted(refs)] == ["ep:11", "mem:9", "mem:10"]


def test_a_record_and_an_episode_of_one_number_are_two_rows() -> None:
    assert Ref("mem", 3) != Ref("ep", 3)


@pytest.mark.parametrize(("kind", "number"), [("mem", 0), ("mem", True), ("ep", -1), ("doc", 1)])
def test_a_handle_that_cannot_exist_is_refused(kind: Kind, number: int) -> None:
    with pytest.raises(InvalidSnapshot):
        Ref(kind, number)


def test_an_instant_without_an_offset_is_refused() -> None:
    with pytest.raises(InvalidSnapshot, match="no offset"):
        Row(ref=Ref("mem", 1), instant=NAIVE)
    with pytest.raises(InvalidSnapshot, match="no offset"):
        Span(start=NAIVE, end=moment("2026-01-01"))
    with pytest.raises(InvalidSnapshot, match="no offset"):
        EntityRelation(number=1, subject=1, predicate="x", object=2, declared_at=NAIVE)


def test_an_episode_has_neither_message_id_nor_producer() -> None:
    with pytest.raises(InvalidSnapshot, match="neither"):
        Row(ref=Ref("ep", 1), message_id="x")
    with pytest.raises(InvalidSnapshot, match="neither"):
        Row(ref=Ref("ep", 1), source_id="u1")


def test_a_record_has_no_span() -> None:
    noon = moment("2026-01-01T12:00")
    with pytest.raises(InvalidSnapshot, match="only an episode"):
        Row(ref=Ref("mem", 1), span=Span(start=noon, end=noon))


def test_the_message_id_is_trimmed_as_a_key_and_blank_is_none() -> None:
    context = Context(project_id="p", channel="c")
    assert Row(ref=Ref("mem", 1), message_id=" x ", context=context).identity == ("p", "x")
    assert Row(ref=Ref("mem", 1), message_id="  ", context=context).identity is None


def test_the_same_thing_twice_is_refused() -> None:
    row = record(1)
    with pytest.raises(InvalidSnapshot, match="mem:1 is given twice"):
        Pool(rows=(row, row))
    with pytest.raises(InvalidSnapshot, match="relation 1 is given twice"):
        Graph(relations=(linked(1, 1, "a", 2), linked(1, 2, "b", 3)))
    with pytest.raises(InvalidSnapshot, match="mem:1 is given twice"):
        EntityRecords(entity=1, rows=(row, row))
    with pytest.raises(InvalidSnapshot, match="text mem:1 is given twice"):
        Snapshot(texts=(StoredText(ref=row.ref, text="a"), StoredText(ref=row.ref, text="b")))
    with pytest.raises(InvalidSnapshot, match="records 4 is given twice"):
        Snapshot(records=(EntityRecords(entity=4), EntityRecords(entity=4)))


@pytest.mark.parametrize("spans", [[(0, 4)], [(0, 4), (5, 10)], [(0, 6), (5, 10)], [(1, 10)], [(0, 11)]])
def test_current_nodes_partition_their_text(spans: list[tuple[int, int]]) -> None:
    nodes = tuple(Node(start=start, end=end) for start, end in spans)
    with pytest.raises(InvalidSnapshot, match="partition"):
        StoredText(ref=Ref("mem", 1), text="0123456789", node_state="current", nodes=nodes)


@pytest.mark.parametrize(("state", "nodes"), [("current", ()), ("not_current", (Node(start=0, end=2),))])
def test_nodes_are_given_when_current_and_only_then(state: NodeState, nodes: tuple[Node, ...]) -> None:
    with pytest.raises(InvalidSnapshot, match="state"):
        StoredText(ref=Ref("mem", 1), text="ab", node_state=state, nodes=nodes)


@pytest.mark.parametrize("cosine", [float("nan"), float("inf")])
def test_a_cosine_that_cannot_be_compared_is_refused(cosine: float) -> None:
    with pytest.raises(InvalidSnapshot, match="cosine"):
        Node(start=0, end=1, cosine=cosine)


@pytest.mark.parametrize(("start", "end"), [(-1, 3), (3, 3), (4, 3)])
def test_an_empty_or_reversed_node_is_refused(start: int, end: int) -> None:
    with pytest.raises(InvalidSnapshot, match="spans"):
        Node(start=start, end=end)


@pytest.mark.parametrize("count", [-1, True, 1.0, "1"])
def test_a_count_of_dropped_rows_is_a_number_of_rows(count: int) -> None:
    with pytest.raises(InvalidSnapshot, match="rows_without_ref"):
        Pool(rows_without_ref=count)


@pytest.mark.parametrize(
    "wanted",
    [
        {"count": -1},
        {"top_k": 0},
        {"max_hops": -1},
        {"max_evidence": 0},
        {"budget": 0},
        {"count": True},
        {"count": 2.0},
        {"count": "2"},
    ],
)
def test_a_request_outside_its_ranges_is_refused_and_never_clamped(wanted: dict[str, int]) -> None:
    with pytest.raises(InvalidRequest, match=next(iter(wanted))):
        Request(query="q", **wanted)


def test_values_cannot_be_changed() -> None:
    row = record(1)
    with pytest.raises(FrozenInstanceError):
        row.timestamp = "later"  # type: ignore[misc]
