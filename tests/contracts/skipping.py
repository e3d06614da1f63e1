"""Which scenarios are not run, and why. A rule looks at what a scenario uses, never at what it is called.

SKIPPED.md is this module's output for the project's own copy:
`python -m tests.contracts.skipping > tests/contracts/SKIPPED.md`
"""

from collections.abc import Iterator

from tests.contracts.reconstruct_format import Call, Given, plans
from tests.contracts.scenario_files import FILES, OWN_COPY, Scenario, load

# Whole files whose contract is not built yet.
FILES_NOT_BUILT = {
    "expand_query": "needs expand-query",
    "context_bundle": "needs context-bundle",
}
# What `uses` finds and the product does not have yet.
NOT_BUILT = {
    "get_contents": "needs get_contents",
    "declare_associations": "needs declared associations over the API",
    "traverse": "needs traverse",
    "nodes": "needs nodes",
}
# The routes behind them, below a store's address. A test fails when one of them is there and still skipped.
ROUTES = {
    "expand_query": "expand-query",
    "context_bundle": "context-bundle",
    "get_contents": "contents",
    "declare_associations": "associations",
    "traverse": "traverse",
}
MANUAL = "manual: no server test can show it"


def reason(name: str, scenario: Scenario) -> str | None:
    """Why a scenario of a file is not run; None when it is. The scenario has been validated."""
    if name in FILES_NOT_BUILT:
        return FILES_NOT_BUILT[name]
    if scenario.get("manual"):
        return MANUAL
    used = set(uses(scenario))
    return next((why for feature, why in NOT_BUILT.items() if feature in used), None)


def uses(scenario: Scenario) -> Iterator[str]:
    """The tools a scenario calls, and the features its data and steps need."""
    for given, calls in plans(scenario):
        yield from _used_by_data(given)
        for call in calls:
            yield from _used_by_call(call)


def _used_by_data(given: Given) -> Iterator[str]:
    if any("nodes" in record for record in given.get("records", ())):
        yield "nodes"
    for step in given.get("steps", ()):
        if step["op"] == "declare":
            yield "declare_associations"
        if step["op"] in ("drop_nodes", "wait_for_nodes"):
            yield "nodes"


def _used_by_call(call: Call) -> Iterator[str]:
    yield call["tool"]
    if call["tool"] == "store" and _rides(call["args"]):
        yield "declare_associations"


def _rides(args: object) -> bool:
    """Whether an association rides on a record to be stored."""
    records = args.get("records") if isinstance(args, dict) else None
    return isinstance(records, list) and any(
        isinstance(record, dict) and "associations" in record for record in records
    )


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
