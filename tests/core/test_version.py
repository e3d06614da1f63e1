"""Whoever changes what decides must say whether it decides otherwise.

`versions.json` holds, for the running version of each core, the digest of the modules that decide. When one of them
changed: give `CORE` (the core's `__init__.py`) a new name if any answer can differ, and write golden traces of it
(tests/services/test_golden_traces.py, for reconstruct); then record the new digest here either way:
`python -m tests.core.test_version` writes them.
"""

import hashlib
import json
from pathlib import Path
from types import ModuleType

import pytest

from provenance.context_bundle import core as context_bundle
from provenance.expand_query import core as expand_query
from reconstruct import core as reconstruct

VERSIONS = Path(__file__).with_name("versions.json")
CORES = (reconstruct, expand_query, context_bundle)
# Modules that explain what was decided, and decide nothing.
TELLING = {"__init__", "outline", "missed", "why", "cues"}


def digest_of(core: ModuleType) -> str:
    modules = sorted(Path(core.__file__ or "").parent.glob("*.py"))
    deciding = [module for module in modules if module.stem not in TELLING]
    return hashlib.sha256(b"".join(module.read_bytes() for module in deciding)).hexdigest()


@pytest.mark.parametrize("core", CORES, ids=lambda core: core.CORE)
def test_the_core_is_the_version_it_says(core: ModuleType) -> None:
    assert json.loads(VERSIONS.read_text(encoding="utf-8"))[core.CORE] == digest_of(core)


if __name__ == "__main__":
    VERSIONS.write_text(
        json.dumps({core.CORE: digest_of(core) for core in CORES}, indent=1) + "\n", encoding="utf-8"
    )
