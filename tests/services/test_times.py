"""Stamps: what they mean, and what they do not."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryconsole.times import read_stamp, write_stamp


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2026-01-02T00:00:00+09:00", "2026-01-01T15:00:00Z"),
        ("2026-01-01 14:00:00", "2026-01-01T14:00:00Z"),
        ("2026-01-01T14:00", "2026-01-01T14:00:00Z"),
        ("2026-01-01", "2026-01-01T00:00:00Z"),
        ("2026-01-01T14:00:00.123456789Z", "2026-01-01T14:00:00.123456Z"),
        ("2026-01-01T14:00:00,5z", "2026-01-01T14:00:00.500000Z"),
        ("2026-01-01T14:00:00+0530", "2026-01-01T08:30:00Z"),
        ("2026-01-01T14:00:00-03", "2026-01-01T17:00:00Z"),
        (" 2026-01-01T14:00:00Z ", "2026-01-01T14:00:00Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
    ],
)
def test_a_stamp_is_read_as_its_instant(text, iso):
    assert write_stamp(read_stamp(text)) == iso


@pytest.mark.parametrize(
    "text",
    [
        "", "undated", "yesterday", "2026-13-01", "2026-02-30", "2026-01-01T24:01:00Z", "2026-01-01T10:00:61Z",
        "1767225600", "20260101", "2026-1-1", "2026-01-01T10:00:00+25:00", "٢٠٢٦-٠١-٠١", "2026-01-01T10:00:00Zx",
        "0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00",
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_unknown_time(text):
    assert read_stamp(text) is None


@given(st.datetimes(timezones=st.just(UTC)))
def test_written_and_read_again_is_the_same_instant(instant):
    assert read_stamp(write_stamp(instant)) == instant


@given(st.text())
def test_no_text_breaks_the_reader(text):
    result = read_stamp(text)
    assert result is None or isinstance(result, datetime)
