"""`python -m memoryconsole.embedded.remove [instance]`: stop an instance and delete all that it stored.

Without an instance: all of them, and what they share. Only files this package knows are deleted, so that a
state folder somebody chose for other things too keeps the other things.
"""

import shutil
import sys

from memoryconsole.embedded import paths
from memoryconsole.embedded.broker import Broker
from memoryconsole.embedded.errors import EmbeddedError
from memoryconsole.embedded.postgres import Postgres
from memoryconsole.embedded.supervisor import only_one

SHARED_FOLDERS = ("programs",)
SHARED_FILES = ("secret_key",)


def remove_instance(name: str) -> None:
    """Raises AlreadyRunning while `manage.py run` uses it, and what stopping its parts raises."""
    places = paths.places(name)
    if not places.home.is_dir():
        return
    with only_one(places):
        Broker(name).stop()
        Postgres(name).stop(immediate=True)
        shutil.rmtree(places.home)
    for folder in (places.postgres_socket_dir, places.broker_socket_dir):
        shutil.rmtree(folder, ignore_errors=True)


def remove_everything() -> None:
    state = paths.state_dir()
    if not state.is_dir():
        return
    for folder in state.iterdir():
        if paths.INSTANCE_NAME.fullmatch(folder.name) and list(folder.glob("*.lock")):
            remove_instance(folder.name)
    for name in SHARED_FOLDERS:
        shutil.rmtree(state / name, ignore_errors=True)
    for name in SHARED_FILES:
        (state / name).unlink(missing_ok=True)
    for folder in (paths.runtime_dir(), state):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def main(arguments: list[str]) -> int:
    try:
        if arguments:
            for name in arguments:
                remove_instance(name)
        else:
            remove_everything()
    except EmbeddedError as fault:
        print(fault, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
