"""The values that enter the core: context blocks, and the session they were read for.

Rule 1: whatever enters is one of these frozen values; tuples, never lists. Rule 2: a value that breaks its
own rules cannot be built.

The reader makes the blocks once, inside its snapshot. From then on they are all there is: a synthesizer is
handed their JSON (shapes.py), the provenance is cut out of the values themselves (evidence.py), and nothing
that happens in between can change what the answer says it was given.

An id may be None, and an entry may be None, because blocks can also be read back from JSON that somebody
else wrote. A block the contract does not know, and an entry that is no object, keep their place as None:
places name what has no id. The product's own reader leaves none of them out.

Terms (contract, sections A to C): a *block* is one step of the way down from a summary; its *entries* are
children (summaries) or messages. A *source* is what a summary summarizes, ``source_index`` its place in the
summary's list, counted from 0 and never renumbered. A *hop* is one such place. A message is *hydrated* when
its payload is shown instead of the placeholder that stands in its row. An *offset* and every ``_chars`` is
in code points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

ChildrenType = Literal["child_nodes", "descendant_child_nodes"]
MessagesType = Literal["messages", "child_messages", "raw_messages"]
ScopeKind = Literal["current_session", "explicit_sessions"]

MESSAGE: Final = "message"
"""``content_source`` of a row's own text, and of an entry that names none (contract, section C.4)."""

RAW_SEARCH_HIT: Final = "raw_search_hit"
"""``content_source`` of a window around what a search found in a row."""

EXTERNALIZED_PAYLOAD: Final = "externalized_payload"
"""``content_source`` of a hydrated message: the text is its payload's."""

TRANSCRIPT_CONTENT: Final = "transcript_content"
"""``content_source`` of what stands in the row of a hydrated message."""

PATH_HOPS: Final = 8
"""Contract, sections B.6 and C.5: a path names its last eight hops and says how many there are."""


class InvalidBlocks(ValueError):
    """What was read contradicts itself."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One step down the graph: the summary stepped from, and the place taken in its list of sources."""

    node_id: int
    source_index: int

    def __post_init__(self) -> None:
        # JSON's true is an int to Python; to the graph it is no place.
        if type(self.node_id) is not int or type(self.source_index) is not int:
            raise InvalidBlocks(f"{self.node_id!r}, {self.source_index!r} is no hop")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePath:
    """The way from a root down to a block's node: its last hops, at most eight, and how many there were.

    A hop is None when it was there and cannot be told. ``truncated``: there were more hops than are here.
    """

    hops: tuple[Hop | None, ...] = ()
    depth: int = 0
    truncated: bool = False

    def __post_init__(self) -> None:
        if len(self.hops) > PATH_HOPS or self.depth < len(self.hops):
            raise InvalidBlocks(f"a path of depth {self.depth} with {len(self.hops)} hops")
        if self.depth > len(self.hops) and not self.truncated:
            raise InvalidBlocks(f"a whole path of depth {self.depth} with {len(self.hops)} hops")

    def step(self, hop: Hop | None) -> SourcePath:
        """The path that goes one hop further."""
        hops = (*self.hops, hop)
        dropped = len(hops) > PATH_HOPS
        return SourcePath(hops=hops[-PATH_HOPS:], depth=self.depth + 1, truncated=self.truncated or dropped)


ROOT: Final = SourcePath()
"""The path of a root: no hops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A stretch of a longer text: where it begins, what it says, how long the whole is."""

    content: str
    content_offset: int = 0
    content_chars: int

    def __post_init__(self) -> None:
        if not 0 <= self.content_offset <= self.end <= self.content_chars:
            raise InvalidBlocks(
                f"characters {self.content_offset} to {self.end} of a text of {self.content_chars}"
            )

    @property
    def end(self) -> int:
        return self.content_offset + len(self.content)

    @property
    def has_more(self) -> bool:
        return self.end < self.content_chars

    @property
    def next_content_offset(self) -> int:
        """Where the next page begins; 0 when this one ends the text."""
        return self.end if self.has_more else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """What is known of an externalized payload, without its text. Sizes: code points, bytes of UTF-8."""

    ref: str = ""
    kind: str = ""
    tool_call_id: str = ""
    role: str = ""
    session_id: str = ""
    field_path: str = ""
    content_chars: int | None = None
    content_bytes: int | None = None
    created_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphPagination:
    """Which of a node's sources its block shows, and where the rest begins (contract, section B.6).

    ``skipped_sources``: how many in this stretch were passed over because they are missing or foreign.
    """

    source_offset: int = 0
    content_offset: int = 0
    source_limit: int | None = None
    returned_sources: int = 0
    total_sources: int = 0
    next_source_offset: int = 0
    next_content_offset: int = 0
    has_more: bool = False
    remaining_sources: int = 0
    skipped_sources: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RawPagination:
    """How many of the search's hits are shown; ``next_store_id`` is the first that is not wholly shown."""

    has_more: bool = False
    returned_sources: int = 0
    total_sources: int = 0
    next_store_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryBlock:
    """A selected summary, cut to the budget it had. ``session_id`` '' = the request's."""

    node_id: int | None = None
    session_id: str = ""
    depth: int | None = None
    summary: str = ""
    summary_truncated: bool = False
    expand_hint: str = ""
    token_count: int | None = None
    path: SourcePath = ROOT


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A summary listed by its parent's block, cut to the budget that was left."""

    node_id: int | None = None
    source_index: int | None = None
    session_id: str = ""
    depth: int | None = None
    summary: str = ""
    summary_truncated: bool = False
    token_count: int | None = None
    source_token_count: int | None = None
    expand_hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildrenBlock:
    """The children of ``node_id``. A descended block also says by which place of which parent it was reached."""

    type: ChildrenType = "child_nodes"
    parent_node_id: int | None = None
    node_id: int | None = None
    depth: int | None = None
    source_index: int | None = None
    path: SourcePath = ROOT
    children: tuple[Child | None, ...] = ()
    pagination: GraphPagination | None = None


class Message(NamedTuple):
    """A row as the context shows it.

    ``page`` is what is shown: of the row's text, or of its payload's when ``content_source`` says so.
    ``transcript_content`` is the row's own text, given only when the payload is shown. ``externalized`` may
    be there without hydration. ``source`` is the row's channel. A block of a node leaves out what follows
    ``externalized`` where it is not given; ``match_window_offset`` is where the match begins in the whole text.

    No dataclass like the others: an answer holds a thousand of these, and a frozen one takes five times as long to
    make.
    """

    store_id: int | None = None
    source_index: int | None = None
    session_id: str = ""
    source: str = ""
    from_current_session: bool = True
    role: str = ""
    page: Page = Page(content="", content_chars=0)
    content_source: str = MESSAGE
    transcript_content: str | None = None
    externalized: Payload | None = None
    timestamp: str = ""
    search_rank: float | None = None
    match_window_offset: int | None = None
    tool_call_id: str = ""
    tool_name: str = ""
    tool_calls_omitted: bool = False

    @property
    def externalized_ref(self) -> str:
        return self.externalized.ref if self.externalized else ""

    def shown(self, place: int, page: Page) -> Message:
        """The row as a source at this place, with this much of its text."""
        return self._replace(source_index=place, page=page)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesBlock:
    """The messages under ``node_id``; for ``raw_messages`` what a search found, which no node owns."""

    type: MessagesType = "messages"
    parent_node_id: int | None = None
    node_id: int | None = None
    depth: int | None = None
    source_index: int | None = None
    path: SourcePath = ROOT
    messages: tuple[Message | None, ...] = ()
    pagination: GraphPagination | RawPagination | None = None

    def __post_init__(self) -> None:
        expected = RawPagination if self.type == "raw_messages" else GraphPagination
        if self.pagination is not None and not isinstance(self.pagination, expected):
            raise InvalidBlocks(f"{self.type} with {type(self.pagination).__name__}")


Block: TypeAlias = SummaryBlock | ChildrenBlock | MessagesBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Where was looked: the request's session, and the sessions that were searched, in request order.

    The two are kept apart: a summary without a session of its own belongs to the first.
    """

    session_id: str
    session_ids: tuple[str, ...]
    kind: ScopeKind = "current_session"

    def __post_init__(self) -> None:
        if self.kind not in ("current_session", "explicit_sessions") or not self.session_ids:
            raise InvalidBlocks(f"{self.kind!r} of {len(self.session_ids)} sessions is no scope")

    @classmethod
    def of_session(cls, session_id: str) -> Scope:
        """The scope of a request that names one session."""
        return cls(session_id=session_id, session_ids=(session_id,))
