"""How far from its anchors an answer looks (contract, section C.3, step 2)."""

from hypothesis import given
from hypothesis import strategies as st

from provenance.context_bundle.core import expand


@st.composite
def graphs(draw):
    edges = draw(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), max_size=60))
    neighbours = {}
    for one, two in edges:
        neighbours.setdefault(one, []).append(two)
        neighbours.setdefault(two, []).append(one)
    anchors = draw(st.lists(st.integers(1, 40), unique=True, min_size=1, max_size=19))
    return neighbours, tuple(anchors), draw(st.integers(1, 2))


def within(anchor, neighbours, hops):
    reached = {anchor}
    for _ in range(hops):
        reached |= {each for entity in reached for each in neighbours.get(entity, ())}
    return reached


@given(graphs())
def test_what_is_found_is_near_and_all_of_it_unless_it_was_capped(graph):
    neighbours, anchors, hops = graph
    found, capped = expand(anchors, neighbours, hops)
    numbers = [each.number for each in found]
    assert len(set(numbers)) == len(numbers) <= 20
    assert tuple(numbers[: len(anchors)]) == anchors
    assert [(each.hops, each.number) for each in found[len(anchors) :]] == sorted(
        (each.hops, each.number) for each in found[len(anchors) :]
    )
    near = set().union(*(within(anchor, neighbours, hops) for anchor in anchors))
    assert set(numbers) <= near
    assert capped is (set(numbers) != near)
    for each in found:
        wanted = 0 if each.number in anchors else 1
        if wanted:
            assert any(each.number in within(anchor, neighbours, each.hops) for anchor in anchors)
            assert not any(each.number in within(anchor, neighbours, each.hops - 1) for anchor in anchors)
        else:
            assert each.hops == 0


def star(anchor, size):
    return {anchor: [anchor * 1000 + leaf for leaf in range(size)]}


def test_room_is_shared_and_what_one_leaves_the_next_ones_get():
    neighbours = {**star(1, 50), **star(2, 50)}
    found, capped = expand((1, 2), neighbours, 1)
    leaves = [each.number // 1000 for each in found if each.hops]
    assert (leaves.count(1), leaves.count(2), capped) == (9, 9, True)
    found, capped = expand((1, 2), {**star(1, 3), **star(2, 50)}, 1)
    leaves = [each.number // 1000 for each in found if each.hops]
    assert (leaves.count(1), leaves.count(2), capped) == (3, 15, True)
    found, capped = expand((1, 2), {**star(1, 3), **star(2, 15)}, 1)
    assert (len(found), capped) == (20, False)


def test_nineteen_anchors_leave_room_for_one():
    anchors = tuple(range(1, 20))
    found, capped = expand(anchors, {number: [number * 1000] for number in anchors}, 1)
    assert ([each.number for each in found[19:]], capped) == ([1000], True)
    found, capped = expand(anchors, {number: [number % 19 + 1] for number in anchors}, 2)
    assert (len(found), capped) == (19, False)


def test_who_is_nearer_to_another_anchor_is_that_near():
    found, _ = expand((1, 2), {1: [9], 9: [1, 8], 8: [9, 2], 2: [8]}, 2)
    assert {each.number: each.hops for each in found} == {1: 0, 2: 0, 9: 1, 8: 1}


def test_its_hops_are_those_to_the_nearest_anchor_though_another_one_had_the_room_for_it():
    anchors = tuple(range(1, 19))
    found, capped = expand(anchors, {1: [2, 90, 91], 2: [1], 90: [1], 91: [1]}, 2)
    assert [(each.number, each.hops) for each in found[18:]] == [(90, 1), (91, 1)]
    assert not capped


def test_an_anchor_given_twice_is_one():
    found, _ = expand((1, 1), {1: [2]}, 1)
    assert [each.number for each in found] == [1, 2]


def test_nearer_ones_come_first():
    found, capped = expand((1,), {1: [9], 9: [1, 2, 3]}, 2, most=3)
    assert ([(each.number, each.hops) for each in found], capped) == ([(1, 0), (9, 1), (2, 2)], True)
