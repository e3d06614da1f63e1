"""Every scenario of `reconstruct.json`, run on real data."""

import pytest

from tests.contracts import running, skipping
from tests.contracts.reconstruct_format import validate
from tests.contracts.scenario_files import Scenario, cases


@pytest.mark.parametrize("scenario", cases("reconstruct"))
def test_scenario(scenario: Scenario) -> None:
    validate(scenario)
    if reason := skipping.reason("reconstruct", scenario):
        pytest.skip(reason)
    faults = running.faults(scenario, running.run(scenario))
    if faults:
        pytest.fail("\n".join([scenario["title"], *faults]), pytrace=False)
