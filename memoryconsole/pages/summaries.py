"""Summaries: listed, and read with the ordered sources they stand for."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from memoryconsole import shapes
from memoryconsole.errors import InvalidCursor, InvalidParameter, NotFound
from memoryconsole.listing import page
from memoryconsole.models import Association, Mention, RecordNode, Scope, Store, Summary, SummarySource
from memoryconsole.nodes import Parent, running_model
from memoryconsole.pages.forms import address, faults_by_field, filled_in, read_form, tidied
from memoryconsole.pages.frame import Frame, store_page
from memoryconsole.pages.overview import asks
from memoryconsole.pages.records import TRACES_SHOWN, pieces
from memoryconsole.services import forget
from memoryconsole.services.reading import summary_details
from memoryconsole.snapshot import snapshot

PARENTS_SHOWN = 50


@store_page("records")
@tidied
def listing(request: HttpRequest, frame: Frame) -> HttpResponse:
    """The summaries that pass the filters of the address, newest number first, a page at a time."""
    given = request.GET.dict()
    context: dict[str, Any] = {
        "given": given,
        "filtered": bool(filled_in(request).keys() - {"limit", "cursor"}),
    }
    try:
        query = read_form(shapes.SummaryFilters, request.GET)
        with snapshot():
            rows = Summary.objects.episodes() if query.get("episodes") else Summary.objects.live()
            rows = rows.filter(store=frame.store)
            if "session_id" in query:
                rows = rows.filter(session__session_id=query["session_id"])
            context["total"] = rows.count()
            found, cursor = page(
                rows.select_related("session"), query, list="summaries", store=frame.store.pk
            )
    except (InvalidParameter, InvalidCursor) as refused:
        context |= {"refused": refused, "faults": faults_by_field(refused.errors)}
        return frame.render("console/summaries.html", context, status=refused.status)
    context |= {
        "summaries": [shapes.summary_shape(row) for row in found],
        "next": address(request, cursor=cursor) if cursor else "",
        "first": address(request, cursor=None) if "cursor" in given else "",
    }
    return frame.render("console/summaries.html", context)


@store_page("records")
def detail(request: HttpRequest, frame: Frame, number: int) -> HttpResponse:
    """One summary: its text whole, its sources in order (gone ones keep their place), and what covers it."""
    summary = summary_details(frame.store, number)
    model = running_model()
    with snapshot():
        rows = Summary.objects.live().filter(store=frame.store, number=number)
        parents: list[Parent] = [("ep", pk) for pk in rows.values_list("pk", flat=True)]
        context = {
            "summary": summary,
            "number": number,
            "pieces": pieces(frame.store, model, parents, summary["content"]),
            "covered_by": _covering(frame.store, number),
            "quoted_by": asks(frame, TRACES_SHOWN, ref=("ep", number)),
        }
    return frame.render("console/summary.html", context)


@store_page("records", {"GET": Scope.OPERATE, "POST": Scope.OPERATE})
def delete(request: HttpRequest, frame: Frame, number: int) -> HttpResponse:
    """GET lists what deleting takes along; POST does it."""
    if request.method == "POST":
        job = forget.delete_summary(frame.store, number, by=frame.actor.user, now=timezone.now())
        messages.success(
            request, f"ep:{number} is deleted. It is gone from every answer; a job erases what is left."
        )
        return redirect("console:job", frame.store.public_id, job.uuid)
    with snapshot():
        summary = Summary.objects.live().filter(store=frame.store, number=number).first()
        if summary is None:
            raise NotFound("No such summary")
        goes = _dependents(frame.store, summary)
    back = reverse("console:summary", args=[frame.store.public_id, number])
    context = {"ref": summary.ref, "text": summary.summary, "goes": goes, "back": back}
    return frame.render("console/delete.html", context)


def _covering(store: Store, number: int) -> list[str]:
    """The summaries that stand for this one, newest first."""
    sources = SummarySource.objects.filter(
        store=store, child__number=number, child__store=store, summary__deleted_at=None
    )
    found = sources.order_by("-summary__number").values_list("summary__number", flat=True).distinct()
    return [f"ep:{parent}" for parent in found[:PARENTS_SHOWN]]


def _dependents(store: Store, summary: Summary) -> dict[str, int]:
    """What deleting a summary takes along, and what stays and says so."""
    return {
        "mentions": Mention.objects.filter(store=store, summary=summary).count(),
        "associations": Association.objects.filter(store=store).joining(summary).count(),
        "nodes": RecordNode.objects.filter(store=store, summary=summary).count(),
        "summaries": SummarySource.objects.filter(store=store, child=summary)
        .values("summary")
        .distinct()
        .count(),
        "sources": summary.sources.count(),
    }
