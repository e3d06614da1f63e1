"""One stored row with everything that hangs on it."""

from typing import Any

from django.db.models import QuerySet

from memoryconsole.errors import NotFound
from memoryconsole.identity import findable
from memoryconsole.models import Entity, Mention, Record, Store, Summary
from memoryconsole.nodes import Model, Parent, read_nodes, running_model, state
from memoryconsole.services.graph import associations_at, read_as
from memoryconsole.services.superseding import successors
from memoryconsole.shapes import record_shape, summary_shape
from memoryconsole.snapshot import snapshot
from memoryconsole.times import write_stamp

# A page's worth of each; `version_count` says when there are more versions.
_SHOWN = 100


def record_details(store: Store, number: int) -> dict[str, Any]:
    """A record with its versions, what supersedes it, mentions, associations and its nodes' state; `chunk_id` and
    `passage` are what claims name it by, and its place in a document.

    Raises NotFound.
    """
    model = running_model()
    with snapshot():
        joined = Record.objects.live().select_related("session", "passage__version__document")
        record = joined.defer("passage__version__text").filter(store=store, number=number).first()
        if record is None:
            raise NotFound("No such record")
        versions = _versions(record)
        return record_shape(record) | {
            "chunk_id": str(record.uuid),
            "passage": _passage(record),
            "versions": [_version_shape(row) for row in _shown(versions)],
            "version_count": versions.count(),
            "superseded_by": successors(store, [("mem", record.pk)]).get(("mem", record.pk)),
            "mentions": _mentions(store, record=record),
            "associations": associations_at(store, record),
            "nodes": _nodes(store, model, ("mem", record.pk), record.content),
        }


def summary_details(store: Store, number: int) -> dict[str, Any]:
    """A summary with its ordered sources, what supersedes it, mentions, associations and its nodes' state.

    Raises NotFound.
    """
    model = running_model()
    with snapshot():
        summary = Summary.objects.live().select_related("session").filter(store=store, number=number).first()
        if summary is None:
            raise NotFound("No such summary")
        kind = "mem" if summary.source_type == "messages" else "ep"
        sources = list(summary.sources.order_by("source_index"))
        return summary_shape(summary) | {
            "sources": [
                {
                    "source_index": source.source_index,
                    "ref": f"{kind}:{source.number}",
                    "present": source.record_id is not None or source.child_id is not None,
                }
                for source in sources
            ],
            "superseded_by": successors(store, [("ep", summary.pk)]).get(("ep", summary.pk)),
            "mentions": _mentions(store, summary=summary),
            "associations": associations_at(store, summary),
            "nodes": _nodes(store, model, ("ep", summary.pk), summary.summary),
        }


def _passage(record: Record) -> dict[str, Any] | None:
    """Where in a document the record is, if it is a passage of one. `current`: of its newest version."""
    passage = getattr(record, "passage", None)
    if passage is None:
        return None
    version = passage.version
    return {
        "document_id": str(version.document.uuid),
        "document_title": version.document.title or None,
        "version": version.version_no,
        "representation_id": str(version.representation_uuid),
        "start": passage.char_start,
        "end": passage.char_end,
        "heading": passage.heading,
        "current": version.superseded_at is None and version.deleted_at is None,
    }


def _versions(record: Record) -> "QuerySet[Record]":
    """Every stored version of the record's message."""
    same = Record.objects.live().filter(store=record.store_id)
    if not record.message_id:
        return same.filter(pk=record.pk)
    return same.filter(project_id=record.project_id, message_id=record.message_id)


def _shown(versions: "QuerySet[Record]") -> list[Record]:
    """The newest versions, by instant, undated ones last, then by number."""
    rows = versions.defer("content").order_by("-number")[:_SHOWN]
    return sorted(rows, key=lambda row: (row.instant is None, row.instant or 0, row.number))


def _version_shape(record: Record) -> dict[str, Any]:
    """Which version, of when, by whom and where: a newer one may lie in a channel its reader does not ask about."""
    return {
        "ref": record.ref,
        "timestamp": record.timestamp,
        "channel": record.channel,
        "source": {"type": record.source_type, "id": record.source_id, "name": record.source_name},
        "created_at": write_stamp(record.created_at),
    }


def _nodes(store: Store, model: Model | None, parent: Parent, text: str) -> dict[str, Any]:
    nodes = read_nodes(store, model, [parent]).get(parent, [])
    return {"state": state(nodes, len(text)), "count": len(nodes)}


def _mentions(store: Store, **row: Record | Summary) -> list[dict[str, Any]]:
    """The entities that the row mentions, each once, by number (one statement, three when one was merged away)."""
    mentioned = Mention.objects.filter(store=store, **row).values("entity")
    rows = Entity.objects.filter(findable(), store=store, pk__in=mentioned).order_by("number")[:_SHOWN]
    names = {each.number: each.name for each in read_as(store, rows).values()}
    return [{"entity": number, "name": names[number]} for number in sorted(names)]
