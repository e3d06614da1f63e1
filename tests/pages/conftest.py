"""People at the console: signed in, with a role on Ada's store."""

from collections.abc import Callable

import pytest
from django.test import Client

from memoryconsole.models import Membership, Role, Store, User


@pytest.fixture
def sign_in() -> Callable[[User], Client]:
    def sign_in(user: User, **options: bool) -> Client:
        client = Client(**options)
        client.force_login(user)
        return client

    return sign_in


@pytest.fixture
def join(store: Store) -> Callable[[User, Role], User]:
    """Make somebody a member of the store."""

    def join(user: User, role: Role) -> User:
        Membership.objects.create(store=store, user=user, role=role)
        return user

    return join


@pytest.fixture
def console(ada: User, sign_in: Callable[[User], Client]) -> Client:
    """Ada's browser."""
    return sign_in(ada)


@pytest.fixture
def at(store: Store) -> Callable[[str], str]:
    """The address of a page of the store."""
    return lambda tail="": f"/stores/{store.public_id}/{tail}"
