"""Declaring and traversing through the API, for the tests of the declared graph."""

import pytest

from tests.api.declared import url


@pytest.fixture
def declare(api, store):
    """Declare, answer the body. `status` what it must be."""

    def declare(associations=None, *, status=200, **members):
        body = members if associations is None else {"associations": associations, **members}
        answer = api.post(url(store, "/associations"), body, format="json")
        assert answer.status_code == status, answer.content
        return answer.json()

    return declare


@pytest.fixture
def traverse(api, store):
    def traverse(entity, **members):
        answer = api.post(url(store, "/traverse"), {"entity": entity, **members}, format="json")
        assert answer.status_code == 200, answer.content
        return answer.json()

    return traverse
