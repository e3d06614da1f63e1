"""Cutting never splits what a reader sees as one character."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryconsole.pages.graphemes import cut

FAMILY, FLAG, THUMB, KEYCAP = "👩‍👩‍👧‍👦", "🇯🇵", "👍🏽", "1️⃣"
WALES = "🏴\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f"
ACCENT, HANGUL, INDIC, THAI = "e\u0301", "\u1112\u1161\u11ab", "क्ष", "กำ"
WHOLE = [FAMILY, FLAG, THUMB, KEYCAP, WALES, ACCENT, HANGUL, INDIC, THAI, "\r\n", "a", "朝", "ع", " ", "ﾊﾞ"]


@pytest.mark.parametrize("character", WHOLE)
@pytest.mark.parametrize("limit", range(1, 40))
def test_a_row_of_one_character_is_cut_between_two_of_them(character, limit):
    kept = cut(character * 40, limit)
    assert len(kept) % len(character) == 0
    assert kept == character * (len(kept) // len(character))


@given(st.lists(st.sampled_from(WHOLE), max_size=20), st.integers(0, 60))
def test_any_text_is_cut_between_two_characters(characters, limit):
    text = "".join(characters)
    ends, length = {0}, 0
    for character in characters:
        length += len(character)
        ends.add(length)
    kept = cut(text, limit)
    assert text.startswith(kept)
    assert len(kept) <= limit or len(text) <= limit
    # Two flags in a row are two flags; an accent after anything belongs to it, and no sample begins with one.
    assert len(kept) in ends


def test_plain_text_is_cut_where_asked():
    assert cut("the ferry", 5) == "the f"
    assert cut("朝の便は霧", 3) == "朝の便"
    assert cut("short", 5) == "short"


def test_a_character_longer_than_the_limit_is_left_out():
    assert cut("a" + "\u0301" * 500, 100) == ""
