"""Verdicts on facts that processing has left without current testimony (contract: context-bundle A.5, M.2)."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from memoryconsole.errors import StateConflict
from memoryconsole.models import Fact, Store
from memoryconsole.models.facts import Outcome, Stance, Support
from memoryconsole.services.facts import finding
from memoryconsole.services.facts.changing import Change, changing
from memoryconsole.services.facts.counting import supported
from memoryconsole.services.facts.endpoints import family_of
from memoryconsole.services.facts.evidence import Piece, check_attribution, find_claims, is_current, link
from memoryconsole.services.facts.holding import FactRef, held, seen
from memoryconsole.services.facts.transcript import Decider


class Verdict(StrEnum):
    RESTORE = "restore_support"
    INVALIDATE = "invalidate_fact"
    UNCERTAIN = "uncertain"


def judge(
    store: Store,
    ref: FactRef,
    verdict: Verdict,
    claim: UUID | None,
    *,
    by: Decider,
    if_version: int | None,
    now: datetime,
) -> Fact:
    """Decide on a fact whose support was withdrawn.

    restore_support: it has current testimony after all, or gets it here (`claim`). invalidate_fact: it is held no
    longer. uncertain: it stays as it is, and somebody has looked. Other verdicts than restore_support take no `claim`.
    Raises NotFound, StaleResource; InvalidParameter for a claim that cannot support it; StateConflict when the fact is
    held no longer, when its support is not withdrawn, and when there is nothing to restore it by.
    """
    lost = [seen(store, ref)] if verdict == Verdict.INVALIDATE else []
    with changing(store, by, foreseen=finding.foresee(store, lost=lost), now=now) as change:
        fact = held(store, ref, if_version=if_version)
        if fact.support != Support.WITHDRAWN:
            raise StateConflict("The fact's support is not withdrawn")
        if verdict == Verdict.RESTORE:
            _restore(change, fact, claim)
        elif verdict == Verdict.INVALIDATE:
            change.close_belief([fact], Outcome.INVALIDATE_FACT)
        else:
            change.update([fact])
            change.decide(fact, Outcome.UNCERTAIN)
    return fact


def _restore(change: Change, fact: Fact, claim: UUID | None) -> None:
    if claim is not None:
        found = find_claims(change.store, {"/claim_id": claim})[claim]
        if not is_current(found):
            raise StateConflict("The claim's source does not say it today")
        piece = Piece(found, Stance.SUPPORTS, "/claim_id")
        check_attribution(change.store, fact.kind, family_of(change.store, fact.subject_id), [piece])
        link(change, fact, [piece])
    if not supported(change.store, [fact]):
        raise StateConflict("No current claim supports the fact: name one")
    change.update([fact], support=Support.CURRENT)
    change.decide(fact, Outcome.RESTORE_SUPPORT, claim=str(claim) if claim is not None else None)
