"""The one sequence of quotes and how far a budget reaches (contract, section G)."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from reconstruct.core import Settings
from reconstruct.core.allocate import Place, carried, sequence
from reconstruct.core.quote import Quote
from reconstruct.core.types import Ref
from tests.core.builders import Body, ask, heads, record, snapshot

TEN = Settings(preview_chars=10, default_budget=100)
UNCUT = Settings(preview_chars=0)


def places(*sizes: Sequence[int]) -> tuple[Place, ...]:
    """Per item the sizes of its head and excerpts."""
    return sequence(
        [
            [Quote(ref=Ref("mem", 1), content="x" * size, start=0, source_length=size) for size in own]
            for own in sizes
        ]
    )


def answer(*bursts: Sequence[int], budget: int, settings: Settings = TEN, **wanted: int) -> Body:
    """Items whose rows have texts of these sizes: mem:1, mem:2.., then mem:11, mem:12.., and so on."""
    rows, texts = [], {}
    for at, sizes in enumerate(bursts):
        for index, size in enumerate(sizes):
            number = at * 10 + index + 1
            rows.append((index, at, record(number, message=f"m{at}")))
            texts[f"mem:{number}"] = "x" * size
    ranked = [row for _, _, row in sorted(rows, key=lambda each: each[:2])]
    return ask(snapshot(*ranked, texts=texts), settings=settings, count=10, budget=budget, **wanted)


def carried_refs(body: Body) -> list[list[str]]:
    return [
        [item["head_ref"], *(excerpt["ref"] for excerpt in item.get("excerpts", []))]
        for item in body["items"]
    ]


def test_all_heads_come_first_then_excerpts_round_by_round() -> None:
    order = [(place.item, place.turn) for place in places([1, 1, 1], [1], [1, 1])]
    assert order == [(0, 0), (1, 0), (2, 0), (0, 1), (2, 1), (0, 2)]


def test_heads_come_before_any_excerpt() -> None:
    assert carried_refs(answer([10, 1], [10], budget=20)) == [["mem:1"], ["mem:11"]]


def test_excerpts_are_taken_in_turn() -> None:
    body = answer([5, 5, 5], [5, 5, 5], budget=20)
    assert carried_refs(body) == [["mem:1", "mem:2"], ["mem:11", "mem:12"]]
    assert [item["excerpts_omitted"] for item in body["items"]] == [1, 1]


def test_a_later_smaller_excerpt_does_not_jump_the_queue() -> None:
    assert carried_refs(answer([5, 10, 1], [5, 1], budget=15)) == [["mem:1"], ["mem:11"]]


def test_the_first_head_that_does_not_fit_ends_the_answer() -> None:
    body = answer([10, 1], [10], [1], budget=15)
    assert carried_refs(body) == [["mem:1"]]
    assert body["items"][0]["excerpts_omitted"] == 1
    assert body["shortfall_reason"] == "budget_exhausted"
    assert (body["effective_budget"], body["used_budget"]) == (15, 10)


def test_an_excerpt_that_was_withheld_keeps_its_claim() -> None:
    body = answer([10, 10], budget=10)
    [item] = body["items"]
    assert [claim["ref"] for claim in item["claims"]] == ["mem:1", "mem:2"]
    assert "excerpts" not in item
    assert (body["effective_budget"], body["used_budget"]) == (10, 10)


def test_only_quoted_text_spends_the_budget() -> None:
    body = answer([10], [10], budget=20, trace=True)
    assert body["used_budget"] == 20
    assert body["returned_count"] == 2


def test_a_budget_that_withheld_nothing_is_not_mentioned() -> None:
    body = answer([10, 10], budget=20)
    assert not {"effective_budget", "used_budget"} & set(body)
    assert "excerpts_omitted" not in body["items"][0]


def test_a_budget_below_one_quote_is_raised_so_that_no_head_overruns_it() -> None:
    body = answer([30], [30], budget=3)
    assert body["budget_policy"] == {"source": "caller", "clamped": True, "reason": "raised_to_one_excerpt"}
    assert (body["requested_budget"], body["effective_budget"], body["used_budget"]) == (3, 10, 10)
    assert body["returned_count"] == 1


def test_with_cutting_off_the_first_head_is_whole_whatever_the_budget() -> None:
    body = answer([30, 0], [0], budget=20, settings=UNCUT)
    assert carried_refs(body) == [["mem:1"]]
    assert (body["effective_budget"], body["used_budget"]) == (20, 30)
    assert body["shortfall_reason"] == "budget_exhausted"


def test_the_default_budget_carries_one_quote_per_item_of_the_window() -> None:
    rows = [record(number) for number in range(1, 11)]
    given = snapshot(*rows, texts={f"mem:{number}": "x" * 700 for number in range(1, 11)})
    assert len(heads(ask(given, count=10))) == 10
    named = ask(given, count=10, budget=4000)
    assert len(heads(named)) == 8
    assert named["items"] == ask(given, count=10)["items"][:8]


@given(
    sizes=st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=4), max_size=5),
    budget=st.integers(1, 60),
)
def test_the_carried_prefix_is_the_longest_that_fits(sizes: list[list[int]], budget: int) -> None:
    sequence_ = places(*sizes)
    lengths = [len(place.quote.content) for place in sequence_]
    fitting = [count for count in range(len(lengths) + 1) if sum(lengths[:count]) <= budget]
    longest = max(fitting)
    # Only an oversized first head is carried without fitting.
    expected = 1 if lengths and longest == 0 else longest
    assert carried(sequence_, budget) == expected
