"""Which scenarios are not run, and why. A rule looks at the file or a mark, never at a name.

SKIPPED.md is this module's output for the project's own copy:
`python -m tests.contracts.skipping > tests/contracts/SKIPPED.md`
"""

from tests.contracts.scenario_files import FILES, OWN_COPY, Scenario, load

# Whole files whose contract is not built yet.
FILES_NOT_BUILT = {
    "context_bundle": "needs context-bundle",
}
# Levels of a file whose route is not built yet.
LEVELS_NOT_BUILT: dict[str, dict[str, str]] = {}
# The routes behind them, below a store's address. A test fails when one of them is there and still skipped.
ROUTES = {
    "context_bundle": "context-bundle",
}
MANUAL = "manual: no server test can show it"


def reason(name: str, scenario: Scenario) -> str | None:
    """Why a scenario of a file is not run; None when it is. The scenario has been validated."""
    if name in FILES_NOT_BUILT:
        return FILES_NOT_BUILT[name]
    if scenario.get("manual") or scenario.get("level") == "manual":
        return MANUAL
    return LEVELS_NOT_BUILT.get(name, {}).get(scenario.get("level", ""))


def listing() -> str:
    """SKIPPED.md."""
    lines = [
        "# Scenarios that are not run",
        "",
        "Written by `python -m tests.contracts.skipping`; a test compares it with what the harness skips.",
        "",
        "| file | scenario | reason |",
        "|---|---|---|",
    ]
    for name in FILES:
        for scenario in load(name, OWN_COPY):
            why = reason(name, scenario)
            if why is not None:
                lines.append(f"| {name}.json | {scenario['id']} | {why} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(listing(), end="")
