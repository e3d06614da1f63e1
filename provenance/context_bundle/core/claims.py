"""What sources say: ``claims_and_sources_context`` (contract, section C.2).

``decide_claims`` decides: fuse, confirm, order, group, cut. ``claims_and_sources`` writes the decision as an envelope.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from provenance.context_bundle.core.cursor import Position, Token
from provenance.context_bundle.core.envelope import envelope
from provenance.context_bundle.core.fusion import Fused, Testimony, by_coverage, group_claims, rrf
from provenance.context_bundle.core.negatives import no_testimony, not_exhaustive, unknown_entity
from provenance.context_bundle.core.results import chunk_result, evidence_result
from provenance.context_bundle.core.schema import Json
from provenance.context_bundle.core.seen import Channel, Chunk, Claim, ClaimsSeen, Document, InvalidSeen
from provenance.context_bundle.core.truncation import CANDIDATE_BUDGET, truncation
from provenance.context_bundle.core.types import CLAIMS_AND_SOURCES, ClaimsRequest

ABSENT: Final = "absent"
DOCUMENT_GONE: Final = "document_gone"
SUPERSEDED: Final = "superseded"
ANCHOR_GONE: Final = "anchor_gone"

Row = TypeVar("Row", Claim, Chunk)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimsDecided:
    """Everything that was decided. Numbers, in order.

    ``fused_*``: the candidates by reciprocal rank. ``rejected_*``: why a candidate was dropped. ``testimony``,
    ``passages``: what qualifies from the cursor on, in answer order; the first ``k`` of each are shown.
    ``budgets``: what ran out.
    """

    fused_claims: list[Fused[int]] = field(default_factory=list)
    fused_chunks: list[Fused[int]] = field(default_factory=list)
    rejected_claims: dict[int, str] = field(default_factory=dict)
    rejected_chunks: dict[int, str] = field(default_factory=dict)
    testimony: list[Testimony] = field(default_factory=list)
    passages: list[Chunk] = field(default_factory=list)
    budgets: frozenset[str] = frozenset()


def decide_claims(request: ClaimsRequest, seen: ClaimsSeen) -> ClaimsDecided:
    """Contract, section C.2, steps 3 to 7. Raises InvalidSeen when a later page is not read in its pinned scope."""
    returned = _returned(request, seen)
    anchored = request.entity_ids is not None
    documents = {row.number: row for row in seen.documents}

    def refusal(row: Claim | Chunk) -> str | None:
        if row.document not in documents:
            return DOCUMENT_GONE
        if isinstance(row, Claim) and not row.is_current and not request.include_superseded:
            return SUPERSEDED
        return ANCHOR_GONE if anchored and not row.touches else None

    fused_claims = rrf([channel.numbers for channel in seen.claims])
    fused_chunks = rrf([channel.numbers for channel in seen.chunks])
    claims, rejected_claims = _confirm(fused_claims, {row.number: row for row in seen.claim_rows}, refusal)
    chunks, rejected_chunks = _confirm(fused_chunks, {row.number: row for row in seen.chunk_rows}, refusal)
    groups = group_claims(_ordered([claim for claim in claims if claim.number not in returned.claims]))
    return ClaimsDecided(
        fused_claims=fused_claims,
        fused_chunks=fused_chunks,
        rejected_claims={
            each: why
            for each, why in rejected_claims.items()
            if each not in returned.claims and each not in returned.groups
        },
        rejected_chunks={each: why for each, why in rejected_chunks.items() if each not in returned.chunks},
        testimony=[
            group for group in groups if returned.groups.isdisjoint(claim.number for claim in group.claims)
        ],
        passages=[chunk for chunk in _ordered(chunks) if chunk.number not in returned.chunks],
        budgets=_budgets(request, seen),
    )


def claims_and_sources(
    request: ClaimsRequest, seen: ClaimsSeen, token: Token, decided: ClaimsDecided | None = None
) -> Json:
    """The evidence envelope of the request. Same request and seen, same bytes. ``decided``: what ``decide_claims`` made
    of these two, if that is known already.
    """
    if not seen.anchors_known:
        return envelope(
            grain="evidence", scope=seen.scope, freshness=seen.freshness, negative=unknown_entity()
        )
    decided = decided or decide_claims(request, seen)
    documents = {row.number: row for row in seen.documents}
    testimony, passages = decided.testimony[: request.k], decided.passages[: request.k]
    total = len(decided.testimony) + len(decided.passages)
    cut = truncation(
        returned=len(testimony) + len(passages),
        total=total,
        budgets=decided.budgets,
        continuation=_continuation(request, seen, decided, token),
    )
    return envelope(
        grain="evidence",
        scope=seen.scope,
        freshness=seen.freshness,
        evidence=[_evidence(group, documents) for group in testimony],
        chunks=[chunk_result(chunk, documents[chunk.document]) for chunk in passages],
        truncation=cut,
        dropped_by_hydration=len(decided.rejected_claims) + len(decided.rejected_chunks),
        negative=None if total else _negative(request, cut),
    )


def _confirm(
    fused: Sequence[Fused[int]], rows: Mapping[int, Row], refusal: Callable[[Row], str | None]
) -> tuple[list[Row], dict[int, str]]:
    """The rows of the candidates that may be shown, in their order; and why the others may not."""
    confirmed: list[Row] = []
    rejected: dict[int, str] = {}
    for candidate in fused:
        row = rows.get(candidate.key)
        why = ABSENT if row is None else refusal(row)
        if row is None or why is not None:
            rejected[candidate.key] = why or ABSENT
        else:
            confirmed.append(row)
    return confirmed, rejected


def _ordered(rows: Sequence[Row]) -> list[Row]:
    """What touches more anchors first, before anything is grouped or cut."""
    by_number = {row.number: row for row in rows}
    coverage = {row.number: len(set(row.touches)) for row in rows}
    return [by_number[number] for number in by_coverage(by_number, coverage)]


def _budgets(request: ClaimsRequest, seen: ClaimsSeen) -> frozenset[str]:
    """A channel that gave all it may is one that may have had more (section F.3)."""

    def spent(channel: Channel) -> bool:
        return channel.exhausted or len(channel.numbers) >= request.candidate_k

    return frozenset({CANDIDATE_BUDGET} if any(map(spent, (*seen.claims, *seen.chunks))) else ())


@dataclass(frozen=True, slots=True)
class _Returned:
    """What earlier pages gave, by number. ``groups``: claims each of which was given with all that said the same."""

    claims: frozenset[int] = frozenset()
    chunks: frozenset[int] = frozenset()
    groups: frozenset[int] = frozenset()


def _returned(request: ClaimsRequest, seen: ClaimsSeen) -> _Returned:
    if request.continuation is None:
        return _Returned()
    if request.continuation.scope != seen.scope or len(request.continuation.returned) not in (2, 3):
        raise InvalidSeen("a later page is read in the scope of the first, with its lists")
    return _Returned(*map(frozenset, request.continuation.returned))


def _continuation(
    request: ClaimsRequest, seen: ClaimsSeen, decided: ClaimsDecided, token: Token
) -> str | None:
    """Names all that was given, since what says the same as another now may not at the next page. Claims that are too
    many to be named are named by those that stand for them.
    """
    k = request.k
    if len(decided.testimony) <= k and len(decided.passages) <= k:
        return None
    before, shown = _returned(request, seen), decided.testimony[:k]
    chunks = before.chunks.union(chunk.number for chunk in decided.passages[:k])

    def position(claims: frozenset[int], groups: frozenset[int]) -> str | None:
        lists = (claims, chunks, groups) if groups else (claims, chunks)
        return token(
            Position(
                operation=CLAIMS_AND_SOURCES,
                digest=request.digest(),
                scope=seen.scope,
                returned=tuple(tuple(sorted(numbers)) for numbers in lists),
            )
        )

    given = before.claims.union(claim.number for group in shown for claim in group.claims)
    return position(given, before.groups) or position(
        before.claims, before.groups.union(group.representative.number for group in shown)
    )


def _evidence(group: Testimony, documents: Mapping[int, Document]) -> Json:
    return evidence_result(group.representative, documents[group.representative.document], group)


def _negative(request: ClaimsRequest, cut: Json) -> Json | None:
    """Nothing is left: absence when all was looked at, unless earlier pages showed what there was."""
    if cut["truncated"]:
        return not_exhaustive(cut["reason"])
    if request.continuation is not None:
        return None
    return no_testimony(anchored=request.entity_ids is not None)
