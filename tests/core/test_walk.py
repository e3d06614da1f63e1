"""What the relation walk reaches, and what it adds (contract, section F)."""

import pytest

from reconstruct.core import Snapshot
from reconstruct.core.bundle import bundle
from reconstruct.core.types import EntityRecords, EntityRelation, Graph, Mention, Pool, Ref, Row
from reconstruct.core.walk import Reach, gather, reach
from tests.core.builders import (
    ask,
    claim_of,
    claimed,
    episode,
    heads,
    held,
    linked,
    mentions,
    record,
    related,
    snapshot,
)

PIER, CREW, OFFICE, COUNCIL = 1, 2, 3, 4
CHAIN = (
    linked(1, PIER, "run_by", CREW, "2026-02-01"),
    linked(2, CREW, "belongs_to", OFFICE, "2026-02-02"),
    linked(3, OFFICE, "answers_to", COUNCIL, "2026-02-03"),
)


def walk(max_hops: int, *relations: EntityRelation, starts: tuple[int, ...] = (PIER,)) -> Reach:
    """The reach of one lone candidate that mentions ``starts``."""
    graph = Graph(mentions=mentions(mem_1=starts), relations=relations)
    [found] = reach(bundle(Pool(rows=(record(1),)), 60), graph, max_hops)
    return found


def hops(found: Reach) -> dict[int, int]:
    return {each.entity: each.hops for each in found.entities}


def harbour_walk(*rows: Row, records: tuple[EntityRecords, ...] = ()) -> Snapshot:
    """mem:1 mentions the pier; crew, office and council hang behind it in a chain."""
    return snapshot(*rows, graph=Graph(mentions=mentions(mem_1=(PIER,)), relations=CHAIN), records=records)


def test_relations_are_followed_up_to_max_hops() -> None:
    assert [hops(walk(limit, *CHAIN)) for limit in (0, 1, 2, 3, 5)] == [
        {},
        {CREW: 1},
        {CREW: 1, OFFICE: 2},
        {CREW: 1, OFFICE: 2, COUNCIL: 3},
        {CREW: 1, OFFICE: 2, COUNCIL: 3},
    ]


def test_relations_are_followed_in_either_direction() -> None:
    assert hops(walk(1, linked(1, CREW, "runs", PIER))) == {CREW: 1}


def test_what_lies_beyond_max_hops_is_unfollowed_and_its_absence_is_not() -> None:
    assert [walk(limit, *CHAIN).unfollowed for limit in (0, 1, 2, 3, 5)] == [True, True, True, False, False]


def test_without_hops_every_relation_of_a_mentioned_entity_is_unfollowed() -> None:
    assert walk(0, linked(1, OFFICE, "answers_to", PIER)).unfollowed
    assert not walk(0, linked(1, OFFICE, "answers_to", COUNCIL)).unfollowed


def test_a_relation_between_two_mentioned_entities_leads_nowhere_new() -> None:
    for limit in (0, 1):
        assert walk(limit, linked(1, PIER, "near", CREW), starts=(PIER, CREW)) == Reach()


def test_a_self_relation_is_ignored() -> None:
    assert walk(0, linked(1, PIER, "knows", PIER)) == Reach()


def test_cycles_end_and_the_shortest_way_counts() -> None:
    ring = (*CHAIN, linked(4, COUNCIL, "owns", PIER, "2020-01-01"))
    assert hops(walk(5, *ring)) == {CREW: 1, COUNCIL: 1, OFFICE: 2}


def test_the_most_recent_relation_of_the_shortest_hop_names_the_reason() -> None:
    old = linked(1, PIER, "once_run_by", CREW, "2026-01-01")
    new = linked(2, CREW, "runs", PIER, "2026-03-01")
    newest_but_farther = linked(3, OFFICE, "owns", CREW, "2026-09-01")
    aside = linked(4, PIER, "near", OFFICE, "2025-01-01")
    found = walk(2, old, new, newest_but_farther, aside)
    assert {each.entity: each.relation.predicate for each in found.entities} == {CREW: "runs", OFFICE: "near"}


def test_the_most_recent_reason_counts_whichever_start_it_leaves_from() -> None:
    old = linked(1, PIER, "once_run_by", CREW, "2026-01-01")
    new = linked(2, OFFICE, "employs", CREW, "2026-03-01")
    for starts in ((PIER, OFFICE), (OFFICE, PIER)):
        [found] = walk(1, old, new, starts=starts).entities
        assert found.relation.predicate == "employs"


def test_relations_declared_at_one_instant_go_by_lower_number() -> None:
    first, second = linked(1, PIER, "first", CREW), linked(2, PIER, "second", CREW)
    assert [each.relation.predicate for each in walk(1, second, first).entities] == ["first"]


def test_a_triple_declared_under_two_anchors_counts_as_recent_as_its_newer_one() -> None:
    rope = linked(1, PIER, "supplies", OFFICE, "2026-02-01")
    twice = (linked(2, PIER, "run_by", CREW, "2026-01-01"), linked(3, PIER, "run_by", CREW, "2026-03-01"))
    assert [each.entity for each in walk(1, rope, *twice).entities] == [CREW, OFFICE]


def test_every_candidate_of_a_cluster_is_a_start_even_one_the_bound_cuts() -> None:
    rows = (record(1), record(5))
    given = snapshot(
        *rows,
        relations=(related("mem:1", "near", "mem:5"),),
        graph=Graph(mentions=mentions(mem_5=(PIER,)), relations=CHAIN[:1]),
        records=(held(CREW, record(7)),),
    )
    assert claimed(ask(given, max_evidence=1)) == ["mem:1"]
    assert ask(given, max_evidence=1)["items"][0]["claims_omitted"] == 2


def test_a_walked_row_says_which_relation_reached_it_and_how_far() -> None:
    body = ask(harbour_walk(record(1), records=(held(CREW, record(2)), held(OFFICE, record(3)))))
    assert claim_of(body, "mem:2") == {"ref": "mem:2", "as_of": "", "why": "relation:run_by", "hops": 1}
    assert claim_of(body, "mem:3") == {"ref": "mem:3", "as_of": "", "why": "relation:belongs_to", "hops": 2}
    assert body["items"][0]["independence_reason"] == "singleton"


def test_a_row_that_shares_the_candidates_own_entity_is_not_evidence() -> None:
    assert claimed(ask(harbour_walk(record(1), records=(held(PIER, record(2)),)))) == ["mem:1"]


def test_walked_rows_stand_by_hops_then_recency_then_number() -> None:
    rope = 9
    relations = (
        linked(1, PIER, "supplies", rope, "2026-01-01"),
        linked(2, PIER, "run_by", CREW, "2026-03-01"),
        linked(3, CREW, "belongs_to", OFFICE, "2026-05-01"),
    )
    given = snapshot(
        record(1),
        graph=Graph(mentions=mentions(mem_1=(PIER,)), relations=relations),
        records=(held(rope, record(2)), held(CREW, record(4), record(3)), held(OFFICE, record(5))),
    )
    body = ask(given, max_evidence=4)
    assert [excerpt["ref"] for excerpt in body["items"][0]["excerpts"]] == ["mem:3", "mem:4", "mem:2"]
    assert body["items"][0]["claims_omitted"] == 1
    assert body["bounds"]["omitted"] == ["max_evidence"]


def test_a_row_reached_twice_takes_its_best_way() -> None:
    given = harbour_walk(record(1), records=(held(OFFICE, record(3)), held(CREW, record(3))))
    assert claim_of(ask(given), "mem:3")["hops"] == 1


def test_at_one_number_the_episode_is_read_before_the_record() -> None:
    rows = (record(5), episode(5, "", ""), record(4))
    given = harbour_walk(record(1), records=(held(CREW, *rows),))
    excerpts = ask(given, max_evidence=3)["items"][0]["excerpts"]
    assert [each["ref"] for each in excerpts] == ["mem:4", "ep:5"]


def test_a_candidate_stays_where_retrieval_put_it() -> None:
    given = harbour_walk(record(1), record(2), records=(held(CREW, record(2)),))
    body = ask(given, count=2)
    assert heads(body) == ["mem:1", "mem:2"]
    assert claim_of(body, "mem:2")["why"] == "seed"


def test_even_a_candidate_beyond_the_count_is_not_walked_to() -> None:
    given = harbour_walk(record(1), record(2), records=(held(CREW, record(2)),))
    assert claimed(ask(given, count=1)) == ["mem:1"]


def test_a_row_two_items_reach_belongs_to_the_earlier_one() -> None:
    given = snapshot(
        record(1),
        record(2),
        graph=Graph(
            mentions=mentions(mem_1=(PIER,), mem_2=(CREW,)),
            relations=(linked(1, PIER, "answers_to", OFFICE), linked(2, CREW, "answers_to", OFFICE)),
        ),
        records=(held(OFFICE, record(3)),),
    )
    body = ask(given, count=2, max_hops=1)
    assert [sorted(claimed(body, item)) for item in (0, 1)] == [["mem:1", "mem:3"], ["mem:2"]]


def test_what_an_earlier_item_cut_is_still_not_added_to_a_later_one() -> None:
    given = snapshot(
        record(1),
        record(2),
        graph=Graph(mentions=mentions(mem_1=(PIER,), mem_2=(PIER,)), relations=CHAIN[:1]),
        records=(held(CREW, record(3)),),
    )
    body = ask(given, count=2, max_evidence=1)
    assert body["items"][0]["claims_omitted"] == 1
    assert "claims_omitted" not in body["items"][1]


def test_a_walked_row_is_never_an_item() -> None:
    body = ask(harbour_walk(record(1), records=(held(CREW, record(2)),)), count=5)
    assert heads(body) == ["mem:1"]
    assert body["shortfall_reason"] == "exhausted_candidates"


@pytest.mark.parametrize(("more", "expected"), [(False, None), (True, ["max_evidence"])])
def test_more_rows_than_were_read_is_reached_and_exactly_as_many_is_not(
    more: bool, expected: list[str] | None
) -> None:
    given = harbour_walk(record(1), records=(held(CREW, record(2), record(3), more=more),))
    body = ask(given, max_evidence=2, max_hops=1)
    assert body["bounds"].get("reached") == expected
    # The row known only to exist is not counted as omitted.
    assert body["items"][0]["claims_omitted"] == 1


def test_one_entity_with_more_rows_is_enough_to_reach_the_bound() -> None:
    given = harbour_walk(record(1), records=(held(CREW, record(2), more=True), held(OFFICE, record(3))))
    assert ask(given)["bounds"]["reached"] == ["max_evidence"]


def test_given_more_rows_than_the_bound_the_core_reads_the_lowest_numbers_only() -> None:
    entry = held(CREW, record(9), record(7), record(8), record(1))
    [found] = gather((walk(1, *CHAIN),), (entry,), [Ref("mem", 1)], 2)
    assert [str(walked.row.ref) for walked in found.rows] == ["mem:7", "mem:8"]
    assert found.bound_met


def test_an_entity_with_no_readable_row_adds_nothing() -> None:
    assert claimed(ask(harbour_walk(record(1)))) == ["mem:1"]


def test_nothing_declared_is_nothing_walked() -> None:
    assert reach((), Graph(), 5) == ()
    assert walk(5, starts=()) == Reach()


def test_unfollowed_relations_are_told_for_returned_items_only() -> None:
    graph = Graph(mentions=(Mention(ref=Ref("mem", 2), entity=PIER),), relations=CHAIN)
    given = snapshot(record(1), record(2), graph=graph)
    assert "bounds" not in ask(given, count=1, max_hops=0)
    assert ask(given, count=2, max_hops=0)["bounds"]["omitted"] == ["max_hops"]


def test_what_the_walk_adds_to_an_item_does_not_depend_on_count() -> None:
    given = harbour_walk(record(1), record(5), records=(held(CREW, record(2)),))
    assert ask(given, count=1)["items"] == ask(given, count=2)["items"][:1]
