"""Listing a node's sources until a budget is used up (contract, sections B.5 and D).

Rule 1: sources are taken in their stored order and keep their stored place; a gap stays a gap.
Rule 2: a listing that stops says where it goes on: at a source, and within it at a character.

Both the way down of a query and the expansion of a single node list like this, so that a cursor of the one
continues in the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from provenance.expand_query.core.blocks import Child, GraphPagination, Message, Page
from provenance.expand_query.core.pages import TokenCounter, cut, page
from provenance.expand_query.core.sources import Lineage, Node


@dataclass(slots=True)
class Budget:
    """Tokens that are left, and how they are counted. A text that had to be shown may overdraw it."""

    left: int
    count: TokenCounter

    def charge(self, text: str) -> None:
        self.left -= self.count(text)

    def take(self, text: Page, offset: int) -> Page:
        """What fits of a whole text from ``offset`` on, charged. A text that fits is itself, and counted once."""
        if not offset and (tokens := self.count(text.content)) <= self.left:
            self.left -= tokens
            return text
        part = page(text.content, offset=offset, budget=self.left, count=self.count)
        self.charge(part.content)
        return part

    @property
    def used_up(self) -> bool:
        return self.left <= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """Where a listing begins: a place in the node's sources, and a character of the first one's text.

    ``source_limit``: sources listed at most; None = as many as fit.
    """

    source_offset: int = 0
    content_offset: int = 0
    source_limit: int | None = None


START = Cursor()


@dataclass(slots=True)
class _Listing:
    """A listing while it is made. ``stopped_at``: (place, character) where it goes on."""

    node: Node
    start: Cursor
    skipped: int = 0
    listed: int = 0
    stopped_at: tuple[int, int] | None = None

    def places(self, budget: Budget) -> Iterator[tuple[int, int]]:
        """(place, number of its source) as long as there is budget, and as far as sources were read.

        A gap costs nothing, and at a gap nothing is left to show: no listing stops at one.
        """
        sources = self.node.sources
        for place in range(self.start.source_offset, self.node.total_sources):
            number = sources[place] if place < len(sources) else None
            if number is None and place < len(sources):
                self.skipped += 1
                continue
            if number is None or budget.used_up or self.listed == self.start.source_limit:
                self.stopped_at = (place, 0)
                return
            self.listed += 1
            yield place, number

    def pagination(self) -> GraphPagination:
        total = self.node.total_sources
        place, character = self.stopped_at or (total, 0)
        more = place < total
        return GraphPagination(
            source_offset=self.start.source_offset,
            content_offset=self.start.content_offset,
            source_limit=self.start.source_limit,
            returned_sources=self.listed,
            total_sources=total,
            next_source_offset=place if more else 0,
            next_content_offset=character,
            has_more=more,
            remaining_sources=total - place,
            skipped_sources=self.skipped,
        )


def list_messages(
    node: Node, lineage: Lineage, budget: Budget, start: Cursor = START
) -> tuple[tuple[Message, ...], GraphPagination]:
    """The node's rows, each cut to a page, until the budget is used up; stops in the first incomplete one.

    Only what is shown is charged. ``start.content_offset`` is an offset into the first source's text.
    """
    listing = _Listing(node, start)
    shown = []
    for place, number in listing.places(budget):
        row = lineage.message(number)
        offset = start.content_offset if place == start.source_offset else 0
        part = budget.take(row.page, offset)
        shown.append(row.shown(place, part))
        if part.has_more:
            listing.stopped_at = (place, part.end)
            break
    return tuple(shown), listing.pagination()


def list_children(
    node: Node, lineage: Lineage, budget: Budget, start: Cursor = START
) -> tuple[tuple[Child, ...], GraphPagination]:
    """The node's summaries, each cut to what is left; stops after the first cut one."""
    listing = _Listing(node, start)
    shown = []
    for place, number in listing.places(budget):
        child = _child(lineage.node(number), place, budget)
        budget.charge(child.summary)
        shown.append(child)
        if child.summary_truncated:
            listing.stopped_at = (place + 1, 0)
            break
    return tuple(shown), listing.pagination()


def _child(node: Node, place: int, budget: Budget) -> Child:
    summary = cut(node.summary, budget.left, budget.count)
    return Child(
        node_id=node.node_id,
        source_index=place,
        depth=node.depth,
        summary=summary,
        summary_truncated=len(summary) < len(node.summary),
        token_count=node.token_count,
        source_token_count=node.source_token_count,
        expand_hint=node.expand_hint,
    )
