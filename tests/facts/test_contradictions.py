"""Facts that contradict each other: groups begin, grow, become one, and are decided."""

import uuid

import pytest

from memoryconsole.models import ContradictionGroup, ContradictionMember
from tests.conftest import url
from tests.facts.test_declaring import conflict, refused
from tests.facts.world import ref, state


@pytest.fixture
def traits(world, tern):
    """Six observations about one ship."""
    return [world.observe(tern, f"carries {n}", world.claim()) for n in range(6)]


def live(group):
    rows = ContradictionMember.objects.filter(group__uuid=group, left_at=None)
    return set(rows.values_list("fact", flat=True))


def keys(*facts):
    return {fact.pk for fact in facts}


def test_two_facts_that_cannot_both_be_true(world, traits):
    answer = world.group(traits[0], traits[1])
    told = answer.json()
    group = told["id"]
    assert told == {"id": group, "created": True, "changed": True, "version": 2, "warnings": []}
    assert answer["ETag"] == '"2"'
    assert live(group) == keys(*traits[:2])
    for fact, other in (traits[:2], traits[1::-1]):
        row = world.transcript(fact)[-1]
        assert (row.outcome, row.related_uuid, row.features["group"]) == ("contradict", other.uuid, group)
        assert world.read(fact)["contradiction_group"] == group
        assert world.read(fact)["version"] == 2
    shown = world.read_group(group)
    assert (shown["open"], shown["live_members"], shown["verdict"]) == (True, 2, None)
    assert [row["label"] for row in shown["members"]] == ["carries 0", "carries 1"]


def test_the_same_again_is_the_group_there_is(world, traits):
    group = world.group(*traits[:2]).json()["id"]
    again = world.group(traits[1], traits[0], status=200).json()
    assert (again["id"], again["created"], again["changed"], again["version"]) == (group, False, False, 2)
    assert world.outcomes(traits[0]) == ["add", "contradict", "noop"]
    assert ContradictionGroup.objects.filter(store=world.store).count() == 1


def test_facts_about_different_things_are_pointed_out(world, tern, ferries):
    first, second = (
        world.observe(tern, "is full", world.claim()),
        world.observe(ferries, "is full", world.claim()),
    )
    assert world.group(first, second).json()["warnings"] == ["no_common_subject"]
    world.merge(ferries, tern)
    assert world.group(first, second, status=200).json()["warnings"] == []


def test_a_fact_in_a_group_takes_the_others_into_it(world, traits):
    group = world.group(*traits[:2]).json()["id"]
    grown = world.group(traits[1], traits[2], status=200).json()
    assert (grown["id"], grown["created"], grown["changed"]) == (group, False, True)
    assert live(group) == keys(*traits[:3])
    assert world.outcomes(traits[0]) == ["add", "contradict"]


def test_two_groups_become_one_when_that_is_asked_for(world, traits):
    older = world.group(*traits[:2]).json()["id"]
    younger = world.group(*traits[2:4]).json()["id"]
    before = state(world.store)
    conflict(world.group(traits[1], traits[2], status=409))
    assert state(world.store) == before
    joined = world.group(traits[2], traits[1], traits[4], status=200, join=True).json()
    assert joined["id"] == older
    assert live(older) == keys(*traits[:5])
    assert live(younger) == set()
    ended = world.read_group(younger)
    assert (ended["open"], ended["verdict"]) == (False, "joined")
    # Where they were is kept, for as long as they were there.
    assert {row["left_at"] for row in ended["members"]} == {ended["resolved_at"]}
    assert world.outcomes(traits[3]) == ["add", "contradict", "contradict"]


class TestExtending:
    def test_a_group_by_its_id(self, world, traits):
        made = world.group(*traits[:2]).json()
        tail = f"/contradictions/{made['id']}/members"
        one = {"members": [ref(traits[2])]}
        assert world.post(tail, one, HTTP_IF_MATCH='"1"').status_code == 412
        grown = world.post(tail, one, status=200, HTTP_IF_MATCH='"2"').json()
        assert (grown["id"], grown["version"], grown["changed"]) == (made["id"], 3, True)
        assert live(made["id"]) == keys(*traits[:3])

    def test_the_younger_goes_into_the_older_whichever_is_addressed(self, world, traits):
        older = world.group(*traits[:2]).json()["id"]
        younger = world.group(*traits[2:4]).json()["id"]
        wanted = {"members": [ref(traits[0])]}
        conflict(world.post(f"/contradictions/{younger}/members", wanted))
        answer = world.post(f"/contradictions/{younger}/members", wanted | {"join": True}, status=200)
        assert answer.json()["id"] == older
        assert live(older) == keys(*traits[:4])

    def test_one_that_is_not_there_or_decided(self, world, traits):
        one = {"members": [ref(traits[2])]}
        assert world.post(f"/contradictions/{uuid.uuid4()}/members", one).status_code == 404
        group = world.group(*traits[:2]).json()["id"]
        world.post(f"/contradictions/{group}/resolve", {"verdict": "all_stand"}, status=200)
        conflict(world.post(f"/contradictions/{group}/members", one))
        assert world.read(traits[2])["contradiction_group"] is None


class TestRefusals:
    def test_fewer_than_two(self, world, traits):
        refused(world.group(traits[0], status=400), "/members", "min_length")
        refused(world.group(traits[0], traits[0], status=400), "/members", "min_length")
        refused(world.group(status=400), "/members")

    def test_what_is_not_there(self, world, traits):
        stranger = {"kind": "relation", "id": str(traits[1].uuid)}
        answer = world.post("/contradictions", {"members": [ref(traits[0]), stranger]})
        refused(answer, "/members/1", "unknown")

    def test_what_is_held_no_longer(self, world, traits):
        world.command(traits[1], "retract", {"reason": "a slip"})
        conflict(world.group(*traits[:2], status=409))

    def test_what_is_about_nobody_current(self, world, traits, tern):
        tern.declared = False
        tern.save()
        conflict(world.group(*traits[:2], status=409))


class TestMembersThatLeave:
    def test_a_retracted_fact_leaves_and_the_group_stays_open(self, world, traits):
        group = world.group(*traits[:2]).json()["id"]
        world.command(traits[1], "retract", {"reason": "a slip"})
        shown = world.read_group(group)
        assert (shown["open"], shown["live_members"], shown["version"]) == (True, 1, 3)
        assert world.read(traits[0])["contradiction_group"] == group
        assert world.read(traits[1])["contradiction_group"] is None
        rows = ContradictionMember.objects.filter(group__uuid=group).order_by("fact__number")
        traits[1].refresh_from_db()
        assert [row.left_at for row in rows] == [None, traits[1].invalidated_at]

    def test_and_a_group_of_one_can_be_decided(self, world, traits):
        group = world.group(*traits[:2]).json()["id"]
        world.command(traits[1], "retract", {"reason": "a slip"})
        world.post(
            f"/contradictions/{group}/resolve", {"verdict": "pick", "keep": ref(traits[0])}, status=200
        )
        assert world.read(traits[0])["contradiction_group"] is None


class TestDeciding:
    def test_one_stands(self, world, traits):
        group = world.group(*traits[:3]).json()["id"]
        wanted = {"verdict": "pick", "keep": ref(traits[1])}
        assert world.post(f"/contradictions/{group}/resolve", wanted, HTTP_IF_MATCH='"7"').status_code == 412
        answer = world.post(f"/contradictions/{group}/resolve", wanted, status=200, HTTP_IF_MATCH='"2"')
        assert answer.json()["verdict"] == "pick"
        assert answer["ETag"] == f'"{world.read_group(group)["version"]}"'
        assert live(group) == set()
        for fact in traits[:3]:
            fact.refresh_from_db()
        assert [fact.invalidated_at is None for fact in traits[:3]] == [False, True, False]
        assert [world.outcomes(fact)[-1] for fact in traits[:3]] == ["retracted", "resolved", "retracted"]
        assert world.transcript(traits[0])[-1].related_uuid == traits[1].uuid
        conflict(world.post(f"/contradictions/{group}/resolve", wanted))

    def test_all_stand(self, world, traits):
        group = world.group(*traits[:3]).json()["id"]
        world.post(f"/contradictions/{group}/resolve", {"verdict": "all_stand"}, status=200)
        assert live(group) == set()
        for fact in traits[:3]:
            assert world.read(fact)["validity"]["invalidated_at"] is None
            assert world.outcomes(fact)[-1] == "resolved"
        shown = world.read_group(group)
        assert (shown["open"], shown["verdict"], shown["members_total"]) == (False, "all_stand", 3)
        # And they may be found to disagree again.
        assert world.group(*traits[:2]).json()["id"] != group

    def test_what_is_kept_is_a_member(self, world, traits):
        group = world.group(*traits[:2]).json()["id"]
        wanted = {"verdict": "pick", "keep": ref(traits[2])}
        refused(world.post(f"/contradictions/{group}/resolve", wanted), "/keep", "unknown")
        refused(world.post(f"/contradictions/{group}/resolve", {"verdict": "pick"}), "/keep", "contradiction")
        both = {"verdict": "all_stand", "keep": ref(traits[0])}
        refused(world.post(f"/contradictions/{group}/resolve", both), "/keep", "contradiction")
        assert live(group) == keys(*traits[:2])


def test_lists_and_repeated_requests(world, traits):
    first = world.group(*traits[:2]).json()["id"]
    body = {"members": [ref(fact) for fact in traits[2:4]]}
    second = world.post("/contradictions", body, status=201, HTTP_IDEMPOTENCY_KEY="k").json()
    assert world.post("/contradictions", body, status=201, HTTP_IDEMPOTENCY_KEY="k").json() == second
    world.post(f"/contradictions/{first}/resolve", {"verdict": "all_stand"}, status=200)

    def listed(**query):
        rows = world.api.get(url(world.store, "/contradictions"), query).json()
        return [row["id"] for row in rows["results"]], rows["next_cursor"]

    assert listed() == ([second["id"], first], None)
    assert listed(open="true") == ([second["id"]], None)
    assert listed(open="false") == ([first], None)
    page, cursor = listed(limit=1)
    assert page == [second["id"]]
    assert listed(limit=1, cursor=cursor) == ([first], None)
    assert world.api.get(url(world.store, f"/contradictions/{uuid.uuid4()}")).status_code == 404
