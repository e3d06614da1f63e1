"""What is held true: ``facts_context`` (contract, section C.3).

``decide_facts`` decides: fuse, confirm, order. ``facts_context`` shows the first of them with their evidence, their
disagreements and their neighbours. ``envelope_of`` shows facts wherever some are shown, ``fact_result`` one of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from provenance.context_bundle.core.contradiction import Frame, block
from provenance.context_bundle.core.cursor import Position, Token
from provenance.context_bundle.core.envelope import envelope
from provenance.context_bundle.core.fusion import STANCES, Fused, by_coverage, rrf, share_evidence
from provenance.context_bundle.core.negatives import no_facts, not_exhaustive, unknown_entity
from provenance.context_bundle.core.results import evidence_result, graph_node, label, support, validity
from provenance.context_bundle.core.schema import Json, make
from provenance.context_bundle.core.seen import Backing, Fact, FactKey, FactsSeen, InvalidSeen, ScopeEntity
from provenance.context_bundle.core.temporal import Scope, believes, selects
from provenance.context_bundle.core.truncation import CANDIDATE_BUDGET, EXPANSION_BUDGET, truncation
from provenance.context_bundle.core.types import FACT_CANDIDATES, FACTS, FactsRequest, MembersRequest

ABSENT: Final = "absent"
NOT_BELIEVED: Final = "not_believed"
OUTSIDE_TIME: Final = "outside_time"
ENDPOINT_GONE: Final = "endpoint_gone"
OUT_OF_SCOPE: Final = "out_of_scope"
OTHER_PREDICATE: Final = "other_predicate"


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsDecided:
    """Everything that was decided.

    ``fused``: the candidates by reciprocal rank. ``rejected``: why one was dropped. ``confirmed``: what qualifies from
    the cursor on, in answer order; the first ``k`` are shown. ``neighbours``: those confirmed, nearest first;
    ``stale_neighbours``: entity numbers the graph still held. ``budgets``: what ran out.
    """

    fused: list[Fused[FactKey]] = field(default_factory=list)
    rejected: dict[FactKey, str] = field(default_factory=dict)
    confirmed: list[Fact] = field(default_factory=list)
    neighbours: list[ScopeEntity] = field(default_factory=list)
    stale_neighbours: list[int] = field(default_factory=list)
    budgets: frozenset[str] = frozenset()


def decide_facts(request: FactsRequest, seen: FactsSeen) -> FactsDecided:
    """Contract, section C.3, steps 3 to 6. Raises InvalidSeen when a later page is not read in its pinned scope."""
    returned = _returned(request, seen)
    rows = {fact.key: fact for fact in seen.facts}
    current = frozenset(entity.number for entity in seen.entities)
    anchored = request.entity_ids is not None
    in_scope = frozenset(entity.number for entity in seen.entities_in_scope) if anchored else current
    fused = rrf([channel.keys for channel in seen.nominations])
    rejected: dict[FactKey, str] = {}
    confirmed: dict[FactKey, Fact] = {}
    for candidate in fused:
        if candidate.key[1] in returned:
            continue
        row = rows.get(candidate.key)
        why = ABSENT if row is None else _refusal(row, request, seen.scope, current, in_scope)
        if row is None or why is not None:
            rejected[candidate.key] = why or ABSENT
        else:
            confirmed[candidate.key] = row
    anchors = {entity.number for entity in seen.entities_in_scope if entity.hops == 0}
    coverage = {key: len(anchors & set(fact.ends)) for key, fact in confirmed.items()}
    around = [entity for entity in seen.entities_in_scope if entity.hops]
    return FactsDecided(
        fused=fused,
        rejected=rejected,
        confirmed=[confirmed[key] for key in by_coverage(confirmed, coverage)],
        neighbours=sorted(
            (each for each in around if each.number in current), key=lambda each: (each.hops, each.number)
        ),
        stale_neighbours=sorted(each.number for each in around if each.number not in current),
        budgets=_budgets(seen),
    )


def facts_context(
    request: FactsRequest, seen: FactsSeen, token: Token, decided: FactsDecided | None = None
) -> Json:
    """The fact envelope of the request. Same request and seen, same bytes. ``decided``: what ``decide_facts`` made of
    these two, if that is known already.
    """
    if not seen.anchors_known:
        return envelope(grain="fact", scope=seen.scope, freshness=seen.freshness, negative=unknown_entity())
    decided = decided or decide_facts(request, seen)
    return envelope_of(
        request,
        seen,
        token,
        decided,
        goes_on=lambda shown: _continuation(request, seen, shown, token),
        nothing=lambda cut: _negative(request, cut),
    )


def envelope_of(
    request: FactsRequest | MembersRequest,
    seen: FactsSeen,
    token: Token,
    decided: FactsDecided,
    *,
    goes_on: Callable[[Sequence[Fact]], str | None],
    nothing: Callable[[Json], Json | None],
) -> Json:
    """The first ``k`` of what was decided. ``goes_on``: where the list goes on behind those shown, asked when it does;
    ``nothing``: the negative of an empty list, by its truncation.
    """
    shown, total = decided.confirmed[: request.k], len(decided.confirmed)
    frame = frame_of(seen, token)
    evidence, associations, totals = backed(shown, seen, request.evidence_per_fact)
    cut = truncation(
        returned=len(shown),
        total=total,
        budgets=decided.budgets,
        continuation=goes_on(shown) if total > len(shown) else None,
    )
    return envelope(
        grain="fact",
        scope=seen.scope,
        freshness=seen.freshness,
        facts=[fact_result(fact, frame) for fact in shown],
        evidence=evidence,
        fact_evidence=associations,
        evidence_totals=totals,
        nodes=[graph_node(frame.entities[each.number], each.hops) for each in decided.neighbours],
        truncation=cut,
        dropped_by_hydration=len(decided.rejected) + len(decided.stale_neighbours),
        negative=None if total else nothing(cut),
    )


def frame_of(seen: FactsSeen, token: Token) -> Frame:
    return Frame(
        scope=seen.scope,
        facts={fact.key: fact for fact in seen.facts},
        groups={group.group_id: group for group in seen.groups},
        entities={entity.number: entity for entity in seen.entities},
        token=token,
    )


def fact_result(fact: Fact, frame: Frame) -> Json:
    """A fact with its contradiction block. Raises KeyError if its group was not read."""
    return make(
        "FactResult",
        fact_id=fact.fact_id,
        kind=fact.kind,
        label=label(fact, frame.entities),
        evidence_count=fact.supports,
        validity=validity(fact),
        temporal_match=fact.window.temporal_match,
        contradiction_group=fact.group,
        contradiction=block(fact, frame),
        support=support(fact),
    )


def backed(
    shown: Sequence[Fact], seen: FactsSeen, per_fact: int
) -> tuple[list[Json], list[Json], list[Json]]:
    """``evidence``, ``fact_evidence`` and ``evidence_totals`` of the facts shown (section C.3, steps 7 and 8)."""
    documents = {row.number: row for row in seen.documents}
    claims = {row.number: row for row in seen.claims if row.document in documents}
    facts = {fact.number: fact for fact in shown}
    chosen = share_evidence(list(facts), seen.backing, claims, per_fact=per_fact)
    testimony = [claims[number] for number in dict.fromkeys(each.claim for each in chosen)]
    associations = [
        make(
            "FactEvidence",
            fact_kind=facts[each.fact].kind,
            fact_id=facts[each.fact].fact_id,
            claim_id=claims[each.claim].claim_id,
            stance=each.stance,
        )
        for each in chosen
    ]
    evidence = [evidence_result(claim, documents[claim.document]) for claim in testimony]
    return evidence, associations, evidence_totals(shown, chosen)


def evidence_totals(shown: Sequence[Fact], chosen: Sequence[Backing]) -> list[Json]:
    """Two rows a fact, zeros included. Raises InvalidSeen when more lineages were read than counted."""
    rows = []
    counts = Counter((each.fact, each.stance) for each in chosen)
    for fact in shown:
        for stance in STANCES:
            total = fact.supports if stance == "supports" else fact.contradicts
            returned = counts[fact.number, stance]
            if returned > total:
                raise InvalidSeen(f"fact {fact.number} {stance}: {returned} lineages read, {total} counted")
            rows.append(
                make(
                    "EvidenceTotal",
                    fact_kind=fact.kind,
                    fact_id=fact.fact_id,
                    stance=stance,
                    returned=returned,
                    total=total,
                )
            )
    return rows


def refusal(fact: Fact, scope: Scope, current: frozenset[int]) -> str | None:
    """Why a fact that the spine holds is not held for the scope; None when it is. ``current``: entity numbers."""
    if not believes(scope, fact.ingested_at, fact.invalidated_at):
        return NOT_BELIEVED
    if not selects(scope, fact.window):
        return OUTSIDE_TIME
    return None if current.issuperset(fact.ends) else ENDPOINT_GONE


def _refusal(
    fact: Fact,
    request: FactsRequest,
    scope: Scope,
    current: frozenset[int],
    in_scope: frozenset[int],
) -> str | None:
    """Why a fact that the spine holds is not confirmed; None when it is (section C.3, step 3)."""
    why = refusal(fact, scope, current)
    if why is not None:
        return why
    if request.predicate is not None and fact.predicate != request.predicate:
        return OTHER_PREDICATE
    return OUT_OF_SCOPE if in_scope.isdisjoint(fact.ends) else None


def _budgets(seen: FactsSeen) -> frozenset[str]:
    deep = any(channel.exhausted or len(channel.keys) > FACT_CANDIDATES for channel in seen.nominations)
    spent = {CANDIDATE_BUDGET: deep, EXPANSION_BUDGET: seen.expansion_capped}
    return frozenset(budget for budget, is_spent in spent.items() if is_spent)


def _returned(request: FactsRequest, seen: FactsSeen) -> frozenset[int]:
    """The facts that earlier pages gave."""
    if request.continuation is None:
        return frozenset()
    if request.continuation.scope != seen.scope or len(request.continuation.returned) != 1:
        raise InvalidSeen("a later page is read in the scope of the first, with its one list")
    return frozenset(request.continuation.returned[0])


def _continuation(request: FactsRequest, seen: FactsSeen, shown: Sequence[Fact], token: Token) -> str | None:
    returned = _returned(request, seen) | {fact.number for fact in shown}
    return token(
        Position(
            operation=FACTS, digest=request.digest(), scope=seen.scope, returned=(tuple(sorted(returned)),)
        )
    )


def _negative(request: FactsRequest, cut: Json) -> Json | None:
    """Nothing is left: absence when all was looked at, unless earlier pages showed what there was."""
    if cut["truncated"]:
        return not_exhaustive(cut["reason"])
    if request.continuation is not None:
        return None
    return no_facts(anchored=request.entity_ids is not None, predicate=request.predicate)
