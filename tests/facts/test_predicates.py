"""What relations may be called, and how they read."""

import pytest

from memoryconsole.predicates import CORE, LONGEST, is_predicate, label, readable


@pytest.mark.parametrize("predicate", [*CORE, "other:ab", "other:runs_on_2", "other:" + "a" * 41])
def test_these_are_predicates(predicate):
    assert is_predicate(predicate)
    assert len(predicate) <= LONGEST


@pytest.mark.parametrize(
    "predicate",
    [
        "", "likes", "Knows", "knows ", "other:", "other:a", "other:_a", "other:1a", "other:aB", "other:a b",
        "other:a-b", "other:" + "a" * 42, "other:añ", "other:ab\n", "other:a\u0660",
    ],
)  # fmt: skip
def test_these_are_not(predicate):
    assert not is_predicate(predicate)


def test_labels():
    assert readable("other:runs_on") == "runs on"
    assert label("works_for", "", "Marit", "Northpier") == "Marit works for Northpier"
    assert label("works_for", "", "Marit", "") == "works for"
    assert label("", "carries 310", "Aurora Tern", "") == "carries 310"
