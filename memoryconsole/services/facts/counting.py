"""How much testimony a fact has: the counting rule and what may be seen (contract: context-bundle A.4)."""

from collections.abc import Collection, Iterable

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from memoryconsole.models import ContradictionGroup, ContradictionMember, Fact, FactEvidence, Record, Store
from memoryconsole.models.facts import Stance

# Of an evidence row: its claim is in visible history. What was deleted with its record is not, erased yet or not.
VISIBLE = Q(claim__record__deleted_at=None)
# Of an evidence row: its source still says it.
CURRENT = VISIBLE & Q(claim__is_current=True, claim__document__deleted_at=None)


def lineages(store: Store, facts: Iterable[int]) -> dict[tuple[int, str], int]:
    """How many live documents have current testimony for (fact's key, stance); those that have none are left out.

    One statement. A document counts once, however often it says so.
    """
    rows = (
        FactEvidence.objects.filter(CURRENT, store=store, fact__in=list(facts))
        .values_list("fact", "stance")
        .annotate(documents=Count("claim__document", distinct=True))
    )
    return {(fact, stance): documents for fact, stance, documents in rows}


def supported(store: Store, facts: Collection[Fact]) -> set[int]:
    """The keys of those facts that current testimony supports."""
    counts = lineages(store, [fact.pk for fact in facts])
    return {fact for fact, stance in counts if stance == Stance.SUPPORTS}


def visible_facts(store: Store) -> "QuerySet[Fact]":
    """The store's facts that may be seen: those with a claim in visible history, for or against."""
    evidence = FactEvidence.objects.filter(VISIBLE, fact=OuterRef("pk"))
    return Fact.objects.filter(Exists(evidence), store=store)


def resting_on(store: Store, record: Record) -> "QuerySet[Fact]":
    """The facts that are seen no more when this record is deleted: claims that were taken from it support them, and
    no other claim that may be seen does.
    """
    supports = FactEvidence.objects.filter(VISIBLE, fact=OuterRef("pk"), stance=Stance.SUPPORTS)
    its_own = Q(claim__record=record)
    alone = Exists(supports.filter(its_own)), ~Exists(supports.exclude(its_own))
    return Fact.objects.filter(*alone, store=store)


def visible_groups(store: Store) -> "QuerySet[ContradictionGroup]":
    """The store's groups that may be seen: those that some fact is or was in which may be seen."""
    members = ContradictionMember.objects.filter(group=OuterRef("pk"), fact__in=visible_facts(store))
    return ContradictionGroup.objects.filter(Exists(members), store=store)
