"""Windows, scopes and how instants are written (contract, section D)."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provenance.context_bundle.core.temporal import (
    PRECISIONS,
    AsOf,
    At,
    Current,
    History,
    InvalidScope,
    InvalidWindow,
    Overlap,
    Time,
    Window,
    aligned,
    believes,
    canonical_window,
    claim_window,
    selects,
    write_instant,
    write_scope,
)
from tests.core.context_bundle.builders import NOW, day

# A grid around one edge: the microseconds before, at and behind it, and far from it.
EDGE = datetime(2024, 3, 1, tzinfo=UTC)
GRID = tuple(EDGE + timedelta(microseconds=n) for n in (-86_400_000_000, -2, -1, 0, 1, 2, 86_400_000_000))
POINTS = {instant: place for place, instant in enumerate(GRID)}

bounds = st.sampled_from((None, *GRID))
instants = st.datetimes(datetime(2, 1, 1), datetime(9990, 1, 1), timezones=st.just(UTC))


@st.composite
def windows(draw: st.DrawFn) -> Window:
    since, until = draw(bounds), draw(bounds)
    if since is None and until is None:
        return Window()
    if since is not None and until is not None and since >= until:
        since, until = until, since
    if since == until:
        return Window(valid_from=since, precision="open")
    return Window(valid_from=since, valid_until=until, precision="day")


def covered(window: Window) -> set[int]:
    """The places of the grid that a window holds, an unknown bound taken as none."""
    return {
        place
        for instant, place in POINTS.items()
        if not (window.valid_from and instant < window.valid_from)
        and not (window.valid_until and instant >= window.valid_until)
    }


@given(windows(), st.sampled_from(GRID))
def test_one_instant_selects_what_covers_it(window, instant):
    wanted = POINTS[instant] in covered(window)
    assert selects(At(evaluated_at=NOW, at=instant), window) is wanted
    assert selects(Current(evaluated_at=instant), window) is wanted
    assert selects(AsOf(evaluated_at=NOW, believed_at=NOW, valid_at=instant), window) is wanted
    assert selects(Overlap(evaluated_at=NOW, start=instant, end=instant), window) is wanted


@given(windows(), st.sampled_from(GRID), st.sampled_from(GRID))
def test_an_overlap_selects_what_covers_an_instant_of_it(window, one, two):
    start, end = sorted((one, two))
    within = set(range(POINTS[start], POINTS[end] + 1))
    assert selects(Overlap(evaluated_at=NOW, start=start, end=end), window) is bool(within & covered(window))


@given(windows(), st.sampled_from(GRID))
def test_history_selects_what_has_begun(window, instant):
    begun = window.valid_from is None or POINTS[window.valid_from] <= POINTS[instant]
    assert selects(History(evaluated_at=instant), window) is begun


@given(st.sampled_from(GRID[1:-1]), st.sampled_from(GRID))
def test_where_two_windows_meet_exactly_one_is_selected(joint, instant):
    before = Window(valid_from=GRID[0], valid_until=joint, precision="day")
    behind = Window(valid_from=joint, precision="open")
    scope = At(evaluated_at=NOW, at=instant)
    assert [selects(scope, before), selects(scope, behind)].count(True) == 1


@given(windows(), st.sampled_from(GRID))
def test_who_has_not_ended_stays_in_history(window, instant):
    if selects(Current(evaluated_at=instant), window):
        assert selects(History(evaluated_at=instant), window)


@given(st.sampled_from(GRID), st.sampled_from((None, *GRID)), st.sampled_from(GRID))
def test_belief_is_half_open_in_as_of_and_to_this_day_elsewhere(ingested, invalidated, believed):
    then = AsOf(evaluated_at=NOW, believed_at=believed, valid_at=believed)
    assert believes(then, ingested, invalidated) is (
        ingested <= believed and not (invalidated and invalidated <= believed)
    )
    for scope in (
        Current(evaluated_at=believed),
        History(evaluated_at=believed),
        At(evaluated_at=believed, at=NOW),
    ):
        assert believes(scope, ingested, invalidated) is (ingested <= believed and invalidated is None)


@given(windows())
def test_a_match_is_confirmed_exactly_when_no_bound_is_missing(window):
    missing = window.valid_from is None or (window.valid_until is None and window.precision != "open")
    assert window.temporal_match == ("possible" if missing else "confirmed")


@pytest.mark.parametrize(
    ("precision", "first", "start", "end"),
    [
        ("instant", "2024-03-03T09:30:00.000001", "2024-03-03T09:30:00.000001", "2024-03-03T09:30:00.000002"),
        ("day", "2024-02-29T17:00:00", "2024-02-29", "2024-03-01"),
        ("month", "2024-02-10", "2024-02-01", "2024-03-01"),
        ("month", "2024-12-31T23:59:59.999999", "2024-12-01", "2025-01-01"),
        ("quarter", "2024-03-31", "2024-01-01", "2024-04-01"),
        ("quarter", "2024-12-31", "2024-10-01", "2025-01-01"),
        ("year", "2024-07-01", "2024-01-01", "2025-01-01"),
    ],
)
def test_a_unit_is_half_open(precision, first, start, end):
    first, start, end = (datetime.fromisoformat(each).replace(tzinfo=UTC) for each in (first, start, end))
    window = canonical_window(precision, first, first)
    assert (window.valid_from, window.valid_until) == (start, end)
    assert aligned(window)


@given(st.sampled_from(("instant", "day", "month", "quarter", "year")), instants, instants)
def test_canonical_windows_are_aligned_and_hold_what_they_were_made_of(precision, one, two):
    first, last = sorted((one, two))
    window = canonical_window(precision, first, last)
    assert aligned(window)
    assert window.valid_from <= first <= last < window.valid_until
    assert (
        canonical_window(precision, window.valid_from, window.valid_until - timedelta(microseconds=1))
        == window
    )


@given(st.sampled_from(("instant", "day", "month", "quarter", "year")), instants)
def test_units_tile_time(precision, moment):
    one = canonical_window(precision, moment, moment)
    two = canonical_window(precision, one.valid_until, one.valid_until)
    assert two.valid_from == one.valid_until
    at = At(evaluated_at=NOW, at=moment)
    assert (selects(at, one), selects(at, two)) == (True, False)


def test_the_last_unit_of_all_has_no_canonical_window_but_a_claim_may_end_in_it():
    last = datetime.max.replace(tzinfo=UTC)
    for precision in ("instant", "day", "month", "quarter", "year"):
        with pytest.raises(InvalidWindow):
            canonical_window(precision, day(0), last)
        assert claim_window(day(0), last, precision).valid_until is None


def test_a_claim_may_name_its_last_unit_by_its_first_or_its_last_instant():
    first, last = datetime(2022, 4, 30, tzinfo=UTC), datetime(2022, 4, 30, 23, 59, 59, 999_999, tzinfo=UTC)
    since = datetime(2022, 4, 1, tzinfo=UTC)
    for precision in ("day", "month"):
        windows_of = {claim_window(since, each, precision) for each in (first, last)}
        assert {window.valid_until for window in windows_of} == {datetime(2022, 5, 1, tzinfo=UTC)}
    assert claim_window(None, None, "unknown") == Window()
    assert claim_window(since, None, "open") == Window(valid_from=since, precision="open")
    assert claim_window(since, since, "instant").valid_until == since + timedelta(microseconds=1)


def test_a_window_that_is_none_cannot_be_built():
    for precision in PRECISIONS:
        shapes = {
            (bool(since), bool(until)): _builds(precision, since, until)
            for since in (None, day(0))
            for until in (None, day(1))
        }
        wanted = {"unknown": {(False, False)}, "open": {(True, False)}}.get(
            precision, {(True, True), (True, False), (False, True)}
        )
        assert {shape for shape, builds in shapes.items() if builds} == wanted, precision
    for since, until in ((day(1), day(1)), (day(2), day(1))):
        with pytest.raises(InvalidWindow):
            Window(valid_from=since, valid_until=until, precision="day")


def _builds(precision, since, until):
    try:
        Window(valid_from=since, valid_until=until, precision=precision)
    except InvalidWindow:
        return False
    return True


def test_a_time_has_the_instants_of_its_mode_and_no_others():
    assert Time().scope(NOW) == Current(evaluated_at=NOW)
    assert Time(mode="history").scope(NOW) == History(evaluated_at=NOW)
    assert Time(mode="at", at=day(1)).scope(NOW) == At(evaluated_at=NOW, at=day(1))
    assert Time(mode="overlap", start=day(1), end=day(1)).scope(NOW) == Overlap(
        evaluated_at=NOW, start=day(1), end=day(1)
    )
    for broken in ({"at": day(1)}, {"mode": "at"}, {"mode": "overlap", "start": day(1)}, {"mode": "as_of"}):
        with pytest.raises(InvalidScope):
            Time(**broken)
    with pytest.raises(InvalidScope):
        Time(mode="overlap", start=day(2), end=day(1)).scope(NOW)
    with pytest.raises(InvalidScope):
        Current(evaluated_at=datetime(2024, 1, 1))


def test_scopes_are_written_with_the_keys_of_their_mode():
    now = {
        "evaluated_at": "2026-09-30T10:00:00Z",
        "believed_at": "2026-09-30T10:00:00Z",
        "identity_regime": "current",
    }
    one, two = "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"
    assert write_scope(Current(evaluated_at=NOW)) == {"mode": "current", **now}
    assert write_scope(At(evaluated_at=NOW, at=day(1))) == {"mode": "at", "at": one, **now}
    assert list(write_scope(At(evaluated_at=NOW, at=day(1)))) == ["mode", "at", *now]
    assert write_scope(Overlap(evaluated_at=NOW, start=day(1), end=day(2))) == {
        "mode": "overlap",
        "from": one,
        "to": two,
        **now,
    }
    assert write_scope(History(evaluated_at=NOW)) == {"mode": "history", **now}
    assert write_scope(
        AsOf(evaluated_at=NOW, believed_at=day(2), valid_at=day(1), identity_regime="as_of")
    ) == {
        "mode": "as_of",
        "valid_at": one,
        "evaluated_at": now["evaluated_at"],
        "believed_at": two,
        "identity_regime": "as_of",
    }


def test_instants_are_written_in_utc_with_microseconds_only_when_there_are_any():
    east = timezone(timedelta(hours=5, minutes=30))
    assert write_instant(datetime(2024, 1, 1, 5, 30, tzinfo=east)) == "2024-01-01T00:00:00Z"
    assert write_instant(datetime(2024, 1, 1, 0, 0, 0, 10, tzinfo=UTC)) == "2024-01-01T00:00:00.000010Z"
    with pytest.raises(InvalidScope):
        write_instant(datetime(2024, 1, 1))


@given(instants)
def test_a_written_instant_reads_as_itself(instant):
    assert datetime.fromisoformat(write_instant(instant)) == instant
