"""The machine-readable description: complete, valid, without a warning."""

import pytest
import yaml
from django.core.management import call_command
from rest_framework.test import APIClient

from tests.architecture.test_documents import DOCS, api_routes, table


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    path = tmp_path_factory.mktemp("schema") / "schema.yaml"
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(path))
    return yaml.safe_load(path.read_text())


def test_it_is_valid_and_names_every_route(schema):
    assert schema["openapi"].startswith("3.1")
    routes = {(m.upper(), path) for path, item in schema["paths"].items() for m in item if m != "parameters"}
    assert routes == {(method, address) for method, address, _ in api_routes()}


def test_every_operation_says_what_can_go_wrong_and_how_to_prove_oneself(schema):
    for path, item in schema["paths"].items():
        for method, operation in item.items():
            where = f"{method} {path}"
            assert {"400", "401", "403", "404"} <= operation["responses"].keys(), where
            problem = operation["responses"]["400"]["content"]["application/problem+json"]["schema"]
            assert problem == {"$ref": "#/components/schemas/Problem"}, where
            assert {"token": []} in operation["security"], where
            assert operation["description"], where


def test_it_is_served_with_its_reader_and_no_foreign_host(client):
    assert APIClient().get("/api/v1/schema").status_code == 200
    page = client.get("/api/v1/docs").content.decode()
    assert "http://" not in page
    assert "https://" not in page


def test_bodies_take_no_further_members(schema):
    bodies = [
        operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rsplit("/", 1)[1]
        for item in schema["paths"].values()
        for operation in item.values()
        # A file is another media type, and has no members.
        if "application/json" in operation.get("requestBody", {"content": {}})["content"]
    ]
    assert len(bodies) >= 6
    for name in bodies:
        assert schema["components"]["schemas"][name]["additionalProperties"] is False, name


def test_what_takes_an_if_match_says_so_here_and_in_the_words(schema):
    described = {
        (method.upper(), path)
        for path, item in schema["paths"].items()
        for method, operation in item.items()
        if any(each.get("name") == "If-Match" for each in operation.get("parameters", ()))
    }
    rows = table((DOCS / "api.md").read_text(encoding="utf-8"), "Routes and scopes")
    told = {(method, address) for method, address, _, words in rows if "(`If-Match" in words}
    assert described == told
    assert len(told) >= 10
