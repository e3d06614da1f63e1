"""The last lines of a run: one JSON object per file of scenarios."""

import json
import re
from typing import Any

import pytest

from tests.contracts.scenario_files import FILES, absent_files, folder

# A file that the folder lacks has no cases, not one skipped case.
collect_ignore = [f"test_{name}.py" for name in absent_files()]

_CASE = re.compile(r"contracts/test_(\w+)\.py::test_scenario\[(.*)\]$", re.DOTALL)


class Tally:
    """What became of each scenario, by file. Reports of one scenario come one per phase."""

    def __init__(self) -> None:
        self._outcomes: dict[str, dict[str, str]] = {}

    def take(self, report: Any) -> None:
        case = _CASE.search(report.nodeid)
        if case is None:
            return
        outcomes = self._outcomes.setdefault(case[1], {})
        if report.failed:
            outcomes[case[2]] = "failed"
        elif report.skipped or report.when == "call":
            # Never over a failure: what fails in any phase has failed.
            outcomes.setdefault(case[2], report.outcome)

    def lines(self) -> list[str]:
        ran = [name for name in FILES if name in self._outcomes]
        return [json.dumps({"file": f"{name}.json", **_counts(self._outcomes[name])}) for name in ran]


def _counts(outcomes: dict[str, str]) -> dict[str, int]:
    found = list(outcomes.values())
    counts = {outcome: found.count(outcome) for outcome in ("passed", "failed", "skipped")}
    return {"ran": counts["passed"] + counts["failed"], **counts}


tally = Tally()


def pytest_report_header() -> str:
    return f"contract scenarios: {folder()}"


def pytest_runtest_logreport(report: Any) -> None:
    # pytest-xdist hands its workers' reports to the process that was started.
    tally.take(report)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None or hasattr(config, "workerinput"):
        return
    for line in tally.lines():
        terminal.write_line(line)
