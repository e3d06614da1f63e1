"""The routes of this floor."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from memoryconsole.errors import ConsoleError
from memoryconsole.models import Scope
from memoryconsole.openapi import describe
from memoryconsole.views import ConsoleView
from reconstruct import services
from reconstruct.serializers import RecallIn, ReconstructIn, recall_ask, reconstruct_ask


class ReconstructApi(ConsoleView):
    scopes = {"POST": Scope.READ}

    @describe("reconstruct", 200, "the contract's object", request=ReconstructIn)
    def post(self, request: Request, store: str) -> Response:
        """Recall items: stored rows selected, ordered and given roles, every quote verbatim."""
        ask = reconstruct_ask(self.read_body(ReconstructIn))
        return Response(services.reconstruct(self.open_store(store), ask))

    def problem_extensions(self, error: ConsoleError) -> dict[str, Any]:
        return {"ok": False, "error": error.detail, "items": [], "returned_count": 0}


class RecallApi(ConsoleView):
    scopes = {"POST": Scope.READ}

    @describe("recall", 200, "{results, gate_fallback?, advisory?}", request=RecallIn)
    def post(self, request: Request, store: str) -> Response:
        """The candidate rows for a query, best first."""
        ask = recall_ask(self.read_body(RecallIn))
        return Response(services.recall(self.open_store(store), ask))
