"""The nodes of long texts as they are stored, and the one answer to whether a set of them may be used.

Whoever asks (the build, a row's own page, a reconstruction, get_contents) reads nodes with `read_nodes` and judges
them with `state` or `partitions`; nothing else decides (contract: reconstruct A.6).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Literal

from django.db import connection
from django.db.models import Q

from memoryconsole import embedding
from memoryconsole.models import RecordNode, Store
from memoryconsole.search.vectors import COSINE_SCALE, Whole, literal

State = Literal["no_nodes", "not_current", "current"]
# (name, fingerprint) of an embedding model.
Model = tuple[str, str]
# A row that may have nodes: its kind and primary key.
Parent = tuple[Literal["mem", "ep"], int]

# A node in which the model finds nothing points nowhere: it is no nearer to any query than its opposite would be.
NOWHERE = -1.0


@dataclass(frozen=True, slots=True)
class StoredNode:
    """A node: code points [start, end) of its text, end exclusive.

    `usable`: it has a vector of the running model. `cosine`: with the query that was asked about, -1 to 1 in steps of
    1/10,000; None without a query, or without a vector of the query's width.
    """

    index: int
    start: int
    end: int
    usable: bool
    cosine: float | None = None


def partitions(nodes: Sequence[StoredNode], length: int) -> bool:
    """Whether nodes, in the order of their indices, are numbered from 0 and cover a text of `length` code points
    without gap or overlap.
    """
    edge = 0
    for place, node in enumerate(nodes):
        if (node.index, node.start) != (place, edge):
            return False
        edge = node.end
    return bool(nodes) and edge == length


def state(nodes: Sequence[StoredNode], length: int) -> State:
    """Whether a text of `length` code points may be quoted from these nodes: they partition it, and each has a vector
    of the running model.
    """
    if not nodes:
        return "no_nodes"
    usable = all(node.usable for node in nodes)
    return "current" if usable and partitions(nodes, length) else "not_current"


def running_model() -> Model | None:
    """The model this process runs; None when there is none, or none that can be loaded.

    Call outside of any transaction: loading takes time.
    """
    try:
        model = embedding.current()
    except embedding.EmbeddingFailed:
        return None
    return None if model is None else (model.name, model.fingerprint)


def read_nodes(
    store: Store, model: Model | None, parents: Iterable[Parent], query: Whole | None = None
) -> dict[Parent, list[StoredNode]]:
    """The nodes of rows in the order of their indices, for those rows that have any. One statement, or none.

    `model`: the running one; without one, that of the store's active space is meant, whose vectors stay what they
    were. `query`: a vector as the index keeps them (`search/vectors.py`); its cosine with each node is answered.
    """
    records, summaries = _keys(parents)
    if not (records or summaries):
        return {}
    name, fingerprint = model or (None, None)
    width, vector = (None, None) if query is None else (len(query), literal(query))
    with connection.cursor() as cursor:
        cursor.execute(_NODES, [name, name, fingerprint, width, vector, store.pk, records, summaries])
        rows = cursor.fetchall()
    nodes: dict[Parent, list[StoredNode]] = {}
    for record, summary, index, start, end, usable, distance in rows:
        parent = _parent(record, summary)
        # A vector of another width than the query's cannot be compared, whatever its model is called.
        comparable = usable and (query is None or distance is not None)
        nodes.setdefault(parent, []).append(StoredNode(index, start, end, comparable, _cosine(distance)))
    return nodes


def read_divided(store: Store, parents: Iterable[Parent]) -> set[Parent]:
    """Which of these rows have any nodes. One statement, or none."""
    records, summaries = _keys(parents)
    if not (records or summaries):
        return set()
    found = (
        RecordNode.objects.filter(Q(record__in=records) | Q(summary__in=summaries), store=store)
        .values_list("record", "summary")
        .distinct()
    )
    return {_parent(*keys) for keys in found}


def _parent(record: int | None, summary: int | None) -> Parent:
    if record is not None:
        return ("mem", record)
    if summary is not None:
        return ("ep", summary)
    raise LookupError("a node without a row")


def _keys(parents: Iterable[Parent]) -> tuple[list[int], list[int]]:
    """The primary keys of the records, and of the summaries."""
    keys: dict[str, list[int]] = {"mem": [], "ep": []}
    for kind, key in parents:
        keys[kind].append(key)
    return keys["mem"], keys["ep"]


_NODES = """
SELECT n.record_id, n.summary_id, n.index, n.start, n."end",
       coalesce(
           CASE WHEN %s::text IS NULL THEN p.id = s.active_space_id ELSE (p.name, p.fingerprint) = (%s, %s) END
           AND vector_dims(n.embedding) = p.dimensions, FALSE),
       CASE WHEN vector_dims(n.embedding) = %s THEN n.embedding <=> %s::halfvec END
FROM mc_record_node AS n JOIN mc_store AS s ON s.id = n.store_id
LEFT JOIN mc_embedding_space AS p ON p.id = n.space_id
WHERE n.store_id = %s AND (n.record_id = ANY(%s::bigint[]) OR n.summary_id = ANY(%s::bigint[]))
ORDER BY n.record_id, n.summary_id, n.index
"""


def _cosine(distance: float | None) -> float | None:
    if distance is None:
        return None
    # As the search has it: a whole number first, so that two machines never differ.
    return NOWHERE if isnan(distance) else round((1.0 - distance) * COSINE_SCALE) / COSINE_SCALE
