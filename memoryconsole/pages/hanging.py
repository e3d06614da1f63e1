"""What hangs on a stored row, for the pages of records and of summaries alike: what covers it, and deleting it."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from memoryconsole.errors import NotFound
from memoryconsole.models import Association, Job, Mention, Record, RecordNode, Store, Summary, SummarySource
from memoryconsole.pages.frame import Frame
from memoryconsole.services.facts.counting import resting_on
from memoryconsole.services.standing import hidden_with
from memoryconsole.snapshot import snapshot

# A page's worth.
COVERING_SHOWN = 50


def covering(store: Store, row: type[Record] | type[Summary], number: int) -> list[str]:
    """The summaries that name the row among their sources, newest first."""
    end = _end(row)
    sources = SummarySource.objects.filter(
        **{f"{end}__number": number, f"{end}__store": store}, store=store, summary__deleted_at=None
    )
    found = sources.order_by("-summary__number").values_list("summary__number", flat=True).distinct()
    return [f"ep:{summary}" for summary in found[:COVERING_SHOWN]]


def delete_page(
    request: HttpRequest,
    frame: Frame,
    row: type[Record] | type[Summary],
    number: int,
    delete: Callable[..., Job],
) -> HttpResponse:
    """GET lists what deleting takes along; POST does it, by `delete`. Raises NotFound."""
    name = row._meta.model_name
    ref = row(number=number).ref
    if request.method == "POST":
        job = delete(frame.store, number, by=frame.actor.user, now=timezone.now())
        messages.success(
            request, f"{ref} is deleted. It is gone from every answer; a job erases what is left."
        )
        return redirect("console:job", frame.store.public_id, job.uuid)
    with snapshot():
        found = row.objects.live().filter(store=frame.store, number=number).first()
        if found is None:
            raise NotFound(f"No such {name}")
        goes = _dependents(frame.store, found)
    back = reverse(f"console:{name}", args=[frame.store.public_id, number])
    text = found.content if isinstance(found, Record) else found.summary
    return frame.render("console/delete.html", {"ref": ref, "text": text, "goes": goes, "back": back})


def _dependents(store: Store, row: Record | Summary) -> dict[str, int]:
    """What deleting a row takes along, and what stays and says so."""
    hung: dict[str, Any] = {"store": store, str(row._meta.model_name): row}
    sources = SummarySource.objects.filter(store=store, **{_end(type(row)): row})
    return {
        "mentions": Mention.objects.filter(**hung).count(),
        "associations": Association.objects.filter(store=store).joining(row).count(),
        "nodes": RecordNode.objects.filter(**hung).count(),
        "summaries": sources.values("summary").distinct().count(),
    } | (
        {
            "claims": len(hidden_with(store, row)),
            "facts": resting_on(store, row).count(),
            "versions": _other_versions(store, row),
        }
        if isinstance(row, Record)
        else {"sources": row.sources.count()}
    )


def _end(row: type[Record] | type[Summary]) -> str:
    """The foreign key by which a summary's source leads to such a row."""
    return "record" if row is Record else "child"


def _other_versions(store: Store, record: Record) -> int:
    if not record.message_id:
        return 0
    same = Record.objects.live().filter(
        store=store, project_id=record.project_id, message_id=record.message_id
    )
    return same.exclude(pk=record.pk).count()
