"""Whose process the embedded database is: PostgreSQL refuses to run as root."""

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memoryconsole.embedded.errors import StartFailed, Unavailable
from memoryconsole.embedded.paths import as_root

OWN_USER = "memoryconsole"
# Names that systems keep for this, in the order of how much else runs under them.
OTHER_USERS = ("postgres", "_postgres", "nobody")
TIMEOUT_SECONDS = 30


@dataclass(frozen=True, slots=True)
class ServerUser:
    """The user the server's programs run as. `drops`: the caller is root and becomes that user."""

    name: str
    uid: int
    gid: int
    drops: bool
    how: str

    def run_options(self) -> dict[str, Any]:
        """Keyword arguments for subprocess: become that user, keep none of root's groups or variables."""
        # Without the caller's PG* variables, and in a language whose messages the tests know.
        environment = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}
        options: dict[str, Any] = {"env": environment, "stdin": subprocess.DEVNULL, "start_new_session": True}
        if self.drops:
            options |= {"user": self.uid, "group": self.gid, "extra_groups": []}
        return options


def server_user(existing_data: Path) -> ServerUser:
    """The caller; for root the owner of `existing_data` if it exists, else a system user, made if need be."""
    if not as_root():
        return ServerUser(_name(os.geteuid()), os.geteuid(), os.getegid(), drops=False, how="the caller")
    if existing_data.exists():
        owner = existing_data.stat()
        if owner.st_uid != 0:
            return ServerUser(_name(owner.st_uid), owner.st_uid, owner.st_gid, True, "owner of the data")
    found = _look_up(OWN_USER)
    if found is not None:
        return _dropping(found, "system user")
    return _dropping(*_make_or_borrow())


def _make_or_borrow() -> tuple[pwd.struct_passwd, str]:
    reason = "there is no useradd"
    program = shutil.which("useradd") or shutil.which("useradd", path="/usr/sbin:/sbin")
    if program:
        command = [program, "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"]
        done = subprocess.run(
            [*command, "--shell", "/usr/sbin/nologin", "--comment", "memoryconsole database", OWN_USER],
            capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        made = _look_up(OWN_USER)  # another process may have been first
        if made is not None:
            return made, "system user, made now" if done.returncode == 0 else "system user"
        reason = f"useradd failed: {done.stderr.strip()}"
    for name in OTHER_USERS:
        other = _look_up(name)
        if other is not None and other.pw_uid != 0:
            return other, f"borrowed, because {reason}"
    raise Unavailable(
        f"PostgreSQL does not run as root, and no other user was found ({reason}): "
        f"make a system user named {OWN_USER}, or set DATABASE_URL to a server of your own"
    )


def check_reach(user: ServerUser, program: Path, folder: Path) -> None:
    """Make sure that the user can run `program` and write to `folder`. Raises StartFailed."""
    if not user.drops:
        return
    for test, path in (("-x", program), ("-w", folder)):
        command = ["/bin/sh", "-c", 'test "$1" "$2"', "sh", test, str(path)]
        try:
            done = subprocess.run(
                command, cwd="/", timeout=TIMEOUT_SECONDS, check=False, **user.run_options()
            )
        except PermissionError as fault:
            raise StartFailed(f"this root user may not become {user.name} ({fault})") from fault
        if done.returncode != 0:
            raise StartFailed(
                f"the database runs as {user.name}, who cannot reach {path}: set MEMORYCONSOLE_STATE_DIR to "
                "a folder outside of private homes (unset, it is below /var/lib/memoryconsole)"
            )


def _dropping(entry: pwd.struct_passwd, how: str) -> ServerUser:
    return ServerUser(entry.pw_name, entry.pw_uid, entry.pw_gid, drops=True, how=how)


def _look_up(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"  # containers run under ids that have no name
