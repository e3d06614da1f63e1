"""The lock files pin everything with hashes, agree with each other, and every choice has its reason."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from memoryconsole.embedded.paths import CHECKOUT

REQUIREMENTS = CHECKOUT / "requirements"
PIN = re.compile(r"^(?P<name>[a-z0-9][a-z0-9.-]*)==(?P<version>[^ ;\\]+)(?P<marker> ; [^\\]+)? ?\\?$")


def pins(name: str) -> dict[tuple[str, str], str]:
    """Version by (package, marker)."""
    found = {}
    for line in (REQUIREMENTS / name).read_text().splitlines():
        if line and not line.startswith((" ", "#")):
            match = PIN.match(line)
            assert match, f"not a pin: {line}"
            found[match["name"], (match["marker"] or "").strip()] = match["version"]
    return found


def chosen(name: str) -> set[str]:
    lines = (REQUIREMENTS / name).read_text().splitlines()
    return {re.split(r"[\[=~<> ;]", line)[0] for line in lines if line and not line.startswith(("#", "-"))}


@pytest.mark.parametrize("name", ["base.lock", "dev.lock"])
def test_every_pin_has_a_hash_and_names_no_index(name: str) -> None:
    text = (REQUIREMENTS / name).read_text()
    entries = re.split(r"\n(?=[a-z0-9])", text)[1:]
    assert len(entries) == len(pins(name)) > 30
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []
    assert not re.search(r"https?:|--(extra-)?index-url|--find-links|file:| @ ", text)


def test_the_development_lock_holds_all_of_the_products() -> None:
    product, development = pins("base.lock"), pins("dev.lock")
    assert {key: development.get(key) for key in product} == product


@pytest.mark.parametrize("name", ["base", "dev"])
def test_what_is_chosen_is_locked(name: str) -> None:
    locked = {package for package, _marker in pins(f"{name}.lock")}
    assert chosen(f"{name}.in") - locked == set()


def test_every_choice_has_its_reason_and_no_reason_is_left_over() -> None:
    text = (CHECKOUT / "docs" / "dependencies.md").read_text()
    tables = re.findall(r"## [^\n]*\(`requirements/(base|dev)\.in`\)\n(.*?)(?=\n## |\Z)", text, re.DOTALL)
    assert [name for name, _table in tables] == ["base", "dev"]
    for name, table in tables:
        rows = dict(re.findall(r"^\| ([a-z0-9-]+) \| (.+) \|$", table, re.MULTILINE))
        rows.pop("package", None)
        assert set(rows) == chosen(f"{name}.in")
        assert min(len(reason) for reason in rows.values()) > 10


@pytest.fixture
def project(ground: Path) -> Path:
    """A folder with only what the installation needs, under a path with spaces."""
    folder = ground / "my project"
    (folder / "requirements").mkdir(parents=True)
    for name in ("Makefile", "requirements/install.sh", "requirements/base.lock", "requirements/dev.lock"):
        shutil.copy(CHECKOUT / name, folder / name)
    return folder


def fake_python(folder: Path, name: str, version: str, *, new_enough: bool) -> Path:
    """Answers the questions of install.sh, and writes down what it is asked to do."""
    program = folder / name
    program.write_text(
        "#!/bin/sh\n"
        f'echo "$@" >> "{folder}/calls"\n'
        'case "$1 $2" in\n'
        f'  "--version "*) echo "Python {version}" ;;\n'
        f'  "-c "*) exit {0 if new_enough else 1} ;;\n'
        '  "-m venv") mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;\n'
        "esac\n"
    )
    program.chmod(0o755)
    return program


def install(
    project: Path, tools: Path, target: str = "base", *arguments: str
) -> subprocess.CompletedProcess[str]:
    system = tools / "system"
    system.mkdir(exist_ok=True)
    for name in ("sh", "cmp", "cp", "rm", "mkdir", "make"):
        found = shutil.which(name)
        assert found, f"no {name} here"
        if not (system / name).exists():
            (system / name).symlink_to(found)
    return subprocess.run(
        ["make", target, *arguments], cwd=project, env={"PATH": f"{tools}:{system}"},
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip


def test_a_python_that_is_too_old_is_named_and_nothing_is_made(project: Path, ground: Path) -> None:
    fake_python(ground, "python3", "3.9.2", new_enough=False)
    done = install(project, ground)
    assert done.returncode != 0
    assert "needs Python 3.11 or newer; python3 here is: Python 3.9.2" in done.stderr
    assert not (project / ".venv").exists()


def test_a_newer_python_beside_an_old_one_is_found(project: Path, ground: Path) -> None:
    fake_python(ground, "python3", "3.9.2", new_enough=False)
    fake_python(ground, "python3.12", "3.12.1", new_enough=True)
    assert "with Python 3.12.1" in install(project, ground).stdout


def test_it_installs_by_hash_once_and_again_when_the_lock_changes(project: Path, ground: Path) -> None:
    calls = ground / "calls"
    fake_python(ground, "python3", "3.11.2", new_enough=True)
    first = install(project, ground)
    assert first.returncode == 0, first.stderr
    assert len(first.stdout.splitlines()) <= 3
    (pip,) = [line for line in calls.read_text().splitlines() if "pip install" in line]
    assert "--require-hashes" in pip
    assert pip.endswith("-r requirements/base.lock")
    calls.write_text("")
    assert install(project, ground).stdout == ""
    assert "pip install" not in calls.read_text()
    (project / "requirements" / "base.lock").write_text("changed\n")
    install(project, ground)
    assert "pip install" in calls.read_text()


def test_what_development_installs_need_not_be_installed_again_to_run(project: Path, ground: Path) -> None:
    fake_python(ground, "python3", "3.11.2", new_enough=True)
    install(project, ground, "dev")
    (ground / "calls").write_text("")
    install(project, ground, "base")
    assert "pip install" not in (ground / "calls").read_text()
