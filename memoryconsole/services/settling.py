"""What becomes of facts when the testimony they rest on has changed (contract: context-bundle A.4, A.5, A.9)."""

from collections.abc import Collection
from datetime import datetime
from typing import Literal

from django.db.models import Exists, OuterRef

from memoryconsole import search
from memoryconsole.models import Fact, FactEvidence, Store, StoreCounter, WindowCitation
from memoryconsole.models.facts import Outcome, Stance
from memoryconsole.models.testimony import Precision
from memoryconsole.services.facts.changing import Change
from memoryconsole.services.facts.counting import VISIBLE, supported
from memoryconsole.services.facts.transcript import RULE

# Who took the testimony away: our own reading of a source, or the source itself.
Cause = Literal["processing", "source"]


def settle(
    store: Store,
    counter: StoreCounter,
    claim_ids: Collection[int],
    *,
    cause: Cause,
    erasing: bool = False,
    now: datetime,
) -> None:
    """Recount the facts that these claims (primary keys) are evidence of, after the claims have changed.

    A fact that current testimony supports again is so marked. One that has lost the last of it keeps being held and
    is marked `withdrawn` when our processing took it away; when the source did, belief in it ends and its world time
    stays. A window whose cited claims are all deleted reverts to unknown, and a fact whose supporting claims are all
    deleted is seen no more.

    Call in the transaction that changed the claims or hid their records, holding the store's counter. `erasing`: call
    before the rows of the claims are removed; they are evidence of nothing from then on. The number of statements does
    not depend on how many claims there are.
    """
    if not claim_ids:
        return
    change = Change(store, counter, RULE, now=now)
    facts = _supported_by(store, claim_ids)
    dated = _dated_by(store, claim_ids) if cause == "source" else []
    ended = _ended_by(store, claim_ids) if cause == "source" else []
    if erasing:
        FactEvidence.objects.filter(store=store, claim__in=claim_ids).delete()
        WindowCitation.objects.filter(store=store, claim__in=claim_ids).delete()
    if cause == "source":
        backed = supported(store, facts)
        lost = [fact for fact in facts if fact.pk not in backed]
        change.close_belief(lost, Outcome.RETRACTED_SOURCE_REMOVAL, method="rule", cause=cause)
        facts = [fact for fact in facts if fact.pk in backed]
        _revert_windows(change, dated)
        _let_go(store, [*ended, *(fact.pk for fact in lost)])
    if facts:
        change.recount(facts, cause=cause)
    change.close()


def _supported_by(store: Store, claim_ids: Collection[int]) -> list[Fact]:
    links = FactEvidence.objects.filter(store=store, claim__in=claim_ids, stance=Stance.SUPPORTS)
    held = Fact.objects.filter(store=store, invalidated_at=None, pk__in=links.values("fact"))
    return list(held.order_by("number"))


def _ended_by(store: Store, claim_ids: Collection[int]) -> list[int]:
    """The keys of the facts in which belief ended before, and which these claims are evidence for."""
    links = FactEvidence.objects.filter(store=store, claim__in=claim_ids, stance=Stance.SUPPORTS)
    ended = links.filter(fact__invalidated_at__isnull=False)
    return list(ended.values_list("fact", flat=True).distinct())


def _let_go(store: Store, fact_ids: Collection[int]) -> None:
    """Facts that no claim supports any more in all that may be seen go with their testimony (decisions 15): what
    contradicts them stays where it was said, and shows them no longer. Their rows are erased later.
    """
    supports = FactEvidence.objects.filter(VISIBLE, fact=OuterRef("pk"), stance=Stance.SUPPORTS)
    gone = list(Fact.objects.filter(~Exists(supports), pk__in=fact_ids).values_list("pk", flat=True))
    if gone:
        FactEvidence.objects.filter(store=store, fact__in=gone).delete()
        search.remove(store, fact_ids=gone)


def _dated_by(store: Store, claim_ids: Collection[int]) -> list[int]:
    """The keys of the facts whose windows rest on one of these claims."""
    cited = WindowCitation.objects.filter(store=store, claim__in=claim_ids)
    return list(cited.values_list("fact", flat=True).distinct())


def _revert_windows(change: Change, dated: Collection[int]) -> None:
    """What was forgotten dates nothing: windows that rested on it alone become unknown, from their beginning.

    So there is no FactWindow row for it, and `window_since` stays.
    """
    cited = WindowCitation.objects.filter(VISIBLE, store=change.store, fact=OuterRef("pk"))
    facts = list(Fact.objects.filter(~Exists(cited), pk__in=dated).order_by("number"))
    if not facts:
        return
    WindowCitation.objects.filter(store=change.store, fact__in=facts).delete()
    change.update(facts, valid_from=None, valid_until=None, valid_precision=Precision.UNKNOWN)
    for fact in facts:
        change.decide(fact, Outcome.UPDATE, method="rule", change="window_reverted")
