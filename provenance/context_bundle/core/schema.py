"""The closed models of the envelope, as one table (contract, sections B.1 to B.15 and H).

Rule 1: every key of a model is always there, and no other. Rule 2: the JSON Schema, the order of keys and ``make``
all come from ``MODELS``, so none of them can say otherwise than the others.
"""

from __future__ import annotations

from typing import Any, Final

Json = dict[str, Any]

CO_MEMBERS_MAX: Final = 25
"""Contract, section E.2: so many co-members stand in a contradiction block."""

ENVELOPE: Final = "Envelope"
BUNDLE: Final = "ContextBundle"
CONTRACT: Final = "ContextBundle/v2"

_HEX: Final = "[0-9a-f]"
_UUID: Final = {"type": "string", "pattern": f"^{_HEX}{{8}}(-{_HEX}{{4}}){{3}}-{_HEX}{{12}}$"}
_INSTANT: Final = {
    "type": "string",
    "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?Z$",
}
_TEXT: Final = {"type": "string"}
_SAID: Final = {"type": "string", "minLength": 1}
_COUNT: Final = {"type": "integer", "minimum": 0}
_POSITIVE: Final = {"type": "integer", "minimum": 1}
_NUMBER: Final = {"type": "number"}
_FLAG: Final = {"type": "boolean"}


def _of(model: str) -> Json:
    return {"$ref": f"#/$defs/{model}"}


def _many(item: Json, **bounds: int) -> Json:
    return {"type": "array", "items": item, **bounds}


def _one_of(*words: str) -> Json:
    return {"type": "string", "enum": list(words)}


def _or_null(schema: Json) -> Json:
    if "$ref" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    if "enum" in schema:
        return {"enum": [*schema["enum"], None]}
    return {**schema, "type": [schema["type"], "null"]}


_PRECISION: Final = _one_of("unknown", "instant", "day", "month", "quarter", "year", "open")
_FACT_KIND: Final = _one_of("relation", "observation")
_STANCE: Final = _one_of("supports", "contradicts")
_SUPPORT: Final = _one_of("current", "withdrawn")

MODELS: Final[dict[str, dict[str, Json]]] = {
    "EntityCandidate": {
        "entity_id": _UUID,
        "canonical_name": _TEXT,
        "tier": _one_of("T0", "T1", "T2", "T3"),
        "context_hits": _COUNT,
    },
    "Validity": {
        "valid_from": _or_null(_INSTANT),
        "valid_until": _or_null(_INSTANT),
        "valid_precision": _PRECISION,
        "ingested_at": _INSTANT,
        "invalidated_at": _or_null(_INSTANT),
    },
    "CoMember": {
        "fact_id": _UUID,
        "kind": _FACT_KIND,
        "label": _TEXT,
        "evidence_count": _COUNT,
        "validity": _of("Validity"),
    },
    "Contradiction": {
        "group_id": _UUID,
        "co_members": _many(_of("CoMember"), maxItems=CO_MEMBERS_MAX),
        "returned": _COUNT,
        "total": _COUNT,
        "continuation": _or_null(_TEXT),
    },
    "FactResult": {
        "fact_id": _UUID,
        "kind": _FACT_KIND,
        "label": _TEXT,
        "evidence_count": _COUNT,
        "validity": _of("Validity"),
        "temporal_match": _one_of("confirmed", "possible"),
        "contradiction_group": _or_null(_UUID),
        "contradiction": _or_null(_of("Contradiction")),
        "support": _SUPPORT,
    },
    "Span": {"char_start": _COUNT, "char_end": _POSITIVE},
    "EvidenceResult": {
        "claim_id": _UUID,
        "doc_id": _UUID,
        "chunk_id": _UUID,
        "claim_text": _TEXT,
        "source_span": _TEXT,
        "char_start": _COUNT,
        "char_end": _POSITIVE,
        "evidence_spans": _many(_of("Span"), minItems=1),
        "is_attributed": _FLAG,
        "is_current_testimony": _FLAG,
        "asserted_at": _or_null(_INSTANT),
        "claim_valid_from": _or_null(_INSTANT),
        "claim_valid_until": _or_null(_INSTANT),
        "claim_valid_precision": _PRECISION,
        "claim_valid_kind": _or_null(
            _one_of("proposition_validity", "event_time", "measurement_period", "effective_period")
        ),
        "document_title": _or_null(_TEXT),
        "source_kind": _or_null(_TEXT),
        "corroboration_count": _or_null(_POSITIVE),
        "grouped_claim_ids": _many(_UUID),
    },
    "FactEvidence": {"fact_kind": _FACT_KIND, "fact_id": _UUID, "claim_id": _UUID, "stance": _STANCE},
    "EvidenceTotal": {
        "fact_kind": _FACT_KIND,
        "fact_id": _UUID,
        "stance": _STANCE,
        "returned": _COUNT,
        "total": _COUNT,
    },
    "ChunkEvidenceResult": {
        "chunk_id": _UUID,
        "doc_id": _UUID,
        "version_id": _UUID,
        "representation_id": _UUID,
        "chunk_text": _TEXT,
        "context_prefix": _or_null(_TEXT),
        "char_start": _COUNT,
        "char_end": _COUNT,
        "section_role": _or_null(_TEXT),
        "document_title": _or_null(_TEXT),
        "source_kind": _TEXT,
        "source_modified_at": _or_null(_INSTANT),
        "published_at": _or_null(_INSTANT),
    },
    "SourceRecord": {
        "doc_id": _UUID,
        "title": _or_null(_TEXT),
        "source_kind": _TEXT,
        "markdown_uri": _or_null(_TEXT),
        "mention_count": _or_null(_COUNT),
        "first_mentioned_at": _or_null(_INSTANT),
        "last_mentioned_at": _or_null(_INSTANT),
    },
    "TranscriptEntry": {
        "subject_kind": _one_of("relation", "observation", "entity", "k_page"),
        "outcome": _TEXT,
        "method": _TEXT,
        "confidence": _or_null(_NUMBER),
        "related_id": _or_null(_UUID),
        "decided_by": _one_of("auto", "human"),
        "decided_at": _INSTANT,
        "features": {"type": ["object", "null"]},
    },
    "GraphNode": {"entity_id": _UUID, "name": _TEXT, "hops": _COUNT},
    "GraphEdge": {
        "relation_id": _UUID,
        "subject_id": _UUID,
        "object_id": _UUID,
        "predicate": _TEXT,
        "fact": _or_null(_TEXT),
        "evidence_count": _COUNT,
        "valid_from": _or_null(_INSTANT),
        "valid_until": _or_null(_INSTANT),
        "valid_precision": _PRECISION,
        "ingested_at": _or_null(_INSTANT),
        "invalidated_at": _or_null(_INSTANT),
        "support": _SUPPORT,
    },
    "GraphPath": {
        "length": _POSITIVE,
        "nodes": _many(_of("GraphNode"), minItems=2),
        "edges": _many(_of("GraphEdge"), minItems=1),
    },
    "RankedItem": {
        "item_id": _UUID,
        "score": _NUMBER,
        "signals": {"type": "object", "additionalProperties": _NUMBER},
    },
    "ChangeRecord": {
        "kind": _one_of("relation", "observation", "claim", "page"),
        "change": _one_of("new", "invalidated", "capped", "recompiled"),
        "id": _UUID,
        "label": _or_null(_TEXT),
        "at": _INSTANT,
    },
    "AggregateBucket": {
        "key": _or_null(_TEXT),
        "count": _COUNT,
        "possible_count": _COUNT,
        "entity_id": _or_null(_UUID),
    },
    "AggregateReport": {
        "form": _TEXT,
        "buckets": _many(_of("AggregateBucket")),
        "total": _COUNT,
        "possible_total": _COUNT,
        "bounded_by": _or_null(_TEXT),
    },
    "PageRef": {
        "artifact_id": _UUID,
        "page_kind": _TEXT,
        "git_path": _or_null(_TEXT),
        "page_summary": _or_null(_TEXT),
        "last_compiled_at": _or_null(_INSTANT),
        "status": _TEXT,
        "stale": _FLAG,
        "open_review_flags": _COUNT,
        "redaction_required": _FLAG,
    },
    "CompiledFreshness": {"compiled_at": _or_null(_INSTANT), "stale": _FLAG, "open_flags": _COUNT},
    "Freshness": {
        "pg_live_ts": _INSTANT,
        "p1_written_inline": _FLAG,
        "p1_believed_at_horizon": _or_null(_INSTANT),
        "k": _or_null(_of("CompiledFreshness")),
    },
    "Truncation": {
        "truncated": _FLAG,
        "returned": _COUNT,
        "estimated_total": _COUNT,
        "total_is_exact": _FLAG,
        "continuation": _or_null(_TEXT),
        "reason": _or_null(_TEXT),
    },
    "Negative": {
        "kind": _one_of("unknown_entity", "known_empty", "boundary"),
        "explanation": _SAID,
        "workaround": _or_null(_TEXT),
    },
    ENVELOPE: {
        "grain": _one_of("fact", "evidence", "compiled", "composite"),
        "temporal_scope": _of("TemporalScope"),
        "entities": _many(_of("EntityCandidate")),
        "facts": _many(_of("FactResult")),
        "evidence": _many(_of("EvidenceResult")),
        "fact_evidence": _many(_of("FactEvidence")),
        "evidence_totals": _many(_of("EvidenceTotal")),
        "chunks": _many(_of("ChunkEvidenceResult")),
        "sources": _many(_of("SourceRecord")),
        "transcript": _many(_of("TranscriptEntry")),
        "nodes": _many(_of("GraphNode")),
        "paths": _many(_of("GraphPath")),
        "edges": _many(_of("GraphEdge")),
        "ranking": _many(_of("RankedItem")),
        "changes": _many(_of("ChangeRecord")),
        "aggregate": _or_null(_of("AggregateReport")),
        "pages": _many(_of("PageRef")),
        "freshness": _of("Freshness"),
        "truncation": _or_null(_of("Truncation")),
        "dropped_by_hydration": _COUNT,
        "excluded_unstamped": _COUNT,
        "negative": _or_null(_of("Negative")),
    },
    BUNDLE: {"contract": {"const": CONTRACT}, "claims_and_sources": _of(ENVELOPE), "facts": _of(ENVELOPE)},
}

SCOPES: Final[dict[str, tuple[str, ...]]] = {
    "current": (),
    "at": ("at",),
    "overlap": ("from", "to"),
    "history": (),
    "as_of": ("valid_at",),
}
"""The world coordinates of each mode (contract, section B.3)."""

ARRAYS: Final = tuple(name for name, each in MODELS[ENVELOPE].items() if each.get("type") == "array")


class NotClosed(ValueError):
    """A value with other keys than its model has."""


def make(model: str, **members: Any) -> Json:
    """A value of the model, its keys in the table's order. Raises NotClosed unless they are exactly the model's."""
    names = MODELS[model]
    if members.keys() != names.keys():
        raise NotClosed(f"{model}: {sorted(members.keys() ^ names.keys())}")
    return {name: members[name] for name in names}


def _closed(properties: Json) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _scope(mode: str, coordinates: tuple[str, ...]) -> Json:
    return _closed(
        {
            "mode": {"const": mode},
            **dict.fromkeys((*coordinates, "evaluated_at", "believed_at"), _INSTANT),
            "identity_regime": _one_of("current", "as_of"),
        }
    )


def _schema(model: str) -> Json:
    definitions = {name: _closed(properties) for name, properties in MODELS.items() if name != BUNDLE}
    scopes = [_scope(mode, coordinates) for mode, coordinates in SCOPES.items()]
    top = definitions.pop(ENVELOPE) if model == ENVELOPE else _closed(MODELS[model])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": model,
        **top,
        "$defs": {**definitions, "TemporalScope": {"oneOf": scopes}},
    }


SCHEMA: Final = _schema(ENVELOPE)
"""JSON Schema (draft 2020-12) of an envelope: closed, every key required."""

BUNDLE_SCHEMA: Final = _schema(BUNDLE)
"""JSON Schema (draft 2020-12) of a ContextBundle/v2."""
