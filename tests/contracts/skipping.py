"""Which scenarios are not run, and why. A rule looks at what the product offers or at a mark, never at a name.

SKIPPED.md is this module's output for the project's own copy:
`python -m tests.contracts.skipping > tests/contracts/SKIPPED.md`
"""

import os

from tests.contracts.scenario_files import FILES, OWN_COPY, Scenario, load

MANUAL = "manual: no server test can show it"


def reason(name: str, scenario: Scenario) -> str | None:
    """Why a scenario of a file is not run; None when it is. The scenario has been validated."""
    if scenario.get("manual") or scenario.get("level") == "manual":
        return MANUAL
    if name != "context_bundle":
        return None
    from tests.contracts.offered import missing_operation

    missing = missing_operation(scenario)
    return None if missing is None else f"the operation {missing} is not registered"


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


def _print() -> None:
    import django

    # No database is asked; whatever stands in for a key signs nothing.
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryconsole.settings")
    os.environ.setdefault("MEMORYCONSOLE_SECRET_KEY", "a key for the listing alone")
    os.environ.setdefault("DATABASE_URL", "postgresql://localhost/none")
    django.setup()
    print(listing(), end="")


if __name__ == "__main__":
    _print()
