"""The routes of testimony: claims are declared, listed, and said to be current or not."""

import uuid
from collections.abc import Mapping
from typing import Any

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memoryconsole.declarations import RowRef, read_ref
from memoryconsole.declare_api import declared_by
from memoryconsole.idempotency import once
from memoryconsole.listing import PageIn, page
from memoryconsole.models import Scope
from memoryconsole.models.records import MAX_TEXT_CHARS
from memoryconsole.models.testimony import ClaimKind, CurrencyReason
from memoryconsole.openapi import REFUSED, STALE, describe
from memoryconsole.serializers import Choice, Flag, Instant, Items, StrictSerializer, Text, Whole
from memoryconsole.services import testimony, testimony_reading
from memoryconsole.services.facts.transcript import Decider
from memoryconsole.services.testimony import NewClaim, NewMention
from memoryconsole.services.transfer.members import Uid
from memoryconsole.shapes import WindowIn, not_blank
from memoryconsole.views import ConsoleView, if_match, versioned
from memoryconsole.windows import UNKNOWN, BadWindow, read_claim_window

# A claim is a sentence, rarely two. A guess.
MAX_CLAIM_CHARS = 2000
# One claim rests on few stretches of one passage, and adds a name or a date from elsewhere.
MAX_SPANS = 20
MAX_CONTEXT = 10
MAX_CONTEXT_CHARS = 1000
MAX_MENTIONS = 50


@extend_schema_field(OpenApiTypes.STR)
class Chunk(Uid):
    """A record, by its UUID or its ref (`mem:3`)."""

    def to_internal_value(self, data: Any) -> Any:
        ref = read_ref(self.text(data))
        return ref if ref is not None and ref.kind == "mem" else super().to_internal_value(data)


class SpanIn(StrictSerializer):
    """Code points [start, end) of the representation: of the document's text, or of the message's."""

    start = Whole()
    end = Whole(min_value=1)


class ClaimMentionIn(StrictSerializer):
    """An entity the claim is about. Without a place: at the claim's first span."""

    entity_id = Uid()
    start = Whole(required=False)
    end = Whole(required=False, min_value=1)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("start" in attrs) != ("end" in attrs):
            raise serializers.ValidationError("Give both start and end, or neither.", code="contradiction")
        return attrs


class ClaimIn(StrictSerializer):
    """`POST /stores/{store}/claims`: what a passage says, with the words it rests on as `spans` or as a `quote`."""

    chunk_id = Chunk()
    claim_text = Text(max_length=MAX_CLAIM_CHARS, allow_blank=False, validators=[not_blank])
    spans = Items(child=SpanIn(), allow_empty=False, max_length=MAX_SPANS, required=False)
    quote = Text(max_length=MAX_TEXT_CHARS, required=False, allow_blank=False, validators=[not_blank])
    added_context = Items(
        child=Text(max_length=MAX_CONTEXT_CHARS, allow_blank=False, validators=[not_blank]),
        default=list,
        max_length=MAX_CONTEXT,
    )
    is_attributed = Flag(default=False)
    asserted_at = Instant(required=False, allow_null=True)
    window = WindowIn(required=False)
    valid_kind = Choice(choices=ClaimKind.choices, required=False, allow_null=True)
    mentions = Items(child=ClaimMentionIn(), default=list, max_length=MAX_MENTIONS)

    def validate_window(self, given: dict[str, Any]) -> Any:
        try:
            return read_claim_window(given)
        except BadWindow as fault:
            detail = [serializers.ErrorDetail(fault.message, code=fault.code)]
            raise serializers.ValidationError({fault.pointer.lstrip("/"): detail}) from None

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("spans" in attrs) == ("quote" in attrs):
            raise serializers.ValidationError("Give spans, or a quote.", code="contradiction")
        return attrs


class CurrencyIn(StrictSerializer):
    """`reason`: review_restored for what is current again; reextracted or version_superseded for what is not."""

    current = Flag()
    reason = Choice(
        choices=[
            CurrencyReason.REEXTRACTED,
            CurrencyReason.VERSION_SUPERSEDED,
            CurrencyReason.REVIEW_RESTORED,
        ]
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["current"] != (attrs["reason"] == CurrencyReason.REVIEW_RESTORED):
            fault = serializers.ErrorDetail("Is no reason for that.", code="contradiction")
            raise serializers.ValidationError({"reason": [fault]})
        return attrs


class ClaimFilters(PageIn):
    document = Uid(required=False)
    chunk = Chunk(required=False)
    current = Flag(required=False)


class ClaimsApi(ConsoleView):
    scopes = {"GET": Scope.READ, "POST": Scope.WRITE}

    @describe("list_claims", 200, "{results, next_cursor}", parameters=[ClaimFilters])
    def get(self, request: Request, store: str) -> Response:
        """List claims, those that are not current included, newest number first."""
        query = self.read_query(ClaimFilters)
        opened = self.open_store(store)
        rows = testimony_reading.claims_of(opened, query)
        found, cursor = page(rows, query, list="claims", store=opened.pk)
        shapes = [testimony_reading.claim_shape(row) for row in found]
        return Response({"results": shapes, "next_cursor": cursor})

    @describe(
        "declare_claim",
        201,
        "{id, created, restored, current}",
        request=ClaimIn,
        repeatable=True,
        also=REFUSED,
    )
    def post(self, request: Request, store: str) -> Response:
        """Declare what a passage or a message says (200 when that is known already)."""
        new = _new_claim(self.read_body(ClaimIn))
        opened = self.open_store(store)

        def effect() -> tuple[int, dict[str, Any]]:
            stored = testimony.declare_claim(
                opened,
                new,
                declared_by=declared_by(self.actor),
                decider=Decider.of(self.actor),
                by=self.actor.user,
                now=timezone.now(),
            )
            return 201 if stored.created else 200, {
                "id": str(stored.claim.uuid),
                "created": stored.created,
                "restored": stored.restored,
                "current": stored.claim.is_current,
            }

        status, body = once(request, self.actor, opened, "claims", effect)
        return Response(body, status=status)


class ClaimApi(ConsoleView):
    scopes = {"GET": Scope.READ}

    @describe("read_claim", 200, "the claim")
    def get(self, request: Request, store: str, claim: uuid.UUID) -> Response:
        """One claim with its ledger, its occurrences, and the facts it is evidence of."""
        shape, version = testimony_reading.claim_details(self.open_store(store), claim)
        return Response(shape, headers={"ETag": f'"{version}"'})


class ClaimCurrencyApi(ConsoleView):
    scopes = {"POST": Scope.WRITE}

    @describe(
        "set_currency",
        200,
        "{id, current, changed}",
        request=CurrencyIn,
        repeatable=True,
        also=REFUSED | STALE,
    )
    def post(self, request: Request, store: str, claim: uuid.UUID) -> Response:
        """Say that a claim is current testimony, or is not. Facts that rest on it follow."""
        data = self.read_body(CurrencyIn)
        version = if_match(request)
        opened = self.open_store(store)

        def effect() -> tuple[int, dict[str, Any]]:
            row, changed, length = testimony.set_currency(
                opened,
                claim,
                current=data["current"],
                reason=CurrencyReason(data["reason"]),
                if_version=version,
                decider=Decider.of(self.actor),
                now=timezone.now(),
            )
            return 200, {
                "id": str(row.uuid),
                "current": row.is_current,
                "changed": changed,
                "version": length,
            }

        return versioned(*once(request, self.actor, opened, f"claims/{claim}/currency", effect), told=False)


def _new_claim(data: Mapping[str, Any]) -> NewClaim:
    chunk: uuid.UUID | RowRef = data["chunk_id"]
    kind = data.get("valid_kind")
    return NewClaim(
        chunk=chunk,
        claim_text=data["claim_text"],
        spans=tuple((span["start"], span["end"]) for span in data.get("spans", ())),
        quote=data.get("quote", ""),
        added_context=tuple(data["added_context"]),
        is_attributed=data["is_attributed"],
        asserted_at=data.get("asserted_at"),
        window=data.get("window", UNKNOWN),
        valid_kind=ClaimKind(kind) if kind is not None else None,
        mentions=tuple(_mention(each) for each in data["mentions"]),
    )


def _mention(given: Mapping[str, Any]) -> NewMention:
    span = (given["start"], given["end"]) if "start" in given else None
    return NewMention(given["entity_id"], span)
