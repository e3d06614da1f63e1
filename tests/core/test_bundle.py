"""What bundles and what does not (contract, section D)."""

from datetime import timedelta

import pytest

from reconstruct.core.bundle import _inside_episode, bundle
from reconstruct.core.types import Context, Pool, RecordRelation, Ref, Row, Span
from tests.core.builders import episode, moment, record, related

DAY = "2026-01-01T"


def clusters(*rows: Row, relations: tuple[RecordRelation, ...] = (), window: int = 60) -> list[list[str]]:
    found = bundle(Pool(rows=rows, relations=relations), window)
    return [[str(ref) for ref in cluster.refs] for cluster in found]


def whys(*rows: Row, relations: tuple[RecordRelation, ...] = (), window: int = 60) -> dict[str, str]:
    found = bundle(Pool(rows=rows, relations=relations), window)
    return {str(each.row.ref): each.why for cluster in found for each in cluster.candidates}


def reasons(*rows: Row, relations: tuple[RecordRelation, ...] = ()) -> list[str]:
    return [cluster.reason for cluster in bundle(Pool(rows=rows, relations=relations), 60)]


def burst(*seconds: int, source: str = "u1") -> tuple[Row, ...]:
    return tuple(
        record(number, f"{DAY}09:{second // 60:02}:{second % 60:02}+00:00", source=source)
        for number, second in enumerate(seconds, 1)
    )


def test_nothing_in_nothing_out() -> None:
    assert clusters() == []


def test_a_lone_row_is_a_singleton_seed() -> None:
    assert whys(record(1)) == {"mem:1": "seed"}
    assert reasons(record(1)) == ["singleton"]


def test_one_message_in_one_project_is_one_cluster_whatever_the_channel() -> None:
    rows = (record(1, message="x", channel="a"), record(2, message=" x ", channel="b"))
    assert clusters(*rows) == [["mem:1", "mem:2"]]
    assert reasons(*rows) == ["cluster:msg_id"]


@pytest.mark.parametrize(
    "other",
    [
        record(2, message="x", project="p"),
        record(2, message="X"),
        record(2, message="x", project=None),
        record(2, message=""),
    ],
    ids=["another project", "another case", "unknown project", "no message id"],
)
def test_versions_need_the_same_stored_project_and_the_exact_message_id(other: Row) -> None:
    assert clusters(record(1, message="x"), other) == [["mem:1"], ["mem:2"]]


def test_two_unknown_contexts_do_not_agree() -> None:
    first, second = (record(n, f"{DAY}09:00:00", message="x", source="u", project=None) for n in (1, 2))
    watch = episode(1, f"{DAY}08:00:00", f"{DAY}10:00:00", project=None)
    assert clusters(first, second, watch) == [["mem:1"], ["mem:2"], ["ep:1"]]


@pytest.mark.parametrize(
    ("stamp", "inside"),
    [
        (f"{DAY}10:00:00", True),
        (f"{DAY}12:00:00", True),
        (f"{DAY}11:00:00", True),
        (f"{DAY}09:59:59.999999", False),
        (f"{DAY}12:00:00.000001", False),
        ("2026-01-01T20:00:00+09:00", True),
        ("at noon", False),
    ],
)
def test_an_episode_joins_what_lies_in_its_span_both_ends_included(stamp: str, inside: bool) -> None:
    watch = episode(7, f"{DAY}10:00:00Z", f"{DAY}12:00:00Z")
    assert len(clusters(watch, record(1, stamp))) == (1 if inside else 2)


@pytest.mark.parametrize("elsewhere", [{"project": "p"}, {"channel": "c"}, {"project": None}])
def test_an_episode_reaches_only_its_own_project_and_channel(elsewhere: dict[str, str]) -> None:
    watch = episode(7, f"{DAY}10:00:00", f"{DAY}12:00:00")
    assert len(clusters(watch, record(1, f"{DAY}11:00:00", **elsewhere))) == 2


def test_an_episode_with_an_unreadable_end_bundles_nothing() -> None:
    assert len(clusters(episode(7, f"{DAY}10:00:00", "later"), record(1, f"{DAY}11:00:00"))) == 2


def test_an_episode_inside_another_is_not_contained_by_it() -> None:
    outer = episode(1, f"{DAY}08:00:00", f"{DAY}20:00:00")
    inner = episode(2, f"{DAY}10:00:00", f"{DAY}12:00:00")
    assert len(clusters(outer, inner)) == 2


@pytest.mark.parametrize(("seconds", "together"), [(60, True), (61, False), (0, True)])
def test_the_window_is_inclusive(seconds: int, together: bool) -> None:
    assert (len(clusters(*burst(0, seconds))) == 1) is together


def test_a_fraction_beyond_the_window_is_beyond() -> None:
    late = record(2, f"{DAY}09:01:00.000001", source="u1")
    assert len(clusters(*burst(0), late)) == 2


def test_a_chain_of_short_gaps_is_not_one_burst() -> None:
    assert clusters(*burst(0, 40, 80, 120, 160)) == [["mem:1", "mem:2"], ["mem:3", "mem:4"], ["mem:5"]]


def test_the_sweep_starts_at_the_oldest_row_whatever_the_ranks() -> None:
    first, second, third = burst(0, 50, 70)
    assert clusters(third, second, first) == [["mem:3"], ["mem:2", "mem:1"]]


def test_adjacent_rows_come_from_one_source_in_one_place() -> None:
    here = record(1, f"{DAY}09:00:00", source="u1")
    for other in (
        record(2, f"{DAY}09:00:10", source="u2"),
        record(2, f"{DAY}09:00:10", source="u1", source_type="Agent"),
        record(2, f"{DAY}09:00:10", source="u1", project="p"),
        record(2, f"{DAY}09:00:10", source="u1", channel="c"),
        record(2, f"{DAY}09:00:10", source=""),
        record(2, "soon after", source="u1"),
    ):
        assert len(clusters(here, other)) == 2


def test_rows_without_a_source_are_not_from_the_same_source() -> None:
    assert len(clusters(*burst(0, 1, source=""))) == 2


def test_source_alone_is_not_a_key() -> None:
    assert len(clusters(*burst(0, 600, 1200))) == 3


def test_a_window_of_zero_turns_adjacency_off_even_for_one_instant() -> None:
    assert len(clusters(*burst(0, 0), window=0)) == 2


def test_a_window_longer_than_time_itself_is_still_a_window() -> None:
    assert len(clusters(*burst(0, 600), window=10**15)) == 1


def test_naive_and_offset_stamps_meet_as_instants() -> None:
    rows = (record(1, f"{DAY}09:00:00", source="u"), record(2, f"{DAY}18:00:30+09:00", source="u"))
    assert len(clusters(*rows)) == 1


def test_a_declared_relation_between_two_candidates_bundles_them() -> None:
    rows = (record(1), record(2))
    relation = related("mem:2", "filed_with", "mem:1")
    assert clusters(*rows, relations=(relation,)) == [["mem:1", "mem:2"]]
    assert set(whys(*rows, relations=(relation,)).values()) == {"relation:filed_with"}
    assert reasons(*rows, relations=(relation,)) == ["cluster:relation"]


def test_a_relation_with_an_end_outside_the_pool_is_nothing() -> None:
    relations = (related("mem:3", "corrects", "mem:1"), related("mem:1", "corrects", "mem:1"))
    assert whys(record(1), relations=relations) == {"mem:1": "seed"}


def test_a_record_and_an_episode_of_one_number_are_not_mixed_up() -> None:
    rows = (record(3), episode(3, "", ""), record(4))
    assert clusters(*rows, relations=(related("ep:3", "near", "mem:4"),)) == [["mem:3"], ["ep:3", "mem:4"]]


def test_the_first_join_names_the_row_and_the_strongest_key_names_the_cluster() -> None:
    rows = (
        record(3, "2026-01-02T06:00:30", source="u1"),
        record(1, "2026-01-01T01:00:00", source="u1", message="x"),
        record(2, "2026-01-02T06:00:00", source="u1", message="x"),
    )
    assert whys(*rows) == {"mem:1": "cluster:msg_id", "mem:2": "cluster:msg_id", "mem:3": "cluster:adjacent"}
    assert reasons(*rows) == ["cluster:msg_id"]


def test_a_join_of_two_rows_already_together_changes_nothing() -> None:
    found = whys(*burst(0, 10), relations=(related("mem:2", "corrects", "mem:1"),))
    assert found == {"mem:1": "cluster:adjacent", "mem:2": "cluster:adjacent"}


def test_an_episode_outranks_adjacency_as_the_reason() -> None:
    watch = episode(7, f"{DAY}08:00:00", f"{DAY}09:00:00")
    rows = (*burst(0, 10), watch)
    assert whys(*rows) == {"mem:1": "cluster:episode", "ep:7": "cluster:episode", "mem:2": "cluster:adjacent"}
    assert reasons(*rows) == ["cluster:episode"]


def test_adjacency_outranks_a_declared_relation_as_the_reason() -> None:
    rows = (*burst(0, 10), record(3))
    assert reasons(*rows, relations=(related("mem:3", "near", "mem:1"),)) == ["cluster:adjacent"]


def test_other_keys_may_connect_two_bursts_into_one_longer_cluster() -> None:
    rows = burst(0, 10, 600, 610)
    assert len(clusters(*rows)) == 2
    assert len(clusters(*rows, relations=(related("mem:1", "continues", "mem:4"),))) == 1


def test_relations_join_in_the_order_of_subject_predicate_object_by_number() -> None:
    rows = (record(9), record(10), record(11))
    relations = (related("mem:10", "late", "mem:11"), related("mem:9", "early", "mem:10"))
    assert whys(*rows, relations=relations) == {
        "mem:9": "relation:early",
        "mem:10": "relation:early",
        "mem:11": "relation:late",
    }


def test_clusters_stand_in_the_order_of_their_best_rank() -> None:
    rows = (record(5), record(1, message="x"), record(4), record(2, message="x"))
    assert clusters(*rows) == [["mem:5"], ["mem:1", "mem:2"], ["mem:4"]]


def test_overlapping_spans_hang_together_by_the_records_they_share_and_only_those() -> None:
    stamps = ("10:00", "10:30", "11:00", "12:00", "13:00")
    rows = [record(number, f"{DAY}{stamp}:00") for number, stamp in enumerate(stamps, 1)]
    long = episode(1, f"{DAY}09:00:00", f"{DAY}11:30:00")
    inside = episode(2, f"{DAY}10:15:00", f"{DAY}10:45:00")
    beside = episode(3, f"{DAY}12:00:00", f"{DAY}13:00:00")
    assert clusters(*rows, inside, long, beside) == [
        ["mem:1", "mem:2", "mem:3", "ep:2", "ep:1"],
        ["mem:4", "mem:5", "ep:3"],
    ]
    assert set(whys(*rows, inside, long, beside).values()) == {"cluster:episode"}


@pytest.mark.parametrize("width", [1, 10**6])
def test_many_episodes_over_many_records_make_few_joins(width: int) -> None:
    start = moment(f"{DAY}00:00:00")
    here = Context(project_id="", channel="")
    records = tuple(
        Row(ref=Ref("mem", n), context=here, instant=start + timedelta(seconds=n)) for n in range(1, 2001)
    )
    spans = tuple(
        Row(ref=Ref("ep", n), context=here,
            span=Span(start=start + timedelta(seconds=n), end=start + timedelta(seconds=n + width)))
        for n in range(1, 501)
    )  # fmt: skip
    assert len(list(_inside_episode((*records, *spans)))) <= len(records) + len(spans)
