"""Places of mentions, and entities that nobody declared, go out and come in; merges say that they do not."""

import json

import pytest

from memoryconsole.models import Entity, Mention, Record
from memoryconsole.services.entities import NewEntity, NewMention, add_mention, create_entity
from memoryconsole.services.facts.transcript import RULE
from memoryconsole.services.merging import merge
from tests.conftest import make_store
from tests.services.transfer_world import counts, exported, imported, lines


@pytest.fixture
def quay(store, say):
    """A record that mentions an entity at two places and somewhere."""
    say("quay and quay")
    entity = create_entity(store, NewEntity(name="Quay"), declared_by="agent", now=store.created_at)
    record = Record.objects.get(store=store)
    for start in (9, 0):
        wanted = NewMention(chunk=record.uuid, entity=entity.uuid, start=start, end=start + 4)
        add_mention(store, wanted, declared_by="agent", now=store.created_at)
    Mention.objects.create(store=store, entity=entity, record=record, created_at=store.created_at)
    return entity


def places(store):
    return list(
        Mention.objects.filter(store=store).order_by("char_start").values_list("char_start", "char_end")
    )


def mention_lines(file):
    return [line for line in map(json.loads, file.splitlines()) if line["kind"] == "mention"]


def test_places_are_kept_and_stored_once(quay, store, ada):
    file = exported(store)
    assert [(line.get("char_start"), line.get("char_end")) for line in mention_lines(file)] == [
        (None, None),
        (0, 4),
        (9, 13),
    ]
    other = make_store(ada, "attic")
    imported(other, ada, file)
    assert places(other) == places(store) == [(0, 4), (9, 13), (None, None)]
    assert exported(other) == file
    created, duplicate, bad = counts(imported(other, ada, file))
    assert (created, bad) == (0, 0)
    assert duplicate == 5


@pytest.mark.parametrize(
    ("place", "code"),
    [
        ({"char_start": 0, "char_end": 14}, "out_of_range"),
        ({"char_start": 4, "char_end": 4}, "invalid"),
        ({"char_start": 3}, "invalid"),
        ({"char_end": 3}, "invalid"),
        ({"char_start": -1, "char_end": 3}, "min_value"),
        ({"char_start": "0", "char_end": 3}, "invalid"),
    ],
    ids=str,
)
def test_a_place_outside_the_text_is_a_bad_line(place, code, quay, store, ada):
    header, *_ = map(json.loads, exported(store).splitlines())
    somewhere, *_ = mention_lines(exported(store))
    file = lines(header, somewhere | place, {"kind": "end", "lines": 2})
    job = imported(store, ada, file)
    assert [error["code"] for error in job.errors] == [code]
    assert len(places(store)) == 3


def test_what_nobody_declared_comes_back_so(quay, store, ada):
    Entity.objects.filter(pk=quay.pk).update(declared=False)
    other = make_store(ada, "attic")
    imported(other, ada, exported(store))
    assert Entity.objects.get(store=other).declared is False


def test_a_merged_entity_comes_back_as_itself_and_the_header_says_so(quay, store, ada):
    kay = create_entity(store, NewEntity(name="Kay"), declared_by="agent", now=store.created_at)
    merge(store, kay.uuid, quay.uuid, decider=RULE, now=store.created_at)
    file = exported(store)
    assert "merges of entities" in json.loads(file.splitlines()[0])["excluded"]
    other = make_store(ada, "attic")
    assert imported(other, ada, file).state == "done"
    assert set(Entity.objects.filter(store=other).values_list("status", "merged_into")) == {("active", None)}
