"""Blocks as values and as JSON."""

import json
from typing import Any

import pytest

from provenance.expand_query.core import InvalidBlocks, read_blocks, write_blocks
from provenance.expand_query.core.blocks import (
    ROOT,
    Child,
    ChildrenBlock,
    GraphPagination,
    Hop,
    Message,
    MessagesBlock,
    Page,
    Payload,
    RawPagination,
    SourcePath,
    SummaryBlock,
)
from provenance.expand_query.core.sources import Node

HOP = Hop(3, 0)


def names(text: str) -> set[str]:
    return set(text.split())


@pytest.mark.parametrize(
    "make",
    [
        lambda: Hop(True, 0),
        lambda: Hop(1, None),  # type: ignore[arg-type]
        lambda: SourcePath(hops=(HOP,), depth=0),
        lambda: SourcePath(hops=(HOP,), depth=2),
        lambda: SourcePath(hops=(HOP,) * 9, depth=9),
        lambda: Page(content="abc", content_chars=2),
        lambda: Page(content="abc", content_offset=-1, content_chars=3),
        lambda: MessagesBlock(type="raw_messages", pagination=GraphPagination()),
        lambda: MessagesBlock(type="messages", pagination=RawPagination()),
        lambda: Node(node_id=1, source_type="nodes", sources=(1, 2), total_sources=1),
        lambda: Node(node_id=1, total_sources=1),
    ],
)
def test_a_value_that_breaks_its_own_rules_cannot_be_built(make: Any) -> None:
    with pytest.raises(InvalidBlocks):
        make()


def test_a_path_steps_and_keeps_its_last_eight_hops() -> None:
    path = ROOT
    for number in range(10):
        path = path.step(Hop(number, 0))
    assert [hop and hop.node_id for hop in path.hops] == [2, 3, 4, 5, 6, 7, 8, 9]
    assert (path.depth, path.truncated) == (10, True)
    assert ROOT.step(None) == SourcePath(hops=(None,), depth=1)


def test_a_page_knows_where_the_next_one_begins() -> None:
    part = Page(content="bc", content_offset=1, content_chars=4)
    assert (part.end, part.has_more, part.next_content_offset) == (3, True, 3)
    last = Page(content="d", content_offset=3, content_chars=4)
    assert (last.has_more, last.next_content_offset) == (False, 0)


def test_every_block_is_written_with_the_members_of_its_type() -> None:
    path = SourcePath(hops=(HOP,), depth=9, truncated=True)
    payload = Payload(ref="a.json", kind="tool_result", content_chars=9, content_bytes=9)
    page = Page(content="ab", content_chars=3)
    written = write_blocks(
        [
            SummaryBlock(node_id=1, summary="s"),
            ChildrenBlock(
                node_id=1, children=(Child(node_id=2, source_index=0),), pagination=GraphPagination()
            ),
            MessagesBlock(
                type="child_messages",
                parent_node_id=1,
                node_id=2,
                source_index=0,
                depth=0,
                path=path,
                messages=(
                    Message(
                        store_id=7,
                        source_index=0,
                        page=page,
                        content_source="externalized_payload",
                        transcript_content="[row]",
                        externalized=payload,
                    ),
                ),
            ),
            MessagesBlock(
                type="raw_messages",
                messages=(Message(store_id=8, page=page, content_source="raw_search_hit", search_rank=0.5),),
                pagination=RawPagination(),
            ),
            None,
        ]
    )
    first, second, third, fourth, last = written
    assert last is None
    assert first
    assert second
    assert third
    assert fourth
    assert first.keys() == names("type node_id depth summary summary_truncated expand_hint token_count")
    assert second.keys() == names("type node_id children pagination")
    assert second["children"][0].keys() == names(
        "node_id source_index depth summary summary_truncated token_count source_token_count expand_hint"
    )
    assert second["pagination"].keys() == names(
        "source_offset content_offset source_limit returned_sources total_sources "
        "next_source_offset next_content_offset has_more remaining_sources "
        "skipped_sources"
    )
    assert third.keys() == names(
        "type parent_node_id node_id depth source_index source_path source_path_depth "
        "source_path_truncated messages"
    )
    page_members = names(
        "content content_chars content_offset content_returned_chars content_truncated "
        "next_content_offset has_more"
    )
    assert third["messages"][0].keys() == page_members | names(
        "store_id source_index session_id source from_current_session role content_source "
        "transcript_content externalized"
    )
    assert fourth.keys() == names("type messages pagination")
    assert fourth["messages"][0].keys() == page_members | names(
        "store_id session_id source role timestamp content_source search_rank"
    )
    assert fourth["pagination"].keys() == names("has_more returned_sources total_sources next_store_id")


@pytest.mark.parametrize("junk", [None, 3, "summary", [], {}, {"type": None}, {"type": ["summary"]}])
def test_what_is_no_block_keeps_its_place(junk: Any) -> None:
    assert read_blocks([junk, {"type": "summary"}]) == (None, SummaryBlock())


@pytest.mark.parametrize("junk", [None, 3, "x", {}])
def test_lists_that_are_none_are_empty(junk: Any) -> None:
    (block,) = read_blocks([{"type": "messages", "messages": junk, "source_path": junk, "pagination": None}])
    assert block == MessagesBlock()


def test_a_page_that_contradicts_itself_is_as_long_as_what_it_shows() -> None:
    (block,) = read_blocks(
        [{"type": "messages", "messages": [{"content": "abc", "content_offset": 2, "content_chars": 1}]}]
    )
    assert isinstance(block, MessagesBlock)
    assert block.messages[0]
    assert block.messages[0].page == Page(content="abc", content_offset=2, content_chars=5)


def test_reading_does_not_touch_its_input() -> None:
    given = [{"type": "child_nodes", "children": [{"node_id": 1, "summary": None}], "source_path": [{}]}]
    before = json.dumps(given)
    read_blocks(given)
    assert json.dumps(given) == before
