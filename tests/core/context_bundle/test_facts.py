"""``facts_context`` (contract, sections C.3, D, E, F, G and N)."""

import json
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from provenance.context_bundle.core import SCHEMA, FactsRequest, FactsSeen, InvalidSeen, decide_facts, decode
from provenance.context_bundle.core.seen import Backing, FactChannel, ScopeEntity
from provenance.context_bundle.core.temporal import Time, Window
from provenance.context_bundle.core.types import InvalidRequest
from tests.contracts.check_envelope import check
from tests.core.context_bundle.builders import (
    FRESH,
    NOW,
    SCOPE,
    claim,
    day,
    document,
    entity,
    group,
    held,
    observation,
    relation,
    uuid,
)
from tests.core.context_bundle.worlds import FactsWorld, facts_worlds, relaxed, stands

is_envelope = jsonschema_rs.validator_for(SCHEMA).validate

ANCHORED = FactsRequest(query="winch", entity_ids=(uuid("e", 1),))


def seen(facts=(), **given):
    """All facts nominated in their order, about entity 1, which is the anchor; 1 to 4 are current."""
    made = FactsSeen(
        scope=SCOPE,
        freshness=FRESH,
        entities_in_scope=(ScopeEntity(number=1),),
        nominations=(FactChannel(name="lexical", keys=tuple(fact.key for fact in facts)),),
        facts=tuple(facts),
        documents=tuple(document(number) for number in range(1, 9)),
        entities=tuple(entity(number) for number in range(1, 5)),
    )
    return replace(made, **given)


def ids(body):
    return [row["fact_id"] for row in body["facts"]]


@relaxed
@given(facts_worlds())
def test_every_answer_holds_to_the_contract(world: FactsWorld):
    body = world.answer()
    is_envelope(body)
    assert check(body) == []
    assert body["grain"] == "fact"
    assert body["freshness"]["pg_live_ts"] == body["temporal_scope"]["evaluated_at"]
    assert body["excluded_unstamped"] == 0
    assert json.dumps(body) == json.dumps(world.answer())
    if not world.seen.anchors_known:
        assert body["negative"]["kind"] == "unknown_entity"
        assert (body["dropped_by_hydration"], body["truncation"]) == (0, None)


@relaxed
@given(facts_worlds())
def test_candidates_are_shown_left_over_or_dropped(world: FactsWorld):
    if not world.seen.anchors_known:
        return
    body, decided = world.answer(), decide_facts(world.request, world.seen)
    nominated = {key for channel in world.seen.nominations for key in channel.keys}
    assert sorted([*(fact.key for fact in decided.confirmed), *decided.rejected]) == sorted(nominated)
    assert body["dropped_by_hydration"] == len(decided.rejected) + len(decided.stale_neighbours)
    assert len(body["facts"]) == min(world.request.k, len(decided.confirmed))
    assert body["truncation"]["estimated_total"] == len(decided.confirmed)
    current = {each.number for each in world.seen.entities}
    in_scope = {each.number for each in world.seen.entities_in_scope}
    for fact in decided.confirmed:
        assert stands(fact, world.seen.scope, current)
        assert world.request.entity_ids is None or in_scope & set(fact.ends)
        assert world.request.predicate in (None, fact.predicate)
    for key, why in decided.rejected.items():
        fact = next((fact for fact in world.seen.facts if fact.key == key), None)
        assert (why == "absent") is (fact is None)
        if why in ("not_believed", "outside_time", "endpoint_gone"):
            assert not stands(fact, world.seen.scope, current)


@relaxed
@given(facts_worlds())
def test_disagreement_is_whole_and_symmetric(world: FactsWorld):
    body = world.answer()
    shown = {(row["kind"], row["fact_id"]): row for row in body["facts"]}
    for identity, row in shown.items():
        block = row["contradiction"]
        if block is None:
            continue
        others = {(each["kind"], each["fact_id"]) for each in block["co_members"]}
        assert identity not in others
        live = {
            (fact.kind, fact.fact_id)
            for fact in world.seen.facts
            if fact.group == block["group_id"]
            and stands(fact, world.seen.scope, {each.number for each in world.seen.entities})
        }
        assert others == live - {identity}
        assert block["total"] == len(live) - 1
        for other in others & shown.keys():
            back = shown[other]["contradiction"]["co_members"]
            assert identity in {(each["kind"], each["fact_id"]) for each in back}


@relaxed
@given(facts_worlds())
def test_evidence_never_dangles_and_totals_are_exact(world: FactsWorld):
    body = world.answer()
    facts = {(fact.kind, fact.fact_id): fact for fact in world.seen.facts}
    assert len(body["evidence_totals"]) == 2 * len(body["facts"])
    assert len(body["fact_evidence"]) <= 60
    claims = {row["claim_id"] for row in body["evidence"]}
    assert claims == {row["claim_id"] for row in body["fact_evidence"]}
    assert [row["claim_id"] for row in body["evidence"]] == list(
        dict.fromkeys(row["claim_id"] for row in body["fact_evidence"])
    )
    assert all(row["is_current_testimony"] for row in body["evidence"])
    assert all(
        (row["corroboration_count"], row["grouped_claim_ids"]) == (None, []) for row in body["evidence"]
    )
    taken = Counter((row["fact_kind"], row["fact_id"], row["stance"]) for row in body["fact_evidence"])
    for row in body["evidence_totals"]:
        fact = facts[row["fact_kind"], row["fact_id"]]
        total = fact.supports if row["stance"] == "supports" else fact.contradicts
        assert row["total"] == total
        assert row["returned"] == taken[row["fact_kind"], row["fact_id"], row["stance"]]
        # With room for all, each gives what it has.
        assert row["returned"] == min(total, world.request.evidence_per_fact)


@relaxed
@given(facts_worlds())
def test_pages_put_together_are_the_whole(world: FactsWorld):
    wide = replace(world, request=replace(world.request, k=30)).answer()
    position, shown, totals = None, [], []
    for _ in range(20):
        body = replace(world, request=replace(world.request, continuation=position)).answer()
        assert check(body) == []
        shown += [(row["kind"], row["fact_id"]) for row in body["facts"]]
        cut = body["truncation"]
        totals.append(0 if cut is None else cut["estimated_total"])
        if cut is None or cut["continuation"] is None:
            break
        position = decode(cut["continuation"].partition(":")[0])
    assert shown == [(row["kind"], row["fact_id"]) for row in wide["facts"]]
    k = world.request.k
    assert totals == [totals[0] - k * place for place in range(len(totals))], (
        "each page counts from its cursor on"
    )


@relaxed
@given(facts_worlds(), st.randoms())
def test_the_order_rows_were_read_in_does_not_matter(world: FactsWorld, random):
    mixed = {
        name: tuple(random.sample(rows, len(rows)))
        for name in ("facts", "groups", "backing", "claims", "documents", "entities")
        for rows in (getattr(world.seen, name),)
    }
    assert replace(world, seen=replace(world.seen, **mixed)).answer() == world.answer()


def test_a_relation_and_an_observation_that_share_an_id_stay_apart():
    facts = [relation(1, fact_id=uuid("7", 1), supports=1), observation(2, fact_id=uuid("7", 1), supports=2)]
    claims = [claim(number, document=number) for number in (1, 2, 3)]
    backing = tuple(
        Backing(fact=fact, claim=number, stance="supports") for fact, number in ((1, 1), (2, 2), (2, 3))
    )
    body = held(ANCHORED, seen(facts, claims=tuple(claims), backing=backing))
    assert check(body) == []
    totals = {(row["fact_kind"], row["stance"]): row["total"] for row in body["evidence_totals"]}
    assert totals == {
        ("relation", "supports"): 1,
        ("relation", "contradicts"): 0,
        ("observation", "supports"): 2,
        ("observation", "contradicts"): 0,
    }


def test_two_sides_that_share_an_id_name_each_other():
    facts, one = group([relation(1, fact_id=uuid("7", 1)), observation(2, fact_id=uuid("7", 1))])
    body = held(ANCHORED, seen(facts, groups=(one,)))
    sides = [
        (row["kind"], [each["kind"] for each in row["contradiction"]["co_members"]]) for row in body["facts"]
    ]
    assert sides == [("relation", ["observation"]), ("observation", ["relation"])]
    assert all(row["contradiction"]["total"] == 1 for row in body["facts"])


@pytest.mark.parametrize("size", [1, 2, 25, 26, 27, 28, 60])
def test_a_block_lists_25_others_and_says_where_it_goes_on(size):
    facts, one = group([observation(n, ingested_at=day(n)) for n in range(1, size + 1)])
    for k in (1, 30):
        body = held(replace(ANCHORED, k=k), seen(facts, groups=(one,)))
        assert check(body) == []
        for row in body["facts"]:
            block = row["contradiction"]
            assert (block["returned"], block["total"]) == (min(25, size - 1), size - 1)
            assert (block["continuation"] is not None) is (size > 26)
            listed = [each["fact_id"] for each in block["co_members"]]
            assert listed == [fact.fact_id for fact in facts if fact.fact_id != row["fact_id"]][:25]


def test_members_that_are_not_alive_are_neither_listed_nor_counted():
    facts, one = group(
        [
            observation(1),
            observation(2, invalidated_at=day(3)),
            observation(3, window=Window(valid_until=day(1), precision="day")),
            observation(4, subject=9),
            observation(5, window=Window()),
        ]
    )
    body = held(ANCHORED, seen(facts, groups=(one,)))
    (first, last) = body["facts"]
    assert (first["contradiction"]["total"], last["contradiction"]["total"]) == (1, 1)
    assert [each["fact_id"] for each in first["contradiction"]["co_members"]] == [uuid("0", 5)]
    assert body["dropped_by_hydration"] == 3


def test_a_group_of_which_too_few_were_read_is_refused():
    facts, one = group([observation(n) for n in range(1, 4)])
    with pytest.raises(InvalidSeen):
        held(
            ANCHORED,
            seen(facts, groups=(replace(one, total=9),)),
        )


def test_more_anchors_come_before_a_better_rank():
    request = FactsRequest(query="winch", entity_ids=(uuid("e", 1), uuid("e", 2)), k=1)
    anchors = (ScopeEntity(number=1), ScopeEntity(number=2))
    body = held(request, seen([observation(1), relation(2)], entities_in_scope=anchors))
    assert ids(body) == [uuid("1", 2)]
    assert body["facts"][0]["label"] == "Entity 1 works for Entity 2"


def test_labels_read_as_sentences():
    facts = [relation(1, predicate="other:moored_at"), observation(2)]
    labels = [row["label"] for row in held(ANCHORED, seen(facts))["facts"]]
    assert sorted(labels) == ["Entity 1 moored at Entity 2", "Statement 2"]


def test_neighbours_are_shown_and_stale_ones_counted():
    scope = (
        ScopeEntity(number=1),
        ScopeEntity(number=3, hops=2),
        ScopeEntity(number=2, hops=1),
        ScopeEntity(number=9, hops=1),
    )
    body = held(ANCHORED, seen([observation(1)], entities_in_scope=scope))
    assert [(row["name"], row["hops"]) for row in body["nodes"]] == [("Entity 2", 1), ("Entity 3", 2)]
    assert body["dropped_by_hydration"] == 1
    cut = body["truncation"]
    assert (cut["returned"], cut["estimated_total"]) == (1, 1), "nodes are not counted"


def test_a_predicate_leaves_observations_and_other_relations_out():
    request = replace(ANCHORED, predicate="works_for")
    facts = [observation(1), relation(2), relation(3, predicate="uses")]
    assert decide_facts(request, seen(facts)).rejected == {
        ("observation", 1): "other_predicate",
        ("relation", 3): "other_predicate",
    }


def test_withdrawn_facts_stay_with_totals_of_zero():
    body = held(ANCHORED, seen([observation(1, withdrawn=True, supports=0)]))
    assert [row["support"] for row in body["facts"]] == ["withdrawn"]
    assert [row["total"] for row in body["evidence_totals"]] == [0, 0]
    assert (
        held(ANCHORED, seen([observation(1, withdrawn=True, supports=1)]))["facts"][0]["support"] == "current"
    )


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({}, None),
        (
            {"nominations": (FactChannel(name="lexical", keys=(("observation", 77),), exhausted=True),)},
            "candidate_budget",
        ),
        ({"expansion_capped": True}, "expansion_budget"),
    ],
)
def test_nothing_confirmed_is_absence_only_after_a_complete_search(given, reason):
    body = held(ANCHORED, seen(**given))
    assert check(body) == []
    assert body["truncation"]["reason"] == reason
    assert body["negative"]["kind"] == ("boundary" if reason else "known_empty")


def test_a_depth_that_overflowed_leaves_the_total_open():
    facts = [observation(number) for number in range(1, 202)]
    body = held(ANCHORED, seen(facts))
    assert (body["truncation"]["total_is_exact"], body["truncation"]["reason"]) == (False, "candidate_budget")
    body = held(ANCHORED, seen(facts[:200]))
    assert (body["truncation"]["total_is_exact"], body["truncation"]["reason"]) == (True, "result_budget")
    assert body["truncation"]["estimated_total"] == 200


def test_five_pages_give_five_facts_once_each():
    facts = [observation(number) for number in (3, 1, 5, 2, 4)]
    request, shown = replace(ANCHORED, k=1), []
    for place in range(5):
        body = held(request, seen(facts))
        shown += ids(body)
        assert body["truncation"]["estimated_total"] == 5 - place
        if continuation := body["truncation"]["continuation"]:
            request = replace(request, continuation=decode(continuation.partition(":")[0]))
    assert shown == [fact.fact_id for fact in facts]
    assert body["truncation"]["truncated"] is False


def test_a_later_page_keeps_its_instant_and_counts_what_was_lost_meanwhile():
    facts = [observation(number) for number in range(1, 5)]
    first = held(replace(ANCHORED, k=2), seen(facts))
    position = decode(first["truncation"]["continuation"].partition(":")[0])
    assert position.returned == ((1, 2),)
    late = NOW + timedelta(seconds=5)
    facts[0] = replace(facts[0], invalidated_at=late)
    facts[2] = replace(facts[2], invalidated_at=late)
    facts.append(observation(5, ingested_at=late))
    later = held(
        replace(ANCHORED, k=2, continuation=position),
        seen(facts, freshness=replace(FRESH, pg_live_ts=late)),
    )
    assert ids(later) == [uuid("0", 4)]
    assert later["dropped_by_hydration"] == 2, (
        "the third, lost, and the fifth, not believed then; not the first"
    )
    assert later["temporal_scope"] == first["temporal_scope"]
    assert later["truncation"]["estimated_total"] == 1
    gone = [replace(fact, invalidated_at=late) for fact in facts]
    last = held(replace(ANCHORED, k=2, continuation=position), seen(gone))
    assert (last["facts"], last["negative"]) == ([], None), "earlier pages showed what there was"


def test_a_later_page_is_read_in_the_scope_of_the_first():
    first = held(replace(ANCHORED, k=1), seen([observation(1), observation(2)]))
    position = decode(first["truncation"]["continuation"].partition(":")[0])
    later = replace(ANCHORED, k=1, continuation=position)
    with pytest.raises(InvalidSeen):
        held(later, seen([observation(2)], scope=Time(mode="history").scope(NOW)))


def test_evidence_that_contradicts_its_count_is_refused():
    backing = (Backing(fact=1, claim=1, stance="contradicts"),)
    with pytest.raises(InvalidSeen):
        held(ANCHORED, seen([observation(1)], claims=(claim(1),), backing=backing))


def test_rows_that_contradict_themselves_cannot_be_built():
    for broken in (
        lambda: relation(1, object=None),
        lambda: relation(1, predicate=""),
        lambda: observation(1, object=2),
        lambda: observation(1, statement=None),
        lambda: seen([observation(1), observation(1)]),
        lambda: seen([observation(1), observation(2, fact_id=uuid("0", 1))]),
        lambda: replace(group([observation(1)])[1], total=0),
    ):
        with pytest.raises(InvalidSeen):
            broken()


@pytest.mark.parametrize(
    "broken",
    [
        {"entity_ids": tuple(uuid("e", n) for n in range(20))},
        {"k": 0},
        {"k": 31},
        {"k": "3"},
        {"evidence_per_fact": 0},
        {"evidence_per_fact": 6},
        {"hops": 0},
        {"hops": 3},
        {"predicate": ""},
        {"predicate": "x" * 201},
    ],
)
def test_a_request_outside_its_bounds_cannot_be_built(broken):
    with pytest.raises(InvalidRequest):
        FactsRequest(**{"query": "winch", **broken})
