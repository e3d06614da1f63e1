"""What quotes need of the stored texts of kept rows: of a text with current nodes all of it, of another its beginning.

Called inside the caller's snapshot, after items, order and claims are final.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from memoryconsole.models import Record, Store, Summary
from memoryconsole.models.records import MAX_TEXT_CHARS
from memoryconsole.nodes import Model, Parent, StoredNode, read_divided, read_nodes, state
from memoryconsole.search.vectors import Whole
from reconstruct.core.types import Node, NodeState, Ref, StoredText

# Rows are looked at for their nodes until their texts come to so many code points: forty of the longest that are
# stored, which is as many quotes as the largest budget carries by default. A budget carries the first rows; further
# ones are quoted, if at all, from their beginning.
MAX_DIVIDED_CHARS = 40 * MAX_TEXT_CHARS


@dataclass(frozen=True, slots=True)
class Beginning:
    """A kept row's text as it was read first: `text` is so much of it as a quote shows, `length` that of the whole."""

    ref: Ref
    key: int
    text: str
    length: int

    @property
    def parent(self) -> Parent:
        return (self.ref.kind, self.key)


def stored_texts(
    store: Store, rows: Sequence[Beginning], model: Model | None, query: Whole | None
) -> tuple[StoredText, ...]:
    """The core's view of the texts of rows, given in the order in which a budget carries them (two statements, and one
    more for each kind of row that has current nodes).

    `model`: the one that runs; `query`: the query's vector, as the index keeps vectors.
    """
    sofar = accumulate(row.length for row in rows)
    near = [row for row, chars in zip(rows, sofar, strict=True) if chars <= MAX_DIVIDED_CHARS]
    nodes = read_nodes(store, model, [row.parent for row in near], query)
    divided = read_divided(store, [row.parent for row in rows[len(near) :]]) | nodes.keys()
    states = {row.parent: state(nodes.get(row.parent, ()), row.length) for row in near}
    current = [row for row in near if states[row.parent] == "current"]
    whole = _whole(store, current)
    texts = [_of_nodes(row.ref, whole[row.parent], nodes[row.parent]) for row in current]
    for row in rows:
        if row.parent not in whole:
            told: NodeState = "not_current" if row.parent in divided else "no_nodes"
            texts.append(StoredText(ref=row.ref, text=row.text, length=row.length, node_state=told))
    return tuple(texts)


def _whole(store: Store, rows: Iterable[Beginning]) -> dict[Parent, str]:
    texts: dict[Parent, str] = {}
    kinds: tuple[tuple[Any, str, str], ...] = ((Record, "mem", "content"), (Summary, "ep", "summary"))
    for table, kind, column in kinds:
        keys = [row.key for row in rows if row.ref.kind == kind]
        if keys:
            found = table.objects.live().filter(store=store, pk__in=keys).values_list("pk", column)
            texts |= {("mem" if kind == "mem" else "ep", key): text for key, text in found}
    return texts


def _of_nodes(ref: Ref, text: str, nodes: Sequence[StoredNode]) -> StoredText:
    return StoredText(
        ref=ref,
        text=text,
        node_state="current",
        nodes=tuple(Node(start=node.start, end=node.end, cosine=node.cosine) for node in nodes),
    )
