"""A row weighed again has the evidence that the search had, although the store has changed since."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryconsole import jobs, search
from memoryconsole.models import EmbeddingSpace, IndexEntry, Job, Store, StoreCounter
from memoryconsole.models.jobs import JobState
from memoryconsole.scope import ReadScope
from memoryconsole.search import retrieve
from memoryconsole.snapshot import snapshot
from tests.properties import examples
from tests.search.builders import NOW, ChosenCosines, add, add_summary, ask, new_store, running
from tests.search.test_candidates import record_rows, scopes, similarities, statements, summary_rows, texts

Row = tuple[retrieve.RowKind, int]
cue_lists = st.lists(
    st.sampled_from(["Pier Nine", "rota", "城の鍵", "ferry pier", "!"]), max_size=2, unique=True
)


def weighed(
    store: Store, found: search.Candidates, text: str, rows: Sequence[Row], cues: Sequence[str] = ()
) -> dict[Row, search.Weighed]:
    assert found.weighing is not None
    with snapshot():
        return search.weigh(store, found.weighing, text, cues, rows)


@settings(max_examples=examples(50), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    records=st.lists(record_rows, min_size=1, max_size=12),
    summaries=st.lists(summary_rows, max_size=3),
    later=st.lists(record_rows, max_size=6),
    leave=st.integers(0, 4),
    cosines=st.none() | similarities.map(ChosenCosines),
    query=texts,
    scope=scopes,
    cues=cue_lists,
    deep=st.booleans(),
)
def test_every_row_is_weighed_as_it_was(
    records: list[dict[str, Any]],
    summaries: list[dict[str, Any]],
    later: list[dict[str, Any]],
    leave: int,
    cosines: ChosenCosines | None,
    query: str,
    scope: ReadScope,
    cues: list[str],
    deep: bool,
) -> None:
    store = new_store()
    with running(cosines), pytest.MonkeyPatch.context() as patch:
        patch.setattr(retrieve, "NEAR_MISSES", 1000)
        stored = add(store, *records)
        for summary in summaries:
            add_summary(store, **summary)
        found = ask(store, query, scope, limit=1000, deep=deep, cue_terms=cues)
        add(store, *later)
    gone = [row.number for row in stored[:leave]]
    with transaction.atomic():
        search.remove(store, record_ids=[row.pk for row in stored[:leave]])
    everything: list[Row] = [
        *(("mem", row.number) for row in stored),
        *(("ep", number) for number in range(1, len(summaries) + 1)),
    ]
    again = weighed(store, found, query, everything, cues)
    assert again.keys() == {
        (kind, number) for kind, number in everything if kind == "ep" or number not in gone
    }
    known = {(row.kind, row.number): row for row in [*found.rows, *found.below]}
    admitted = {(row.kind, row.number) for row in found.rows}
    beside_strong = bool(found.totals.admitted) and not found.gate_fallback
    for row in again.keys() & known.keys():
        assert again[row].evidence == known[row].evidence
        assert again[row].key.score == known[row].score
        assert found.gate is not None
        assert search.passes(again[row].evidence, found.gate, beside_strong=beside_strong) == (
            row in admitted
        )
    if scope == ReadScope():
        # What a search without a scope does not list has no score.
        assert not any(again[row].key.score for row in again.keys() - known.keys())


def test_what_another_row_lends_is_remembered() -> None:
    """A word that no text holds and a producer does weighs less, whoever is weighed (`coverage.py`)."""
    store = new_store()
    add(store, {"content": "roof leaks", "source_id": "u", "source_name": "Odalys"}, "roof is fine")
    found = ask(store, "Odalys roof leaks")
    (second,) = [row for row in found.rows if row.number == 2]
    with transaction.atomic():
        search.remove(store, record_ids=[row.row_id for row in found.rows if row.number == 1])
    assert weighed(store, found, "Odalys roof leaks", [("mem", 2)])["mem", 2].evidence == second.evidence


def test_rows_without_an_entry_are_left_out_and_one_statement_is_made() -> None:
    store = new_store()
    add(store, "ferry", "pier nine ferry")
    found = ask(store, "ferry", cue_terms=["pier nine"])
    assert found.weighing is not None
    weighing = found.weighing
    assert weighed(store, found, "ferry", [("mem", 3), ("ep", 1)], ["pier nine"]) == {}
    with snapshot(), CaptureQueriesContext(connection) as captured:
        search.weigh(store, weighing, "ferry", ["pier nine"], [("mem", 1), ("mem", 2)])
    assert len(captured) == 1


def test_vectors_of_the_space_that_was_compared_are_compared_again() -> None:
    store = new_store()
    with running(ChosenCosines({"tide": 0.7, "salt": 0.2})):
        add(store, "tide", "salt", "nothing")
        found = ask(store, "ferry")
    with running(ChosenCosines({"tide": 0.1, "salt": 0.9}, name="another")):
        add(store, "tide")
        with transaction.atomic():
            assert search.fill_space(store, now=NOW) is None
    again = weighed(store, found, "ferry", [("mem", 1), ("mem", 2), ("mem", 3)])
    assert [again["mem", number].evidence.cosine for number in (1, 2, 3)] == [
        found.rows[0].evidence.cosine,
        found.below[0].evidence.cosine,
        None,
    ]
    assert [again["mem", number].reached for number in (1, 2, 3)] == [True, True, False]


@pytest.fixture
def searched() -> tuple[Store, search.Candidates]:
    store = new_store()
    with running(ChosenCosines({"ferry": 0.7})):
        add(store, "ferry")
        return store, ask(store, "ferry")


def reason(store: Store, found: search.Candidates) -> str:
    with pytest.raises(search.NotWeighable) as refused:
        weighed(store, found, "ferry", [("mem", 1)])
    return refused.value.reason


def test_another_language_cannot_be_weighed(searched: tuple[Store, search.Candidates]) -> None:
    store, found = searched
    Store.objects.filter(pk=store.pk).update(language="german")
    assert reason(store, found) == "language_changed"


def test_a_language_that_is_back_is_weighed_when_every_text_is_analysed_again() -> None:
    store = new_store()
    StoreCounter.objects.create(store=store)
    add(store, "ferries", "ferry ferries", "pier")
    found = ask(store, "ferry", limit=1)
    rows: list[Row] = [("mem", number) for number in (1, 2, 3)]
    then = weighed(store, found, "ferry", rows)
    for language in ("german", "english"):
        Store.objects.filter(pk=store.pk).update(language=language)
        job = jobs.start(store, "analyse", {}, by=None, now=NOW)
        # Taken or not, it has not come to these rows.
        assert reason(store, found) == "language_changed"
        Job.objects.filter(pk=job.pk).update(state=JobState.RUNNING)
        assert reason(store, found) == "language_changed"
        Job.objects.filter(pk=job.pk).update(state=JobState.QUEUED)
        jobs.run(job.pk)
    assert weighed(store, found, "ferry", rows) == then


def test_another_analyzer_cannot_be_weighed(searched: tuple[Store, search.Candidates]) -> None:
    store, found = searched
    assert found.weighing is not None
    former = replace(found, weighing=replace(found.weighing, analyzer=search.ANALYZER - 1))
    assert reason(store, former) == "analyzer_changed"
    IndexEntry.objects.filter(store=store).update(analyzer=search.ANALYZER - 1)
    assert reason(store, found) == "analyzer_changed"


def test_a_space_that_is_gone_cannot_be_weighed(searched: tuple[Store, search.Candidates]) -> None:
    store, found = searched
    Store.objects.filter(pk=store.pk).update(active_space=None)
    EmbeddingSpace.objects.filter(store=store).delete()
    assert reason(store, found) == "space_gone"


def test_what_the_limit_cut_is_kept_for_the_audit() -> None:
    store = new_store()
    add(store, *(f"ferry{' log' * number}" for number in range(5)))
    every = ask(store, "ferry", limit=5)
    found = ask(store, "ferry", limit=2)
    assert [*found.rows, *found.behind] == list(every.rows)
    assert every.behind == ()
    assert statements(store, "ferry", limit=2) == 4
