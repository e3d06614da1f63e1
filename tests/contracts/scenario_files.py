"""Where the scenarios are: the project's own copy, or the folder that MEMORYCONSOLE_CONTRACTS names."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

OWN_COPY = Path(__file__).parent / "scenarios"
FILES = ("reconstruct", "expand_query", "context_bundle")

Scenario = dict[str, Any]


def folder() -> Path:
    """The folder to run. It may hold only some of the files, but not none."""
    given = os.environ.get("MEMORYCONSOLE_CONTRACTS")
    chosen = Path(given) if given else OWN_COPY
    if not any((chosen / f"{name}.json").is_file() for name in FILES):
        raise pytest.UsageError(f"{chosen} holds no scenarios: {', '.join(f'{n}.json' for n in FILES)}")
    return chosen


def absent_files() -> list[str]:
    return [name for name in FILES if not (folder() / f"{name}.json").is_file()]


def load(name: str, chosen: Path | None = None) -> list[Scenario]:
    """A file's scenarios, in its order. Two of them never share an id."""
    read = json.loads(((chosen or folder()) / f"{name}.json").read_text(encoding="utf-8"))
    scenarios: list[Scenario] = read["scenarios"] if isinstance(read, dict) else read
    ids = [scenario["id"] for scenario in scenarios]
    if repeated := sorted({each for each in ids if ids.count(each) > 1}):
        raise pytest.UsageError(f"{name}.json has two scenarios {', '.join(repeated)}")
    return scenarios


def cases(name: str) -> list[Any]:
    """One pytest case per scenario, whose id is the scenario's."""
    return [pytest.param(scenario, id=scenario["id"]) for scenario in load(name)]
