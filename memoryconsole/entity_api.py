"""The routes of entities: made on purpose, given aliases, mentioned, merged, and taken apart again."""

from typing import Any
from uuid import UUID

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memoryconsole.declarations import MAX_ALIASES
from memoryconsole.declare_api import ScopeFilters, declared_by
from memoryconsole.idempotency import once
from memoryconsole.listing import PageIn, page
from memoryconsole.models import Scope
from memoryconsole.models.graph import EntityStatus
from memoryconsole.openapi import REFUSED, STALE, describe
from memoryconsole.serializers import Choice, Flag, Items, StrictSerializer, Text, Whole
from memoryconsole.services import entities, entity_reading, merging
from memoryconsole.services.facts.transcript import Decider
from memoryconsole.services.transfer.members import Declared, Uid
from memoryconsole.views import ConsoleView, if_match, versioned


class EntityFilters(ScopeFilters):
    name = Text(required=False)
    status = Choice(choices=EntityStatus.choices, required=False)


class EntityIn(StrictSerializer):
    """`POST /stores/{store}/entities`: always a new entity, whoever else has the name."""

    name = Declared()
    aliases = Items(child=Declared(), default=list, max_length=MAX_ALIASES)
    project_id = Text(default="", allow_null=True)
    channel = Text(default="", allow_null=True)


class AliasIn(StrictSerializer):
    alias = Declared()


class MentionIn(StrictSerializer):
    """A place in a chunk: offsets in its representation, or words that stand there exactly once."""

    chunk_id = Uid()
    entity_id = Uid()
    start = Whole(required=False)
    end = Whole(required=False)
    quote = Text(required=False, allow_blank=False, max_length=10_000)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        places = {"start", "end"} & attrs.keys()
        if ("quote" in attrs) == bool(places) or len(places) == 1:
            raise serializers.ValidationError("Give start and end, or a quote.", code="invalid")
        return attrs


class MergeIn(StrictSerializer):
    absorbed_id = Uid()


class MergeFilters(PageIn):
    entity_id = Uid(required=False)
    in_force = Flag(required=False)


class EntitiesApi(ConsoleView):
    scopes = {"GET": Scope.READ, "POST": Scope.DECLARE}

    @describe("list_entities", 200, "{results, next_cursor}", parameters=[EntityFilters])
    def get(self, request: Request, store: str) -> Response:
        """List entities with their aliases and how many rows mention them, newest number first."""
        query = self.read_query(EntityFilters)
        opened = self.open_store(store)
        rows = entity_reading.entities_of(opened, query)
        found, cursor = page(rows, query, list="entities", store=opened.pk)
        return Response({"results": entity_reading.entity_shapes(opened, found), "next_cursor": cursor})

    @describe("create_entity", 201, "{id, entity_id}", request=EntityIn, repeatable=True)
    def post(self, request: Request, store: str) -> Response:
        """Create an entity. Homonyms are allowed on purpose: nothing is looked up."""
        data = self.read_body(EntityIn)
        opened = self.open_store(store)
        wanted = entities.NewEntity(
            name=data["name"],
            aliases=data["aliases"],
            project_id=data["project_id"] or "",
            channel=data["channel"] or "",
        )

        def effect() -> tuple[int, dict[str, Any]]:
            made = entities.create_entity(
                opened, wanted, declared_by=declared_by(self.actor), now=timezone.now()
            )
            return 201, {"id": made.number, "entity_id": str(made.uuid), "version": made.row_version}

        return versioned(*once(request, self.actor, opened, "entities", effect), told=False)


class EntityApi(ConsoleView):
    scopes = {"GET": Scope.READ}

    @describe("read_entity_by_number", 200, "the entity")
    def get(self, request: Request, store: str, number: int) -> Response:
        """One entity: its aliases, where it is mentioned, and its associations."""
        return Response(entity_reading.entity_details(self.open_store(store), number))


class EntityByIdApi(ConsoleView):
    scopes = {"GET": Scope.READ}

    @describe("read_entity", 200, "the entity", parameters=[PageIn])
    def get(self, request: Request, store: str, entity: UUID) -> Response:
        """One entity: its names, its merges, and a page of where it is mentioned. Of one that was merged away: where
        it went.
        """
        query = self.read_query(PageIn)
        shape, version = entity_reading.entity_whole(self.open_store(store), entity, query)
        return Response(shape, headers={"ETag": f'"{version}"'})


class EntityAliasesApi(ConsoleView):
    scopes = {"POST": Scope.DECLARE}

    @describe(
        "add_alias", 201, "{entity_id, created}", request=AliasIn, repeatable=True, also=STALE | REFUSED
    )
    def post(self, request: Request, store: str, entity: UUID) -> Response:
        """Give an entity another name (200 when it has that already)."""
        alias = self.read_body(AliasIn)["alias"]
        version = if_match(request)
        opened = self.open_store(store)

        def effect() -> tuple[int, dict[str, Any]]:
            row, created = entities.add_alias(opened, entity, alias, if_version=version, now=timezone.now())
            shape = {"entity_id": str(row.uuid), "created": created, "version": row.row_version}
            return 201 if created else 200, shape

        return versioned(*once(request, self.actor, opened, f"entities/{entity}/aliases", effect), told=False)


class MentionsApi(ConsoleView):
    scopes = {"POST": Scope.DECLARE}

    @describe(
        "declare_mention",
        201,
        "{chunk_id, entity_id, char_start, char_end, created}",
        request=MentionIn,
        repeatable=True,
        also=REFUSED,
    )
    def post(self, request: Request, store: str) -> Response:
        """Say at which place a chunk mentions an entity (200 when that is known already)."""
        data = self.read_body(MentionIn)
        opened = self.open_store(store)
        wanted = entities.NewMention(
            chunk=data["chunk_id"],
            entity=data["entity_id"],
            start=data.get("start"),
            end=data.get("end"),
            quote=data.get("quote"),
        )

        def effect() -> tuple[int, dict[str, Any]]:
            found = entities.add_mention(
                opened, wanted, declared_by=declared_by(self.actor), now=timezone.now()
            )
            return 201 if found.created else 200, {
                "chunk_id": str(wanted.chunk),
                "entity_id": str(wanted.entity),
                "char_start": found.start,
                "char_end": found.end,
                "created": found.created,
            }

        status, body = once(request, self.actor, opened, "mentions", effect)
        return Response(body, status=status)


class EntityMergeApi(ConsoleView):
    scopes = {"POST": Scope.DECLARE}

    @describe("merge_entities", 201, "the merge", request=MergeIn, repeatable=True, also=STALE | REFUSED)
    def post(self, request: Request, store: str, entity: UUID) -> Response:
        """Merge another entity into this one. Nothing is rewritten: what is stored of it is read as this one's."""
        absorbed = self.read_body(MergeIn)["absorbed_id"]
        version = if_match(request)
        opened = self.open_store(store)

        def effect() -> tuple[int, dict[str, Any]]:
            event = merging.merge(
                opened, entity, absorbed, decider=Decider.of(self.actor), if_version=version, now=timezone.now()
            )  # fmt: skip
            return 201, entity_reading.merge_shape(event) | {"version": event.survivor.row_version}

        return versioned(*once(request, self.actor, opened, f"entities/{entity}/merge", effect), told=False)


class MergesApi(ConsoleView):
    scopes = {"GET": Scope.READ}

    @describe("list_merges", 200, "{results, next_cursor}", parameters=[MergeFilters])
    def get(self, request: Request, store: str) -> Response:
        """List merges, those that were reversed included, newest first."""
        query = self.read_query(MergeFilters)
        opened = self.open_store(store)
        rows = entity_reading.merges_of(opened, query.get("entity_id"), query.get("in_force"))
        plain = query | ({"entity_id": str(query["entity_id"])} if "entity_id" in query else {})
        found, cursor = page(rows, plain, order=("merged_at", "pk"), list="merges", store=opened.pk)
        return Response(
            {"results": [entity_reading.merge_shape(row) for row in found], "next_cursor": cursor}
        )


class MergeReverseApi(ConsoleView):
    scopes = {"POST": Scope.DECLARE}

    @describe("reverse_merge", 200, "the merge", request=StrictSerializer, repeatable=True, also=REFUSED)
    def post(self, request: Request, store: str, merge: UUID) -> Response:
        """Undo a merge: the absorbed entity is itself again."""
        self.read_body(StrictSerializer)
        opened = self.open_store(store)

        def effect() -> tuple[int, dict[str, Any]]:
            event = merging.reverse(opened, merge, decider=Decider.of(self.actor), now=timezone.now())
            return 200, entity_reading.merge_shape(event)

        status, body = once(request, self.actor, opened, f"merges/{merge}/reverse", effect)
        return Response(body, status=status)
