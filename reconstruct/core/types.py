"""The values that enter the core.

Rule 1: whatever enters is one of these frozen values; tuples, never lists. Rule 2: a value that breaks its
own rules cannot be built. Settings are the one exception: a bad combination has to be *named* to an operator,
so it can be built and :func:`~reconstruct.core.policy.check_policy` names it.

A :class:`Row` carries no text on purpose. Bundling, heads, order and claims never look at what a row says,
and so they cannot. Texts arrive later, as :class:`StoredText`, for the rows that may be quoted.

What a stage hands on to the next is defined where it is made: ``Policy`` in policy.py, ``Cluster`` in
bundle.py, ``Reach`` in walk.py, ``Item`` in structure.py, ``Quote`` in quote.py, ``Reconstruction`` in
rebuild.py.

Terms (contract, section 0): a *candidate* is a row retrieval returned, the *pool* all of them, a *cluster*
candidates bundled together, an *item* a cluster as returned, a *claim* one kept row of an item, its *head*
the claim it quotes; a *walked row* was added by the relation walk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import Literal

Kind = Literal["mem", "ep"]
NodeState = Literal["no_nodes", "not_current", "current"]


class InvalidRequest(ValueError):
    """A request value outside what the tool accepts (contract, section B)."""


class InvalidSnapshot(ValueError):
    """What was read contradicts itself, or lacks something this request needs."""


def _is_int(value: object, *, minimum: int) -> bool:
    # JSON's true is an int to Python; to a caller it is not.
    return type(value) is int and value >= minimum


def _require_aware(instant: datetime, what: str) -> None:
    if instant.utcoffset() is None:
        raise InvalidSnapshot(f"{what} has no offset: {instant!r}")


def _require_unique(values: Iterable[object], what: str) -> None:
    seen: set[object] = set()
    for value in values:
        if value in seen:
            raise InvalidSnapshot(f"{what} {value} is given twice")
        seen.add(value)


@dataclass(frozen=True, slots=True, order=True)
class Ref:
    """A row's public handle; ``str()`` gives ``mem:<number>`` or ``ep:<number>``.

    Records and episodes are counted apart, so the kind always travels with the number. Refs order by kind as
    text (``ep`` first), then by number: ``mem:9`` comes before ``mem:10``.
    """

    kind: Kind
    number: int

    def __post_init__(self) -> None:
        if self.kind not in ("mem", "ep") or not _is_int(self.number, minimum=1):
            raise InvalidSnapshot(f"{self.kind!r}:{self.number!r} is no ref")

    def __str__(self) -> str:
        return f"{self.kind}:{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Where a row is stored. Empty text is a known value: the global pool, the shared channel."""

    project_id: str
    channel: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The time an episode covers, both ends included."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        _require_aware(self.start, "a span's start")
        _require_aware(self.end, "a span's end")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A stored record or episode, without its text.

    ``timestamp`` is the stored stamp, verbatim ('' when there is none); ``instant`` is the same as an aware
    datetime, None when unreadable. For an episode both are its start, else its creation. ``context`` is None
    when it is unknown. ``source_id`` is '' for an unknown producer. ``span`` belongs to episodes alone and
    needs both ends readable.
    """

    ref: Ref
    timestamp: str = ""
    instant: datetime | None = None
    context: Context | None = None
    message_id: str = ""
    source_type: str = ""
    source_id: str = ""
    span: Span | None = None

    def __post_init__(self) -> None:
        if self.instant is not None:
            _require_aware(self.instant, f"the instant of {self.ref}")
        if self.ref.kind == "ep" and (self.message_id or self.source_id):
            raise InvalidSnapshot(f"{self.ref}: an episode has neither message id nor producer")
        if self.ref.kind == "mem" and self.span is not None:
            raise InvalidSnapshot(f"{self.ref}: only an episode has a span")

    @property
    def identity(self) -> tuple[str, str] | None:
        """(stored project, trimmed message id), or None: an unknown project establishes no identity."""
        message_id = self.message_id.strip()
        if self.context is None or not message_id:
            return None
        return (self.context.project_id, message_id)

    def covers(self, record: Row) -> bool:
        """Whether this episode's span contains the record, in the same known project and channel."""
        return (
            self.span is not None
            and record.ref.kind == "mem"
            and record.instant is not None
            and self.context is not None
            and self.context == record.context
            and self.span.start <= record.instant <= self.span.end
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRelation:
    """A declared record -> record relation in the call's read scope. The predicate is stored normalized."""

    subject: Ref
    predicate: str
    object: Ref


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """What retrieval returned.

    ``rows``: the candidates, best first, within the effective top_k. ``relations``: every declared relation
    in scope between two of them (others are ignored). ``rows_without_ref``: rows that were dropped for having
    no handle. ``query_embedded``: a query vector is there to rank nodes with. ``advisory``, ``update`` and
    ``cues`` are passed through untouched when given.
    """

    rows: tuple[Row, ...] = ()
    relations: tuple[RecordRelation, ...] = ()
    rows_without_ref: int = 0
    gate_fallback: bool = False
    query_embedded: bool = True
    advisory: Mapping[str, object] | None = None
    update: Mapping[str, object] | None = None
    cues: Mapping[str, object] | None = None

    def __post_init__(self) -> None:
        _require_unique((row.ref for row in self.rows), "candidate")
        if not _is_int(self.rows_without_ref, minimum=0):
            raise InvalidSnapshot(f"rows_without_ref is {self.rows_without_ref!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A row mentions an entity of the call's read scope."""

    ref: Ref
    entity: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityRelation:
    """A declared entity -> entity relation; it and both its entities are readable by the call."""

    number: int
    subject: int
    predicate: str
    object: int
    declared_at: datetime

    def __post_init__(self) -> None:
        _require_aware(self.declared_at, f"declared_at of relation {self.number}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """The declared graph around the pool.

    ``mentions``: those of the candidates of the chosen clusters. ``relations``: all that touch an entity
    within max_hops of a mentioned one (so the last frontier's relations too: they tell what was left
    unfollowed). More of either changes nothing.
    """

    mentions: tuple[Mention, ...] = ()
    relations: tuple[EntityRelation, ...] = ()

    def __post_init__(self) -> None:
        _require_unique((relation.number for relation in self.relations), "relation")


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityRecords:
    """The readable rows outside the pool that mention one reached entity.

    ``rows``: lowest number first (an episode before a record of the same number), at most max_evidence of
    them; ``more``: at least one further row was there. Given more rows, in any order, the core bounds them
    itself. A row that no item keeps needs nothing but its ref.
    """

    entity: int
    rows: tuple[Row, ...] = ()
    more: bool = False

    def __post_init__(self) -> None:
        _require_unique((row.ref for row in self.rows), f"record of entity {self.entity}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A stretch of a long text: code points [start, end), and the cosine of its vector with the query's."""

    start: int
    end: int
    cosine: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise InvalidSnapshot(f"a node spans [{self.start}, {self.end})")
        if self.cosine is not None and not isfinite(self.cosine):
            raise InvalidSnapshot(f"a node's cosine is {self.cosine}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredText:
    """The stored text of a row, and its nodes in text order.

    ``length`` is given when ``text`` is only the beginning of a longer text, in code points of the whole: a
    quote needs no more of a text without nodes than its first ``preview_chars``.
    Whether a node set is current is decided where nodes are written. The core is told the verdict, and
    refuses a ``current`` set that does not partition the text. ``nodes`` is empty unless ``node_state`` is
    ``current``.
    """

    ref: Ref
    text: str
    length: int | None = None
    node_state: NodeState = "no_nodes"
    nodes: tuple[Node, ...] = ()

    @property
    def whole_length(self) -> int:
        return len(self.text) if self.length is None else self.length

    def __post_init__(self) -> None:
        if self.length is not None and (self.length < len(self.text) or self.nodes):
            raise InvalidSnapshot(
                f"{self.ref}: {len(self.text)} of {self.length} characters, {len(self.nodes)} nodes"
            )
        if (self.node_state == "current") != bool(self.nodes):
            raise InvalidSnapshot(f"{self.ref}: {len(self.nodes)} nodes and state {self.node_state}")
        edges = [0, *(node.end for node in self.nodes)]
        if self.nodes and (
            edges[-1] != len(self.text)
            or any(node.start != edge for node, edge in zip(self.nodes, edges, strict=False))
        ):
            raise InvalidSnapshot(f"{self.ref}: its nodes do not partition its text")


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything one answer is made of. Same snapshot, request and settings: same bytes.

    ``records``: one entry per reached entity that has any. ``texts``: at least those of the kept claims.
    """

    pool: Pool = Pool()
    graph: Graph = Graph()
    records: tuple[EntityRecords, ...] = ()
    texts: tuple[StoredText, ...] = ()

    def __post_init__(self) -> None:
        _require_unique((entry.entity for entry in self.records), "entity's records")
        _require_unique((text.ref for text in self.texts), "text")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the caller asked for; None = left to the server. The scope of the search stays with the reader."""

    query: str
    count: int | None = None
    top_k: int | None = None
    max_hops: int | None = None
    max_evidence: int | None = None
    budget: int | None = None
    trace: bool = False

    def __post_init__(self) -> None:
        minimums = {"count": 0, "top_k": 1, "max_hops": 0, "max_evidence": 1, "budget": 1}
        for name, minimum in minimums.items():
            value = getattr(self, name)
            if value is not None and not _is_int(value, minimum=minimum):
                raise InvalidRequest(f"{name} must be an integer of {minimum} or more, not {value!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The operator's values (contract, section B). Run them through ``check_policy`` before use.

    Counts are items, budgets and ``preview_chars`` code points (0 = quotes are not cut),
    ``adjacency_seconds`` seconds (0 = no adjacency key). None = not forced.
    """

    default_count: int = 1
    max_count: int = 10
    forced_count: int | None = None
    top_k: int = 20
    max_hops: int = 2
    max_evidence: int = 40
    adjacency_seconds: int = 60
    default_budget: int = 4000
    max_budget: int = 20_000
    forced_budget: int | None = None
    preview_chars: int = 500
    library_max: int = 10_000
    rrf_k: int = 60
