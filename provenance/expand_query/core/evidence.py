"""What an answer was given: its context blocks, told as identities (contract, sections C.3 to C.5).

Rule 1: this file sees blocks and nothing else. No model's word, no clock and no table reaches it.
Rule 2: first seen wins. A later occurrence of an identity is counted and may add a path; it never changes
a text, an id or a place.
Rule 3: identities are compared whole, before anything is shortened.

Theory of operation. Blocks are walked in order, their entries in order. Every text that stood in the context
is one occurrence; a hydrated message has two, its payload's and its row's, when they differ. An occurrence
has a key: what it shows, by id, or, without one, where it stood. Occurrences of one key are one identity, and
an identity becomes one item. A text is no part of the key: the same row seen through two windows is two
identities, one row summarized twice is one identity with two paths.

A locator is what the expansion takes to show the text again. It is given where there is one that leads to
*this* text and is emitted whole, never one that leads elsewhere, and it is never checked: that it is there
says nothing about whether it resolves, and nothing about who may use it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from provenance.expand_query.core.blocks import (
    EXTERNALIZED_PAYLOAD,
    TRANSCRIPT_CONTENT,
    Block,
    Child,
    ChildrenBlock,
    Hop,
    Message,
    MessagesBlock,
    SourcePath,
    SummaryBlock,
)
from provenance.expand_query.core.bounds import PATHS_MAX, QUOTE_MAX_CHARS, bound, emitted_whole

Json = dict[str, Any]
SourceType = Literal["summary", "raw_message", "externalized_payload"]
Locator = Mapping[str, int | str]
Seen = tuple[str, "Callable[[], Occurrence]"]
"""The key of an occurrence, and the rest of it: an answer has a thousand and tells of a few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """One text as it stood in the context once.

    ``key`` is its identity. ``places`` are its ids and positions and ``metadata`` its texts, both in the order
    an item shows them. ``locator`` is None when nothing leads to this text.
    """

    key: str
    source_type: SourceType
    places: Mapping[str, int | None]
    text: str
    metadata: Mapping[str, str]
    locator: Locator | None
    path: SourcePath


@dataclass(slots=True)
class Identity:
    """An occurrence as it was first seen, how often it was seen, and the ways that led to it."""

    first: Occurrence
    occurrences: int = 0
    paths: list[Json] = field(default_factory=list)
    paths_truncated: bool = False

    def count(self, path: SourcePath) -> None:
        """One more occurrence, reached by this path."""
        self.occurrences += 1
        record = path_record(path)
        if record is None or record in self.paths:
            return
        if len(self.paths) < PATHS_MAX:
            self.paths.append(record)
        else:
            self.paths_truncated = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Identities:
    """The first identities, in first-seen order, each with all its occurrences; and how many there are of both."""

    listed: list[Identity]
    unique: int
    occurrences: int


def identities(blocks: Iterable[Block | None], session_id: str, *, most: int) -> Identities:
    """The first ``most`` identities of the blocks, at least 1. ``session_id`` is the request's."""
    found: dict[str, Identity | None] = {}
    occurrences = 0
    for key, rest in _seen(blocks, session_id):
        occurrences += 1
        if key not in found and len(found) >= most:
            found[key] = None
        elif key not in found:
            found[key] = identity = Identity(rest())
            identity.count(identity.first.path)
        elif (known := found[key]) is not None:
            known.count(rest().path)
    listed = [identity for identity in found.values() if identity is not None]
    return Identities(listed=listed, unique=len(found), occurrences=occurrences)


def occurrences(blocks: Iterable[Block | None], session_id: str) -> Iterator[Occurrence]:
    """Every text of the blocks, in context order."""
    return (rest() for _, rest in _seen(blocks, session_id))


def _seen(blocks: Iterable[Block | None], session_id: str) -> Iterator[Seen]:
    for number, block in enumerate(blocks):
        place = f"context:{number}"
        match block:
            case SummaryBlock():
                key = _summary_key(block, f"{place}:summary")
                places = {"node_id": block.node_id}
                yield key, partial(_summary, key, block, session_id, places, block.path)
            case ChildrenBlock():
                yield from _children(block, place, session_id)
            case MessagesBlock():
                yield from _messages(block, place)


def path_record(path: SourcePath) -> Json | None:
    """A path as an item tells it; None when no hop of it can be told (contract, section C.5)."""
    hops = [
        {"node_id": hop.node_id, "source_index": hop.source_index} for hop in path.hops if hop is not None
    ]
    if not hops:
        return None
    return {"path": hops, "depth": path.depth, "truncated": path.truncated or path.depth > len(hops)}


def item(identity: Identity) -> Json:
    """An identity as the contract shows it (section C.3). Absent members are missing, never null."""
    first = identity.first
    shown, shortened = bound({**first.metadata, "evidence_id": first.key})
    evidence_id = shown.pop("evidence_id")
    return {
        "source_type": first.source_type,
        **first.places,
        **_quote(first.text),
        **shown,
        **_locator(first.locator),
        "evidence_id": evidence_id,
        "context_occurrence_count": identity.occurrences,
        **({"source_paths": identity.paths} if identity.paths else {}),
        **({"source_paths_truncated": True} if identity.paths_truncated else {}),
        **({"metadata_truncation": shortened} if shortened else {}),
    }


def _quote(text: str) -> Json:
    quote = text[:QUOTE_MAX_CHARS]
    return {
        "quote": quote,
        "quote_chars_before_provenance_cap": len(text),
        "quote_truncated_by_provenance_cap": len(quote) < len(text),
    }


def _locator(locator: Locator | None) -> Json:
    if locator is None:
        return {"locator_present": False, "locator_replay_status": "not_available"}
    return {"expand_args": dict(locator), "locator_present": True, "locator_replay_status": "unverified"}


def _summary_key(shown: SummaryBlock | Child, place: str) -> str:
    return place if shown.node_id is None else f"node:{shown.node_id}"


def _summary(
    key: str,
    shown: SummaryBlock | Child,
    session_id: str,
    places: Mapping[str, int | None],
    path: SourcePath,
) -> Occurrence:
    return Occurrence(
        key=key,
        source_type="summary",
        places=places,
        text=shown.summary,
        metadata={"session_id": shown.session_id or session_id},
        locator=None if shown.node_id is None else {"node_id": shown.node_id},
        path=path,
    )


def _children(block: ChildrenBlock, place: str, session_id: str) -> Iterator[Seen]:
    for number, child in enumerate(block.children):
        if child is not None:
            key = _summary_key(child, f"{place}:child:{number}")
            yield key, partial(_child, key, child, block, session_id)


def _child(key: str, child: Child, block: ChildrenBlock, session_id: str) -> Occurrence:
    places = {
        "node_id": child.node_id,
        "parent_node_id": block.node_id,
        "source_index": child.source_index,
    }
    return _summary(key, child, session_id, places, _step(block, child.source_index))


def _messages(block: MessagesBlock, place: str) -> Iterator[Seen]:
    for number, message in enumerate(block.messages):
        if message is None:
            continue
        key = _content_key(message, f"{place}:message:{number}")
        yield key, partial(_content, key, message, block)
        if message.transcript_content not in (None, message.page.content):
            known = message.store_id is not None
            where = f"{place}:message:{number}:{TRANSCRIPT_CONTENT}"
            key = f"store:{message.store_id}:0:{TRANSCRIPT_CONTENT}" if known else where
            yield key, partial(_transcript, key, message, block)


def _step(block: ChildrenBlock | MessagesBlock, source_index: int | None) -> SourcePath:
    """The path of a block's entry. What a search found was reached by no hop."""
    if block.type == "raw_messages":
        return block.path
    if block.node_id is None or source_index is None:
        return block.path.step(None)
    return block.path.step(Hop(block.node_id, source_index))


def _content_key(message: Message, place: str) -> str:
    offset, shows = message.page.content_offset, message.content_source
    if shows == EXTERNALIZED_PAYLOAD and (ref := message.externalized_ref):
        return f"externalized:{ref}:{offset}"
    return place if message.store_id is None else f"store:{message.store_id}:{offset}:{shows}"


def _content(key: str, message: Message, block: MessagesBlock) -> Occurrence:
    """What is shown of a message: its payload when hydrated, else its row's own text."""
    offset, ref, shows = message.page.content_offset, message.externalized_ref, message.content_source
    hydrated = shows == EXTERNALIZED_PAYLOAD
    by_row: Locator | None = (
        None if message.store_id is None else {"store_id": message.store_id, "content_offset": offset}
    )
    by_ref: Locator = {"externalized_ref": ref, "content_offset": offset}
    return Occurrence(
        key=key,
        source_type="externalized_payload" if hydrated else "raw_message",
        places=_message_places(message, block, offset),
        text=message.page.content,
        metadata={**_whose(message), "content_source": shows, "externalized_ref": ref},
        # The row of a hydrated message holds its placeholder: its id would open another text.
        locator=(by_ref if ref and emitted_whole(ref) else None) if hydrated else by_row,
        path=_step(block, message.source_index),
    )


def _transcript(key: str, message: Message, block: MessagesBlock) -> Occurrence:
    """What stands in the row of a hydrated message."""
    return Occurrence(
        key=key,
        source_type="raw_message",
        places=_message_places(message, block, 0),
        text=message.transcript_content or "",
        metadata={**_whose(message), "content_source": TRANSCRIPT_CONTENT},
        locator=None if message.store_id is None else {"store_id": message.store_id, "content_offset": 0},
        path=_step(block, message.source_index),
    )


def _message_places(message: Message, block: MessagesBlock, offset: int) -> dict[str, int | None]:
    return {
        "store_id": message.store_id,
        "node_id": block.node_id,
        "parent_node_id": block.parent_node_id,
        "source_index": message.source_index,
        "content_offset": offset,
    }


def _whose(message: Message) -> dict[str, str]:
    return {"session_id": message.session_id, "source": message.source, "role": message.role}
