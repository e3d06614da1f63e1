"""Verbatim quotes (contract, section H).

Rule 1: a quote is a slice of the stored text; nothing is added, trimmed or joined.
Rule 2: this file runs after items, order and claims are final, and cannot change them.

Theory of operation. A long text with current nodes is quoted from the node that fits the query best, any
other text from its start; either way the quote is the first ``preview_chars`` code points. Nodes are ranked
twice, by shared trigrams and by cosine, and the two rankings are fused by reciprocal rank. Fused values are
exact fractions: two nodes tie when their ranks say so, never because of rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reconstruct.core.types import InvalidSnapshot, Node, Ref, StoredText

GRAM = 3
"""Contract, section H: character trigrams."""

POINT_BITS = 21
"""A Unicode code point fits into 21 bits, so that a trigram fits into 64."""

FILLER = (1 << POINT_BITS) - 1
"""Fits too, and is no code point: a padded short text equals nothing but itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """Code points [start, end) of a stored text.

    ``source_length``: the length of what it was cut from, the node when ``node`` is set, else the whole text.
    ``node``: (index, how many nodes the text has). ``unavailable``: why a cut quote is merely the text's
    start.
    """

    ref: Ref
    content: str
    start: int
    source_length: int
    node: tuple[int, int] | None = None
    unavailable: Literal["no_nodes", "not_current"] | None = None

    @property
    def end(self) -> int:
        return self.start + len(self.content)

    @property
    def cut(self) -> bool:
        return len(self.content) < self.source_length


def quote(stored: StoredText, node_order: Sequence[int], preview_chars: int) -> Quote:
    """The quote of one claim; ``node_order`` as :func:`order_nodes` gave it, ``preview_chars`` 0 = uncut.

    Raises InvalidSnapshot when less of the text was read than is quoted.
    """
    size = preview_chars or stored.whole_length
    if node_order:
        best = node_order[0]
        node = stored.nodes[best]
        return Quote(
            ref=stored.ref,
            content=stored.text[node.start : min(node.end, node.start + size)],
            start=node.start,
            source_length=node.end - node.start,
            node=(best, len(stored.nodes)),
        )
    content = stored.text[:size]
    if len(content) < min(size, stored.whole_length):
        raise InvalidSnapshot(f"{stored.ref}: {len(content)} characters were read, a quote takes {size}")
    cut = len(content) < stored.whole_length
    state = stored.node_state
    return Quote(
        ref=stored.ref,
        content=content,
        start=0,
        source_length=stored.whole_length,
        unavailable=state if cut and state != "current" else None,
    )


def order_nodes(stored: StoredText, query: str, *, query_embedded: bool, rrf_k: int) -> tuple[int, ...]:
    """The indices of a text's nodes, best first; empty without current nodes. Ties go to the earlier node.

    Without a query vector the trigrams decide alone. Raises InvalidSnapshot when there is one and a node has
    no cosine.
    """
    if not stored.nodes:
        return ()
    rankings = [_dense_ranks(_shared_grams(stored, query))]
    if query_embedded:
        rankings.append(_dense_ranks([_cosine(stored.ref, node) for node in stored.nodes]))
    fused = [sum(Fraction(1, rrf_k + 1 + rank) for rank in ranks) for ranks in zip(*rankings, strict=True)]
    return tuple(sorted(range(len(fused)), key=lambda index: (-fused[index], index)))


def _dense_ranks(values: Sequence[float]) -> list[int]:
    """Highest first, from 0; equal values share a rank and leave no gap."""
    rank_of = {value: rank for rank, value in enumerate(sorted(set(values), reverse=True))}
    return [rank_of[value] for value in values]


def _shared_grams(stored: StoredText, query: str) -> list[int]:
    """Per node, how many distinct grams of the query it holds."""
    wanted = np.unique(_grams(query))
    counts = []
    for node in stored.nodes:
        # Looking the query's grams up among the node's sorted ones takes a fifth of the time that sets of
        # strings do (measured on records of 16,000 characters); one answer may rank hundreds of records.
        grams = np.sort(_grams(stored.text[node.start : node.end]))
        at = np.minimum(np.searchsorted(grams, wanted), len(grams) - 1)
        counts.append(int(np.count_nonzero(grams[at] == wanted)))
    return counts


def _grams(text: str) -> NDArray[np.uint64]:
    """Every trigram of the lower-cased text, three code points packed into one number.

    A shorter text is its own only gram; an empty one has none.
    """
    lowered = text.lower().encode("utf-32-le", "surrogatepass")
    points = np.frombuffer(lowered, dtype="<u4").astype(np.uint64)
    if 0 < len(points) < GRAM:
        points = np.concatenate([np.full(GRAM - len(points), FILLER, dtype=np.uint64), points])
    first, second = (points << np.uint64(2 * POINT_BITS)), (points << np.uint64(POINT_BITS))
    return first[:-2] | second[1:-1] | points[2:]


def _cosine(ref: Ref, node: Node) -> float:
    if node.cosine is None:
        raise InvalidSnapshot(f"{ref}: no cosine of the query with the node at {node.start}")
    return node.cosine
