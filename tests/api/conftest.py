"""The calls that several rooms of these tests make through the API: each answers the body."""

import pytest

from tests.conftest import url


@pytest.fixture
def ask(api, store):
    def ask(query, **members):
        answer = api.post(url(store, "/reconstruct"), {"query": query, **members}, format="json")
        assert answer.status_code == 200, answer.content
        return answer.json()

    return ask


@pytest.fixture
def read(api, store):
    def read(*refs):
        answer = api.post(url(store, "/contents"), {"refs": list(refs)}, format="json")
        assert answer.status_code == 200, answer.content
        return answer.json()

    return read


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
