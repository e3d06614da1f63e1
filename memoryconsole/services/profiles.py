"""The index follows the names of entities: their profiles do, and after a merge, or its end, the labels of facts."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from memoryconsole import jobs, search
from memoryconsole.identity import families, read_merges
from memoryconsole.models import Entity, Fact, IndexEntry, Job, Store
from memoryconsole.services.facts import finding
from memoryconsole.services.indexing import embed_later, language_changed
from memoryconsole.services.numbering import lock_counter

LABELS_AT_ONCE: Final = 500
"""Labels that are indexed in one transaction: half a second at most under the store's lock."""


def follow_names(store: Store, entities: Collection[int], *, now: datetime) -> None:
    """Write the profiles of these entities (primary keys) again, where facts are about them or what they absorbed;
    take away the others. Call in the transaction of the change, with the store's counter.
    """
    language_changed(store)
    by_survivor = families(store, entities)
    members = {member for family in by_survivor.values() for member in family}
    facts = Fact.objects.filter(store=store)
    is_end = Exists(facts.filter(subject=OuterRef("pk"))) | Exists(facts.filter(object=OuterRef("pk")))
    ends = set(Entity.objects.filter(is_end, store=store, pk__in=members).values_list("pk", flat=True))
    told = {survivor for survivor, family in by_survivor.items() if not ends.isdisjoint(family)}
    profiles = list(Entity.objects.filter(store=store, pk__in=told).order_by("number"))
    search.remove(store, entity_ids=set(entities) - told)
    if profiles and search.index(store, profiles=profiles, now=now).owed:
        embed_later(store, by=None, now=now)


def follow_labels(store: Store, entity: int, *, now: datetime) -> None:
    """Index the facts about this entity (primary key), and about all that was merged into it, under the names that
    their ends have now; by a job, when there are more than LABELS_AT_ONCE. Call in the transaction of the change, with
    the store's counter.
    """
    facts = list(_about(store, entity)[: LABELS_AT_ONCE + 1])
    if len(facts) > LABELS_AT_ONCE:
        jobs.start(store, "label", {"entity": entity}, by=None, now=now)
    elif facts:
        _label(store, facts, now=now)


@jobs.handles("label", must_finish=True)
def label(job: Job) -> None:
    """Index facts again, LABELS_AT_ONCE at a time. What they are called is asked each time: it may have changed."""
    after, done = job.progress.get("after", 0), job.done
    while True:
        with transaction.atomic():
            lock_counter(job.store)
            facts = list(_about(job.store, job.arguments["entity"]).filter(pk__gt=after)[:LABELS_AT_ONCE])
            if not facts:
                return
            _label(job.store, facts, now=timezone.now())
            after, done = facts[-1].pk, done + len(facts)
            jobs.advance(job, done=done, progress={"after": after}, message="facts")


def _about(store: Store, entity: int) -> "QuerySet[Fact]":
    """Those in the index: what is held no longer stays there, and what lost its last testimony does not."""
    members = read_merges(store).members(entity)
    ends = Q(subject__in=members) | Q(object__in=members)
    entries = IndexEntry.objects.filter(store=store, fact=OuterRef("pk"))
    return Fact.objects.filter(ends, Exists(entries), store=store).order_by("pk")


def _label(store: Store, facts: Sequence[Fact], *, now: datetime) -> None:
    """The profiles of the other ends tell of these facts too."""
    search.remove(store, fact_ids=[fact.pk for fact in facts])
    finding.follow(store, found=facts, lost=(), now=now)
