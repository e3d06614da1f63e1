"""The JSON shapes of the ground floor: what the API takes in and how it writes rows out."""

import json
from typing import Any

import snowballstemmer
from rest_framework import serializers

from memoryconsole.listing import PageIn
from memoryconsole.models import Job, Record, Store, Summary
from memoryconsole.models.payloads import MAX_REF_CHARS
from memoryconsole.models.records import MAX_TEXT_CHARS
from memoryconsole.models.stores import POLICY_FIELDS, Audit
from memoryconsole.models.summaries import SourceType
from memoryconsole.serializers import Choice, Flag, Items, Members, StrictSerializer, Text, Whole
from memoryconsole.services.ingest import NewRecord, NewSummary
from memoryconsole.times import read_stamp, write_stamp
from memoryconsole.windows import PRECISIONS

MAX_RECORDS_PER_CALL = 1000
MAX_SOURCES = 10_000
# As long as a text may be.
MAX_TOOL_CALLS_CHARS = MAX_TEXT_CHARS
# A unique key holds 2,704 bytes; a character takes up to four.
MAX_SESSION_ID_CHARS = 512

# What a store's texts are stemmed as; 'none' for stores of many languages.
LANGUAGES = ("none", *sorted(snowballstemmer.algorithms()))


def not_blank(text: str) -> None:
    if not text.strip():
        raise serializers.ValidationError("May not be blank.", code="blank")


class WindowIn(StrictSerializer):
    """`from` and `until` are instants, or units by their name (`2024`, `2024-Q1`, `2024-02`, `2024-02-29`)."""

    until = Text(required=False, allow_null=True, max_length=40)
    precision = Choice(choices=PRECISIONS, default="unknown")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        # `from` is a word of Python's.
        return {"from": Text(required=False, allow_null=True, max_length=40), **super().get_fields()}


class StoreIn(StrictSerializer):
    name = Text(max_length=100, allow_blank=False, validators=[not_blank])
    language = Choice(choices=LANGUAGES, default="english")
    audit = Choice(choices=Audit.choices, default=Audit.REQUIRED)


def _override(minimum: int) -> Whole:
    """A setting's override: an integer that its column holds, or null."""
    return Whole(min_value=minimum, max_value=2**31 - 1, allow_null=True, required=False)


class PolicyIn(StrictSerializer):
    """Overrides by contract name; null falls back on the environment's value. Ranges are the contract's."""

    default_count = _override(1)
    max_count = _override(1)
    forced_count = _override(1)
    top_k = _override(1)
    max_hops = _override(0)
    max_evidence = _override(1)
    adjacency_seconds = _override(0)
    default_budget = _override(1)
    max_budget = _override(1)
    forced_budget = _override(1)
    preview_chars = _override(0)
    library_max = _override(1)


class StorePatch(StrictSerializer):
    name = Text(max_length=100, allow_blank=False, required=False, validators=[not_blank])
    language = Choice(choices=LANGUAGES, required=False)
    audit = Choice(choices=Audit.choices, required=False)
    trace_days = Whole(min_value=1, max_value=36_500, allow_null=True, required=False)
    settings = PolicyIn(required=False)


class SourceIn(StrictSerializer):
    type = Choice(choices=["", "User", "Agent", "System"], default="")
    id = Text(default="")
    name = Text(default="")


class RecordIn(StrictSerializer):
    """One record as `POST /stores/{store}/records` takes it."""

    content = Text(max_length=MAX_TEXT_CHARS)
    message_id = Text(default="")
    project_id = Text(default="")
    channel = Text(default="")
    session_id = Text(default="", max_length=MAX_SESSION_ID_CHARS)
    source = SourceIn(required=False)  # type: ignore[assignment]  # a member that Field also has
    role = Text(default="", max_length=64)
    timestamp = Text(required=False, max_length=64)
    tool_call_id = Text(default="")
    tool_name = Text(default="")
    tool_calls = Items(child=Members(), required=False, max_length=1000)
    conversation_id = Text(default="", max_length=1000)
    # Judged item by item: the record is stored whatever rides on it (contract: reconstruct J).
    associations = serializers.JSONField(required=False, allow_null=True)

    def validate_tool_calls(self, calls: list[Any]) -> list[Any]:
        if len(json.dumps(calls, ensure_ascii=False)) > MAX_TOOL_CALLS_CHARS:
            raise serializers.ValidationError(
                f"At most {MAX_TOOL_CALLS_CHARS} characters of JSON.", code="max_length"
            )
        return calls

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        # A tool call may come without words; anything else without words is a caller's mistake.
        if not attrs["content"] and not attrs.get("tool_calls"):
            raise serializers.ValidationError(
                {"content": ["May not be empty without tool_calls."]}, code="blank"
            )
        return attrs


class PostedRecordIn(RecordIn):
    """The same, with the payload that the text stands for. A file has no payloads, so none of its lines names one."""

    payload = Text(default="", max_length=MAX_REF_CHARS)


class RecordsIn(StrictSerializer):
    records = Items(child=PostedRecordIn(), allow_empty=False, max_length=MAX_RECORDS_PER_CALL)


class SummaryIn(StrictSerializer):
    """An episode (`start`, `end`) or a node of the summary graph (`source_type`, `source_ids`)."""

    summary = Text(max_length=MAX_TEXT_CHARS, allow_blank=False)
    start = Text(default="", max_length=64)
    end = Text(default="", max_length=64)
    project_id = Text(default="")
    channel = Text(default="")
    session_id = Text(default="", max_length=MAX_SESSION_ID_CHARS)
    depth = Whole(default=0, max_value=1000)
    source_type = Choice(choices=SourceType.choices, default="", allow_blank=True)
    source_ids = Items(child=Whole(min_value=1), default=list, max_length=MAX_SOURCES)
    token_count = Whole(default=0, max_value=2**31 - 1)
    source_token_count = Whole(default=0, max_value=2**31 - 1)
    expand_hint = Text(default="", max_length=1000)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if bool(attrs["source_type"]) != bool(attrs["source_ids"]):
            raise serializers.ValidationError(
                {"source_ids": ["Goes with source_type."]}, code="contradiction"
            )
        start, end = read_stamp(attrs["start"]), read_stamp(attrs["end"])
        if start is not None and end is not None and end < start:
            raise serializers.ValidationError({"end": ["Lies before start."]}, code="contradiction")
        return attrs


class RecordFilters(PageIn):
    project_id = Text(required=False)
    channel = Text(required=False)
    session_id = Text(required=False, max_length=MAX_SESSION_ID_CHARS)
    source_id = Text(required=False)
    message_id = Text(required=False)
    since = Text(required=False, max_length=64)
    until = Text(required=False, max_length=64)
    text = Text(required=False, max_length=1000)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        for name in ("since", "until"):
            if name in attrs and read_stamp(attrs[name]) is None:
                raise serializers.ValidationError({name: ["Not an ISO 8601 time."]}, code="invalid")
        return attrs


class SummaryFilters(PageIn):
    session_id = Text(required=False, max_length=MAX_SESSION_ID_CHARS)
    episodes = Flag(required=False)


def new_record(row: dict[str, Any]) -> NewRecord:
    source = row.get("source", {})
    return NewRecord(
        content=row["content"],
        # Trimmed before use as a key (contract: reconstruct A.1).
        message_id=row["message_id"].strip(),
        project_id=row["project_id"],
        channel=row["channel"],
        session_id=row["session_id"],
        source_type=source.get("type", ""),
        source_id=source.get("id", ""),
        source_name=source.get("name", ""),
        role=row["role"],
        timestamp=row.get("timestamp"),
        tool_call_id=row["tool_call_id"],
        tool_name=row["tool_name"],
        tool_calls=row.get("tool_calls"),
        conversation_id=row["conversation_id"],
        payload=row.get("payload", ""),
        associations=row.get("associations"),
    )


def new_summary(row: dict[str, Any]) -> NewSummary:
    return NewSummary(**row | {"source_ids": tuple(row["source_ids"])})


def store_shape(store: Store, *, overrides: dict[str, int] | None = None) -> dict[str, Any]:
    shape: dict[str, Any] = {
        "id": store.public_id,
        "name": store.name,
        "language": store.language,
        "audit": store.audit,
        "trace_days": store.trace_days,
        "version": store.version,
        "created_at": write_stamp(store.created_at),
    }
    if overrides is not None:
        shape["settings"] = {name: overrides.get(name) for name in POLICY_FIELDS}
    return shape


def record_shape(record: Record) -> dict[str, Any]:
    """A record as lists and recall answer it. The caller has the session joined in."""
    return {
        "ref": record.ref,
        "content": record.content,
        "timestamp": record.timestamp,
        "message_id": record.message_id,
        "project_id": record.project_id,
        "channel": record.channel,
        "session_id": record.session.session_id if record.session else "",
        "source": {"type": record.source_type, "id": record.source_id, "name": record.source_name},
        "role": record.role,
        "tool_call_id": record.tool_call_id,
        "tool_name": record.tool_name,
        "tool_calls": record.tool_calls,
        "conversation_id": record.conversation_id,
        "created_at": write_stamp(record.created_at),
    }


def summary_shape(summary: Summary) -> dict[str, Any]:
    return {
        "ref": summary.ref,
        "content": summary.summary,
        "start": summary.start,
        "end": summary.end,
        "project_id": summary.project_id,
        "channel": summary.channel,
        "session_id": summary.session.session_id if summary.session else "",
        "depth": summary.depth,
        "source_type": summary.source_type,
        "sources_gone": summary.sources_gone,
        "token_count": summary.token_count,
        "source_token_count": summary.source_token_count,
        "expand_hint": summary.expand_hint,
        "created_at": write_stamp(summary.created_at),
    }


def job_shape(job: Job, *, has_file: bool = False) -> dict[str, Any]:
    """A job as its owner sees it. `has_file`: an export's file can be downloaded."""
    return {
        "id": str(job.uuid),
        "kind": job.kind,
        "state": job.state,
        "done": job.done,
        "total": job.total,
        "message": job.message,
        "errors": job.errors,
        "name": job.arguments.get("name", ""),
        "counts": job.progress.get("counts", {}),
        "file": f"/api/v1/jobs/{job.uuid}/file" if has_file else None,
        "created_at": write_stamp(job.created_at),
        "finished_at": write_stamp(job.finished_at) if job.finished_at else None,
    }
