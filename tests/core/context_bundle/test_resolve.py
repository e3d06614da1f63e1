"""``resolve_entity`` (contract, section C.1)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provenance.context_bundle.core import ResolveRequest, ResolveSeen, resolve_entity
from provenance.context_bundle.core.seen import NearName
from provenance.context_bundle.core.types import InvalidRequest
from tests.contracts.check_envelope import check
from tests.core.context_bundle.builders import FRESH, SCOPE, entity, uuid

REQUEST = ResolveRequest(name="winch")
ENTITIES = tuple(entity(number) for number in range(1, 15))


def resolved(**given):
    body = resolve_entity(
        REQUEST, ResolveSeen(**{"scope": SCOPE, "freshness": FRESH, "entities": ENTITIES, **given})
    )
    assert check(body) == []
    return body


def names(body):
    return [(row["canonical_name"].removeprefix("Entity "), row["tier"]) for row in body["entities"]]


def test_all_exact_homonyms_come_back_uncut_and_nothing_else():
    body = resolved(exact=tuple(range(12, 0, -1)), near=(NearName(entity=13, tier="T1", score=0.9),))
    assert len(body["entities"]) == 12
    assert {row["tier"] for row in body["entities"]} == {"T0"}
    assert body["truncation"] is None
    two = resolved(exact=(2, 1))
    assert names(two) == [("1", "T0"), ("2", "T0")]


def test_the_first_tier_wins_and_sounding_alike_scores_nothing():
    body = resolved(
        near=(
            NearName(entity=3, tier="T2", score=0.9, likeness=0.9),
            NearName(entity=1, tier="T2", score=0.0),
            NearName(entity=1, tier="T1", score=0.4),
            NearName(entity=2, tier="T1", score=0.5),
        )
    )
    assert names(body) == [("2", "T1"), ("1", "T1"), ("3", "T2")]


def test_context_only_moves():
    near = tuple(NearName(entity=number, tier="T1", score=0.9 - number / 100) for number in (1, 2, 3))
    plain = resolved(near=near)
    moved = resolved(near=near, context_hits=((3, 2), (2, 1), (9, 9)))
    assert names(plain) == [("1", "T1"), ("2", "T1"), ("3", "T1")]
    assert names(moved) == [("3", "T1"), ("2", "T1"), ("1", "T1")]
    assert [row["context_hits"] for row in moved["entities"]] == [2, 1, 0]


def test_the_eleventh_is_cut_before_context_moves_anything():
    near = tuple(NearName(entity=number, tier="T1", score=0.9, likeness=0.5) for number in range(1, 12))
    body = resolved(near=near, context_hits=((11, 3),))
    assert len(body["entities"]) == 10
    assert uuid("e", 11) not in {row["entity_id"] for row in body["entities"]}
    cut = body["truncation"]
    assert (cut["truncated"], cut["returned"], cut["estimated_total"], cut["total_is_exact"]) == (
        True,
        10,
        11,
        False,
    )
    assert (cut["reason"], cut["continuation"]) == ("resolve_candidate_limit", None)
    assert resolved(near=near[:10])["truncation"] is None


def test_the_cut_goes_by_score_before_likeness():
    near = tuple(NearName(entity=number, tier="T1", score=0.9) for number in range(1, 11))
    body = resolved(near=(NearName(entity=11, tier="T1", score=0.4, likeness=0.9), *near))
    assert uuid("e", 11) not in {row["entity_id"] for row in body["entities"]}


def test_who_is_no_current_entity_is_dropped_and_counted():
    body = resolved(exact=(1, 77))
    assert (names(body), body["dropped_by_hydration"]) == ([("1", "T0")], 1)
    body = resolved(near=(NearName(entity=78, tier="T1", score=0.9),))
    assert body == resolved(), "as if there had never been such a name"


def test_nobody_is_unknown_in_the_same_words_as_everywhere():
    body = resolved()
    assert body["negative"]["kind"] == "unknown_entity"
    assert body["truncation"] is None


near_names = st.lists(
    st.builds(
        NearName,
        entity=st.integers(1, 20),
        tier=st.sampled_from(("T1", "T2")),
        score=st.sampled_from((0.3, 0.5)),
        likeness=st.sampled_from((0.0, 0.4)),
    ),
    max_size=16,
)


@given(near_names, st.randoms())
def test_the_order_they_were_read_in_does_not_matter(near, random):
    mixed = list(near)
    random.shuffle(mixed)
    one, two = resolved(near=tuple(near)), resolved(near=tuple(mixed))
    assert one == two
    assert len({row["entity_id"] for row in one["entities"]}) == len(one["entities"]) <= 10


def test_a_request_outside_its_bounds_cannot_be_built():
    for broken in ({"name": ""}, {"name": "x", "context_entity_ids": tuple(uuid("e", n) for n in range(9))}):
        with pytest.raises(InvalidRequest):
            ResolveRequest(**broken)
    assert ResolveRequest(name="  ").name == "  "
