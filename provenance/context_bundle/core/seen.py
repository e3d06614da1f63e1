"""What the spine has read for one answer: plain frozen values, and nothing else enters a decision.

Rule 1: the spine reads, the core decides. A row is given when the spine holds it in the answer's snapshot; whether it
is shown, dropped, grouped or cut is decided here. Rule 2: a row that is missing was rejected by the spine, and a
nominated id without a row counts as a drop. Rule 3: every text travels as a ``Text``, so that a trace can keep what
was seen without what was said (``codec``).

Rows are known by their public ``number``, which also ends every order; ids of the wire are UUID text, lower case.
Endpoints and entities are *survivors*: the spine follows merges under the scope's regime before it gives a row. An
``Entity`` row is given for entities of entities_current alone (section A.3): a fact whose endpoint has none is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from provenance.context_bundle.core.temporal import UNDATED, Precision, Scope, Window

Stance = Literal["supports", "contradicts"]
FactKind = Literal["observation", "relation"]
FactKey = tuple[FactKind, int]
"""(kind, number): kind first, as ties are ordered."""

ClaimKind = Literal["proposition_validity", "event_time", "measurement_period", "effective_period"]
Tier = Literal["T0", "T1", "T2"]


class InvalidSeen(ValueError):
    """What was read contradicts itself."""


def require_unique(values: Iterable[object], what: str) -> None:
    met: set[object] = set()
    for value in values:
        if value in met:
            raise InvalidSeen(f"{what} {value} is given twice")
        met.add(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text, where it can be read again (``ref``), and the digest of what stands there. Both are the spine's words."""

    ref: str
    digest: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """``pg_live_ts``: the clock of the answer's snapshot. The horizon None = the belief history is unbounded."""

    pg_live_ts: datetime
    p1_written_inline: bool = True
    p1_believed_at_horizon: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """The numbers one channel nominated, best first, at most its depth of them. ``exhausted``: it had more.

    With anchors an item that touches more of them is kept before one that touches fewer where the depth cuts.
    On a later page the whole ranking is nominated again, what was returned included: the core leaves that out.
    """

    name: str
    numbers: tuple[int, ...] = ()
    exhausted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FactChannel:
    """The facts one channel nominated; as ``Channel``. On a later page: those believed at ``scope.believed_at``, also
    if they were invalidated since, so that the core can count them as drops.
    """

    name: str
    keys: tuple[FactKey, ...] = ()
    exhausted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A lineage that is not deleted (for ``include_superseded`` and audits: not forgotten). ``title`` None = ''."""

    number: int
    doc_id: str
    source_kind: str
    title: Text | None = None
    markdown_uri: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim in visible history. Offsets are code points of its representation, end exclusive; ``spans``: all that
    support it, the origin [``char_start``, ``char_end``) first. Its window has inclusive ends.

    ``document``: a number of ``documents``; a claim whose document is not there is not visible. ``touches``: the
    anchors (entity numbers) that its passage mentions; () when unanchored.
    """

    number: int
    claim_id: str
    document: int
    chunk_id: str
    claim_text: Text
    source_span: Text
    char_start: int
    char_end: int
    spans: tuple[tuple[int, int], ...]
    is_current: bool = True
    is_attributed: bool = False
    asserted_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    valid_precision: Precision = "unknown"
    valid_kind: ClaimKind | None = None
    touches: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.spans or self.spans[0] != (self.char_start, self.char_end):
            raise InvalidSeen(f"claim {self.number}: its origin is not its first span")
        if len(self.source_span.text) != self.char_end - self.char_start:
            raise InvalidSeen(f"claim {self.number}: its span is not as long as its offsets say")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A current passage: a record, by its number. ``chunk_text`` is [``char_start``, ``char_end``) of its
    representation. ``document`` and ``touches`` as in ``Claim``.
    """

    number: int
    chunk_id: str
    document: int
    version_id: str
    representation_id: str
    chunk_text: Text
    char_start: int
    char_end: int
    context_prefix: Text | None = None
    section_role: str | None = None
    source_modified_at: datetime | None = None
    published_at: datetime | None = None
    touches: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if len(self.chunk_text.text) != self.char_end - self.char_start:
            raise InvalidSeen(f"chunk {self.number}: its text is not as long as its offsets say")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimsSeen:
    """What ``claims_and_sources`` is made of.

    ``scope``: current, on a later page the pinned one. ``anchors_known`` False: at least one anchor is no current
    entity; then nothing else is read. ``claims``, ``chunks``: what each channel nominated. ``claim_rows``,
    ``chunk_rows``: those of the nominated that the spine holds, in any order; more changes nothing.
    """

    scope: Scope
    freshness: Freshness
    anchors_known: bool = True
    claims: tuple[Channel, ...] = ()
    chunks: tuple[Channel, ...] = ()
    claim_rows: tuple[Claim, ...] = ()
    chunk_rows: tuple[Chunk, ...] = ()
    documents: tuple[Document, ...] = ()

    def __post_init__(self) -> None:
        require_unique((row.number for row in self.claim_rows), "claim")
        require_unique((row.number for row in self.chunk_rows), "chunk")
        require_unique((row.number for row in self.documents), "document")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """An entity of entities_current, by the number of the survivor."""

    number: int
    entity_id: str
    name: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A fact with evidence in visible history (section A.4: one link to a claim that is not erased).

    ``subject``, ``object``: entity numbers, survivors. A relation has predicate and object, an observation its
    statement. ``supports``, ``contradicts``: the exact number of live lineages with current testimony of that stance.
    ``group``: the id of the contradiction group it is a live member of.
    """

    number: int
    fact_id: str
    kind: FactKind
    subject: int
    ingested_at: datetime
    predicate: str = ""
    object: int | None = None
    statement: Text | None = None
    window: Window = UNDATED
    invalidated_at: datetime | None = None
    withdrawn: bool = False
    supports: int = 0
    contradicts: int = 0
    group: str | None = None

    def __post_init__(self) -> None:
        relation = self.object is not None and bool(self.predicate) and self.statement is None
        observation = self.object is None and not self.predicate and self.statement is not None
        if not (relation if self.kind == "relation" else observation):
            raise InvalidSeen(f"fact {self.number} is no {self.kind}")

    @property
    def key(self) -> FactKey:
        return (self.kind, self.number)

    @property
    def ends(self) -> tuple[int, ...]:
        """The entities it is about: subject, and object if it has one."""
        return (self.subject,) if self.object is None else (self.subject, self.object)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A contradiction group in the answer's scope. ``members``: its first live members by (ingested_at, kind, number),
    the fact itself among them, at least 26 of them if there are so many; each has a row among the facts.
    ``total``: how many live members there are. Live: visible, believed, inside the world condition (section E.6).
    """

    group_id: str
    members: tuple[FactKey, ...]
    total: int

    def __post_init__(self) -> None:
        if self.total < len(self.members):
            raise InvalidSeen(
                f"group {self.group_id} has {self.total} members, {len(self.members)} were read"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Backing:
    """A claim for or against a fact (numbers)."""

    fact: int
    claim: int
    stance: Stance


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeEntity:
    """An entity the answer is about, and how far it is from an anchor (0: it is one)."""

    number: int
    hops: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsSeen:
    """What ``facts_context`` is made of.

    ``scope``: that of the request's time, on a later page the pinned one. ``anchors_known`` False as in ``ClaimsSeen``.
    ``entities_in_scope``: the anchors and what the live graph led to (``reach.expand`` decides), () when unanchored;
    ``expansion_capped``: it led to more. ``facts``: rows of the nominated and of group members, in any order.
    ``groups``: those of the facts that may be shown. ``backing``, ``claims``, ``documents``: for each nominated fact
    and stance at least the representatives of its best ``evidence_per_fact`` lineages, best first by
    (asserted_at newest first and None last, document, claim); more changes nothing. ``entities``: every current
    one among endpoints and scope.
    """

    scope: Scope
    freshness: Freshness
    anchors_known: bool = True
    entities_in_scope: tuple[ScopeEntity, ...] = ()
    expansion_capped: bool = False
    nominations: tuple[FactChannel, ...] = ()
    facts: tuple[Fact, ...] = ()
    groups: tuple[Group, ...] = ()
    backing: tuple[Backing, ...] = ()
    claims: tuple[Claim, ...] = ()
    documents: tuple[Document, ...] = ()
    entities: tuple[Entity, ...] = ()

    def __post_init__(self) -> None:
        require_unique((row.number for row in self.facts), "fact")
        require_unique(((row.kind, row.fact_id) for row in self.facts), "fact")
        require_unique((row.group_id for row in self.groups), "group")
        require_unique(((row.fact, row.claim) for row in self.backing), "evidence")
        require_unique((row.number for row in self.claims), "claim")
        require_unique((row.number for row in self.documents), "document")
        require_unique((row.number for row in self.entities), "entity")
        require_unique((row.number for row in self.entities_in_scope), "entity in scope")


@dataclass(frozen=True, slots=True, kw_only=True)
class NearName:
    """An entity one of whose names is like the one asked for: T1 by trigrams (``score`` at least 0.3), T2 by sound.

    ``likeness``: the trigram similarity of its canonical name.
    """

    entity: int
    tier: Tier
    score: float = 0.0
    likeness: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveSeen:
    """What ``resolve_entity`` is made of. Entity numbers are survivors.

    ``exact``: who has the name exactly (T0), all of them. ``near``: read when there is none; the best 11 by (score,
    likeness, number), where T1 wins over T2. ``context_hits``: (entity, how many of the context entities are next to
    it in the live graph); who is missing has none.
    """

    scope: Scope
    freshness: Freshness
    exact: tuple[int, ...] = ()
    near: tuple[NearName, ...] = ()
    context_hits: tuple[tuple[int, int], ...] = ()
    entities: tuple[Entity, ...] = ()

    def __post_init__(self) -> None:
        require_unique((row.number for row in self.entities), "entity")
        require_unique((number for number, _hits in self.context_hits), "entity with context hits")
