"""Heads, claims, roles and conflicts (contract, section E)."""

from dataclasses import replace

import pytest

from reconstruct.core.structure import ROLES
from reconstruct.core.types import Graph
from tests.core.builders import (
    Body,
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

DAY = "2026-01-01T"


def excerpts(body: Body, item: int = 0) -> list[str]:
    return [excerpt["ref"] for excerpt in body["items"][item].get("excerpts", [])]


def roles(body: Body, handle: str) -> list[tuple[str, str]]:
    return [(role["role"], role["ref"]) for role in claim_of(body, handle).get("roles", [])]


def versions(*numbers_by_rank: int) -> list[str]:
    """Heads when versions 1, 2, 3.. of one message, each a day newer, are ranked like this."""
    rows = (record(number, f"2026-01-0{number}", message="x") for number in numbers_by_rank)
    return heads(ask(snapshot(*rows)))


def test_the_head_is_the_newest_version_of_the_row_relevance_chose() -> None:
    assert versions(1, 3, 2) == ["mem:3"]
    assert versions(2, 1) == ["mem:2"]


def test_the_newest_row_of_a_burst_is_not_its_head() -> None:
    rows = [record(number, f"{DAY}09:00:{number}0", source="u1") for number in (2, 1, 3)]
    body = ask(snapshot(*rows))
    assert heads(body) == ["mem:2"]
    assert claimed(body) == ["mem:3", "mem:2", "mem:1"]


def test_the_version_rule_looks_only_at_the_chosen_rows_own_message() -> None:
    rows = (
        record(1, f"{DAY}09:00:00", source="u1"),
        record(2, f"{DAY}09:00:10", source="u1", message="x"),
        record(3, "2026-01-05", message="x"),
    )
    assert heads(ask(snapshot(*rows))) == ["mem:1"]


def test_a_newer_version_of_another_message_in_the_item_is_not_the_head() -> None:
    rows = (
        record(1, f"{DAY}09:00:00", source="u1", message="x"),
        record(2, f"{DAY}09:00:10", source="u1", message="y"),
        record(3, f"{DAY}09:00:20", source="u1"),
    )
    body = ask(snapshot(*rows))
    assert len(claimed(body)) == 3
    assert heads(body) == ["mem:1"]


def test_versions_in_two_channels_are_versions_of_one_message() -> None:
    rows = (record(1, "2026-01-01", message="x", channel="a"), record(2, "2026-01-02", message="x"))
    body = ask(snapshot(*rows))
    assert heads(body) == ["mem:2"]
    assert roles(body, "mem:1") == [("supersedes", "mem:2")]


def test_at_one_instant_the_better_ranked_version_is_the_head() -> None:
    rows = [record(number, "2026-01-02", message="x") for number in (2, 1)]
    assert heads(ask(snapshot(*rows))) == ["mem:2"]
    assert heads(ask(snapshot(*reversed(rows)))) == ["mem:1"]


def test_an_undated_version_stays_the_head_and_is_never_superseded() -> None:
    rows = (record(1, "some day", message="x"), record(2, "2026-01-02", message="x"))
    body = ask(snapshot(*rows))
    assert heads(body) == ["mem:1"]
    assert roles(body, "mem:1") == []
    assert claimed(body) == ["mem:2", "mem:1"]


def test_an_undated_version_is_never_the_newest() -> None:
    assert heads(ask(snapshot(record(1, "2026-01-02", message="x"), record(2, message="x")))) == ["mem:1"]


def test_the_evidence_bound_keeps_the_head_then_relevance_and_never_age() -> None:
    rows = [record(number, f"{DAY}09:00:{number}0", source="u1") for number in (1, 2, 5, 4, 3)]
    body = ask(snapshot(*rows), max_evidence=3)
    assert claimed(body) == ["mem:5", "mem:2", "mem:1"]
    assert body["items"][0]["claims_omitted"] == 2
    assert excerpts(body) == ["mem:2", "mem:5"]


def test_a_bound_of_one_keeps_a_head_that_is_not_the_best_ranked_row() -> None:
    body = ask(
        snapshot(record(1, "2026-01-01", message="x"), record(2, "2026-01-02", message="x")), max_evidence=1
    )
    assert (heads(body), claimed(body)) == (["mem:2"], ["mem:2"])


def test_excerpts_follow_relevance_though_claims_follow_time() -> None:
    body = ask(snapshot(*(record(number, f"2026-01-0{number}", message="x") for number in (2, 1, 4, 3))))
    assert claimed(body) == ["mem:4", "mem:3", "mem:2", "mem:1"]
    assert excerpts(body) == ["mem:2", "mem:1", "mem:3"]


def test_at_one_instant_records_come_before_episodes_and_better_ranks_first() -> None:
    watch = episode(7, f"{DAY}10:00:00", f"{DAY}12:00:00")
    rows = (watch, record(3, f"{DAY}10:00:00"), record(1, f"{DAY}10:00:00"), record(2, f"{DAY}11:00:00"))
    assert claimed(ask(snapshot(*rows))) == ["mem:2", "mem:3", "mem:1", "ep:7"]


def test_at_one_instant_candidates_come_before_walked_rows() -> None:
    first, second = (record(number, f"{DAY}09:00:00", source="u1") for number in (3, 4))
    reached = (record(1, f"{DAY}09:00:00"), record(2, f"{DAY}09:00:00"))
    graph = Graph(mentions=mentions(mem_3=(1,)), relations=(linked(1, 1, "near", 2),))
    body = ask(snapshot(first, second, graph=graph, records=(held(2, *reached),)))
    assert claimed(body) == ["mem:3", "mem:4", "mem:1", "mem:2"]


def test_undated_claims_come_last_by_kind_rank_and_number() -> None:
    relations = tuple(related("mem:1", "near", other) for other in ("mem:10", "mem:2", "ep:1"))
    rows = (episode(1, "", ""), record(10), record(2), record(1, "2026-01-01"))
    assert claimed(ask(snapshot(*rows, relations=relations))) == ["mem:1", "mem:10", "mem:2", "ep:1"]


def test_claims_sort_by_instant_and_show_the_stamp_as_it_was_written() -> None:
    rows = (record(1, "2026-01-01 22:00", message="x"), record(2, "2026-01-02T06:30+09:00", message="x"))
    body = ask(snapshot(*rows))
    assert [claim["as_of"] for claim in body["items"][0]["claims"]] == [
        "2026-01-01 22:00",
        "2026-01-02T06:30+09:00",
    ]


def test_supersession_reads_one_step_at_a_time() -> None:
    body = ask(snapshot(*(record(number, f"2026-01-0{number}", message="x") for number in (1, 2, 3))))
    assert roles(body, "mem:1") == [("supersedes", "mem:2")]
    assert roles(body, "mem:2") == [("supersedes", "mem:3")]
    assert roles(body, "mem:3") == []


def test_when_the_true_successor_was_cut_the_next_kept_version_is_named() -> None:
    rows = [record(number, f"2026-01-0{number}", message="x") for number in (1, 3, 2)]
    assert roles(ask(snapshot(*rows), max_evidence=2), "mem:1") == [("supersedes", "mem:3")]


def test_two_successors_at_one_instant_name_the_lower_number_and_conflict() -> None:
    rows = (
        record(1, "2026-01-01", message="x"),
        record(10, "2026-01-02", message="x"),
        record(9, "2026-01-02", message="x"),
    )
    body = ask(snapshot(*rows))
    assert roles(body, "mem:1") == [("supersedes", "mem:9")]
    assert body["items"][0]["conflicts"] == [
        {"refs": ["mem:9", "mem:10"], "reason": "same_msg_id_same_timestamp", "msg_id": "x"}
    ]
    assert roles(body, "mem:9") == roles(body, "mem:10") == []


def test_a_conflict_whose_partner_was_cut_disappears() -> None:
    rows = [record(number, "2026-01-02", message="x") for number in (1, 2)]
    body = ask(snapshot(*rows), max_evidence=1)
    assert "conflicts" not in body["items"][0]
    assert body["bounds"]["omitted"] == ["max_evidence"]


def test_one_instant_without_one_message_is_no_conflict() -> None:
    rows = [record(number, f"{DAY}09:00:00", source="u1") for number in (1, 2)]
    body = ask(snapshot(*rows))
    assert len(claimed(body)) == 2
    assert "conflicts" not in body["items"][0]


def test_undated_versions_cannot_conflict() -> None:
    assert "conflicts" not in ask(snapshot(record(1, message="x"), record(2, message="x")))["items"][0]


def test_conflicts_stand_newest_first() -> None:
    rows = [
        record(number, stamp, message="x")
        for number, stamp in ((1, "2026-01-01"), (2, "2026-01-01"), (3, "2026-01-02"), (4, "2026-01-02"))
    ]
    conflicts = ask(snapshot(*rows))["items"][0]["conflicts"]
    assert [conflict["refs"] for conflict in conflicts] == [["mem:3", "mem:4"], ["mem:1", "mem:2"]]


def test_an_episode_supports_every_record_in_its_span() -> None:
    rows = (episode(7, f"{DAY}10:00", f"{DAY}12:00"), record(1, f"{DAY}11:00"))
    body = ask(snapshot(*rows))
    assert roles(body, "mem:1") == [("supports", "ep:7")]
    assert roles(body, "ep:7") == []


def test_episodes_support_in_the_order_of_their_ranks_after_supersession() -> None:
    rows = (
        episode(9, f"{DAY}08:00", f"{DAY}20:00"),
        episode(2, f"{DAY}10:00", f"{DAY}12:00"),
        record(1, f"{DAY}11:00", message="x"),
        record(3, "2026-01-05", message="x"),
    )
    assert roles(ask(snapshot(*rows)), "mem:1") == [
        ("supersedes", "mem:3"),
        ("supports", "ep:9"),
        ("supports", "ep:2"),
    ]


@pytest.mark.parametrize("role", sorted(ROLES))
def test_a_declared_role_names_what_its_subject_is_to_the_claim(role: str) -> None:
    body = ask(snapshot(record(1), record(2), relations=(related("mem:2", role, "mem:1"),)))
    assert roles(body, "mem:1") == [(role, "mem:2")]
    assert roles(body, "mem:2") == []
    assert claim_of(body, "mem:1")["why"] == f"relation:{role}"


def test_a_predicate_outside_the_vocabulary_bundles_and_is_no_role() -> None:
    body = ask(snapshot(record(1), record(2), relations=(related("mem:2", "filed_with", "mem:1"),)))
    assert claim_of(body, "mem:1") == {"ref": "mem:1", "as_of": "", "why": "relation:filed_with"}


def test_declared_roles_follow_derived_ones_by_subject_number_and_appear_once() -> None:
    rows = [record(number, f"2026-01-{number:02}", message="x") for number in (1, 2, 10)]
    relations = (
        related("mem:10", "corrects", "mem:1"),
        related("mem:2", "supersedes", "mem:1"),
        related("mem:2", "qualifies", "mem:1"),
        related("mem:2", "corrects", "mem:1"),
        related("mem:2", "corrects", "mem:1"),
    )
    assert roles(ask(snapshot(*rows, relations=relations)), "mem:1") == [
        ("supersedes", "mem:2"),
        ("corrects", "mem:2"),
        ("qualifies", "mem:2"),
        ("corrects", "mem:10"),
    ]


def test_a_role_whose_subject_was_cut_or_is_the_claim_itself_is_not_shown() -> None:
    relations = (related("mem:2", "corrects", "mem:1"), related("mem:1", "corrects", "mem:1"))
    body = ask(snapshot(record(1), record(2), relations=relations), max_evidence=1)
    assert claimed(body) == ["mem:1"]
    assert roles(body, "mem:1") == []


def walked() -> Graph:
    """mem:1 and ep:7 mention an entity that is one relation away from entity 2."""
    return Graph(mentions=mentions(mem_1=(1,), ep_7=(1,)), relations=(linked(1, 1, "planned_by", 2),))


def test_a_walked_newer_version_supersedes_but_is_not_the_head() -> None:
    old, new = (record(number, f"2026-01-0{number}", message="plan") for number in (1, 5))
    body = ask(snapshot(old, graph=walked(), records=(held(2, new),)))
    assert heads(body) == ["mem:1"]
    assert roles(body, "mem:1") == [("supersedes", "mem:5")]
    assert body["items"][0]["independence_reason"] == "singleton"


def test_a_walked_version_of_the_same_instant_conflicts() -> None:
    old, new = (record(number, "2026-01-01", message="plan") for number in (1, 5))
    body = ask(snapshot(old, graph=walked(), records=(held(2, new),)))
    assert body["items"][0]["conflicts"][0]["refs"] == ["mem:1", "mem:5"]


def test_a_candidate_episode_supports_a_walked_record_without_bundling_it() -> None:
    watch, inside = episode(7, f"{DAY}10:00", f"{DAY}12:00"), record(2, f"{DAY}11:00")
    body = ask(snapshot(watch, graph=walked(), records=(held(2, inside),)))
    assert roles(body, "mem:2") == [("supports", "ep:7")]
    assert claim_of(body, "mem:2")["why"] == "relation:planned_by"
    assert body["items"][0]["independence_reason"] == "singleton"


def test_a_walked_episode_supports_nothing() -> None:
    inside, watch = record(1, f"{DAY}11:00"), episode(7, f"{DAY}10:00", f"{DAY}12:00")
    body = ask(snapshot(inside, graph=walked(), records=(held(2, watch),)))
    assert claimed(body) == ["mem:1", "ep:7"]
    assert roles(body, "mem:1") == []


def test_a_declared_role_needs_both_ends_in_the_pool() -> None:
    declared = (related("mem:5", "corrects", "mem:1"),)
    given = snapshot(record(1), graph=walked(), records=(held(2, record(5)),), relations=declared)
    assert roles(ask(given), "mem:1") == []


def test_walked_rows_are_kept_last_and_cut_first() -> None:
    rows = [record(number, message="x") for number in (1, 2)]
    given = snapshot(*rows, graph=walked(), records=(held(2, record(3), record(4)),))
    body = ask(given, max_evidence=3)
    assert set(claimed(body)) == {"mem:1", "mem:2", "mem:3"}
    assert excerpts(body) == ["mem:2", "mem:3"]
    assert body["items"][0]["claims_omitted"] == 1


def test_items_follow_their_best_ranked_row_even_when_the_head_ranks_lower() -> None:
    rows = (record(1, "2026-01-01", message="t"), record(3), record(2, "2026-01-02", message="t"))
    assert heads(ask(snapshot(*rows), count=2)) == ["mem:2", "mem:3"]


def test_a_cluster_is_never_split_to_fill_the_window() -> None:
    rows = [record(number, f"{DAY}09:00:{number}0", source="u1") for number in (1, 2, 3)]
    body = ask(snapshot(*rows), count=3)
    assert body["returned_count"] == 1
    assert body["shortfall_reason"] == "exhausted_candidates"


def test_one_judgement_repeated_in_a_burst_is_one_item_and_a_month_later_another() -> None:
    stamps = [f"{DAY}09:00:{second:02}" for second in range(13)] + ["2026-02-01T09:00:00"]
    rows = [record(number, stamp, source="u1") for number, stamp in enumerate(stamps, 1)]
    body = ask(snapshot(*rows), count=5)
    assert [len(item["claims"]) for item in body["items"]] == [13, 1]


def test_an_unknown_context_still_makes_an_item() -> None:
    unknown = replace(record(1, "2026-01-01", message="x"), context=None)
    body = ask(snapshot(unknown, record(2, "2026-01-02", message="x")), count=2)
    assert heads(body) == ["mem:1", "mem:2"]
    assert roles(body, "mem:1") == []
