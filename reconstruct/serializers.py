"""The bodies of this floor's routes, as the contract bounds them (section B)."""

import json
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from memoryconsole.scope import ReadScope
from memoryconsole.serializers import Flag, Items, StrictSerializer, Text, Whole
from reconstruct.contents import MAX_REFS
from reconstruct.core.types import Request
from reconstruct.services import RecallAsk, ReconstructAsk
from reconstruct.traverse import TraverseAsk

# A question, or a message pasted whole; longer texts are records.
MAX_QUERY_CHARS = 20_000
MAX_TOP_K = 100
MAX_SESSION_KEY_CHARS = 256
# An entry of get_contents as JSON, of which a ref and a range take eighty. Entries come back as they were sent and are
# kept in the trace: twenty of them must stay far below `audit.MAX_REQUEST_BYTES`.
MAX_ENTRY_CHARS = 1_000
# Contract, section F.
MAX_TRAVERSE_HOPS = 5
MAX_TRAVERSE_LIMIT = 100

# As the machine-readable description says it.
_NUMBER = {"type": "integer", "minimum": 0}
_PAIR = {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2}


class ScopeIn(StrictSerializer):
    query = Text(max_length=MAX_QUERY_CHARS)
    deep = Flag(default=False)
    channel = Text(default="", allow_null=True)
    project_id = Text(default=None, allow_null=True)
    source_id = Text(default="", allow_null=True)


class ReconstructIn(ScopeIn):
    """`POST /stores/{store}/reconstruct`."""

    count = Whole(required=False)
    top_k = Whole(required=False, min_value=1, max_value=MAX_TOP_K)
    max_hops = Whole(required=False)
    max_evidence = Whole(required=False, min_value=1)
    budget = Whole(required=False, min_value=1)
    trace = Flag(default=False)
    session_key = Text(default="", max_length=MAX_SESSION_KEY_CHARS)


class RecallIn(ScopeIn):
    """`POST /stores/{store}/recall`."""

    limit = Whole(required=False, min_value=1, max_value=MAX_TOP_K)


@extend_schema_field(
    {
        "oneOf": [
            {"type": "string"},
            {
                "type": "object",
                "properties": {
                    "ref": {"type": "string"},
                    "node": {"oneOf": [_NUMBER, _PAIR]},
                    "span": _PAIR,
                },
                "required": ["ref"],
            },
        ]
    }
)
class ContentsEntry(serializers.JSONField):
    """Any short JSON value: one that is no entry is answered as missing or unresolved, and refuses nothing."""

    def to_internal_value(self, data: Any) -> Any:
        if len(json.dumps(data, ensure_ascii=False)) > MAX_ENTRY_CHARS:
            message = f"Ensure this entry has no more than {MAX_ENTRY_CHARS} characters as JSON."
            raise serializers.ValidationError([ErrorDetail(message, code="max_length")])
        return data


class ContentsIn(StrictSerializer):
    """`POST /stores/{store}/contents`."""

    refs = Items(child=ContentsEntry(allow_null=True), allow_empty=False, max_length=MAX_REFS)


class TraverseIn(StrictSerializer):
    """`POST /stores/{store}/traverse`."""

    entity = Text()
    max_hops = Whole(default=1, max_value=MAX_TRAVERSE_HOPS)
    limit = Whole(default=20, min_value=1, max_value=MAX_TRAVERSE_LIMIT)
    channel = Text(default="", allow_null=True)
    project_id = Text(default=None, allow_null=True)
    source_id = Text(default="", allow_null=True)


def traverse_ask(data: dict[str, Any]) -> TraverseAsk:
    return TraverseAsk(
        entity=data["entity"], max_hops=data["max_hops"], limit=data["limit"], scope=_scope(data)
    )


def reconstruct_ask(data: dict[str, Any]) -> ReconstructAsk:
    bounds = ("query", "count", "top_k", "max_hops", "max_evidence", "budget", "trace")
    return ReconstructAsk(
        request=Request(**{name: data[name] for name in bounds if name in data}),
        scope=_scope(data),
        deep=data["deep"],
    )


def recall_ask(data: dict[str, Any]) -> RecallAsk:
    return RecallAsk(query=data["query"], limit=data.get("limit"), scope=_scope(data), deep=data["deep"])


def _scope(data: dict[str, Any]) -> ReadScope:
    return ReadScope(
        project_id=data["project_id"], channel=data["channel"] or "", source_id=data["source_id"] or ""
    )
