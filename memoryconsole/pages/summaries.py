"""Summaries: listed, and read with the ordered sources they stand for."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from memoryconsole import shapes
from memoryconsole.errors import InvalidCursor, InvalidParameter
from memoryconsole.listing import page
from memoryconsole.models import Scope, Summary
from memoryconsole.nodes import Parent, running_model
from memoryconsole.pages.forms import address, faults_by_field, filled_in, read_form, tidied
from memoryconsole.pages.frame import Frame, store_page
from memoryconsole.pages.hanging import covering, delete_page
from memoryconsole.pages.overview import asks
from memoryconsole.pages.records import TRACES_SHOWN, pieces
from memoryconsole.services import forget
from memoryconsole.services.reading import summary_details
from memoryconsole.snapshot import snapshot


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
            "covered_by": covering(frame.store, Summary, number),
            "quoted_by": asks(frame, TRACES_SHOWN, ref=f"ep:{number}"),
        }
    return frame.render("console/summary.html", context)


@store_page("records", {"GET": Scope.OPERATE, "POST": Scope.OPERATE})
def delete(request: HttpRequest, frame: Frame, number: int) -> HttpResponse:
    """GET lists what deleting takes along; POST does it."""
    return delete_page(request, frame, Summary, number, forget.delete_summary)
