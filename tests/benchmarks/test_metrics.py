"""The figures of the benchmarks are what they are called."""

import math

import pytest

from tests.benchmarks.metrics import Judged, by_category, interval, judge, macro, micro


def answer(ranked: str, gold: str, *, conversation: str = "c1", category: int = 1) -> Judged:
    """Ids are letters; a letter's session is its case."""
    return judge(
        ranked, gold, conversation=conversation, category=category, session_of=lambda ref: str(ref.isupper())
    )


def ndcg(judged: Judged) -> float:
    return judged.ndcg10


def test_a_perfect_ranking_is_one_and_a_useless_one_is_nothing() -> None:
    assert answer("ab", "ab").ndcg10 == 1
    assert answer("ba", "ab").ndcg10 == 1
    assert answer("cd", "ab").ndcg10 == 0
    assert answer("", "a").ndcg10 == 0


def test_a_later_place_is_worth_less() -> None:
    assert answer("xa", "a").ndcg10 == pytest.approx(1 / math.log2(3))
    assert answer("axb", "ab").ndcg10 == pytest.approx((1 + 1 / 2) / (1 + 1 / math.log2(3)))
    assert answer("x" + "yzuvwtsrq" + "a", "a").ndcg10 == 0


def test_recall_counts_to_its_depth() -> None:
    judged = answer("xxxxa" + "x" * 6 + "b", "abc")
    assert judged.recall == {5: 1 / 3, 10: 1 / 3, 20: 2 / 3}


def test_a_session_is_hit_by_any_of_its_turns() -> None:
    assert answer("x", "a").session_hit10 == 1
    assert answer("X", "a").session_hit10 == 0
    assert answer("X", "aB").session_hit10 == 1


def test_macro_weighs_categories_alike_and_micro_questions() -> None:
    answers = [answer("a", "a"), answer("a", "a"), answer("a", "a"), answer("x", "a", category=2)]
    assert micro(answers, ndcg) == 0.75
    assert macro(answers, ndcg) == 0.5
    assert {category: len(group) for category, group in by_category(answers).items()} == {1: 3, 2: 1}


def test_an_interval_resamples_conversations() -> None:
    same = [answer("a", "a", conversation=name) for name in "pqr"]
    assert interval(same, lambda answers: macro(answers, ndcg)) == (1, 1)
    mixed = [answer("a" if name < "r" else "x", "a", conversation=name) for name in "pqrs"]
    low, high = interval(mixed, lambda answers: micro(answers, ndcg))
    assert 0 <= low < 0.5 < high <= 1
    assert interval(mixed, lambda answers: micro(answers, ndcg)) == (low, high)
