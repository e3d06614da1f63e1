"""Claims, facts and profiles in the index: each part apart, each row found by what it is told by."""

import json
import random

import numpy as np
import pytest
from django.db import connection, transaction
from django.db.models import Q
from django.test.utils import CaptureQueriesContext

from memoryconsole import search
from memoryconsole.models import EntryVector, FactEvidence, IndexEntry, Store
from memoryconsole.models.search import Part
from memoryconsole.search import words
from memoryconsole.search.nominate import UNMATCHED
from memoryconsole.snapshot import snapshot
from provenance.context_bundle.nominating import Among, Search, Wanted
from tests.search import brute_force
from tests.search.builders import NOW, Broken, ChosenCosines, add, add_summary, ask, new_store, refs, running
from tests.search.part_builders import (
    add_claims,
    add_fact,
    channel,
    ids,
    make_alias,
    make_entity,
    make_fact,
    nominate,
)

PARTS: tuple[search.NominatedPart, ...] = ("claims", "chunks", "facts", "profiles")


@pytest.fixture
def bare():
    """Words alone."""
    with running(None):
        yield


def test_no_part_meets_anothers_words_or_vectors():
    store = new_store()
    model = ChosenCosines(dict.fromkeys(("ferry one", "ferry two", "ferry three", "Ferry\nferry three"), 0.9))
    with running(model):
        (record,) = add(store, "ferry one")
        (claim,) = add_claims(store, "ferry two", record=record)
        entity = make_entity(store, "Ferry")
        fact = add_fact(store, entity, "ferry three")
        summary = add_summary(store, "ferry four")
        expected = {"claims": claim.pk, "chunks": record.pk, "facts": fact.pk, "profiles": entity.pk}
        for part in PARTS:
            found = nominate(store, "ferry", part)
            assert ids(found) == ids(found, "semantic") == [expected[part]], part
        assert refs(ask(store, "ferry")) == ["mem:1", f"ep:{summary.number}"]
        assert ask(store, "ferry").totals.stored == 2
    keys = {entry.part: set(entry.keys) for entry in IndexEntry.objects.filter(store=store, summary=None)}
    assert all(not keys[a] & keys[b] for a in keys for b in keys if a != b)
    vectors = EntryVector.objects.filter(store=store).select_related("entry")
    assert all(vector.part == vector.entry.part for vector in vectors)


def test_recall_is_what_it_was_when_other_parts_fill(bare):
    alone, beside = new_store(), new_store()
    texts = ["the ferry leaves at seven", "a ferry, a tide", "tide tables of the ferry", "salt"]
    add(alone, *texts)
    record = add(beside, *texts)[0]
    add_claims(beside, *(f"ferry and tide {n}" for n in range(30)), record=record)
    add_fact(beside, make_entity(beside, "Ferry"), "ferry of the tide")
    for query in ("ferry tide", "salt", "seven"):
        one, other = ask(alone, query), ask(beside, query)
        assert [(row.number, row.score, row.evidence) for row in one.rows] == [
            (row.number, row.score, row.evidence) for row in other.rows
        ]
        assert one.totals == other.totals


def by_hand(texts: dict[int, str], query: str) -> list[tuple[int, int]]:
    """(number, BM25) of the texts that hold a word of the query, by number, best first: every word counted here."""
    rows = [brute_force.Row("mem", number, text, b"") for number, text in texts.items()]
    judged, _ = brute_force.judge(rows, query, search_everything(), (), None)
    return sorted(((j.row.number, j.own) for j in judged), key=lambda pair: (-pair[1], pair[0]))


def search_everything():
    from memoryconsole.scope import ReadScope

    return ReadScope()


VOCABULARY = ["ferry", "tide", "salt", "rope", "pier", "gull", "storm", "lamp", "anchor", "net"]


@pytest.mark.parametrize("seed", range(6))
def test_words_are_as_rare_as_they_are_in_the_part(seed, bare):
    rng = random.Random(seed)

    def sentence() -> str:
        # Falling frequencies, so that rarity matters.
        return " ".join(rng.choices(VOCABULARY, weights=range(10, 0, -1), k=rng.randint(1, 6)))

    store = new_store()
    records = add(store, *(sentence() for _ in range(20)))
    claims = add_claims(store, *(sentence() for _ in range(40)), record=records[0])
    entity = make_entity(store, "Crew")
    facts = [add_fact(store, entity, sentence()) for _ in range(15)]
    told = {
        "chunks": {r.pk: (r.number, r.content) for r in records},
        "claims": {c.pk: (c.number, c.claim_text) for c in claims},
        "facts": {f.pk: (f.number, f.statement) for f in facts},
    }
    for query in ("ferry", "net storm", "gull anchor tide", "ferry ferry lamp"):
        for part, rows in told.items():
            numbers = {pk: number for pk, (number, _) in rows.items()}
            expected = by_hand(dict(rows.values()), query)
            found = channel(nominate(store, query, part), "lexical")
            assert [(numbers[pk], score) for pk, score in found] == expected, (part, query)


@pytest.mark.parametrize("seed", range(4))
def test_in_scope_every_row_is_ranked_in_every_channel(seed):
    rng = random.Random(seed)
    texts = [f"{rng.choice(VOCABULARY)} {n}" for n in range(30)]
    cosines = {text: round(rng.uniform(-1, 1), 3) for text in texts if rng.random() < 0.8}
    store = new_store()
    with running(ChosenCosines(cosines)):
        (record,) = add(store, "unrelated")
        claims = add_claims(store, *texts, record=record)
        among = rng.sample([claim.pk for claim in claims], 17)
        everywhere, anchored = (nominate(store, "ferry tide", "claims", scope) for scope in (None, among))
    number = {claim.pk: claim.number for claim in claims}
    for name in ("lexical", "semantic"):
        whole, some = channel(everywhere, name), channel(anchored, name)
        assert sorted(pk for pk, _ in some) == sorted(among)
        # Words are as rare as they are in the scope, so that scores differ and what holds them does not.
        found = [
            pk for pk, score in some if score > UNMATCHED and (name == "lexical" or (pk, score) in whole)
        ]
        wanted = [pk for pk, _ in whole if pk in among]
        assert found == wanted if name == "semantic" else set(found) == set(wanted)
        assert some == sorted(some, key=lambda pair: (-pair[1], number[pair[0]]))
        matched = next(each.matched for each in anchored.channels if each.name == name)
        assert [score == UNMATCHED for _, score in some] == [False] * matched + [True] * (len(some) - matched)
    said = {claim.pk: claim.claim_text for claim in claims}
    assert dict(channel(anchored, "semantic")) == {
        pk: pytest.approx(10_000 * cosines[said[pk]], abs=30) if said[pk] in cosines else UNMATCHED
        for pk in among
    }
    # Without a scope the floor holds.
    assert all(score >= 4_500 for _, score in channel(everywhere, "semantic"))
    assert {pk for pk, _ in channel(everywhere, "semantic")} == {
        pk for pk, text in said.items() if cosines.get(text, -1) >= 0.45
    }


def test_equal_rows_are_in_the_order_of_their_numbers_whatever_their_keys(bare):
    store = new_store()
    (record,) = add(store, "x")
    claims = add_claims(store, *["ferry"] * 3, "salt", "salt", record=record)
    # Numbers the other way round than primary keys: as after an import.
    for claim in claims:
        type(claim).objects.filter(pk=claim.pk).update(number=100 - claim.number)
        IndexEntry.objects.filter(claim=claim).update(number=100 - claim.number)
    turned = [claim.pk for claim in reversed(claims)]
    assert ids(nominate(store, "ferry", "claims")) == turned[2:]
    assert ids(nominate(store, "ferry", "claims", turned)) == turned[2:] + turned[:2]


def test_scope_may_name_rows_that_are_not_in_the_index(bare):
    store = new_store()
    (record,) = add(store, "x")
    one, two = add_claims(store, "ferry", "salt", record=record)
    search.remove(store, claim_ids=[one.pk])
    found = nominate(store, "salt", "claims", [one.pk, two.pk])
    assert channel(found, "lexical") == [(two.pk, channel(found, "lexical")[0][1]), (one.pk, UNMATCHED)]
    assert ids(nominate(store, "salt", "claims", [])) == []
    assert ids(nominate(new_store(), "salt", "claims")) == []


def test_a_foreign_row_in_scope_says_nothing(bare):
    mine, other = new_store(), new_store()
    (record,), (theirs,) = add(mine, "x"), add(other, "x")
    add_claims(mine, "salt", record=record)
    (foreign,) = add_claims(other, "ferry", record=theirs)
    assert channel(nominate(mine, "ferry", "claims", [foreign.pk]), "lexical") == [(foreign.pk, UNMATCHED)]
    assert ids(nominate(mine, "ferry", "claims")) == []
    assert ids(nominate(other, "ferry", "claims")) == [foreign.pk]


def test_chunks_are_records_and_never_summaries():
    store = new_store()
    with running(ChosenCosines({"ferry": 0.9, "tide": 0.8, "salt": 0.7})):
        ferry, tide = add(store, "ferry", "tide")
        add_summary(store, "ferry")
        add_summary(store, "salt")
        found = nominate(store, "ferry", "chunks")
        assert (ids(found), ids(found, "semantic")) == ([ferry.pk], [ferry.pk, tide.pk])


def test_a_claim_is_found_by_its_words_and_by_its_sources(bare):
    store = new_store()
    (record,) = add(store, {"content": "She moved there", "source_name": "Larkspur"})
    inside, apart = (
        add_claims(store, "Ada moved to Oslo", record=record),
        add_claims(store, "Ben lives in Bergen", record=record, source_span="he stayed on the quay"),
    )
    assert ids(nominate(store, "Oslo", "claims")) == [inside[0].pk]
    assert ids(nominate(store, "quay", "claims")) == ids(nominate(store, "Bergen", "claims")) == [apart[0].pk]
    # Who said it raises what holds another word of the question, and finds nothing alone.
    assert ids(nominate(store, "Larkspur", "claims")) == []
    ((_, plain),), ((_, raised),) = (
        channel(nominate(store, query, "claims"), "lexical") for query in ("Oslo", "Larkspur Oslo")
    )
    assert raised > plain
    # Said twice is not held twice.
    (twice,) = add_claims(store, "Cleo sails", record=record, source_span="Cleo sails away")
    entry = IndexEntry.objects.get(claim=twice)
    assert entry.length == 3


def test_a_relation_is_found_by_its_ends_and_its_predicate(bare):
    store = new_store()
    ada, acme = make_entity(store, "Ada Brandvold"), make_entity(store, "Acme Rigging")
    fact = add_fact(store, ada, "other:fell_out_with", acme)
    for query in ("brandvold", "rigging", "fell"):
        assert ids(nominate(store, query, "facts")) == [fact.pk], query
    assert ids(nominate(store, "other", "facts")) == []


def test_names_of_merged_entities_are_their_survivors(bare):
    store = new_store()
    ada, crew = make_entity(store, "Ada"), make_entity(store, "Crew")
    gone = make_entity(store, "Augusta", "Gusta", status="merged", merged_into=ada)
    fact = add_fact(store, gone, "works_for", crew)
    with transaction.atomic():
        search.index(store, profiles=[ada, gone], now=NOW)
    assert ids(nominate(store, "ada", "facts")) == [fact.pk]
    assert ids(nominate(store, "augusta", "facts")) == []
    for query in ("ada", "augusta", "gusta", "crew"):
        found = set(ids(nominate(store, query, "profiles")))
        assert ada.pk in found, query
        assert gone.pk not in found
    gone.status, gone.merged_into = "active", None
    gone.save()
    with transaction.atomic():
        search.index(store, profiles=[ada, gone], now=NOW)
    assert ids(nominate(store, "augusta", "profiles")) == [gone.pk]
    # The crew's profile is told with the names of the day it was written.
    assert ids(nominate(store, "ada", "profiles")) == [ada.pk, crew.pk]


def test_a_profile_holds_the_newest_facts_believed(bare):
    store = new_store()
    ada = make_entity(store, "Ada", "Countess")
    facts = [make_fact(store, ada, f"keeps item{n}") for n in range(10)]
    with transaction.atomic():
        search.index(store, facts=facts, profiles=[ada], now=NOW)

    def held(query: str) -> bool:
        return ids(nominate(store, query, "profiles")) == [ada.pk]

    assert held("countess")
    assert [n for n in range(10) if held(f"item{n}")] == list(range(2, 10))
    facts[9].invalidated_at = NOW
    facts[9].save()
    make_alias(ada, "Enchantress")
    with transaction.atomic():
        search.index(store, profiles=[ada], now=NOW)
    assert [n for n in range(10) if held(f"item{n}")] == list(range(1, 9))
    assert held("enchantress")
    assert IndexEntry.objects.filter(entity=ada).count() == 1
    # Of a fact that is over the belief is over, and its words stay findable: reads of the past need them.
    assert ids(nominate(store, "item9", "facts")) == [facts[9].pk]


def test_a_name_nearly_written_is_behind_the_words_that_are(bare):
    store = new_store()
    entities = {
        name: make_entity(store, name)
        for name in ("Ase Brandvold", "Solveig Brandwald", "Kari Olsen", "Worth")
    }
    make_alias(entities["Kari Olsen"], "Brandwolt")
    for entity in entities.values():
        add_fact(store, entity, "keeps the lamp of Greenwich")
    found = channel(nominate(store, "where does Brandwold lamp", "profiles"), "lexical")
    lamps = [(pk, score) for pk, score in found if score > 0]
    assert {pk for pk, _ in lamps} == {entity.pk for entity in entities.values()}
    # A word that somebody is called by is not taken for a misspelling.
    assert [pk for pk, _ in found] == [pk for pk, _ in lamps]
    found = channel(nominate(store, "where does Brandwold work", "profiles"), "lexical")
    assert [pk for pk, _ in found] == [
        entities[name].pk for name in ("Kari Olsen", "Ase Brandvold", "Solveig Brandwald")
    ]
    assert all(UNMATCHED < score <= 0 for _, score in found)
    assert found == sorted(found, key=lambda pair: -pair[1])
    scope = [entities[name].pk for name in ("Worth", "Kari Olsen")]
    assert ids(nominate(store, "Brandwold", "profiles", scope)) == [
        entities["Kari Olsen"].pk,
        entities["Worth"].pk,
    ]


def test_a_misspelled_name_of_a_merged_entity_leads_to_its_survivor(bare):
    store = new_store()
    ada = make_entity(store, "Ada")
    make_entity(store, "Brandvold", status="merged", merged_into=ada)
    make_entity(store, "Brandwolds", status="retired")
    make_entity(store, "Brandvold")
    assert ids(nominate(store, "Brandwold", "profiles")) == []
    # As it is between a merge and the rewriting of profiles: the name is not in this one yet.
    with transaction.atomic():
        search.index(store, profiles=[ada], now=NOW)
    assert ids(nominate(store, "Brandwold", "profiles")) == [ada.pk]


@pytest.mark.parametrize(
    "query", ["", "   ", "% _ \\ '", "the of and", "!!!", "\u200d", "x" * 8192, "do " * 2000, "ﷺ" * 99]
)
def test_no_query_fails(query):
    store = new_store()
    with running(ChosenCosines({"ferry": 0.9})):
        (record,) = add(store, "ferry")
        (claim,) = add_claims(store, "ferry", record=record)
        add_fact(store, make_entity(store, "Ferry"), "ferry")
        for part in PARTS:
            assert ids(nominate(store, query, part)) == []
        assert ids(nominate(store, query, "claims", [claim.pk])) == [claim.pk]


def test_a_deleted_row_is_found_no_more():
    store = new_store()
    with running(ChosenCosines({"ferry": 0.9, "Ferry\nferry": 0.9})):
        (record,) = add(store, "ferry")
        (claim,) = add_claims(store, "ferry", record=record)
        entity = make_entity(store, "Ferry")
        fact = add_fact(store, entity, "ferry")
        with CaptureQueriesContext(connection) as ran:
            search.remove(store, claim_ids=[claim.pk], fact_ids=[fact.pk], entity_ids=[entity.pk])
        assert len(ran) == 1
        for part in ("claims", "facts", "profiles"):
            found = nominate(store, "ferry", part)
            assert not ids(found)
            assert not ids(found, "semantic")
        assert ids(nominate(store, "ferry", "chunks")) == [record.pk]
    assert EntryVector.objects.filter(store=store).count() == 1


def test_removing_nothing_asks_nothing():
    with CaptureQueriesContext(connection) as ran:
        search.remove(new_store_quietly := Store(pk=1), record_ids=[], entity_ids=())
    assert new_store_quietly.pk == 1
    assert not ran.captured_queries


def test_another_language_reads_every_part_again(bare):
    store = new_store()
    (record,) = add(store, "die Häuser am Hafen")
    (claim,) = add_claims(store, "die Häuser am Hafen", record=record)
    entity = make_entity(store, "Häuser")
    fact = add_fact(store, entity, "die Häuser am Hafen")
    expected = {"claims": claim.pk, "chunks": record.pk, "facts": fact.pk, "profiles": entity.pk}
    before = {part: ids(nominate(store, "Hafen", part)) for part in PARTS}
    Store.objects.filter(pk=store.pk).update(language="german")
    store.refresh_from_db()
    for part in PARTS[:3]:
        assert ids(nominate(store, "Haus", part)) == []
    IndexEntry.objects.filter(store=store).update(analyzer=0)
    step: int | None = 0
    while step is not None:
        with transaction.atomic():
            step = search.reanalyze(store, after=step, limit=2)
    for part in PARTS:
        assert ids(nominate(store, "Haus", part)) == [expected[part]], part
        assert ids(nominate(store, "Hafen", part)) == before[part]
    assert set(IndexEntry.objects.filter(store=store).values_list("analyzer", flat=True)) == {search.ANALYZER}


def test_without_a_model_there_is_no_semantic_channel_and_the_answer_says_why():
    store = new_store()
    cosines = {"ferry": 0.9, "tide": 0.8}
    with running(ChosenCosines(cosines)):
        (record,) = add(store, "x")
        (claim,) = add_claims(store, "ferry", record=record)
        found = nominate(store, "ferry", "claims")
        assert (ids(found, "semantic"), found.advisory) == ([claim.pk], None)
        # Nothing to compare, and nothing missing.
        empty = nominate(store, "ferry", "facts")
        assert ([each.name for each in empty.channels], empty.advisory) == (["lexical"], None)
    for model, reason in (
        (None, "no_embedder"),
        (Broken(cosines), "embedder_failed"),
        (ChosenCosines(cosines, fingerprint="2"), "vectors_of_another_model"),
    ):
        with running(model):
            found = nominate(store, "ferry", "claims")
        assert [each.name for each in found.channels] == ["lexical"], reason
        assert ids(found) == [claim.pk]
        assert found.advisory["reason"] == reason


def test_every_part_gets_the_vectors_it_was_written_without():
    store = new_store()
    with running(None):
        (record,) = add(store, "x")
        (claim,) = add_claims(store, "ferry", record=record)
        entity = make_entity(store, "Ferry")
        fact = add_fact(store, entity, "ferry")
    with running(ChosenCosines({"ferry": 0.9, "Ferry\nferry": 0.8, "x": 0.1})):
        assert nominate(store, "ferry", "claims").advisory["reason"] == "no_vectors"
        step: int | None = 0
        while step is not None:
            with transaction.atomic():
                step = search.fill_space(store, after=step, limit=1, now=NOW)
        for part, pk in (("claims", claim.pk), ("facts", fact.pk), ("profiles", entity.pk)):
            found = nominate(store, "ferry", part)
            assert (ids(found, "semantic"), found.advisory) == ([pk], None), part
    assert sorted(EntryVector.objects.filter(store=store).values_list("part", flat=True)) == [
        Part.RECALL, Part.CLAIM, Part.FACT, Part.PROFILE
    ]  # fmt: skip


def test_rows_without_vectors_are_counted():
    store = new_store()
    with running(ChosenCosines({"ferry": 0.9})):
        (record,) = add(store, "x")
        add_claims(store, "ferry", record=record)
    with running(None):
        (late,) = add_claims(store, "ferry pier", record=record)
    with running(ChosenCosines({"ferry": 0.9})):
        found = nominate(store, "ferry", "claims")
        assert found.advisory["reason"] == "vectors_incomplete"
        assert "1 rows" in found.advisory["evidence"]
        assert len(ids(found)) == 2
        assert len(ids(found, "semantic")) == 1
        anchored = nominate(store, "ferry", "claims", [late.pk])
        assert (ids(anchored, "semantic"), anchored.advisory["reason"]) == ([late.pk], "vectors_incomplete")


@pytest.mark.parametrize("part", ["claims", "facts", "profiles"])
def test_a_write_says_what_vectors_its_part_owes(part):
    store = new_store()
    (record,) = add(store, "x")
    entities = iter([make_entity(store, f"Pier {n}") for n in range(9)])

    def write() -> bool:
        from tests.search import part_builders

        with transaction.atomic():
            if part == "claims":
                number = part_builders.next_number(part_builders.Claim, store)
                claim = part_builders.Claim.objects.create(
                    store=store, number=number, uuid=part_builders.uuid.uuid4(),
                    document=part_builders.document(store), record=record, claim_text="c", digest=b"c" * 32,
                    source_span="c", char_start=0, char_end=1, spans=[], created_at=NOW, ingested_at=NOW,
                )  # fmt: skip
                return search.index(store, claims=[claim], now=NOW).owed
            entity = next(entities)
            if part == "facts":
                return search.index(store, facts=[make_fact(store, entity, "f")], now=NOW).owed
            return search.index(store, profiles=[entity], now=NOW).owed

    model = ChosenCosines({})
    with running(model):
        with transaction.atomic():
            search.fill_space(store, now=NOW)
        assert not write()
        assert not write()
    with running(None):
        assert not write()
    with running(model):
        assert write()
        with transaction.atomic():
            search.fill_space(store, now=NOW)
        assert not write()
    with running(Broken({})):
        assert write()
    with running(ChosenCosines({}, fingerprint="2")):
        assert write()


def test_what_was_never_indexed_is_indexed_by_the_job(bare):
    store = new_store()
    (record,) = add(store, "ferry")
    (claim,) = add_claims(store, "ferry", record=record)
    ada, crew, idle = make_entity(store, "Ada"), make_entity(store, "Crew"), make_entity(store, "Idle")
    gone = make_entity(store, "Augusta", status="merged", merged_into=ada)
    fact, unbacked = make_fact(store, gone, "works_for", crew), make_fact(store, gone, "left")
    FactEvidence.objects.create(store=store, fact=fact, claim=claim, stance="supports", attached_at=NOW)
    IndexEntry.objects.filter(store=store, record=None).delete()
    with transaction.atomic():
        assert search.index_missing(store, now=NOW) == 3
        assert search.index_missing(store, now=NOW) == 0
    assert ids(nominate(store, "ferry", "claims")) == [claim.pk]
    assert ids(nominate(store, "ada", "facts")) == [fact.pk]
    assert ids(nominate(store, "crew", "profiles")) == [crew.pk]
    assert not IndexEntry.objects.filter(Q(entity__in=[idle, gone]) | Q(fact=unbacked)).exists()


def statements(call) -> int:
    with CaptureQueriesContext(connection) as ran:
        call()
    return len(ran)


def test_a_write_of_one_is_a_few_statements():
    store = new_store()
    model = ChosenCosines({"ferry": 0.9})
    with running(model), transaction.atomic():
        (record,) = add(store, "ferry")
        (claim,) = add_claims(store, "ferry", record=record)
        ada, crew = make_entity(store, "Ada"), make_entity(store, "Crew")
        fact = make_fact(store, ada, "works_for", crew)
        search.remove(store, claim_ids=[claim.pk])
        assert statements(lambda: search.index(store, claims=[claim], now=NOW)) == 3
        assert statements(lambda: search.index(store, facts=[fact], now=NOW)) == 4
        assert statements(lambda: search.index(store, profiles=[ada, crew], now=NOW)) == 6
        search.remove(store, fact_ids=[fact.pk])
        assert statements(lambda: search.index(store, facts=[fact], profiles=[ada, crew], now=NOW)) == 6


def test_a_nomination_is_a_few_statements_whatever_the_store(monkeypatch):
    for rows in (3, 40):
        store = new_store()
        with running(ChosenCosines({f"salt {n}": 0.9 for n in range(rows)})):
            (record,) = add(store, "x")
            claims = add_claims(store, *(f"salt {n}" for n in range(rows)), record=record)
            query = search.prepare("ferry")
            with CaptureQueriesContext(connection) as ran:
                search.SearchNominator().nominate(store, query, "claims", among=None)
            # The part, the words, the vectors, and the rows they found.
            assert len(ran) == 4
            with CaptureQueriesContext(connection) as ran:
                search.SearchNominator().nominate(
                    store, query, "claims", among=[claim.pk for claim in claims]
                )
            # A scope of few rows is read at once.
            assert len(ran) == 1


def test_the_commonest_words_of_a_large_part_find_no_rows_of_their_own_and_it_is_said(monkeypatch, bare):
    store = new_store()
    (record,) = add(store, "x")
    claims = add_claims(
        store, *(f"tide {'salt' if n % 3 == 0 else 'rope'} n{n}" for n in range(30)), record=record
    )
    exact = nominate(store, "tide salt", "claims")
    assert (exact.bounded, exact.advisory["reason"]) == (False, "no_embedder")
    monkeypatch.setattr(words, "MAX_ROWS", 12)
    found = nominate(store, "tide salt", "claims")
    assert found.bounded
    assert ids(found) == [pk for pk in ids(exact) if pk in {c.pk for c in claims if "salt" in c.claim_text}]
    # In a scope of fewer all are scored, by every word.
    some = [claim.pk for claim in claims[:6]]
    anchored = nominate(store, "tide salt", "claims", some)
    assert not anchored.bounded
    assert ids(anchored) == [pk for pk in ids(exact) if pk in some]


def test_in_a_scope_a_word_is_as_rare_as_it_is_in_the_scope(bare):
    store = new_store()
    (record,) = add(store, "x")
    some = [c.pk for c in add_claims(store, "tide salt", "tide rope", "tide oar", record=record)]
    alone = channel(nominate(store, "tide salt rope", "claims", some), "lexical")
    add_claims(store, *(f"salt n{n}" for n in range(20)), record=record)
    assert channel(nominate(store, "tide salt rope", "claims", some), "lexical") == alone
    # Everywhere, salt is common now and rope is not.
    assert ids(nominate(store, "salt rope", "claims"))[0] == some[1]


def test_the_nearest_of_a_part_are_nominated_and_it_is_said_that_there_are_more(monkeypatch):
    store = new_store()
    told = {f"tide {n}": 0.5 + (n % 7) / 20 for n in range(21)}
    with running(ChosenCosines(told)):
        (record,) = add(store, "x")
        claims = add_claims(store, *told, record=record)
        monkeypatch.setattr("memoryconsole.search.nominate.NEAREST", 21)
        whole = nominate(store, "ferry", "claims")
        monkeypatch.setattr("memoryconsole.search.nominate.NEAREST", 8)
        some = nominate(store, "ferry", "claims")
        among = nominate(store, "ferry", "claims", [claim.pk for claim in claims])
        query = search.prepare("ferry")
        with snapshot():
            lexical, semantic = Search().nominate(store, query, Wanted(part="claims", depth=30), set)
            (_, all_of_scope) = Search().nominate(
                store,
                query,
                Wanted(part="claims", depth=30, among=Among.by_anchor([np.array([c.pk for c in claims])])),
                set,
            )
    assert [each.cut for each in whole.channels] == [False, False]
    assert [each.cut for each in some.channels] == [False, True]
    # Equal ones in the order of their numbers, and the first of them where not all fit.
    assert channel(some, "semantic") == channel(whole, "semantic")[:8]
    assert channel(among, "semantic") == channel(whole, "semantic")
    # Fewer than were asked for, and not all there are.
    assert (len(semantic.keys), semantic.exhausted, lexical.exhausted) == (8, True, False)
    assert (len(all_of_scope.keys), all_of_scope.exhausted) == (21, False)


def test_summaries_are_not_in_the_way_of_the_nearest_records(monkeypatch):
    monkeypatch.setattr("memoryconsole.search.nominate.NEAREST", 2)
    store = new_store()
    with running(ChosenCosines({"near": 0.9, "far": 0.5, "farther": 0.46})):
        records = add(store, "far", "farther")
        for _ in range(3):
            add_summary(store, "near")
        found = nominate(store, "ferry", "chunks")
    assert ids(found, "semantic") == [record.pk for record in records]
    assert not found.channels[1].cut
    assert found.advisory is None


def test_the_port_is_one():
    """A test's own nominator fits where the product's does."""

    class Fixed:
        def nominate(self, store, query, part, *, among):
            channel = search.Channel("lexical", np.array([7]), np.array([1]))
            return search.Nominations((channel,))

    port: search.Nominator = Fixed()
    assert json.dumps(port.nominate(None, None, "claims", among=None).channels[0].ids.tolist()) == "[7]"
