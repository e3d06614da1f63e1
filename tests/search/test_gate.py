"""Who is admitted: the record's own evidence decides, in a store of any size."""

import pytest

from memoryconsole.search.fuse import Gate
from tests.search.builders import ChosenCosines, add, ask, new_store, refs, running

FILLER = (
    "gravel was delivered to the shed", "who feeds the cat tonight", "the invoice for the roof came",
    "we should paint the boat before winter", "lunch is at noon", "the key is with the neighbour",
    "rain is expected on Sunday", "the meeting moved to Thursday", "somebody left the gate open",
)  # fmt: skip


def fill(store: object, size: int) -> None:
    add(store, *(f"{FILLER[place % len(FILLER)]}, note {place}" for place in range(size)))  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [0, 9, pytest.param(9_999, marks=pytest.mark.slow), 999])
@pytest.mark.parametrize(
    ("text", "question"),
    [
        (
            "Zephyrine keeps the spare anchor",
            "what could anybody tell me about hobbies of Zephyrine these days",
        ),
        (
            "please settle PO-7741-b this week",
            "is there any news concerning PO-7741-b from accounting department",
        ),
        ("the build 8f3a11 failed", "why would 8f3a11 cause so many troubles for customers"),
        ("larkspur", "larkspur"),
    ],
)
def test_one_shared_rare_word_is_enough_to_be_found(size: int, text: str, question: str) -> None:
    store = new_store()
    for start in range(0, size, 999):
        fill(store, min(999, size - start))
    (planted,) = add(store, text)
    assert f"mem:{planted.number}" in refs(ask(store, question))


def test_an_identifier_is_strong_evidence_and_a_number_like_it_is_none() -> None:
    store = new_store()
    fill(store, 50)
    add(store, "settle PO-7741-b", "settle PO-7742-c")
    found = ask(store, "anything from accounting on PO-7741-b yesterday evening")
    assert not found.gate_fallback
    assert refs(found)[0] == "mem:51"
    assert found.rows[0].evidence.marked
    assert not any(row.evidence.marked for row in found.rows[1:])


def test_a_question_about_something_else_returns_nothing_but_the_fallback() -> None:
    store = new_store()
    fill(store, 90)
    found = ask(store, "When did Odalys move the piano out of her Lisbon apartment in winter?")
    assert not found.rows or found.gate_fallback
    with running(None):
        found = ask(store, "Which instruments does Odalys play?")
    assert refs(found) == []
    assert not found.gate_fallback


ROWS = {f"entry {n}: gravel delivered to shed {n}": n * 0.02 for n in range(50)}


def test_deep_halves_the_thresholds_and_changes_nothing_else() -> None:
    store = new_store()
    with running(ChosenCosines(ROWS)):
        add(store, *ROWS)
        normal, deep = ask(store, "tide tables", limit=100), ask(store, "tide tables", limit=100, deep=True)
    assert set(refs(normal)) < set(refs(deep))
    assert refs(deep)[: len(normal.rows)] == refs(normal)
    assert normal.rows[0].number == 50
    assert normal.gate == Gate()
    assert deep.gate == Gate(2750, 3000, 750, 2250)
    # Monotone: without words, the order is that of the cosines.
    assert refs(deep) == [f"mem:{number}" for number in range(50, 50 - len(deep.rows), -1)]


def test_an_alias_is_a_vote_and_no_pass() -> None:
    low = {"larkspur carried the survey team": 0.0, "ラーク丸 timetable": 0.9}
    store, high_store, alone = new_store(), new_store(), new_store()
    with running(ChosenCosines(low)):
        add(store, *low)
        found = ask(store, "ラーク丸", cue_terms=["Larkspur"])
        assert refs(found) == ["mem:2"]
        assert not found.gate_fallback
        add(alone, "larkspur carried the survey team")
        rescued = ask(alone, "ラーク丸", cue_terms=["Larkspur"])
        assert refs(rescued) == []
        assert not rescued.gate_fallback
        assert [row.number for row in rescued.below] == [1]
    with running(ChosenCosines({**low, "larkspur carried the survey team": 0.85})):
        add(high_store, *low)
        assert set(refs(ask(high_store, "ラーク丸", cue_terms=["Larkspur"]))) == {"mem:1", "mem:2"}


def test_who_said_it_and_when_helps_but_never_admits() -> None:
    store = new_store()
    from tests.search.builders import NOW

    add(
        store,
        {"content": "the roof leaks again", "source_id": "u2", "source_name": "Odalys"},
        {"content": "the roof leaks again today", "source_id": "u1", "instant": NOW},
        {"content": "the roof is fine", "source_id": "u3"},
        {"content": "nothing of note", "source_id": "u4", "source_name": "Odalys", "instant": NOW},
    )
    with running(None):
        by_name = ask(store, "what did Odalys say about the roof leak")
        assert by_name.rows[0].number == 1
        assert by_name.rows[0].evidence.votes > 0
        by_month = ask(store, "roof leak in March 2026")
        assert by_month.rows[0].number == 2
        assert "mem:4" not in refs(by_name) + refs(by_month)
        assert refs(ask(store, "Odalys")) == []


def test_an_exact_copy_of_the_query_comes_first() -> None:
    store = new_store()
    fill(store, 40)
    text = "the second anchor hangs in the boathouse"
    add(store, text, f"{text} and the first one on the pier", "an anchor and a boathouse")
    assert refs(ask(store, text))[0] == "mem:41"
