"""The routes of traces: listed, read, replayed, asked again, compared, questioned."""

import uuid
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memoryconsole import audit
from memoryconsole.listing import PageIn, page
from memoryconsole.middleware import current_request_id
from memoryconsole.models import Scope
from memoryconsole.models.traces import Outcome
from memoryconsole.openapi import describe
from memoryconsole.refs import NOT_A_REF, is_ref
from memoryconsole.serializers import Choice, Flag, StrictSerializer, Text
from memoryconsole.services import tracing
from memoryconsole.shapes import PolicyIn
from memoryconsole.times import read_stamp
from memoryconsole.traces import Caller, Laps
from memoryconsole.views import ConsoleView


class RefText(Text):
    """A ref: `mem:<number>`, `ep:<number>`, or a kind and a UUID as in `claim:<uuid>`."""

    def __init__(self, **options: Any) -> None:
        # A blank text would come by `to_internal_value`.
        super().__init__(max_length=64, allow_blank=False, **options)

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if not is_ref(text):
            raise serializers.ValidationError(NOT_A_REF, code="invalid")
        return text


class TraceFilters(PageIn):
    operation = Text(required=False, max_length=64)
    outcome = Choice(choices=Outcome.choices, required=False)
    reason = Text(required=False, max_length=64)
    degraded = Flag(required=False)
    actor = Text(required=False, max_length=150)
    agent_run = Text(required=False, max_length=64)
    label = Text(required=False, max_length=64)  # type: ignore[assignment]  # a member that Field also has
    ref = RefText(required=False)
    since = Text(required=False, max_length=64)
    until = Text(required=False, max_length=64)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        for name in ("since", "until"):
            if name in attrs and read_stamp(attrs[name]) is None:
                raise serializers.ValidationError({name: ["Not an ISO 8601 time."]}, code="invalid")
        return attrs


def trace_filters(query: dict[str, Any]) -> dict[str, Any]:
    """The filters as `tracing.listed` takes them: stamps as instants."""
    filters = {name: value for name, value in query.items() if name not in ("limit", "cursor")}
    filters |= {name: read_stamp(query[name]) for name in ("since", "until") if name in query}
    return filters


class TracesApi(ConsoleView):
    scopes = {"GET": Scope.READ}

    @describe("list_traces", 200, "{results, next_cursor}", parameters=[TraceFilters])
    def get(self, request: Request, store: str) -> Response:
        """List a store's traces, newest first: one's own, and everybody's with the scope `operate`."""
        query = self.read_query(TraceFilters)
        opened = self.open_store(store)
        rows = tracing.listed(self.actor, opened, trace_filters(query))
        bound = {"list": "traces", "store": opened.pk, "who": self.actor.user.pk}
        found, cursor = page(rows, query, order=("asked_at", "id"), **bound)
        return Response({"results": [tracing.summary_of(row) for row in found], "next_cursor": cursor})


class TraceApi(ConsoleView):
    scopes = {"GET": Scope.READ}

    @describe("read_trace", 200, "the trace")
    def get(self, request: Request, trace: uuid.UUID) -> Response:
        """One trace whole: request, policies, candidates, gate, clusters, quotes, budget line, stages."""
        return Response(tracing.details_of(tracing.find(self.actor, trace)))


class ReplayApi(ConsoleView):
    scopes = {"POST": Scope.READ}

    @describe("replay_trace", 200, "{same_core, result, reason?, differences?}", request=StrictSerializer)
    def post(self, request: Request, trace: uuid.UUID) -> Response:
        """Decide again, with the running core, over what the trace holds."""
        self.read_body(StrictSerializer)
        return Response(tracing.replay(tracing.find(self.actor, trace)))


class RerunIn(StrictSerializer):
    settings = PolicyIn(required=False)


class RerunApi(ConsoleView):
    scopes = {"POST": Scope.READ}

    @describe("rerun_trace", 200, "{trace, compared, why_added, why_removed}", request=RerunIn)
    def post(self, request: Request, trace: uuid.UUID) -> Response:
        """Ask today's store the same question. `settings`, for this call alone, need the scope `operate`."""
        wanted = self.read_body(RerunIn)
        found = tracing.find(self.actor, trace)
        call = audit.Call(
            operation=found.operation,
            actor=self.actor,
            store=found.store.public_id,
            body=dict,
            caller=Caller.of(request.headers, current_request_id()),
            laps=Laps(),
            settings=wanted.get("settings"),
        )
        told = tracing.rerun(found, call)
        return Response(told, headers={audit.TRACE_ID: told["trace"]} if told["trace"] else None)


class CompareIn(StrictSerializer):
    a = serializers.UUIDField()
    b = serializers.UUIDField()


class CompareApi(ConsoleView):
    scopes = {"GET": Scope.READ}

    @describe("compare_traces", 200, "{a, b, request, policy, results, ...}", parameters=[CompareIn])
    def get(self, request: Request) -> Response:
        """Two traces of one store side by side."""
        query = self.read_query(CompareIn)
        a, b = (tracing.find(self.actor, query[name]) for name in ("a", "b"))
        return Response(tracing.compare(a, b))


class WhyIn(StrictSerializer):
    ref = RefText()


class WhyApi(ConsoleView):
    scopes = {"GET": Scope.READ}

    @describe("why", 200, "{ref, verdict, bound, by, ...}", parameters=[WhyIn])
    def get(self, request: Request, trace: uuid.UUID) -> Response:
        """Why a row is in the answer, or which bound kept it out and by how much."""
        query = self.read_query(WhyIn)
        return Response(tracing.why(tracing.find(self.actor, trace), query["ref"]))
