"""The routes of what is held true: facts, their evidence and windows, and the groups of those that disagree."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memoryconsole import predicates
from memoryconsole.declare_api import declared_by
from memoryconsole.errors import Fault, InvalidParameter
from memoryconsole.idempotency import once
from memoryconsole.listing import PageIn, page
from memoryconsole.models import Scope, Store
from memoryconsole.models.facts import FactKind, Stance, Support
from memoryconsole.openapi import REFUSED, STALE, describe
from memoryconsole.serializers import Choice, Flag, Items, StrictSerializer, Text
from memoryconsole.services.facts import (
    dating,
    declaring,
    evidence,
    holding,
    reading,
    support,
)
from memoryconsole.services.facts.holding import FactRef
from memoryconsole.services.facts.transcript import Decider
from memoryconsole.services.transfer.members import Uid
from memoryconsole.shapes import WindowIn, not_blank
from memoryconsole.views import ConsoleView, if_match, versioned
from memoryconsole.windows import BadWindow, Window, read_fact_window

# A statement is one sentence; what needs a page is a document. A guess.
MAX_STATEMENT_CHARS = 2000
MAX_REASON_CHARS = 1000
# As many claims as one answer lists of a fact. More are attached one by one.
MAX_EVIDENCE = 100

CONFLICT = REFUSED | STALE


class EvidenceIn(StrictSerializer):
    claim_id = Uid()
    stance = Choice(choices=Stance.choices)


class FactRefIn(StrictSerializer):
    kind = Choice(choices=FactKind.choices)
    id = Uid()


class FactIn(StrictSerializer):
    """A relation names `predicate` and `object_id`, an observation its `statement`."""

    kind = Choice(choices=FactKind.choices)
    subject_id = Uid()
    predicate = Text(required=False, max_length=predicates.LONGEST)
    object_id = Uid(required=False)
    statement = Text(
        required=False, max_length=MAX_STATEMENT_CHARS, allow_blank=False, validators=[not_blank]
    )
    window = WindowIn(required=False)
    window_claim_ids = Items(child=Uid(), default=list, max_length=MAX_EVIDENCE)
    evidence = Items(child=EvidenceIn(), allow_empty=False, max_length=MAX_EVIDENCE)

    def validate_predicate(self, predicate: str) -> str:
        if not predicates.is_predicate(predicate):
            raise serializers.ValidationError(
                "Neither a core predicate nor other: and a lower-case word.", code="invalid"
            )
        return predicate

    def validate_evidence(self, given: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if len({each["claim_id"] for each in given}) < len(given):
            raise serializers.ValidationError("A claim is given twice.", code="repeated")
        return given

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        own = {FactKind.RELATION: ["predicate", "object_id"], FactKind.OBSERVATION: ["statement"]}
        wanted = own.pop(FactKind(attrs["kind"]))
        others = [name for names in own.values() for name in names]
        faults = {name: [serializers.ErrorDetail(f"Needed for a {attrs['kind']}.", code="required")]
                  for name in wanted if name not in attrs}  # fmt: skip
        faults |= {name: [serializers.ErrorDetail(f"No member of a {attrs['kind']}.", code="contradiction")]
                   for name in others if name in attrs}  # fmt: skip
        if faults:
            raise serializers.ValidationError(faults)
        return attrs


class DetachIn(StrictSerializer):
    claim_id = Uid()


class CorrectionIn(StrictSerializer):
    window = WindowIn()
    window_claim_ids = Items(child=Uid(), default=list, max_length=MAX_EVIDENCE)


class SupersedeIn(StrictSerializer):
    successor = FactRefIn()


class RetractIn(StrictSerializer):
    reason = Text(max_length=MAX_REASON_CHARS, allow_blank=False, validators=[not_blank])


class VerdictIn(StrictSerializer):
    verdict = Choice(choices=[verdict.value for verdict in support.Verdict])
    claim_id = Uid(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "claim_id" in attrs and attrs["verdict"] != support.Verdict.RESTORE:
            fault = serializers.ErrorDetail("Only restore_support takes a claim.", code="contradiction")
            raise serializers.ValidationError({"claim_id": [fault]})
        return attrs


class FactFilters(PageIn):
    kind = Choice(choices=FactKind.choices, required=False)
    entity = Uid(required=False)
    predicate = Text(required=False, max_length=predicates.LONGEST)
    support = Choice(choices=Support.choices, required=False)
    held = Flag(required=False)


def read_window(given: Mapping[str, Any] | None) -> Window:
    """The window of a validated WindowIn. Raises InvalidParameter with the pointer below `/window`."""
    try:
        return read_fact_window(given)
    except BadWindow as fault:
        raise InvalidParameter.of(Fault(f"/window{fault.pointer}", fault.code, fault.message)) from None


def fact_ref(given: Mapping[str, Any]) -> FactRef:
    """The ref of a validated FactRefIn."""
    return FactRef(FactKind(given["kind"]), given["id"])


class FactsApi(ConsoleView):
    scopes = {"GET": Scope.READ, "POST": Scope.WRITE}

    @describe("list_facts", 200, "{results, next_cursor}", parameters=[FactFilters])
    def get(self, request: Request, store: str) -> Response:
        """List facts, newest number first. With `support`: those that are held."""
        query = self.read_query(FactFilters)
        opened = self.open_store(store)
        found, cursor = page(reading.facts_of(opened, query), query, list="facts", store=opened.pk)
        return Response({"results": reading.fact_shapes(opened, found), "next_cursor": cursor})

    @describe(
        "declare_fact", 201, "{kind, id, created, version, validity, support}", request=FactIn, repeatable=True,
        also=REFUSED,
    )  # fmt: skip
    def post(self, request: Request, store: str) -> Response:
        """Declare a relation or an observation on the word of claims (200 when it is held already)."""
        data = self.read_body(FactIn)
        new = declaring.NewFact(
            kind=FactKind(data["kind"]),
            subject=data["subject_id"],
            predicate=data.get("predicate", ""),
            object=data.get("object_id"),
            statement=data.get("statement", ""),
            window=read_window(data.get("window")),
            window_claims=data["window_claim_ids"],
            evidence=[(each["claim_id"], Stance(each["stance"])) for each in data["evidence"]],
        )
        opened = self.open_store(store)

        def effect() -> tuple[int, dict[str, Any]]:
            fact, created = declaring.declare(
                opened,
                new,
                by=Decider.of(self.actor),
                declared_by=declared_by(self.actor),
                now=timezone.now(),
            )
            return 201 if created else 200, reading.receipt(fact) | {"created": created}

        return versioned(*once(request, self.actor, opened, "facts", effect), told=True)


class FactApi(ConsoleView):
    scopes = {"GET": Scope.READ}

    @describe("read_fact", 200, "the fact")
    def get(self, request: Request, store: str, kind: str, fact: UUID) -> Response:
        """One fact: its evidence, its windows past and present, its group, and the end of its transcript."""
        shape, version = reading.fact_details(self.open_store(store), FactRef(FactKind(kind), fact))
        return Response(shape, headers={"ETag": f'"{version}"'})


# What a command does, given the store, the fact and what every command takes; answers what is kept of it.
Command = Callable[[Store, FactRef, dict[str, Any]], dict[str, Any]]


class _FactCommandApi(ConsoleView):
    """The base of the commands on one fact."""

    scopes = {"POST": Scope.WRITE}

    def command(self, request: Request, store: str, ref: FactRef, name: str, effect: Command) -> Response:
        version = if_match(request)
        opened = self.open_store(store)

        def once_done() -> tuple[int, dict[str, Any]]:
            common = {"by": Decider.of(self.actor), "if_version": version, "now": timezone.now()}
            return 200, effect(opened, ref, common)

        route = f"facts/{ref.kind}/{ref.uuid}/{name}"
        return versioned(*once(request, self.actor, opened, route, once_done), told=True)


class FactEvidenceApi(_FactCommandApi):
    @describe(
        "attach_evidence", 200, "{kind, id, version, validity, support, created}", request=EvidenceIn,
        repeatable=True, also=CONFLICT,
    )  # fmt: skip
    def post(self, request: Request, store: str, kind: str, fact: UUID) -> Response:
        """Attach a claim to a fact, for or against it."""
        data = self.read_body(EvidenceIn)

        def effect(opened: Store, ref: FactRef, common: dict[str, Any]) -> dict[str, Any]:
            row, created = evidence.attach(opened, ref, data["claim_id"], Stance(data["stance"]), **common)
            return reading.receipt(row) | {"created": created}

        return self.command(request, store, FactRef(FactKind(kind), fact), "evidence", effect)


class FactDetachApi(_FactCommandApi):
    @describe(
        "detach_evidence", 200, "{kind, id, version, validity, support}", request=DetachIn, repeatable=True,
        also=CONFLICT,
    )  # fmt: skip
    def post(self, request: Request, store: str, kind: str, fact: UUID) -> Response:
        """Take a claim away from a fact. The last visible support stays: retract the fact instead."""
        data = self.read_body(DetachIn)

        def effect(opened: Store, ref: FactRef, common: dict[str, Any]) -> dict[str, Any]:
            return reading.receipt(evidence.detach(opened, ref, data["claim_id"], **common))

        return self.command(request, store, FactRef(FactKind(kind), fact), "evidence/detach", effect)


class FactWindowApi(_FactCommandApi):
    @describe(
        "correct_window", 200, "{kind, id, version, validity, support, changed}", request=CorrectionIn,
        repeatable=True, also=CONFLICT,
    )  # fmt: skip
    def post(self, request: Request, store: str, kind: str, fact: UUID) -> Response:
        """Correct when a fact was so, on the word of its evidence. The window it had is kept."""
        data = self.read_body(CorrectionIn)
        window = read_window(data["window"])

        def effect(opened: Store, ref: FactRef, common: dict[str, Any]) -> dict[str, Any]:
            row, changed = dating.correct_window(opened, ref, window, data["window_claim_ids"], **common)
            return reading.receipt(row) | {"changed": changed}

        return self.command(request, store, FactRef(FactKind(kind), fact), "window", effect)


class FactSupersedeApi(_FactCommandApi):
    @describe(
        "supersede_fact", 200, "{kind, id, version, validity, support, changed, successor}", request=SupersedeIn,
        repeatable=True, also=CONFLICT,
    )  # fmt: skip
    def post(self, request: Request, store: str, kind: str, fact: UUID) -> Response:
        """End a fact's world time where its successor's begins."""
        successor = fact_ref(self.read_body(SupersedeIn)["successor"])

        def effect(opened: Store, ref: FactRef, common: dict[str, Any]) -> dict[str, Any]:
            row, after, changed = dating.supersede(opened, ref, successor, **common)
            return reading.receipt(row) | {"changed": changed, "successor": reading.receipt(after)}

        return self.command(request, store, FactRef(FactKind(kind), fact), "supersede", effect)


class FactRetractApi(_FactCommandApi):
    @describe(
        "retract_fact", 200, "{kind, id, version, validity, support}", request=RetractIn, repeatable=True,
        also=CONFLICT,
    )  # fmt: skip
    def post(self, request: Request, store: str, kind: str, fact: UUID) -> Response:
        """Hold a fact no longer, whatever time is asked about. Its world time stays as it is."""
        reason = self.read_body(RetractIn)["reason"]

        def effect(opened: Store, ref: FactRef, common: dict[str, Any]) -> dict[str, Any]:
            return reading.receipt(holding.retract(opened, ref, reason, **common))

        return self.command(request, store, FactRef(FactKind(kind), fact), "retract", effect)


class FactSupportApi(_FactCommandApi):
    @describe(
        "judge_support", 200, "{kind, id, version, validity, support}", request=VerdictIn, repeatable=True,
        also=CONFLICT,
    )  # fmt: skip
    def post(self, request: Request, store: str, kind: str, fact: UUID) -> Response:
        """Decide on a fact whose support was withdrawn."""
        data = self.read_body(VerdictIn)

        def effect(opened: Store, ref: FactRef, common: dict[str, Any]) -> dict[str, Any]:
            verdict = support.Verdict(data["verdict"])
            return reading.receipt(support.judge(opened, ref, verdict, data.get("claim_id"), **common))

        return self.command(request, store, FactRef(FactKind(kind), fact), "support", effect)
