"""One stored row with everything that hangs on it."""

from typing import Any

from django.db.models import QuerySet

from memoryconsole.errors import NotFound
from memoryconsole.models import Mention, Record, RecordNode, Store, Summary
from memoryconsole.shapes import record_shape, summary_shape
from memoryconsole.snapshot import snapshot

# A page's worth of each; `version_count` says when there are more versions.
_SHOWN = 100


def record_details(store: Store, number: int) -> dict[str, Any]:
    """A record with its versions, what supersedes it, its mentions and its nodes' state. Raises NotFound."""
    with snapshot():
        record = Record.objects.live().select_related("session").filter(store=store, number=number).first()
        if record is None:
            raise NotFound("No such record")
        versions = _versions(record)
        return record_shape(record) | {
            "versions": [{"ref": row.ref, "timestamp": row.timestamp} for row in _shown(versions)],
            "version_count": versions.count(),
            "superseded_by": _successor(record, versions),
            "mentions": _mentions(store, record=record),
            "nodes": {"count": RecordNode.objects.filter(store=store, record=record).count()},
        }


def summary_details(store: Store, number: int) -> dict[str, Any]:
    """A summary with its ordered sources. Raises NotFound."""
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
            "mentions": _mentions(store, summary=summary),
        }


def _versions(record: Record) -> "QuerySet[Record]":
    """Every stored version of the record's message."""
    same = Record.objects.live().filter(store=record.store_id)
    if not record.message_id:
        return same.filter(pk=record.pk)
    return same.filter(project_id=record.project_id, message_id=record.message_id)


def _shown(versions: "QuerySet[Record]") -> list[Record]:
    """The newest versions, by instant, undated ones last, then by number."""
    rows = versions.only("number", "timestamp", "instant").order_by("-number")[:_SHOWN]
    return sorted(rows, key=lambda row: (row.instant is None, row.instant or 0, row.number))


def _successor(record: Record, versions: "QuerySet[Record]") -> str | None:
    """The next version in time, as reconstruct decides it: the earliest with a later readable instant."""
    if record.instant is None:
        return None
    later = versions.filter(instant__gt=record.instant).only("number").order_by("instant", "number").first()
    return later.ref if later else None


def _mentions(store: Store, **row: Record | Summary) -> list[dict[str, Any]]:
    found = Mention.objects.filter(store=store, **row).select_related("entity").order_by("entity__number")
    return [{"entity": m.entity.number, "name": m.entity.name} for m in found[:_SHOWN]]
