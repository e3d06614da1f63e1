"""The format `memoryconsole/1`, both ways: rows to lines, lines to validated members (`docs/transfer.md`).

One JSON object a line. Rows refer to one another by UUID, never by number, so that a file means the same in a store
that gives its rows other numbers. Members that are empty are left out.
"""

import json
import uuid
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from rest_framework import serializers

from memoryconsole.errors import ConsoleError, Fault, InvalidJSON, InvalidParameter
from memoryconsole.http import read_json
from memoryconsole.models import Association, Entity, EntityAlias, Mention, Record, Summary
from memoryconsole.models.graph import DECLARED_BY
from memoryconsole.models.records import MAX_TEXT_CHARS
from memoryconsole.serializers import Choice, Flag, Items, StrictSerializer, Text, Whole
from memoryconsole.services.transfer.members import MAX_NUMBER, Declared, End, Source, Stamp, Uid
from memoryconsole.services.transfer.pieces import MAX_LINE_BYTES, Line
from memoryconsole.shapes import LANGUAGES, MAX_SOURCES, RecordIn, SummaryIn
from memoryconsole.times import write_stamp

FORMAT = "memoryconsole/1"
# What a file does not hold: said in its header, so that nobody takes it for a backup of the installation.
EXCLUDED = (
    "deleted rows",
    "merges of entities",
    "documents",
    "claims",
    "facts",
    "payloads",
    "search index",
    "vectors",
    "nodes",
    "traces",
    "jobs",
    "store name and settings",
    "memberships",
    "tokens",
)
COUNTED = ("record", "summary", "entity", "alias", "mention", "association")
NUMBERED = ("record", "summary", "entity", "association")


class BadLine(Exception):
    """A line that is not taken, and why. It quotes nothing of the line but the names of its members."""

    def __init__(self, code: str, message: str, pointer: str = "") -> None:
        super().__init__(message)
        # Of the line, once it is known.
        self.kind = ""
        self.code = code
        self.message = message
        self.pointer = pointer


def _number() -> Whole:
    return Whole(min_value=1, max_value=MAX_NUMBER)


class CountsIn(StrictSerializer):
    record = Whole()
    summary = Whole()
    entity = Whole()
    alias = Whole()
    mention = Whole()
    association = Whole()


class LastIn(StrictSerializer):
    record = Whole(max_value=MAX_NUMBER)
    summary = Whole(max_value=MAX_NUMBER)
    entity = Whole(max_value=MAX_NUMBER)
    association = Whole(max_value=MAX_NUMBER)


class HeaderLine(StrictSerializer):
    kind = Text()
    format = Text()
    language = Choice(choices=LANGUAGES)
    counts = CountsIn()
    last = LastIn()
    believed_at = Stamp(required=False)
    excluded = Items(child=Text(), max_length=100)

    def validate_format(self, name: str) -> str:
        if name != FORMAT:
            raise serializers.ValidationError(f"This server reads {FORMAT}.", code="unknown_format")
        return name


class RecordLine(RecordIn):
    kind = Text()
    number = _number()
    uuid = Uid()
    created_at = Stamp()
    believed_at = Stamp()
    # An exported record's declarations are lines of their own.
    associations = None  # type: ignore[assignment]  # how the framework takes a field away


class SummaryLine(SummaryIn):
    kind = Text()
    number = _number()
    uuid = Uid()
    project_id = Text(default="", allow_null=True)
    channel = Text(default="", allow_null=True)
    source_ids = None  # type: ignore[assignment]  # the line names its sources by UUID
    sources = Items(child=Source(), default=list, max_length=MAX_SOURCES)
    sources_gone = Flag(default=False)
    created_at = Stamp()
    believed_at = Stamp()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        super().validate(attrs | {"source_ids": attrs["sources"]})
        return attrs


class EntityLine(StrictSerializer):
    kind = Text()
    number = _number()
    uuid = Uid()
    project_id = Text(default="")
    channel = Text(default="")
    name = Declared()
    # Nobody declared it: it lives by its mentions.
    declared = Flag(default=True)
    declared_by = Choice(choices=DECLARED_BY)
    created_at = Stamp()


class AliasLine(StrictSerializer):
    kind = Text()
    entity = Uid()
    project_id = Text(default="")
    channel = Text(default="")
    alias = Declared()


class MentionLine(StrictSerializer):
    kind = Text()
    entity = Uid()
    by = End("record", "summary")
    # Code points of the row's text, end exclusive; both, or neither: somewhere.
    char_start = Whole(required=False, max_value=MAX_TEXT_CHARS)
    char_end = Whole(required=False, min_value=1, max_value=MAX_TEXT_CHARS)
    declared_by = Choice(choices=DECLARED_BY)
    created_at = Stamp()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        start, end = attrs.get("char_start"), attrs.get("char_end")
        if (start is None) != (end is None) or (start is not None and end is not None and start >= end):
            raise serializers.ValidationError({"char_end": "No place in a text."}, code="invalid")
        return attrs


class AssociationLine(StrictSerializer):
    kind = Text()
    number = _number()
    project_id = Text(default="")
    channel = Text(default="")
    subject = End("entity", "record", "summary")
    # Normalising can lengthen a predicate of 256 code points to eighteen times as many.
    predicate = Declared(max_length=256 * 18)
    object = End("entity", "record", "summary")
    anchor = End("record", "summary", required=False)
    declared_by = Choice(choices=DECLARED_BY)
    declared_at = Stamp()


class EndLine(StrictSerializer):
    kind = Text()
    lines = Whole()


_KINDS: dict[str, type[StrictSerializer]] = {
    "header": HeaderLine,
    "record": RecordLine,
    "summary": SummaryLine,
    "entity": EntityLine,
    "alias": AliasLine,
    "mention": MentionLine,
    "association": AssociationLine,
    "end": EndLine,
}


def read_line(line: Line) -> tuple[str, dict[str, Any]]:
    """(kind, members); the kind of a line that names none, a plain record, is ''. Raises BadLine."""
    if line.data is None:
        raise BadLine("line_too_long", f"At most {MAX_LINE_BYTES} bytes.")
    kind = ""
    try:
        value = read_json(line.data)
        if not isinstance(value, dict) or "kind" not in value:
            return "", RecordIn.read(value)
        kind = value["kind"]
        if not isinstance(kind, str) or kind not in _KINDS:
            raise BadLine("unknown_kind", "No such kind of line.", "/kind")
        return kind, _KINDS[kind].read(value)
    except (InvalidJSON, InvalidParameter) as refused:
        raise _bad_line(refused, kind) from None


def _bad_line(refused: ConsoleError, kind: str) -> BadLine:
    if refused.errors:
        first: Fault = refused.errors[0]
        bad = BadLine(first.code, first.message, first.pointer)
    else:
        # The parser counts lines inside of ours.
        bad = BadLine(refused.code, refused.detail.replace(" line 1 column", " column"))
    bad.kind = kind
    return bad


def write_line(members: dict[str, Any]) -> bytes:
    """One line with its line feed; `ensure_ascii` off keeps it readable and half as long in other scripts."""
    return json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def header_line(
    *, language: str, counts: dict[str, int], last: dict[str, int], believed_at: datetime | None
) -> dict[str, Any]:
    """The first line. It names no time of export and no store, so that equal stores give equal files."""
    return _filled(
        {
            "kind": "header",
            "format": FORMAT,
            "language": language,
            "counts": counts,
            "last": last,
            "believed_at": write_stamp(believed_at) if believed_at else "",
            "excluded": list(EXCLUDED),
        }
    )


def record_line(record: Record) -> dict[str, Any]:
    """The caller has the session joined in."""
    source = {"type": record.source_type, "id": record.source_id, "name": record.source_name}
    return {
        "kind": "record",
        "number": record.number,
        "uuid": str(record.uuid),
        "content": record.content,
    } | (
        _filled(
            {
                "message_id": record.message_id,
                "project_id": record.project_id,
                "channel": record.channel,
                "session_id": record.session.session_id if record.session else "",
                "source": _filled(source),
                "role": record.role,
                "timestamp": record.timestamp,
                "tool_call_id": record.tool_call_id,
                "tool_name": record.tool_name,
                "conversation_id": record.conversation_id,
            }
        )
        | ({} if record.tool_calls is None else {"tool_calls": record.tool_calls})
        | {"created_at": write_stamp(record.created_at), "believed_at": write_stamp(record.believed_at)}
    )


def summary_line(summary: Summary, sources: Iterable[uuid.UUID | int]) -> dict[str, Any]:
    """The caller has the session joined in. `sources`: each place's UUID, or the number of what is gone."""
    scope = {"project_id": summary.project_id, "channel": summary.channel}
    return (
        {"kind": "summary", "number": summary.number, "uuid": str(summary.uuid), "summary": summary.summary}
        # None is another scope than '': it bundles with nothing.
        | {name: value for name, value in scope.items() if value != ""}
        | _filled(
            {
                "session_id": summary.session.session_id if summary.session else "",
                "depth": summary.depth,
                "source_type": summary.source_type,
                "sources": [place if isinstance(place, int) else str(place) for place in sources],
                "sources_gone": summary.sources_gone,
                "start": summary.start,
                "end": summary.end,
                "token_count": summary.token_count,
                "source_token_count": summary.source_token_count,
                "expand_hint": summary.expand_hint,
            }
        )
        | {"created_at": write_stamp(summary.created_at), "believed_at": write_stamp(summary.believed_at)}
    )


def entity_line(entity: Entity) -> dict[str, Any]:
    return (
        {"kind": "entity", "number": entity.number, "uuid": str(entity.uuid), "name": entity.name}
        | _filled({"project_id": entity.project_id, "channel": entity.channel})
        | ({} if entity.declared else {"declared": False})
        | {"declared_by": entity.declared_by, "created_at": write_stamp(entity.created_at)}
    )


def alias_line(alias: EntityAlias) -> dict[str, Any]:
    """The caller has the entity joined in."""
    return {"kind": "alias", "entity": str(alias.entity.uuid), "alias": alias.alias} | _filled(
        {"project_id": alias.project_id, "channel": alias.channel}
    )


def mention_line(mention: Mention) -> dict[str, Any]:
    """The caller has entity, record and summary joined in."""
    return {
        "kind": "mention",
        "entity": str(mention.entity.uuid),
        "by": _end(record=mention.record, summary=mention.summary),
        **(
            {}
            if mention.char_end is None
            else {"char_start": mention.char_start, "char_end": mention.char_end}
        ),
        "declared_by": mention.declared_by,
        "created_at": write_stamp(mention.created_at),
    }


def association_line(row: Association) -> dict[str, Any]:
    """The caller has every end and the anchor joined in."""
    subject = _end(entity=row.subject_entity, record=row.subject_record, summary=row.subject_summary)
    object_ = _end(entity=row.object_entity, record=row.object_record, summary=row.object_summary)
    anchor = _end(record=row.anchor_record, summary=row.anchor_summary)
    return (
        {"kind": "association", "number": row.number}
        | _filled({"project_id": row.project_id, "channel": row.channel})
        | {"subject": subject, "predicate": row.predicate, "object": object_}
        | _filled({"anchor": anchor})
        | {"declared_by": row.declared_by, "declared_at": write_stamp(row.declared_at)}
    )


def end_line(lines: int) -> dict[str, Any]:
    """The last line. `lines`: how many stand before it; a file without it was cut short."""
    return {"kind": "end", "lines": lines}


def _end(**rows: Record | Summary | Entity | None) -> str:
    return next((f"{kind}:{row.uuid}" for kind, row in rows.items() if row is not None), "")


def _filled(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value}
