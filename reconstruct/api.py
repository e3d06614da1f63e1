"""The routes of this floor."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from memoryconsole.errors import ConsoleError
from memoryconsole.models import Scope
from memoryconsole.openapi import describe
from memoryconsole.views import ConsoleView, ContractView
from reconstruct.serializers import ContentsIn, RecallIn, ReconstructIn, TraverseIn, traverse_ask
from reconstruct.traverse import traverse


class ReconstructApi(ContractView):
    operation = "reconstruct"

    @describe("reconstruct", 200, "the contract's object", request=ReconstructIn)
    def post(self, request: Request, store: str) -> Response:
        """Recall items: stored rows selected, ordered and given roles, every quote verbatim."""
        return self.answer(request, store)

    def problem_extensions(self, error: ConsoleError) -> dict[str, Any]:
        return {"ok": False, "error": error.detail, "items": [], "returned_count": 0}


class RecallApi(ContractView):
    operation = "recall"

    @describe("recall", 200, "{results, gate_fallback?, advisory?}", request=RecallIn)
    def post(self, request: Request, store: str) -> Response:
        """The candidate rows for a query, best first."""
        return self.answer(request, store)


class ContentsApi(ContractView):
    operation = "contents"

    @describe(
        "get_contents",
        200,
        "{items, missing, count, unresolved?, deferred?, budget_chars?}",
        request=ContentsIn,
    )
    def post(self, request: Request, store: str) -> Response:
        """Stored texts by ref, whole or in part, as much as one answer holds."""
        return self.answer(request, store)

    def problem_extensions(self, error: ConsoleError) -> dict[str, Any]:
        return {"ok": False, "error": error.detail}


class TraverseApi(ConsoleView):
    scopes = {"POST": Scope.READ}

    @describe(
        "traverse", 200, "{entities, relations, bounds, entities_omitted?, reason?}", request=TraverseIn
    )
    def post(self, request: Request, store: str) -> Response:
        """The entities within some hops of a named one, and the relations between them."""
        ask = traverse_ask(self.read_body(TraverseIn))
        return Response(traverse(self.open_store(store), ask))
