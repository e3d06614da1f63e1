"""The check of an answer before it leaves: what is refused, and that a refusal quotes nothing."""

import copy
from datetime import UTC, datetime

import pytest

from provenance.context_bundle.contract import ContractBroken, check_envelope
from provenance.context_bundle.core import envelope
from tests.core.context_bundle.builders import FRESH, SCOPE

WHOLE = envelope(grain="fact", scope=SCOPE, freshness=FRESH)


def test_a_closed_envelope_passes():
    check_envelope(WHOLE)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda body: body.update(grain="walrus secret"), "/grain: enum"),
        (lambda body: body.update(walrus="secret"), "/: additionalProperties"),
        (lambda body: body.pop("negative"), "/: required"),
        (lambda body: body.update(dropped_by_hydration="secret"), "/dropped_by_hydration: type"),
        (lambda body: body.update(dropped_by_hydration=True), "/dropped_by_hydration: type"),
        (lambda body: body.update(dropped_by_hydration=float("nan")), "/dropped_by_hydration: type"),
        (lambda body: body["temporal_scope"].update(believed_at="secret"), "/temporal_scope"),
        (
            lambda body: body.update(dropped_by_hydration=datetime(2026, 3, 1, tzinfo=UTC)),
            "JSON does not have",
        ),
        (lambda body: body.update({1: 2}), "JSON does not have"),
    ],
)
def test_a_refusal_says_where_and_not_what(change, where):
    body = copy.deepcopy(WHOLE)
    change(body)
    with pytest.raises(ContractBroken) as refused:
        check_envelope(body)
    assert where in str(refused.value)
    assert "secret" not in str(refused.value)
