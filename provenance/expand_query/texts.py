"""The texts of a planned way down, read in its order while they are asked for. Call inside `snapshot()`.

A part of `lineage.py`, the only reader: it says which, this file reads them, TEXTS_AT_ONCE a statement.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, Final

from django.db import connection

from memoryconsole.models import Store
from memoryconsole.models.payloads import INGEST_PAYLOAD
from memoryconsole.times import write_stamp
from provenance.expand_query.core import Message, Node, Page, Payload
from provenance.expand_query.core.blocks import EXTERNALIZED_PAYLOAD, MESSAGE

TEXTS_AT_ONCE: Final = 200

# A payload stands in its row's stead when its owner is the request's session or the row's (contract, section B.5).
VISIBLE: Final = "p.session_id IN (%(session)s, r.session_id)"
HYDRATED: Final = f"p.kind <> %(ingest)s AND {VISIBLE}"

PAYLOAD_FACTS: Final = """
    json_build_object('ref', p.ref, 'kind', p.kind, 'tool_call_id', p.tool_call_id, 'role', p.role,
        'session_id', coalesce(o.session_id, ''), 'field_path', p.field_path, 'content_chars', char_length(p.content),
        'content_bytes', octet_length(p.content), 'created_at', p.created_at)::text"""

_TEXTS: Final = f"""
    SELECT 'ep', s.number, s.digest, s.summary, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
           json_build_array(s.depth, s.token_count, s.source_token_count, s.source_type, s.expand_hint,
               coalesce((SELECT max(source_index) + 1 FROM mc_summary_source AS l
                         WHERE l.store_id = s.store_id AND l.summary_id = s.id), 0))::text
    FROM mc_summary AS s
    WHERE s.store_id = %(store)s AND s.number = ANY(%(ep)s::bigint[]) AND s.deleted_at IS NULL
    UNION ALL
    SELECT 'mem', r.number, r.digest, r.content, n.session_id, r.session_id = %(session)s, r.channel, r.role,
           r.timestamp, r.tool_call_id, r.tool_name, r.tool_calls IS NOT NULL, r.conversation_id,
           CASE WHEN %(hydrate)s AND {HYDRATED} THEN p.content END, p.digest,
           CASE WHEN p.id IS NOT NULL THEN {PAYLOAD_FACTS} END
    FROM mc_record AS r
    LEFT JOIN mc_session AS n ON n.id = r.session_id
    LEFT JOIN mc_payload AS p ON p.id = r.payload_id AND {VISIBLE}
    LEFT JOIN mc_session AS o ON o.id = p.session_id
    WHERE r.store_id = %(store)s AND r.number = ANY(%(mem)s::bigint[]) AND r.deleted_at IS NULL
"""  # noqa: S608  (constants of this module)


@dataclass(frozen=True, slots=True)
class _Row:
    """A record as it was read. `hydrated`: its payload's text, when that stands in its stead."""

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

    def message(self) -> Message:
        """The row in a graph's block, its payload in its stead where that may be shown."""
        text = self.content if self.hydrated is None else self.hydrated
        return Message(
            store_id=self.number,
            session_id=self.session_id,
            source=self.channel,
            from_current_session=self.current,
            role=self.role,
            page=Page(content=text, content_chars=len(text)),
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
    statements: int = 0
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
        self.asked[f"mem:{number}"] = row.digest
        if row.hydrated is not None and row.payload is not None and row.payload_digest is not None:
            self.asked[f"payload:{row.payload.ref}"] = row.payload_digest
        return row

    def found(self, number: int, rank: int | None) -> Message:
        return self.row(number).found(rank)

    def _read(self, wanted: tuple[str, int]) -> None:
        """Read the text that is wanted and those that are asked for next. Raises KeyError outside the plan."""
        rest = (self.order[place] for place in range(self._places[wanted], len(self.order)))
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
        self.statements += 1
        for kind, number, digest, text, *columns in rows:
            if kind == "ep":
                self.read_nodes[number] = self._node(number, text, json.loads(columns[-1])), bytes(digest)
            else:
                self.rows[number] = _row(number, digest, text, columns)

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


def _row(number: int, digest: Any, content: str, columns: Sequence[Any]) -> _Row:
    (session_id, current, channel, role, timestamp, tool_call_id, tool_name, has_tool_calls, conversation_id, hydrated,
     payload_digest, facts) = columns  # fmt: skip
    return _Row(
        number=number,
        digest=bytes(digest),
        content=content,
        session_id=session_id or "",
        current=bool(current),
        channel=channel,
        role=role,
        timestamp=timestamp,
        tool_call_id=tool_call_id,
        tool_name=tool_name,
        has_tool_calls=has_tool_calls,
        conversation_id=conversation_id,
        hydrated=hydrated,
        payload_digest=None if payload_digest is None else bytes(payload_digest),
        payload=None if facts is None else read_payload_facts(json.loads(facts)),
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

    def __getitem__(self, number: int) -> Message:
        return self._texts.row(number).message()


def read_payload_facts(facts: Mapping[str, Any]) -> Payload:
    created_at = write_stamp(datetime.fromisoformat(facts["created_at"]))
    return Payload(**{**facts, "created_at": created_at})


def all_rows(statement: str, values: Sequence[Any] | Mapping[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())
