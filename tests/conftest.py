"""What every test may use. Tests isolate by making stores of their own: nothing is wrapped in a transaction and
nothing is truncated, because every read contract opens its own snapshot.

The cast: Ada makes stores and is their admin. Ben is a member where a test says so. Cleo must not learn that any of
Ada's stores exist.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import override_settings, setup_databases
from django.utils import timezone
from rest_framework.test import APIClient

from memoryconsole import migrations
from memoryconsole.celery import app as celery
from memoryconsole.models import (
    Job,
    Membership,
    Role,
    Scope,
    Store,
    StoreCounter,
    Token,
    TokenGrant,
    User,
)
from memoryconsole.models.jobs import JobState
from tests import properties  # noqa: F401 (sets how Hypothesis looks for counterexamples)
from tests.contracts.check_envelope import check


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None,
    django_db_modify_db_settings: None,
    django_db_blocker: Any,
    pytestconfig: pytest.Config,
) -> None:
    """The test database, made once and kept: pytest-django's own fixture looks for marks that no test here carries.

    It is made anew when a migration it was made with has changed since.
    """
    keep = pytestconfig.getvalue("reuse_db") and not pytestconfig.getvalue("create_db")
    with django_db_blocker.unblock():
        keep = keep and made_with() == migrations_digest()
        # Nothing is serialized: a kept database grows with every run, and no test rolls back to its beginning.
        setup_databases(verbosity=0, interactive=False, keepdb=keep, serialized_aliases=[])
        with connection.cursor() as cursor:
            name = connection.ops.quote_name(connection.settings_dict["NAME"])
            cursor.execute(f"COMMENT ON DATABASE {name} IS '{migrations_digest()}'")
        # What earlier runs left waiting would be swept before this run's: a sweep sends the oldest thousand.
        Job.objects.filter(state__in=[JobState.QUEUED, JobState.RUNNING]).delete()


def migrations_digest() -> str:
    files = sorted(Path(migrations.__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def made_with() -> str | None:
    """The digest of the migrations the kept test database was made with; None when there is none."""
    with connection._nodb_cursor() as cursor:
        cursor.execute(
            "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s",
            [connection.creation._get_test_db_name()],
        )
        row = cursor.fetchone()
    return row[0] if row else None


@pytest.fixture(scope="session", autouse=True)
def _database(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock():
        yield


@pytest.fixture(scope="session", autouse=True)
def _cheap_passwords() -> Iterator[None]:
    """Hashing a password is slow on purpose; no test here is about how slow."""
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield


@pytest.fixture(scope="session", autouse=True)
def _broker() -> None:
    """A broker inside the process: nobody listens, a job waits in its table until a test runs it (`run_jobs`)."""
    celery.conf.broker_url = "memory://"


def make_user(name: str, **fields: Any) -> User:
    """A user whose name is unique in the database, which outlives the test."""
    suffix = os.urandom(6).hex()
    return User.objects.create_user(f"{name}-{suffix}", password="correct horse", **fields)


@pytest.fixture
def ada() -> User:
    return make_user("ada", can_create_stores=True)


@pytest.fixture
def ben() -> User:
    return make_user("ben")


@pytest.fixture
def cleo() -> User:
    return make_user("cleo", can_create_stores=True)


def make_store(owner: User, name: str = "kitchen", **fields: Any) -> Store:
    store = Store.objects.create(name=name, created_at=timezone.now(), created_by=owner, **fields)
    StoreCounter.objects.create(store=store)
    Membership.objects.create(store=store, user=owner, role=Role.ADMIN)
    return store


@pytest.fixture
def store(ada: User) -> Store:
    return make_store(ada)


def url(store: Store, tail: str = "") -> str:
    """The address of a store over the API, and of what is under it."""
    return f"/api/v1/stores/{store.public_id}{tail}"


# The routes whose answers are envelopes and bundles.
_ENVELOPES = re.compile(r"/api/v1/stores/[^/]+/(?:operations/[^/]+|context-bundle)")


class CheckedClient(APIClient):
    """A client that lets no envelope and no bundle pass that its contract does not allow, whatever the test is about."""

    def request(self, **request: Any) -> Any:
        answer = super().request(**request)
        if answer.status_code == 200 and _ENVELOPES.fullmatch(request["PATH_INFO"]):
            faults = check(json.loads(answer.content))
            assert not faults, f"{request['PATH_INFO']}: {'; '.join(faults)}"
        return answer


def make_client(user: User, *stores: Store, scopes: "list[Scope] | None" = None) -> CheckedClient:
    """An API client with a token of the user's that reaches the stores."""
    chosen = list(Scope) if scopes is None else scopes
    token, text = Token.issue(
        user=user, name="test", scopes=[scope.value for scope in chosen], now=timezone.now()
    )
    TokenGrant.objects.bulk_create(TokenGrant(token=token, store=store) for store in stores)
    client = CheckedClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")
    return client


@pytest.fixture
def api(ada: User, store: Store) -> APIClient:
    """Ada's client on `store`."""
    return make_client(ada, store)


@pytest.fixture
def say(api: APIClient, store: Store) -> Callable[..., list[str]]:
    """Store records through the API; takes texts or whole bodies, answers their refs."""

    def say(*records: "str | dict[str, Any]") -> list[str]:
        bodies = [{"content": record} if isinstance(record, str) else record for record in records]
        answer = api.post(f"/api/v1/stores/{store.public_id}/records", {"records": bodies}, format="json")
        assert answer.status_code == 201, answer.content
        return [row["ref"] for row in answer.json()["records"]]

    return say


@pytest.fixture
def run_jobs() -> Callable[[Store], None]:
    """Do a store's waiting background work now."""
    from memoryconsole import jobs
    from memoryconsole.models import Job

    def run(store: Store) -> None:
        for pk in Job.objects.filter(store=store, state="queued").order_by("pk").values_list("pk", flat=True):
            jobs.run(pk)

    return run
