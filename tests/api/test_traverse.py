"""The neighbourhood of an entity (contract: reconstruct, end of section F)."""

import pytest

from tests.api.declared import named, relation
from tests.conftest import url


def hops(answer):
    return {entity["name"]: entity["hops"] for entity in answer["entities"]}


@pytest.fixture
def line(declare):
    """a - b - c - d - e - f - g, each relation newer than the one before, in alternating directions."""
    for place, (left, right) in enumerate(zip("abcdef", "bcdefg", strict=True)):
        declare(relation(*((left, "next", right) if place % 2 else (right, "next", left))))


@pytest.mark.parametrize("max_hops", [0, 1, 2, 5])
def test_hops_are_followed_either_way_and_what_is_left_is_said(max_hops, line, traverse):
    answer = traverse("a", max_hops=max_hops)
    assert hops(answer) == {name: place for place, name in enumerate("abcdefg"[: max_hops + 1])}
    assert len(answer["relations"]) == max_hops
    assert answer["bounds"] == {"max_hops": max_hops, "limit": 20, "omitted": ["max_hops"]}


def test_the_whole_neighbourhood_leaves_nothing_out(line, traverse):
    assert traverse("d", max_hops=3)["bounds"] == {"max_hops": 3, "limit": 20}


def test_one_hop_and_twenty_entities_are_the_defaults(declare, traverse):
    for number in range(25):
        declare(relation("hub", "has", f"spoke {number:02}"))
    answer = traverse("hub")
    # Most recent relation first.
    assert list(hops(answer)) == ["hub", *(f"spoke {number:02}" for number in range(24, 5, -1))]
    assert answer["entities_omitted"] == 6
    assert answer["bounds"]["omitted"] == ["limit"]
    # Relations only between what is returned.
    assert [row["id"] for row in answer["relations"]] == list(range(25, 6, -1))


def test_a_relation_between_outermost_entities_is_shown(declare, traverse):
    declare(
        {
            "relations": [
                {"subject": "a", "predicate": "p", "object": "b"},
                {"subject": "a", "predicate": "p", "object": "c"},
                {"subject": "b", "predicate": "p", "object": "c"},
                {"subject": "a", "predicate": "self", "object": "a"},
            ]
        }
    )
    answer = traverse("a")
    assert sorted(row["id"] for row in answer["relations"]) == [1, 2, 3, 4]
    assert "omitted" not in answer["bounds"]
    # Declared in one call, they are of one time: the lower id is the more recent.
    assert [row["id"] for row in answer["relations"]] == [1, 2, 3, 4]
    assert list(hops(answer)) == ["a", "b", "c"]


def test_a_relation_reads_as_it_was_declared(declare, traverse, say):
    say("x")
    declare(relation("a", "Leads To", "b"), anchor_ref="mem:1")
    (row,) = traverse("b")["relations"]
    assert row.pop("declared_at").endswith("Z")
    assert row == {
        "id": 1, "subject": 1, "predicate": "leads to", "object": 2, "declared_by": "agent", "anchor_ref": "mem:1",
    }  # fmt: skip


def test_mentions_are_cut_at_the_limit_and_counted(declare, traverse, say, api, store):
    say(*(f"note {number}" for number in range(4)))
    api.post(url(store, "/summaries"), {"summary": "a week"}, format="json")
    for ref in ("mem:4", "mem:1", "mem:3", "ep:1", "mem:2"):
        declare(named("Quay"), anchor_ref=ref)
    answer = traverse("quay", limit=3)
    assert answer["entities"][0]["mentions"] == ["ep:1", "mem:1", "mem:2"]
    assert answer["entities"][0]["mentions_omitted"] == 2
    assert answer["bounds"]["omitted"] == ["limit"]
    assert "mentions_omitted" not in traverse("quay", limit=5)["entities"][0]


def test_a_name_of_several_starts_from_all_of_them(declare, traverse):
    declare(named("Quay"), project_id="p")
    declare(named("Quay"), project_id="q")
    declare({"entities": [{"name": "Landing", "aliases": ["quay"]}]}, project_id="r")
    assert [(row["id"], row["hops"]) for row in traverse("QUAY")["entities"]] == [(1, 0), (2, 0), (3, 0)]
    assert [row["id"] for row in traverse("quay", project_id="q")["entities"]] == [2]


def test_the_read_scope_holds_for_entities_relations_aliases_and_mentions(declare, traverse, say):
    say({"content": "x", "project_id": "p"}, {"content": "y", "source": {"type": "User", "id": "u1"}})
    declare({"entities": [{"name": "Quay"}, {"name": "Pier"}]}, anchor_ref="mem:1")
    declare({"entities": [{"name": "Quay", "aliases": ["kay"]}]}, anchor_ref="mem:2", project_id="p")
    declare(relation("Quay", "near", "Pier"), project_id="p")
    inside, outside = traverse("quay", project_id="p"), traverse("quay", project_id="")
    assert (inside["entities"][0]["aliases"], inside["entities"][0]["mentions"]) == (
        ["kay"],
        ["mem:1", "mem:2"],
    )
    assert hops(inside) == {"Quay": 0, "Pier": 1}
    assert "aliases" not in outside["entities"][0]
    assert (hops(outside), outside["relations"]) == ({"Quay": 0}, [])
    assert outside["entities"][0]["mentions"] == ["mem:2"]
    assert traverse("quay", source_id="u")["entities"][0]["mentions"] == ["mem:2"]


def test_episodes_are_left_out_by_source_unless_a_channel_is_given(declare, traverse, api, store):
    api.post(url(store, "/summaries"), {"summary": "a week"}, format="json")
    declare(named("Quay"), anchor_ref="ep:1")
    assert "mentions" not in traverse("quay", source_id="u")["entities"][0]
    assert traverse("quay", source_id="u", channel="c")["entities"][0]["mentions"] == ["ep:1"]


@pytest.mark.parametrize("entity", ["nobody", "", "  ", "mem:1", "\u0130" * 200])
def test_a_name_of_nobody_is_an_answer(entity, traverse):
    assert traverse(entity) == {
        "entities": [],
        "relations": [],
        "bounds": {"max_hops": 1, "limit": 20},
        "reason": "no_such_entity",
    }


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("max_hops", 6), ("max_hops", -1), ("max_hops", True), ("max_hops", 1.0), ("max_hops", None),
        ("limit", 0), ("limit", 101), ("limit", "5"), ("entity", 1), ("entity", None), ("entity", "x" * 257), ("depth", 1),
    ],
)  # fmt: skip
def test_bounds_out_of_range_are_refused(member, value, api, store):
    answer = api.post(url(store, "/traverse"), {"entity": "x", member: value}, format="json")
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, f"/{member}")
