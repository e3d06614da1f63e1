"""What a part of the index comes to is kept beside it, and what was counted of common words is remembered: both are
always what counting gives.
"""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from unittest import mock

import pytest
from django.db import connection, connections, transaction
from django.db.models import Count, Max
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryconsole import jobs, search
from memoryconsole.models import IndexEntry, IndexPart, Job, Record, Session, Store, StoreCounter
from memoryconsole.models.search import Part
from memoryconsole.models.traces import pruning
from memoryconsole.search import frequencies, read
from memoryconsole.search.lexical import key
from memoryconsole.search.texts import salt
from memoryconsole.services import forget
from memoryconsole.services.forget import delete_store
from memoryconsole.services.numbering import lock_counter
from memoryconsole.snapshot import snapshot
from tests.conftest import make_user
from tests.properties import SLOW_PHASES, examples
from tests.search.builders import EVERYTHING, NOW, add, add_summary, new_store, running

words = import_module("memoryconsole.search.words")

# Words that are their own stems: an entry's keys are those of what it says.
WORDS = ["salt", "pier", "rota", "rope"]
CAP = 6


def kept(store: Store) -> dict[int, int]:
    return dict(IndexPart.objects.filter(store=store).values_list("part", "entries"))


def counted(store: Store) -> dict[int, int]:
    entries = IndexEntry.objects.filter(store=store).order_by()
    return dict(entries.values_list("part").annotate(Count("pk")))


def removals(store: Store, part: Part = Part.RECALL) -> int:
    return IndexPart.objects.get(store=store, part=part).removals


def test_a_part_is_counted_as_it_is_written() -> None:
    store = new_store()
    first, second, _ = add(store, "salt", "pier", "rope")
    add_summary(store, "rota")
    assert kept(store) == counted(store) == {Part.RECALL: 4}
    assert removals(store) == 0
    with transaction.atomic():
        search.remove(store, record_ids=[first.pk, second.pk])
    assert kept(store) == counted(store) == {Part.RECALL: 2}
    assert removals(store) == 1
    with transaction.atomic():
        assert search.reanalyze(store) is None
    assert kept(store) == {Part.RECALL: 2}
    assert removals(store) == 2


def test_a_write_that_fails_is_not_counted() -> None:
    store = new_store()
    add(store, "salt")
    with transaction.atomic():
        add(store, "pier")
        transaction.set_rollback(True)
    assert kept(store) == counted(store) == {Part.RECALL: 1}


def test_what_a_cascade_takes_away_is_counted() -> None:
    store, other = new_store(), new_store()
    add(store, "salt", "pier", "rope")
    add(other, "salt")
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM mc_record WHERE store_id = %s AND number < 3", [store.pk])
    assert kept(store) == counted(store) == {Part.RECALL: 1}
    assert kept(other) == {Part.RECALL: 1}


@pytest.mark.parametrize("by_job", [True, False])
def test_a_store_that_goes_takes_its_counts_along(by_job: bool) -> None:
    store = new_store()
    StoreCounter.objects.create(store=store)
    add(
        store,
        "salt",
        {"content": "pier", "session": Session.objects.create(store=store, session_id="s", created_at=NOW)},
    )
    if by_job:
        delete_store(store, by=make_user("ada"), now=NOW)
        jobs.run(Job.objects.get(store=store, kind="erase_store").pk)
    else:
        with pruning(), connection.cursor() as cursor:
            cursor.execute("DELETE FROM mc_store WHERE id = %s", [store.pk])
    assert not Store.objects.filter(pk=store.pk).exists()
    assert not IndexPart.objects.filter(store=store.pk).exists()


def test_the_last_entry_is_known_when_it_is_gone() -> None:
    store = new_store()
    rows = add(store, "salt", "pier")
    last = IndexPart.objects.get(store=store).last
    assert last == IndexEntry.objects.filter(store=store).aggregate(Max("pk"))["pk__max"]
    with transaction.atomic():
        search.remove(store, record_ids=[row.pk for row in rows])
    assert IndexPart.objects.get(store=store).last == last


def keys(store: Store) -> list[int]:
    return [key(salt(store, Part.RECALL), word) for word in WORDS]


Frequencies = dict[int, tuple[int, int]]


def remembered(store: Store, ground: read.Ground | None = None) -> tuple[Frequencies, int]:
    """(how many entries hold each word, with the bytes of their lists; statements that took)."""
    with snapshot():
        ground = ground or read.read_ground(store, EVERYTHING)
        with CaptureQueriesContext(connection) as ran:
            found = frequencies.frequencies(store, ground, keys(store), cap=CAP)
    return found, len(ran)


def by_hand(store: Store) -> Frequencies:
    found = {}
    for hashed in keys(store):
        lists = IndexEntry.objects.filter(store=store, part=Part.RECALL, keys__contains=[hashed])
        sizes = [len(forward) for forward in lists.values_list("forward", flat=True)]
        found[hashed] = (len(sizes), sum(sizes)) if len(sizes) < CAP else (CAP, 0)
    return found


changes = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(st.sampled_from(WORDS), min_size=1, max_size=6)),
        st.tuples(st.just("remove"), st.integers(0, 20)),
        st.tuples(st.just("ask"), st.none()),
    ),
    max_size=12,
)


@settings(
    max_examples=examples(40),
    phases=SLOW_PHASES,
)
@given(changes=changes, most=st.integers(0, 4))
def test_a_remembered_frequency_is_the_one_a_count_gives(
    changes: list[tuple[str, list[str] | int | None]], most: int
) -> None:
    store = new_store()
    with (
        running(None),
        mock.patch.object(frequencies, "WORTH_KEEPING", 0),
        mock.patch.object(frequencies, "MAX_ADDED", most),
    ):
        add(store, *WORDS)
        for change, what in changes:
            if change == "add":
                add(store, *what)
            elif change == "remove":
                gone = list(Record.objects.filter(store=store).order_by("pk").values_list("pk", flat=True))
                with transaction.atomic():
                    search.remove(store, record_ids=[gone[what % len(gone)]])
            assert remembered(store)[0] == by_hand(store)


def test_what_was_counted_is_not_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frequencies, "WORTH_KEEPING", 2)
    store = new_store()
    add(store, "salt", "salt pier", "rope", "rope", "rota", "rota", "pier")
    first, ran = remembered(store)
    assert ran == 1
    assert remembered(store) == (first, 0)
    add(store, "salt", "rope rota")
    second, ran = remembered(store)
    # What was added is looked at, and nothing else.
    assert (second, ran) == (by_hand(store), 1)
    assert second != first
    assert remembered(store) == (second, 0)
    with transaction.atomic():
        search.remove(store, record_ids=[Record.objects.filter(store=store).first().pk])
    assert remembered(store) == (by_hand(store), 1)


def test_a_snapshot_older_than_what_is_remembered_counts_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frequencies, "WORTH_KEEPING", 0)
    store = new_store()
    add(store, *WORDS)
    with snapshot():
        older = read.read_ground(store, EVERYTHING)
    add(store, "salt")
    remembered(store)
    _, ran = remembered(store, older)
    assert ran == 1
    with pytest.raises(LookupError):
        remembered(store, replace(older, standing=None))


def test_rare_words_are_not_remembered() -> None:
    store = new_store()
    add(store, *WORDS)
    remembered(store)
    assert remembered(store)[1] == 1


def test_a_memory_that_is_full_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frequencies, "WORTH_KEEPING", 0)
    monkeypatch.setattr(frequencies, "MAX_KEPT", 4)
    stores = [new_store() for _ in range(3)]
    for n, store in enumerate(stores):
        add(store, *random.Random(n).choices(WORDS, k=9))
        assert remembered(store)[0] == by_hand(store)
        assert len(frequencies._kept) <= 4


@pytest.mark.parametrize("cap", [3, 8])
def test_a_search_above_the_guard_is_the_same_with_and_without_a_memory(
    monkeypatch: pytest.MonkeyPatch, cap: int
) -> None:
    monkeypatch.setattr(words, "MAX_ROWS", cap)
    monkeypatch.setattr(frequencies, "WORTH_KEEPING", 0)
    store = new_store()

    def asked() -> list[tuple[int, int]]:
        with running(None), snapshot():
            found = search.candidates(store, "salt pier rope", EVERYTHING, limit=50)
        return [(row.number, row.score) for row in found.rows]

    with running(None):
        for n in range(6):
            # Which of several words that are all too common is looked for must not hang on what was remembered.
            long = " ".join(f"word{m}" for m in range(30))
            add(store, "salt pier", f"salt {long}", f"rope salt {n}", "pier rope")
            warm = asked()
            frequencies._kept.clear()
            assert asked() == warm


def test_erasing_waits_for_a_write_under_way() -> None:
    """Both change the counts of several parts, in whichever order: without the store's lock they would wait for each
    other.
    """
    store = new_store()
    StoreCounter.objects.create(store=store)
    with running(None):
        add(store, "salt")
        add_summary(store, "pier", source_type="nodes")
    counted_first, erasing = threading.Event(), threading.Event()
    faults: list[Exception] = []

    def write() -> None:
        with transaction.atomic(), running(None):
            lock_counter(store)
            add_summary(store, "rope", source_type="nodes")
            counted_first.set()
            erasing.wait(5)
            # The erasing statement has begun by now, or waits for the lock that is held here.
            time.sleep(0.3)
            add(store, "rota")

    def erase() -> None:
        counted_first.wait(5)
        erasing.set()
        forget._erase_slice("mc_index_entry", "TRUE", store)

    def kept_faults(work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as fault:
            faults.append(fault)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=kept_faults, args=(work,)) for work in (write, erase)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert kept(store) == {Part.RECALL: 0, Part.GRAPH: 0}
    assert counted(store) == {}
