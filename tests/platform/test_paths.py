"""Places are derived, short, the caller's own, and never two checkouts' at once."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from memoryconsole.embedded import paths
from memoryconsole.embedded.errors import PlaceError


@pytest.fixture
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMORYCONSOLE_STATE_DIR", raising=False)
    monkeypatch.delenv("MEMORYCONSOLE_RUNTIME_DIR", raising=False)


def as_user(monkeypatch: pytest.MonkeyPatch, uid: int, checkout: str) -> paths.Places:
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    monkeypatch.setattr(paths, "CHECKOUT", Path(checkout))
    return paths.places()


@pytest.mark.usefixtures("unset")
@pytest.mark.parametrize("uid", [0, 1000, 4_294_967_294])
@pytest.mark.parametrize("checkout", ["/home/ann/memoryconsole", "/home/ann/" + "very long name/" * 30 + "x"])
def test_sockets_fit_however_deep_the_checkout_lies(
    monkeypatch: pytest.MonkeyPatch, uid: int, checkout: str
) -> None:
    found = as_user(monkeypatch, uid, checkout)
    assert max(len(str(found.postgres_socket)), len(str(found.broker_socket))) <= 75


@pytest.mark.usefixtures("unset")
def test_an_ordinary_user_keeps_the_state_in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    found = as_user(monkeypatch, 1000, "/home/ann/memory console")
    assert found.state == Path("/home/ann/memory console/.state")
    assert found.runtime.parent == Path("/tmp")


@pytest.mark.usefixtures("unset")
def test_root_keeps_the_state_where_another_user_can_reach_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = as_user(monkeypatch, 0, "/srv/private/memoryconsole")
    assert found.state.parent == Path("/var/lib/memoryconsole")


@pytest.mark.usefixtures("unset")
@pytest.mark.parametrize("uid", [0, 1000])
def test_two_checkouts_share_nothing(monkeypatch: pytest.MonkeyPatch, uid: int) -> None:
    one = as_user(monkeypatch, uid, "/srv/one")
    other = as_user(monkeypatch, uid, "/srv/other")
    assert one.state != other.state
    assert one.runtime != other.runtime
    assert one == as_user(monkeypatch, uid, "/srv/one")


def test_two_states_of_one_checkout_share_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMORYCONSOLE_RUNTIME_DIR", raising=False)
    found = set()
    for state in ("/srv/a", "/srv/b"):
        monkeypatch.setenv("MEMORYCONSOLE_STATE_DIR", state)
        found.add(paths.places().runtime)
    assert len(found) == 2


def test_addresses_survive_spaces_and_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYCONSOLE_RUNTIME_DIR", "/srv/a b/100%?")
    parts = conninfo_to_dict(paths.database_url())
    assert parts == {
        "host": "/srv/a b/100%?/pg-main",
        "port": "5432",
        "user": "memoryconsole",
        "dbname": "memoryconsole",
    }
    assert paths.broker_url() == "redis+socket:///srv/a%20b/100%25%3F/broker-main/broker.sock"


@pytest.mark.parametrize("name", ["MEMORYCONSOLE_STATE_DIR", "MEMORYCONSOLE_RUNTIME_DIR"])
def test_a_relative_place_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "somewhere")
    with pytest.raises(PlaceError, match=f"{name} must be an absolute path"):
        paths.places()


def test_a_socket_path_over_the_systems_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYCONSOLE_RUNTIME_DIR", "/srv/" + "x" * 100)
    with pytest.raises(PlaceError, match="MEMORYCONSOLE_RUNTIME_DIR"):
        paths.places()


@pytest.mark.parametrize("name", ["", "Main", "../x", "a b", "a" * 13, "1st"])
def test_an_instance_has_a_plain_name(name: str) -> None:
    with pytest.raises(PlaceError, match="no name for an instance"):
        paths.places(name)


def test_asking_for_places_creates_nothing(state: Path) -> None:
    found = paths.places()
    paths.database_url()
    paths.broker_url()
    assert not state.exists()
    assert not found.runtime.exists()


def make_socket_dir() -> Path:
    found = paths.places()
    return paths.make_socket_dir(found, found.postgres_socket_dir, os.geteuid(), os.getegid())


@pytest.mark.usefixtures("state")
def test_the_socket_folder_is_ours_alone() -> None:
    before = os.umask(0)
    try:
        made = make_socket_dir()
    finally:
        os.umask(before)
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert stat.S_IMODE(made.parent.stat().st_mode) == (0o711 if os.geteuid() == 0 else 0o700)


@pytest.mark.usefixtures("state")
def test_a_socket_folder_open_to_others_is_refused() -> None:
    make_socket_dir().chmod(0o755)
    with pytest.raises(PlaceError, match="open to others"):
        make_socket_dir()


@pytest.mark.usefixtures("state")
def test_a_runtime_folder_others_can_write_to_is_refused() -> None:
    make_socket_dir().parent.chmod(0o777)
    with pytest.raises(PlaceError, match="open to others"):
        make_socket_dir()


@pytest.mark.usefixtures("state")
def test_a_link_in_place_of_the_runtime_folder_is_refused(ground: Path) -> None:
    (ground / "elsewhere").mkdir()
    paths.runtime_dir().symlink_to(ground / "elsewhere")
    with pytest.raises(PlaceError, match="not a folder"):
        make_socket_dir()


@pytest.mark.usefixtures("state")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_somebody_elses_runtime_folder_is_refused() -> None:
    os.chown(make_socket_dir().parent, 12345, 12345)
    with pytest.raises(PlaceError, match="belongs to another user"):
        make_socket_dir()


@pytest.mark.usefixtures("state")
def test_the_secret_key_is_made_once_even_by_processes_that_race() -> None:
    program = "from memoryconsole.embedded.paths import secret_key; print(secret_key())"
    command = [sys.executable, "-c", program]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(6)]
    keys = {process.communicate(timeout=30)[0].strip() for process in running}
    assert keys == {paths.secret_key()}
    assert len(paths.secret_key()) >= 50
    key_file = paths.state_dir() / "secret_key"
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    assert list(paths.state_dir().iterdir()) == [key_file]
