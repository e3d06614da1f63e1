"""Which words of a text are marked: those the search found it by, whole characters only, every piece escaped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryconsole.pages import graphemes
from memoryconsole.pages.marks import Asked, spans, spelled
from memoryconsole.search.analyze import query_units
from memoryconsole.templatetags.answers import marked, sentence


def asked(query, language="english"):
    units = query_units(query, language)
    return Asked(frozenset(term for unit in units for term in unit.terms), language)


def found(text, query, language="english"):
    return [text[start:end] for start, end in spans(text, asked(query, language))]


@pytest.mark.parametrize(
    ("query", "text", "marks"),
    [
        ("pour water", "Whoever pours writes; WATER, watered.", ["pours", "WATER", "watered"]),
        ("po-7741", "ask for PO-7741 or PO 7741", ["PO-7741", "PO", "7741"]),
        ("email", "an e-mail came", ["e-mail"]),
        ("resume", "her résumé", ["résumé"]),
        ("resume", "her re\u0301sume\u0301", ["re\u0301sume\u0301"]),
        ("the winch", "the other winch", ["winch"]),
        ("霧", "朝の便は霧のため", ["霧"]),
        ("遅れ", "十五分遅れました", ["遅れ"]),
        ("winch 霧", "winch霧winch", ["winch霧winch"]),
        ("👍", "fine 👍🏽 indeed", ["👍🏽"]),
        ("", "nothing asked", []),
        ("absent", "something else", []),
    ],
)
def test_marked_are_the_words_the_search_means(query, text, marks):
    assert found(text, query) == marks


@given(st.text(max_size=60), st.text(max_size=20))
def test_marks_are_in_order_apart_and_inside_the_text(text, query):
    reached = 0
    for start, end in spans(text, asked(query)):
        assert reached <= start < end <= len(text)
        reached = end


@given(
    st.lists(
        st.sampled_from(["e\u0301", "🏽", "👍", "\u200d", "क्ष", "が", "か\u3099", " ", "winch"]), max_size=12
    )
)
def test_a_mark_never_parts_what_is_drawn_as_one(parts):
    text = "".join(parts)
    for start, end in spans(text, asked("winch e が か 👍 क्ष か\u3099")):
        for place in (start, end):
            # A mark or a joiner belongs to the character before it.
            assert (
                place in (0, len(text))
                or graphemes.cut(text, place) == text[:place]
                or not _extends(text[place])
            )


def _extends(char):
    import unicodedata

    return unicodedata.category(char)[0] == "M" or unicodedata.category(char) == "Cf" or char == "🏽"


def test_every_piece_of_a_marked_text_is_escaped():
    text = "<script>winch</script> & <b>"
    assert marked(text, asked("winch script")) == (
        "&lt;<mark>script</mark>&gt;<mark>winch</mark>&lt;/<mark>script</mark>&gt; &amp; &lt;b&gt;"
    )
    # Without marks the template escapes it as any text.
    assert not hasattr(marked(text, None), "__html__")


def test_words_are_named_as_they_were_written():
    assert spelled("Pouring WATER?", "english") == {"pour": "Pouring", "water": "WATER"}


def test_a_sentence_links_one_ref_and_no_longer_one():
    class FakeStore:
        public_id = "kitchen-1"

    linked = sentence({"store": FakeStore}, "mem:1 is not mem:12 <b>", "mem:1")
    assert linked == '<a class="ref" href="/stores/kitchen-1/records/mem:1">mem:1</a> is not mem:12 &lt;b&gt;'
