"""What becomes of facts when their testimony changes, by our processing and by the source."""

from datetime import UTC, datetime

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memoryconsole import jobs
from memoryconsole.models import (
    Claim,
    ContradictionGroup,
    Document,
    Fact,
    FactWindow,
    IndexEntry,
    Record,
    WindowCitation,
)
from memoryconsole.models.traces import pruning
from memoryconsole.services.numbering import lock_counter
from memoryconsole.services.settling import settle
from tests.conftest import url
from tests.facts.world import contradicts, ref, supports

YEAR = {"from": "2024", "until": "2024", "precision": "year"}


def erase(world, run_jobs):
    """Run the job that erases whatever is hidden."""
    jobs.start(world.store, "erase", {}, by=world.store.created_by, now=timezone.now())
    run_jobs(world.store)


def dated(*claims):
    return {"window": YEAR, "window_claim_ids": [str(claim.uuid) for claim in claims]}


def test_processing_withdraws_the_last_support_and_gives_it_back(world, tern):
    first, second = world.claim(), world.claim()
    fact = world.observe(tern, "is full", first, second)
    world.set_current(first, current=False)
    fact.refresh_from_db()
    assert (fact.support, fact.row_version) == ("current", 1)
    world.set_current(second, current=False)
    fact.refresh_from_db()
    assert (fact.support, fact.row_version, fact.invalidated_at) == ("withdrawn", 2, None)
    row = world.transcript(fact)[-1]
    assert (row.outcome, row.method, row.decided_by) == ("withdrawn", "rule", "auto")
    assert row.features == {"cause": "processing"}
    world.set_current(first, current=True)
    fact.refresh_from_db()
    assert fact.support == "current"
    assert world.outcomes(fact) == ["add", "withdrawn", "restore_support"]


def test_the_source_ends_belief_and_leaves_world_time(world, tern):
    claim, other = world.claim(), world.claim()
    fact = world.observe(tern, "is full", claim, other, **dated(claim))
    standing = world.observe(tern, "is late", other)
    group = world.group(fact, standing).json()["id"]
    world.change("source", [claim], is_current=False)
    fact.refresh_from_db()
    assert fact.invalidated_at is None
    world.change("source", [other], is_current=False)
    fact.refresh_from_db()
    assert fact.invalidated_at is not None
    assert fact.valid_until == datetime(2025, 1, 1, tzinfo=UTC)
    assert world.outcomes(fact) == ["add", "contradict", "retracted_source_removal"]
    assert world.read_group(group)["live_members"] == 0
    assert IndexEntry.objects.filter(fact=fact).exists()
    # The claims are still there to be seen, and so is what was held.
    assert world.read(fact)["validity"]["invalidated_at"] is not None


def test_a_withdrawn_fact_goes_when_the_source_goes(world, tern):
    claim = world.claim()
    fact = world.observe(tern, "is full", claim)
    world.set_current(claim, current=False)
    world.forget(claim)
    fact.refresh_from_db()
    assert fact.invalidated_at is not None
    assert world.outcomes(fact) == ["add", "withdrawn", "retracted_source_removal"]


def test_what_only_contradicts_is_no_support_to_lose(world, tern):
    claim, against = world.claim(), world.claim()
    fact = world.observe(tern, "is full", evidence=[supports(claim), contradicts(against)])
    world.change("source", [against], is_current=False)
    world.change("processing", [against], is_current=True)
    assert world.outcomes(fact) == ["add"]


def test_a_deleted_document_is_no_support(world, tern):
    claim = world.claim()
    fact = world.observe(tern, "is full", claim)
    with transaction.atomic():
        counter = lock_counter(world.store)
        Document.objects.filter(pk=claim.document_id).update(deleted_at=timezone.now())
        settle(world.store, counter, [claim.pk], cause="source", now=timezone.now())
    fact.refresh_from_db()
    assert fact.invalidated_at is not None


def test_two_claims_of_one_document_are_one_support(world, tern):
    document = world.document()
    first, second = world.claim(document), world.claim(document, text="again")
    fact = world.observe(tern, "is full", first, second)
    world.set_current(first, current=False)
    assert world.outcomes(fact) == ["add"]
    world.set_current(second, current=False)
    assert world.outcomes(fact) == ["add", "withdrawn"]


class TestWindows:
    def test_a_window_reverts_when_all_it_cites_is_forgotten(self, world, tern):
        first, second, third = world.claim(), world.claim(), world.claim()
        fact = world.observe(tern, "is full", first, second, third, **dated(first, second))
        world.forget(first)
        fact.refresh_from_db()
        assert fact.valid_precision == "year"
        world.forget(second)
        fact.refresh_from_db()
        assert (fact.valid_from, fact.valid_until, fact.valid_precision) == (None, None, "unknown")
        assert fact.invalidated_at is None
        # As if it had never been known.
        assert fact.window_since == fact.ingested_at
        assert not FactWindow.objects.filter(fact=fact).exists()
        assert not WindowCitation.objects.filter(fact=fact).exists()
        row = world.transcript(fact)[-1]
        assert (row.outcome, row.method, row.features) == ("update", "rule", {"change": "window_reverted"})

    def test_what_the_source_says_no_more_still_dates(self, world, tern):
        first, second = world.claim(), world.claim()
        fact = world.observe(tern, "is full", first, second, **dated(first))
        world.change("source", [first], is_current=False)
        fact.refresh_from_db()
        assert fact.valid_precision == "year"


def test_erased_claims_are_evidence_of_nothing(world, tern):
    """As when a record's text is replaced: the record stays, what was taken from it goes."""
    first, second = world.claim(), world.claim()
    alone = world.observe(tern, "is full", first)
    backed = world.observe(tern, "is late", first, second, **dated(first))
    with transaction.atomic():
        counter = lock_counter(world.store)
        settle(world.store, counter, [first.pk], cause="source", erasing=True, now=timezone.now())
        with pruning():
            first.delete()
    for fact in (alone, backed):
        fact.refresh_from_db()
    assert (alone.invalidated_at is None, backed.invalidated_at is None) == (False, True)
    assert backed.valid_precision == "unknown"
    assert world.read(backed)["documents"]["supports"] == 1
    world.read(alone, status=404)


def test_what_was_erased_leaves_no_fact_behind(world, tern, run_jobs):
    """The statement of a fact is made of what a record said: it goes when that is erased, and its transcript too."""
    text = "Aurora Tern is full."
    said = world.api.post(url(world.store, "/records"), {"records": [{"content": text}]}, format="json")
    record = Record.objects.get(store=world.store, number=int(said.json()["records"][0]["ref"][4:]))
    body = {"chunk_id": str(record.uuid), "claim_text": text, "quote": text}
    claim = Claim.objects.get(uuid=world.post("/claims", body, status=201).json()["id"])
    alone, backed = (
        world.observe(tern, "is full", claim),
        world.observe(tern, "is late", claim, world.claim()),
    )
    world.group(alone, backed)
    assert world.api.delete(url(world.store, f"/records/{record.ref}")).status_code == 202
    world.read(alone, status=404)
    run_jobs(world.store)
    assert list(Fact.objects.filter(store=world.store)) == [backed]
    assert world.transcript(alone) == []
    assert world.outcomes(backed) == ["add", "contradict"]
    assert world.read(backed)["documents"]["supports"] == 1


@pytest.mark.parametrize("before", ["held", "retracted"])
def test_what_is_only_contradicted_any_more_goes_too(before, world, tern, run_jobs):
    """Whoever contradicts a statement says it too, and shows it no longer once nobody that is left supports it."""
    claim, against = world.claim(), world.claim()
    gone = world.observe(tern, "is full", evidence=[supports(claim), contradicts(against)])
    kept = world.observe(tern, "is late", evidence=[supports(against), contradicts(claim)])
    world.group(gone, kept)
    if before == "retracted":
        world.command(gone, "retract", {"reason": "a slip"})
    world.forget(claim)
    world.read(gone, status=404)
    assert not IndexEntry.objects.filter(fact=gone).exists()
    assert IndexEntry.objects.filter(fact=kept).exists()
    assert world.read(kept)["documents"] == {"supports": 1, "contradicts": 0}
    erase(world, run_jobs)
    assert list(Fact.objects.filter(store=world.store)) == [kept]
    assert world.transcript(gone) == []


def test_a_group_of_which_nothing_is_left_is_none(world, tern, run_jobs):
    claims = [world.claim() for _ in range(3)]
    facts = [world.observe(tern, f"carries {n}", claim) for n, claim in enumerate(claims)]
    group = world.group(*facts[:2]).json()["id"]
    world.forget(claims[0])
    assert world.read_group(group)["members_total"] == 1
    world.forget(claims[1])
    assert world.api.get(url(world.store, f"/contradictions/{group}")).status_code == 404
    assert world.api.get(url(world.store, "/contradictions")).json()["results"] == []
    for tail, body in (("resolve", {"verdict": "all_stand"}), ("members", {"members": [ref(facts[2])]})):
        world.post(f"/contradictions/{group}/{tail}", body, status=404)
    erase(world, run_jobs)
    assert not ContradictionGroup.objects.filter(store=world.store).exists()


def test_nothing_to_settle_takes_nothing(world):
    with transaction.atomic():
        counter = lock_counter(world.store)
        with CaptureQueriesContext(connection) as captured:
            settle(world.store, counter, [], cause="source", now=timezone.now())
    assert len(captured) == 0


@pytest.mark.parametrize("cause", ["processing", "source"])
def test_more_claims_take_no_more_statements(cause, world, tern):
    def settled(amount):
        claims = [world.claim(text=f"{cause} {n}") for n in range(amount)]
        for n, claim in enumerate(claims):
            world.observe(tern, f"trait {claim.pk} {n}", claim, **dated(claim))
        with CaptureQueriesContext(connection) as captured:
            world.change(cause, claims, is_current=False)
        return len(captured)

    assert settled(1) == settled(12)
    assert Fact.objects.filter(store=world.store, support="current", invalidated_at=None).count() == 0
