"""How an answer of this contract is written down: refs, digests, spans and numbers, never a text."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from memoryconsole.models.traces import row_key
from memoryconsole.traces import kept_digest
from provenance.expand_query.core import Context
from provenance.expand_query.core.blocks import (
    Block,
    ChildrenBlock,
    GraphPagination,
    Message,
    MessagesBlock,
    SummaryBlock,
)
from provenance.expand_query.lineage import Reading

Json = dict[str, Any]


def seen(reading: Reading, context: Context) -> Json:
    """What an answer was made of: the selected summaries, the search's hits, and every text that was read for it.

    `next`: the sources at which a listing stopped before it read them. Cursors point at them because they are there.
    """
    return {
        "session_id": reading.session_id,
        "selected": list(reading.selected),
        "hits": [hit.number for hit in reading.hits],
        "digests": {ref: kept_digest(digest) for ref, digest in reading.digests.items()},
        "next": list(dict.fromkeys(_next_refs(reading, context))),
    }


def _next_refs(reading: Reading, context: Context) -> Iterator[str]:
    for block in (*context.blocks, *context.dropped):
        if isinstance(block, SummaryBlock) or block.node_id is None:
            continue
        pages = block.pagination
        if isinstance(pages, GraphPagination) and pages.has_more:
            kind = "ep" if isinstance(block, ChildrenBlock) else "mem"
            yield from source_at(kind, reading.texts.sources.get(block.node_id, ()), pages.next_source_offset)


def source_at(kind: str, listed: Sequence[int | None], place: int) -> list[str]:
    """The ref of the source at a place; none at a gap, and beyond what was listed."""
    number = listed[place] if place < len(listed) else None
    return [] if number is None else [f"{kind}:{number}"]


def of_query(reading: Reading, context: Context, synthesis: Json) -> Json:
    """What was decided: the blocks in order, and what the way down did not get to."""
    return {
        "selected": list(reading.selected),
        "blocks": [_block(block) for block in context.blocks],
        "dropped": [_block(block) for block in context.dropped],
        "pending": list(context.pending),
        "synthesis": synthesis,
    }


def answered(text: str) -> Json:
    """The digest of what a synthesizer said; nothing where it said nothing."""
    return {"answer_sha256": hashlib.sha256(text.encode()).hexdigest()} if text else {}


def _block(block: Block) -> Json:
    """`shown`: [ref, first code point, code points shown, whether more follows] of each entry, and the ref of the
    payload where its text was shown in the row's stead.
    """
    if isinstance(block, SummaryBlock):
        shown = [[f"ep:{block.node_id}", 0, len(block.summary), block.summary_truncated]]
        return {"type": "summary", "node": block.node_id, "depth": 0, "shown": shown, "more": False}
    entries: list[list[Any]] = []
    if isinstance(block, ChildrenBlock):
        entries = [
            [f"ep:{child.node_id}", 0, len(child.summary), child.summary_truncated]
            for child in block.children
            if child is not None
        ]
    else:
        entries = [_message(message) for message in block.messages if message is not None]
    more = block.pagination is not None and block.pagination.has_more
    return {
        "type": block.type,
        "node": block.node_id,
        "depth": block.path.depth,
        "shown": entries,
        "more": more,
    }


def _message(message: Message) -> list[Any]:
    page = message.page
    shown = [f"mem:{message.store_id}", page.content_offset, len(page.content), page.has_more]
    # A ref is a caller's name, and no text of the store.
    return [*shown, message.externalized_ref] if message.transcript_content is not None else shown


def quoted(blocks: Iterable[Block]) -> list[int]:
    """The rows in an answer, as a trace's index holds them."""
    return list(
        dict.fromkeys(row_key(kind, number) for kind, number in _quoted(blocks) if number is not None)
    )


def _quoted(blocks: Iterable[Block]) -> Iterator[tuple[str, int | None]]:
    for block in blocks:
        match block:
            case SummaryBlock():
                yield "ep", block.node_id
            case ChildrenBlock():
                yield from (("ep", child.node_id) for child in block.children if child is not None)
            case MessagesBlock():
                yield from (("mem", message.store_id) for message in block.messages if message is not None)


def of_page(body: Json) -> Json:
    """What an expansion showed, without its texts. `spans`: [first code point, code points shown] of each of `shown`,
    behind those of the summary itself.
    """
    kept = (
        "node_id",
        "store_id",
        "externalized_ref",
        "source_type",
        "content_offset",
        "content_returned_chars",
    )
    own = [body] if "node_id" in body else []
    told = {name: body[name] for name in (*kept, "has_more", "pagination") if name in body}
    return told | {
        "shown": [
            f"mem:{each['store_id']}" if "store_id" in each else f"ep:{each['node_id']}"
            for each in body.get("expanded", ())
        ],
        "spans": [_span(each) for each in (*own, *body.get("expanded", ()))],
    }


def _span(entry: Json) -> list[int]:
    """A summary is shown from its start, and a row from its offset on."""
    if "content" in entry:
        return [entry["content_offset"], entry["content_returned_chars"]]
    return [0, len(entry["summary"])]
