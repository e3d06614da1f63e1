"""The door: every route, swept with another tenant's token. The sweep finds new routes by itself."""

import json
import re
import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from memoryconsole import jobs
from memoryconsole.models import Membership, Role, Scope, Token
from tests.architecture.test_documents import api_routes
from tests.conftest import make_client, make_store

MARKER = "the spare key hangs behind the walrus"

SOME_ID = "6f1c2f0e-8a55-4c0b-9d4e-3f0a1b2c3d4e"
EVIDENCE = {"claim_id": SOME_ID, "stance": "supports"}
A_FACT = {"kind": "observation", "id": SOME_ID}
FACT = "/api/v1/stores/{store}/facts/{kind}/{fact}"
GROUP = "/api/v1/stores/{store}/contradictions/{group}"

# What a valid call of each route looks like: a route that is missing here fails the sweep until it is added.
BODIES = {
    "/api/v1/stores/{store}": {"PATCH": {"name": "renamed"}},
    "/api/v1/stores/{store}/records": {"POST": {"records": [{"content": "x"}]}},
    "/api/v1/stores/{store}/summaries": {"POST": {"summary": "x"}},
    "/api/v1/stores/{store}/reconstruct": {"POST": {"query": "walrus"}},
    "/api/v1/stores/{store}/recall": {"POST": {"query": "walrus"}},
    "/api/v1/stores/{store}/traverse": {"POST": {"entity": "walrus"}},
    "/api/v1/stores/{store}/associations": {"POST": {"associations": {"entities": [{"name": "walrus"}]}}},
    "/api/v1/stores/{store}/associations/preview": {"POST": {"retract": {"relations": [1]}}},
    "/api/v1/stores/{store}/contents": {"POST": {"refs": ["mem:1"]}},
    "/api/v1/stores/{store}/payloads": {"POST": {"payloads": [{"content": "x", "session_id": "s"}]}},
    "/api/v1/stores/{store}/expand-query": {"POST": {"session_id": "s", "prompt": "why?", "query": "walrus"}},
    "/api/v1/stores/{store}/expand": {"POST": {"session_id": "s", "store_id": 1}},
    "/api/v1/stores/{store}/verify": {"POST": {"answer": {"items": []}}},
    "/api/v1/stores/{store}/context-bundle": {"POST": {"query": "walrus"}},
    "/api/v1/stores/{store}/operations/resolve_entity": {"POST": {"name": "walrus"}},
    "/api/v1/stores/{store}/operations/claims_and_sources_context": {"POST": {"query": "walrus"}},
    "/api/v1/stores/{store}/operations/facts_context": {"POST": {"query": "walrus"}},
    "/api/v1/stores/{store}/operations/combined_context": {"POST": {"query": "walrus"}},
    "/api/v1/stores/{store}/operations/contradiction_members": {"POST": {"group_id": SOME_ID}},
    "/api/v1/jobs/{job}/cancel": {"POST": {}},
    "/api/v1/traces/{trace}/replay": {"POST": {}},
    "/api/v1/traces/{trace}/rerun": {"POST": {}},
    "/api/v1/stores/{store}/exports": {"POST": {}},
    "/api/v1/stores/{store}/imports": {"POST": b'{"content": "x"}'},
    "/api/v1/stores/{store}/entities": {"POST": {"name": "walrus"}},
    "/api/v1/stores/{store}/entities/{entity}/aliases": {"POST": {"alias": "tusk"}},
    "/api/v1/stores/{store}/entities/{entity}/merge": {"POST": {"absorbed_id": SOME_ID}},
    "/api/v1/stores/{store}/mentions": {"POST": {"chunk_id": SOME_ID, "entity_id": SOME_ID, "quote": "x"}},
    "/api/v1/stores/{store}/merges/{merge}/reverse": {"POST": {}},
    "/api/v1/stores/{store}/documents": {
        "POST": {"source_kind": "file", "source_ref": "walrus.md", "text": "x"}
    },
    "/api/v1/stores/{store}/documents/{document}/versions": {"POST": {"text": "x"}},
    "/api/v1/stores/{store}/claims": {"POST": {"chunk_id": SOME_ID, "claim_text": "x", "quote": "x"}},
    "/api/v1/stores/{store}/claims/{claim}/currency": {"POST": {"current": False, "reason": "reextracted"}},
    "/api/v1/stores/{store}/facts": {
        "POST": {"kind": "observation", "subject_id": SOME_ID, "statement": "x", "evidence": [EVIDENCE]}
    },
    f"{FACT}/evidence": {"POST": EVIDENCE},
    f"{FACT}/evidence/detach": {"POST": {"claim_id": SOME_ID}},
    f"{FACT}/window": {"POST": {"window": {"precision": "unknown"}}},
    f"{FACT}/supersede": {"POST": {"successor": A_FACT}},
    f"{FACT}/retract": {"POST": {"reason": "x"}},
    f"{FACT}/support": {"POST": {"verdict": "uncertain"}},
    "/api/v1/stores/{store}/contradictions": {"POST": {"members": [A_FACT]}},
    f"{GROUP}/members": {"POST": {"members": [A_FACT]}},
    f"{GROUP}/resolve": {"POST": {"verdict": "all_stand"}},
}
# What a valid address of a route that is asked something ends with.
QUERIES = {"/api/v1/traces/{trace}/why": "?ref=mem:1", "/api/v1/traces/compare": "?a={trace}&b={trace}"}
STORE_ROUTES = sorted((m, a, s) for m, a, s in api_routes() if a != "/api/v1/stores")


@pytest.fixture
def adas(store, say, api, ada):
    """Ada's store with a marked record, a trace and a job; the address parts of everything in it."""
    say(MARKER)
    asked = api.post(f"/api/v1/stores/{store.public_id}/recall", {"query": MARKER}, format="json")
    job = jobs.start(store, "erase", {}, by=ada, now=timezone.now())
    parts = {"store": store.public_id, "number": "1", "job": str(job.uuid)}
    return NAMED | parts | {"trace": asked.headers["Trace-Id"]}


# Of what a store holds under ids: the store is looked for first, and here it is never found.
NAMED = {"kind": "observation"} | dict.fromkeys(
    ("claim", "document", "entity", "fact", "group", "merge"), SOME_ID
)
UNKNOWN = NAMED | {
    "store": "kitchen-22222222",
    "number": "1",
    "job": str(uuid.uuid4()),
    "trace": str(uuid.uuid4()),
}


def call(client, method, address, parts):
    body = BODIES.get(address, {}).get(method)
    if body is None and method in ("POST", "PATCH", "PUT"):
        pytest.fail(f"add a valid body for {method} {address} to BODIES")
    url = re.sub(r"{(\w+)}", lambda match: parts[match[1]], address + QUERIES.get(address, ""))
    if isinstance(body, bytes):
        return client.generic(method, url, body, "application/x-ndjson")
    return client.generic(method, url, json.dumps(body) if body is not None else "", "application/json")


def told(response):
    """An answer without what names this one request."""
    body = json.loads(response.content)
    body.pop("instance")
    return response.status_code, response["Content-Type"], body


def statements(captured, parts):
    """The SQL a call ran, without its values."""
    shown = []
    for query in captured.captured_queries:
        sql = re.sub(r"'[^']*'(::\w+)?", "?", query["sql"])
        shown.append(re.sub(r"\b\d+\b", "?", sql))
    return shown


@pytest.mark.parametrize(("method", "address", "scope"), STORE_ROUTES)
def test_a_foreign_store_is_an_unknown_store(method, address, scope, adas, cleo):
    """Same status, same body, same statements: nothing tells the two apart."""
    client = make_client(cleo, make_store(cleo))
    call(client, method, address, UNKNOWN)  # warms what is cached
    with CaptureQueriesContext(connection) as unknown_sql:
        unknown = call(client, method, address, UNKNOWN)
    with CaptureQueriesContext(connection) as foreign_sql:
        foreign = call(client, method, address, adas)
    assert foreign.status_code == 404
    assert foreign["Content-Type"] == "application/problem+json"
    assert MARKER not in foreign.content.decode()
    assert told(foreign) == told(unknown)
    assert statements(foreign_sql, adas) == statements(unknown_sql, UNKNOWN)


@pytest.mark.parametrize(("method", "address", "scope"), STORE_ROUTES)
def test_a_token_granted_another_store_of_the_same_person_opens_nothing(method, address, scope, adas, ada):
    client = make_client(ada, make_store(ada, "garden"))
    assert call(client, method, address, adas).status_code == 404


@pytest.mark.parametrize(("method", "address", "scope"), STORE_ROUTES)
def test_a_missing_scope_on_a_visible_store_is_403(method, address, scope, adas, ada, store):
    client = make_client(ada, store, scopes=[s for s in Scope if s.value != scope])
    answer = call(client, method, address, adas)
    assert answer.status_code == 403
    assert answer.json()["code"] == "not_permitted"
    assert scope in answer.json()["detail"]


@pytest.mark.parametrize(("method", "address", "scope"), sorted(api_routes()))
def test_without_credentials_every_route_is_401(method, address, scope, adas):
    answer = call_bare(APIClient(), method, address, adas)
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == "Bearer"
    assert answer.json()["code"] == "not_authenticated"


def call_bare(client, method, address, parts):
    url = re.sub(r"{(\w+)}", lambda match: parts[match[1]], address + QUERIES.get(address, ""))
    return client.generic(method, url, "", "application/json")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda token: Token.objects.filter(pk=token.pk).update(revoked_at=timezone.now()),
        lambda token: Token.objects.filter(pk=token.pk).update(expires_at=timezone.now()),
        lambda token: type(token.user).objects.filter(pk=token.user_id).update(is_active=False),
    ],
    ids=["revoked", "expired", "its person is disabled"],
)
def test_a_token_that_ended_is_refused(spoil, ada, store):
    client = make_client(ada, store)
    url = f"/api/v1/stores/{store.public_id}"
    assert client.get(url).status_code == 200
    spoil(Token.objects.get(user=ada))
    assert client.get(url).status_code == 401


@pytest.mark.parametrize(
    "header", ["Bearer", "Bearer ", "Bearer nonsense", "Bearer \x80\udcff", "bearer mc_x y"]
)
def test_a_malformed_token_is_refused_not_ignored(header, store):
    answer = APIClient().get("/api/v1/stores", HTTP_AUTHORIZATION=header)
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer")


def test_a_token_never_has_more_than_its_person(ben, ada, store):
    """Ben is a viewer; a token of his with every scope still only reads, and ends with his membership."""
    membership = Membership.objects.create(store=store, user=ben, role=Role.VIEWER)
    client = make_client(ben, store)
    url = f"/api/v1/stores/{store.public_id}"
    assert client.get(url).status_code == 200
    assert client.patch(url, {"name": "x"}, format="json").status_code == 403
    membership.delete()
    assert client.get(url).status_code == 404


def test_only_its_digest_is_kept_of_a_token(ada):
    token, text = Token.issue(user=ada, name="t", scopes=["read"], now=timezone.now())
    stored = Token.objects.values().get(pk=token.pk)
    assert text not in json.dumps(stored, default=str)
    assert stored["prefix"] == text[:10]


def test_signed_in_people_use_the_api_and_unsafe_calls_need_the_csrf_token(ada, store):
    client = APIClient(enforce_csrf_checks=True)
    assert client.login(username=ada.username, password="correct horse")
    url = f"/api/v1/stores/{store.public_id}"
    assert client.get(url).status_code == 200
    refused = client.patch(url, {"name": "x"}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (403, "not_permitted")


def test_only_accounts_that_may_create_stores_do(ben, cleo):
    assert make_client(ben).post("/api/v1/stores", {"name": "x"}, format="json").status_code == 403
    client = make_client(cleo)
    made = client.post("/api/v1/stores", {"name": "Café Größe 山"}, format="json")
    assert made.status_code == 201
    assert re.fullmatch(r"cafe-groe-[a-z0-9]{8}|cafe-gro-e-[a-z0-9]{8}", made.json()["id"])
    # Its maker, and the token that made it, may use it.
    assert client.get(f"/api/v1/stores/{made.json()['id']}").status_code == 200


def test_the_list_of_stores_shows_mine_alone(ada, cleo, store):
    own = make_store(cleo, "study")
    listed = make_client(cleo, own).get("/api/v1/stores").json()["results"]
    assert [row["id"] for row in listed] == [own.public_id]
    # A token sees the stores it was granted, not all of its person's.
    make_store(cleo, "attic")
    assert len(make_client(cleo, own).get("/api/v1/stores").json()["results"]) == 1


def test_every_answer_carries_a_request_id_and_an_acceptable_one_is_kept(api, store):
    url = f"/api/v1/stores/{store.public_id}"
    assert re.fullmatch(r"[0-9a-f]{32}", api.get(url)["X-Request-Id"])
    assert api.get(url, HTTP_X_REQUEST_ID="run-4711.a")["X-Request-Id"] == "run-4711.a"
    assert api.get(url, HTTP_X_REQUEST_ID="a\nb")["X-Request-Id"] != "a\nb"
    missing = api.get("/api/v1/stores/none-22222222")
    assert missing.json()["instance"] == f"urn:request:{missing['X-Request-Id']}"


@pytest.mark.parametrize(
    "path", ["/api/v1/nothing", "/api/v1/stores/UPPER", "/api/v1/stores/a%00b", "/api/v2/stores"]
)
def test_an_address_that_does_not_exist_is_a_problem_too(path, api):
    answer = api.get(path)
    assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")
    assert answer.json()["code"] == "not_found"


def test_a_host_that_is_not_served_is_a_problem_too(api):
    answer = api.get("/api/v1/stores", HTTP_HOST="elsewhere.example")
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")


@pytest.mark.parametrize("path", ["/reconstruct", "/recall"])
def test_a_database_that_is_away_is_503_and_says_when_to_come_back(path, api, store, monkeypatch):
    from django.db import OperationalError

    def away():
        raise OperationalError("connection refused\nmore")

    monkeypatch.setattr("reconstruct.services.snapshot", away)
    answer = api.post(f"/api/v1/stores/{store.public_id}{path}", {"query": "x"}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert answer["Retry-After"] == "5"
    assert "refused" not in answer.content.decode()
    if path == "/reconstruct":
        assert (answer.json()["ok"], answer.json()["items"]) == (False, [])
