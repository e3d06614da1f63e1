"""The routes of this floor that belong to no single contract."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memoryconsole.errors import Fault, InvalidParameter, NotFound
from memoryconsole.models import Scope
from memoryconsole.openapi import describe
from memoryconsole.serializers import StrictSerializer
from memoryconsole.services import tracing
from memoryconsole.views import ConsoleView
from provenance import verify


class Pasted(serializers.DictField):
    """An answer as it was received: what it does not say is not looked for."""


class VerifyIn(StrictSerializer):
    """`POST /stores/{store}/verify`: a stored answer by its trace, or a pasted one."""

    trace = serializers.UUIDField(required=False)
    answer = Pasted(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if len(attrs) != 1:
            raise serializers.ValidationError(
                "Give either `trace`, an id, or `answer`, what was answered.", code="contradiction"
            )
        return attrs


class VerifyApi(ConsoleView):
    scopes = {"POST": Scope.READ}

    @describe("verify", 200, "{checked_at, quotes, counts}", request=VerifyIn)
    def post(self, request: Request, store: str) -> Response:
        """Whether each quote of an answer still stands where it was taken from: current, changed or gone."""
        wanted = self.read_body(VerifyIn)
        opened = self.open_store(store)
        if "trace" in wanted:
            trace = tracing.find(self.actor, wanted["trace"])
            if trace.store_id != opened.pk:
                raise NotFound("No such trace")
            return Response(verify.of_trace(opened, trace))
        try:
            return Response(verify.of_answer(opened, wanted["answer"]))
        except ValueError as fault:
            message = str(fault)
            raise InvalidParameter(message, errors=[Fault("/answer", "max_length", message)]) from None
