"""The search inside a session: equal to reading every row, whatever it leaves out."""

import random
from importlib import import_module
from typing import Any
from unittest import mock

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryconsole import search
from memoryconsole.models import Session, Store
from memoryconsole.search import inside, read
from memoryconsole.search.fuse import Gate
from memoryconsole.snapshot import snapshot
from tests.properties import examples
from tests.search import brute_force
from tests.search.brute_force import Row
from tests.search.builders import (
    EVERYTHING,
    NOW,
    ChosenCosines,
    add,
    add_summary,
    digest_of,
    new_store,
    running,
)

words = import_module("memoryconsole.search.words")

WORDS = ["ferry", "pier", "rota", "tide", "salt", "PO-7741", "ada", "2026"]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
rows = st.fixed_dictionaries(
    {
        "text": texts,
        "inside": st.sampled_from([True, True, False]),
        "summary": st.booleans(),
        "cosine": st.sampled_from([None, -0.5, 0.3, 0.44, 0.46, 0.62, 0.9, 1.0]),
    }
)


def session_of(store: Store, name: str) -> Session:
    return Session.objects.create(store=store, session_id=name, created_at=NOW)


def make(store: Store, told: list[dict[str, Any]], model: ChosenCosines | None) -> dict[str, list[Row]]:
    """The rows stored, of each kind all of them and those of session 's', as they are read by hand."""
    sessions = {True: session_of(store, "s"), False: session_of(store, "other")}
    by_hand: dict[str, list[Row]] = {"every": [], "mem": [], "ep": []}
    for row in told:
        text, where = row["text"], sessions[row["inside"]]
        kind = "ep" if row["summary"] else "mem"
        if kind == "ep":
            number = add_summary(store, text, session=where).number
        else:
            (record,) = add(store, {"content": text, "session": where})
            number = record.number
        vector = None if model is None else model.embed([text])[0]
        made = Row(kind, number, text, digest_of(text), vector=vector)
        by_hand["every"].append(made)
        if row["inside"]:
            by_hand[kind].append(made)
    return by_hand


def best(
    by_hand: dict[str, list[Row]], query: str, kind: str, asked: Any, limit: int
) -> list[tuple[Any, ...]]:
    judged, ideal = brute_force.judge(by_hand["every"], query, EVERYTHING, (), asked)
    inside_ = [j for j in judged if j.row in by_hand[kind]]
    # A summary takes no part in what a record is worth, nor the rest of the store beyond its words' rarity.
    expected, _ = brute_force.rank(inside_, ideal, Gate(), limit)
    return [(j.row.kind, j.row.number, j.score, j.own, j.cosine, j.coverage) for j in expected]


def shown(found: tuple[search.Candidate, ...]) -> list[tuple[Any, ...]]:
    return [
        (row.kind, row.number, row.score, row.evidence.own, row.evidence.cosine, row.evidence.coverage)
        for row in found
    ]


@settings(max_examples=examples(80), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    told=st.lists(rows, max_size=16),
    query=texts,
    limit=st.integers(1, 4),
    first=st.integers(1, 3),
    look_up_cost=st.sampled_from([0, 1, 6]),
    max_rows=st.sampled_from([2, 20_000]),
    vectors=st.booleans(),
)
def test_it_equals_reading_every_row(
    told: list[dict[str, Any]],
    query: str,
    limit: int,
    first: int,
    look_up_cost: int,
    max_rows: int,
    vectors: bool,
) -> None:
    # One text has one vector.
    cosines = {row["text"]: row["cosine"] for row in told if row["cosine"] is not None}
    model = ChosenCosines(cosines) if vectors else None
    store = new_store()
    with running(model):
        by_hand = make(store, told, model)
        prepared = search.prepare(query)
    with (
        mock.patch.object(inside, "FIRST", first),
        mock.patch.object(inside, "LOOK_UP_COST", look_up_cost),
        mock.patch.object(read, "LOOK_UP_COST", look_up_cost),
        mock.patch.object(words, "MAX_ROWS", max_rows),
        snapshot(),
    ):
        found = search.in_session(store, prepared, "s", limit=limit)
    assert found is not None
    if found.bounded:
        return
    asked = (
        model.embed_query(query) if model and any(r.vector is not None for r in by_hand["every"]) else None
    )
    assert shown(found.records) == best(by_hand, query, "mem", asked, limit)
    assert shown(found.summaries) == best(by_hand, query, "ep", asked, limit)


def statements_of(
    store: Store, query: search.Query, *, limit: int
) -> tuple[search.InSession | None, list[str]]:
    with CaptureQueriesContext(connection) as ran, snapshot():
        found = search.in_session(store, query, "s", limit=limit)
    return found, [each["sql"] for each in ran if "mc_entry_vector" in each["sql"]]


def test_vectors_are_compared_where_they_can_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inside, "FIRST", 2)
    store = new_store()
    sure = ["ferry rota pier tide " + "x" * n for n in range(1, 4)]
    told = [*sure, *(f"salt {n}" for n in range(60)), *("ferry gull " + "y" * n for n in range(1, 9))]
    with running(ChosenCosines(dict.fromkeys(told, 0.9))):
        sessions = session_of(store, "s")
        add(store, *({"content": text, "session": sessions} for text in told))
        add_summary(store, "ferry rota pier tide", session=sessions)
        query = search.prepare("ferry rota pier tide")
        found, compared = statements_of(store, query, limit=1)
        assert found is not None
        assert found.records[0].number in (1, 2, 3)
        assert [row.number for row in found.summaries] == [1]
        # The first by words, and the one other row that can come before them: never the 68 that cannot.
        assert all("ANY" in sql for sql in compared)
        # Where more are asked for than hold the words, rows that only vectors find are answered with.
        found, _ = statements_of(store, query, limit=20)
        assert found is not None
        assert len(found.records) == 20
        assert any(row.evidence.own == 0 for row in found.records)


def test_a_small_session_of_a_large_store_is_compared_alone() -> None:
    store = new_store()
    rng = random.Random(3)
    told = [f"{rng.choice(WORDS)} {n}" for n in range(80)]
    with running(ChosenCosines(dict.fromkeys([*told, "lamp"], 0.8))):
        add(store, *told)
        add(store, {"content": "lamp", "session": session_of(store, "s")})
        found, compared = statements_of(store, search.prepare("gull"), limit=5)
    assert found is not None
    assert [row.evidence.cosine is not None for row in found.records] == [True]
    assert len(compared) == 1
    assert "ANY" in compared[0]


def test_a_row_that_only_its_vector_finds_comes_before_one_of_a_common_word() -> None:
    told = [
        {"text": "ferry rota pier tide", "inside": True, "summary": False, "cosine": 0.5},
        {"text": "tide", "inside": True, "summary": False, "cosine": 0.3},
        {"text": "salt", "inside": True, "summary": False, "cosine": 1.0},
        *({"text": f"tide {n}", "inside": False, "summary": False, "cosine": 0.3} for n in range(10)),
    ]
    model = ChosenCosines({row["text"]: row["cosine"] for row in told})
    store, query = new_store(), "ferry rota pier tide"
    with running(model):
        by_hand = make(store, told, model)
        prepared = search.prepare(query)
    with snapshot():
        found = search.in_session(store, prepared, "s", limit=2)
    assert found is not None
    assert [row.number for row in found.records] == [1, 3]
    assert shown(found.records) == best(by_hand, query, "mem", model.embed_query(query), 2)
