"""Records: searched, browsed and read whole; deleting one says first what goes with it."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse

from memoryconsole import shapes
from memoryconsole.api import filtered_records
from memoryconsole.errors import InvalidCursor, InvalidParameter
from memoryconsole.listing import page
from memoryconsole.models import Record, Scope, Store
from memoryconsole.nodes import Model, Parent, StoredNode, read_nodes, running_model, state
from memoryconsole.pages.forms import address, faults_by_field, filled_in, read_form, tidied
from memoryconsole.pages.frame import Frame, store_page
from memoryconsole.pages.hanging import covering, delete_page
from memoryconsole.pages.overview import asks
from memoryconsole.services import forget
from memoryconsole.services.reading import record_details
from memoryconsole.snapshot import snapshot
from memoryconsole.times import read_stamp

TRACES_SHOWN = 20


@store_page("records")
@tidied
def listing(request: HttpRequest, frame: Frame) -> HttpResponse:
    """The records that pass the filters of the address, newest number first, a page at a time."""
    given = request.GET.dict()
    said = filled_in(request).keys() - {"limit", "cursor"}
    context: dict[str, Any] = {
        "given": given,
        "filtered": bool(said),
        "narrowed": bool(said - {"text"}),
    }
    try:
        query = read_form(shapes.RecordFilters, request.GET)
        with snapshot():
            rows = filtered_records(frame.store, query)
            context["total"] = rows.count()
            found, cursor = page(rows.select_related("session"), query, list="records", store=frame.store.pk)
    except (InvalidParameter, InvalidCursor) as refused:
        context |= {"refused": refused, "faults": faults_by_field(refused.errors)}
        return frame.render("console/records.html", context, status=refused.status)
    context |= {
        "records": [shapes.record_shape(row) for row in found],
        "next": address(request, cursor=cursor) if cursor else "",
        "first": address(request, cursor=None) if "cursor" in given else "",
    }
    return frame.render("console/records.html", context)


@store_page("records")
def detail(request: HttpRequest, frame: Frame, number: int) -> HttpResponse:
    """One record: its text whole, and everything that hangs on it."""
    record = record_details(frame.store, number)
    model = running_model()
    with snapshot():
        rows = Record.objects.live().filter(store=frame.store, number=number)
        parents: list[Parent] = [("mem", pk) for pk in rows.values_list("pk", flat=True)]
        context = {
            "record": record,
            "number": number,
            "versions": [version["ref"] for version in record["versions"]],
            "is_newest": _is_newest(record),
            "pieces": pieces(frame.store, model, parents, record["content"]),
            "covered_by": covering(frame.store, Record, number),
            "quoted_by": asks(frame, TRACES_SHOWN, ref=f"mem:{number}"),
        }
    return frame.render("console/record.html", context)


@store_page("records", {"GET": Scope.OPERATE, "POST": Scope.OPERATE})
def delete(request: HttpRequest, frame: Frame, number: int) -> HttpResponse:
    """GET lists what deleting takes along; POST does it."""
    return delete_page(request, frame, Record, number, forget.delete_record)


def _is_newest(record: dict[str, Any]) -> bool:
    """Whether a record is the newest version of its message. Undated ones have no order, nor two of one instant."""
    at = read_stamp(record["timestamp"])
    others = [
        read_stamp(version["timestamp"]) for version in record["versions"] if version["ref"] != record["ref"]
    ]
    return bool(others) and at is not None and all(other is None or other < at for other in others)


def pieces(
    store: Store, model: Model | None, parents: Sequence[Parent], text: str
) -> list[tuple[StoredNode, str]]:
    """A long text cut where its nodes begin, each with its node; empty while no current nodes divide it."""
    for nodes in read_nodes(store, model, parents).values():
        if state(nodes, len(text)) == "current":
            return [(node, text[node.start : node.end]) for node in nodes]
    return []
