"""One change of what a store holds true: under the store's lock, at one instant of belief, with its transcript."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F

from memoryconsole import search
from memoryconsole.models import ContradictionGroup, ContradictionMember, Fact, Store, StoreCounter
from memoryconsole.models.facts import Outcome, Support
from memoryconsole.services.facts import finding
from memoryconsole.services.facts.counting import supported
from memoryconsole.services.facts.transcript import Decider, Entry, Method, write_entries
from memoryconsole.services.numbering import lock_counter, take_beliefs


class Change:
    """What a command is doing. Rows are written as it goes, transcript, counter and index by `close`.

    It lives in a transaction that holds the store's counter. `foreseen`: of `finding.foresee`.
    """

    def __init__(
        self,
        store: Store,
        counter: StoreCounter,
        decider: Decider,
        *,
        foreseen: search.Foreseen = search.NOTHING,
        now: datetime,
    ) -> None:
        self.store = store
        self.counter = counter
        self.decider = decider
        self.now = now
        self._foreseen = foreseen
        self._at: datetime | None = None
        self._entries: list[Entry] = []
        self._found: list[Fact] = []
        self._lost: list[Fact] = []

    @property
    def at(self) -> datetime:
        """The change's one instant of belief, taken when it is first asked for."""
        if self._at is None:
            (self._at,) = take_beliefs(self.counter, 1, now=self.now)
        return self._at

    def decide(
        self,
        fact: Fact,
        outcome: Outcome,
        *,
        method: Method = "declared",
        related: UUID | None = None,
        **features: Any,
    ) -> None:
        """Add an entry to the fact's transcript."""
        self._entries.append(
            Entry(fact=fact, outcome=outcome, method=method, related=related, features=features)
        )

    def update(self, facts: Sequence[Fact], **columns: Any) -> None:
        """Give all of these facts the same new values, and a new version each (one statement)."""
        if not facts:
            return
        for fact in facts:
            fact.row_version += 1
            for name, value in columns.items():
                setattr(fact, name, value)
        Fact.objects.filter(pk__in=[fact.pk for fact in facts]).update(
            row_version=F("row_version") + 1, **columns
        )

    def found(self, fact: Fact) -> None:
        """The fact is to be findable from now on."""
        self._found.append(fact)

    def close_belief(
        self,
        facts: Sequence[Fact],
        outcome: Outcome,
        *,
        method: Method = "declared",
        related: UUID | None = None,
        **features: Any,
    ) -> None:
        """Hold these facts no longer: belief ends, world time stays as it is (contract: A.5).

        They are live members of no group any more; their membership rows stay with their end, those of the others
        as they are, so that a group of one is still told of (P.12, E.5).
        """
        if not facts:
            return
        self.update(facts, invalidated_at=self.at)
        self.leave_groups(facts)
        for fact in facts:
            self.decide(fact, outcome, method=method, related=related, **features)
        self._lost.extend(facts)

    def leave_groups(self, facts: Iterable[Fact]) -> None:
        """End the memberships of these facts; their groups get a new version each."""
        ending = ContradictionMember.objects.filter(
            store=self.store, fact__in=[fact.pk for fact in facts], left_at=None
        )
        groups = set(ending.values_list("group", flat=True))
        if groups:
            ending.update(left_at=self.at)
            ContradictionGroup.objects.filter(pk__in=groups).update(row_version=F("row_version") + 1)

    def recount(self, facts: Sequence[Fact], **features: Any) -> None:
        """Withdraw the support of those that no current testimony supports any more, and give it back to those
        that some does again (contract: A.5). That is a rule of the server's.
        """
        backed = supported(self.store, facts)
        withdrawn = [fact for fact in facts if fact.pk not in backed and fact.support == Support.CURRENT]
        restored = [fact for fact in facts if fact.pk in backed and fact.support == Support.WITHDRAWN]
        self.update(withdrawn, support=Support.WITHDRAWN)
        self.update(restored, support=Support.CURRENT)
        for outcome, changed in ((Outcome.WITHDRAWN, withdrawn), (Outcome.RESTORE_SUPPORT, restored)):
            for fact in changed:
                self.decide(fact, outcome, method="rule", **features)

    def close(self) -> None:
        """Write the transcript and the counter, and make the index follow."""
        if self._entries:
            write_entries(self.store, self.decider, self._entries, at=self.at)
        if self._at is not None:
            self.counter.save(update_fields=["fact", "belief_at"])
        if self._found or self._lost:
            finding.follow(
                self.store, found=self._found, lost=self._lost, foreseen=self._foreseen, now=self.now
            )


@contextmanager
def changing(
    store: Store, decider: Decider, *, foreseen: search.Foreseen = search.NOTHING, now: datetime
) -> Iterator[Change]:
    """A transaction that holds the store's counter: commands on one store follow one another, all or nothing."""
    with transaction.atomic():
        change = Change(store, lock_counter(store), decider, foreseen=foreseen, now=now)
        yield change
        change.close()
