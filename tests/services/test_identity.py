"""Who is whom after merges: the map in memory, the walk in SQL, and the commands, against a slow model."""

import itertools
import uuid
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryconsole.errors import StateConflict
from memoryconsole.identity import MAX_HOPS, Merges, families, read_merges, survivors
from memoryconsole.models import Decision, Entity, Mention, MergeEvent, Record, Store, StoreCounter, Summary
from memoryconsole.search.names import lookup
from memoryconsole.services.entities import NewEntity, create_entity
from memoryconsole.services.facts.transcript import Decider
from memoryconsole.services.merging import merge, reverse
from memoryconsole.snapshot import snapshot
from tests.properties import examples

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)
HUMAN = Decider("human", {"user": 7})


def new_store():
    store = Store.objects.create(name="identity", created_at=NOW)
    StoreCounter.objects.create(store=store)
    return store


@pytest.fixture
def store():
    return new_store()


def make(store, name, **fields):
    entity = create_entity(store, NewEntity(name=name), declared_by="operator", now=NOW)
    if fields:
        Entity.objects.filter(pk=entity.pk).update(**fields)
    return entity


def point(absorbed, survivor):
    """What no command would: a row that is merged, whatever the other is."""
    Entity.objects.filter(pk=absorbed.pk).update(status="merged", merged_into=survivor)


def by_sql(store, entities):
    return {each.asked: each.pk for each in survivors(store, keys=[entity.pk for entity in entities])}


# The way from an entity to its survivor


def line(store, length):
    """Entities each merged into the next, the last one active."""
    rows = Entity.objects.bulk_create(
        Entity(
            store=store, number=n, uuid=uuid.uuid4(), name=f"n{n}", declared_key=f"n{n}", resolve_key=f"n{n}",
            created_at=NOW,
        )
        for n in range(1, length + 1)
    )  # fmt: skip
    for row, following in itertools.pairwise(rows):
        row.status, row.merged_into = "merged", following
    Entity.objects.bulk_update(rows, ["status", "merged_into"])
    return rows


def test_sixty_four_hops_are_followed_and_the_sixty_fifth_is_no_entity(store):
    rows = line(store, MAX_HOPS + 2)
    first, second, last = rows[0], rows[1], rows[-1]
    merges = read_merges(store)
    assert (merges.survivor(first.pk), merges.survivor(second.pk)) == (None, last.pk)
    assert by_sql(store, rows) == {row.pk: last.pk for row in rows[1:]}
    members = merges.members(last.pk)
    assert families(store, [second.pk]) == {last.pk: members}
    assert len(members) == MAX_HOPS + 1
    assert first.pk not in members
    with snapshot():
        assert "T0" not in {each.tier for each in lookup(store, "n1", at=NOW)}
        assert [(each.pk, each.tier) for each in lookup(store, "n2", at=NOW)] == [(last.pk, "T0")]


def test_a_cycle_is_no_entity(store):
    one, two, three = (make(store, name) for name in ("one", "two", "three"))
    point(one, two)
    point(two, one)
    point(three, one)
    merges = read_merges(store)
    assert [merges.survivor(row.pk) for row in (one, two, three)] == [None, None, None]
    assert set(merges.members(one.pk)) == {one.pk, two.pk, three.pk}
    assert by_sql(store, [one, two, three]) == {}


def test_what_leads_to_a_retired_or_an_erased_entity_is_no_entity(store):
    retired, absorbed, orphan, below = (
        make(store, name) for name in ("retired", "absorbed", "orphan", "below")
    )
    point(absorbed, retired)
    Entity.objects.filter(pk=retired.pk).update(status="retired")
    Entity.objects.filter(pk=orphan.pk).update(status="merged")
    point(below, orphan)
    merges = read_merges(store)
    assert [merges.survivor(row.pk) for row in (absorbed, below)] == [None, None]
    assert by_sql(store, [retired, absorbed, orphan, below]) == {}


def test_no_merges_are_false_and_everybody_is_himself(store):
    merges = read_merges(store)
    assert not merges
    assert (merges.survivor(5), merges.members(5), merges.members_of([5, 6])) == (5, (5,), {5, 6})
    assert survivors(store) == [] == survivors(store, uuids=[uuid.uuid4()])


def test_provenance_is_a_declaration_or_a_live_mention_of_any_member(store):
    ghost, member = make(store, "ghost", declared=False), make(store, "member", declared=False)
    point(member, ghost)
    assert by_sql(store, [ghost, member]) == {}
    rows = {"store": store, "number": 1, "digest": b"0" * 32, "created_at": NOW, "believed_at": NOW}
    record = Record.objects.create(**rows, uuid=uuid.uuid4(), content="x")
    summary = Summary.objects.create(**rows, uuid=uuid.uuid4(), summary="x")
    for place in ({"record": record}, {"summary": summary}):
        Mention.objects.create(store=store, entity=member, created_at=NOW, **place)
        assert by_sql(store, [ghost, member]) == {ghost.pk: ghost.pk, member.pk: ghost.pk}
        (row,) = place.values()
        type(row).objects.filter(pk=row.pk).update(deleted_at=NOW)
        assert by_sql(store, [ghost, member]) == {}
    Entity.objects.filter(pk=member.pk).update(declared=True)
    found = {each.name: each.is_asked for each in survivors(store, uuids=[ghost.uuid])}
    assert found == {"ghost": True}
    (away,) = survivors(store, uuids=[member.uuid])
    assert (away.name, away.is_asked, away.asked_uuid) == ("ghost", False, member.uuid)


def test_a_passage_of_a_deleted_document_is_no_provenance(store):
    from memoryconsole.models import Document, DocumentVersion, Passage

    ghost = make(store, "ghost", declared=False)
    record = Record.objects.create(
        store=store,
        number=1,
        uuid=uuid.uuid4(),
        content="x",
        digest=b"0" * 32,
        created_at=NOW,
        believed_at=NOW,
    )
    document = Document.objects.create(
        store=store, number=1, uuid=uuid.uuid4(), source_kind="file", source_ref="f", created_at=NOW
    )
    version = DocumentVersion.objects.create(
        store=store, document=document, uuid=uuid.uuid4(), representation_uuid=uuid.uuid4(), version_no=1, text="x",
        digest=b"0" * 32, created_at=NOW,
    )  # fmt: skip
    Passage.objects.create(record=record, store=store, version=version, ordinal=0, char_start=0, char_end=1)
    Mention.objects.create(store=store, entity=ghost, record=record, created_at=NOW)
    assert by_sql(store, [ghost]) == {ghost.pk: ghost.pk}
    DocumentVersion.objects.filter(pk=version.pk).update(superseded_at=NOW)
    assert by_sql(store, [ghost]) == {ghost.pk: ghost.pk}
    Document.objects.filter(pk=document.pk).update(deleted_at=NOW)
    assert by_sql(store, [ghost]) == {}
    Document.objects.filter(pk=document.pk).update(deleted_at=None)
    DocumentVersion.objects.filter(pk=version.pk).update(deleted_at=NOW)
    assert by_sql(store, [ghost]) == {}


# The commands


def test_a_merge_that_would_lead_too_far_is_refused(store):
    rows = line(store, MAX_HOPS + 1)
    StoreCounter.objects.filter(store=store).update(entity=len(rows))
    target = make(store, "target")
    with pytest.raises(StateConflict, match="64"):
        merge(store, target.uuid, rows[-1].uuid, decider=HUMAN, now=NOW)
    # The other way round it is one hop for the target.
    merge(store, rows[-1].uuid, target.uuid, decider=HUMAN, now=NOW)
    assert read_merges(store).survivor(rows[0].pk) == rows[-1].pk


def test_both_entities_are_told_of_a_merge_and_of_its_end_at_one_instant_of_belief(store):
    one, two = make(store, "one"), make(store, "two")
    event = merge(store, one.uuid, two.uuid, decider=HUMAN, now=NOW)
    undone = reverse(store, event.uuid, decider=Decider("auto", {"user": 7, "token": 3}), now=NOW)
    assert event.merged_at < undone.reversed_at
    rows = Decision.objects.filter(store=store).order_by("id")
    assert [
        (
            row.subject_uuid,
            row.outcome,
            row.related_uuid,
            row.decided_by,
            row.decided_at,
            row.features["role"],
        )
        for row in rows
    ] == [
        (one.uuid, "merge", two.uuid, "human", event.merged_at, "survivor"),
        (two.uuid, "merge", one.uuid, "human", event.merged_at, "absorbed"),
        (one.uuid, "unmerge", two.uuid, "auto", undone.reversed_at, "survivor"),
        (two.uuid, "unmerge", one.uuid, "auto", undone.reversed_at, "absorbed"),
    ]
    assert {row.subject_kind for row in rows} == {"entity"}
    assert {(row.method, row.features["merge"]) for row in rows} == {("declared", str(event.uuid))}
    assert rows[2].features["actor"] == {"user": 7, "token": 3}
    versions = Entity.objects.filter(store=store).order_by("number").values_list("row_version", "status")
    assert list(versions) == [(3, "active"), (3, "active")]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("merge"), st.integers(0, 5), st.integers(0, 5)),
        st.tuples(st.just("reverse"), st.integers(0, 7), st.just(0)),
    ),
    max_size=14,
)


class Model:
    """Six entities and a list of merges, walked one by one."""

    def __init__(self):
        self.into = {}
        self.events = []

    def survivor(self, entity):
        while entity in self.into:
            entity = self.into[entity]
        return entity

    def merge(self, survivor, absorbed):
        if survivor == absorbed or {survivor, absorbed} & self.into.keys():
            return False
        self.into[absorbed] = survivor
        self.events.append([survivor, absorbed, True])
        return True

    def reverse(self, place):
        if place >= len(self.events):
            return None
        survivor, absorbed, in_force = self.events[place]
        if not in_force or survivor in self.into:
            return False
        self.events[place][2] = False
        del self.into[absorbed]
        return True


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_any_sequence_of_merges_reads_as_a_slow_model_does(steps):
    store = new_store()
    rows = [make(store, f"name {'abcdef'[n]}") for n in range(6)]
    model, history = Model(), []
    events = []
    for kind, first, second in steps:
        allowed = model.merge(first, second) if kind == "merge" else model.reverse(first)
        if allowed is None:
            continue
        with nullcontext() if allowed else pytest.raises(StateConflict):
            if kind == "merge":
                events.append(merge(store, rows[first].uuid, rows[second].uuid, decider=HUMAN, now=NOW))
            else:
                reverse(store, events[first].uuid, decider=HUMAN, now=NOW)
        if allowed:
            at = StoreCounter.objects.values_list("belief_at", flat=True).get(store=store)
            history.append((at, [model.survivor(n) for n in range(6)]))
    expected = [rows[model.survivor(n)].pk for n in range(6)]
    merges = read_merges(store)
    assert [merges.survivor(row.pk) for row in rows] == expected
    assert [by_sql(store, rows)[row.pk] for row in rows] == expected
    for root in set(expected):
        members = {row.pk for row, survivor in zip(rows, expected, strict=True) if survivor == root}
        assert set(merges.members(root)) == members
        assert set(families(store, [root])[root]) == members
    with snapshot():
        for row, survivor in zip(rows, expected, strict=True):
            assert [each.pk for each in lookup(store, row.name, at=NOW)] == [survivor]
    active = Entity.objects.filter(store=store, status="active").values_list("pk", flat=True)
    assert set(active) == set(expected)
    # As it was believed at every instant since.
    for at, then in history:
        past = read_merges(store, at=at)
        assert [past.survivor(row.pk) for row in rows] == [rows[n].pk for n in then]
    assert not read_merges(store, at=NOW - timedelta(seconds=1))
    assert MergeEvent.objects.filter(store=store).count() == len(events)


@settings(max_examples=examples(60))
@given(
    into=st.dictionaries(st.integers(1, 8), st.integers(1, 8), max_size=8), retired=st.sets(st.integers(1, 8))
)
def test_members_and_survivors_are_two_sides_of_one_map(into, retired):
    merges = Merges((a, a, b, b, b not in retired or b in into) for a, b in into.items() if a != b)
    for entity in range(1, 9):
        survivor = merges.survivor(entity)
        assert survivor is None or entity in merges.members(survivor)
    for root in range(1, 9):
        if merges.survivor(root) == root:
            assert all(merges.survivor(each) == root for each in merges.members(root))


def test_reading_merges_takes_one_statement_however_many_there_are(store):
    line(store, 30)
    with CaptureQueriesContext(connection) as captured:
        read_merges(store)
        read_merges(store, at=NOW)
    assert len(captured) == 2
