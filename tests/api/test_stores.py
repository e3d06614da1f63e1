"""Stores and their settings."""

import re

import pytest

from memoryconsole.models import StoreSettings
from tests.conftest import url


def test_ids_are_generated_readable_and_never_the_name(cleo):
    from tests.conftest import make_client

    client = make_client(cleo)
    ids = [
        client.post("/api/v1/stores", {"name": "Harbour team"}, format="json").json()["id"] for _ in range(3)
    ]
    assert len(set(ids)) == 3
    assert all(re.fullmatch(r"harbour-team-[23456789bcdfghjkmnpqrstvwxz]{8}", i) for i in ids)


@pytest.mark.parametrize("name", ["山", "!!!", "x" * 100])
def test_any_name_makes_an_address(name, cleo):
    from tests.conftest import make_client

    answer = make_client(cleo).post("/api/v1/stores", {"name": name}, format="json")
    assert answer.status_code == 201
    assert re.fullmatch(r"[a-z0-9-]{9,48}", answer.json()["id"])
    assert answer.json()["name"] == name


def test_creating_with_a_key_creates_once(cleo):
    from tests.conftest import make_client

    client = make_client(cleo)
    made = [
        client.post("/api/v1/stores", {"name": "x"}, format="json", headers={"Idempotency-Key": "a"}).json()[
            "id"
        ]
        for _ in range(2)
    ]
    assert made[0] == made[1]
    assert len(client.get("/api/v1/stores").json()["results"]) == 1


def test_settings_are_saved_kept_as_history_and_taken_back(api, store):
    first = api.patch(url(store), {"settings": {"default_count": 3, "preview_chars": 200}}, format="json")
    assert first.status_code == 200
    assert first["ETag"] == '"2"'
    assert first.json()["settings"]["default_count"] == 3
    second = api.patch(url(store), {"settings": {"default_count": None}}, format="json").json()["settings"]
    assert (second["default_count"], second["preview_chars"]) == (None, 200)
    history = StoreSettings.objects.filter(store=store).order_by("version")
    assert [(row.version, row.default_count) for row in history] == [(2, 3), (3, None)]


def test_a_stale_change_is_refused(api, store):
    tag = api.get(url(store))["ETag"]
    assert api.patch(url(store), {"name": "a"}, format="json", headers={"If-Match": tag}).status_code == 200
    stale = api.patch(url(store), {"name": "b"}, format="json", headers={"If-Match": tag})
    assert (stale.status_code, stale.json()["code"]) == (412, "stale_resource")
    assert (
        api.patch(url(store), {"name": "c"}, format="json", headers={"If-Match": '"abc"'}).status_code == 412
    )
    assert api.patch(url(store), {"name": "d"}, format="json", headers={"If-Match": "*"}).status_code == 200


def test_settings_change_what_reconstruct_does(api, store, say):
    say(*({"content": f"walrus {n}", "timestamp": f"2026-01-0{n}T10:00:00Z"} for n in range(1, 5)))
    api.patch(url(store), {"settings": {"default_count": 3}}, format="json")
    body = api.post(url(store, "/reconstruct"), {"query": "walrus"}, format="json").json()
    assert (body["effective_count"], body["returned_count"]) == (3, 3)


def test_a_ceiling_lowered_later_stops_that_store_alone(api, ada, store, say, settings):
    from tests.conftest import make_client, make_store

    other = make_store(ada, "garden")
    say("walrus")
    api.patch(url(store), {"settings": {"max_count": 8}}, format="json")
    settings.RECONSTRUCT = settings.RECONSTRUCT | {"max_count": 5}
    answer = api.post(url(store, "/reconstruct"), {"query": "walrus"}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (503, "store_settings_invalid")
    assert "max_count" in answer.json()["detail"]
    assert (
        make_client(ada, other).post(url(other, "/reconstruct"), {"query": "x"}, format="json").status_code
        == 200
    )
    # It can be read and mended.
    assert api.get(url(store)).status_code == 200
    assert api.patch(url(store), {"settings": {"max_count": None}}, format="json").status_code == 200
    assert api.post(url(store, "/reconstruct"), {"query": "walrus"}, format="json").status_code == 200


def test_a_store_that_has_changed_is_not_deleted_by_mistake(api, store):
    stale = api.delete(url(store), headers={"If-Match": '"999"'})
    assert (stale.status_code, stale.json()["code"]) == (412, "stale_resource")
    assert api.get(url(store)).status_code == 200
    assert api.delete(url(store), headers={"If-Match": '"1"'}).status_code == 204


def test_a_repeated_creation_is_judged_again_and_says_nothing_of_a_store_that_is_gone(cleo):
    from memoryconsole.models import IdempotencyKey, Scope
    from tests.conftest import make_client

    client, key = make_client(cleo), {"Idempotency-Key": "a"}
    made = client.post("/api/v1/stores", {"name": "secret plan"}, format="json", headers=key).json()
    reader = make_client(cleo, scopes=[Scope.READ])
    assert (
        reader.post("/api/v1/stores", {"name": "secret plan"}, format="json", headers=key).status_code == 403
    )
    assert "secret plan" not in str(IdempotencyKey.objects.get(user=cleo, key="a").answer)
    client.delete(f"/api/v1/stores/{made['id']}")
    again = client.post("/api/v1/stores", {"name": "secret plan"}, format="json", headers=key)
    assert again.status_code == 404


def test_a_cursor_over_stores_tells_no_count_of_stores(cleo):
    import base64

    from tests.conftest import make_client, make_store

    made = [make_store(cleo, f"s{n}") for n in range(3)]
    stores = sorted(store.public_id for store in made)
    client = make_client(cleo, *made)
    first = client.get("/api/v1/stores?limit=2").json()
    payload = first["next_cursor"].split(":")[0]
    decoded = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)).decode()
    assert stores[1] in decoded
    second = client.get("/api/v1/stores", {"limit": 2, "cursor": first["next_cursor"]}).json()
    assert [row["id"] for row in first["results"] + second["results"]] == stores[::-1]
