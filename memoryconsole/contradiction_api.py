"""The routes of facts that contradict each other: groups are declared, extended, decided, listed and read."""

from typing import Any
from uuid import UUID

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memoryconsole.fact_api import CONFLICT, FactRefIn, fact_ref
from memoryconsole.idempotency import once
from memoryconsole.listing import PageIn, page
from memoryconsole.models import Scope
from memoryconsole.openapi import REFUSED, describe
from memoryconsole.serializers import Choice, Flag, Items, StrictSerializer
from memoryconsole.services.facts import contradictions, reading
from memoryconsole.services.facts.transcript import Decider
from memoryconsole.views import ConsoleView, if_match, versioned

# As many facts as a group's page shows. More join one call after another.
MAX_MEMBERS = 100


class ContradictionIn(StrictSerializer):
    members = Items(child=FactRefIn(), allow_empty=False, max_length=MAX_MEMBERS)
    join = Flag(default=False)


class ResolutionIn(StrictSerializer):
    verdict = Choice(choices=[contradictions.PICK, contradictions.ALL_STAND])
    keep = FactRefIn(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("keep" in attrs) != (attrs["verdict"] == contradictions.PICK):
            raise serializers.ValidationError(
                {"keep": [serializers.ErrorDetail("Goes with pick, and pick with it.", code="contradiction")]}
            )
        return attrs


class GroupFilters(PageIn):
    open = Flag(required=False)


class ContradictionsApi(ConsoleView):
    scopes = {"GET": Scope.READ, "POST": Scope.WRITE}

    @describe("list_contradictions", 200, "{results, next_cursor}", parameters=[GroupFilters])
    def get(self, request: Request, store: str) -> Response:
        """List groups of facts that contradict each other, newest first."""
        query = self.read_query(GroupFilters)
        opened = self.open_store(store)
        rows = reading.groups_listed(opened, query)
        found, cursor = page(
            rows, query, order=("created_at", "uuid"), list="contradictions", store=opened.pk
        )
        return Response({"results": reading.group_shapes(opened, found), "next_cursor": cursor})

    @describe(
        "declare_contradiction", 201, "{id, created, changed, version, warnings}", request=ContradictionIn,
        repeatable=True, also=REFUSED,
    )  # fmt: skip
    def post(self, request: Request, store: str) -> Response:
        """Say that facts cannot all be true (200 when the group is there already)."""
        data = self.read_body(ContradictionIn)
        refs = [fact_ref(each) for each in data["members"]]
        opened = self.open_store(store)

        def effect() -> tuple[int, dict[str, Any]]:
            came = contradictions.contradict(
                opened, refs, join=data["join"], by=Decider.of(self.actor), now=timezone.now()
            )
            return 201 if came.created else 200, _group_receipt(came)

        return versioned(*once(request, self.actor, opened, "contradictions", effect), told=True)


class ContradictionApi(ConsoleView):
    scopes = {"GET": Scope.READ}

    @describe("read_contradiction", 200, "the group and its members")
    def get(self, request: Request, store: str, group: UUID) -> Response:
        """One group: its facts, those that have left included."""
        shape, version = reading.group_details(self.open_store(store), group)
        return Response(shape, headers={"ETag": f'"{version}"'})


class ContradictionMembersApi(ConsoleView):
    scopes = {"POST": Scope.WRITE}

    @describe(
        "extend_contradiction", 200, "{id, created, changed, version, warnings}", request=ContradictionIn,
        repeatable=True, also=CONFLICT,
    )  # fmt: skip
    def post(self, request: Request, store: str, group: UUID) -> Response:
        """Add facts to an open group. With `join` the older of two groups takes in the younger."""
        data = self.read_body(ContradictionIn)
        refs = [fact_ref(each) for each in data["members"]]
        version = if_match(request)
        opened = self.open_store(store)

        def effect() -> tuple[int, dict[str, Any]]:
            came = contradictions.extend(
                opened, group, refs, join=data["join"], by=Decider.of(self.actor), if_version=version,
                now=timezone.now(),
            )  # fmt: skip
            return 200, _group_receipt(came)

        return versioned(
            *once(request, self.actor, opened, f"contradictions/{group}/members", effect), told=True
        )


class ContradictionResolveApi(ConsoleView):
    scopes = {"POST": Scope.WRITE}

    @describe(
        "resolve_contradiction", 200, "{id, verdict, version}", request=ResolutionIn, repeatable=True,
        also=CONFLICT,
    )  # fmt: skip
    def post(self, request: Request, store: str, group: UUID) -> Response:
        """Decide: one fact stands and the others are held no longer, or all stand. The group ends."""
        data = self.read_body(ResolutionIn)
        keep = fact_ref(data["keep"]) if "keep" in data else None
        version = if_match(request)
        opened = self.open_store(store)

        def effect() -> tuple[int, dict[str, Any]]:
            row = contradictions.resolve(
                opened, group, keep, by=Decider.of(self.actor), if_version=version, now=timezone.now()
            )
            return 200, {"id": str(row.uuid), "verdict": row.verdict, "version": row.row_version}

        return versioned(
            *once(request, self.actor, opened, f"contradictions/{group}/resolve", effect), told=True
        )


def _group_receipt(came: contradictions.Contradicted) -> dict[str, Any]:
    return {
        "id": str(came.group.uuid),
        "created": came.created,
        "changed": came.changed,
        "version": came.group.row_version,
        "warnings": [] if came.common_subject else ["no_common_subject"],
    }
