"""Two commands on one fact at the same time, in transactions of their own: nothing is lost."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from memoryconsole.models import ContradictionMember, Decision, Fact, FactEvidence
from tests.conftest import make_client
from tests.facts.world import World, contradicts, ref, supports


def together(world, *calls):
    """Run each call in a thread with a client of its own, all at once; answers what they answered."""
    barrier = Barrier(len(calls))

    def run(call):
        try:
            client = make_client(world.store.created_by, world.store)
            barrier.wait(timeout=20)
            return call(World(world.store, client))
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def codes(answers):
    return sorted(answer.status_code for answer in answers)


def test_evidence_from_two_sides_is_both_there(world, tern):
    fact = world.observe(tern, "is full", world.claim())
    claims = [world.claim() for _ in range(4)]
    answers = together(world, *(
        lambda mine, claim=claim: mine.command(fact, "evidence", supports(claim)) for claim in claims
    ))  # fmt: skip
    assert sorted(answer.json()["version"] for answer in answers) == [2, 3, 4, 5]
    assert FactEvidence.objects.filter(fact=fact).count() == 5
    assert world.outcomes(fact) == ["add"] + ["update"] * 4
    instants = [row.decided_at for row in world.transcript(fact)]
    assert instants == sorted(set(instants))


def test_of_two_that_mean_the_same_version_one_is_told(world, tern):
    fact = world.observe(tern, "is full", world.claim())
    claims = [world.claim(), world.claim()]

    def attach(claim):
        return lambda mine: mine.command(fact, "evidence", supports(claim), status=None, HTTP_IF_MATCH='"1"')

    assert codes(together(world, *map(attach, claims))) == [200, 412]
    assert FactEvidence.objects.filter(fact=fact).count() == 2


def test_a_retraction_beside_another_command(world, tern):
    claim, other = world.claim(), world.claim()
    fact = world.observe(tern, "is full", claim)
    answers = together(
        world,
        lambda mine: mine.command(fact, "retract", {"reason": "a slip"}, status=None),
        lambda mine: mine.command(fact, "evidence", contradicts(other), status=None),
        lambda mine: mine.command(fact, "retract", {"reason": "another slip"}, status=None),
    )
    assert codes(answers) in ([200, 200, 409], [200, 409, 409])
    fact.refresh_from_db()
    done = [answer for answer in answers if answer.status_code == 200]
    assert fact.row_version == 1 + len(done)
    assert Decision.objects.filter(store=world.store).count() == 1 + len(done)
    assert world.outcomes(fact)[-1] == "retracted"


def test_the_same_fact_from_two_sides_is_one(world, tern):
    claims = [world.claim() for _ in range(3)]
    facts = together(world, *(
        lambda mine, claim=claim: mine.observe(tern, "is full", claim, status=None) for claim in claims
    ))  # fmt: skip
    assert len({fact.pk for fact in facts}) == 1
    assert sorted(world.outcomes(facts[0])) == ["add", "noop", "noop"]
    assert FactEvidence.objects.filter(fact=facts[0]).count() == 3
    assert Fact.objects.filter(store=world.store).count() == 1


def test_one_key_sent_twice_at_once_is_one_command(world, tern):
    claim = world.claim()
    body = {
        "kind": "observation",
        "subject_id": str(tern.uuid),
        "statement": "is full",
        "evidence": [supports(claim)],
    }
    answers = together(
        world, *(lambda mine: mine.post("/facts", body, HTTP_IDEMPOTENCY_KEY="k") for _ in range(2))
    )
    assert answers[0].json() == answers[1].json()
    assert Decision.objects.filter(store=world.store).count() == 1


@pytest.mark.parametrize("shared", [True, False])
def test_groups_that_meet_in_a_fact(shared, world, tern):
    facts = [world.observe(tern, f"carries {n}", world.claim()) for n in range(4)]
    pairs = [(facts[0], facts[1]), (facts[1 if shared else 2], facts[3])]
    answers = together(world, *(lambda mine, pair=pair: mine.group(*pair, status=None) for pair in pairs))
    assert codes(answers) == ([200, 201] if shared else [201, 201])
    live = ContradictionMember.objects.filter(store=world.store, left_at=None)
    assert live.count() == (3 if shared else 4)
    assert live.values("group").distinct().count() == (1 if shared else 2)


def test_a_verdict_beside_another(world, tern):
    facts = [world.observe(tern, f"carries {n}", world.claim()) for n in range(2)]
    group = world.group(*facts).json()["id"]
    answers = together(world, *(
        lambda mine, fact=fact: mine.post(
            f"/contradictions/{group}/resolve", {"verdict": "pick", "keep": ref(fact)}
        )
        for fact in facts
    ))  # fmt: skip
    assert codes(answers) == [200, 409]
    assert Fact.objects.filter(store=world.store, invalidated_at=None).count() == 1
