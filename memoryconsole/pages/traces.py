"""Traces: listed, told as a story, decided again, asked again, compared, and questioned about a row."""

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from rest_framework import serializers

from memoryconsole import audit, registry
from memoryconsole.api import filtered_records
from memoryconsole.errors import Fault, InvalidCursor, InvalidParameter, NotFound
from memoryconsole.listing import page
from memoryconsole.models import Scope, Trace
from memoryconsole.models.stores import POLICY_FIELDS
from memoryconsole.models.traces import Outcome
from memoryconsole.pages.asking import page_call
from memoryconsole.pages.forms import address, faults_by_field, read_form
from memoryconsole.pages.frame import Frame, store_page
from memoryconsole.pages.navigation import Section, add_section
from memoryconsole.pages.rows import read_rows
from memoryconsole.refs import NAMED, NOT_A_REF, is_ref
from memoryconsole.serializers import Flag, StrictSerializer, Text
from memoryconsole.services import tracing
from memoryconsole.shapes import PolicyIn
from memoryconsole.snapshot import snapshot
from memoryconsole.trace_api import TraceFilters, trace_filters

# Rows of one list that the story shows at first, and when all are asked for. The API has the rest.
ROWS_SHOWN, ROWS_MOST = 20, 200
# Records offered when words were given instead of a ref.
GUESSES = 5

add_section(Section("traces", "Traces", "console:traces", 30))

Context = dict[str, Any]


class StoryIn(StrictSerializer):
    """What a trace's page is asked: `ref` is a ref, or words of a record; `all` shows long lists whole."""

    ref = Text(required=False, max_length=1000)
    all = Flag(default=False)


class CompareIn(StrictSerializer):
    b = serializers.UUIDField()


@dataclass(frozen=True, slots=True)
class Lap:
    """One stage as a bar: where it begins and how long it is, in percent of the whole."""

    name: str
    duration_us: int
    start: float
    width: float


@store_page("traces")
def listing(request: HttpRequest, frame: Frame) -> HttpResponse:
    """The traces that pass the filters of the address, newest first, a page at a time."""
    given = request.GET.dict()
    context: Context = {
        "given": given,
        "filtered": bool(given.keys() - {"limit", "cursor"}),
        "operations": registry.operation_names(),
        "outcomes": Outcome.values,
    }
    try:
        query = read_form(TraceFilters, request.GET)
        bound = {"list": "traces", "store": frame.store.pk, "who": frame.actor.user.pk}
        with snapshot():
            rows = tracing.listed(frame.actor, frame.store, trace_filters(query))
            found, cursor = page(rows, query, order=("asked_at", "id"), **bound)
    except (InvalidParameter, InvalidCursor) as refused:
        context |= {"refused": refused, "faults": faults_by_field(refused.errors)}
        return frame.render("traces/list.html", context, status=refused.status)
    context |= {
        "asks": [tracing.summary_of(row) for row in found],
        "next": address(request, cursor=cursor) if cursor else "",
        "first": address(request, cursor=None) if "cursor" in given else "",
    }
    return frame.render("traces/list.html", context)


@store_page("traces")
def detail(request: HttpRequest, frame: Frame, trace: uuid.UUID) -> HttpResponse:
    """One trace, told in order. `?ref=` asks why a row is or is not in the answer."""
    found = find(frame, trace)
    context: Context = {}
    everything = False
    try:
        asked = read_form(StoryIn, request.GET)
        everything = asked["all"]
        if asked.get("ref", "").strip():
            context |= _why(frame, found, asked["ref"].strip())
    except InvalidParameter as refused:
        context |= {"why_refused": refused, "why_asked": request.GET.get("ref", "")}
    return _story(request, frame, found, context, everything=everything)


@store_page("traces", {"POST": Scope.READ})
def replay(request: HttpRequest, frame: Frame, trace: uuid.UUID) -> HttpResponse:
    """Decide again over what the trace holds; nothing is stored."""
    found = find(frame, trace)
    return _story(request, frame, found, {"replayed": tracing.replay(found)})


@store_page("traces", {"POST": Scope.READ})
def rerun(request: HttpRequest, frame: Frame, trace: uuid.UUID) -> HttpResponse:
    """Ask today's store the same question, under its settings or, for operators, under others this once."""
    found = find(frame, trace)
    try:
        settings = read_form(PolicyIn, request.POST)
        call = page_call(request, frame, found.operation, dict, settings or None)
        result = tracing.rerun(found, call)
    except InvalidParameter as refused:
        given = {"rerun_refused": refused, "given": request.POST.dict()}
        return _story(request, frame, found, given, status=refused.status)
    context = _compared(frame, result["compared"]) | {"rerun": result, "settings": settings}
    return frame.render("traces/compare.html", context)


@store_page("traces")
def compare(request: HttpRequest, frame: Frame, trace: uuid.UUID) -> HttpResponse:
    """Two traces of this store side by side."""
    found = find(frame, trace)
    try:
        other = find(frame, read_form(CompareIn, request.GET)["b"])
    except (InvalidParameter, NotFound) as refused:
        context = {"compare_refused": refused, "compare_asked": request.GET.get("b", "")}
        return _story(request, frame, found, context, status=refused.status)
    return frame.render("traces/compare.html", _compared(frame, tracing.compare(found, other)))


def find(frame: Frame, trace: uuid.UUID) -> Trace:
    """A trace of this page's store that the visitor may see. Raises NotFound for every other."""
    found = tracing.find(frame.actor, trace)
    if found.store_id != frame.store.pk:
        raise NotFound("No such trace")
    return found


def _story(
    request: HttpRequest,
    frame: Frame,
    trace: Trace,
    context: Context,
    *,
    everything: bool = False,
    status: int = 200,
) -> HttpResponse:
    operation = registry.operation(trace.operation)
    refused = trace.outcome == Outcome.REFUSED
    most = ROWS_MOST if everything else ROWS_SHOWN
    if not refused:
        with snapshot():
            context = operation.story(trace, most) | context
    context |= {
        "trace": trace,
        "summary": tracing.summary_of(trace),
        "digest": bytes(trace.digest).hex(),
        "asked_with": [(name, _written(value)) for name, value in trace.request.items() if name != "query"],
        "not_kept": trace.request.get(audit.NOT_KEPT),
        "laps": laps(trace.stages),
        "template": None if refused else f"traces/story_{trace.operation}.html",
        "problem": trace.told if refused else None,
        "everything": everything,
        "most": most,
        "all_rows": f"{reverse('console:trace', args=[frame.store.public_id, trace.pk])}?all=true",
        "ask_again": _as_address(trace.request),
        "ask_page": operation.page and reverse(operation.page, args=[frame.store.public_id]),
        "policy_fields": POLICY_FIELDS if operation.takes_settings and frame.may(Scope.OPERATE) else (),
        "kinds": [kind for kind in ("mem", "ep", *NAMED) if kind in operation.kinds],
        "same_core": trace.core == operation.core,
    }
    return frame.render("traces/trace.html", context, status=status)


def _written(value: Any) -> str:
    """A member of a request, as it was sent; a text as it is."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _as_address(body: Mapping[str, Any]) -> str:
    """A kept request as the address that asks it again: switches and numbers as texts, what is null left out."""
    members = QueryDict(mutable=True)
    for name, value in body.items():
        if isinstance(value, bool):
            members[name] = "true" if value else "false"
        elif isinstance(value, int | str) and (value != "" or name == "query"):
            members[name] = str(value)
    return str(members.urlencode())


def _why(frame: Frame, trace: Trace, asked: str) -> Context:
    """The verdict on a ref; for words, the records that hold them, to choose from. Raises InvalidParameter."""
    context: Context = {"why_asked": asked}
    if is_ref(asked):
        if trace.outcome == Outcome.REFUSED:
            return context
        verdict = tracing.why(trace, asked)
        with snapshot():
            row = read_rows(frame.store, [asked]).get(asked)
        return context | {"why": verdict, "why_row": row}
    if re.fullmatch(r"\w+:\S*", asked):
        raise InvalidParameter(NOT_A_REF, errors=[Fault("?ref", "invalid", NOT_A_REF)])
    if "mem" not in registry.operation(trace.operation).kinds:
        # No record is in such an answer: there is none to choose.
        return context
    with snapshot():
        rows = filtered_records(frame.store, {"text": asked}).order_by("-number")[:GUESSES]
        refs = [f"mem:{number}" for number in rows.values_list("number", flat=True)]
        shown = read_rows(frame.store, refs)
    return context | {"guesses": [shown[ref] for ref in refs if ref in shown]}


def _compared(frame: Frame, compared: Mapping[str, Any]) -> Context:
    results = compared["results"][:ROWS_MOST]
    with snapshot():
        rows = read_rows(frame.store, [each["ref"] for each in results])
    moved = set(compared["moved"])
    return {
        "compared": compared,
        "sides": [("a", compared["a"]), ("b", compared["b"])],
        "results": [
            {**each, "row": rows.get(each["ref"]), "change": _change(each, moved)} for each in results
        ],
        "hidden": len(compared["results"]) - len(results),
    }


def _change(result: Mapping[str, Any], moved: set[str]) -> str:
    if result["a"] is None:
        return "added"
    if result["b"] is None:
        return "removed"
    return "moved" if result["ref"] in moved else "same"


def laps(stages: list[list[Any]]) -> list[Lap]:
    """The stages as bars one after the other; none is too thin to be seen."""
    total = sum(spent for _, spent in stages) or 1
    found, reached = [], 0
    for name, spent in stages:
        width = max(100 * spent / total, 0.5)
        start = min(100 * reached / total, 100 - width)
        found.append(Lap(name, spent, round(start, 2), round(width, 2)))
        reached += spent
    return found
