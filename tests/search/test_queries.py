"""Queries as people and programs write them: none is a grammar, none fails, every script finds its rows."""

import unicodedata

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryconsole import search
from memoryconsole.models import IndexEntry, Store
from tests.properties import examples
from tests.search.builders import add, add_summary, ask, new_store, refs, running

ROWS = (
    "we don't know", 'he said "half quote and left', "pick a-b over c-d", "written in C++", "12 GB/s at most",
    "set col:val there", "NEAR( the pier", "50% of it", "snake_case names", "' OR 1=1 -- they typed",
    "plain words",
)  # fmt: skip


@pytest.fixture(scope="module")
def odd() -> Store:
    store = new_store()
    add(store, *ROWS)
    return store


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ("don't", 1), ('"half quote', 2), ("a-b", 3), ("C++", 4), ("GB/s", 5), ("col:val", 6), ("NEAR(", 7),
        ("' OR 1=1 --", 10), ("snake_case", 9),
    ],
)  # fmt: skip
def test_punctuation_is_no_syntax(odd: Store, query: str, number: int) -> None:
    assert refs(ask(odd, query))[0] == f"mem:{number}"


@pytest.mark.parametrize(
    "query",
    ["*", "%", "_", "!!! ??? ...", "\\", "'", "''", '"', "(", "NEAR(", "AND OR NOT", "a" * 10_000,
     "x " * 5_000, "\u200d", "\u0301", "🏽", "\ufeff", "%s %d {} ${x}", "--", ";", "NULL", "\x01\x02", "ا" * 300],
)  # fmt: skip
def test_nothing_fails(odd: Store, query: str) -> None:
    found = ask(odd, query)
    assert len(found.rows) <= len(ROWS)


def test_percent_and_underscore_are_themselves(odd: Store) -> None:
    for query in ("%", "_", "%%", "5_%", "sn%"):
        assert not {row.evidence.words for row in ask(odd, query).rows if row.evidence.own}


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=80))
def test_any_text_is_a_query(odd: Store, query: str) -> None:
    found = ask(odd, query)
    assert ask(odd, query) == found


def test_every_script_finds_its_row() -> None:
    store = new_store()
    expected = {
        "做好财务护城河": ["护城", "财务", "城"],
        "今日は成語しりとりをした": ["しり", "成語"],
        "오늘 끝말잇기": ["끝말", "끝"],
        "Ünïversität in Zürich": ["zurich", "universitat"],
        "القط في البيت": ["البيت"],
        "bệnh viện ở đâu": ["benh", "bệnh"],
        "ﬁne ＡＢＣ": ["fine abc"],
        "un café, un résumé": ["resume", "CAFÉ"],
    }
    add(store, *expected)
    for number, queries in enumerate(expected.values(), start=1):
        for query in queries:
            for form in ("NFC", "NFD"):
                assert refs(ask(store, unicodedata.normalize(form, query)))[0] == f"mem:{number}", query


def test_a_language_is_the_stores() -> None:
    german = new_store(language="german")
    add(german, "die Häuser am Hafen", "ein Garten")
    assert refs(ask(german, "Haus"))[0] == "mem:1"


def test_a_store_that_changes_its_language_is_analysed_again() -> None:
    store = new_store()
    add(store, "die Häuser am Hafen", "der Garten")
    add_summary(store, "Häuserzeilen")
    with running(None):
        before = ask(store, "Hafen")
        Store.objects.filter(pk=store.pk).update(language="german")
        store.refresh_from_db()
        assert refs(ask(store, "Haus")) == []
        IndexEntry.objects.filter(store=store).update(analyzer=0)
        step: int | None = 0
        while step is not None:
            with transaction.atomic():
                step = search.reanalyze(store, after=step, limit=2)
        assert refs(ask(store, "Haus")) == ["mem:1"]
        assert refs(ask(store, "Hafen")) == refs(before)
    assert set(IndexEntry.objects.filter(store=store).values_list("analyzer", flat=True)) == {search.ANALYZER}
