"""The currency ledger: the one way in which a claim becomes current testimony, or ceases to be (context-bundle A.2)."""

from collections.abc import Sequence
from datetime import datetime

from memoryconsole.models import Claim, ClaimCurrency, Store, StoreCounter
from memoryconsole.models.testimony import CurrencyReason
from memoryconsole.services.facts.transcript import RULE, Decider
from memoryconsole.services.numbering import take_beliefs
from memoryconsole.services.settling import Cause, settle

# Rows of one INSERT.
_BATCH = 2000


def change_currency(
    store: Store,
    counter: StoreCounter,
    claims: Sequence[Claim],
    *,
    current: bool,
    reason: CurrencyReason,
    cause: Cause,
    decider: Decider = RULE,
    now: datetime,
) -> None:
    """Write one ledger row a claim, all of one instant, and let the facts that rest on them follow.

    The claims are not so already. Call in a transaction, holding the store's counter; the number of statements does
    not depend on how many claims there are.
    """
    if not claims:
        return
    (decided_at,) = take_beliefs(counter, 1, now=now)
    counter.save(update_fields=["belief_at"])
    ClaimCurrency.objects.bulk_create(
        (
            ClaimCurrency(
                store=store,
                claim=claim,
                current=current,
                reason=reason,
                decided_at=decided_at,
                decided_by=decider.decided_by,
                actor=decider.words,
            )
            for claim in claims
        ),
        batch_size=_BATCH,
    )
    Claim.objects.filter(pk__in=[claim.pk for claim in claims]).update(is_current=current)
    for claim in claims:
        claim.is_current = current
    settle(store, counter, [claim.pk for claim in claims], cause=cause, now=now)
