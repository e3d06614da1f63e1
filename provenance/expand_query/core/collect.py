"""From selected summaries down to what was said, under one budget (contract, section B.5).

Rule 1: the order is the stored one: selected nodes as given, sources by place, depth first. No score is seen.
Rule 2: the way down ends. No node is entered below itself, and visits are counted: at most 64, or four for
each token of the budget. Rule 3: what was not reached is told, so that an answer can say it is not all.

Theory of operation. Each selected node shows its summary; then its rows, or its children and what lies below
them. Below a root every node is a block of its own, which also says by which path it was reached, and the
path is charged like a text. While a block is listed only what it shows is charged; the placeholders of its
hydrated rows follow when it is complete, so a block may overdraw, and the next one starts with less.
Hits of the search come last, without those that the way down has shown already.

The stack is explicit: a graph may be deeper than any call stack.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

from provenance.expand_query.core.blocks import (
    RAW_SEARCH_HIT,
    ROOT,
    Block,
    ChildrenBlock,
    ChildrenType,
    Hop,
    Message,
    MessagesBlock,
    MessagesType,
    RawPagination,
    SourcePath,
    SummaryBlock,
)
from provenance.expand_query.core.fill import Budget, list_children, list_messages
from provenance.expand_query.core.pages import TokenCounter, cut
from provenance.expand_query.core.shapes import write_path
from provenance.expand_query.core.sources import Lineage, Node
from provenance.expand_query.core.windows import hit_page

VISITS_MIN: Final = 64
VISITS_PER_TOKEN: Final = 4
"""Contract, section B.5: visits are capped at the larger of 64 and 4 for each token of the budget."""

_COMPACT: Final = json.JSONEncoder(separators=(",", ":"))

PENDING_SHOWN: Final = 8
"""A guess: enough of the unvisited nodes to go on with; each can be asked for by its id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The blocks in context order, and the first nodes that the way down did not get to.

    ``dropped``: blocks that were made and then left out whole.
    """

    blocks: tuple[Block, ...]
    pending: tuple[int, ...] = ()
    dropped: tuple[Block, ...] = ()


@dataclass(slots=True)
class _Frame:
    """A node on the way down: where it stands, and the next of its places to look at."""

    node: Node
    path: SourcePath
    place: int = 0


@dataclass(slots=True)
class _Descent:
    """One selected node's way down while it is made."""

    lineage: Lineage
    budget: Budget
    visits_left: int
    blocks: list[Block] = field(default_factory=list)
    pending: list[int] = field(default_factory=list)

    @property
    def stopped(self) -> bool:
        return self.budget.used_up or not self.visits_left

    def emit(self, block: ChildrenBlock | MessagesBlock) -> None:
        """Take a block that is complete, and charge what came with what it shows."""
        self.blocks.append(block)
        if isinstance(block, MessagesBlock):
            for message in block.messages:
                if message is not None and message.transcript_content:
                    self.budget.charge(message.transcript_content)
        if block.path != ROOT:
            self.budget.charge(_COMPACT.encode(write_path(block.path)))


def collect(
    selected: Sequence[Node],
    lineage: Lineage,
    *,
    budget: int,
    count: TokenCounter,
    hits: Sequence[Message] = (),
    query: str = "",
) -> Context:
    """The context of a request, within ``budget`` tokens but for what has to be shown whole.

    ``selected``: in the order of the request or of the search. ``hits``: rows that the search found, best
    first, with their whole texts; ``query`` is what was searched for. Raises InvalidBlocks when a source on
    the way was not read.
    """
    purse = Budget(max(0, budget), count)
    blocks: list[Block] = []
    pending: dict[int, None] = {}
    for node in selected:
        descent = _Descent(lineage, purse, max(VISITS_MIN, VISITS_PER_TOKEN * purse.left))
        _root(descent, node)
        blocks += descent.blocks
        pending |= dict.fromkeys(descent.pending)
    blocks += _raw(hits, _shown(blocks), query, purse)
    return Context(blocks=tuple(blocks), pending=tuple(pending)[:PENDING_SHOWN])


def _root(descent: _Descent, node: Node) -> None:
    budget = descent.budget
    summary = cut(node.summary, budget.left, budget.count)
    budget.charge(summary)
    descent.blocks.append(
        SummaryBlock(
            node_id=node.node_id,
            depth=node.depth,
            summary=summary,
            summary_truncated=len(summary) < len(node.summary),
            expand_hint=node.expand_hint,
            token_count=node.token_count,
        )
    )
    if node.source_type == "messages":
        _messages(descent, node)
    elif node.source_type == "nodes":
        _children(descent, node)
        _descend(descent, node)


def _descend(descent: _Descent, root: Node) -> None:
    stack = [_Frame(root, ROOT)]
    above = {root.node_id}
    while stack:
        frame = stack[-1]
        number = _next(frame, above)
        if descent.stopped and number is not None:
            descent.pending += _unvisited(descent, number, stack, above)
            return
        if number is None:
            above.discard(stack.pop().node.node_id)
            continue
        descent.visits_left -= 1
        child = descent.lineage.node(number)
        path = _visit(descent, frame, child)
        if child.source_type == "nodes":
            stack.append(_Frame(child, path))
            above.add(number)


def _next(frame: _Frame, above: set[int]) -> int | None:
    """The next node to visit below this one; None when there is none. No node is entered below itself."""
    while frame.place < len(frame.node.sources):
        number = frame.node.sources[frame.place]
        frame.place += 1
        if number is not None and number not in above:
            return number
    return None


def _unvisited(descent: _Descent, first: int, stack: list[_Frame], above: set[int]) -> Iterator[int]:
    """The nodes that would have been visited next, those without sources aside; each once."""
    found: dict[int, None] = {}
    for number in chain([first], _left(stack, above)):
        if descent.lineage.node(number).total_sources:
            found[number] = None
        if len(found) == PENDING_SHOWN:
            break
    return iter(found)


def _left(stack: list[_Frame], above: set[int]) -> Iterator[int]:
    """What is left to visit of the nodes on the stack, deepest first, none of it entered."""
    for frame in reversed(stack):
        while (number := _next(frame, above)) is not None:
            yield number
        above = above - {frame.node.node_id}


def _visit(descent: _Descent, frame: _Frame, child: Node) -> SourcePath:
    """Show what lies below the node at the frame's last place; the path to it."""
    place = frame.place - 1
    path = frame.path.step(Hop(frame.node.node_id, place))
    reached = {
        "parent_node_id": frame.node.node_id,
        "depth": child.depth,
        "source_index": place,
        "path": path,
    }
    if child.source_type == "messages":
        _messages(descent, child, **reached)
    elif child.source_type == "nodes":
        _children(descent, child, **reached)
    return path


def _messages(descent: _Descent, node: Node, **reached: Any) -> None:
    """A node's rows as a block. A block that shows nothing and leaves nothing to show is none."""
    messages, pagination = list_messages(node, descent.lineage, descent.budget)
    if messages or pagination.has_more:
        kind: MessagesType = "child_messages" if reached else "messages"
        block = MessagesBlock(
            type=kind, node_id=node.node_id, messages=messages, pagination=pagination, **reached
        )
        descent.emit(block)


def _children(descent: _Descent, node: Node, **reached: Any) -> None:
    children, pagination = list_children(node, descent.lineage, descent.budget)
    if children or pagination.has_more:
        kind: ChildrenType = "descendant_child_nodes" if reached else "child_nodes"
        block = ChildrenBlock(
            type=kind, node_id=node.node_id, children=children, pagination=pagination, **reached
        )
        descent.emit(block)


def _shown(blocks: Sequence[Block]) -> set[int | None]:
    """The rows that the blocks show."""
    listed = [block.messages for block in blocks if isinstance(block, MessagesBlock)]
    return {message.store_id for message in chain.from_iterable(listed) if message is not None}


def _raw(
    hits: Sequence[Message], shown: Collection[int | None], query: str, budget: Budget
) -> Iterator[MessagesBlock]:
    """The block of the search's hits, if there is any that was not shown. It may hold nothing but a cursor."""
    left = [hit for hit in hits if hit.store_id not in shown]
    if not left:
        return
    messages: list[Message] = []
    stopped_at: int | None = None
    for hit in left:
        if budget.used_up:
            stopped_at = hit.store_id
            break
        part, found = hit_page(hit.page.content, query, budget=budget.left, count=budget.count)
        budget.charge(part.content)
        messages.append(hit._replace(page=part, content_source=RAW_SEARCH_HIT, match_window_offset=found))
        if part.has_more:
            stopped_at = hit.store_id
            break
    yield MessagesBlock(
        type="raw_messages",
        messages=tuple(messages),
        pagination=RawPagination(
            has_more=stopped_at is not None,
            returned_sources=len(messages),
            total_sources=len(left),
            next_store_id=stopped_at,
        ),
    )
