"""How the four assured operations describe themselves to whoever calls them (contract, section C.0)."""

import hashlib
from typing import Any, Final

from memoryconsole.search import ANALYZER
from memoryconsole.traces import canonical
from provenance.context_bundle import core
from provenance.context_bundle.continuations import TOKEN_MAX_CHARS
from provenance.context_bundle.core import types
from provenance.context_bundle.core.fusion import RRF_CONSTANT
from provenance.context_bundle.core.schema import CO_MEMBERS_MAX

Json = dict[str, Any]

VERSION: Final = "1"
"""Of the operations' arguments and answers. Their rules have a version of their own, the core's."""

_UUID: Final = {"type": "string", "format": "uuid"}
_INSTANT: Final = {
    "type": "string",
    "format": "date-time",
    "description": "RFC 3339 with a zone, at most microseconds",
}


def _whole(low: int, high: int, default: int) -> Json:
    return {"type": "integer", "minimum": low, "maximum": high, "default": default}


def _text(most: int) -> Json:
    return {"type": "string", "minLength": 1, "maxLength": most}


def _closed(properties: Json, *required: str) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _anchors(most: int) -> Json:
    return {
        "type": "array",
        "items": _UUID,
        "minItems": 1,
        "maxItems": most,
        "uniqueItems": True,
        "description": "entities that the answer is about; left out: the whole store",
    }


def _mode(mode: str, *coordinates: str) -> Json:
    return _closed({"mode": {"const": mode}} | dict.fromkeys(coordinates, _INSTANT), "mode", *coordinates)


_TIME: Final = {
    "oneOf": [_mode("current"), _mode("at", "at"), _mode("overlap", "from", "to"), _mode("history")],
    "default": {"mode": "current"},
}
_CONTINUATION: Final = _text(TOKEN_MAX_CHARS)

_RESOLVE: Final = _closed(
    {
        "name": _text(types.QUERY_MAX_CHARS),
        "context_entity_ids": {
            "type": "array",
            "items": _UUID,
            "maxItems": types.CONTEXT_ENTITIES_MAX,
            "default": [],
            "description": "entities next to which a candidate is moved up",
        },
    },
    "name",
)
_CLAIMS: Final = _closed(
    {
        "query": _text(types.QUERY_MAX_CHARS),
        "entity_ids": _anchors(types.CLAIMS_ENTITIES_MAX),
        "k": _whole(1, types.CLAIMS_K_MAX, types.CLAIMS_K),
        "candidate_k": _whole(1, types.CANDIDATE_K_MAX, types.CANDIDATE_K),
        "include_superseded": {"type": "boolean", "default": False},
        "continuation": _CONTINUATION,
    },
    "query",
)
_SHARED: Final[Json] = {
    "query": _text(types.QUERY_MAX_CHARS),
    "entity_ids": _anchors(types.FACTS_ENTITIES_MAX),
    "hops": _whole(1, types.HOPS_MAX, 1),
    "predicate": _text(types.PREDICATE_MAX_CHARS),
    "time": _TIME,
}
_FACTS: Final = _closed(
    _SHARED
    | {
        "k": _whole(1, types.FACTS_K_MAX, types.FACTS_K),
        "evidence_per_fact": _whole(1, types.EVIDENCE_PER_FACT_MAX, types.EVIDENCE_PER_FACT),
        "continuation": _CONTINUATION,
    },
    "query",
)

_CHANNELS: Final = (
    "Channels: lexical (BM25 over stemmed words) and, where the store has an embedder, semantic (cosines); "
    f"fused by reciprocal ranks with the constant {RRF_CONSTANT}."
)
_DESCRIPTIONS: Final = {
    types.RESOLVE_ENTITY: (
        "Which entities a name may mean: all that have it exactly (T0), else those whose names are like it (T1) or "
        "sound like it (T2); there is no T3. Nobody is picked. Answers ids to anchor the other operations with."
    ),
    types.CLAIMS_AND_SOURCES: (
        "What sources say, and the passages they say it in. It does not say what is true. " + _CHANNELS
    ),
    types.FACTS: (
        "What is held true at the time asked, each fact with its evidence for and against and with the other sides of "
        "its contradictions. Incompletely dated facts come flagged possible. " + _CHANNELS
    ),
    types.COMBINED: "Both contexts side by side in one snapshot: two complete envelopes, nothing added.",
}


def _plan(operation: str) -> Json:
    """What is fixed about how an operation answers."""
    return {
        "operation": operation,
        "core": core.CORE,
        "analyzer": ANALYZER,
        "fusion": RRF_CONSTANT,
        "co_members": CO_MEMBERS_MAX,
        "fact_candidates": types.FACT_CANDIDATES,
        "scope_entities": types.SCOPE_ENTITIES_MAX,
        "associations": types.ASSOCIATIONS_MAX,
        "resolved": types.RESOLVE_MAX,
    }


def _hash(plan: Any) -> str:
    return hashlib.sha256(canonical(plan)).hexdigest()


def _describe(operation: str, schema: Json, intent: str, grain: str | None) -> Json:
    is_bundle = operation == types.COMBINED
    plan: Any = [_plan(types.CLAIMS_AND_SOURCES), _plan(types.FACTS)] if is_bundle else _plan(operation)
    return {
        "name": operation,
        "description": _DESCRIPTIONS[operation],
        "input_schema": schema,
        "result_schema": core.BUNDLE_SCHEMA if is_bundle else core.SCHEMA,
        "result_contract": "context_bundle_v2" if is_bundle else "envelope",
        "output_grain": grain,
        "answer_intent": intent,
        "mutates": False,
        "version": VERSION,
        "implementation_plan_hash": _hash(plan),
    }


DESCRIPTORS: Final = (
    _describe(types.RESOLVE_ENTITY, _RESOLVE, "identity", "fact"),
    _describe(types.CLAIMS_AND_SOURCES, _CLAIMS, "claims_and_sources", "evidence"),
    _describe(types.FACTS, _FACTS, "facts", "fact"),
    _describe(types.COMBINED, _closed(_SHARED, "query"), "combined_context", None),
)
