"""Text to terms: what meets what, what stays apart, and that nothing makes it fail."""

import os
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryconsole.search import analyze
from memoryconsole.search.stopwords import STOP_WORDS


def terms(text: str, language: str = "english") -> set[str]:
    return set(analyze.index_terms(text, language).counts)


def asked(text: str, language: str = "english") -> set[str]:
    return {term for unit in analyze.query_units(text, language) for term in unit.terms}


@pytest.mark.parametrize(
    ("stored", "query"),
    [
        ("the ferries were delayed", "ferry delay"),
        ("Caroline's notes", "caroline note"),
        ("Caroline\u2019s notes", "Caroline's"),
        ("we don't know", "dont"),
        ("O'Brien called", "obrien"),
        ("O'Brien called", "brien"),
        ("send an e-mail", "email"),
        ("send an email", "e-mail"),
        ("ticket PO-7741 is open", "po-7741"),
        ("ticket PO-7741 is open", "7741"),
        ("see INV2291", "2291"),
        ("tail /var/log/syslog.1 now", "syslog"),
        ("tail /var/log/syslog.1 now", "/var/log/syslog.1"),
        ("release v2.3.1-rc1 shipped", "v2.3.1-rc1"),
        ("paid 1,250 crowns", "1250"),
        ("call getUserName first", "username user name"),
        ("set MAX_RETRIES to 3", "max_retries"),
        ("set MAX_RETRIES to 3", "retries"),
        ("mail ada@example.org", "ada@example.org"),
        ("written in C++", "c++"),
        ("written in C#", "c#"),
        ("12 GB/s at most", "GB/s"),
        ("well done 👍🏽", "👍"),
        ("we ❤️ it", "❤"),
        ("the family 👩‍👩‍👧 came", "👧"),
    ],
)
def test_a_query_finds_the_words_of_a_text(stored: str, query: str) -> None:
    assert asked(query) & terms(stored), (asked(query), terms(stored))


@pytest.mark.parametrize(
    ("one", "other"),
    [("PO-7741", "PO-7742"), ("C++", "C#"), ("v2.3.1", "v2.3.2"), ("10:30", "10:45"), ("a.b.c", "a.b.d")],
)
def test_identifiers_that_differ_have_wholes_that_differ(one: str, other: str) -> None:
    (first,), (second,) = analyze.query_units(one, "english"), analyze.query_units(other, "english")
    assert first.compound
    assert second.compound
    assert first.terms[0] not in terms(other)
    assert second.terms[0] not in terms(one)


@pytest.mark.parametrize(
    "word", ["café", "résumé", "Zürich", "bệnh", "감", "ﬁne", "ＡＢＣ", "naïve", "Ångström"]
)
def test_composed_and_decomposed_spellings_meet(word: str) -> None:
    spellings = {unicodedata.normalize(form, word) for form in ("NFC", "NFD", "NFKC", "NFKD")} | {
        word.upper()
    }
    assert len({frozenset(terms(spelling)) for spelling in spellings}) == 1


def test_accents_and_case_are_folded() -> None:
    assert terms("Café İstanbul ISTANBUL ısı Straße") == terms("cafe istanbul istanbul isi strasse")


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("做好财务护城河", "护城"), ("做好财务护城河", "财务"), ("做好财务护城河", "城"),
        ("今日は成語しりとりをした", "しり"), ("今日は成語しりとりをした", "成語"), ("오늘 끝말잇기", "끝말"),
        ("오늘 끝말잇기", "끝"), ("iPhoneを買った", "iphone"), ("票号PO-7741を見て", "PO-7741"),
        ("ภาษาไทยง่าย", "ไทย"), ("ﾗｰｸ丸が着いた", "ラーク丸"),
    ],
)  # fmt: skip
def test_scripts_without_spaces_are_found_by_one_and_two_characters(text: str, query: str) -> None:
    assert asked(query) <= terms(text)


def test_a_pair_that_is_not_in_the_text_does_not_match() -> None:
    assert not asked("河城") & terms("做好财务护城河")


def test_words_with_marks_stay_whole() -> None:
    assert terms("हिन्दी में") == {"हिन्दी", "में"}
    assert terms("الكِتاب") == terms("الكتاب")


def test_stop_words_leave_a_query_only_when_something_remains() -> None:
    assert asked("what did the ferry do") == {"ferri"}
    assert asked("who are you") == {"who", "are", "you"}
    assert terms("who are you") == {"who", "are", "you"}
    assert asked("don't stop", "english") == {"stop"}


def test_stop_words_are_folded_words_the_analyser_can_meet() -> None:
    for word in STOP_WORDS["english"]:
        (token,) = analyze.tokens(word, "english")
        assert token.stop


def test_an_unknown_language_stems_nothing() -> None:
    assert terms("ferries", "klingon") == {"ferries"}
    assert terms("Häuser", "german") == terms("Haus", "german")


@pytest.mark.parametrize(
    "word", ["PO-7741", "8f3a-11", "2023-05-08", "ada@example.org", "/var/log/syslog", "INV2291"]
)
def test_identifiers_are_marked(word: str) -> None:
    assert any(unit.marked for unit in analyze.query_units(word, "english"))


@pytest.mark.parametrize("word", ["ferry", "brother-in-law", "and/or", "2023", "O'Brien"])
def test_words_are_not(word: str) -> None:
    assert not any(unit.marked for unit in analyze.query_units(word, "english"))


def test_phrases_occur_without_a_gap() -> None:
    text = analyze.phrase("the pier nine log, and nine old piers", "english")
    assert analyze.occurs(analyze.phrase("Pier Nine", "english"), text)
    assert analyze.occurs(analyze.phrase("nine old", "english"), text)
    assert not analyze.occurs(analyze.phrase("pier log", "english"), text)
    assert not analyze.occurs(
        analyze.phrase("piers nine", "english"), analyze.phrase("nine piers", "english")
    )


@given(st.text(max_size=300), st.sampled_from(["english", "german", "arabic", "none"]))
def test_any_text_is_analysed(text: str, language: str) -> None:
    found = analyze.index_terms(text, language)
    assert all(0 < len(term) <= analyze.MAX_TERM_CHARS for term in found.counts)
    assert all(count >= 1 for count in found.counts.values())
    # Whatever a text holds, asking for it finds it.
    assert asked(text, language) <= set(found.counts)
    assert set(analyze.phrase_terms(text, language)) <= set(found.counts)
    assert found.length == len(analyze.phrase(text, language))


@given(st.text(max_size=200))
def test_the_form_of_the_text_does_not_matter(text: str) -> None:
    composed = analyze.index_terms(unicodedata.normalize("NFC", text), "english")
    assert composed == analyze.index_terms(unicodedata.normalize("NFD", text), "english")


def test_a_very_long_word_is_cut() -> None:
    assert terms("x" * 5000) == {"x" * analyze.MAX_TERM_CHARS}


def test_terms_do_not_depend_on_the_hash_seed() -> None:
    program = (
        "import django; django.setup();"
        "from memoryconsole.search import analyze, lexical;"
        "t = analyze.index_terms('Pier nine: PO-7741 城の鍵 👍 café', 'english');"
        "print(list(t.counts.items()), lexical.pack(7, t.counts, {'by\\x1fada', 'on\\x1f2026'}))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"DJANGO_SETTINGS_MODULE": "memoryconsole.settings", **os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(outputs) == 1
