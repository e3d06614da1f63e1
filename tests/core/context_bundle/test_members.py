"""``contradiction_members`` decided from rows (contract, section E)."""

from dataclasses import replace

import pytest

from provenance.context_bundle.core import (
    FactsSeen,
    InvalidSeen,
    MembersRequest,
    contradiction_members,
    decode,
)
from provenance.context_bundle.core.contradiction import members_position, read_members_position
from provenance.context_bundle.core.members import decide_members
from provenance.context_bundle.core.seen import FactChannel
from provenance.context_bundle.core.temporal import Time
from tests.core.context_bundle.builders import (
    FRESH,
    NOW,
    SCOPE,
    day,
    entity,
    group,
    observation,
    relation,
    token,
)


def seen_of(facts, one, *, exhausted=False, scope=SCOPE):
    channel = FactChannel(name="members", keys=tuple(fact.key for fact in facts), exhausted=exhausted)
    return FactsSeen(
        scope=scope,
        freshness=FRESH,
        nominations=(channel,),
        facts=tuple(facts),
        groups=(one,),
        entities=(entity(1), entity(2)),
    )


def numbers(body):
    return [int(fact["fact_id"][-12:]) for fact in body["facts"]]


@pytest.fixture
def sides():
    made = [observation(n, ingested_at=day(n)) for n in range(1, 41)]
    return group([*made[:30], relation(99, ingested_at=day(30)), *made[30:]])


def test_pages_go_on_behind_the_last_and_never_show_the_viewpoint(sides):
    facts, one = sides
    mark = members_position(one.group_id, ("observation", 3), facts[1], SCOPE)
    asked = MembersRequest(group_id=one.group_id, continuation=mark)
    page = contradiction_members(asked, seen_of(facts, one), token)
    assert numbers(page) == list(range(4, 29))
    position = decode(page["truncation"]["continuation"].partition(":")[0])
    assert position.of(asked.operation, asked.digest())
    assert read_members_position(position).viewpoint == ("observation", 3)
    last = contradiction_members(replace(asked, continuation=position), seen_of(facts, one), token)
    assert numbers(last) == [29, 30, 99, *range(31, 41)]
    assert (last["truncation"]["truncated"], last["truncation"]["estimated_total"]) == (False, 13)


def test_who_is_out_is_told_with_its_reason(sides):
    facts, one = sides
    mark = members_position(one.group_id, ("observation", 1), facts[29], SCOPE)
    asked = MembersRequest(group_id=one.group_id, continuation=mark)
    rest = [
        replace(facts[30], invalidated_at=day(90)),
        replace(facts[31], group=None),
        replace(facts[32], subject=7),
        facts[33],
    ]
    seen = seen_of([*facts[:30], *rest], one)
    (channel,) = seen.nominations
    seen = replace(seen, nominations=(replace(channel, keys=(*channel.keys, ("relation", 500))),))
    decided = decide_members(asked, seen)
    assert [fact.key for fact in decided.confirmed] == [facts[33].key]
    assert decided.rejected == {
        facts[30].key: "not_believed",
        facts[31].key: "left_group",
        facts[32].key: "endpoint_gone",
        ("relation", 500): "absent",
    }


def test_nobody_is_absence_only_where_all_were_looked_at(sides):
    facts, one = sides
    asked = MembersRequest(group_id=one.group_id)
    gone = [replace(fact, group=None) for fact in facts]
    for exhausted, kind in ((False, "known_empty"), (True, "boundary")):
        page = contradiction_members(asked, seen_of(gone, one, exhausted=exhausted), token)
        assert (page["negative"]["kind"], page["dropped_by_hydration"]) == (kind, 41)


def test_a_page_is_read_in_the_scope_of_the_first(sides):
    facts, one = sides
    history = Time(mode="history").scope(NOW)
    mark = members_position(one.group_id, ("observation", 1), facts[29], history)
    with pytest.raises(InvalidSeen):
        decide_members(MembersRequest(group_id=one.group_id, continuation=mark), seen_of(facts, one))
