"""The bodies of this floor's routes, as the contract bounds them (section B)."""

from typing import Any

from memoryconsole.scope import ReadScope
from memoryconsole.serializers import Flag, StrictSerializer, Text, Whole
from reconstruct.core.types import Request
from reconstruct.services import RecallAsk, ReconstructAsk

# A question, or a message pasted whole; longer texts are records.
MAX_QUERY_CHARS = 20_000
MAX_TOP_K = 100
MAX_SESSION_KEY_CHARS = 256


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


def reconstruct_ask(data: dict[str, Any]) -> ReconstructAsk:
    bounds = ("query", "count", "top_k", "max_hops", "max_evidence", "budget", "trace")
    return ReconstructAsk(
        request=Request(**{name: data[name] for name in bounds if name in data}),
        scope=_scope(data),
        deep=data["deep"],
        session_key=data["session_key"],
    )


def recall_ask(data: dict[str, Any]) -> RecallAsk:
    return RecallAsk(query=data["query"], limit=data.get("limit"), scope=_scope(data), deep=data["deep"])


def _scope(data: dict[str, Any]) -> ReadScope:
    return ReadScope(
        project_id=data["project_id"], channel=data["channel"] or "", source_id=data["source_id"] or ""
    )
