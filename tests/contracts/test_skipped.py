"""What is skipped is said, and only what is not there."""

import os
from pathlib import Path
from typing import Any

import pytest

from memoryconsole import registry
from tests.contracts import offered, skipping

LISTING = Path(__file__).parent / "SKIPPED.md"


@pytest.mark.skipif(
    "MEMORYCONSOLE_CONTRACTS" in os.environ, reason="SKIPPED.md is about the project's own copy"
)
def test_the_listing_is_what_is_skipped() -> None:
    assert LISTING.read_text(encoding="utf-8") == skipping.listing()


def asking(op: str, **given: Any) -> dict[str, Any]:
    return {"given": given, "call": {"op": op, "args": {}}}


@pytest.mark.parametrize(
    "scenario",
    [
        asking("delta"),
        asking("facts_context", prior_calls=[{"as": "p", "op": "delta", "args": {}}]),
    ],
)
def test_a_scenario_is_run_when_all_its_operations_are_registered(
    scenario: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "operation_names", lambda: ["facts_context"])
    assert skipping.reason("context_bundle", scenario) == "the operation delta is not registered"
    monkeypatch.setattr(registry, "operation_names", lambda: ["delta", "facts_context"])
    assert skipping.reason("context_bundle", scenario) is None


def test_an_operation_that_is_no_read_is_looked_for_by_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "operation_names", lambda: ["facts_context"])
    monkeypatch.setitem(offered.ADDRESSES, "forget_document", "/no-such-route")
    lacking = "the operation forget_document is not registered"
    assert skipping.reason("context_bundle", asking("forget_document")) == lacking
    # A store can only be in the middle of forgetting when it can forget.
    assert skipping.reason("context_bundle", asking("facts_context", fault={"forget": "running"})) == lacking
    monkeypatch.setitem(offered.ADDRESSES, "forget_document", "/records")
    assert skipping.reason("context_bundle", asking("forget_document")) is None
