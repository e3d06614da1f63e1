"""The house: three floors, stairs one way, and cores that know nothing of the world."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLOORS = ("memoryconsole", "reconstruct", "provenance")
WORLD = {"django", "rest_framework", "celery", "psycopg", "httpx", "kombu", "redis"}
IMPURE = {"time", "random", "secrets", "logging", "os", "socket", "subprocess", "threading", "uuid"}
# settings.py and urls.py name the upper floors as strings, which is no import.


def modules(floor: str) -> list[Path]:
    return sorted(path for path in (ROOT / floor).rglob("*.py") if "migrations" not in path.parts)


def imported(path: Path) -> set[str]:
    """Every absolute module name a file imports, wherever in the file; relative imports resolved."""
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = (
                ".".join([*package[: len(package) - node.level + 1], node.module or ""])
                if node.level
                else node.module
            )
            names |= {str(base), *(f"{base}.{alias.name}" for alias in node.names)}
    return names


def touches(names: set[str], target: str) -> set[str]:
    return {name for name in names if name == target or name.startswith(f"{target}.")}


def in_core(path: Path) -> bool:
    return "core" in path.relative_to(ROOT).parts


def faults(path: Path) -> list[str]:
    """What a module imports against the rules of its floor."""
    names = imported(path)
    floor = path.relative_to(ROOT).parts[0]
    found: set[str] = set()
    if floor == "memoryconsole":
        found |= touches(names, "reconstruct") | touches(names, "provenance")
    if floor == "reconstruct":
        found |= touches(names, "provenance")
    if in_core(path):
        found |= touches(names, "memoryconsole")
        allowed = {floor, "numpy", "__future__"} | ({"reconstruct"} if floor == "provenance" else set())
        found |= {
            name
            for name in names
            if (root := name.split(".")[0]) not in allowed
            and (root not in sys.stdlib_module_names or root in IMPURE)
        }
    elif floor == "provenance":
        found |= {
            name
            for name in touches(names, "reconstruct") - {"reconstruct"}
            if not name.startswith(("reconstruct.services", "reconstruct.core"))
        }
    return sorted(found)


@pytest.mark.parametrize(
    "path", [p for floor in FLOORS for p in modules(floor)], ids=lambda p: str(p.relative_to(ROOT))
)
def test_imports_go_down_the_stairs_only(path):
    assert faults(path) == []


def test_the_rule_can_fail(tmp_path, monkeypatch):
    """The checker sees each kind of forbidden import (made on purpose)."""
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    cases = {
        "memoryconsole/a.py": "from reconstruct import services",
        "memoryconsole/b.py": "def late():\n    import provenance.urls",
        "reconstruct/c.py": "import provenance",
        "reconstruct/core/d.py": "from django.db import models",
        "reconstruct/core/e.py": "import time",
        "reconstruct/core/f.py": "from memoryconsole.times import read_stamp",
        "provenance/g.py": "from reconstruct.recall import read_snapshot",
    }
    for name, text in cases.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        assert faults(path), name


def test_only_the_ground_floor_has_tables_and_migrations():
    for floor in ("reconstruct", "provenance"):
        assert not list((ROOT / floor).rglob("migrations"))
        assert not list((ROOT / floor).rglob("models*"))


def test_importing_the_package_loads_nothing_heavy():
    """The client must be importable without Celery or Django."""
    assert (ROOT / "memoryconsole" / "__init__.py").read_text().strip() == ""
