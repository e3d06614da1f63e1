"""``bundle`` (contract, section H)."""

from copy import deepcopy
from dataclasses import replace

import jsonschema_rs
import pytest
from hypothesis import given

from provenance.context_bundle.core import BUNDLE_SCHEMA, SCHEMA, ChildBroken, bundle
from provenance.context_bundle.core.temporal import Current
from tests.contracts.check_envelope import check
from tests.core.context_bundle.builders import day
from tests.core.context_bundle.worlds import claims_worlds, facts_worlds, relaxed

is_envelope = jsonschema_rs.validator_for(SCHEMA).validate
is_bundle = jsonschema_rs.validator_for(BUNDLE_SCHEMA).validate


@relaxed
@given(claims_worlds(), facts_worlds())
def test_the_children_are_the_direct_answers(claims, facts):
    one, two = claims.answer(), facts.answer()
    kept = deepcopy((one, two))
    body = bundle(one, two, is_envelope)
    is_bundle(body)
    assert check(body) == []
    assert list(body) == ["contract", "claims_and_sources", "facts"]
    assert (body["claims_and_sources"], body["facts"]) == kept


@relaxed
@given(claims_worlds(), facts_worlds())
def test_a_broken_child_takes_the_whole_down(claims, facts):
    one, two = claims.answer(), facts.answer()
    elsewhen = replace(claims, seen=replace(claims.seen, scope=Current(evaluated_at=day(9)))).answer()
    in_history = {**one, "temporal_scope": {**one["temporal_scope"], "mode": "history"}}
    for children in (
        ({**one, "confidence": 1}, two),
        (one, {**two, "parts": []}),
        (one, {name: each for name, each in two.items() if name != "negative"}),
        (two, two),
        (one, one),
        (one, {**two, "grain": "composite"}),
        (in_history, two),
        (elsewhen, two),
        (bundle(one, two, is_envelope), two),
    ):
        with pytest.raises(ChildBroken):
            bundle(*children, is_envelope)
