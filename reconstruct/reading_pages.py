"""Reading further from a quote, a step at a time: the rest of its node, its neighbours, then the whole text.

Each step is a call of get_contents for one entry: what an agent that follows the same hint would get, with a trace.
"""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse

from memoryconsole import audit
from memoryconsole.errors import NotFound
from memoryconsole.pages.asking import page_call
from memoryconsole.pages.forms import read_form
from memoryconsole.pages.frame import Frame, store_page
from memoryconsole.pages.marks import Asked
from memoryconsole.search.analyze import query_units
from memoryconsole.serializers import StrictSerializer, Text, Whole
from reconstruct.cards import STEP_CHARS
from reconstruct.serializers import MAX_QUERY_CHARS

UNRESOLVED = {
    "no_current_nodes": "This text is not divided into nodes, or its nodes are being built again.",
    "node_out_of_range": "This text has no such node.",
    "span_out_of_range": "This text is shorter than that.",
    "invalid_range": "That is no stretch of a text.",
}


class StepIn(StrictSerializer):
    """Nodes `first` to `last`, or the beginning of the text `until` a character. `query`: whose words are marked."""

    first = Whole(required=False)
    last = Whole(required=False)
    until = Whole(required=False, min_value=1)
    query = Text(required=False, max_length=MAX_QUERY_CHARS)


@dataclass(frozen=True, slots=True)
class Step:
    label: str
    link: str


@store_page("ask")
def read(request: HttpRequest, frame: Frame, kind: str, number: int) -> HttpResponse:
    """One stretch of a stored text, where it lies in the whole, and the next steps. A page, and a part of one."""
    step = read_form(StepIn, request.GET)
    ref = f"{kind}:{number}"
    entry = _entry(ref, step)
    body = audit.answer(page_call(request, frame, "contents", lambda: {"refs": [entry]})).body
    if body["missing"]:
        raise NotFound("No such row")
    context: dict[str, Any] = {"ref": ref, "asked": _asked(step.get("query", ""), frame.store.language)}
    if "unresolved" in body:
        context["unresolved"] = UNRESOLVED[body["unresolved"][0]["reason"]]
        return frame.render("reconstruct/read.html", context)
    item = body["items"][0]
    found = item.get("range", {"span": [0, len(item["content"])], "content_len": len(item["content"])})
    context |= {
        "item": item,
        "range": found,
        "start": found["span"][0] + 1,
        "percent": _percent(found["span"], found["content_len"]),
        "steps": _steps(request, frame, kind, number, found),
    }
    return frame.render("reconstruct/read.html", context)


def _entry(ref: str, step: dict[str, Any]) -> Any:
    if "first" in step:
        return {"ref": ref, "node": [step["first"], step.get("last", step["first"])]}
    if "until" in step:
        return {"ref": ref, "span": [0, step["until"]]}
    return ref


def _asked(query: str, language: str) -> Asked:
    units = query_units(query, language)
    return Asked(frozenset(term for unit in units for term in unit.terms), language)


def _percent(span: list[int], length: int) -> tuple[float, float]:
    """(where a stretch begins, how long it is), both in percent of a text; never thinner than can be seen."""
    start, end = span
    if not length:
        return 0.0, 100.0
    width = max(100 * (end - start) / length, 1.0)
    return round(min(100 * start / length, 100 - width), 2), round(width, 2)


def _steps(request: HttpRequest, frame: Frame, kind: str, number: int, found: dict[str, Any]) -> list[Step]:
    """Where one may go on from here, the smallest step first; nothing when all of the text is there."""
    start, end = found["span"]
    length = found["content_len"]
    if start == 0 and end >= length:
        return []
    steps = []
    if "node" in found:
        first, last = found["node"]
        wider = max(first - 1, 0), min(last + 1, found["of"] - 1)
        steps.append(Step("One more node on each side", _link(request, first=wider[0], last=wider[1])))
    elif start == 0:
        steps.append(Step(f"{STEP_CHARS:,} characters more", _link(request, until=end + STEP_CHARS)))
    whole = _link(request)
    steps.append(Step(f"The whole text, {length:,} characters", whole))
    page = "console:record" if kind == "mem" else "console:summary"
    steps.append(Step("Its page", reverse(page, args=[frame.store.public_id, number])))
    return steps


def _link(request: HttpRequest, **members: int) -> str:
    address = QueryDict(mutable=True)
    address.update({name: str(value) for name, value in members.items()})
    if request.GET.get("query"):
        address["query"] = request.GET["query"]
    return f"{request.path}?{address.urlencode()}" if address else request.path
