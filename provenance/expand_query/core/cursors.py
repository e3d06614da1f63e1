"""Where the context of an answer goes on (contract, section B.7).

Rule 1: whatever was cut or left out for the budget has an entry here, and an entry says how to go on: its
``expand_args`` are taken by the expansion as they are. Rule 2: context was truncated exactly when there is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from provenance.expand_query.core.blocks import (
    EXTERNALIZED_PAYLOAD,
    Block,
    ChildrenBlock,
    GraphPagination,
    Message,
    MessagesBlock,
    RawPagination,
    SummaryBlock,
)
from provenance.expand_query.core.collect import Context

Json = dict[str, Any]


def context_pagination(context: Context) -> list[Json]:
    """Entries for what was cut and for blocks with more to show, for dropped blocks, and for unvisited nodes."""
    entries = [entry for block in context.blocks for entry in _entries(block)]
    entries += [_from_the_start(block) for block in context.dropped]
    if context.pending:
        entries.append(
            {
                "type": "pending_descendants",
                "node_ids": list(context.pending),
                "expand_args": {"node_id": context.pending[0]},
            }
        )
    return entries


def _entries(block: Block) -> Iterator[Json]:
    match block:
        case SummaryBlock():
            if block.summary_truncated:
                yield _of_node("summary", block.node_id)
        case ChildrenBlock():
            kind = "child_summary" if block.type == "child_nodes" else "descendant_child_summary"
            for child in block.children:
                if child is not None and child.summary_truncated:
                    yield _of_node(kind, child.node_id)
            yield from _further(block)
        case MessagesBlock():
            yield from _further(block)


def _from_the_start(block: Block) -> Json:
    if isinstance(block, MessagesBlock) and isinstance(block.pagination, RawPagination):
        shown = [message.store_id for message in block.messages if message is not None]
        first = (shown or [block.pagination.next_store_id])[0]
        return {"type": block.type, "expand_args": {"store_id": first}}
    return _of_node("summary" if isinstance(block, SummaryBlock) else block.type, block.node_id)


def _of_node(kind: str, node_id: int | None) -> Json:
    return {"type": kind, "node_id": node_id, "expand_args": {"node_id": node_id}}


def _further(block: ChildrenBlock | MessagesBlock) -> Iterator[Json]:
    """Where a listing goes on. One that stopped within a payload goes on there, and then at its next source."""
    match block.pagination:
        case RawPagination(has_more=True) as raw if isinstance(block, MessagesBlock):
            message = _cut(block)
            within = {"content_offset": message.page.end} if message else {}
            yield {"type": block.type, "expand_args": {"store_id": raw.next_store_id, **within}}
        case GraphPagination(has_more=True) as graph:
            place, character = graph.next_source_offset, graph.next_content_offset
            message = _cut(block)
            if message and message.content_source == EXTERNALIZED_PAYLOAD and message.externalized_ref:
                args = {"externalized_ref": message.externalized_ref, "content_offset": character}
                yield {"type": block.type, "node_id": block.node_id, "expand_args": args}
                place, character = place + 1, 0
            if place < graph.total_sources:
                args = {"node_id": block.node_id, "source_offset": place, "content_offset": character}
                yield {"type": block.type, "node_id": block.node_id, "expand_args": args}


def _cut(block: ChildrenBlock | MessagesBlock) -> Message | None:
    """The last message of a block, if it is not shown to its end."""
    last = block.messages[-1] if isinstance(block, MessagesBlock) and block.messages else None
    return last if last and last.page.has_more else None
