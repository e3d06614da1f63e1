"""Where the embedded parts keep their files and sockets: derived, never searched for.

Every process of one checkout computes the same places, and two checkouts never share one. Nothing is started
or created by asking, apart from `secret_key` and the `make_*` functions.

    state     <checkout>/.state           as an ordinary user
              /var/lib/memoryconsole/<digest of the checkout>   as root, because the database must then run
              as another user, who cannot reach a checkout inside somebody's home
    runtime   /tmp/memoryconsole-<uid>-<digest of the state>    sockets: their paths may not be long
              /run/memoryconsole-<digest of the state>          as root

MEMORYCONSOLE_STATE_DIR and MEMORYCONSOLE_RUNTIME_DIR put them elsewhere (absolute paths).
"""

import hashlib
import os
import re
import secrets
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from memoryconsole.embedded.errors import PlaceError

CHECKOUT = Path(__file__).resolve().parents[2]
SYSTEM_STATE = Path("/var/lib/memoryconsole")
DATABASE = "memoryconsole"
ROLE = "memoryconsole"
PORT = 5432  # only names the socket file: the server listens on no network address
# sockaddr_un.sun_path less its closing NUL (unix(7); macOS has 104 bytes).
SOCKET_PATH_BYTES = 107 if sys.platform.startswith("linux") else 103
DIGEST_CHARS = 10  # 40 bits: two checkouts of one machine do not meet
INSTANCE_NAME = re.compile(r"[a-z][a-z0-9]{0,11}")


@dataclass(frozen=True, slots=True)
class Places:
    """The files of one instance ("main" serves, "test" is for the test suite)."""

    instance: str
    state: Path
    runtime: Path

    @property
    def home(self) -> Path:
        return self.state / self.instance

    @property
    def postgres_home(self) -> Path:
        """Belongs to the user the database runs as."""
        return self.home / "postgres"

    @property
    def postgres_data(self) -> Path:
        return self.postgres_home / "data"

    @property
    def postgres_log(self) -> Path:
        return self.postgres_home / "server.log"

    @property
    def postgres_socket_dir(self) -> Path:
        return self.runtime / f"pg-{self.instance}"

    @property
    def postgres_socket(self) -> Path:
        return self.postgres_socket_dir / f".s.PGSQL.{PORT}"

    @property
    def broker_home(self) -> Path:
        return self.home / "broker"

    @property
    def broker_log(self) -> Path:
        return self.broker_home / "broker.log"

    @property
    def broker_socket_dir(self) -> Path:
        return self.runtime / f"broker-{self.instance}"

    @property
    def broker_socket(self) -> Path:
        return self.broker_socket_dir / "broker.sock"

    @property
    def logs(self) -> Path:
        return self.home / "log"

    def database_url(self, database: str = DATABASE) -> str:
        host = quote(str(self.postgres_socket_dir), safe="")
        return f"postgresql://{ROLE}@/{database}?host={host}&port={PORT}"

    def broker_url(self) -> str:
        return f"redis+socket://{quote(str(self.broker_socket))}"


def places(instance: str = "main") -> Places:
    """Raises PlaceError for a name that is no instance's and for sockets whose path would be too long."""
    if not INSTANCE_NAME.fullmatch(instance):
        raise PlaceError(f"{instance!r} is no name for an instance: use up to 12 of a-z, 0-9, a letter first")
    found = Places(instance, state_dir(), runtime_dir())
    for socket in (found.postgres_socket, found.broker_socket):
        if len(os.fsencode(socket)) > SOCKET_PATH_BYTES:
            raise PlaceError(
                f"the socket path {socket} is longer than {SOCKET_PATH_BYTES} bytes, the system's limit: "
                "set MEMORYCONSOLE_RUNTIME_DIR to a shorter folder"
            )
    return found


def database_url(instance: str = "main") -> str:
    """The address of the embedded database, which need not be running."""
    return places(instance).database_url()


def broker_url(instance: str = "main") -> str:
    """The address of the embedded broker, in Celery's spelling."""
    return places(instance).broker_url()


def state_dir() -> Path:
    """Data, logs and copied programs of this checkout. Survives restarts of the machine."""
    given = _from_environment("MEMORYCONSOLE_STATE_DIR")
    if given is not None:
        return given
    return SYSTEM_STATE / _digest(CHECKOUT) if as_root() else CHECKOUT / ".state"


def runtime_dir() -> Path:
    """Sockets alone. Derived from the state, so that two states never meet in one socket."""
    given = _from_environment("MEMORYCONSOLE_RUNTIME_DIR")
    if given is not None:
        return given
    digest = _digest(Path(os.path.realpath(state_dir())))
    run = Path("/run")
    if as_root() and run.is_dir():
        return run / f"memoryconsole-{digest}"
    return Path("/tmp") / f"memoryconsole-{os.geteuid()}-{digest}"  # noqa: S108 (ownership is checked)


def as_root() -> bool:
    return os.geteuid() == 0


def make_state_dir() -> Path:
    """Create the state folder. As root others may pass through it, not list it: the database's user must."""
    return make_dir(state_dir(), passable=as_root())


def make_home(found: Places) -> Path:
    return make_dir(found.home, passable=as_root())


def make_socket_dir(found: Places, socket_dir: Path, owner: int, group: int) -> Path:
    """Create the folder of one part's socket for user id `owner`, or accept one that is theirs alone.

    Whoever can enter it can use the part, so anything looser is refused, never mended: PlaceError.
    """
    make_dir(found.runtime, passable=as_root())
    _check_private(found.runtime, owner=os.geteuid(), forbidden=0o022)
    make_dir(socket_dir)
    if owner != os.geteuid() and socket_dir.lstat().st_uid == os.geteuid():
        os.chown(socket_dir, owner, group)
    _check_private(socket_dir, owner=owner, forbidden=0o077)
    return socket_dir


def make_dir(path: Path, *, passable: bool = False) -> Path:
    """Create `path` and its missing parents, with mode 0700, or 0711 if `passable`.

    The mode of a folder that exists is never changed. Raises PlaceError.
    """
    try:
        if not path.parent.is_dir():
            make_dir(path.parent, passable=passable)
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            if not path.is_dir():
                raise PlaceError(f"{path} exists and is not a folder") from None
        else:
            path.chmod(0o711 if passable else 0o700)  # whatever the umask says
    except OSError as fault:
        raise PlaceError(f"cannot use the folder {path}: {fault.strerror or fault}") from fault
    return path


def secret_key() -> str:
    """The key that signs sessions of an installation without one of its own: made once, kept in the state."""
    path = make_state_dir() / "secret_key"
    try:
        return _read_secret(path)
    except FileNotFoundError:
        pass
    draft = path.with_name(f"secret_key.{os.getpid()}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as writer:
        writer.write(secrets.token_urlsafe(48))
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        pass  # another process was first: its key counts
    finally:
        draft.unlink()
    return _read_secret(path)


def _read_secret(path: Path) -> str:
    text = path.read_text(encoding="ascii").strip()
    if len(text) < 32:
        raise PlaceError(f"{path} holds no usable key: remove it and start again")
    return text


def _from_environment(name: str) -> Path | None:
    value = os.environ.get(name, "")
    if not value:
        return None
    if not os.path.isabs(value):
        raise PlaceError(f"{name} must be an absolute path, not {value!r}")
    return Path(os.path.normpath(value))


def _digest(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:DIGEST_CHARS]


def _check_private(path: Path, *, owner: int, forbidden: int) -> None:
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise PlaceError(f"{path} is not a folder (a link, perhaps): remove it")
    if found.st_uid != owner:
        raise PlaceError(
            f"{path} belongs to another user (uid {found.st_uid}, not {owner}): it is not safe to use"
        )
    if found.st_mode & forbidden:
        raise PlaceError(
            f"{path} is open to others (mode {stat.S_IMODE(found.st_mode):04o}): it is not safe to use"
        )
