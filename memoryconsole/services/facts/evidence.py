"""Testimony is attached to facts and detached from them (contract: context-bundle A.2, A.4, M.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import F
from django.db.models.functions import Coalesce

from memoryconsole.errors import Fault, InvalidParameter, StateConflict
from memoryconsole.models import Claim, Fact, FactEvidence, Mention, Store, WindowCitation
from memoryconsole.models.facts import FactKind, Outcome, Stance
from memoryconsole.models.testimony import Precision
from memoryconsole.services.facts.changing import Change, changing
from memoryconsole.services.facts.counting import VISIBLE
from memoryconsole.services.facts.endpoints import family_of
from memoryconsole.services.facts.holding import FactRef, held
from memoryconsole.services.facts.transcript import Decider


@dataclass(frozen=True, slots=True)
class Piece:
    """A claim for or against a fact. `pointer`: where the request names the claim."""

    claim: Claim
    stance: Stance
    pointer: str


def attach(
    store: Store,
    ref: FactRef,
    claim: UUID,
    stance: Stance,
    *,
    by: Decider,
    if_version: int | None,
    now: datetime,
) -> tuple[Fact, bool]:
    """Attach a claim; answers the fact, and whether the claim is new to it. Current support clears `withdrawn`.

    Raises NotFound, StaleResource; InvalidParameter for a claim that cannot be evidence of this fact; StateConflict
    when the fact is held no longer, or has the claim with the other stance.
    """
    with changing(store, by, now=now) as change:
        fact = held(store, ref, if_version=if_version)
        claims = find_claims(store, {"/claim_id": claim})
        piece = Piece(claims[claim], stance, "/claim_id")
        check_attribution(store, fact.kind, family_of(store, fact.subject_id), [piece])
        fresh = link(change, fact, [piece])
        if fresh:
            change.update([fact])
            change.decide(fact, Outcome.UPDATE, change="attached", claim=str(claim), stance=stance)
            change.recount([fact])
    return fact, bool(fresh)


def detach(
    store: Store, ref: FactRef, claim: UUID, *, by: Decider, if_version: int | None, now: datetime
) -> Fact:
    """Take a claim away from a fact. Without current support the fact is `withdrawn` from then on.

    Raises NotFound, StaleResource; InvalidParameter for a claim that is no evidence of the fact; StateConflict when
    the fact is held no longer, when nothing visible would support it (retract it instead), or when its window would
    rest on nothing (correct that first).
    """
    with changing(store, by, now=now) as change:
        fact = held(store, ref, if_version=if_version)
        links = list(
            FactEvidence.objects.filter(VISIBLE, store=store, fact=fact)
            .select_related("claim")
            .order_by("pk")
        )
        mine = next((each for each in links if each.claim.uuid == claim), None)
        if mine is None:
            raise InvalidParameter.of(Fault("/claim_id", "unknown", "No evidence of this fact."))
        left = [each for each in links if each != mine and each.stance == Stance.SUPPORTS]
        if mine.stance == Stance.SUPPORTS and not left:
            raise StateConflict("Nothing else supports the fact: retract it instead")
        _drop_citation(fact, mine.claim)
        mine.delete()
        change.update([fact])
        change.decide(fact, Outcome.UPDATE, change="detached", claim=str(claim), stance=mine.stance)
        change.recount([fact])
    return fact


def _drop_citation(fact: Fact, claim: Claim) -> None:
    cited = set(WindowCitation.objects.filter(VISIBLE, fact=fact).values_list("claim", flat=True))
    if cited == {claim.pk} and fact.valid_precision != Precision.UNKNOWN:
        raise StateConflict("The window rests on this claim alone: correct the window first")
    WindowCitation.objects.filter(fact=fact, claim=claim).delete()


def find_claims(store: Store, wanted: Mapping[str, UUID]) -> dict[UUID, Claim]:
    """The visible claims of these ids, each given with its pointer in the request (one statement).

    Raises InvalidParameter for the others.
    """
    rows = Claim.objects.filter(store=store, uuid__in=set(wanted.values()), record__deleted_at=None)
    # Mentions count in the record's own text, claims of a passage in its document's.
    rows = rows.select_related("document").annotate(shift=Coalesce(F("record__passage__char_start"), 0))
    found: dict[UUID, Claim] = {claim.uuid: claim for claim in rows}
    faults = [
        Fault(pointer, "unknown", "No claim of this store.")
        for pointer, uuid in wanted.items()
        if uuid not in found
    ]
    if faults:
        raise InvalidParameter.of(*faults)
    return found


def is_current(claim: Claim) -> bool:
    """Whether a visible claim's source still says it. The claim is one of `find_claims`."""
    return claim.is_current and claim.document.deleted_at is None


def check_attribution(store: Store, kind: str, subject: frozenset[int], pieces: Sequence[Piece]) -> None:
    """A claim that reports somebody's words shows what they hold, not that it is so (contract: A.2).

    It supports no relation; it supports an observation whose subject its record mentions inside its words, or as a
    whole (the holder has to be named there). Against a fact it may stand anywhere. `subject`: the keys of the
    entities that are read as the subject. Raises InvalidParameter.
    """
    reported = [piece for piece in pieces if piece.claim.is_attributed and piece.stance == Stance.SUPPORTS]
    if not reported:
        return
    message = "Reports somebody else's words: those support no relation."
    named: set[int] = set()
    if kind == FactKind.OBSERVATION:
        message = "Reports somebody else's words, and does not name the subject as whose."
        named = _naming(store, subject, [piece.claim for piece in reported])
    faults = [
        Fault(piece.pointer, "attributed", message) for piece in reported if piece.claim.pk not in named
    ]
    if faults:
        raise InvalidParameter.of(*faults)


def _naming(store: Store, entities: frozenset[int], claims: Sequence[Claim]) -> set[int]:
    """The keys of those claims in whose words one of the entities is mentioned."""
    mentions = Mention.objects.filter(
        store=store, entity__in=entities, record__in={claim.record_id for claim in claims}
    )
    places = list(mentions.values_list("record", "char_start", "char_end"))
    return {
        claim.pk
        for claim in claims
        for record, start, end in places
        if record == claim.record_id and (start is None or end is None or _overlap(claim, start, end))
    }


def _overlap(claim: Claim, start: int, end: int) -> bool:
    shift = getattr(claim, "shift")  # noqa: B009  (annotated by `find_claims`)
    return start < claim.char_end - shift and claim.char_start - shift < end


def link(change: Change, fact: Fact, pieces: Sequence[Piece]) -> int:
    """Write the evidence rows that are missing (two statements); answers how many.

    Raises StateConflict for a claim that the fact has with the other stance.
    """
    links = FactEvidence.objects.filter(fact=fact, claim__in=[piece.claim.pk for piece in pieces])
    stances = dict(links.values_list("claim", "stance"))
    for piece in pieces:
        if stances.get(piece.claim.pk, piece.stance) != piece.stance:
            raise StateConflict(
                f"The claim {piece.claim.uuid} is there with the other stance: detach it first"
            )
    fresh = [piece for piece in pieces if piece.claim.pk not in stances]
    FactEvidence.objects.bulk_create(
        FactEvidence(
            store=change.store, fact=fact, claim=piece.claim, stance=piece.stance, attached_at=change.at
        )
        for piece in fresh
    )
    return len(fresh)


def new_citations(fact: Fact, claims: Sequence[Claim]) -> list[Claim]:
    """Those of the claims that the fact's window does not rest on yet (one statement; none for no claims)."""
    if not claims:
        return []
    known = set(WindowCitation.objects.filter(fact=fact, claim__in=claims).values_list("claim", flat=True))
    return [claim for claim in claims if claim.pk not in known]


def cite(change: Change, fact: Fact, claims: Sequence[Claim]) -> None:
    """Let the fact's window rest on these claims too (one statement)."""
    WindowCitation.objects.bulk_create(
        (WindowCitation(store=change.store, fact=fact, claim=claim) for claim in claims),
        ignore_conflicts=True,
    )
