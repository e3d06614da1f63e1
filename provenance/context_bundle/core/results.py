"""Rows as the envelope writes them (contract, sections B.4 to B.11)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from provenance.context_bundle.core.fusion import Testimony
from provenance.context_bundle.core.schema import Json, make
from provenance.context_bundle.core.seen import Chunk, Claim, Document, Entity, Fact, Text
from provenance.context_bundle.core.temporal import write_instant, write_instant_or_none

OPEN_VOCABULARY: Final = "other:"
"""Contract, section A.4: how a predicate begins that is no core predicate."""


def label(fact: Fact, entities: Mapping[int, Entity]) -> str:
    """What a person reads of it: the statement, or subject, predicate, object; the predicate when a name is missing."""
    if fact.statement is not None:
        return fact.statement.text
    predicate = fact.predicate.removeprefix(OPEN_VOCABULARY).replace("_", " ")
    ends = [entities[end].name.text for end in fact.ends if end in entities]
    return f"{ends[0]} {predicate} {ends[1]}" if len(ends) == 2 else predicate


def validity(fact: Fact) -> Json:
    return make(
        "Validity",
        valid_from=write_instant_or_none(fact.window.valid_from),
        valid_until=write_instant_or_none(fact.window.valid_until),
        valid_precision=fact.window.precision,
        ingested_at=write_instant(fact.ingested_at),
        invalidated_at=write_instant_or_none(fact.invalidated_at),
    )


def support(fact: Fact) -> str:
    """A fact that current testimony supports again is not withdrawn, whatever its row still says (section A.5)."""
    return "withdrawn" if fact.withdrawn and not fact.supports else "current"


def evidence_result(claim: Claim, document: Document, group: Testimony | None = None) -> Json:
    """A claim; with ``group`` as the representative of what says the same, without it as testimony of its own."""
    return make(
        "EvidenceResult",
        claim_id=claim.claim_id,
        doc_id=document.doc_id,
        chunk_id=claim.chunk_id,
        claim_text=claim.claim_text.text,
        source_span=claim.source_span.text,
        char_start=claim.char_start,
        char_end=claim.char_end,
        evidence_spans=[make("Span", char_start=start, char_end=end) for start, end in claim.spans],
        is_attributed=claim.is_attributed,
        is_current_testimony=claim.is_current,
        asserted_at=write_instant_or_none(claim.asserted_at),
        claim_valid_from=write_instant_or_none(claim.valid_from),
        claim_valid_until=write_instant_or_none(claim.valid_until),
        claim_valid_precision=claim.valid_precision,
        claim_valid_kind=claim.valid_kind,
        document_title=_text(document.title),
        source_kind=document.source_kind,
        corroboration_count=None if group is None else group.corroboration_count,
        grouped_claim_ids=[] if group is None else [each.claim_id for each in group.claims],
    )


def chunk_result(chunk: Chunk, document: Document) -> Json:
    return make(
        "ChunkEvidenceResult",
        chunk_id=chunk.chunk_id,
        doc_id=document.doc_id,
        version_id=chunk.version_id,
        representation_id=chunk.representation_id,
        chunk_text=chunk.chunk_text.text,
        context_prefix=_text(chunk.context_prefix),
        char_start=chunk.char_start,
        char_end=chunk.char_end,
        section_role=chunk.section_role,
        document_title=_text(document.title),
        source_kind=document.source_kind,
        source_modified_at=write_instant_or_none(chunk.source_modified_at),
        published_at=write_instant_or_none(chunk.published_at),
    )


def graph_node(entity: Entity, hops: int) -> Json:
    return make("GraphNode", entity_id=entity.entity_id, name=entity.name.text, hops=hops)


def _text(text: Text | None) -> str | None:
    return None if text is None or not text.text else text.text
