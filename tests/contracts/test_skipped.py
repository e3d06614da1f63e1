"""What is skipped is said, and only what is not there."""

import os
from pathlib import Path

import pytest
from django.urls import Resolver404, resolve

from tests.contracts import skipping

LISTING = Path(__file__).parent / "SKIPPED.md"


@pytest.mark.skipif(
    "MEMORYCONSOLE_CONTRACTS" in os.environ, reason="SKIPPED.md is about the project's own copy"
)
def test_the_listing_is_what_is_skipped() -> None:
    assert LISTING.read_text(encoding="utf-8") == skipping.listing()


@pytest.mark.parametrize("feature", skipping.ROUTES)
def test_a_route_that_is_there_is_not_skipped(feature: str) -> None:
    assert feature in skipping.FILES_NOT_BUILT or feature in skipping.LEVELS_NOT_BUILT
    with pytest.raises(Resolver404):
        resolve(f"/api/v1/stores/kitchen-23456789/{skipping.ROUTES[feature]}")


def test_a_route_that_is_there_would_be_found() -> None:
    assert resolve("/api/v1/stores/kitchen-23456789/reconstruct")
