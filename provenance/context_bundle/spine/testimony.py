"""What sources say, as rows: claims with their documents, current passages, and the claims that back a fact."""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from memoryconsole.models import Store
from memoryconsole.statements import all_rows, unpacked
from provenance.context_bundle.core.seen import Backing, Chunk, Claim, Document, Text
from provenance.context_bundle.core.temporal import Scope
from provenance.context_bundle.spine.anchors import Anchor
from provenance.context_bundle.spine.sql import (
    CURRENT_PASSAGE,
    CURRENT_TESTIMONY,
    IN_CLAIM,
    MENTIONED,
    PASSAGE,
    SAID,
    Keys,
    in_words,
)
from provenance.context_bundle.spine.words import stored_text, text_of

# A claim is tied to whom its passage mentions in its words, or as a whole; so it is to whom a passage mentions in
# which it was found again. A passage is tied to whomever it mentions.
_ABOUT: Final = f"""
    WITH kin (anchor, member) AS (SELECT * FROM unnest(%(anchors)s::bigint[], %(members)s::bigint[])),
    m AS MATERIALIZED (
        SELECT DISTINCT k.anchor, n.record_id, n.since, n.until
        FROM kin AS k JOIN ({MENTIONED}) AS n ON n.entity_id = k.member WHERE n.record_id IS NOT NULL),
    tied AS (
        SELECT m.anchor, c.id FROM m JOIN mc_claim AS c ON c.record_id = m.record_id WHERE {IN_CLAIM}
        UNION
        SELECT m.anchor, o.claim_id FROM m JOIN mc_claim_occurrence AS o ON o.record_id = m.record_id
        WHERE {in_words("o.spans")})
    SELECT 'claims', t.anchor, string_agg(int8send(c.id), ''::bytea)
    FROM tied AS t, {SAID}
    WHERE c.id = t.id AND c.ingested_at <= %(believed_at)s AND (%(superseded)s OR {CURRENT_TESTIMONY})
    GROUP BY t.anchor
    UNION ALL
    SELECT 'chunks', mentioned.anchor, string_agg(int8send(r.id), ''::bytea)
    FROM (SELECT DISTINCT anchor, record_id FROM m) AS mentioned, {PASSAGE}
    WHERE r.id = mentioned.record_id AND r.believed_at <= %(believed_at)s AND {CURRENT_PASSAGE}
    GROUP BY mentioned.anchor
"""  # noqa: S608  (constants)

_CLAIMS_ADMITTED: Final = f"""
    SELECT c.id FROM {SAID}
    WHERE c.store_id = %(store)s AND c.id = ANY(%(keys)s) AND c.ingested_at <= %(believed_at)s
        AND (%(superseded)s OR {CURRENT_TESTIMONY})
"""  # noqa: S608  (constants)

_CHUNKS_ADMITTED: Final = f"""
    SELECT r.id FROM {PASSAGE}
    WHERE r.store_id = %(store)s AND r.id = ANY(%(keys)s) AND r.believed_at <= %(believed_at)s AND {CURRENT_PASSAGE}
"""  # noqa: S608  (constants)

_CLAIM_COLUMNS: Final = f"""
    c.number, c.uuid::text, r.uuid::text, c.claim_text, c.source_span, c.char_start, c.char_end, c.spans::text,
    {CURRENT_TESTIMONY}, c.is_attributed, c.asserted_at, c.valid_from, c.valid_until, c.valid_precision, c.valid_kind,
    d.number, d.uuid::text, d.source_kind, d.title, d.deleted_at IS NULL, r.number, r.digest
"""

_CLAIM_ROWS: Final = f"""
    SELECT c.id, {_CLAIM_COLUMNS} FROM {SAID} WHERE c.store_id = %(store)s AND c.id = ANY(%(keys)s)
"""  # noqa: S608  (constants)

# A record of a conversation is its own representation, and its document is its session, or its source outside of any.
_CHUNK_ROWS: Final = rf"""
    SELECT r.id, r.number, r.uuid::text, coalesce(v.uuid, w.uuid)::text, coalesce(v.representation_uuid, r.uuid)::text,
           r.digest, coalesce(p.char_start, 0), p.context_prefix, p.section_role, v.source_modified_at, v.published_at,
           h.number, h.uuid::text, h.source_kind, h.title, {CURRENT_PASSAGE} AND h.deleted_at IS NULL
    FROM {PASSAGE}
    LEFT JOIN LATERAL (
        SELECT d.* WHERE d.id IS NOT NULL
        UNION ALL
        SELECT s.* FROM mc_document AS s
        WHERE p.record_id IS NULL AND s.store_id = r.store_id AND s.session_id = r.session_id
        UNION ALL
        SELECT o.* FROM mc_document AS o
        WHERE p.record_id IS NULL AND r.session_id IS NULL AND o.session_id IS NULL
            AND o.source_kind = 'conversation' AND o.store_id = r.store_id AND o.source_type = r.source_type
            AND sha256(decode(replace(o.source_id, '\', '\\'), 'escape'))
                = sha256(decode(replace(r.source_id, '\', '\\'), 'escape'))) AS h ON TRUE
    LEFT JOIN mc_document_version AS w ON p.record_id IS NULL AND w.document_id = h.id AND w.superseded_at IS NULL
        AND w.deleted_at IS NULL
    WHERE r.store_id = %(store)s AND r.id = ANY(%(keys)s)
"""  # noqa: S608  (constants)

_CHUNK_TEXTS: Final = "SELECT id, content FROM mc_record WHERE store_id = %(store)s AND id = ANY(%(keys)s)"


@dataclass(slots=True)
class Passages:
    """The records behind what is quoted: their numbers by the ids of claims and of chunks, and their digests."""

    of_claims: dict[str, int] = field(default_factory=dict)
    of_chunks: dict[str, int] = field(default_factory=dict)
    digests: dict[int, bytes] = field(default_factory=dict)

    def add_claim(self, columns: Sequence[Any]) -> None:
        """From the columns of _CLAIM_COLUMNS."""
        claim_id, record, digest = columns[1], columns[20], columns[21]
        self.of_claims[claim_id] = record
        self.digests[record] = bytes(digest)


@dataclass(slots=True)
class Testimony:
    """The claims and passages read for an answer. Primary keys in, rows out.

    `superseded`: claims that their sources no longer make are asked for too. Only what was stored by the scope's
    belief instant is nominated.
    """

    store: Store
    scope: Scope
    superseded: bool = False
    documents: dict[int, Document] = field(default_factory=dict)
    claims: dict[int, Claim] = field(default_factory=dict)
    chunks: dict[int, Chunk] = field(default_factory=dict)
    touched: dict[str, dict[int, Keys]] = field(default_factory=dict)
    passages: Passages = field(default_factory=Passages)
    columns: dict[int, tuple[int, Sequence[Any], tuple[int, ...]]] = field(default_factory=dict)
    titled: dict[int, Document] = field(default_factory=dict)

    @property
    def _values(self) -> dict[str, Any]:
        return {
            "store": self.store.pk,
            "believed_at": self.scope.believed_at,
            "superseded": self.superseded,
        }

    def about(self, anchors: Sequence[Anchor]) -> None:
        """Find out which claims and passages each anchor is mentioned in (one statement)."""
        pairs = [(anchor.entity.number, member) for anchor in anchors for member in anchor.members]
        values = {"anchors": [number for number, _ in pairs], "members": [member for _, member in pairs]}
        touched: dict[str, dict[int, Keys]] = {"claims": {}, "chunks": {}}
        for part, anchor, keys in all_rows(_ABOUT, self._values | values):
            touched[part][anchor] = np.unique(unpacked(keys))
        self.touched = touched

    def admits_claims(self, keys: Collection[int]) -> set[int]:
        rows = all_rows(_CLAIMS_ADMITTED, self._values | {"keys": list(keys)})
        return {pk for (pk,) in rows}

    def admits_chunks(self, keys: Collection[int]) -> set[int]:
        rows = all_rows(_CHUNKS_ADMITTED, self._values | {"keys": list(keys)})
        return {pk for (pk,) in rows}

    def fetch_claims(self, keys: Iterable[int]) -> None:
        """Read these claims and their documents (one statement, none when there are none), for now without the words
        of their sources: `complete_claims` has them.
        """
        wanted = list(dict.fromkeys(keys))
        if not wanted:
            return
        touches = self._touches("claims", wanted)
        for pk, *columns in all_rows(_CLAIM_ROWS, {"store": self.store.pk, "keys": wanted}):
            document, is_live = document_of_claim(columns, self.titled)
            self.columns[columns[0]] = (pk, columns, touches.get(pk, ()))
            self.claims[pk] = claim_row(columns, touches.get(pk, ()), whole=False)
            if is_live or self.superseded:
                self.documents[document.number] = document

    def complete_claims(self, numbers: Iterable[int]) -> None:
        """Give the claims that are shown the words of their sources (no statement)."""
        for number in numbers:
            pk, columns, touches = self.columns[number]
            self.claims[pk] = claim_row(columns, touches)
            self.passages.add_claim(columns)

    def fetch_chunks(self, keys: Iterable[int]) -> None:
        """Read these passages and their documents (one statement, none when there are none), for now without their
        texts: `complete_chunks` has them. Until then a passage is of no length.
        """
        wanted = list(dict.fromkeys(keys))
        if not wanted:
            return
        touches = self._touches("chunks", wanted)
        for pk, *columns in all_rows(_CHUNK_ROWS, {"store": self.store.pk, "keys": wanted}):
            read = _chunk_row(columns, touches.get(pk, ()))
            if read is not None:
                chunk, document = read
                self.chunks[pk] = chunk
                self.passages.of_chunks[chunk.chunk_id] = chunk.number
                self.passages.digests[chunk.number] = columns[4]
                self.documents[document.number] = document

    def complete_chunks(self, numbers: Collection[int]) -> None:
        """Give the passages that are shown their texts (one statement, none when there are none)."""
        keys = [pk for pk, chunk in self.chunks.items() if chunk.number in numbers]
        if not keys:
            return
        for pk, text in all_rows(_CHUNK_TEXTS, {"store": self.store.pk, "keys": keys}):
            chunk = self.chunks[pk]
            whole = stored_text(f"mem:{chunk.number}", text, self.passages.digests[chunk.number])
            self.chunks[pk] = replace(chunk, chunk_text=whole, char_end=chunk.char_start + len(text))

    def _touches(self, part: str, keys: Sequence[int]) -> dict[int, tuple[int, ...]]:
        """The anchors that each of these touches."""
        wanted = np.array(keys, dtype=np.int64)
        touches: dict[int, tuple[int, ...]] = {}
        for anchor, tied in self.touched.get(part, {}).items():
            for key in wanted[np.isin(wanted, tied)].tolist():
                touches[key] = (*touches.get(key, ()), anchor)
        return touches


UNREAD: Final = Text(ref="", digest="", text="")
"""Stands for a text that was not read, since it is not shown."""


def claim_row(columns: Sequence[Any], touches: tuple[int, ...] = (), *, whole: bool = True) -> Claim:
    """A claim from the columns of _CLAIM_COLUMNS. Not `whole`: without the words of its source, which only a claim that
    is shown shows, and as of no length there.
    """
    (number, claim_id, chunk_id, claim_text, source_span, start, end, spans, is_current, is_attributed, asserted_at,
     valid_from, valid_until, precision, kind, document) = columns[:16]  # fmt: skip
    return Claim(
        number=number,
        claim_id=claim_id,
        document=document,
        chunk_id=chunk_id,
        claim_text=text_of(f"claim:{claim_id}", claim_text),
        source_span=text_of(f"span:{claim_id}", source_span) if whole else UNREAD,
        char_start=start,
        char_end=end if whole else start,
        spans=tuple((first, last) for first, last in json.loads(spans)) if whole else ((start, start),),
        is_current=is_current,
        is_attributed=is_attributed,
        asserted_at=asserted_at,
        valid_from=valid_from,
        valid_until=valid_until,
        valid_precision=precision,
        valid_kind=kind,
        touches=touches,
    )


def document_of_claim(columns: Sequence[Any], known: dict[int, Document]) -> tuple[Document, bool]:
    """A claim's document, made once, and whether it is live."""
    number, doc_id, source_kind, title, is_live = columns[15:20]
    if number not in known:
        known[number] = _document(number, doc_id, source_kind, title)
    return known[number], is_live


def _chunk_row(columns: Sequence[Any], touches: tuple[int, ...]) -> tuple[Chunk, Document] | None:
    """A passage and its document; None for one that is not current, or of no live document."""
    (number, chunk_id, version_id, representation_id, _digest, start, prefix, role, modified_at, published_at, document,
     doc_id, source_kind, title, is_current) = columns  # fmt: skip
    if not is_current or version_id is None:
        return None
    chunk = Chunk(
        number=number,
        chunk_id=chunk_id,
        document=document,
        version_id=version_id,
        representation_id=representation_id,
        chunk_text=UNREAD,
        char_start=start,
        char_end=start,
        context_prefix=text_of(f"prefix:{number}", prefix) if prefix else None,
        section_role=role,
        source_modified_at=modified_at,
        published_at=published_at,
        touches=touches,
    )
    return chunk, _document(document, doc_id, source_kind, title)


def _document(number: int, doc_id: str, source_kind: str, title: str) -> Document:
    named = text_of(f"document:{doc_id}", title) if title else None
    return Document(number=number, doc_id=doc_id, source_kind=source_kind, title=named)


# Of each lineage the latest current claim stands for it, and the latest lineages come first (contract, section C.3).
_BACKING: Final = f"""
    SELECT fact, stance, {_CLAIM_COLUMNS}
    FROM (
        SELECT fact, stance, claim, row_number() OVER (
            PARTITION BY fact, stance ORDER BY asserted_at DESC NULLS LAST, document, number) AS place
        FROM (
            SELECT DISTINCT ON (f.number, x.stance, d.number) f.number AS fact, x.stance, c.id AS claim, c.asserted_at,
                   d.number AS document, c.number
            FROM mc_fact AS f JOIN mc_fact_evidence AS x ON x.fact_id = f.id, {SAID}
            WHERE f.store_id = %(store)s AND f.number = ANY(%(facts)s) AND c.id = x.claim_id AND {CURRENT_TESTIMONY}
            ORDER BY f.number, x.stance, d.number, c.asserted_at DESC NULLS LAST, c.number) AS lineage) AS ranked,
        {SAID}
    WHERE c.id = claim AND place <= %(each)s
    ORDER BY fact, stance, place
"""  # noqa: S608  (constants)


def read_backing(
    store: Store, facts: Sequence[int], each: int, passages: Passages
) -> tuple[tuple[Backing, ...], tuple[Claim, ...], tuple[Document, ...]]:
    """Of each of these facts (numbers) and each stance the claims of its best `each` lineages (one statement)."""
    if not facts:
        return (), (), ()
    values = {"store": store.pk, "facts": list(facts), "each": each}
    backing: list[Backing] = []
    claims: dict[int, Claim] = {}
    documents: dict[int, Document] = {}
    for fact, stance, *columns in all_rows(_BACKING, values):
        number = columns[0]
        backing.append(Backing(fact=fact, claim=number, stance=stance))
        document_of_claim(columns, documents)
        if number not in claims:
            claims[number] = claim_row(columns)
            passages.add_claim(columns)
    return tuple(backing), tuple(claims.values()), tuple(documents.values())
