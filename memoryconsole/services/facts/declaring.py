"""A fact is declared (contract: context-bundle A.4, M.2)."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from memoryconsole import search
from memoryconsole.errors import Fault, InvalidParameter, StateConflict
from memoryconsole.models import Claim, Fact, Store
from memoryconsole.models.facts import FactKind, Outcome, Stance
from memoryconsole.services.declare import DeclaredBy
from memoryconsole.services.facts import finding
from memoryconsole.services.facts.changing import Change, changing
from memoryconsole.services.facts.endpoints import Endpoint, endpoints
from memoryconsole.services.facts.evidence import (
    Piece,
    check_attribution,
    cite,
    find_claims,
    is_current,
    link,
    new_citations,
)
from memoryconsole.services.facts.transcript import Decider
from memoryconsole.services.numbering import take_numbers
from memoryconsole.windows import UNKNOWN, Window


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFact:
    """A fact as its caller gives it: a relation has predicate and object, an observation its statement.

    `evidence`: (claim, stance) each; `window_claims`: those of the evidence that say when.
    """

    kind: FactKind
    subject: UUID
    predicate: str = ""
    object: UUID | None = None
    statement: str = ""
    window: Window = UNKNOWN
    window_claims: Sequence[UUID] = ()
    evidence: Sequence[tuple[UUID, Stance]] = field(default=())


def declare(
    store: Store, new: NewFact, *, by: Decider, declared_by: DeclaredBy, now: datetime
) -> tuple[Fact, bool]:
    """Hold a fact true from now on; answers it and whether it is new.

    The same fact that is held already (same ends after merges, same predicate or statement, same window) gets the
    evidence instead. Evidence has to hold at least one claim in support whose source still says it.

    Raises InvalidParameter for ends, claims or citations that cannot be, StateConflict for an end that was merged
    away, when no claim in support is current, and when the fact has a claim with the other stance.
    """
    wanted = {"/subject_id": new.subject} | ({"/object_id": new.object} if new.object else {})
    foreseen = _foresee(store, new, endpoints(store, wanted), declared_by=declared_by, now=now)
    with changing(store, by, foreseen=foreseen, now=now) as change:
        ends = endpoints(store, wanted)
        pieces = _pieces(store, new)
        cited = citations(new.window, new.window_claims, [piece.claim for piece in pieces])
        check_attribution(store, new.kind, ends["/subject_id"].family, pieces)
        if not any(piece.stance == Stance.SUPPORTS and is_current(piece.claim) for piece in pieces):
            raise StateConflict("No claim of the evidence that supports the fact is said by its source today")
        fact = _same(store, new, ends)
        created = fact is None
        if fact is None:
            fact = _insert(change, new, ends, declared_by=declared_by)
            link(change, fact, pieces)
            cite(change, fact, cited)
            change.decide(fact, Outcome.ADD)
            change.found(fact)
        else:
            _add_to(change, fact, pieces, cited)
    return fact, created


def citations(window: Window, wanted: Sequence[UUID], evidence: Sequence[Claim]) -> list[Claim]:
    """The claims a window is to rest on, each one of the fact's evidence: one at least for a window that is known.

    Raises InvalidParameter.
    """
    claims = {claim.uuid: claim for claim in evidence}
    faults = [
        Fault(f"/window_claim_ids/{place}", "unknown", "Not among the fact's evidence.")
        for place, uuid in enumerate(wanted)
        if uuid not in claims
    ]
    if window.known and not wanted:
        faults = [
            Fault("/window_claim_ids", "required", "A known window names at least one claim of the evidence.")
        ]
    elif wanted and not window.known:
        faults = [Fault("/window_claim_ids", "contradiction", "An unknown window rests on nothing.")]
    if faults:
        raise InvalidParameter.of(*faults)
    return [claims[uuid] for uuid in dict.fromkeys(wanted)]


def window_columns(window: Window) -> dict[str, datetime | str | None]:
    """A window as the columns of a fact."""
    return {
        "valid_from": window.valid_from,
        "valid_until": window.valid_until,
        "valid_precision": window.precision,
    }


def _pieces(store: Store, new: NewFact) -> list[Piece]:
    pointers = [f"/evidence/{place}/claim_id" for place in range(len(new.evidence))]
    claims = find_claims(store, dict(zip(pointers, (claim for claim, _ in new.evidence), strict=True)))
    return [
        Piece(claims[claim], stance, pointer)
        for (claim, stance), pointer in zip(new.evidence, pointers, strict=True)
    ]


def _same(store: Store, new: NewFact, ends: Mapping[str, Endpoint]) -> Fact | None:
    """The fact that is held already and is this one, the oldest of several (a merge may make them the same)."""
    held = Fact.objects.filter(
        store=store,
        kind=new.kind,
        subject__in=ends["/subject_id"].family,
        predicate=new.predicate,
        statement=new.statement,
        invalidated_at=None,
        **window_columns(new.window),
    )
    if "/object_id" in ends:
        held = held.filter(object__in=ends["/object_id"].family)
    return held.order_by("number").first()


def _foresee(
    store: Store, new: NewFact, ends: Mapping[str, Endpoint], *, declared_by: DeclaredBy, now: datetime
) -> search.Foreseen:
    if _same(store, new, ends) is not None:
        return search.NOTHING
    return finding.foresee(store, found=[_fact(store, new, ends, declared_by=declared_by, now=now)])


def _insert(change: Change, new: NewFact, ends: Mapping[str, Endpoint], *, declared_by: DeclaredBy) -> Fact:
    fact = _fact(change.store, new, ends, declared_by=declared_by, now=change.now)
    (fact.number,) = take_numbers(change.counter, "fact", 1)
    fact.ingested_at = fact.window_since = change.at
    fact.save(force_insert=True)
    return fact


def _fact(
    store: Store, new: NewFact, ends: Mapping[str, Endpoint], *, declared_by: DeclaredBy, now: datetime
) -> Fact:
    """All of a fact but its number and its instants of belief."""
    return Fact(
        store=store,
        kind=new.kind,
        uuid=uuid.uuid4(),
        subject_id=ends["/subject_id"].pk,
        predicate=new.predicate,
        object_id=ends["/object_id"].pk if "/object_id" in ends else None,
        statement=new.statement,
        **window_columns(new.window),
        declared_by=declared_by,
        created_at=now,
    )


def _add_to(change: Change, fact: Fact, pieces: Sequence[Piece], cited: Sequence[Claim]) -> None:
    """Attach evidence to a fact that was declared again, and let its window rest on what is cited now too. A new
    claim may give it its support back.
    """
    fresh = link(change, fact, pieces)
    dating = new_citations(fact, cited)
    cite(change, fact, dating)
    if fresh or dating:
        change.update([fact])
    change.decide(fact, Outcome.NOOP, method="exact", attached=fresh, cited=len(dating))
    if fresh:
        change.recount([fact])
