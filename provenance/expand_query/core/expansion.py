"""What a locator opens (contract, section D): a bounded page of one message, one payload or one summary's sources.

Rule 1: this file does not know who asks. Whether a target may be opened is decided before it is read, each
time anew. Rule 2: a page begins where its locator says, so that on unchanged data it begins with the quote
the locator was emitted with. Rule 3: a message is shown as it stands in its row; its payload has a locator of
its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from provenance.expand_query.core.blocks import MESSAGE, InvalidBlocks, Message, Payload
from provenance.expand_query.core.fill import Budget, Cursor, list_children, list_messages
from provenance.expand_query.core.pages import TokenCounter, page
from provenance.expand_query.core.shapes import (
    write_child,
    write_message,
    write_page,
    write_pagination,
    write_payload,
)
from provenance.expand_query.core.sources import Lineage, Node

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What part of a target is asked for: tokens at most, and where it begins."""

    max_tokens: int
    content_offset: int = 0
    source_offset: int = 0
    source_limit: int | None = None

    @property
    def cursor(self) -> Cursor:
        return Cursor(
            source_offset=self.source_offset,
            content_offset=self.content_offset,
            source_limit=self.source_limit,
        )


def expand_message(row: Message, conversation_id: str, window: Window, count: TokenCounter) -> Json:
    """A page of one row's own text. ``row`` holds the whole of it and is not hydrated.

    What is known of its payload is told within the request's session; elsewhere its ref alone.
    """
    told: Json = {}
    if row.externalized:
        known = row.from_current_session
        told["externalized"] = write_payload(row.externalized) if known else _elsewhere(row.externalized)
    return {
        "store_id": row.store_id,
        "source_type": "raw_message",
        "session_id": row.session_id,
        "source": row.source,
        "conversation_id": conversation_id,
        "role": row.role,
        "timestamp": row.timestamp,
        "tool_call_id": row.tool_call_id,
        "from_current_session": row.from_current_session,
        **_page(_own_text(row), window, count),
        **told,
    }


def expand_payload(payload: Payload, text: str, window: Window, count: TokenCounter) -> Json:
    """A page of a payload's text, and what is known of it."""
    known = write_payload(payload)
    ref = known.pop("ref")
    return {
        "externalized_ref": ref,
        "source_type": "externalized_payload",
        **known,
        **_page(text, window, count),
    }


def expand_node(node: Node, lineage: Lineage, window: Window, count: TokenCounter) -> Json:
    """A summary's sources, as many as fit, and its own text, without which its quote could not be compared.

    The summary is cut to ``max_tokens`` like any text and is not charged: a small page still gets on.
    """
    summary = page(node.summary, budget=window.max_tokens, count=count)
    budget = Budget(window.max_tokens, count)
    expanded: list[Json] = []
    if node.source_type == "messages":
        rows, pagination = list_messages(node, lineage, budget, window.cursor)
        for row in rows:
            _own_text(row)
            expanded.append(write_message(row))
    else:
        children, pagination = list_children(node, lineage, budget, window.cursor)
        expanded += [write_child(child) for child in children]
    return {
        "node_id": node.node_id,
        "depth": node.depth,
        "summary": summary.content,
        "summary_truncated": summary.has_more,
        "source_type": node.source_type,
        "expanded": expanded,
        "pagination": write_pagination(pagination),
    }


def _page(text: str, window: Window, count: TokenCounter) -> Json:
    return write_page(page(text, offset=window.content_offset, budget=window.max_tokens, count=count))


def _own_text(row: Message) -> str:
    if row.content_source != MESSAGE:
        raise InvalidBlocks(f"row {row.store_id} was read with {row.content_source} for its text")
    return row.page.content


def _elsewhere(payload: Payload) -> Json:
    return {"ref": payload.ref, "note": "Of another session: open it there."}
