"""The routes of expand-query."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from memoryconsole.errors import ConsoleError
from memoryconsole.openapi import describe
from memoryconsole.views import ContractView
from provenance.expand_query.serializers import ExpandIn, ExpandQueryIn


class _Api(ContractView):
    def problem_extensions(self, error: ConsoleError) -> dict[str, Any]:
        return {"error": error.detail}


class ExpandQueryApi(_Api):
    operation = "expand_query"

    @describe("expand_query", 200, "the contract's object", request=ExpandQueryIn)
    def post(self, request: Request, store: str) -> Response:
        """From a session's summaries down to what was said, under one budget, and what the answer was given.

        `evidence_provenance` tells which bounded excerpts were available to the answer. Locator coverage says that
        each listed identity has arguments that would expand it, not that they still resolve: locator replay is
        unverified, and so is semantic entailment, whether the answer follows from the excerpts. Identifiers are
        non-authoritative: node_id and externalized_ref open what belongs to the request's session, store_id opens
        any session's message in the store, and each is authorized anew whenever it is used.
        """
        return self.answer(request, store)


class ExpandApi(_Api):
    operation = "expand"

    @describe("expand", 200, "a page of a message, a payload or a summary's sources", request=ExpandIn)
    def post(self, request: Request, store: str) -> Response:
        """A bounded page of what one locator names; takes an item's `expand_args` as they are."""
        return self.answer(request, store)
