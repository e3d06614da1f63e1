"""Time as it was asked for, joints of windows, and disagreements, tried through HTTP where memories like this one went
wrong.
"""

from datetime import timedelta
from unittest import mock

import pytest
from django.utils import timezone

from tests.api.harbour import Harbour, shown
from tests.conftest import url

JOINT = "2026-07-05T00:00:00Z"


@pytest.fixture
def harbour(api, store):
    return Harbour(api, store)


# What was asked, what was answered, and what is kept of both


def test_the_trace_shows_the_time_asked_for_and_is_decided_alike_a_day_later(api, harbour, store):
    ferry = harbour.entity("Aurora Tern")
    fact = harbour.observe(
        ferry, "the ferry sails", window={"from": "2019", "until": "2020", "precision": "year"}
    )
    sent = "2020-01-01T00:00:00+09:00"
    body = {"query": "ferry", "entity_ids": [ferry], "time": {"mode": "at", "at": sent}}
    answer = api.post(url(store, "/context-bundle"), body, format="json")
    bundle = answer.json()
    scope = bundle["facts"]["temporal_scope"]
    assert scope["at"] == "2019-12-31T15:00:00Z"
    assert scope["evaluated_at"] == scope["believed_at"] == bundle["facts"]["freshness"]["pg_live_ts"]
    assert scope["evaluated_at"] != scope["at"]
    assert bundle["claims_and_sources"]["temporal_scope"] == {
        "mode": "current", "evaluated_at": scope["evaluated_at"], "believed_at": scope["evaluated_at"],
        "identity_regime": "current",
    }  # fmt: skip
    assert shown(bundle["facts"]) == [fact]
    trace = answer.headers["Trace-Id"]
    kept = api.get(f"/api/v1/traces/{trace}").json()
    assert kept["request"] == body
    with mock.patch.object(timezone, "now", return_value=timezone.now() + timedelta(days=1)):
        assert harbour.replay(trace) == {"same_core": True, "result": "identical"}
        harbour.post(f"/facts/observation/{fact}/retract", {"reason": "wrong"})
        assert harbour.replay(trace) == {"same_core": True, "result": "identical"}


# Half-open windows that meet


@pytest.fixture
def units(harbour):
    """(who, the unit until the joint, the unit from the joint)."""
    person = harbour.entity("Marit Solvang")
    before = harbour.observe(
        person,
        "Marit sails with unit one",
        window={"from": "2026-06-28", "until": "2026-07-04", "precision": "day"},
    )
    after = harbour.observe(person, "Marit sails with unit two", window={"from": JOINT, "precision": "open"})
    return person, before, after


@pytest.mark.parametrize(
    ("at", "wanted"),
    [
        ("2026-07-04T23:59:59.999999Z", "before"),
        (JOINT, "after"),
        ("2026-07-05T02:00:00+02:00", "after"),
        ("2026-07-05T00:00:00.000001Z", "after"),
        ("2026-06-28T00:00:00Z", "before"),
    ],
)
def test_at_a_joint_of_two_windows_exactly_one_is_answered(at, wanted, units, harbour):
    person, before, after = units
    body = harbour.facts("unit", entity_ids=[person], time={"mode": "at", "at": at})
    assert shown(body) == [{"before": before, "after": after}[wanted]]
    assert body["facts"][0]["temporal_match"] == "confirmed"


def test_before_the_first_window_there_is_nothing(units, harbour):
    body = harbour.facts(
        "unit", entity_ids=[units[0]], time={"mode": "at", "at": "2026-06-27T23:59:59.999999Z"}
    )
    assert body["negative"]["kind"] == "known_empty"


@pytest.mark.parametrize(
    ("since", "until", "wanted"),
    [
        ("2026-06-30T00:00:00Z", JOINT, {"before", "after"}),
        ("2026-06-30T00:00:00Z", "2026-07-04T23:59:59.999999Z", {"before"}),
        (JOINT, JOINT, {"after"}),
        (JOINT, "2026-07-06T00:00:00Z", {"after"}),
        ("2026-07-04T23:59:59.999999Z", JOINT, {"before", "after"}),
    ],
)
def test_the_bounds_of_a_request_are_inclusive_and_the_end_of_a_window_is_not(
    since, until, wanted, units, harbour
):
    person, before, after = units
    body = harbour.facts("unit", entity_ids=[person], time={"mode": "overlap", "from": since, "to": until})
    assert set(shown(body)) == {{"before": before, "after": after}[each] for each in wanted}


def test_bounds_in_the_wrong_order_are_refused(units, harbour):
    time = {"mode": "overlap", "from": JOINT, "to": "2026-06-30T00:00:00Z"}
    refused = harbour.ask("facts_context", status=400, query="unit", entity_ids=[units[0]], time=time)
    assert refused["code"] == "invalid_parameter"
    assert [fault["pointer"] for fault in refused["errors"]] == ["/time/to"]


def test_a_bound_that_nobody_knows_is_flagged_and_leaves_nothing_out(units, harbour):
    person, before, _after = units
    open_start = harbour.observe(
        person, "Marit sails with unit three", window={"until": JOINT, "precision": "day"}
    )
    open_end = harbour.observe(
        person, "Marit sails with unit four", window={"from": JOINT, "precision": "day"}
    )
    undated = harbour.observe(person, "Marit sails with unit five")
    body = harbour.facts("unit", entity_ids=[person], time={"mode": "at", "at": "2026-07-01T00:00:00Z"})
    matches = {fact["fact_id"]: fact["temporal_match"] for fact in body["facts"]}
    assert matches == {before: "confirmed", open_start: "possible", undated: "possible"}
    body = harbour.facts("unit", entity_ids=[person], time={"mode": "at", "at": JOINT})
    matches = {fact["fact_id"]: fact["temporal_match"] for fact in body["facts"]}
    assert matches == {units[2]: "confirmed", open_end: "possible", undated: "possible"}


# Disagreement is what somebody declared to be one


def test_unrelated_facts_contradict_nothing_and_exclusive_ones_name_each_other(harbour):
    topics = ["tomatoes need sun", "Apollo 11 landed in 1969", "the ferry carries mail", "basalt is an igneous rock",
              "Bach wrote fugues", "tea came by ship"]  # fmt: skip
    about = harbour.entity("What is known")
    for topic in topics:
        harbour.observe(about, topic)
    body = harbour.facts("tomatoes Apollo ferry basalt Bach tea", entity_ids=[about])
    assert len(body["facts"]) == len(topics)
    assert {(fact["contradiction_group"], fact["contradiction"]) for fact in body["facts"]} == {(None, None)}
    one = harbour.observe(about, "the ferry carries 310 passengers")
    other = harbour.observe(about, "the ferry carries 290 passengers")
    # Exclusive as they are: nobody has said so yet.
    body = harbour.facts("passengers", entity_ids=[about])
    assert {fact["contradiction"] is None for fact in body["facts"]} == {True}
    group = harbour.contradict(("observation", one), ("observation", other))["id"]
    # One side is answered, the other is not: it is named all the same.
    for question in ({"k": 1, "query": "passengers 310"}, {"k": 30, "query": "tomatoes"}):
        body = harbour.facts(entity_ids=[about], **question)
        disputed = [fact for fact in body["facts"] if fact["fact_id"] in (one, other)]
        assert disputed
        for fact in disputed:
            block = fact["contradiction"]
            assert fact["contradiction_group"] == block["group_id"] == group
            assert (block["returned"], block["total"], block["continuation"]) == (1, 1, None)
            assert {member["fact_id"] for member in block["co_members"]} == {one, other} - {fact["fact_id"]}
        assert all(
            fact["contradiction"] is None for fact in body["facts"] if fact["fact_id"] not in (one, other)
        )
