"""Whoever changes what decides must say whether it decides otherwise.

`versions.json` holds, for the running version of the core, the digest of the modules that decide. When one of them
changed: give `CORE` (reconstruct/core/__init__.py) a new name if any answer can differ, and write golden traces of it
(tests/services/test_golden_traces.py); then record the new digest here either way.
"""

import hashlib
import json
from pathlib import Path

from reconstruct import core

FOLDER = Path(core.__file__).parent
DECIDING = ("types", "policy", "bundle", "walk", "structure", "quote", "allocate", "rebuild", "response")
VERSIONS = Path(__file__).with_name("versions.json")


def test_the_core_is_the_version_it_says():
    digest = hashlib.sha256(b"".join((FOLDER / f"{name}.py").read_bytes() for name in DECIDING)).hexdigest()
    assert json.loads(VERSIONS.read_text(encoding="utf-8")) == {core.CORE: digest}
