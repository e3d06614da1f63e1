"""Declared associations through the API: anchors, relations, retraction and who declares (contract: reconstruct J)."""

import pytest
from rest_framework.test import APIClient

from memoryconsole.models import (
    Association,
    Entity,
    EntityAlias,
    IdempotencyKey,
    Membership,
    Mention,
    Role,
    Scope,
    StoreCounter,
)
from tests.api.declared import named, paths, relation
from tests.conftest import make_client, make_store, url

# Anchors and mentions


@pytest.mark.parametrize("spelling", ["mem:1", "mem:001", "  mem:1\n"])
def test_the_anchor_mentions_what_is_in_entities_and_is_on_every_relation(
    spelling, declare, traverse, api, store, say
):
    say("the larkspur is late")
    declared = {
        "entities": [{"name": "Larkspur"}, {"name": "LARKSPUR"}],
        **relation("Odalys", "tends", "larkspur"),
    }
    answer = declare(declared, anchor_ref=spelling)
    assert answer["mentions"] == 1
    assert traverse("larkspur")["entities"][0]["mentions"] == ["mem:1"]
    assert traverse("larkspur")["relations"][0]["anchor_ref"] == "mem:1"
    # An entity that is only an end of a relation is not mentioned.
    assert "mentions" not in traverse("odalys")["entities"][0]
    assert declare(declared, anchor_ref="mem:1")["mentions"] == 1
    assert api.delete(url(store, "/records/mem:1")).status_code == 202
    left = traverse("larkspur")
    assert (left["relations"], "mentions" in left["entities"][0]) == ([], False)


def test_an_episode_anchors_too(declare, traverse, api, store):
    api.post(url(store, "/summaries"), {"summary": "a week at the quay"}, format="json")
    declare({**named("Quay"), **relation("Quay", "seen in", "ep:1")}, anchor_ref="ep:01")
    assert traverse("quay")["entities"][0]["mentions"] == ["ep:1"]
    assert Association.objects.get(store=store).anchor_summary is not None


@pytest.mark.parametrize(
    "anchor",
    ["mem:2", "mem:99", "ep:1", "mem:0", "mem:" + "9" * 200, "MEM:1", "mem:-1", "mem:٣", "quay", "mem:1 2"],
)
def test_a_bad_anchor_is_dropped_with_what_needed_it(anchor, declare, api, say, ada, store):
    say("mine", "deleted")
    assert api.delete(url(store, "/records/mem:2")).status_code == 202
    answer = declare(
        {"entities": [{"name": "Quay", "aliases": ["kay"]}], **relation("Pier", "near", "Quay")},
        anchor_ref=anchor,
    )
    assert paths(answer) == ["anchor_ref", "relations[0]"]
    assert (answer["mentions"], answer["relations"]) == (0, [])
    assert [entity["created"] for entity in answer["entities"]] == [True]
    assert list(EntityAlias.objects.filter(store=store).values_list("alias", flat=True)) == ["kay"]
    assert list(Entity.objects.filter(store=store).values_list("name", flat=True)) == ["Quay"]
    assert not Mention.objects.filter(store=store).exists()


# Relations


def test_a_row_is_named_by_its_ref_and_everything_else_is_a_name(declare, say, store):
    say("one", "two")
    answer = declare(
        {
            "relations": [
                {"subject": "mem:1", "predicate": "Corrects", "object": " mem:002 "},
                {"subject": "mem:x", "predicate": "is no", "object": "mem:1"},
            ]
        }
    )
    assert answer["dropped"] == []
    rows = Association.objects.filter(store=store).order_by("number")
    assert [(row.subject_record.number, row.object_record.number) for row in rows[:1]] == [(1, 2)]
    assert rows[1].subject_entity.name == "mem:x"


@pytest.mark.parametrize("ref", ["mem:3", "mem:99", "ep:1", "mem:0", "mem:" + "9" * 250])
def test_an_end_that_is_no_row_of_the_store_drops_the_relation_and_leaves_no_end(
    ref, declare, api, say, store
):
    say("one", "two", "deleted")
    assert api.delete(url(store, "/records/mem:3")).status_code == 202
    answer = declare(
        {
            "relations": [
                {"subject": "New", "predicate": "p", "object": ref},
                {"subject": ref, "predicate": "p", "object": "Newer"},
                {"subject": ref, "predicate": "p", "object": ref},
                {"subject": "Kept", "predicate": "p", "object": "mem:1"},
            ]
        }
    )
    assert paths(answer) == [
        "relations[0].object",
        "relations[1].subject",
        "relations[2].subject",
        "relations[2].object",
    ]
    assert len(answer["relations"]) == 1
    assert list(Entity.objects.filter(store=store).values_list("name", flat=True)) == ["Kept"]


def test_a_repeated_relation_answers_its_id_and_changes_nothing(declare, store):
    first = declare(relation("Odalys", "Tends  To", "Larkspur"))
    before = Association.objects.get(store=store)
    again = declare({"relations": relation("odalys", "ＴＥＮＤＳ to", "LARKSPUR")["relations"] * 2})
    assert again["relations"] == first["relations"] * 2
    after = Association.objects.get(store=store)
    assert (after.declared_at, after.predicate) == (before.declared_at, "tends to")
    assert StoreCounter.objects.get(store=store).association == 1


def test_another_anchor_scope_or_direction_is_another_relation(declare, say):
    say("one", "two")
    same = relation("a", "p", "b")
    ids = [
        declare(same)["relations"],
        declare(same, anchor_ref="mem:1")["relations"],
        declare(same, anchor_ref="mem:2")["relations"],
        declare(same, project_id="p")["relations"],
        declare(same, channel="c")["relations"],
        declare(relation("b", "p", "a"))["relations"],
    ]
    assert ids == [[1], [2], [3], [4], [5], [6]]


def test_a_role_word_between_rows_is_a_role(declare, api, store, say):
    say("the crate is blue", "the crate is green")
    declare(relation("mem:2", "  CORRECTS ", "mem:1"))
    body = {"query": "crate", "count": 5}
    items = api.post(url(store, "/reconstruct"), body, format="json").json()["items"]
    claims = {claim["ref"]: claim for item in items for claim in item["claims"]}
    assert claims["mem:1"]["roles"] == [{"ref": "mem:2", "role": "corrects"}]


# Retraction


@pytest.fixture
def graph(declare, say):
    """Two anchored relations (1, 2), and mentions of Quay (1) and Pier (2) in mem:1."""
    say("one")
    return declare(
        {
            **named("Quay", "Pier"),
            "relations": [
                {"subject": "Quay", "predicate": "near", "object": "Pier"},
                {"subject": "Pier", "predicate": "near", "object": "Quay"},
            ],
        },
        anchor_ref="mem:1",
    )


def left(store):
    return (
        list(Association.objects.filter(store=store).order_by("number").values_list("number", flat=True)),
        list(Mention.objects.filter(store=store).order_by("pk").values_list("entity__number", flat=True)),
    )


def test_retracting_takes_what_is_named_and_counts_it(graph, declare, store):
    answer = declare(retract={"relations": [1, 1, 99], "mentions": [{"entity": 2, "ref": "mem:01"}]})
    assert answer == {
        "ok": True, "result": "declared", "entities": [], "mentions": 0, "relations": [], "dropped": [],
        "retracted": {"relations": 1, "mentions": 1},
    }  # fmt: skip
    assert left(store) == ([2], [1])
    assert Entity.objects.filter(store=store).count() == 2


@pytest.mark.parametrize("number", [True, False, "1", 1.0, 1.5, None, [1], {"id": 1}], ids=repr)
def test_an_id_that_is_no_integer_is_dropped_and_takes_nothing(number, graph, declare, store):
    answer = declare(retract={"relations": [number], "mentions": [{"entity": number, "ref": "mem:1"}]})
    assert paths(answer) == ["retract.relations[0]", "retract.mentions[0]"]
    assert answer["retracted"] == {"relations": 0, "mentions": 0}
    assert left(store) == ([1, 2], [1, 2])


@pytest.mark.parametrize("number", [0, -1, 99, 2**53, 2**63, 10**30])
def test_an_id_that_is_nobodys_is_no_error(number, graph, declare, store):
    answer = declare(retract={"relations": [number], "mentions": [{"entity": number, "ref": "mem:1"}]})
    assert (answer["dropped"], answer["retracted"]) == ([], {"relations": 0, "mentions": 0})
    assert left(store) == ([1, 2], [1, 2])


@pytest.mark.parametrize("ref", ["mem:2", "ep:1", "mem:0", "mem:" + "1" * 200])
def test_a_mention_is_named_by_entity_and_ref(ref, graph, declare, store):
    assert declare(retract={"mentions": [{"entity": 1, "ref": ref}]})["retracted"]["mentions"] == 0
    assert left(store) == ([1, 2], [1, 2])


def test_only_the_pairs_named_are_retracted(graph, declare, say, store):
    say("two")
    declare(named("Quay", "Pier"), anchor_ref="mem:2")
    answer = declare(retract={"mentions": [{"entity": 1, "ref": "mem:1"}, {"entity": 2, "ref": "mem:2"}]})
    assert answer["retracted"] == {"relations": 0, "mentions": 2}
    stay = Mention.objects.filter(store=store).values_list("entity__number", "record__number")
    assert sorted(stay) == [(1, 2), (2, 1)]


@pytest.mark.parametrize(
    "item", [{"entity": 1}, {"ref": "mem:1"}, {"entity": 1, "ref": 1}, {"entity": 1, "ref": "quay"}]
)
def test_a_mention_without_both_is_dropped(item, graph, declare, store):
    assert paths(declare(retract={"mentions": [item]})) == ["retract.mentions[0]"]
    assert left(store) == ([1, 2], [1, 2])


def test_another_stores_rows_are_not_touched(graph, ada, store):
    other = make_store(ada, "garden")
    body = {"retract": {"relations": [1, 2], "mentions": [{"entity": 1, "ref": "mem:1"}]}}
    answer = make_client(ada, other, store).post(url(other, "/associations"), body, format="json").json()
    assert answer["retracted"] == {"relations": 0, "mentions": 0}
    assert left(store) == ([1, 2], [1, 2])


def test_retract_and_declare_in_one_call_refreshes(graph, declare, store):
    answer = declare(
        {**named("Quay"), **relation("Quay", "near", "Pier")},
        anchor_ref="mem:1",
        retract={"relations": [1], "mentions": [{"entity": 1, "ref": "mem:1"}]},
    )
    assert (answer["relations"], answer["retracted"]) == ([3], {"relations": 1, "mentions": 1})
    assert left(store) == ([2, 3], [2, 1])


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"associations": {}},
        {"retract": {}},
        {"associations": {"entities": [], "relations": []}, "retract": {"relations": [], "mentions": []}},
        {"associations": {}, "anchor_ref": "mem:99", "session_key": "s"},
    ],
    ids=repr,
)
def test_omitted_and_empty_are_the_same(body, api, store):
    answer = api.post(url(store, "/associations"), body, format="json")
    assert answer.json() == {
        "ok": True, "result": "declared", "entities": [], "mentions": 0, "relations": [], "dropped": [],
    }  # fmt: skip


# Who declares


def test_a_token_declares_as_an_agent_and_a_person_as_an_operator(declare, api, ada, store):
    declare(named("Quay"))
    person = APIClient()
    person.force_login(ada)
    assert (
        person.post(url(store, "/associations"), {"associations": named("Pier")}, format="json").status_code
        == 200
    )
    rows = Entity.objects.filter(store=store).order_by("number")
    assert [row.declared_by for row in rows] == ["agent", "operator"]


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
def test_only_who_has_the_scope_declares(role, ben, store, say):
    Membership.objects.create(store=store, user=ben, role=role)
    client = make_client(ben, store)
    for tail in ("/associations", "/associations/preview"):
        assert client.post(url(store, tail), {}, format="json").status_code == 403
    assert client.get(url(store, "/associations")).status_code == 200


def test_a_repeated_request_answers_its_first_result_and_keeps_no_name(api, store):
    body = {"associations": {"entities": [{"name": "Very Secret Quay"}]}}
    first = api.post(url(store, "/associations"), body, format="json", HTTP_IDEMPOTENCY_KEY="k1")
    again = api.post(url(store, "/associations"), body, format="json", HTTP_IDEMPOTENCY_KEY="k1")
    assert again.json() == first.json()
    assert again.json()["entities"] == [{"id": 1, "name": "Very Secret Quay", "created": True}]
    kept = IdempotencyKey.objects.get(store=store)
    assert "Secret" not in str(kept.answer)
    other = api.post(url(store, "/associations"), {}, format="json", HTTP_IDEMPOTENCY_KEY="k1")
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")


def test_a_token_with_write_alone_stores_records_and_declares_nothing_with_them(ada, store):
    client = make_client(ada, store, scopes=[Scope.WRITE])
    body = {"records": [{"content": "x", "associations": named("Quay")}, {"content": "y"}]}
    answer = client.post(url(store, "/records"), body, format="json")
    assert answer.status_code == 201
    first, second = answer.json()["records"]
    assert first["created"] is True
    assert first["associations"]["dropped"] == [
        {"item": "associations", "reason": "this needs the scope 'declare'"}
    ]
    assert "associations" not in second
    assert not Entity.objects.filter(store=store).exists()
