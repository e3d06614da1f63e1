"""From selected summaries down to what was said, under one budget."""

import json
from dataclasses import replace
from typing import Any

import pytest

from provenance.expand_query.core import (
    Context,
    InvalidBlocks,
    Payload,
    collect,
    context_pagination,
    fit_serialized,
    write_blocks,
)
from provenance.expand_query.core.blocks import ROOT, MessagesBlock, SummaryBlock
from tests.core.expand_builders import counted, leaf, lineage, parent, row

AMPLE = 10_000
PAYLOAD = Payload(ref="a.json")


def context(*selected: Any, read: Any = None, budget: int = AMPLE, **more: Any) -> Context:
    return collect(selected, read or lineage(), budget=budget, count=counted, **more)


def told(made: Context) -> list[tuple[Any, ...]]:
    """The blocks as (type, node, what they show)."""
    return [
        (
            block["type"],
            block.get("node_id"),
            block.get("summary")
            or [
                each.get("content", each.get("summary"))
                for each in block.get("messages", block.get("children", []))
            ],
        )
        for block in write_blocks(made.blocks)
        if block
    ]


def test_a_leaf_shows_its_summary_and_its_rows_in_stored_order() -> None:
    made = context(leaf(5, 3, None, 1), read=lineage(row(1, "one"), row(3, "three")))
    assert told(made) == [("summary", 5, "leaf"), ("messages", 5, ["three", "one"])]
    block = made.blocks[1]
    assert isinstance(block, MessagesBlock)
    assert [each and each.source_index for each in block.messages] == [0, 2]
    assert (block.path, block.parent_node_id) == (ROOT, None)
    assert context_pagination(made) == []


def test_the_way_down_is_depth_first_in_stored_order() -> None:
    read = lineage(
        parent(8, 6, 7, text="eight"),
        leaf(6, 1, text="six"),
        leaf(7, 2, text="seven"),
        row(1, "a"),
        row(2, "b"),
    )
    made = context(parent(9, 8, 7, text="nine"), read=read)
    assert told(made) == [
        ("summary", 9, "nine"),
        ("child_nodes", 9, ["eight", "seven"]),
        ("descendant_child_nodes", 8, ["six", "seven"]),
        ("child_messages", 6, ["a"]),
        ("child_messages", 7, ["b"]),
        ("child_messages", 7, ["b"]),
    ]
    paths = [block["source_path"] for block in write_blocks(made.blocks)[2:] if block]
    assert [[(hop["node_id"], hop["source_index"]) for hop in path] for path in paths] == [
        [(9, 0)],
        [(9, 0), (8, 0)],
        [(9, 0), (8, 1)],
        [(9, 1)],
    ]


def test_no_node_is_entered_below_itself() -> None:
    read = lineage(parent(1, 2), parent(2, 1, 3), leaf(3, 7), row(7, "at last"))
    made = context(parent(1, 2), read=read)
    assert [(kind, node) for kind, node, _ in told(made)] == [
        ("summary", 1),
        ("child_nodes", 1),
        ("descendant_child_nodes", 2),
        ("child_messages", 3),
    ]
    assert made.pending == ()


def test_a_chain_may_be_deeper_than_any_call_stack() -> None:
    chain = [parent(n, n + 1, text="") for n in range(1, 3000)]
    made = context(chain[0], read=lineage(*chain, leaf(3000, 1), row(1, "bottom")), budget=10**7)
    last = made.blocks[-1]
    assert isinstance(last, MessagesBlock)
    assert last.messages[0]
    assert (last.messages[0].page.content, last.path.depth, len(last.path.hops)) == ("bottom", 2999, 8)


def test_one_budget_goes_through_all_selected_nodes() -> None:
    read = lineage(row(1, "0123456789"), row(2, "second"))
    made = context(leaf(5, 1, text="five"), leaf(6, 2, text="sixes"), read=read, budget=12)
    assert told(made) == [
        ("summary", 5, "five"),
        ("messages", 5, ["01234567"]),
        ("summary", 6, []),
        ("messages", 6, []),
    ]
    assert context_pagination(made) == [
        {
            "type": "messages",
            "node_id": 5,
            "expand_args": {"node_id": 5, "source_offset": 0, "content_offset": 8},
        },
        {"type": "summary", "node_id": 6, "expand_args": {"node_id": 6}},
        {
            "type": "messages",
            "node_id": 6,
            "expand_args": {"node_id": 6, "source_offset": 0, "content_offset": 0},
        },
    ]


def test_a_placeholder_is_charged_when_its_block_is_complete() -> None:
    shown = row(
        1,
        "sonar",
        content_source="externalized_payload",
        transcript_content="[" + "r" * 30 + "]",
        externalized=PAYLOAD,
    )
    read = lineage(shown, row(2, "second"))
    made = context(leaf(5, 1, 2, text=""), leaf(6, 2, text="six"), read=read, budget=20)
    # 11 of 20 are charged while the first block is filled; its placeholder then leaves nothing.
    assert told(made)[:2] == [("summary", 5, []), ("messages", 5, ["sonar", "second"])]
    assert told(made)[2] == ("summary", 6, [])


def test_the_path_of_a_block_is_charged() -> None:
    read = lineage(leaf(6, 1, text="6"), leaf(7, 2, text="7"), row(1, "a"), row(2, "b"))
    path = json.dumps(
        {"source_path": [{"node_id": 9, "source_index": 0}], "source_path_depth": 1}, separators=(",", ":")
    )
    exact = len("9") + len("67") + len("a") + len(path)
    assert told(context(parent(9, 6, 7, text="9"), read=read, budget=exact))[-1] == (
        "child_messages",
        6,
        ["a"],
    )
    assert told(context(parent(9, 6, 7, text="9"), read=read, budget=exact + 1))[-1] == (
        "child_messages",
        7,
        ["b"],
    )


def test_children_stop_after_the_first_that_is_cut() -> None:
    read = lineage(leaf(6, 1, text="six"), leaf(7, 1, text="seven"), leaf(8, 1, text="8"), row(1, "a"))
    made = context(parent(9, 6, 7, 8, text="nine"), read=read, budget=9)
    assert told(made) == [("summary", 9, "nine"), ("child_nodes", 9, ["six", "se"])]
    assert context_pagination(made) == [
        {"type": "child_summary", "node_id": 7, "expand_args": {"node_id": 7}},
        {
            "type": "child_nodes",
            "node_id": 9,
            "expand_args": {"node_id": 9, "source_offset": 2, "content_offset": 0},
        },
        {"type": "pending_descendants", "node_ids": [6, 7, 8], "expand_args": {"node_id": 6}},
    ]


def test_what_fits_to_the_last_token_still_tells_of_what_was_not_visited() -> None:
    read = lineage(leaf(6, 1, text="six"), leaf(7, text="none"), row(1, "a"))
    made = context(parent(9, 7, 6, text="nine"), read=read, budget=len("ninenonesix"))
    assert told(made)[-1] == ("child_nodes", 9, ["none", "six"])
    # Node 7 summarizes nothing, so nothing of it was left out.
    assert made.pending == (6,)
    assert len(context_pagination(made)) == 1


def test_what_was_not_visited_is_told_deepest_first_and_once() -> None:
    root = parent(1, 2, 2, text="")
    read = lineage(
        root, parent(2, 3, 4, 3, 1, text=""), leaf(3, 7, text=""), leaf(4, 7, text=""), row(7, "x")
    )
    made = collect([root], read, budget=1, count=lambda text: 1 if text else 0)
    # The path of the first block below the root uses up the budget. Node 1 lies above, node 2 waits once more.
    assert [kind for kind, _, _ in told(made)] == ["summary", "child_nodes", "descendant_child_nodes"]
    assert made.pending == (3, 4, 2)


def test_visits_are_counted_and_what_they_did_not_reach_is_told() -> None:
    """Nodes without a text cost nothing, so only the count of visits ends the way down."""
    read = lineage(*(leaf(n, n, text="") for n in range(1, 100)), *(row(n, "") for n in range(1, 100)))
    made = collect([parent(100, *range(1, 100), text="")], read, budget=10, count=lambda text: 0)
    assert sum(kind == "child_messages" for kind, _, _ in told(made)) == 64
    assert made.pending == tuple(range(65, 73))


def test_a_source_that_was_not_read_is_no_missing_one() -> None:
    with pytest.raises(InvalidBlocks):
        context(leaf(5, 1))
    with pytest.raises(InvalidBlocks):
        context(parent(5, 6))


def test_a_listing_does_not_stop_at_a_gap() -> None:
    made = context(leaf(5, 1, None, None), read=lineage(row(1, "a")), budget=len("leafa"))
    assert context_pagination(made) == []
    made = context(leaf(5, 1, None, 2), read=lineage(row(1, "a"), row(2, "b")), budget=len("leafa"))
    assert context_pagination(made)[0]["expand_args"] == {
        "node_id": 5,
        "source_offset": 2,
        "content_offset": 0,
    }


def test_sources_beyond_those_that_were_read_are_told() -> None:
    made = context(replace(leaf(5, 1), total_sources=3), read=lineage(row(1, "a")))
    assert told(made)[1] == ("messages", 5, ["a"])
    assert context_pagination(made) == [
        {
            "type": "messages",
            "node_id": 5,
            "expand_args": {"node_id": 5, "source_offset": 1, "content_offset": 0},
        }
    ]


def test_a_payload_that_was_cut_goes_on_in_the_payload_and_then_in_the_node() -> None:
    shown = row(
        1, "sonar log", content_source="externalized_payload", transcript_content="[]", externalized=PAYLOAD
    )
    made = context(leaf(5, 1, 2, text=""), read=lineage(shown, row(2, "b")), budget=5)
    assert [entry["expand_args"] for entry in context_pagination(made)] == [
        {"externalized_ref": "a.json", "content_offset": 5},
        {"node_id": 5, "source_offset": 1, "content_offset": 0},
    ]


def test_hits_come_last_without_those_already_shown() -> None:
    read = lineage(row(1, "rope"))
    made = context(
        leaf(5, 1), read=read, hits=[row(1, "rope"), row(3, "no rope"), row(2, "rope")], query="rope"
    )
    assert told(made)[2:] == [("raw_messages", None, ["no rope", "rope"])]
    block = made.blocks[-1]
    assert isinstance(block, MessagesBlock)
    assert {each.content_source for each in block.messages if each} == {"raw_search_hit"}
    assert [each.match_window_offset for each in block.messages if each] == [3, 0]
    assert len(context(leaf(5, 1), read=read, hits=[row(1, "rope")]).blocks) == 2


def test_hits_stop_at_the_first_that_is_cut_and_leave_a_cursor() -> None:
    made = context(hits=[row(3, "no rope here"), row(2, "rope")], query="rope", budget=6)
    assert told(made) == [("raw_messages", None, ["rope h"])]
    assert context_pagination(made) == [
        {"type": "raw_messages", "expand_args": {"store_id": 3, "content_offset": 9}}
    ]
    unseen = context(leaf(5, text="summary"), hits=[row(3, "rope")], budget=3)
    assert told(unseen)[-1] == ("raw_messages", None, [])
    assert context_pagination(unseen)[-1]["expand_args"] == {"store_id": 3}


def test_nothing_selected_and_nothing_found_is_no_context() -> None:
    assert context() == Context(blocks=())
    assert context_pagination(context()) == []


def test_a_negative_budget_is_none() -> None:
    assert context(leaf(5, text="leaf"), budget=-4).blocks == (
        SummaryBlock(node_id=5, depth=0, summary="", summary_truncated=True, token_count=0),
    )


# The context as an answer


def test_as_an_answer_the_serialized_list_is_measured_and_whole_blocks_go() -> None:
    read = lineage(row(1, "漢" * 50))
    made = context(leaf(5, 1), read=read, hits=[row(2, "rope")], query="rope")
    whole = len(json.dumps(write_blocks(made.blocks)))
    assert fit_serialized(made, budget=whole, count=counted) == (made, whole)
    fitting, tokens = fit_serialized(made, budget=whole - 1, count=counted)
    assert fitting.blocks == made.blocks[:2]
    assert tokens == len(json.dumps(write_blocks(fitting.blocks)))
    assert context_pagination(fitting) == [{"type": "raw_messages", "expand_args": {"store_id": 2}}]
    nothing, tokens = fit_serialized(made, budget=0, count=counted)
    assert (nothing.blocks, tokens) == ((), 2)
    assert [entry["type"] for entry in context_pagination(nothing)] == ["summary", "messages", "raw_messages"]


def test_a_dropped_block_that_holds_a_cursor_alone_keeps_it() -> None:
    made = context(leaf(5, text="summary"), hits=[row(3, "rope")], budget=3)
    nothing, _ = fit_serialized(made, budget=0, count=counted)
    assert context_pagination(nothing)[-1]["expand_args"] == {"store_id": 3}
