"""Declared associations through the API: limits, malformed items, names and scopes (contract: reconstruct J)."""

import pytest
from django.utils import timezone

from memoryconsole.models import Entity, EntityAlias
from tests.api.declared import named, paths, relation
from tests.conftest import make_client, make_store, url

# Limits


def test_64_entities_64_relations_and_32_aliases_are_taken_and_the_rest_is_dropped(declare):
    answer = declare(
        {
            "entities": [{"name": f"e{n}"} for n in range(63)]
            + [{"name": "last", "aliases": [f"a{n}" for n in range(34)]}, {"name": "one"}, {"name": "more"}],
            "relations": [{"subject": "e0", "predicate": f"p{n}", "object": "e1"} for n in range(66)],
        }
    )
    assert len(answer["entities"]) == 64
    assert len(set(answer["relations"])) == 64
    assert sorted(paths(answer)) == sorted(
        [
            *("entities[64]", "entities[65]", "relations[64]", "relations[65]"),
            *("entities[63].aliases[32]", "entities[63].aliases[33]"),
        ]
    )
    assert all(item["reason"] for item in answer["dropped"])


@pytest.mark.parametrize(
    "text", ["x" * 256, "ﷺ" * 256, "🦭" * 256, "ΐ" * 256], ids=["ascii", "wide", "astral", "folded"]
)
def test_a_name_an_alias_and_a_predicate_of_256_characters_are_held(text, declare, traverse, store):
    other = text[:-1] + "y"
    first = declare(
        {"entities": [{"name": text, "aliases": [other]}], **relation(text, text, other)}, anchor_ref=""
    )
    assert first["dropped"] == []
    again = declare({"entities": [{"name": other, "aliases": [text]}], **relation(other, text, text)})
    assert again["relations"] == first["relations"]
    assert (again["entities"][0]["id"], again["entities"][0]["created"]) == (
        first["entities"][0]["id"],
        False,
    )
    assert traverse(other)["entities"][0]["name"] == text
    assert Entity.objects.filter(store=store).count() == EntityAlias.objects.filter(store=store).count() == 1


def test_257_characters_are_too_many(declare, store):
    long = "x" * 257
    answer = declare(
        {
            "entities": [{"name": long}, {"name": "Quay", "aliases": [long]}],
            "relations": [
                {"subject": long, "predicate": "p", "object": "a"},
                {"subject": "a", "predicate": long, "object": "b"},
                {"subject": "a", "predicate": "p", "object": long},
            ],
        }
    )
    assert paths(answer) == [
        "entities[0]",
        "entities[1].aliases[0]",
        "relations[0].subject",
        "relations[1]",
        "relations[2].object",
    ]
    assert list(Entity.objects.filter(store=store).values_list("name", flat=True)) == ["Quay"]


def test_spaces_around_a_name_count_neither_as_characters_nor_as_the_name(declare, store):
    answer = declare(named(" " * 300 + "Quay\u3000"))
    assert answer["entities"][0]["name"] == "Quay"
    assert declare(named("quay"))["entities"][0]["created"] is False


def test_a_thousand_dropped_items_are_listed_and_the_rest_is_counted(declare):
    answer = declare({"entities": [0] * 1500})
    assert len(answer["dropped"]) == 1001
    assert answer["dropped"][-1] == {"item": "dropped", "reason": "and 500 more, not listed"}


# Malformed items


@pytest.mark.parametrize("value", [None, 1, 1.5, True, [], {}, "", " \u3000\n"], ids=repr)
def test_what_is_no_name_is_dropped_where_it_stands(value, declare, store):
    answer = declare(
        {
            "entities": [{"name": value}, {"name": "Quay", "aliases": [value, "pier"]}],
            "relations": [
                {"subject": value, "predicate": "p", "object": "New"},
                {"subject": "New", "predicate": value, "object": "New"},
                {"subject": "New", "predicate": "p", "object": value},
                {"subject": value, "predicate": "p", "object": value},
            ],
        }
    )
    assert paths(answer) == [
        "entities[0]",
        "entities[1].aliases[0]",
        "relations[0].subject",
        "relations[1]",
        "relations[2].object",
        "relations[3].subject",
        "relations[3].object",
    ]
    # Nothing of a dropped relation is written, its valid end neither.
    assert list(Entity.objects.filter(store=store).values_list("name", flat=True)) == ["Quay"]
    assert list(EntityAlias.objects.filter(store=store).values_list("alias", flat=True)) == ["pier"]


@pytest.mark.parametrize("value", [None, 1, True, "x", {}], ids=repr)
def test_what_is_no_list_is_dropped_whole(value, declare):
    answer = declare({"entities": value, "relations": value}, retract={"relations": value, "mentions": value})
    assert sorted(paths(answer)) == ["entities", "relations", "retract.mentions", "retract.relations"]
    assert declare({"entities": [{"name": "Quay", "aliases": value}]})["entities"][0]["created"] is True


@pytest.mark.parametrize("value", [None, 1, True, "x", []], ids=repr)
def test_an_item_that_is_no_object_is_dropped(value, declare):
    answer = declare({"entities": [value], "relations": [value]}, retract={"mentions": [value]})
    assert sorted(paths(answer)) == ["entities[0]", "relations[0]", "retract.mentions[0]"]


def test_members_nobody_knows_are_named_and_what_is_known_is_recorded(declare):
    answer = declare(
        {
            "entities": [{"name": "Quay", "alias": ["x"]}],
            "relations": [{"subject": "a", "predicate": "p", "object": "b", "not a name": 1}],
            "entites": [],
        },
        retract={"relation": [1]},
    )
    assert sorted(paths(answer)) == ["entites", "entities[0].alias", "relations[0].?", "retract.relation"]
    assert (len(answer["entities"]), len(answer["relations"])) == (1, 1)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"associations": "Larkspur"}, "/associations"),
        ({"associations": [{"name": "x"}]}, "/associations"),
        ({"associations": None}, "/associations"),
        ({"retract": [1]}, "/retract"),
        ({"retract": None}, "/retract"),
        ({"anchor_ref": 1}, "/anchor_ref"),
        ({"project_id": 1}, "/project_id"),
        ({"channel": "x" * 257}, "/channel"),
        ({"note": "x"}, "/note"),
        ({"declared_by": "operator"}, "/declared_by"),
        ([], ""),
    ],
    ids=repr,
)
@pytest.mark.parametrize("tail", ["/associations", "/associations/preview"])
def test_a_body_that_is_none_is_refused_whole(tail, body, pointer, api, store):
    answer = api.post(url(store, tail), body, format="json")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_parameter")
    assert pointer in [fault["pointer"] for fault in answer.json()["errors"]]


# Names


@pytest.mark.parametrize("other", ["STRASSE", "ｓｔｒａßｅ", " strasse ", "Straße\u00a0"])
def test_names_that_fold_alike_are_one_entity_under_its_first_name(other, declare, traverse):
    first = declare(named("Straße"))["entities"][0]
    again = declare(named(other))["entities"][0]
    assert again == {"id": first["id"], "name": "Straße", "created": False}
    assert traverse(other, max_hops=0)["entities"][0]["name"] == "Straße"


def test_a_backslash_in_a_name_is_a_letter_like_any_other(declare):
    ids = [declare(named(name))["entities"][0]["id"] for name in ("a\\b", "a\\\\b", "a\\001", "a\\", "A\\B")]
    assert ids == [1, 2, 3, 4, 1]


def test_names_and_aliases_are_one_namespace(declare, store):
    first = declare({"entities": [{"name": "Larkspur", "aliases": ["lark"]}, {"name": "LARK"}]})
    assert [entity["id"] for entity in first["entities"]] == [1, 1]
    assert [entity["created"] for entity in first["entities"]] == [True, False]
    declare(relation("lark", "is", "LARKSPUR"))
    assert Entity.objects.filter(store=store).count() == 1


def test_an_alias_that_names_another_is_dropped_and_one_that_is_there_already_is_not(declare, store):
    declare({"entities": [{"name": "Odalys", "aliases": ["od"]}, {"name": "Ben"}]})
    answer = declare(
        {
            "entities": [
                {"name": "Junior", "aliases": ["OD", "ben", "jr", "JR", "junior"]},
                {"name": "od", "aliases": ["Odalys", "od", "oda"]},
            ]
        }
    )
    assert paths(answer) == ["entities[0].aliases[0]", "entities[0].aliases[1]"]
    aliases = EntityAlias.objects.filter(store=store).values_list("entity__name", "alias")
    assert sorted(aliases) == [("Junior", "jr"), ("Odalys", "od"), ("Odalys", "oda")]


def test_of_homonyms_the_lowest_number_is_reused(declare, store):
    for number in (7, 3):
        Entity.objects.create(
            store=store, number=number, uuid=f"00000000-0000-0000-0000-{number:012}", name=f"Sam{number}",
            declared_key="sam", created_at=timezone.now(),
        )  # fmt: skip
    assert declare(named("Sam"))["entities"] == [{"id": 3, "name": "Sam3", "created": False}]


# Scope


def test_a_name_is_looked_up_from_its_own_scope_to_the_global_pool(declare):
    def at(project_id, channel, name="Quay"):
        entity = declare(named(name), project_id=project_id, channel=channel)["entities"][0]
        return entity["id"], entity["created"]

    # From the narrow end: none of these sees the one before.
    assert [at("p", "c"), at("p", ""), at("", "c"), at("", "")] == [(n, True) for n in (1, 2, 3, 4)]
    assert [at("p", "c"), at("p", "d"), at("q", "c"), at("q", "d")] == [(n, False) for n in (1, 2, 3, 4)]
    # The project comes before the channel, whatever the numbers say.
    assert [at("", "c", "Pier"), at("p", "", "Pier")] == [(5, True), (6, True)]
    assert at("p", "c", "Pier") == (6, False)


def test_null_and_no_project_or_channel_is_the_global_pool(declare, store):
    declare(named("Quay"), project_id=None, channel=None, anchor_ref=None)
    assert declare(named("Quay"))["entities"][0]["created"] is False
    assert list(Entity.objects.filter(store=store).values_list("project_id", "channel")) == [("", "")]


def test_an_alias_stays_in_the_scope_that_declared_it(declare, traverse):
    declare(named("Quay"))
    inside = declare({"entities": [{"name": "quay", "aliases": ["kay"]}]}, project_id="p")
    assert inside["entities"] == [{"id": 1, "name": "Quay", "created": False}]
    assert declare(named("kay"), project_id="p")["entities"][0]["id"] == 1
    assert declare(named("kay"), project_id="q")["entities"][0] == {"id": 2, "name": "kay", "created": True}
    assert [entity["id"] for entity in traverse("kay", project_id="p")["entities"]] == [1]
    assert [entity["id"] for entity in traverse("kay", project_id="q")["entities"]] == [2]


def test_an_alias_may_not_name_what_a_wider_scope_names_and_is_free_beside_it(declare):
    declare(named("Quay"))
    declare(named("Pier"), project_id="p")
    clash = {"entities": [{"name": "Berth", "aliases": ["quay", "pier"]}]}
    assert paths(declare(clash, project_id="p")) == ["entities[0].aliases[0]", "entities[0].aliases[1]"]
    assert paths(declare(clash, project_id="q")) == ["entities[0].aliases[0]"]


def test_an_alias_leads_to_no_entity_of_a_scope_that_is_not_read(declare, store):
    """An imported graph may have such an alias."""
    declare(named("Quay"), project_id="p")
    hidden = Entity.objects.get(store=store)
    EntityAlias.objects.create(store=store, entity=hidden, alias="kay", declared_key="kay")
    assert declare(named("kay"))["entities"] == [{"id": 2, "name": "kay", "created": True}]
    assert declare({"entities": [{"name": "Pier", "aliases": ["kay"]}]}, project_id="q")["dropped"]
    inside = declare(named("kay"), project_id="p")["entities"][0]
    assert (inside["id"], inside["created"]) == (1, False)


def test_another_store_knows_nothing_of_it(declare, ada):
    declare({"entities": [{"name": "Odalys", "aliases": ["od"]}]})
    other = make_store(ada, "garden")
    body = {"associations": {"entities": [{"name": "Junior", "aliases": ["od"]}, {"name": "Odalys"}]}}
    answer = make_client(ada, other).post(url(other, "/associations"), body, format="json").json()
    assert answer["dropped"] == []
    assert [entity["created"] for entity in answer["entities"]] == [True, True]
