"""Every scenario of `expand_query.json`: those of the builder on the pure core, the others over HTTP."""

import pytest

from tests.contracts import expand_running, skipping
from tests.contracts.expand_format import validate
from tests.contracts.scenario_files import Scenario, cases


@pytest.mark.parametrize("scenario", cases("expand_query"))
def test_scenario(scenario: Scenario) -> None:
    validate(scenario)
    if reason := skipping.reason("expand_query", scenario):
        pytest.skip(reason)
    faults = expand_running.faults(scenario, expand_running.run(scenario))
    if faults:
        pytest.fail("\n".join([scenario["title"], *faults]), pytrace=False)
