"""What was read of a session's graph: summaries, rows and hits, each with its whole text.

Rule 1: whatever enters is one of these frozen values, or one of blocks.py. Rule 2: missing and unread are two
things. A source that is missing, or lies in another session, is None at its place. A number that stands at a
place must have been read; what was not read has no place here, and the answer says that there is more.

A :class:`Row` has its whole text for its page, whether it is hydrated already decided: then the page is the
payload's text and ``transcript_content`` the row's. A :class:`~provenance.expand_query.core.blocks.Message` is made
of it once it is known what is shown; one whose page is a whole text is a row itself, as a hit is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar

from provenance.expand_query.core.blocks import InvalidBlocks, Message, Page

SourcesType = Literal["", "messages", "nodes"]
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A summary with its whole text, and what it summarizes.

    ``sources``: the public numbers of its sources, from place 0 on, of rows or of nodes as ``source_type``
    says; None = missing or foreign. Only the beginning of a long list need be read: ``total_sources`` is its
    whole length, gaps included, and what lies beyond is told as not shown. Tokens as they were counted when
    the summary was written.
    """

    node_id: int
    depth: int = 0
    summary: str = ""
    expand_hint: str = ""
    token_count: int = 0
    source_token_count: int = 0
    source_type: SourcesType = ""
    sources: tuple[int | None, ...] = ()
    total_sources: int = 0

    def __post_init__(self) -> None:
        if self.total_sources < len(self.sources) or (self.total_sources and not self.source_type):
            raise InvalidBlocks(f"node {self.node_id}: {len(self.sources)} of {self.total_sources} sources")


class Row(Protocol):
    """A row as it was read, its page the whole of its text. Nothing else of it matters until it is shown."""

    @property
    def page(self) -> Page: ...

    def shown(self, place: int, page: Page) -> Message:
        """The row as a source at this place, with this much of its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """The nodes and rows below the selected ones, by public number. More of either changes nothing.

    Both may be read while they are asked for: each number is asked for in the order in which the way down
    needs it, and none twice for the same block.
    """

    nodes: Mapping[int, Node] = field(default_factory=dict)
    messages: Mapping[int, Row] = field(default_factory=dict)

    def node(self, number: int) -> Node:
        return _read(self.nodes, number, "node")

    def message(self, number: int) -> Row:
        return _read(self.messages, number, "row")


def _read(read: Mapping[int, Value], number: int, what: str) -> Value:
    try:
        return read[number]
    except KeyError:
        raise InvalidBlocks(f"{what} {number} is a source and was not read") from None
