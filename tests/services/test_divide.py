"""How a long text is divided: the rules one by one, and what holds for every text and every window."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryconsole.divide import CharacterWindow, divide, fits


def parts(text, window):
    return [text[start:end] for start, end in divide(text, CharacterWindow(window))]


class Tokens:
    """A window of so many tokens: a word is one, begun anew after every fifth letter; a blank is none."""

    sure = 1

    def __init__(self, tokens):
        self.tokens = tokens
        self.shown = []

    def closes(self, text):
        self.shown.append(len(text))
        used = letters = 0
        for place, char in enumerate(text):
            letters = 0 if char.isspace() else letters % 5 + 1
            used += letters == 1
            if used > self.tokens:
                return place
        return len(text)


@pytest.mark.parametrize(
    ("text", "window", "expected"),
    [
        ("", 10, []),
        ("it all fits", 11, ["it all fits"]),
        ("no blank at all", 4, ["no ", "blan", "k ", "at ", "all"]),
        # Each class before the next, although a later boundary of the next lies there.
        ("one two\n\nthree\nfour. five six", 24, ["one two\n\nthree\n", "four. five six"]),
        ("one two three\n\nfour\nfive six", 22, ["one two three\n\n", "four\nfive six"]),
        ("one two three\nfour. five six", 22, ["one two three\n", "four. five six"]),
        ("one two three. four five six", 22, ["one two three. ", "four five six"]),
        ("one two three four", 10, ["one two ", "three four"]),
        # The last of a class counts.
        ("a. b. c. d. e. f. g. h.", 10, ["a. b. c. ", "d. e. f. ", "g. h."]),
        # A class that would leave less than half of the window is passed over; exactly half is enough.
        ("a\n\nbbbb cccc dddd", 12, ["a\n\nbbbb ", "cccc dddd"]),
        ("abcd\n\nefgh ijkl mn", 12, ["abcd\n\n", "efgh ijkl mn"]),
        ("abc\n\nefgh ijkl mno", 12, ["abc\n\nefgh ", "ijkl mno"]),
        # A separator that ends where the window closes is within it; one that goes on beyond it is none.
        ("abcdef gh\n\nijklmnopq", 11, ["abcdef gh\n\n", "ijklmnopq"]),
        ("abcdef gh\n\nijklmnopq", 10, ["abcdef ", "gh\n\nijklmn", "opq"]),
        # Blank lines may hold blanks, and every kind of line end counts once.
        ("abcdefg\r\nhij k lmnop", 12, ["abcdefg\r\n", "hij k lmnop"]),
        ("abcdef\r\n\r\nhi\njklmnop", 14, ["abcdef\r\n\r\n", "hi\njklmnop"]),
        ("abcdef\n \t\nhi\njklmnop", 13, ["abcdef\n \t\n", "hi\njklmnop"]),
        # . ! ? end a sentence before whitespace only; the full-width ones anywhere.
        ("pi is 3.14159 or so, nearly", 16, ["pi is 3.14159 ", "or so, nearly"]),
        ("what?! no... yes. or not", 19, ["what?! no... yes. ", "or not"]),
        ("あいうえお。かきくけこ。さしす", 13, ["あいうえお。かきくけこ。", "さしす"]),
        ("あいうえお！かきくけ？さしす", 13, ["あいうえお！かきくけ？", "さしす"]),
        ("数は３．１４と言う", 6, ["数は３．", "１４と言う"]),
        # Nothing but blanks, and nothing but one letter.
        (" " * 25, 10, [" " * 10, " " * 10, " " * 5]),
        ("x" * 25, 10, ["x" * 10, "x" * 10, "x" * 5]),
    ],
)
def test_the_rules(text, window, expected):
    assert parts(text, window) == expected


def test_the_end_of_a_text_ends_a_sentence_only_there():
    """The mark before the window's end is followed by a letter that the window does not show."""
    assert parts("one two three.four five", 14) == ["one two ", "three.four ", "five"]


def test_what_was_cut_off_is_measured_on_its_own():
    class Fickle:
        """Sees ten characters in a longer text, and six in one of at most ten."""

        sure = 1

        def closes(self, text):
            return min(len(text), 10 if len(text) > 10 else 6)

    assert divide("x" * 20, Fickle()) == [(0, 6), (6, 12), (12, 18), (18, 20)]


@pytest.mark.parametrize("answer", [0, -1, 1000])
def test_a_window_that_answers_nonsense_is_refused(answer):
    class Broken:
        sure = 5

        def closes(self, text):
            return answer

    with pytest.raises(ValueError, match="a window closes at"):
        divide("x" * 50, Broken())


def test_a_text_that_fits_is_asked_about_only_when_it_may_not():
    window = Tokens(3)
    assert fits("one two three", window)
    assert not fits("one two three four", window)
    assert len(window.shown) == 2
    assert fits("x" * 1800, CharacterWindow(1800))
    assert not fits("x" * 1801, CharacterWindow(1800))


TEXTS = st.text(alphabet="ab .!?\n\r\t。！\u2028é🙂", max_size=300)
WINDOWS = st.one_of(
    st.integers(1, 40).map(CharacterWindow),
    st.integers(1, 12).map(Tokens),
)


@given(text=TEXTS, window=WINDOWS)
def test_spans_partition_the_text_each_fits_and_the_same_come_again(text, window):
    spans = divide(text, window)
    assert "".join(text[start:end] for start, end in spans) == text
    assert [start for start, _ in spans] == [0, *(end for _, end in spans[:-1])][: len(spans)]
    assert all(start < end for start, end in spans)
    assert all(window.closes(text[start:end]) == end - start for start, end in spans)
    assert divide(text, window) == spans
    assert (len(spans) < 2) == fits(text, window)


@given(text=TEXTS, size=st.integers(2, 40))
def test_no_span_is_shorter_than_half_a_window_but_the_last(text, size):
    spans = divide(text, CharacterWindow(size))
    assert all(2 * (end - start) >= size for start, end in spans[:-1])


@given(text=TEXTS, size=st.integers(2, 40))
def test_a_span_shorter_than_the_window_ends_with_a_whole_separator(text, size):
    breaks = "\n\r\u2028"
    for start, end in divide(text, CharacterWindow(size))[:-1]:
        before, after = text[end - 1], text[end]
        if end - start < size:
            assert before.isspace() or before in ".!?。！"
            # After a line break the next line may be indented; nothing else is left of a separator.
            assert not after.isspace() or (before in breaks and after not in breaks)
            assert not (before in "。！" and after in "。！")


@pytest.mark.parametrize("fill", ["word ", "x", ".", "\n", " ", ". a", "\n \n", "。"])
def test_the_work_grows_with_the_text_and_not_faster(fill):
    for length in (4_000, 40_000):
        window = Tokens(40)
        divide((fill * length)[:length], window)
        # Shown first are stretches that add up to four windows at most, of which a span takes half; then the span.
        assert sum(window.shown) <= 12 * length
