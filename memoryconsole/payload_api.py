"""The route of payloads."""

from typing import Any

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from memoryconsole.idempotency import once
from memoryconsole.models import Scope
from memoryconsole.models.payloads import MAX_PAYLOAD_CHARS, MAX_REF_CHARS
from memoryconsole.openapi import describe
from memoryconsole.serializers import Items, StrictSerializer, Text
from memoryconsole.services import payloads
from memoryconsole.shapes import MAX_SESSION_ID_CHARS, not_blank
from memoryconsole.views import ConsoleView

MAX_PAYLOADS_PER_CALL = 100


class PayloadIn(StrictSerializer):
    """One payload. `ref` left out: one is made. Another session's rows do not show it."""

    content = Text(max_length=MAX_PAYLOAD_CHARS)
    session_id = Text(max_length=MAX_SESSION_ID_CHARS, allow_blank=False, validators=[not_blank])
    ref = Text(default="", max_length=MAX_REF_CHARS)
    kind = Text(default="tool_result", max_length=64, allow_blank=False)
    role = Text(default="", max_length=64)
    tool_call_id = Text(default="")
    field_path = Text(default="")


class PayloadsIn(StrictSerializer):
    """`POST /stores/{store}/payloads`."""

    payloads = Items(child=PayloadIn(), allow_empty=False, max_length=MAX_PAYLOADS_PER_CALL)


class PayloadsApi(ConsoleView):
    scopes = {"POST": Scope.WRITE}

    @describe("store_payloads", 201, "one {ref, created} a row", request=PayloadsIn, repeatable=True)
    def post(self, request: Request, store: str) -> Response:
        """Store 1 to 100 externalized payloads, all or nothing. A record names one by its `payload`."""
        rows = [payloads.NewPayload(**row) for row in self.read_body(PayloadsIn)["payloads"]]
        opened = self.open_store(store)

        def effect() -> tuple[int, dict[str, Any]]:
            stored = payloads.store_payloads(opened, rows, now=timezone.now())
            return 201, {"payloads": [{"ref": each.ref, "created": each.created} for each in stored]}

        status, body = once(request, self.actor, opened, "payloads", effect)
        return Response(body, status=status)
