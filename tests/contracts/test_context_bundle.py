"""Every scenario of `context_bundle.json`, over HTTP, with a clock that stands still."""

import pytest

from tests.contracts import bundle_running, skipping
from tests.contracts.bundle_format import validate
from tests.contracts.scenario_files import Scenario, cases


@pytest.mark.parametrize("scenario", cases("context_bundle"))
def test_scenario(scenario: Scenario) -> None:
    validate(scenario)
    if reason := skipping.reason("context_bundle", scenario):
        pytest.skip(reason)
    faults = bundle_running.faults(scenario, bundle_running.run(scenario))
    if faults:
        pytest.fail("\n".join([scenario["title"], *faults]), pytrace=False)
