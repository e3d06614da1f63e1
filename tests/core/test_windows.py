"""Instants are read strictly, windows have their shapes, bounds lie where units begin."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryconsole.models.testimony import Precision as Stored
from memoryconsole.windows import (
    BOUNDED,
    PRECISIONS,
    TICK,
    BadWindow,
    Window,
    begins_unit,
    common_precision,
    half_open,
    next_unit,
    read_claim_window,
    read_fact_window,
    read_instant,
    unit_start,
)

instants = st.datetimes(datetime(1, 1, 2), datetime(9998, 12, 30), timezones=st.just(UTC))
bounded = st.sampled_from(BOUNDED)


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def text(instant):
    return instant.isoformat().replace("+00:00", "Z")


def test_the_words_are_those_that_are_stored():
    assert set(PRECISIONS) == set(Stored.values)


@pytest.mark.parametrize(
    ("given", "instant"),
    [
        ("2024-02-29T10:00:00Z", "2024-02-29T10:00:00"),
        ("2024-02-29t10:00:00z", "2024-02-29T10:00:00"),
        ("2024-02-29T23:30:00-01:30", "2024-03-01T01:00:00"),
        ("2024-03-01T01:00:00+01:30", "2024-02-29T23:30:00"),
        ("2024-02-29T10:00:00.5Z", "2024-02-29T10:00:00.500000"),
        ("2024-02-29T10:00:00.123456+00:00", "2024-02-29T10:00:00.123456"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999"),
    ],
)
def test_an_instant_is_read_to_utc(given, instant):
    assert read_instant(given) == at(instant)


@pytest.mark.parametrize(
    "given",
    ["", "2024", "2024-06-15", "2024-06-15T12:00:00", "20240615T120000Z", "2024-06-15 12:00:00Z", "2024-06-15T12:00Z",
     "2024-06-15T12:00:00.1234567Z", "2024-06-15T12:00:00+0100", "2024-06-15T12:00:00+01", "2024-06-15T12:00:00+24:00",
     "2024-06-15T12:00:00+01:60", "2023-02-29T12:00:00Z", "2024-06-15T24:00:00Z", "2024-06-15T23:59:60Z",
     "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "0000-01-01T00:00:00Z", " 2024-06-15T12:00:00Z",
     "2024-06-15T12:00:00Z\n", "２０２４-06-15T12:00:00Z", 1718445600, 17.5, None, True, ["2024-06-15T12:00:00Z"]],
)  # fmt: skip
def test_anything_else_is_no_instant(given):
    with pytest.raises(ValueError, match=r"\w"):
        read_instant(given)


@given(instants)
def test_what_is_written_is_read_again(instant):
    assert read_instant(text(instant)) == instant


@pytest.mark.parametrize(
    ("precision", "name", "start", "after"),
    [
        ("day", "2024-02-29", "2024-02-29", "2024-03-01"),
        ("month", "2024-02", "2024-02-01", "2024-03-01"),
        ("month", "2024-12", "2024-12-01", "2025-01-01"),
        ("quarter", "2024-Q1", "2024-01-01", "2024-04-01"),
        ("quarter", "2024-q4", "2024-10-01", "2025-01-01"),
        ("year", "2024", "2024-01-01", "2025-01-01"),
    ],
)
def test_a_unit_by_its_name_is_all_of_it(precision, name, start, after):
    window = {"from": name, "until": name, "precision": precision}
    assert read_fact_window(window) == Window(at(start), at(after), precision)
    assert read_claim_window(window) == Window(at(start), at(after) - TICK, precision)
    assert half_open(read_claim_window(window)) == read_fact_window(window)


SHAPES = [
    # given (from, until, precision); as a fact's window; as a claim's. None: refused.
    ((None, None, "unknown"), (None, None), (None, None)),
    (("2024-01-01T00:00:00Z", None, "unknown"), None, None),
    ((None, "2024-01-01T00:00:00Z", "unknown"), None, None),
    (("2024-01-01T09:30:00Z", None, "open"), ("2024-01-01T09:30", None), ("2024-01-01T09:30", None)),
    (("2024-05", None, "open"), ("2024-05-01", None), ("2024-05-01", None)),
    (("2024-Q2", None, "open"), ("2024-04-01", None), ("2024-04-01", None)),
    (("2024", None, "open"), ("2024-01-01", None), ("2024-01-01", None)),
    (("2024-02-30", None, "open"), None, None),
    ((None, "2024-05", "open"), None, None),
    ((None, None, "open"), None, None),
    (("2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z", "open"), None, None),
    (("2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z", "year"), ("2024-01-01", "2025-01-01"), None),
    (("2024-01-01T00:00:00Z", "2024-12-31T23:59:59.999999Z", "year"), None, ("2024-01-01", "2024-12-31T23:59:59.999999")),
    (("2024-01-01T00:00:00Z", None, "year"), ("2024-01-01", None), ("2024-01-01", "2024-12-31T23:59:59.999999")),
    ((None, "2025-01-01T00:00:00Z", "year"), (None, "2025-01-01"), None),
    ((None, "2024", "year"), (None, "2025-01-01"), None),
    ((None, None, "year"), None, None),
    (("2024-02-01T00:00:00Z", None, "year"), None, None),
    (("2024-02-01T00:00:00Z", None, "month"), ("2024-02-01", None), ("2024-02-01", "2024-02-29T23:59:59.999999")),
    (("2024-02-01T00:00:00Z", None, "quarter"), None, None),
    (("2024-01-01T00:00:00+01:00", None, "day"), None, None),
    (("2024", "2023", "year"), None, None),
    (("2024-02", None, "year"), None, None),
    (("2024-13", None, "month"), None, None),
    (("9999", "9999", "year"), None, None),
    (("2024-01-01T09:30:00Z", None, "instant"), ("2024-01-01T09:30", None), ("2024-01-01T09:30", "2024-01-01T09:30")),
    (("2024-01-01T09:30:00Z", "2024-01-01T09:30:00Z", "instant"), None, ("2024-01-01T09:30", "2024-01-01T09:30")),
    (("2024-01-01T09:30:00Z", "2024-01-01T09:30:00.000001Z", "instant"), ("2024-01-01T09:30", "2024-01-01T09:30:00.000001"), None),
    (("2024-01-01T00:00:00Z", None, "century"), None, None),
]  # fmt: skip


def window(given):
    return dict(zip(("from", "until", "precision"), given, strict=True))


def expected(bounds, precision):
    return Window(*(at(bound) if bound else None for bound in bounds), precision)


@pytest.mark.parametrize(("given", "fact", "_claim"), SHAPES)
def test_the_shapes_of_a_facts_window(given, fact, _claim):
    if fact is None:
        with pytest.raises(BadWindow):
            read_fact_window(window(given))
    else:
        assert read_fact_window(window(given)) == expected(fact, given[2])


@pytest.mark.parametrize(("given", "_fact", "claim"), SHAPES)
def test_the_shapes_of_a_claims_window(given, _fact, claim):
    if claim is None:
        with pytest.raises(BadWindow):
            read_claim_window(window(given))
    else:
        assert read_claim_window(window(given)) == expected(claim, given[2])


def test_no_window_is_unknown():
    assert read_fact_window(None) == read_claim_window({}) == Window()


def test_a_fault_names_its_member():
    with pytest.raises(BadWindow) as refused:
        read_fact_window({"from": "2024-02-01T00:00:00Z", "precision": "year"})
    assert (refused.value.pointer, refused.value.code) == ("/from", "not_aligned")
    with pytest.raises(BadWindow) as refused:
        read_fact_window({"from": "2024", "until": "tomorrow", "precision": "year"})
    assert (refused.value.pointer, refused.value.code) == ("/until", "invalid")


@given(instants, bounded)
def test_units_lie_side_by_side(instant, precision):
    start = unit_start(instant, precision)
    after = next_unit(start, precision)
    assert start <= instant < after
    assert begins_unit(start, precision)
    assert begins_unit(after, precision)
    assert unit_start(after - TICK, precision) == start
    assert precision == "instant" or not begins_unit(start + timedelta(microseconds=1), precision)


@given(instants, bounded, bounded)
def test_a_coarser_unit_begins_where_finer_ones_do(instant, one, other):
    fine, coarse = sorted((one, other), key=BOUNDED.index)
    assert begins_unit(unit_start(instant, coarse), fine)


@given(instants, instants, bounded)
def test_the_common_precision_is_the_coarsest(one, other, precision):
    pair = unit_start(one, precision), unit_start(other, precision)
    common = common_precision(*pair, None)
    assert BOUNDED.index(common) >= BOUNDED.index(precision)
    assert all(begins_unit(instant, common) for instant in pair)
    coarser = BOUNDED[BOUNDED.index(common) + 1 :]
    assert not any(all(begins_unit(instant, more) for instant in pair) for more in coarser)


@given(instants, st.integers(1, 5), st.sampled_from(BOUNDED[1:]))
def test_what_was_read_is_aligned_and_forward(instant, units, precision):
    start = after = unit_start(instant, precision)
    try:
        for _ in range(units):
            after = next_unit(after, precision)
    except OverflowError:
        return
    fact = read_fact_window({"from": text(start), "until": text(after), "precision": precision})
    claim = read_claim_window({"from": text(start), "until": text(after - TICK), "precision": precision})
    assert half_open(claim) == fact == Window(start, after, precision)
