"""Blocks as JSON, both ways (contract, section B.6).

Rule 1: writing loses nothing: ``read_blocks(write_blocks(blocks)) == blocks``. So whoever holds the blocks of
an answer can cut its provenance out of them again.
Rule 2: reading refuses nothing. What is missing or of another type is taken as section C says: a text that
is none becomes one, an id that is none becomes None, what is no block keeps its place as None.

Theory of operation. A table per value names its plain members and how each is read; the same table writes
them, in its order. A member that is missing has the value's default, and one that has its default may be
left out: which are always written is said beside the tables. Pages and paths are spread over their owner's
members and are written out by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any, Final, TypeVar, get_args

from provenance.expand_query.core.blocks import (
    MESSAGE,
    PATH_HOPS,
    ROOT,
    Block,
    Child,
    ChildrenBlock,
    ChildrenType,
    GraphPagination,
    Hop,
    Message,
    MessagesBlock,
    MessagesType,
    Page,
    Payload,
    RawPagination,
    SourcePath,
    SummaryBlock,
)

Json = dict[str, Any]
Table = Mapping[str, Callable[[Any], Any]]
Value = TypeVar("Value")


def write_blocks(blocks: Iterable[Block | None]) -> list[Json | None]:
    """The blocks as a synthesizer and a caller see them. Nothing in it is shared with the values."""
    return [None if block is None else _WRITERS[type(block)](block) for block in blocks]


def read_blocks(written: Iterable[object]) -> tuple[Block | None, ...]:
    """The values of blocks that were written as JSON, here or elsewhere. The input is not modified."""
    return tuple(_read_block(block) for block in written)


def _integer(value: object) -> int | None:
    # JSON's true is an int to Python; it is no id, offset or size (contract, section C.4).
    return value if type(value) is int else None


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _count(value: object) -> int:
    return _integer(value) or 0


def _flag(value: object) -> bool:
    return value is True


def _text(value: object) -> str:
    """Whatever is empty, missing or false is '', everything else is text (contract, sections C.7 and K)."""
    return value if isinstance(value, str) else str(value or "")


def _optional_text(value: object) -> str | None:
    return None if value is None else _text(value)


def _content_source(value: object) -> str:
    return _text(value) or MESSAGE


_SUMMARY: Table = {
    "node_id": _integer,
    "session_id": _text,
    "depth": _integer,
    "summary": _text,
    "summary_truncated": _flag,
    "expand_hint": _text,
    "token_count": _integer,
}
_CHILD: Table = {
    "node_id": _integer,
    "source_index": _integer,
    "session_id": _text,
    "depth": _integer,
    "summary": _text,
    "summary_truncated": _flag,
    "token_count": _integer,
    "source_token_count": _integer,
    "expand_hint": _text,
}
_PLACE: Table = {
    "parent_node_id": _integer,
    "node_id": _integer,
    "depth": _integer,
    "source_index": _integer,
}
_MESSAGE: Table = {
    "store_id": _integer,
    "source_index": _integer,
    "session_id": _text,
    "source": _text,
    "from_current_session": _flag,
    "role": _text,
    "timestamp": _text,
    "content_source": _content_source,
    "transcript_content": _optional_text,
    "search_rank": _number,
    "match_window_offset": _integer,
    "tool_call_id": _text,
    "tool_name": _text,
    "tool_calls_omitted": _flag,
}
_PAYLOAD: Table = {
    "ref": _text,
    "kind": _text,
    "tool_call_id": _text,
    "role": _text,
    "session_id": _text,
    "field_path": _text,
    "content_chars": _integer,
    "content_bytes": _integer,
    "created_at": _text,
}
_GRAPH_PAGINATION: Table = {
    "source_offset": _count,
    "content_offset": _count,
    "source_limit": _integer,
    "returned_sources": _count,
    "total_sources": _count,
    "next_source_offset": _count,
    "next_content_offset": _count,
    "has_more": _flag,
    "remaining_sources": _count,
    "skipped_sources": _count,
}
_RAW_PAGINATION: Table = {
    "has_more": _flag,
    "returned_sources": _count,
    "total_sources": _count,
    "next_store_id": _integer,
}

_DATACLASSES: Final[tuple[Any, ...]] = (
    SummaryBlock,
    ChildrenBlock,
    MessagesBlock,
    Child,
    Payload,
    GraphPagination,
    RawPagination,
)
# What the members of a value are where they are not given.
_DEFAULTS: Final[Mapping[type, Mapping[str, Any]]] = {
    Message: Message._field_defaults,
    **{
        kind: {field.name: field.default for field in fields(kind) if field.default is not MISSING}
        for kind in _DATACLASSES
    },
}

# Always written, whatever they hold. A session is written where it is not the request's.
_OF_SUMMARY: Final = _SUMMARY.keys() - {"session_id"}
_OF_CHILD: Final = _CHILD.keys() - {"session_id"}
_OF_ROOT: Final = frozenset({"node_id"})
_OF_DESCENDED: Final = _PLACE.keys()
_OF_MESSAGE: Final = frozenset(
    {"store_id", "source_index", "session_id", "source", "from_current_session", "role", "content_source"}
)
_OF_HIT: Final = frozenset(
    {"store_id", "session_id", "source", "role", "timestamp", "content_source", "search_rank"}
)

_RAW: Final[MessagesType] = "raw_messages"
_PLACE_WRITTEN: Final[Mapping[str, Collection[str]]] = {
    "child_nodes": _OF_ROOT,
    "messages": _OF_ROOT,
    "descendant_child_nodes": _OF_DESCENDED,
    "child_messages": _OF_DESCENDED,
    # No node owns what a search found.
    _RAW: frozenset(),
}


def _read(kind: type[Value], written: Mapping[str, Any], table: Table, **more: Any) -> Value:
    return kind(**{name: read(written[name]) for name, read in table.items() if name in written}, **more)


def _write(value: Any, table: Table, always: Collection[str]) -> Json:
    defaults = _DEFAULTS[type(value)]
    return {
        name: getattr(value, name)
        for name in table
        if name in always or getattr(value, name) != defaults[name]
    }


def _read_block(written: object) -> Block | None:
    if not isinstance(written, Mapping):
        return None
    kind = written.get("type")
    if kind == "summary":
        return _read(SummaryBlock, written, _SUMMARY, path=_read_path(written))
    if kind in get_args(ChildrenType):
        children = tuple(_read_child(child) for child in _listed(written.get("children")))
        return _read_listing(ChildrenBlock, written, children=children)
    if kind in get_args(MessagesType):
        messages = tuple(_read_message(message) for message in _listed(written.get("messages")))
        return _read_listing(MessagesBlock, written, messages=messages)
    return None


def _read_listing(kind: type[Value], written: Mapping[str, Any], **entries: Any) -> Value:
    return _read(
        kind,
        written,
        _PLACE,
        type=written["type"],
        path=_read_path(written),
        pagination=_read_pagination(written),
        **entries,
    )


def _read_child(written: object) -> Child | None:
    return _read(Child, written, _CHILD) if isinstance(written, Mapping) else None


def _read_message(written: object) -> Message | None:
    if not isinstance(written, Mapping):
        return None
    payload = written.get("externalized")
    externalized = _read(Payload, payload, _PAYLOAD) if isinstance(payload, Mapping) else None
    return _read(Message, written, _MESSAGE, page=_read_page(written), externalized=externalized)


def _read_page(written: Mapping[str, Any]) -> Page:
    content = _text(written.get("content"))
    offset = max(0, _count(written.get("content_offset")))
    whole = max(_count(written.get("content_chars")), offset + len(content))
    return Page(content=content, content_offset=offset, content_chars=whole)


def _read_path(written: Mapping[str, Any]) -> SourcePath:
    """A depth that is missing, or smaller than the list, is the list's length (contract, section C.5)."""
    hops = _listed(written.get("source_path"))
    depth = max(_count(written.get("source_path_depth")), len(hops))
    kept = tuple(_read_hop(hop) for hop in hops[-PATH_HOPS:])
    truncated = _flag(written.get("source_path_truncated")) or depth > len(kept)
    return SourcePath(hops=kept, depth=depth, truncated=truncated)


def _read_hop(written: object) -> Hop | None:
    if not isinstance(written, Mapping):
        return None
    node_id, source_index = _integer(written.get("node_id")), _integer(written.get("source_index"))
    return None if node_id is None or source_index is None else Hop(node_id, source_index)


def _read_pagination(written: Mapping[str, Any]) -> GraphPagination | RawPagination | None:
    pagination = written.get("pagination")
    if not isinstance(pagination, Mapping):
        return None
    if written["type"] == _RAW:
        return _read(RawPagination, pagination, _RAW_PAGINATION)
    return _read(GraphPagination, pagination, _GRAPH_PAGINATION)


def _listed(value: object) -> list[Any] | tuple[Any, ...]:
    return value if isinstance(value, list | tuple) else []


def write_child(child: Child) -> Json:
    return _write(child, _CHILD, _OF_CHILD)


def write_message(message: Message, *, found: bool = False) -> Json:
    """A message as a block of a node shows it, or, when ``found``, as one of a search's hits."""
    written = _write(message, _MESSAGE, _OF_HIT if found else _OF_MESSAGE) | write_page(message.page)
    if message.externalized is not None:
        written["externalized"] = write_payload(message.externalized)
    return written


def write_payload(payload: Payload) -> Json:
    return _write(payload, _PAYLOAD, _PAYLOAD)


def write_page(page: Page) -> Json:
    return {
        "content": page.content,
        "content_chars": page.content_chars,
        "content_offset": page.content_offset,
        "content_returned_chars": len(page.content),
        "content_truncated": page.has_more,
        "next_content_offset": page.next_content_offset,
        "has_more": page.has_more,
    }


def write_pagination(pagination: GraphPagination | RawPagination) -> Json:
    table = _RAW_PAGINATION if isinstance(pagination, RawPagination) else _GRAPH_PAGINATION
    return _write(pagination, table, table)


def write_path(path: SourcePath, *, always: bool = False) -> Json:
    """The members that tell a block's path; none for a root unless ``always``."""
    if path == ROOT and not always:
        return {}
    hops = [
        None if hop is None else {"node_id": hop.node_id, "source_index": hop.source_index}
        for hop in path.hops
    ]
    truncated = {"source_path_truncated": True} if path.truncated else {}
    return {"source_path": hops, "source_path_depth": path.depth, **truncated}


def _write_summary(block: SummaryBlock) -> Json:
    return {"type": "summary", **_write(block, _SUMMARY, _OF_SUMMARY), **write_path(block.path)}


def _write_children(block: ChildrenBlock) -> Json:
    children = [None if child is None else write_child(child) for child in block.children]
    return _write_listing(block, children=children)


def _write_messages(block: MessagesBlock) -> Json:
    found = block.type == _RAW
    messages = [
        None if message is None else write_message(message, found=found) for message in block.messages
    ]
    return _write_listing(block, messages=messages)


def _write_listing(block: ChildrenBlock | MessagesBlock, **entries: list[Json | None]) -> Json:
    always = _PLACE_WRITTEN[block.type]
    path = write_path(block.path, always=always is _OF_DESCENDED)
    written = {"type": block.type, **_write(block, _PLACE, always), **path, **entries}
    if block.pagination is not None:
        written["pagination"] = write_pagination(block.pagination)
    return written


_WRITERS: Final[Mapping[type, Callable[[Any], Json]]] = {
    SummaryBlock: _write_summary,
    ChildrenBlock: _write_children,
    MessagesBlock: _write_messages,
}
