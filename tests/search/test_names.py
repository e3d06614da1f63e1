"""Who may be meant by a name (contract: context-bundle C.1)."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memoryconsole.folding import declared_key, resolve_key
from memoryconsole.models import Claim, Document, Entity, EntityAlias, Fact, FactEvidence, Mention, Record
from memoryconsole.search.names import FETCHED, UNIT, lookup
from memoryconsole.snapshot import snapshot
from tests.search.builders import add, digest_of, new_store

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)


@pytest.fixture
def store():
    return new_store()


def make(store, name, *aliases, **fields):
    number = 1 + Entity.objects.filter(store=store).count()
    entity = Entity.objects.create(
        store=store, number=number, uuid=uuid.uuid4(), name=name, declared_key=declared_key(name),
        resolve_key=resolve_key(name), created_at=NOW, **fields,
    )  # fmt: skip
    for alias in aliases:
        EntityAlias.objects.create(
            store=store,
            entity=entity,
            alias=alias,
            declared_key=declared_key(alias),
            resolve_key=resolve_key(alias),
        )
    return entity


def absorb(survivor, absorbed):
    Entity.objects.filter(pk=absorbed.pk).update(status="merged", merged_into=survivor)


def find(store, name, *context, at=NOW):
    with snapshot():
        return lookup(store, name, [entity.uuid for entity in context], at=at)


def told(found):
    return [(each.name, each.tier) for each in found]


def relate(store, subject, object_, *, visible=True, **fields):
    """A relation with one supporting claim in a record of its own."""
    number = 1 + Fact.objects.filter(store=store).count()
    (record,) = add(store, f"relation {number}")
    document = Document.objects.create(
        store=store,
        number=number,
        uuid=uuid.uuid4(),
        source_kind="file",
        source_ref=str(number),
        created_at=NOW,
    )
    claim = Claim.objects.create(
        store=store, number=number, uuid=uuid.uuid4(), document=document, record=record, claim_text="x",
        digest=digest_of("x"), source_span="r", char_start=0, char_end=1, spans=[[0, 1]], created_at=NOW,
        ingested_at=NOW,
    )  # fmt: skip
    if not visible:
        Record.objects.filter(pk=record.pk).update(deleted_at=NOW)
    window = {"valid_from": NOW - timedelta(days=1), "valid_precision": "open"}
    fact = Fact.objects.create(
        store=store, number=number, uuid=uuid.uuid4(), kind="relation", subject=subject, object=object_,
        predicate="knows", window_since=NOW, created_at=NOW, **{"ingested_at": NOW, **window, **fields},
    )  # fmt: skip
    FactEvidence.objects.create(store=store, fact=fact, claim=claim, stance="supports", attached_at=NOW)
    return fact


# T0


@pytest.mark.parametrize(
    "name", ["Åse  Brandvold", " ase BRANDVOLD ", "Åse brandvold", "Ase\u0301 Brandvold"]
)
def test_case_accents_and_blanks_do_not_matter(name, store):
    make(store, "Åse  Brandvold")
    assert told(find(store, name)) == [("Åse  Brandvold", "T0")]


def test_every_homonym_comes_back_and_nothing_else(store):
    for place in range(FETCHED + 3):
        make(store, "Mercury" if place % 2 else "Planet", *(() if place % 2 else ("mercury",)))
    make(store, "Mercury Line")
    found = find(store, "MERCURY")
    assert [each.number for each in found] == list(range(1, FETCHED + 4))
    assert {(each.tier, each.score, each.likeness) for each in found} == {("T0", UNIT, UNIT)}


@pytest.mark.parametrize("name", ["", "   ", "\u0301", "\u0301 \u0308"])
def test_a_name_without_a_key_is_nobodys_and_asks_nothing(name, store):
    make(store, "\u0301")
    with snapshot(), CaptureQueriesContext(connection) as captured:
        assert lookup(store, name, [uuid.uuid4()], at=NOW) == ()
    assert len(captured) == 0


def test_backslashes_quotes_and_percent_signs_are_letters_like_others(store):
    for name in ("a\\b", "O'Hara", "100%", 'x"y', "%s"):
        make(store, name)
        assert told(find(store, name)) == [(name, "T0")]


def test_the_longest_name_is_found(store):
    name = "\ufdfa" * 256
    make(store, name)
    assert [each.tier for each in find(store, name)] == ["T0"]


# T1, T2


def test_a_near_name_is_a_candidate_scored_in_ten_thousandths(store):
    make(store, "Marit Solvang")
    make(store, "Unrelated")
    (found,) = find(store, "Marit Solvng")
    with connection.cursor() as cursor:
        cursor.execute("SELECT similarity('marit solvang', 'marit solvng')")
        (similarity,) = cursor.fetchone()
    assert (found.name, found.tier) == ("Marit Solvang", "T1")
    assert found.score == found.likeness == round(similarity * UNIT)


def test_an_alias_that_is_nearer_scores_and_the_canonical_name_breaks_ties(store):
    make(store, "Xylophone", "Marit Solvang")
    make(store, "Marit Solvangen", "Marit Solvang")
    first, second = find(store, "Marit Solvng")
    assert (first.name, second.name) == ("Marit Solvangen", "Xylophone")
    assert first.score == second.score
    assert first.likeness > second.likeness == 0


def test_equal_names_are_ordered_by_number_and_eleven_are_fetched(store):
    for _ in range(FETCHED + 5):
        make(store, "Marit Solvang")
    assert [each.number for each in find(store, "Marit Solvng")] == list(range(1, FETCHED + 1))


@pytest.mark.parametrize(("name", "candidate"), [("abcdefg", True), ("abcxyzuvw", False)])
def test_a_similarity_of_three_tenths_is_enough(name, candidate, store):
    # "abcd": 5 trigrams. Shared / union: 4/9 for the one; 3/12 for the other.
    make(store, "abcd")
    assert ([each.tier for each in find(store, name)] == ["T1"]) is candidate


def test_exactly_three_tenths_is_near_and_a_server_that_wants_more_is_overruled(store):
    # 3 trigrams of 10: "  a", " ab", "abc" of abcd (5) and abcefgh (8).
    make(store, "abcd")
    with connection.cursor() as cursor:
        cursor.execute("SELECT similarity('abcd', 'abcefgh')")
        assert round(cursor.fetchone()[0], 6) == 0.3
        cursor.execute("SET pg_trgm.similarity_threshold = 0.9")
    try:
        (found,) = find(store, "abcefgh")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET pg_trgm.similarity_threshold")
    assert (found.tier, found.score) == ("T1", 3000)


def test_a_name_that_only_sounds_alike_scores_nothing_and_comes_last(store):
    make(store, "Moskowitz")
    make(store, "Moskovit")
    found = find(store, "Moskovits")
    assert [(each.name, each.tier) for each in found] == [("Moskovit", "T1"), ("Moskowitz", "T1")]
    # "Schwarz" and "Shvarts": few letters in common, one sound.
    make(store, "Shvarts")
    (found,) = find(store, "Schwarz")
    assert (found.name, found.tier, found.score) == ("Shvarts", "T2", 0)


def test_nearness_counts_before_sound(store):
    make(store, "Schwarz Anna", "Shvarts")
    make(store, "Shvartz")
    found = find(store, "Schwarz")
    assert [(each.name, each.tier) for each in found] == [("Schwarz Anna", "T1"), ("Shvartz", "T2")]


def test_an_exact_hit_ends_the_search(store):
    make(store, "Marit Solvang")
    make(store, "Marit Solvng")
    assert told(find(store, "marit solvng")) == [("Marit Solvng", "T0")]


# Who is there


def test_names_of_what_was_merged_away_lead_to_the_survivor_once(store):
    skerry, skjer, third = (
        make(store, "Skerry Line"),
        make(store, "Skjer Linjen", "Skjer"),
        make(store, "Skjer"),
    )
    absorb(skjer, third)
    absorb(skerry, skjer)
    assert told(find(store, "Skjer Linjen")) == told(find(store, "skjer")) == [("Skerry Line", "T0")]
    (near,) = find(store, "Skjer Linjn")
    assert (near.name, near.tier) == ("Skerry Line", "T1")
    assert near.likeness < near.score


def test_a_cycle_and_a_retired_survivor_are_nobody(store):
    one, two, old, older = (make(store, name) for name in ("One", "Two", "Old", "Older"))
    absorb(one, two)
    absorb(two, one)
    Entity.objects.filter(pk=old.pk).update(status="retired")
    absorb(old, older)
    for name in ("One", "Two", "Old", "Older", "Onne", "Oldest"):
        assert find(store, name) == ()


def test_an_entity_that_nobody_declared_lives_by_its_mentions(store):
    entity = make(store, "Ghost", declared=False)
    assert find(store, "ghost") == find(store, "ghos") == ()
    (record,) = add(store, "a ghost")
    Mention.objects.create(store=store, entity=entity, record=record, created_at=NOW)
    assert told(find(store, "ghost")) == [("Ghost", "T0")]
    Record.objects.filter(pk=record.pk).update(deleted_at=NOW)
    assert find(store, "ghost") == ()


def test_a_survivor_has_the_provenance_of_all_it_absorbed(store):
    ghost, body = make(store, "Ghost", declared=False), make(store, "Body")
    absorb(ghost, body)
    assert told(find(store, "ghost")) == told(find(store, "body")) == [("Ghost", "T0")]


def test_stores_do_not_meet(store):
    make(new_store(), "Marit Solvang")
    assert find(store, "Marit Solvang") == find(store, "Marit Solvng") == ()


# The context


def hits(found):
    return {each.name: each.context_hits for each in found}


def test_a_context_counts_its_distinct_neighbours_and_changes_nothing_else(store):
    marit, martin, ferry, line = (make(store, name) for name in ("Marit", "Martin", "Ferry", "Line"))
    relate(store, marit, ferry)
    relate(store, ferry, marit)
    relate(store, line, marit)
    relate(store, martin, line)
    assert hits(find(store, "mari", ferry, line)) == {"Marit": 2, "Martin": 1}
    assert hits(find(store, "marit", ferry)) == {"Marit": 1}
    assert told(find(store, "mari", ferry, line)) == told(find(store, "mari"))
    with snapshot(), CaptureQueriesContext(connection) as captured:
        lookup(store, "mari", [ferry.uuid], at=NOW)
    assert len(captured) == 3


@pytest.mark.parametrize(
    "fields",
    [
        {"valid_precision": "unknown", "valid_from": None},
        {"valid_precision": "day", "valid_until": None},
        {"valid_precision": "day", "valid_from": NOW - timedelta(days=2), "valid_until": NOW},
        {"valid_from": NOW + timedelta(days=1)},
        {"ingested_at": NOW + timedelta(microseconds=1)},
        {"invalidated_at": NOW},
        {"visible": False},
    ],
    ids=["undated", "end unknown", "ended", "not begun", "not held yet", "not held", "no evidence"],
)
def test_only_relations_that_are_certainly_live_count(fields, store):
    marit, ferry = make(store, "Marit"), make(store, "Ferry")
    relate(store, marit, ferry, **fields)
    assert hits(find(store, "marit", ferry)) == {"Marit": 0}


@pytest.mark.parametrize(
    "fields",
    [
        {"valid_from": NOW},
        {"valid_precision": "day", "valid_until": NOW + timedelta(microseconds=1)},
    ],
    ids=["begins now", "ends a microsecond later"],
)
def test_the_edges_of_a_window_count(fields, store):
    marit, ferry = make(store, "Marit"), make(store, "Ferry")
    relate(store, marit, ferry, **fields)
    assert hits(find(store, "marit", ferry)) == {"Marit": 1}


def test_relations_are_those_of_survivors_and_a_context_of_two_that_are_one_counts_once(store):
    marit, mari, ferry, boat = (make(store, name) for name in ("Marit", "Mari", "Ferry", "Boat"))
    relate(store, mari, boat)
    absorb(marit, mari)
    absorb(ferry, boat)
    assert hits(find(store, "marit", ferry, boat)) == {"Marit": 1}
    # Itself is no neighbour, and who is unknown or has no provenance changes nothing.
    nobody = make(store, "Nobody", declared=False)
    relate(store, marit, nobody)
    relate(store, marit, mari)
    assert hits(find(store, "marit", mari, nobody)) == {"Marit": 0}


def test_names_are_found_by_their_indexes(store):
    """At size, the planner takes the digest, trigram and sound indexes: no look-up reads the store's names."""
    from memoryconsole.search import names

    Entity.objects.bulk_create(
        Entity(
            store=store, number=n, uuid=uuid.uuid4(), name=f"n{n}", declared_key=f"n{n}",
            resolve_key=f"{n * 7919 % 100_003:x} {n * 104_729 % 1_000_003:x}", created_at=NOW,
        )
        for n in range(1, 20_001)
    )  # fmt: skip
    values = {"store": store.pk, "key": "zzqx 1234", "digest": digest_of("zzqx 1234")}
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE mc_entity")
        for statement, index in (
            (names._EXACT, {"entity_resolve_key"}),
            (names._NEAR, {"mc_entity_like", "mc_entity_sound"}),
        ):
            cursor.execute("EXPLAIN " + statement, values)
            plan = "\n".join(row[0] for row in cursor.fetchall())
            assert all(name in plan for name in index), plan
