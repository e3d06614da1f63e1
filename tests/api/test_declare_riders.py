"""Associations that ride on records to be stored (contract: reconstruct J)."""

import pytest

from memoryconsole.models import Association, Entity, IdempotencyKey, Mention, Record
from tests.api.declared import named, paths, relation
from tests.conftest import url


@pytest.fixture
def store_rows(api, store):
    def store_rows(*rows, **headers):
        answer = api.post(url(store, "/records"), {"records": rows}, format="json", **headers)
        assert answer.status_code == 201, answer.content
        return answer.json()["records"]

    return store_rows


def test_the_stored_record_is_the_anchor_in_its_own_project_and_channel(store_rows, store):
    (row,) = store_rows(
        {
            "content": "Odalys tends Larkspur",
            "project_id": "p",
            "channel": "c",
            "associations": {**named("Larkspur"), **relation("Odalys", "tends", "Larkspur")},
        }
    )
    assert row["associations"] == {
        "entities": [{"id": 1, "name": "Larkspur", "created": True}],
        "mentions": 1,
        "relations": [1],
        "dropped": [],
    }
    entity = Entity.objects.get(store=store, number=1)
    assert (entity.project_id, entity.channel) == ("p", "c")
    assert Association.objects.get(store=store).anchor_record.ref == row["ref"]
    assert Mention.objects.get(store=store).record.ref == row["ref"]


def test_rows_of_one_call_see_what_the_rows_before_them_declared(store_rows):
    rows = store_rows(
        {"content": "one", "associations": {"entities": [{"name": "Quay", "aliases": ["kay"]}]}},
        {"content": "two"},
        {"content": "three", "associations": {**named("KAY"), **relation("kay", "near", "mem:1")}},
        {"content": "four", "associations": {"entities": [{"name": "Pier", "aliases": ["kay"]}]}},
    )
    assert "associations" not in rows[1]
    third = rows[2]["associations"]
    assert third["entities"] == [{"id": 1, "name": "Quay", "created": False}]
    assert paths(rows[3]["associations"]) == ["entities[0].aliases[0]"]


def test_every_row_of_a_call_is_stored_before_anything_is_declared(store_rows):
    rows = store_rows(
        {"content": "one", "associations": relation("mem:1", "qualifies", "mem:2")},
        {"content": "two", "associations": relation("mem:2", "qualifies", "mem:3")},
    )
    assert rows[0]["associations"]["relations"] == [1]
    assert paths(rows[1]["associations"]) == ["relations[0].object"]


@pytest.mark.parametrize("value", ["Larkspur", 3, True, [], [{"name": "x"}], 1.5], ids=repr)
def test_the_record_is_stored_whatever_rides_on_it(value, store_rows, store):
    (row,) = store_rows({"content": "x", "associations": value})
    assert row["created"] is True
    assert row["associations"] == {
        "entities": [],
        "mentions": 0,
        "relations": [],
        "dropped": [{"item": "associations", "reason": "must be an object"}],
    }
    assert Record.objects.filter(store=store).count() == 1


@pytest.mark.parametrize("value", [{}, None], ids=repr)
def test_nothing_riding_is_not_reported(value, store_rows):
    assert "associations" not in store_rows({"content": "x", "associations": value})[0]


def test_a_duplicate_is_the_anchor_and_a_new_version_is_its_own(store_rows, store):
    first = store_rows({"content": "v1", "message_id": "m"})[0]
    again = store_rows({"content": "v1", "message_id": "m", "associations": named("Again")})[0]
    newer = store_rows({"content": "v2", "message_id": "m", "associations": named("Again")})[0]
    assert (again["created"], again["ref"], again["associations"]["mentions"]) == (False, first["ref"], 1)
    assert newer["version_of"] == first["ref"]
    mentions = Mention.objects.filter(store=store).order_by("pk")
    assert [mention.record.ref for mention in mentions] == [first["ref"], newer["ref"]]


def test_two_channels_of_one_call_declare_two_relations_even_under_one_anchor(store_rows, store):
    store_rows({"content": "v1", "message_id": "m"}, {"content": "other"})
    same = {"content": "v1", "message_id": "m", "associations": relation("mem:1", "qualifies", "mem:2")}
    rows = store_rows(same | {"channel": "a"}, same | {"channel": "b"}, same | {"channel": "b"})
    assert [row["created"] for row in rows] == [False] * 3
    assert [row["associations"]["relations"] for row in rows] == [[1], [2], [2]]
    channels = Association.objects.filter(store=store).order_by("number").values_list("channel", flat=True)
    assert list(channels) == ["a", "b"]


def test_a_refused_write_declares_nothing(api, store):
    rows = [{"content": "fine", "associations": named("Ghost")}, {"content": ""}]
    answer = api.post(url(store, "/records"), {"records": rows}, format="json")
    assert answer.status_code == 400
    assert not Entity.objects.filter(store=store).exists()


def test_a_repeated_write_answers_the_same_report_and_keeps_no_name(store_rows, store):
    row = {"content": "x", "associations": named("Very Secret Quay")}
    first = store_rows(row, HTTP_IDEMPOTENCY_KEY="k")
    assert store_rows(row, HTTP_IDEMPOTENCY_KEY="k") == first
    assert first[0]["associations"]["entities"][0] == {"id": 1, "name": "Very Secret Quay", "created": True}
    assert "Secret" not in str(IdempotencyKey.objects.get(store=store).answer)
