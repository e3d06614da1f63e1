"""The assured operations over the API: what is refused, what comes back, what is the same whoever asks."""

import uuid

import pytest

from provenance.context_bundle.core import types
from tests.api.harbour import Harbour, shown
from tests.conftest import make_client, make_store, url

FACTS, SAID, BUNDLE, RESOLVE = types.FACTS, types.CLAIMS_AND_SOURCES, types.COMBINED, types.RESOLVE_ENTITY
SOMEBODY = "e0000000-0000-4000-8000-000000000001"


@pytest.fixture
def harbour(api, store):
    return Harbour(api, store)


# What is refused.


@pytest.mark.parametrize(
    ("operation", "body", "pointer", "code"),
    [
        (FACTS, {}, "/query", "required"),
        (FACTS, {"query": ""}, "/query", "blank"),
        (FACTS, {"query": " \n\t"}, "/query", "blank"),
        (FACTS, {"query": "x" * 8193}, "/query", "max_length"),
        (FACTS, {"query": 7}, "/query", "invalid"),
        (FACTS, {"query": "x", "entity_ids": []}, "/entity_ids", "empty"),
        (FACTS, {"query": "x", "entity_ids": None}, "/entity_ids", "null"),
        (FACTS, {"query": "x", "entity_ids": [SOMEBODY] * 2}, "/entity_ids", "repeated"),
        (FACTS, {"query": "x", "entity_ids": [SOMEBODY, SOMEBODY.upper()]}, "/entity_ids", "repeated"),
        (FACTS, {"query": "x", "entity_ids": ["pier 4"]}, "/entity_ids/0", "invalid"),
        (FACTS, {"query": "x", "entity_ids": [SOMEBODY.replace("-", "")]}, "/entity_ids/0", "invalid"),
        (
            FACTS,
            {"query": "x", "entity_ids": [str(uuid.uuid4()) for _ in range(20)]},
            "/entity_ids",
            "max_length",
        ),
        (
            SAID,
            {"query": "x", "entity_ids": [str(uuid.uuid4()) for _ in range(21)]},
            "/entity_ids",
            "max_length",
        ),
        (FACTS, {"query": "x", "k": True}, "/k", "invalid"),
        (FACTS, {"query": "x", "k": "3"}, "/k", "invalid"),
        (FACTS, {"query": "x", "k": 3.0}, "/k", "invalid"),
        (FACTS, {"query": "x", "k": 31}, "/k", "max_value"),
        (FACTS, {"query": "x", "hops": 0}, "/hops", "min_value"),
        (FACTS, {"query": "x", "predicate": ""}, "/predicate", "blank"),
        (FACTS, {"query": "x", "predicate": "p" * 201}, "/predicate", "max_length"),
        (FACTS, {"query": "x", "candidate_k": 5}, "/candidate_k", "unknown"),
        (SAID, {"query": "x", "k": 101}, "/k", "max_value"),
        (SAID, {"query": "x", "k": 9, "candidate_k": 8}, "/candidate_k", "contradiction"),
        (SAID, {"query": "x", "include_superseded": 1}, "/include_superseded", "invalid"),
        (SAID, {"query": "x", "time": {"mode": "current"}}, "/time", "unknown"),
        (SAID, {"query": "x", "continuation": "page two"}, "/continuation", "invalid"),
        (SAID, {"query": "x", "continuation": "A" * 1025}, "/continuation", "invalid"),
        (BUNDLE, {"query": "x", "k": 5}, "/k", "unknown"),
        (BUNDLE, {"query": "x", "continuation": "a:b"}, "/continuation", "unknown"),
        (RESOLVE, {}, "/name", "required"),
        (RESOLVE, {"name": ""}, "/name", "blank"),
        (RESOLVE, {"name": "x", "context_entity_ids": [SOMEBODY] * 9}, "/context_entity_ids", "max_length"),
    ],
)
def test_a_body_outside_the_bounds_is_refused_where_it_is_wrong(operation, body, pointer, code, harbour):
    problem = harbour.ask(operation, status=400, **body)
    assert problem["code"] == "invalid_parameter"
    assert [(fault["pointer"], fault["code"]) for fault in problem["errors"]] == [(pointer, code)]


@pytest.mark.parametrize(
    ("time", "pointer"),
    [
        ("now", "/time"),
        ({}, "/time/mode"),
        ({"mode": "as_of", "valid_at": "2024-01-01T00:00:00Z"}, "/time/valid_at"),
        ({"mode": "as_of"}, "/time/mode"),
        ({"mode": "at"}, "/time/at"),
        ({"mode": "at", "at": None}, "/time/at"),
        ({"mode": "at", "at": 1718445600}, "/time/at"),
        ({"mode": "at", "at": "2024-06-15"}, "/time/at"),
        ({"mode": "at", "at": "2024-06-15T12:00:00"}, "/time/at"),
        ({"mode": "at", "at": "20240615T120000Z"}, "/time/at"),
        ({"mode": "at", "at": "2024-06-15 12:00:00Z"}, "/time/at"),
        ({"mode": "at", "at": "2024-06-15T12:00:00.1234567Z"}, "/time/at"),
        ({"mode": "at", "at": "0000-06-15T12:00:00Z"}, "/time/at"),
        ({"mode": "at", "at": "2023-02-29T12:00:00Z"}, "/time/at"),
        ({"mode": "at", "at": "0001-01-01T00:00:00+01:00"}, "/time/at"),
        ({"mode": "at", "at": "2024-06-15T12:00:00Z", "to": "2024-06-15T12:00:00Z"}, "/time/to"),
        ({"mode": "current", "at": "2024-06-15T12:00:00Z"}, "/time/at"),
        ({"mode": "history", "from": "2024-06-15T12:00:00Z"}, "/time/from"),
        ({"mode": "overlap", "from": "2024-06-15T12:00:00Z"}, "/time/to"),
        ({"mode": "overlap", "from": "2024-06-15T12:00:00Z", "to": "2024-06-15T13:59:59+02:00"}, "/time/to"),
    ],
)
@pytest.mark.parametrize("operation", [FACTS, BUNDLE])
def test_a_time_that_is_none_is_refused(operation, time, pointer, harbour):
    problem = harbour.ask(operation, status=400, query="x", time=time)
    assert [fault["pointer"] for fault in problem["errors"]] == [pointer]


def test_an_offset_is_converted_and_the_edges_of_time_are_taken(harbour):
    told = harbour.facts(time={"mode": "at", "at": "2024-06-15T12:00:00.5+02:00"})["temporal_scope"]
    assert told["at"] == "2024-06-15T10:00:00.500000Z"
    for at in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"):
        assert harbour.facts(time={"mode": "at", "at": at})["temporal_scope"]["at"] == at


def test_the_time_of_an_answer_is_one_instant(harbour):
    ferry = harbour.entity("Aurora Tern")
    harbour.observe(ferry, "the ferry sails daily")
    for envelope in (harbour.facts(), harbour.said(), *harbour.bundle().values()):
        if isinstance(envelope, dict):
            scope = envelope["temporal_scope"]
            assert scope["evaluated_at"] == scope["believed_at"] == envelope["freshness"]["pg_live_ts"]


def test_an_operation_that_is_not_assured_has_no_address(api, store):
    for name in ("reconstruct", "expand_query", "facts_as_of_nothing", "FACTS_CONTEXT"):
        assert api.post(url(store, f"/operations/{name}"), {"query": "x"}, format="json").status_code == 404


def test_the_descriptors_say_what_the_operations_take_and_give(api, store):
    described = api.get(url(store, "/operations")).json()["operations"]
    assert [each["name"] for each in described] == [
        "resolve_entity",
        "claims_and_sources_context",
        "facts_context",
        "combined_context",
    ]
    assert {each["mutates"] for each in described} == {False}
    assert [each["output_grain"] for each in described] == ["fact", "evidence", "fact", None]
    assert len({each["implementation_plan_hash"] for each in described}) == 4
    assert all(len(each["implementation_plan_hash"]) == 64 for each in described)
    for each in described:
        assert each["input_schema"]["additionalProperties"] is False
        assert each["result_schema"]["additionalProperties"] is False


@pytest.mark.parametrize("name", [FACTS, SAID, BUNDLE, RESOLVE])
def test_the_descriptors_bounds_are_those_that_are_refused(name, api, store):
    """The schema and the serializer agree on every member: which there are, and the edges of their numbers."""
    from provenance.context_bundle.serializers import ClaimsAndSourcesIn, CombinedIn, FactsIn, ResolveEntityIn

    serializer = {FACTS: FactsIn, SAID: ClaimsAndSourcesIn, BUNDLE: CombinedIn, RESOLVE: ResolveEntityIn}[
        name
    ]
    described = {each["name"]: each for each in api.get(url(store, "/operations")).json()["operations"]}[name]
    properties = described["input_schema"]["properties"]
    fields = serializer().fields
    assert set(properties) == set(fields)
    assert described["input_schema"]["required"] == [each for each, field in fields.items() if field.required]
    for member, schema in properties.items():
        if schema.get("type") == "integer":
            assert (fields[member].min_value, fields[member].max_value) == (
                schema["minimum"],
                schema["maximum"],
            )
        if schema.get("type") in ("array", "string"):
            assert fields[member].max_length == schema.get("maxItems", schema.get("maxLength"))


# Who may ask.


def test_a_store_one_may_not_see_is_none_and_its_ids_are_unknown(harbour, cleo, store):
    ferry = harbour.entity("Aurora Tern")
    harbour.observe(ferry, "the ferry sails")
    theirs = make_store(cleo)
    stranger = make_client(cleo, theirs)
    body = {"query": "ferry", "entity_ids": [ferry]}
    for name in (FACTS, SAID, BUNDLE):
        assert stranger.post(url(store, f"/operations/{name}"), body, format="json").status_code == 404
    foreign = Harbour(stranger, theirs)
    never = foreign.facts(entity_ids=[str(uuid.uuid4())])
    other = foreign.facts(entity_ids=[ferry])
    assert other["negative"] == never["negative"]
    assert other["negative"]["kind"] == "unknown_entity"
    assert other.keys() == never.keys()
    assert shown(foreign.facts()) == []


# What comes back.


def test_facts_come_with_their_evidence_and_both_totals(harbour):
    ferry = harbour.entity("Aurora Tern")
    against = harbour.claim("the ferry carries 290", ferry)
    fact = harbour.observe(ferry, "the ferry carries 310", against=[against])
    answer = harbour.facts(entity_ids=[ferry])
    assert shown(answer) == [fact]
    assert [(each["claim_id"] == against, each["stance"]) for each in answer["fact_evidence"]] == [
        (False, "supports"), (True, "contradicts")]  # fmt: skip
    assert [(each["stance"], each["returned"], each["total"]) for each in answer["evidence_totals"]] == [
        ("supports", 1, 1), ("contradicts", 1, 1)]  # fmt: skip
    assert answer["facts"][0]["evidence_count"] == 1


def test_without_anchors_a_fact_needs_a_word_of_the_query_or_an_entity_that_has_one(harbour):
    ferry, pier = harbour.entity("Aurora Tern"), harbour.entity("Pier 4")
    by_word = harbour.observe(ferry, "the ferry carries freight")
    by_name = harbour.observe(pier, "has two cranes", harbour.claim("two cranes stand there", pier))
    assert shown(harbour.facts("freight")) == [by_word]
    assert shown(harbour.facts("Pier")) == [by_name]
    nothing = harbour.facts("zeppelin")
    assert nothing["negative"]["kind"] == "known_empty"
    assert nothing["truncation"]["total_is_exact"] is True


def test_with_anchors_every_eligible_fact_is_a_candidate_whatever_the_words(harbour):
    ferry = harbour.entity("Aurora Tern")
    facts = {harbour.observe(ferry, f"the ferry carries {n}") for n in range(3)}
    answer = harbour.facts("zeppelin", entity_ids=[ferry])
    assert set(shown(answer)) == facts


def test_the_walk_brings_neighbours_facts_and_names_them(harbour):
    ferry, line, city = harbour.entity("Aurora Tern"), harbour.entity("Skerry Line"), harbour.entity("Bergen")
    owned = harbour.relate(
        ferry, "part_of", line, window={"from": "2020-01-01T00:00:00Z", "precision": "open"}
    )
    seated = harbour.relate(
        line, "located_in", city, window={"from": "2019-01-01T00:00:00Z", "precision": "open"}
    )
    bergen = harbour.observe(city, "it rains in Bergen")
    one = harbour.facts(entity_ids=[ferry])
    assert set(shown(one)) == {owned, seated}
    assert [(node["entity_id"], node["hops"]) for node in one["nodes"]] == [(line, 1)]
    two = harbour.facts(entity_ids=[ferry], hops=2)
    assert set(shown(two)) == {owned, seated, bergen}
    assert [(node["entity_id"], node["hops"]) for node in two["nodes"]] == [(line, 1), (city, 2)]
    past = harbour.facts(entity_ids=[ferry], time={"mode": "history"})
    assert shown(past) == [owned]
    assert past["nodes"] == []


def test_a_predicate_bounds_what_is_walked_and_what_is_returned(harbour):
    ferry, line, city = harbour.entity("Aurora Tern"), harbour.entity("Skerry Line"), harbour.entity("Bergen")
    window = {"from": "2020-01-01T00:00:00Z", "precision": "open"}
    harbour.relate(ferry, "part_of", line, window=window)
    located = harbour.relate(ferry, "located_in", city, window=window)
    harbour.observe(city, "it rains in Bergen")
    answer = harbour.facts(entity_ids=[ferry], predicate="located_in")
    assert shown(answer) == [located]
    assert [node["entity_id"] for node in answer["nodes"]] == [city]
    assert harbour.facts(entity_ids=[ferry], predicate="founded")["negative"]["kind"] == "known_empty"


def test_merges_are_followed_and_an_absorbed_id_is_no_anchor(harbour):
    ferry, alias = harbour.entity("Aurora Tern"), harbour.entity("MV Tern")
    ours, theirs = harbour.observe(ferry, "the ferry sails"), harbour.observe(alias, "the ferry floats")
    assert shown(harbour.facts(entity_ids=[ferry])) == [ours]
    harbour.merge(ferry, alias)
    assert set(shown(harbour.facts(entity_ids=[ferry]))) == {ours, theirs}
    assert len(harbour.said(entity_ids=[ferry])["evidence"]) == 2
    for operation in (FACTS, SAID):
        assert harbour.ask(operation, query="x", entity_ids=[alias])["negative"]["kind"] == "unknown_entity"
    (found,) = harbour.ask(RESOLVE, name="MV Tern")["entities"]
    assert (found["entity_id"], found["canonical_name"]) == (ferry, "Aurora Tern")


def test_labels_name_the_survivor(harbour):
    ferry, alias, line = (
        harbour.entity("Aurora Tern"),
        harbour.entity("MV Tern"),
        harbour.entity("Skerry Line"),
    )
    harbour.relate(alias, "part_of", line)
    harbour.merge(ferry, alias)
    (fact,) = harbour.facts(entity_ids=[ferry])["facts"]
    assert fact["label"] == "Aurora Tern part of Skerry Line"


def test_context_moves_a_homonym_up_and_never_out(harbour):
    planet, boat, line = harbour.entity("Mercury"), harbour.entity("Mercury"), harbour.entity("Skerry Line")
    harbour.relate(boat, "part_of", line, window={"from": "2020-01-01T00:00:00Z", "precision": "open"})
    plain = harbour.ask(RESOLVE, name="mercury")["entities"]
    assert [each["entity_id"] for each in plain] == [planet, boat]
    moved = harbour.ask(RESOLVE, name="mercury", context_entity_ids=[line])["entities"]
    assert [(each["entity_id"], each["context_hits"]) for each in moved] == [(boat, 1), (planet, 0)]


def test_a_message_is_a_passage_and_its_session_the_document(harbour, say):
    say({"content": "the ferry leaves at nine", "session_id": "desk"}, {"content": "the ferry is late"})
    answer = harbour.said()
    assert {chunk["chunk_text"] for chunk in answer["chunks"]} == {
        "the ferry leaves at nine",
        "the ferry is late",
    }
    assert {chunk["source_kind"] for chunk in answer["chunks"]} == {"conversation"}
    assert len({chunk["doc_id"] for chunk in answer["chunks"]}) == 2
    for chunk in answer["chunks"]:
        assert chunk["representation_id"] == chunk["chunk_id"]
        assert (chunk["char_start"], chunk["char_end"]) == (0, len(chunk["chunk_text"]))


def test_only_current_passages_and_testimony_come_unless_asked_for(harbour, say):
    say({"content": "the ferry leaves at nine", "message_id": "m1"})
    say({"content": "the ferry leaves at ten", "message_id": "m1"})
    ferry = harbour.entity("Aurora Tern")
    document = harbour.document("The ferry sails on Monday.", ref="plan")
    claim = harbour.claim("The ferry sails on Monday.", ferry, document=document)
    harbour.document("The ferry sails on Tuesday.", ref="plan")
    answer = harbour.said()
    assert {chunk["chunk_text"] for chunk in answer["chunks"]} == {
        "the ferry leaves at ten",
        "The ferry sails on Tuesday.",
    }
    assert answer["evidence"] == []
    (old,) = harbour.said(include_superseded=True)["evidence"]
    assert (old["claim_id"], old["is_current_testimony"]) == (claim, False)


def test_an_anchor_is_looked_for_in_every_span_of_a_claim_and_nowhere_else(harbour):
    text = "The Tern sails at noon. Nobody waits. The Dusk rests."
    dusk, tern = harbour.entity("Dusk"), harbour.entity("Tern")
    (passage,) = harbour.passages(harbour.document(text))
    for entity, name in ((dusk, "Dusk"), (tern, "Tern")):
        harbour.post(
            "/mentions", {"chunk_id": passage["chunk_id"], "entity_id": entity, "quote": name}, status=(201,)
        )

    def claim(said, *words):
        spans = [{"start": text.index(each), "end": text.index(each) + len(each)} for each in words]
        body = {"chunk_id": passage["chunk_id"], "claim_text": said, "spans": spans}
        return harbour.post("/claims", body)["id"]

    both = claim("One sails, one rests.", "The Tern sails", "The Dusk rests")
    rests = claim("It rests.", "The Dusk rests")
    waits = claim("Nobody waits for either.", "Nobody waits", "at noon")
    found = {
        entity: {row["claim_id"] for row in harbour.said(entity_ids=[entity])["evidence"]}
        for entity in (dusk, tern)
    }
    assert found == {dusk: {both, rests}, tern: {both}}
    assert waits in {row["claim_id"] for row in harbour.said("Nobody waits")["evidence"]}


def test_a_deleted_message_takes_its_claims_with_it(api, harbour, say, store):
    (ref,) = say({"content": "the ferry leaves at nine"})
    (chunk,) = harbour.said()["chunks"]
    claim = harbour.claim("the ferry leaves at nine", chunk=chunk["chunk_id"])
    assert [each["claim_id"] for each in harbour.said()["evidence"]] == [claim]
    assert api.delete(url(store, f"/records/{ref}")).status_code in (202, 204)
    for superseded in (False, True):
        gone = harbour.said(include_superseded=superseded)
        assert (gone["evidence"], gone["chunks"], gone["dropped_by_hydration"]) == ([], [], 0)


def test_an_acknowledged_write_is_seen_whatever_the_writers_clock(harbour, monkeypatch):
    """Belief instants may lie ahead of the database's clock."""
    from datetime import timedelta

    from django.utils import timezone

    ferry = harbour.entity("Aurora Tern")
    ahead = timezone.now() + timedelta(minutes=5)
    with monkeypatch.context() as patched:
        patched.setattr(timezone, "now", lambda: ahead)
        fact = harbour.observe(ferry, "the ferry sails")
    assert shown(harbour.facts(entity_ids=[ferry])) == [fact]


def test_the_same_question_twice_is_answered_alike_but_for_the_clock(harbour):
    ferry = harbour.entity("Aurora Tern")
    for n in range(20):
        harbour.observe(ferry, f"the ferry carries {n}")
    for ask in (harbour.facts, harbour.said):
        one, two = ask(entity_ids=[ferry]), ask(entity_ids=[ferry])
        for each in (one, two):
            for clock in ("evaluated_at", "believed_at"):
                del each["temporal_scope"][clock]
            del each["freshness"]["pg_live_ts"]
            each["truncation"]["continuation"] = None
        assert one == two
