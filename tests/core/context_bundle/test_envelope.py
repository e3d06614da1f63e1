"""The closed models, the schema made from them, and what the grain keeps empty (contract, sections B and F)."""

import json
from pathlib import Path

import jsonschema
import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from provenance.context_bundle.core import BUNDLE_SCHEMA, SCHEMA, envelope
from provenance.context_bundle.core.envelope import GrainBroken
from provenance.context_bundle.core.negatives import (
    before_horizon,
    cursor_refused,
    no_facts,
    no_testimony,
    not_exhaustive,
    unknown_entity,
)
from provenance.context_bundle.core.schema import ARRAYS, MODELS, NotClosed, make
from provenance.context_bundle.core.truncation import PRECEDENCE, resolve_truncation, truncation
from tests.contracts import check_envelope
from tests.core.context_bundle.builders import FRESH, SCOPE, day, uuid

GOLDEN = sorted((Path(check_envelope.__file__).parent / "scenarios" / "golden").glob("*.json"))

is_envelope = jsonschema_rs.validator_for(SCHEMA).validate
is_bundle = jsonschema_rs.validator_for(BUNDLE_SCHEMA).validate

# fmt: off
THE_ORDER = [
    "grain", "temporal_scope", "entities", "facts", "evidence", "fact_evidence", "evidence_totals", "chunks", "sources",
    "transcript", "nodes", "paths", "edges", "ranking", "changes", "aggregate", "pages",
    "freshness", "truncation", "dropped_by_hydration", "excluded_unstamped", "negative",
]
# fmt: on


def plain(**given):
    return envelope(**{"grain": "fact", "scope": SCOPE, "freshness": FRESH, **given})


def parts(value, path=()):
    """Every object in a JSON value, and the way to it."""
    if isinstance(value, dict):
        yield path, value
    for key, each in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from parts(each, (*path, key))


def test_both_schemas_are_json_schema():
    for schema in (SCHEMA, BUNDLE_SCHEMA):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert json.loads(json.dumps(schema)) == schema
    refs = {each["$ref"].rpartition("/")[2] for _, each in parts(BUNDLE_SCHEMA) if "$ref" in each}
    assert refs <= BUNDLE_SCHEMA["$defs"].keys()


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_the_schema_takes_every_golden_answer_and_keeps_its_order(path):
    body = json.loads(path.read_text(encoding="utf-8"))
    # The one liberty of the examples: a co-member without its kind.
    for _, each in parts(body):
        for member in each.get("co_members", ()):
            member.setdefault("kind", "observation")
    (is_bundle if "contract" in body else is_envelope)(body)
    for child in (body["claims_and_sources"], body["facts"]) if "contract" in body else (body,):
        assert list(child) == THE_ORDER
        for array in ARRAYS:
            for row in child[array]:
                model = MODELS["Envelope"][array]["items"]["$ref"].rpartition("/")[2]
                assert row.keys() == MODELS[model].keys()


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_every_object_is_closed_and_every_key_required(path):
    body = json.loads(path.read_text(encoding="utf-8"))
    validate = jsonschema.Draft202012Validator(BUNDLE_SCHEMA if "contract" in body else SCHEMA)
    for _, each in parts(body):
        for member in each.get("co_members", ()):
            member.setdefault("kind", "observation")
    ways = [way for way, _ in parts(body) if "features" not in way and "signals" not in way]
    for way in ways[:: max(1, len(ways) // 12)]:
        for change in ("more", "less"):
            broken = json.loads(json.dumps(body))
            place = broken
            for key in way:
                place = place[key]
            if change == "more":
                place["surplus"] = 1
            else:
                place.pop(next(iter(place)))
            assert not validate.is_valid(broken), (way, change)


def test_an_envelope_has_every_key_in_the_contracts_order():
    body = plain()
    assert list(body) == THE_ORDER
    assert all(body[name] == [] for name in ARRAYS)
    is_envelope(body)
    assert check_envelope.check(body) == []


def test_a_value_with_other_keys_than_its_model_is_none():
    with pytest.raises(NotClosed):
        make("Span", char_start=1)
    with pytest.raises(NotClosed):
        make("Span", char_start=1, char_end=2, confidence=1)
    with pytest.raises(NotClosed):
        plain(parts=[])


def test_the_schema_refuses_what_is_no_id_no_instant_and_no_scope():
    node = {"entity_id": uuid("e", 1), "name": "Pier", "hops": 1}
    is_envelope(plain(nodes=[node]))
    stamp, coordinate = plain()["freshness"], plain()["temporal_scope"]
    for broken in (
        {**plain(), "nodes": [{**node, "entity_id": uuid("E", 1)}]},
        {**plain(), "nodes": [{**node, "hops": -1}]},
        {**plain(), "freshness": {**stamp, "pg_live_ts": "2026-09-30T10:00:00"}},
        {**plain(), "freshness": {**stamp, "pg_live_ts": "2026-09-30T10:00:00+00:00"}},
        {**plain(), "temporal_scope": {**coordinate, "at": "2026-09-30T10:00:00Z"}},
        {**plain(), "temporal_scope": {**coordinate, "mode": "at"}},
        {**plain(), "grain": "bundle"},
    ):
        with pytest.raises(jsonschema_rs.ValidationError):
            is_envelope(broken)


@pytest.mark.parametrize(
    ("grain", "filled", "allowed"),
    [
        ("fact", "chunks", False),
        ("fact", "pages", False),
        ("fact", "nodes", True),
        ("fact", "evidence", False),
        ("evidence", "facts", False),
        ("evidence", "fact_evidence", False),
        ("evidence", "evidence_totals", False),
        ("evidence", "nodes", False),
        ("evidence", "edges", False),
        ("evidence", "paths", False),
        ("evidence", "evidence", True),
        ("evidence", "chunks", True),
        ("composite", "sources", True),
        ("compiled", "facts", False),
        ("compiled", "pages", True),
    ],
)
def test_the_grain_says_what_stays_empty(grain, filled, allowed):
    row = {"claim_id": uuid("c", 1)}
    if allowed:
        assert plain(grain=grain, **{filled: [row]})[filled] == [row]
    else:
        with pytest.raises(GrainBroken):
            plain(grain=grain, **{filled: [row]})


def test_evidence_of_a_fact_envelope_backs_a_fact():
    row = {"claim_id": uuid("c", 1)}
    assert plain(evidence=[row], fact_evidence=[row])["evidence"] == [row]


counts = st.tuples(st.integers(0, 9), st.integers(0, 9)).map(sorted)


@given(counts, st.sets(st.sampled_from(PRECEDENCE[:-1])), st.sampled_from((None, "next")))
def test_what_is_always_true_of_a_truncation(pair, budgets, continuation):
    returned, total = pair
    cut = truncation(returned=returned, total=total, budgets=budgets, continuation=continuation)
    exact, truncated = cut["total_is_exact"], cut["truncated"]
    assert (cut["returned"], cut["estimated_total"]) == (returned, total)
    assert exact is not bool(budgets)
    assert truncated is (total > returned or bool(budgets))
    if exact:
        assert truncated is (cut["estimated_total"] > cut["returned"])
    assert (cut["reason"] is not None) is truncated
    assert cut["continuation"] == (continuation if total > returned else None)
    named = [each for each in PRECEDENCE if each in budgets]
    if truncated:
        assert cut["reason"] == (named or ["result_budget"])[0]


def test_a_list_with_a_name_for_its_own_bound_names_it():
    cut = truncation(returned=40, total=41, cut="transcript_limit")
    assert (cut["reason"], cut["total_is_exact"]) == ("transcript_limit", True)
    assert truncation(returned=40, total=40, cut="transcript_limit")["reason"] is None
    assert resolve_truncation()["estimated_total"] == resolve_truncation()["returned"] + 1
    with pytest.raises(ValueError, match="2 of 1"):
        truncation(returned=2, total=1)


def test_every_no_is_one_of_three_and_says_something():
    noes = [
        unknown_entity(),
        before_horizon(day(0), day(1)),
        cursor_refused(),
        *(no_testimony(anchored=anchored) for anchored in (True, False)),
        *(
            no_facts(anchored=anchored, predicate=each)
            for anchored in (True, False)
            for each in (None, "works_for")
        ),
        *(not_exhaustive(reason) for reason in (*PRECEDENCE, None)),
    ]
    for no in noes:
        assert check_envelope.check(plain(negative=no)) == []
        assert no["workaround"]
        assert no["explanation"].endswith(".")
    assert unknown_entity() == unknown_entity()
    assert "2026-01-02T00:00:00Z" in before_horizon(day(0), day(1))["workaround"]
