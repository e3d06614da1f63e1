"""Short ways to say blocks, and to ask for their provenance."""

from typing import Any

from provenance.expand_query.core import Lineage, Message, Node, Page, Scope, build_provenance, read_blocks

Json = dict[str, Any]


def provenance(*blocks: Any, session: str = "s-quay", truncated: bool = False, **more: Any) -> Json:
    """The provenance of blocks written as JSON."""
    status = more.pop("status", "completed")
    scope = more.pop("scope", None) or Scope.of_session(session)
    assert not more
    return build_provenance(
        read_blocks(blocks), scope=scope, synthesis_status=status, context_truncated=truncated
    )


def summary(node_id: Any, text: str = "x", **more: Any) -> Json:
    return {"type": "summary", "node_id": node_id, "summary": text, **more}


def children(node_id: Any, *listed: Any, **more: Any) -> Json:
    return {"type": "child_nodes", "node_id": node_id, "children": list(listed), **more}


def child(node_id: Any, place: Any, text: str = "x") -> Json:
    return {"node_id": node_id, "source_index": place, "summary": text}


def messages(node_id: Any, *listed: Any, **more: Any) -> Json:
    return {"type": "messages", "node_id": node_id, "messages": list(listed), **more}


def hits(*listed: Any) -> Json:
    return {"type": "raw_messages", "messages": list(listed)}


def message(store_id: Any, text: Any = "x", **more: Any) -> Json:
    return {"store_id": store_id, "content": text, **more}


def hydrated(store_id: Any, text: str, ref: Any, **more: Any) -> Json:
    return message(store_id, text, content_source="externalized_payload", externalized={"ref": ref}, **more)


def row(store_id: int, text: str, **more: Any) -> Message:
    """A row as it was read: with its whole text."""
    return Message(store_id=store_id, page=Page(content=text, content_chars=len(text)), **more)


def leaf(node_id: int, *sources: int | None, text: str = "leaf") -> Node:
    return Node(
        node_id=node_id,
        summary=text,
        source_type="messages",
        sources=sources,
        total_sources=len(sources),
    )


def parent(node_id: int, *sources: int | None, text: str = "parent") -> Node:
    return Node(
        node_id=node_id,
        depth=1,
        summary=text,
        source_type="nodes",
        sources=sources,
        total_sources=len(sources),
    )


def lineage(*read: Node | Message) -> Lineage:
    return Lineage(
        nodes={each.node_id: each for each in read if isinstance(each, Node)},
        messages={each.store_id or 0: each for each in read if isinstance(each, Message)},
    )


def counted(text: str) -> int:
    """One token for each code point."""
    return len(text)
