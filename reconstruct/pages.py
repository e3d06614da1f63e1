"""The pages of this floor: a question asked in the browser, and a stored text read further step by step.

Asking is the same call that the API serves, and leaves the same trace. A page renders the body of that answer; what
it adds is read off the trace and off the rows by their refs, never decided here.
"""

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse

from memoryconsole import audit, registry
from memoryconsole.errors import ConsoleError, InvalidParameter
from memoryconsole.models import Store, Trace
from memoryconsole.pages.asking import page_call
from memoryconsole.pages.forms import OURS, faults_by_field
from memoryconsole.pages.frame import Frame, store_page
from memoryconsole.pages.navigation import Section, add_section
from memoryconsole.serializers import StrictSerializer
from memoryconsole.services.stores import policy_of
from memoryconsole.snapshot import snapshot
from reconstruct import words
from reconstruct.cards import cards, recalled
from reconstruct.parameters import parameters
from reconstruct.serializers import RecallIn, ReconstructIn

add_section(Section("ask", "Ask", "ask:ask", 20))

Context = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Tab:
    """One way to ask. `fields`: the members that have a place on the form. `answered`: what the template needs."""

    operation: str
    label: str
    url: str
    serializer: type[StrictSerializer]
    fields: tuple[str, ...]
    answered: Callable[[Store, audit.Answer], Context]


def _reconstructed(store: Store, answered: audit.Answer) -> Context:
    body = answered.body
    return {
        "outcome": words.outcome(body),
        "shortfall": words.shortfall(body),
        "admissions": [*words.admissions(body), *words.lowered_hops(answered.row.request, answered.row.told)],
        "cards": cards(store, body, answered.row),
    }


def _recalled(store: Store, answered: audit.Answer) -> Context:
    body, rows = answered.body, recalled(answered.body, answered.row)
    degraded = "advisory" in body
    shortfall = words.shortfall_sentence("" if rows else "no_relevant_evidence", degraded=degraded)
    nothing = "Nothing found, by a search that is degraded" if degraded else "Nothing found"
    return {
        "outcome": f"{len(rows):,} candidate{'' if len(rows) == 1 else 's'}" if rows else nothing,
        "shortfall": shortfall,
        "admissions": words.fallback(body),
        "rows": rows,
    }


_SCOPE = ("deep", "project_id", "channel", "source_id")
TABS = (
    Tab(
        operation="reconstruct",
        label="Reconstruct",
        url="ask:ask",
        serializer=ReconstructIn,
        fields=("count", "budget", "top_k", "max_hops", "max_evidence", "trace", *_SCOPE),
        answered=_reconstructed,
    ),
    Tab(
        operation="recall",
        label="Candidates only",
        url="ask:recall",
        serializer=RecallIn,
        fields=("limit", *_SCOPE),
        answered=_recalled,
    ),
)


@store_page("ask")
def ask(request: HttpRequest, frame: Frame) -> HttpResponse:
    """Reconstruct. An address with a `query` asks it, each time it is opened; one without asks nothing."""
    return _page(request, frame, TABS[0])


@store_page("ask")
def recall(request: HttpRequest, frame: Frame) -> HttpResponse:
    """The candidates alone, asked likewise."""
    return _page(request, frame, TABS[1])


def _page(request: HttpRequest, frame: Frame, tab: Tab) -> HttpResponse:
    context = _frame_of(request, frame, tab)
    # A HEAD looks at the page, it asks nobody.
    if "query" not in request.GET or request.method != "GET":
        return frame.render("reconstruct/ask.html", context | _bounds(frame.store, tab, None))
    body = _sent(request.GET)
    if body.keys() != request.GET.keys():
        # A form sends its empty fields too: the address that is asked, and shared, names what was filled in.
        return redirect(f"{context['here']}?{body.urlencode()}")
    try:
        answered = audit.answer(page_call(request, frame, tab.operation, lambda: tab.serializer.typed(body)))
    except ConsoleError as refused:
        context |= _bounds(frame.store, tab, None) if isinstance(refused, InvalidParameter) else {}
        return frame.render("reconstruct/ask.html", context | _refusal(refused), status=refused.status)
    context |= _bounds(frame.store, tab, answered.row) | _answer(request, frame, tab, answered)
    return frame.render("reconstruct/ask.html", context)


def _sent(address: QueryDict) -> QueryDict:
    """The members of an address that were filled in. An empty question is one: what was stored last."""
    filled = QueryDict(mutable=True)
    for name, values in address.lists():
        if name not in OURS and (values != [""] or name == "query"):
            filled.setlist(name, values)
    return filled


def _frame_of(request: HttpRequest, frame: Frame, tab: Tab) -> Context:
    given = request.GET.dict()
    # The other way to ask takes the same question along, unless that was refused as no question.
    kept = QueryDict(mutable=True)
    kept.update({name: value for name, value in given.items() if name in ("query", *_SCOPE) and value})
    tabs = []
    for each in TABS:
        link = reverse(each.url, args=[frame.store.public_id])
        tabs.append((each, f"{link}?{kept.urlencode()}" if kept.get("query") else link))
    return {
        "tab": tab,
        "tabs": tabs,
        "here": reverse(tab.url, args=[frame.store.public_id]),
        "given": given,
        "named": [(name, given[name]) for name in tab.fields if given.get(name)],
        "faults": {},
    }


def _bounds(store: Store, tab: Tab, trace: Trace | None) -> Context:
    """The bounds of the question: those of the trace, or those that a question would have now (one statement)."""
    if trace is not None:
        policy, request, told = trace.policy, trace.request, trace.told.get("policy")
    else:
        with snapshot():
            policy, request, told = policy_of(store).kept(), {}, None
    found = parameters(policy, request, told)
    limit = next(each for each in found if each.name == "top_k")
    return {"parameters": found if tab.operation == "reconstruct" else [], "limit": limit}


def _answer(request: HttpRequest, frame: Frame, tab: Tab, answered: audit.Answer) -> Context:
    api = reverse(f"reconstruct:{tab.operation}", args=[frame.store.public_id])
    sent = json.dumps(answered.row.request, ensure_ascii=False)
    return tab.answered(frame.store, answered) | {
        "answer": answered.body,
        "advisory": answered.body.get("advisory"),
        "trace": answered.trace,
        "row": answered.row,
        "core": registry.operation(tab.operation).core,
        "curl": f"curl {shlex.quote(request.build_absolute_uri(api))} \\\n"
        '  -H "Authorization: Bearer $TOKEN" \\\n'
        '  -H "Content-Type: application/json" \\\n'
        f"  -d {shlex.quote(sent)}",
    }


def _refusal(refused: ConsoleError) -> Context:
    return {
        "refused": refused,
        "faults": faults_by_field(refused.errors),
        "refused_trace": refused.headers.get(audit.TRACE_ID),
    }
