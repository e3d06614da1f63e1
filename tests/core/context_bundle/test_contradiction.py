"""Where a list of co-members goes on (contract, section E)."""

from dataclasses import replace

import pytest

from provenance.context_bundle.core import MalformedCursor, Position, decode
from provenance.context_bundle.core.contradiction import (
    Frame,
    block,
    live,
    members_digest,
    members_position,
    read_members_position,
)
from provenance.context_bundle.core.temporal import Time
from tests.core.context_bundle.builders import (
    NOW,
    SCOPE,
    day,
    entity,
    group,
    observation,
    relation,
    token,
    uuid,
)


def frame(facts, groups=(), scope=SCOPE):
    return Frame(
        scope=scope,
        facts={fact.key: fact for fact in facts},
        groups={each.group_id: each for each in groups},
        entities={number: entity(number) for number in (1, 2)},
        token=token,
    )


def test_the_continuation_goes_on_behind_the_last_of_the_same_viewpoint_and_scope():
    facts, one = group([observation(n, ingested_at=day(n)) for n in range(1, 29)])
    scope = Time(mode="overlap", start=day(1), end=day(90)).scope(NOW)
    shown = block(facts[0], frame(facts, [one], scope))
    position = decode(shown["continuation"].partition(":")[0])
    assert position.of("contradiction_members", members_digest(one.group_id))
    after = read_members_position(position)
    assert (after.scope, after.viewpoint) == (scope, ("observation", 1))
    assert after.after == (day(26), "observation", 26)
    assert [fact.key for fact in facts if (fact.ingested_at, fact.kind, fact.number) > after.after] == [
        ("observation", 27),
        ("observation", 28),
    ]


def test_a_position_of_another_list_is_none():
    mine = members_position(uuid("9", 1), ("observation", 1), observation(2), SCOPE)
    assert read_members_position(mine).viewpoint == ("observation", 1)
    for other in (
        replace(mine, operation="facts_context"),
        replace(mine, last=()),
        replace(mine, last=("observation", 1, 5, "observation")),
        Position(operation="contradiction_members", digest=b"", scope=SCOPE, last=(1, 1, 1, 1, 1)),
    ):
        with pytest.raises(MalformedCursor):
            read_members_position(other)


def test_an_audit_of_a_fact_that_has_ended_counts_all_who_live():
    facts, one = group([observation(1), observation(2), observation(3, invalidated_at=day(9))])
    one = replace(one, members=one.members[:2], total=2)
    whole = frame(facts, [one])
    assert not live(facts[2], whole)
    assert (block(facts[2], whole)["total"], block(facts[0], whole)["total"]) == (2, 1)


def test_members_come_by_ingestion_then_kind_then_number():
    facts, one = group([observation(9), relation(3, ingested_at=day(1)), relation(2), observation(8)])
    shown = block(facts[1], frame(facts, [one]))
    assert [(each["kind"], each["fact_id"]) for each in shown["co_members"]] == [
        ("observation", uuid("0", 8)),
        ("observation", uuid("0", 9)),
        ("relation", uuid("1", 2)),
    ]


def test_a_fact_in_no_group_has_no_block():
    assert block(observation(1), frame([observation(1)])) is None
