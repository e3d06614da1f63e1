"""Rankings fused, testimony grouped, evidence shared out (contract, sections C.2 and C.3)."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provenance.context_bundle.core.fusion import (
    STANCES,
    by_coverage,
    group_claims,
    ranking,
    rrf,
    share_evidence,
    statement_key,
)
from provenance.context_bundle.core.seen import Backing
from tests.core.context_bundle.builders import claim, day, uuid
from tests.core.context_bundle.worlds import claims_of, numbered_claim, relaxed

rankings = st.lists(st.lists(st.integers(1, 12), max_size=12), max_size=4)


def score(key: int, channels: list[list[int]]) -> Fraction:
    return sum((Fraction(1, 61 + channel.index(key)) for channel in channels if key in channel), Fraction(0))


@given(rankings)
def test_fusion_orders_by_the_exact_sum_and_ties_by_key(channels):
    fused = [each.key for each in rrf(channels)]
    keys = {key for channel in channels for key in channel}
    assert fused == sorted(keys, key=lambda key: (-score(key, channels), key))


@given(rankings)
def test_the_order_of_channels_does_not_matter(channels):
    wanted = [each.key for each in rrf(channels)]
    for order in permutations(channels):
        assert [each.key for each in rrf(order)] == wanted


@given(st.lists(st.integers(1, 30), unique=True), st.integers(1, 3))
def test_channels_that_agree_change_nothing(channel, times):
    assert [each.key for each in rrf([channel] * times)] == channel


@given(rankings, st.integers(0, 11), st.data())
def test_coming_sooner_in_one_channel_never_costs_a_place(channels, place, data):
    channels = [list(dict.fromkeys(channel)) for channel in channels]
    if not any(len(channel) > 1 for channel in channels):
        return
    chosen = data.draw(st.sampled_from([n for n, channel in enumerate(channels) if len(channel) > 1]))
    channel = channels[chosen]
    place = 1 + place % (len(channel) - 1)
    risen = [*channel[: place - 1], channel[place], channel[place - 1], *channel[place + 1 :]]
    before = [each.key for each in rrf(channels)]
    behind = [each.key for each in rrf([*channels[:chosen], risen, *channels[chosen + 1 :]])]
    assert behind.index(channel[place]) <= before.index(channel[place])


def test_a_key_named_twice_counts_once_at_its_best_place():
    (once,) = [each for each in rrf([[1, 2, 1], [2]]) if each.key == 1]
    assert once.ranks == (1, None)
    assert rrf([[7, 7, 8]])[1].ranks == (3,)


def test_a_ranking_is_written_with_the_places_as_signals():
    one, two = uuid("a", 1), uuid("a", 2)
    rows = ranking([[two, one], [one, two]])
    assert [row["item_id"] for row in rows] == [one, two]
    assert rows[0]["signals"] == {"channel_0": 2, "channel_1": 1}
    assert rows[0]["score"] == rows[1]["score"] == 1 / 62 + 1 / 61


@given(st.lists(st.integers(1, 20), unique=True), st.data())
def test_coverage_goes_first_and_keeps_the_order_otherwise(keys, data):
    coverage = {key: data.draw(st.integers(0, 3)) for key in keys}
    ordered = by_coverage(keys, coverage)
    assert ordered == [key for wanted in (3, 2, 1, 0) for key in keys if coverage[key] == wanted]


def test_what_makes_two_statements_the_same():
    same = ("The winch sticks.", "  the\tWINCH  sticks", "“The winch sticks!”", "THE WINCH STICKS")
    assert {statement_key(each) for each in same} == {"the winch sticks"}
    assert statement_key("ﬁre at Straße 4") == statement_key("FIRE AT STRASSE 4")
    assert statement_key("−4 °C") != statement_key("4 °C"), "a sign is no punctuation"
    assert statement_key("a.b") == "a.b"
    assert statement_key("?!") == "?!" != statement_key("…")
    assert statement_key("“why” she said") == "why” she said"


@relaxed
@given(st.lists(claims_of, max_size=12))
def test_groups_part_the_claims_and_hold_only_what_is_alike(drawn):
    claims = [numbered_claim(row, n) for n, row in enumerate(drawn, start=1)]
    groups = group_claims(claims)
    assert sorted(row.number for group in groups for row in group.claims) == [row.number for row in claims]
    assert [group.representative.number for group in groups] == sorted(
        min(row.number for row in group.claims) for group in groups
    )
    alike = [
        {
            (
                statement_key(row.claim_text.text), row.asserted_at, row.valid_from, row.valid_until,
                row.valid_precision, row.valid_kind, row.is_attributed, row.is_current,
            )
            for row in group.claims
        }
        for group in groups
    ]  # fmt: skip
    assert all(len(each) == 1 for each in alike)
    assert len(set().union(*alike)) == len(groups)
    for group in groups:
        assert group.corroboration_count == len({row.document for row in group.claims})


@pytest.mark.parametrize(
    "change",
    [
        {"valid_kind": "measurement_period"},
        {"valid_from": day(0)},
        {"valid_until": day(3)},
        {"valid_precision": "month"},
        {"asserted_at": day(1)},
        {"is_attributed": True},
        {"is_current": False},
    ],
)
def test_each_part_of_what_a_claim_is_parts_it_from_others(change):
    window = {
        "valid_from": day(1),
        "valid_until": day(2),
        "valid_precision": "day",
        "valid_kind": "event_time",
    }
    one, two = claim(1, says="Dry.", **window), claim(2, says="Dry.", document=2, **window)
    assert [group.corroboration_count for group in group_claims([one, two])] == [2]
    assert len(group_claims([one, replace(two, **change)])) == 2


def shared(links, claims, facts, per_fact, **bounds):
    rows = {row.number: row for row in claims}
    return share_evidence(facts, links, rows, per_fact=per_fact, **bounds)


@st.composite
def backings(draw):
    claims = [numbered_claim(row, n) for n, row in enumerate(draw(st.lists(claims_of, max_size=14)), start=1)]
    facts = draw(st.lists(st.integers(1, 6), unique=True, max_size=6))
    links = [
        Backing(fact=fact, claim=row.number, stance=draw(st.sampled_from(STANCES)))
        for fact in facts
        for row in claims
        if draw(st.booleans())
    ]
    return facts, draw(st.permutations(links)), claims


@relaxed
@given(backings(), st.integers(1, 5), st.integers(0, 12))
def test_evidence_is_shared_round_robin(world, per_fact, budget):
    facts, links, claims = world
    chosen = shared(links, claims, facts, per_fact, budget=budget)
    every = shared(links, claims, facts, per_fact)
    assert chosen == every[:budget], "the budget only shortens"
    assert chosen == shared(sorted(links, key=repr), claims, facts, per_fact, budget=budget)
    rows = {row.number: row for row in claims}
    taken = Counter((each.fact, each.stance) for each in chosen)
    offered = Counter()
    for fact, stance in {(link.fact, link.stance) for link in links}:
        lineages = {
            rows[each.claim].document
            for each in links
            if (each.fact, each.stance) == (fact, stance) and rows[each.claim].is_current
        }
        offered[fact, stance] = min(per_fact, len(lineages))
    # Nobody gets another round while somebody who has more waits for this one.
    for one in offered:
        for two in offered:
            if taken[two] < offered[two]:
                assert taken[one] <= taken[two] + 1
    assert sum(taken.values()) == min(budget, sum(offered.values()))
    assert all(rows[each.claim].is_current for each in chosen)


@relaxed
@given(backings())
def test_the_latest_claim_of_a_lineage_stands_for_it(world):
    facts, links, claims = world
    rows = {row.number: row for row in claims}
    for each in shared(links, claims, facts, per_fact=5):
        chosen = rows[each.claim]
        rivals = [
            rows[link.claim]
            for link in links
            if (link.fact, link.stance) == (each.fact, each.stance)
            and rows[link.claim].document == chosen.document
            and rows[link.claim].is_current
        ]
        dated = [row.asserted_at for row in rivals if row.asserted_at]
        assert chosen.asserted_at == (max(dated) if dated else None)
        assert chosen.number == min(row.number for row in rivals if row.asserted_at == chosen.asserted_at)


def test_lineages_come_latest_assertion_first_and_undated_last():
    claims = [
        claim(1, document=1),
        claim(2, document=2, asserted_at=day(1)),
        claim(3, document=3, asserted_at=day(2)),
        claim(4, document=4, asserted_at=day(2)),
        claim(5, document=5, asserted_at=day(9), is_current=False),
    ]
    links = [Backing(fact=8, claim=row.number, stance="supports") for row in claims]
    assert [each.claim for each in shared(links, claims, [8], 5)] == [3, 4, 2, 1]
    # A microsecond decides, however far away.
    far = claim(1, document=1, asserted_at=day(0).replace(year=9998, microsecond=1))
    farther = replace(far, number=2, document=2, asserted_at=day(0).replace(year=9998, microsecond=2))
    assert [each.claim for each in shared(links[:2], [far, farther], [8], 5)] == [2, 1]


def test_one_rich_fact_does_not_starve_the_others():
    claims = [claim(number, document=number) for number in range(1, 6)]
    links = [
        Backing(fact=fact, claim=row.number, stance="supports") for fact in range(1, 31) for row in claims
    ]
    chosen = shared(links, claims, list(range(1, 31)), 5)
    assert len(chosen) == 60
    assert set(Counter(each.fact for each in chosen).values()) == {2}
