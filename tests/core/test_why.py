"""Why a row is in an answer or not: read off the outline, and true when the bound is moved by as much as it says."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given

from reconstruct.core import Request, missed, outline, rebuild, why
from reconstruct.core.types import Graph
from tests.core.builders import DEFAULTS, held, linked, mentions, record, related, snapshot
from tests.core.strategies import World, answer, decided, relaxed, worlds

WIDE: dict[str, Any] = {"max_budget": 10**9, "max_count": 10**6}


def findings(world: World) -> dict[str, why.Finding]:
    """Of every row the outline names."""
    result = decided(world)
    told = outline(result)
    ranks = {str(row.ref): rank for rank, row in enumerate(result.pool.rows)}
    refs = {*ranks, *(ref for item in told["items"] for ref in (*item["kept"], *item["omitted"]))}
    found = {ref: why.placed(ref, told, ranks.get(ref)) for ref in refs}
    assert all(found.values())
    return {ref: finding for ref, finding in found.items() if finding is not None}


def moved(world: World, **bounds: int) -> dict[str, why.Finding]:
    """The same question with bounds moved, and no ceiling in the way."""
    return findings(
        replace(world, request=replace(world.request, **bounds), settings=replace(world.settings, **WIDE))
    )


@relaxed
@given(world=worlds())
def test_a_row_is_in_when_it_is_a_claim_of_the_answer(world: World) -> None:
    body = answer(world)
    claims = {claim["ref"]: claim for item in body["items"] for claim in item["claims"]}
    found = findings(world)
    assert {ref for ref, finding in found.items() if finding.inside} == claims.keys()
    heads = {item["head_ref"] for item in body["items"]}
    quoted = {excerpt["ref"] for item in body["items"] for excerpt in item.get("excerpts", [])}
    for ref, finding in found.items():
        if finding.inside:
            expected = "head" if ref in heads else "excerpt" if ref in quoted else "claim"
            assert finding.bound == expected
            assert (finding.where["why"], finding.where["hops"]) == (
                claims[ref]["why"],
                claims[ref].get("hops"),
            )
            assert finding.path == ("walk" if "hops" in claims[ref] else "search")
        assert (finding.by is None) == (finding.bound in ("head", "excerpt"))
        assert finding.by is None or (finding.by > 0 and finding.value - finding.limit == finding.by)


@relaxed
@given(world=worlds())
def test_as_many_items_more_bring_a_row_within_count_and_one_less_does_not(world: World) -> None:
    for ref, finding in findings(world).items():
        if finding.bound in ("beyond_count", "count_zero"):
            assert finding.value is not None
            assert moved(world, count=finding.value)[ref].bound not in ("beyond_count", "count_zero")
            assert moved(world, count=finding.value - 1)[ref].by == 1


@relaxed
@given(world=worlds())
def test_as_many_characters_more_bring_a_quote_in_and_one_less_does_not(world: World) -> None:
    window = decided(world).policy.count.effective
    for ref, finding in findings(world).items():
        if finding.bound in ("budget", "claim"):
            assert finding.value is not None
            assert finding.unit == "characters"
            enough = moved(world, budget=finding.value, count=window)[ref]
            short = moved(world, budget=finding.value - 1, count=window)[ref]
            assert enough.bound in (
                ("head", "excerpt", "claim") if finding.bound == "budget" else ("excerpt",)
            )
            assert (short.bound, short.by) == (finding.bound, 1)


@relaxed
@given(world=worlds())
def test_as_many_rows_more_keep_a_row_in_its_item_and_one_less_does_not(world: World) -> None:
    window = decided(world).policy.count.effective
    met = any(item.gathered.bound_met for item in decided(world).items)
    for ref, finding in findings(world).items():
        # A walked row behind rows that were not read stands further back: that takes the rows (`reconstruct/why.py`).
        if finding.bound == "max_evidence" and not (finding.path == "walk" and met):
            assert finding.value is not None
            assert moved(world, max_evidence=finding.value, count=window)[ref].bound != "max_evidence"
            assert moved(world, max_evidence=finding.value - 1, count=window)[ref].by == 1


def test_a_row_the_outline_does_not_name_has_no_finding_here() -> None:
    world = World(snapshot=snapshot(record(1)), request=Request(query="q"), settings=DEFAULTS)
    assert why.placed("mem:2", outline(decided(world))) is None


def test_the_sentences_say_it_in_words() -> None:
    given = snapshot(
        record(1, "2026-01-01"), record(2), record(3), record(4),
        relations=(related("mem:2", "qualifies", "mem:1"),),
        graph=Graph(mentions=mentions(mem_1=(1,)), relations=(linked(1, 1, "run_by", 2),)),
        records=(held(2, record(5)),),
        texts={f"mem:{number}": "x" * 300 for number in range(1, 6)},
    )  # fmt: skip

    def say(ref: str, rank: int | None, **wanted: Any) -> str:
        told = outline(rebuild(given, Request(query="q", **wanted), DEFAULTS))
        finding = why.placed(ref, told, rank)
        assert finding is not None
        return finding.sentence

    assert (
        say("mem:1", 0) == "mem:1 is the head of item 1, as the 1st candidate, joined by relation:qualifies."
    )
    assert say("mem:5", None) == "mem:5 is quoted as an excerpt in item 1, 1 hop away by relation:run_by."
    assert say("mem:4", 3, count=2) == (
        "mem:4 was the 4th of 4 candidates and would be in item 3; the answer had room for 2 items."
    )
    assert say("mem:4", 3, count=0).endswith("no item was asked for (a count of 0).")
    assert say("mem:5", None, max_evidence=1) == (
        "mem:5 was 3rd in the line of item 1, and an item keeps 1 row."
    )
    assert say("mem:3", 2, count=2, budget=500) == (
        "mem:3 belongs to item 2, whose head fell behind the budget: the quotes up to it take 600 characters, 100 more"
        " than the 500 there were."
    )
    assert say("mem:2", 1, budget=500).endswith(
        "Its quote fell behind the budget: the quotes up to it take 600 characters, 100 more than the 500 there were."
    )


@pytest.mark.parametrize(
    ("number", "said"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (13, "13th"), (21, "21st"),
     (111, "111th"), (122, "122nd")],
)  # fmt: skip
def test_ordinals(number: int, said: str) -> None:
    assert why.ordinal(number) == said


def test_hops_are_counted_from_the_nearest_start_either_way_and_to_a_bound() -> None:
    edges = [(1, 2), (3, 2), (3, 4), (4, 5), (9, 8)]
    assert why.distances([1, 4], edges, 5) == {1: 0, 4: 0, 2: 1, 3: 1, 5: 1}
    assert why.distances([1], edges, 2) == {1: 0, 2: 1, 3: 2}
    assert why.distances([], edges, 5) == {}


def test_the_nearest_entity_beyond_the_bound_is_named() -> None:
    found = why.too_far("mem:9", [4, 7], [{1: 0, 4: 3, 7: 5}, {7: 4}], 2)
    assert found is not None
    assert (found.bound, found.value, found.limit, found.by, found.where["item"]) == ("max_hops", 3, 2, 1, 0)
    home = why.too_far("mem:9", [4], [{}, {4: 0}], 2)
    assert home is not None
    assert (home.bound, home.where["item"]) == ("same_entity", 1)
    assert why.too_far("mem:9", [4], [{5: 0}], 2) is None


STRONG = missed.Thresholds(
    strong_coverage=5500,
    strong_cosine=6000,
    floor_coverage=1500,
    floor_cosine=4500,
    strong_found=True,
    fallback=False,
)


@pytest.mark.parametrize(
    ("measured", "gate", "expected"),
    [
        # The nearer of the two, by its share of the threshold.
        ({"own": 5, "coverage": 1499, "cosine": 4000}, STRONG, ("coverage", 1499, 1500, 1)),
        ({"own": 5, "coverage": 100, "cosine": 4499}, STRONG, ("cosine", 4499, 4500, 1)),
        ({"own": 5, "coverage": 100, "cosine": None}, STRONG, ("coverage", 100, 1500, 1400)),
        # Nothing was strong and nothing held a word: only a strong row would have come.
        (
            {"own": 0, "coverage": 0, "cosine": 5000},
            replace(STRONG, strong_found=False),
            ("cosine", 5000, 6000, 1000),
        ),
        (
            {"own": 0, "coverage": 0, "cosine": 5999},
            replace(STRONG, strong_found=False, fallback=True),
            ("words", 0, 1, 1),
        ),
    ],
)
def test_the_gate_names_the_threshold_that_came_nearest(
    measured: dict[str, Any], gate: missed.Thresholds, expected: tuple[str, int, int, int]
) -> None:
    found = missed.below_gate("mem:1", gate=gate, **measured)
    assert (found.unit, found.value, found.limit, found.by) == expected
    if found.unit in ("coverage", "cosine"):
        assert found.sentence.endswith(f", {expected[3] / 100:.2f} points more.")


def test_the_verdict_is_the_way_that_came_nearest() -> None:
    gate = missed.below_gate("mem:1", own=0, coverage=0, cosine=4000, gate=STRONG)
    far = why.too_far("mem:1", [4], [{4: 3}], 2)
    assert far is not None
    told = why.verdict("mem:1", [gate, far], superseded_by="mem:2", changed_since={})
    assert (told["verdict"], told["bound"], told["by"]) == ("out", "max_hops", 1)
    assert [path["path"] for path in told["paths"]] == ["search", "walk"]
    assert told["superseded_by"] == "mem:2"
    assert "changed_since" not in told


def test_what_is_met_later_on_the_way_in_came_nearer() -> None:
    names = why.NEAREST_FIRST
    assert len(set(names)) == len(names)
    for nearer, further in pairwise(names):
        findings = [why.plain("search", further, ""), why.plain("walk", nearer, "")]
        assert why.verdict("mem:1", findings)["bound"] == nearer
        assert why.verdict("mem:1", findings[::-1])["bound"] == nearer
    with pytest.raises(ValueError):
        why.verdict("mem:1", [why.plain("search", "unlisted", "")])
