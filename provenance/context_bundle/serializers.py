"""The bodies of the operations, closed and strict (contract, sections C.0 to C.4 and D.2)."""

import re
from typing import Any, Final

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from memoryconsole.serializers import Choice, Flag, Instant, Items, StrictSerializer, Text, Whole
from memoryconsole.shapes import not_blank
from provenance.context_bundle import continuations
from provenance.context_bundle.core import types
from provenance.context_bundle.core.temporal import Time
from provenance.context_bundle.services import ClaimsAsk, CombinedAsk, FactsAsk, MembersAsk, ResolveAsk

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)

MAX_NAME_CHARS: Final = types.QUERY_MAX_CHARS
"""Contract, section C.1 gives no bound: as long as a query."""

COORDINATES: Final = {"current": (), "at": ("at",), "overlap": ("from", "to"), "history": ()}
"""The members beside `mode` (contract, section D.2): all of them, and no others."""


class EntityId(Text):
    """A UUID as text; told apart by its value, so letters may be of either case."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=36, allow_blank=False, **options)

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if _UUID.fullmatch(text) is None:
            raise serializers.ValidationError("Not a UUID.", code="invalid")
        return text.lower()


class TimeIn(StrictSerializer):
    """When a fact is to have been so: one of four modes, each with its own members."""

    mode = Choice(choices=list(COORDINATES))
    at = Instant(required=False)
    to = Instant(required=False)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        # A word of Python's own, which no class body can name.
        return super().get_fields() | {"from": Instant(required=False)}

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        wanted = COORDINATES[attrs["mode"]]
        for name in ("at", "from", "to"):
            if name in attrs and name not in wanted:
                message = f"Does not go with the mode {attrs['mode']}."
                raise serializers.ValidationError({name: [message]}, code="contradiction")
            if name in wanted and name not in attrs:
                raise serializers.ValidationError({name: ["This field is required."]}, code="required")
        if "to" in wanted and attrs["to"] < attrs["from"]:
            raise serializers.ValidationError({"to": ["Lies before from."]}, code="contradiction")
        return attrs


class Continuation(Text):
    """An answer's own word for where it goes on."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=continuations.TOKEN_MAX_CHARS, allow_blank=False, **options)

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if not continuations.well_formed(text):
            raise serializers.ValidationError("Not a continuation.", code="invalid")
        return text


def _once(ids: list[str]) -> None:
    if len(set(ids)) < len(ids):
        raise serializers.ValidationError([ErrorDetail("Names an entity twice.", code="repeated")])


def _anchors(most: int) -> Items:
    return Items(child=EntityId(), required=False, allow_empty=False, max_length=most, validators=[_once])


def _query() -> Text:
    return Text(max_length=types.QUERY_MAX_CHARS, allow_blank=False, validators=[not_blank])


class ResolveEntityIn(StrictSerializer):
    # A name of blanks is one: it leads nowhere (contract, section C.1).
    name = Text(max_length=MAX_NAME_CHARS, allow_blank=False)
    context_entity_ids = Items(child=EntityId(), default=list, max_length=types.CONTEXT_ENTITIES_MAX)


class ClaimsAndSourcesIn(StrictSerializer):
    query = _query()
    entity_ids = _anchors(types.CLAIMS_ENTITIES_MAX)
    k = Whole(default=types.CLAIMS_K, min_value=1, max_value=types.CLAIMS_K_MAX)
    candidate_k = Whole(default=types.CANDIDATE_K, min_value=1, max_value=types.CANDIDATE_K_MAX)
    include_superseded = Flag(default=False)
    continuation = Continuation(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["candidate_k"] < attrs["k"]:
            raise serializers.ValidationError({"candidate_k": ["Is less than k."]}, code="contradiction")
        return attrs


class CombinedIn(StrictSerializer):
    """What both children of a bundle are asked, and the time of the facts."""

    query = _query()
    entity_ids = _anchors(types.FACTS_ENTITIES_MAX)
    hops = Whole(default=1, min_value=1, max_value=types.HOPS_MAX)
    predicate = Text(required=False, max_length=types.PREDICATE_MAX_CHARS, allow_blank=False)
    time = TimeIn(required=False)


class FactsIn(CombinedIn):
    k = Whole(default=types.FACTS_K, min_value=1, max_value=types.FACTS_K_MAX)
    evidence_per_fact = Whole(
        default=types.EVIDENCE_PER_FACT, min_value=1, max_value=types.EVIDENCE_PER_FACT_MAX
    )
    continuation = Continuation(required=False)


class ContradictionMembersIn(StrictSerializer):
    group_id = EntityId()
    continuation = Continuation(required=False)


def resolve_ask(data: dict[str, Any]) -> ResolveAsk:
    # The same entity named twice is one: here ids only move candidates.
    ids = tuple(dict.fromkeys(data["context_entity_ids"]))
    return ResolveAsk(types.ResolveRequest(name=data["name"], context_entity_ids=ids))


def claims_ask(data: dict[str, Any]) -> ClaimsAsk:
    request = types.ClaimsRequest(
        query=data["query"],
        entity_ids=_ids(data),
        k=data["k"],
        candidate_k=data["candidate_k"],
        include_superseded=data["include_superseded"],
    )
    return ClaimsAsk(request, data.get("continuation", ""))


def facts_ask(data: dict[str, Any]) -> FactsAsk:
    request = types.FactsRequest(**_shared(data), k=data["k"], evidence_per_fact=data["evidence_per_fact"])
    return FactsAsk(request, data.get("continuation", ""))


def members_ask(data: dict[str, Any]) -> MembersAsk:
    request = types.MembersRequest(group_id=data["group_id"])
    return MembersAsk(request, data.get("continuation", ""))


def combined_ask(data: dict[str, Any]) -> CombinedAsk:
    claims = types.ClaimsRequest(query=data["query"], entity_ids=_ids(data))
    return CombinedAsk(ClaimsAsk(claims), FactsAsk(types.FactsRequest(**_shared(data))))


def _shared(data: dict[str, Any]) -> dict[str, Any]:
    return {
        "query": data["query"],
        "entity_ids": _ids(data),
        "hops": data["hops"],
        "predicate": data.get("predicate"),
        "time": _time(data.get("time")),
    }


def _ids(data: dict[str, Any]) -> tuple[str, ...] | None:
    return tuple(data["entity_ids"]) if "entity_ids" in data else None


def _time(data: dict[str, Any] | None) -> Time:
    if data is None:
        return Time()
    return Time(mode=data["mode"], at=data.get("at"), start=data.get("from"), end=data.get("to"))
