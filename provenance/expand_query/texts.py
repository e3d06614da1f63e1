"""The texts of a planned way down, read in its order while they are asked for. Call inside `snapshot()`.

A part of `lineage.py`, the only reader: it says which, this file reads them, many a statement.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, Final, NamedTuple

from memoryconsole.models import Store
from memoryconsole.models.payloads import INGEST_PAYLOAD
from memoryconsole.statements import all_rows
from memoryconsole.times import write_stamp
from provenance.expand_query.core import Message, Node, Page, Payload
from provenance.expand_query.core.blocks import EXTERNALIZED_PAYLOAD, MESSAGE

FIRST_TEXTS: Final = 1500
"""What the default budget shows of messages of a line each, and a little more. A plan ends where its texts must come to
the budget, so that they are no more than that and the ones that go beyond it.
"""

TEXTS_AT_ONCE: Final = 250
"""Of those that follow: a plan is longer than what is asked of it."""

# A payload stands in its row's stead when its owner is the request's session or the row's (contract, section B.5).
VISIBLE: Final = "p.session_id IN (%(session)s, r.session_id)"
HYDRATED: Final = f"p.kind <> %(ingest)s AND {VISIBLE}"

PAYLOAD_FACTS: Final = """
    json_build_object('ref', p.ref, 'kind', p.kind, 'tool_call_id', p.tool_call_id, 'role', p.role,
        'session_id', coalesce(o.session_id, ''), 'field_path', p.field_path, 'content_chars', char_length(p.content),
        'content_bytes', octet_length(p.content), 'created_at', p.created_at)::text"""


def select_texts(ep: str, mem: str) -> str:
    """The statement that reads the texts of these summaries and records, SQL of an array of numbers each."""
    return f"""
    SELECT 'ep', s.number, s.digest, s.summary, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
           json_build_array(s.depth, s.token_count, s.source_token_count, s.source_type, s.expand_hint,
               coalesce((SELECT max(source_index) + 1 FROM mc_summary_source AS l
                         WHERE l.store_id = s.store_id AND l.summary_id = s.id), 0))::text
    FROM mc_summary AS s
    WHERE s.store_id = %(store)s AND s.number = ANY({ep}) AND s.deleted_at IS NULL
    UNION ALL
    SELECT 'mem', r.number, r.digest, r.content, coalesce(n.session_id, ''),
           coalesce(r.session_id = %(session)s, FALSE), r.channel, r.role,
           r.timestamp, r.tool_call_id, r.tool_name, r.tool_calls IS NOT NULL, r.conversation_id,
           CASE WHEN %(hydrate)s AND {HYDRATED} THEN p.content END, p.digest,
           CASE WHEN p.id IS NOT NULL THEN {PAYLOAD_FACTS} END
    FROM mc_record AS r
    LEFT JOIN mc_session AS n ON n.id = r.session_id
    LEFT JOIN mc_payload AS p ON p.id = r.payload_id AND {VISIBLE}
    LEFT JOIN mc_session AS o ON o.id = p.session_id
    WHERE r.store_id = %(store)s AND r.number = ANY({mem}) AND r.deleted_at IS NULL
"""  # noqa: S608  (constants of this module)


_TEXTS: Final = select_texts("%(ep)s::bigint[]", "%(mem)s::bigint[]")


class _Row(NamedTuple):
    """A record as it was read, its columns in their order. `hydrated`: its payload's text, when that stands in its
    stead.
    """

    kind: str
    number: int
    digest: bytes
    content: str
    session_id: str
    current: bool
    channel: str
    role: str
    timestamp: str
    tool_call_id: str
    tool_name: str
    has_tool_calls: bool
    conversation_id: str
    hydrated: str | None
    payload_digest: bytes | None
    payload: Payload | None

    @property
    def page(self) -> Page:
        """All of the text that stands in a graph's block: its payload's where that may be shown."""
        text = self.content if self.hydrated is None else self.hydrated
        return Page(content=text, content_chars=len(text))

    def shown(self, place: int, page: Page) -> Message:
        """The row in a graph's block, at this place among its sources, with this much of its text."""
        return Message(
            store_id=self.number,
            source_index=place,
            session_id=self.session_id,
            source=self.channel,
            from_current_session=self.current,
            role=self.role,
            page=page,
            content_source=MESSAGE if self.hydrated is None else EXTERNALIZED_PAYLOAD,
            transcript_content=None if self.hydrated is None else self.content,
            externalized=self.payload,
        )

    def found(self, rank: int | None) -> Message:
        """The row as a search found it, or as it is opened: its own text, and what belongs to the row alone."""
        return Message(
            store_id=self.number,
            session_id=self.session_id,
            source=self.channel,
            from_current_session=self.current,
            role=self.role,
            page=Page(content=self.content, content_chars=len(self.content)),
            externalized=self.payload if rank is None else None,
            timestamp=self.timestamp,
            search_rank=rank,
            tool_call_id=self.tool_call_id,
            tool_name=self.tool_name,
            tool_calls_omitted=self.has_tool_calls,
        )


@dataclass(slots=True)
class Texts:
    """The texts of a plan, read in its order while they are asked for.

    `order`: (kind, number), each once. `sources`: what the plan lists of a visited summary's; of others nothing is
    listed. `asked`: the digest of every text that was asked for, by ref.
    """

    store: Store
    session: int
    order: list[tuple[str, int]]
    sources: dict[int, list[int | None]]
    hydrate: bool = True
    rows: dict[int, _Row] = field(default_factory=dict)
    read_nodes: dict[int, tuple[Node, bytes]] = field(default_factory=dict)
    asked: dict[str, bytes] = field(default_factory=dict)
    nodes: "_Nodes" = field(init=False)
    messages: "_Messages" = field(init=False)
    _places: dict[tuple[str, int], int] = field(init=False)

    def __post_init__(self) -> None:
        self.nodes, self.messages = _Nodes(self), _Messages(self)
        self._places = {each: place for place, each in enumerate(self.order)}

    def node(self, number: int) -> Node:
        if number not in self.read_nodes:
            self._read(("ep", number))
        node, digest = self.read_nodes[number]
        self.asked[f"ep:{number}"] = digest
        return node

    def row(self, number: int) -> _Row:
        if number not in self.rows:
            self._read(("mem", number))
        row = self.rows[number]
        self.asked[f"mem:{number}"] = bytes(row.digest)
        if row.hydrated is not None and row.payload is not None and row.payload_digest is not None:
            self.asked[f"payload:{row.payload.ref}"] = bytes(row.payload_digest)
        return row

    def found(self, number: int, rank: int | None) -> Message:
        return self.row(number).found(rank)

    def _read(self, wanted: tuple[str, int]) -> None:
        """Read the text that is wanted and those that are asked for next. Raises KeyError outside the plan."""
        rest = islice(self.order, self._places[wanted], None)
        batch = list(islice((each for each in rest if not self._has(each)), TEXTS_AT_ONCE))
        rows = all_rows(
            _TEXTS,
            {
                "store": self.store.pk,
                "session": self.session,
                "hydrate": self.hydrate,
                "ingest": INGEST_PAYLOAD,
                "ep": [number for kind, number in batch if kind == "ep"],
                "mem": [number for kind, number in batch if kind == "mem"],
            },
        )
        self.keep(rows)

    def keep(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Take rows of `select_texts`, read before they are asked for."""
        for row in rows:
            kind, number, digest, text, facts = row[0], row[1], row[2], row[3], row[-1]
            if kind == "ep":
                self.read_nodes[number] = self._node(number, text, json.loads(facts)), bytes(digest)
            elif facts is None:
                self.rows[number] = _Row._make(row)
            else:
                self.rows[number] = _Row._make((*row[:-1], read_payload_facts(json.loads(facts))))

    def _has(self, each: tuple[str, int]) -> bool:
        kind, number = each
        return number in (self.read_nodes if kind == "ep" else self.rows)

    def _node(self, number: int, summary: str, facts: list[Any]) -> Node:
        depth, token_count, source_token_count, source_type, hint, total = facts
        return Node(
            node_id=number,
            depth=depth,
            summary=summary,
            expand_hint=hint,
            token_count=token_count,
            source_token_count=source_token_count,
            source_type=source_type,
            sources=tuple(self.sources.get(number, ())),
            total_sources=total,
        )


class _Asked(Mapping[int, Any]):
    """One kind of a plan's texts, by number."""

    kind: str

    def __init__(self, texts: Texts) -> None:
        self._texts = texts

    def __iter__(self) -> Iterator[int]:
        return (number for kind, number in self._texts.order if kind == self.kind)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Nodes(_Asked):
    kind = "ep"

    def __getitem__(self, number: int) -> Node:
        return self._texts.node(number)


class _Messages(_Asked):
    kind = "mem"

    def __getitem__(self, number: int) -> _Row:
        return self._texts.row(number)


def read_payload_facts(facts: Mapping[str, Any]) -> Payload:
    created_at = write_stamp(datetime.fromisoformat(facts["created_at"]))
    return Payload(**{**facts, "created_at": created_at})
