"""The routes of the operations."""

from rest_framework.request import Request
from rest_framework.response import Response

from memoryconsole.models import Scope
from memoryconsole.openapi import describe
from memoryconsole.views import ConsoleView, ContractView
from provenance.context_bundle.core import types
from provenance.context_bundle.descriptors import DESCRIPTORS
from provenance.context_bundle.serializers import (
    ClaimsAndSourcesIn,
    CombinedIn,
    ContradictionMembersIn,
    FactsIn,
    ResolveEntityIn,
)


class OperationsApi(ConsoleView):
    scopes = {"GET": Scope.READ}

    @describe("list_operations", 200, "{operations: [descriptor, ...]}")
    def get(self, request: Request, store: str) -> Response:
        """The four assured operations: arguments and answers as closed JSON Schemas, bounds, what they are for."""
        self.open_store(store)
        return Response({"operations": DESCRIPTORS})


class ResolveEntityApi(ContractView):
    operation = types.RESOLVE_ENTITY

    @describe("resolve_entity", 200, "a fact envelope of candidates", request=ResolveEntityIn)
    def post(self, request: Request, store: str) -> Response:
        """Which entities a name may mean. Homonyms all come back; which is meant is for the caller to say."""
        return self.answer(request, store)


class ClaimsAndSourcesApi(ContractView):
    operation = types.CLAIMS_AND_SOURCES

    @describe("claims_and_sources_context", 200, "an evidence envelope", request=ClaimsAndSourcesIn)
    def post(self, request: Request, store: str) -> Response:
        """What sources say, and the passages they say it in. Whether it is true is another question."""
        return self.answer(request, store)


class FactsContextApi(ContractView):
    operation = types.FACTS

    @describe("facts_context", 200, "a fact envelope", request=FactsIn)
    def post(self, request: Request, store: str) -> Response:
        """What is held true at the time asked, with the evidence for and against it, and the other sides."""
        return self.answer(request, store)


class ContradictionMembersApi(ContractView):
    operation = types.CONTRADICTION_MEMBERS

    @describe("contradiction_members", 200, "a fact envelope", request=ContradictionMembersIn)
    def post(self, request: Request, store: str) -> Response:
        """Where the other sides of a fact go on, behind the 25 that stand beside it."""
        return self.answer(request, store)


class CombinedContextApi(ContractView):
    operation = types.COMBINED

    @describe("combined_context", 200, "a ContextBundle/v2", request=CombinedIn)
    def post(self, request: Request, store: str) -> Response:
        """Both contexts side by side, in one snapshot: two complete envelopes and nothing beside them."""
        return self.answer(request, store)


class ContextBundleApi(ContractView):
    operation = types.COMBINED

    @describe("context_bundle", 200, "a ContextBundle/v2", request=CombinedIn)
    def post(self, request: Request, store: str) -> Response:
        """The operation combined_context at an address of its own."""
        return self.answer(request, store)
