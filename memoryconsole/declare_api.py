"""The routes of declarations: entities, aliases, mentions and relations are declared, retracted, previewed, listed."""

from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memoryconsole.access import Actor
from memoryconsole.declarations import Declaration, read_declaration, read_ref
from memoryconsole.idempotency import once
from memoryconsole.listing import PageIn, page
from memoryconsole.models import Scope
from memoryconsole.openapi import describe
from memoryconsole.serializers import Members, StrictSerializer, Text, Whole
from memoryconsole.services import graph
from memoryconsole.services.declare import DeclaredBy, declare, preview
from memoryconsole.views import ConsoleView


class AssociationsIn(StrictSerializer):
    """`POST /stores/{store}/associations` (reconstruct J). What is inside the two objects is judged item by item."""

    associations = Members(required=False)
    anchor_ref = Text(default="", allow_null=True)
    retract = Members(required=False)
    channel = Text(default="", allow_null=True)
    project_id = Text(default="", allow_null=True)
    # Taken as every contract call takes it; no notice comes with a declaration.
    session_key = Text(default="")


class ScopeFilters(PageIn):
    project_id = Text(required=False)
    channel = Text(required=False)


class AssociationFilters(ScopeFilters):
    entity = Whole(required=False, min_value=1)
    ref = Text(required=False, max_length=64)
    predicate = Text(required=False)

    def validate_ref(self, ref: str) -> str:
        if read_ref(ref) is None:
            raise serializers.ValidationError("Neither mem:<number> nor ep:<number>.", code="invalid")
        return ref


def read_body(data: dict[str, Any]) -> Declaration:
    """The declaration of a validated AssociationsIn."""
    return read_declaration(
        data.get("associations", {}),
        anchor_ref=data["anchor_ref"] or "",
        retract=data.get("retract"),
        project_id=data["project_id"] or "",
        channel=data["channel"] or "",
    )


def declared_by(actor: Actor) -> DeclaredBy:
    """Tokens are what agents call with; a signed-in person is an operator."""
    return "operator" if actor.token is None else "agent"


class AssociationsApi(ConsoleView):
    scopes = {"GET": Scope.READ, "POST": Scope.DECLARE}

    @describe("list_associations", 200, "{results, next_cursor}", parameters=[AssociationFilters])
    def get(self, request: Request, store: str) -> Response:
        """List associations with their ends named, newest number first."""
        query = self.read_query(AssociationFilters)
        opened = self.open_store(store)
        rows = graph.filtered(opened, query)
        found, cursor = page(rows, query, list="associations", store=opened.pk)
        return Response({"results": graph.association_shapes(opened, found), "next_cursor": cursor})

    @describe(
        "declare_associations",
        200,
        "{ok, result, entities, mentions, relations, dropped, retracted?}",
        request=AssociationsIn,
        repeatable=True,
    )
    def post(self, request: Request, store: str) -> Response:
        """Declare entities, aliases, mentions and relations, and retract. Items that cannot be are in `dropped`."""
        data = self.read_body(AssociationsIn)
        opened = self.open_store(store)

        def effect() -> tuple[int, dict[str, Any]]:
            report = declare(opened, read_body(data), declared_by=declared_by(self.actor), now=timezone.now())
            return 200, {"ok": True, "result": "declared", **report.shape(names=False)}

        status, body = once(request, self.actor, opened, "associations", effect)
        graph.with_names(opened, [body])
        return Response(body, status=status)


class AssociationsPreviewApi(ConsoleView):
    scopes = {"POST": Scope.DECLARE}

    @describe(
        "preview_associations",
        200,
        "{ok, result, entities, mentions, relations, dropped, retracted?, registers}",
        request=AssociationsIn,
    )
    def post(self, request: Request, store: str) -> Response:
        """What the same body would register, reuse, drop and retract; nothing is written. New ids are null."""
        data = self.read_body(AssociationsIn)
        report, registers = preview(self.open_store(store), read_body(data))
        return Response({"ok": True, "result": "preview", **report.shape(), "registers": registers})
