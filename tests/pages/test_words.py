"""How the console writes times, numbers, states and stored text."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from memoryconsole.templatetags.console import badge, brief, count, inert, micros, moment, stamp


def test_a_stamp_is_shown_in_utc_and_as_stored_on_hover():
    assert stamp("2026-01-05T10:30:00+01:00") == (
        '<time datetime="2026-01-05T09:30:00Z" title="stored as 2026-01-05T10:30:00+01:00">5 Jan 2026, 09:30 UTC</time>'
    )


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", '"><script>'])
def test_unknown_time_is_said_and_not_guessed(text):
    shown = stamp(text)
    assert ">unknown time<" in shown
    assert "<script>" not in shown


def test_an_instant_of_the_server_is_shown_in_utc():
    at = datetime(2026, 2, 28, 23, 59, 30, tzinfo=timezone(timedelta(hours=-2)))
    assert "1 Mar 2026, 01:59 UTC" in moment(at)
    assert moment(None) == "—"
    assert "5 Jan 2026" in moment(datetime(2026, 1, 5, tzinfo=UTC))


def test_a_hover_text_cannot_turn_the_line_around():
    assert inert("a\u202eb\u2066c\nd\0e") == "ab" + "c de"
    assert "\u202e" not in stamp("soon\u202e")


def test_long_text_is_cut_between_two_characters():
    family = "👩‍👩‍👧‍👦"
    shown = brief(family * 200)
    assert shown.endswith("…")
    assert set(shown[:-1].split(family)) == {""}
    assert brief(" short ") == "short"


def test_numbers_and_what_is_not_known():
    assert count(1234567) == "1,234,567"
    assert count(0) == "0"
    assert count(None) == "—"
    assert micros(1234) == "1.2 ms"
    assert micros(12_000_000) == "12.0 s"


def test_a_state_is_a_word_beside_its_colour():
    assert badge("failed") == '<span class="badge bad">failed</span>'
    assert badge("<b>") == '<span class="badge none">&lt;b&gt;</span>'
