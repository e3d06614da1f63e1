"""The machine-readable description: complete, valid, without a warning."""

import yaml
from django.core.management import call_command
from rest_framework.test import APIClient

from tests.architecture.test_documents import api_routes


def described(tmp_path):
    path = tmp_path / "schema.yaml"
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(path))
    return yaml.safe_load(path.read_text())


def test_it_is_valid_and_names_every_route(tmp_path):
    schema = described(tmp_path)
    assert schema["openapi"].startswith("3.1")
    routes = {(m.upper(), path) for path, item in schema["paths"].items() for m in item if m != "parameters"}
    assert routes == {(method, address) for method, address, _ in api_routes()}


def test_every_operation_says_what_can_go_wrong_and_how_to_prove_oneself(tmp_path):
    for path, item in described(tmp_path)["paths"].items():
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
