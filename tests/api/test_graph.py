"""Reading the declared graph: lists of associations and entities, one entity, and the relations of a row."""

import uuid

import pytest

from tests.api.declared import named, paths, relation
from tests.conftest import url


@pytest.fixture
def read(api, store):
    def read(tail, **query):
        answer = api.get(url(store, tail), query)
        assert answer.status_code == 200, answer.content
        return answer.json()

    return read


@pytest.fixture
def graph(declare, say, api, store):
    say("one", "two")
    api.post(url(store, "/summaries"), {"summary": "a week"}, format="json")
    declare(
        {
            "entities": [{"name": "Quay", "aliases": ["kay", "Kai"]}, {"name": "Pier"}],
            **relation("Quay", "Near", "Pier"),
        },
        anchor_ref="mem:1",
    )
    declare(relation("mem:2", "corrects", "mem:1"))
    declare(relation("ep:1", "is about", "Quay"), project_id="p", channel="c")


def test_associations_are_listed_newest_first_with_their_ends_named(graph, read):
    rows = read("/associations")["results"]
    assert [row["id"] for row in rows] == [3, 2, 1]
    assert rows[0]["subject"] == {"ref": "ep:1"}
    assert rows[0]["object"] == {"entity": 1, "name": "Quay"}
    assert (rows[0]["project_id"], rows[0]["channel"]) == ("p", "c")
    assert "anchor_ref" not in rows[0]
    declared_at = rows[2].pop("declared_at")
    assert declared_at.endswith("Z")
    assert rows[2] == {
        "id": 1,
        "subject": {"entity": 1, "name": "Quay"},
        "predicate": "near",
        "object": {"entity": 2, "name": "Pier"},
        "anchor_ref": "mem:1",
        "project_id": "",
        "channel": "",
        "declared_by": "agent",
    }


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"entity": 1}, [3, 1]),
        ({"entity": 2}, [1]),
        ({"entity": 99}, []),
        ({"ref": "mem:1"}, [2, 1]),
        ({"ref": "mem:02"}, [2]),
        ({"ref": "ep:1"}, [3]),
        ({"ref": "ep:2"}, []),
        ({"predicate": "NEAR"}, [1]),
        ({"predicate": ""}, []),
        ({"project_id": "p"}, [3]),
        ({"project_id": ""}, [2, 1]),
        ({"channel": "c", "entity": 1}, [3]),
    ],
    ids=str,
)
def test_associations_are_filtered(query, expected, graph, read):
    assert [row["id"] for row in read("/associations", **query)["results"]] == expected


@pytest.mark.parametrize(
    "query", [{"ref": "quay"}, {"ref": "mem:"}, {"entity": "0"}, {"entity": "x"}, {"subject": "1"}]
)
def test_filters_that_are_none_are_refused(query, api, store):
    answer = api.get(url(store, "/associations"), query)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_parameter")


def test_entities_are_listed_with_aliases_and_mention_counts(graph, read):
    pier, quay = read("/entities")["results"]
    assert quay.pop("created_at").endswith("Z")
    assert str(uuid.UUID(quay.pop("entity_id"))) == read("/entities/1")["entity_id"]
    assert quay == {
        "id": 1,
        "name": "Quay",
        "project_id": "",
        "channel": "",
        "aliases": [
            {"alias": "Kai", "project_id": "", "channel": ""},
            {"alias": "kay", "project_id": "", "channel": ""},
        ],
        "alias_count": 2,
        "mention_count": 1,
        "status": "active",
        "merged_into": None,
        "declared_by": "agent",
    }
    assert (pier["name"], pier["aliases"], pier["alias_count"]) == ("Pier", [], 0)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"name": "QUAY"}, [1]),
        ({"name": "ＫＡＹ"}, [1]),
        ({"name": "none"}, []),
        ({"name": ""}, []),
        ({"project_id": "p"}, []),
    ],
    ids=str,
)
def test_entities_are_found_by_name_or_alias(query, expected, graph, read):
    assert [row["id"] for row in read("/entities", **query)["results"]] == expected


@pytest.mark.parametrize("tail", ["/associations", "/entities"])
def test_lists_page_by_cursor_and_show_each_row_once(tail, declare, read):
    for number in range(7):
        declare({**named(f"e{number}"), **relation(f"e{number}", "near", "e0")})
    seen, cursor = [], None
    while True:
        page = read(tail, limit=3, **({"cursor": cursor} if cursor else {}))
        seen += [row["id"] for row in page["results"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == list(range(7, 0, -1))


def test_an_entity_shows_where_it_is_mentioned_and_what_it_is_associated_with(graph, declare, read):
    for ref in ("mem:2", "ep:1"):
        declare(named("Quay"), anchor_ref=ref)
    entity = read("/entities/1")
    assert entity["mentions"] == ["ep:1", "mem:1", "mem:2"]
    assert [row["id"] for row in entity["associations"]] == [3, 1]
    assert entity["mention_count"] == 3


def test_an_entity_that_does_not_exist_is_404(api, store):
    assert api.get(url(store, "/entities/1")).status_code == 404


def test_a_row_shows_the_associations_it_takes_part_in(graph, read):
    assert [row["id"] for row in read("/records/mem:1")["associations"]] == [2, 1]
    assert [row["id"] for row in read("/records/mem:2")["associations"]] == [2]
    assert [row["id"] for row in read("/summaries/ep:1")["associations"]] == [3]


# Preview


def test_a_preview_says_what_would_happen_and_writes_nothing(graph, api, store, read):
    body = {
        "associations": {
            "entities": [{"name": "KAY", "aliases": ["landing", "pier"]}, {"name": "Buoy"}],
            "relations": [
                {"subject": "quay", "predicate": "near", "object": "Pier"},
                {"subject": "Buoy", "predicate": "Near", "object": "Mole"},
                {"subject": "mem:9", "predicate": "near", "object": "Ghost"},
            ],
        },
        "anchor_ref": "mem:1",
        "retract": {"relations": [2], "mentions": [{"entity": 2, "ref": "mem:1"}]},
    }
    before = (read("/associations"), read("/entities"))
    answer = api.post(url(store, "/associations/preview"), body, format="json").json()
    assert (answer["ok"], answer["result"]) == (True, "preview")
    assert answer["entities"] == [
        {"id": 1, "name": "Quay", "created": False},
        {"id": None, "name": "Buoy", "created": True},
    ]
    assert (answer["mentions"], answer["relations"]) == (2, [1, None])
    assert paths(answer) == ["entities[0].aliases[1]", "relations[2].subject"]
    assert answer["retracted"] == {"relations": 1, "mentions": 1}
    assert answer["registers"] == {
        "entities": ["Buoy", "Mole"],
        "aliases": [{"entity": "Quay", "alias": "landing"}],
        "mentions": [{"entity": "Buoy", "ref": "mem:1"}],
        "relations": [{"subject": "Buoy", "predicate": "near", "object": "Mole"}],
    }
    assert (read("/associations"), read("/entities")) == before
