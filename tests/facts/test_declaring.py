"""Facts are declared: what is checked, what is written, and what the same fact again does."""

import uuid

import pytest

from memoryconsole.models import Document, Fact, FactEvidence, IndexEntry, Record, WindowCitation
from memoryconsole.models.search import Part
from tests.conftest import make_store, url
from tests.facts.world import World, contradicts, state, supports

YEAR = {"from": "2024", "until": "2024", "precision": "year"}


def body(subject, *evidence, **members):
    return {
        "kind": "observation",
        "subject_id": str(subject.uuid),
        "statement": "carries 310 passengers",
        "evidence": list(evidence),
        **members,
    }


def refused(answer, pointer, code=None):
    assert answer.status_code == 400, answer.content
    faults = {(fault["pointer"], fault["code"]) for fault in answer.json()["errors"]}
    assert pointer in {place for place, _ in faults}, faults
    if code is not None:
        assert (pointer, code) in faults


def conflict(answer):
    assert (answer.status_code, answer.json()["code"]) == (409, "state_conflict"), answer.content


def test_an_observation_is_held_from_now_on(world, tern):
    claim = world.claim()
    answer = world.post("/facts", body(tern, supports(claim)), status=201)
    told = answer.json()
    fact = world.fact(told)
    assert told == {
        "kind": "observation",
        "id": str(fact.uuid),
        "created": True,
        "version": 1,
        "support": "current",
        "validity": {
            "valid_from": None,
            "valid_until": None,
            "valid_precision": "unknown",
            "ingested_at": told["validity"]["ingested_at"],
            "invalidated_at": None,
        },
    }
    assert answer["ETag"] == '"1"'
    assert (fact.number, fact.subject, fact.object, fact.declared_by) == (1, tern, None, "agent")
    assert fact.ingested_at == fact.window_since
    assert [(row.claim, row.stance) for row in FactEvidence.objects.filter(fact=fact)] == [
        (claim, "supports")
    ]
    (row,) = world.transcript(fact)
    assert (row.outcome, row.method, row.decided_by, row.decided_at) == (
        "add", "declared", "auto", fact.ingested_at,
    )  # fmt: skip
    assert set(row.features["actor"]) == {"user", "token"}


def test_a_relation_reads_as_one_line_and_shows_what_stands_behind_it(world, tern, ferries):
    first, second, against = world.claim(), world.claim(text="so"), world.claim(text="not so")
    fact = world.relate(
        ferries, "other:runs", tern, first,
        evidence=[supports(first), supports(second), contradicts(against)],
        window=YEAR, window_claim_ids=[str(first.uuid)],
    )  # fmt: skip
    shown = world.read(fact)
    assert shown["label"] == "Northpier Ferries runs Aurora Tern"
    assert shown["subject"] == {"id": str(ferries.uuid), "name": "Northpier Ferries"}
    assert shown["object"] == {"id": str(tern.uuid), "name": "Aurora Tern"}
    assert (shown["statement"], shown["predicate"]) == (None, "other:runs")
    assert shown["documents"] == {"supports": 2, "contradicts": 1}
    assert [(row["claim_id"], row["stance"]) for row in shown["evidence"]] == [
        (str(first.uuid), "supports"), (str(second.uuid), "supports"), (str(against.uuid), "contradicts"),
    ]  # fmt: skip
    assert shown["window_claim_ids"] == [str(first.uuid)]
    assert shown["validity"]["valid_from"] == "2024-01-01T00:00:00Z"
    assert shown["validity"]["valid_until"] == "2025-01-01T00:00:00Z"
    assert [entry["outcome"] for entry in shown["transcript"]] == ["add"]


def test_a_document_counts_once_however_often_it_says_so(world, tern):
    document = world.document()
    once, twice = world.claim(document), world.claim(document, text="again")
    fact = world.observe(tern, "carries 310", once, twice)
    assert world.read(fact)["documents"]["supports"] == 1
    Document.objects.filter(pk=document.pk).update(deleted_at=fact.created_at)
    assert world.read(fact)["documents"]["supports"] == 0


def test_a_person_decides_as_a_human(world, tern, ada, store):
    from rest_framework.test import APIClient

    client = APIClient()
    client.force_login(ada)
    claim = world.claim()
    answer = client.post(url(store, "/facts"), body(tern, supports(claim)), format="json")
    (row,) = world.transcript(world.fact(answer.json()))
    assert (row.decided_by, row.features) == ("human", {"actor": {"user": ada.pk}})
    assert world.fact(answer.json()).declared_by == "operator"


def test_it_is_found_by_its_words_and_so_are_its_ends(world, tern, ferries):
    fact = world.relate(ferries, "other:runs", tern, world.claim())
    assert IndexEntry.objects.get(store=world.store, fact=fact).part == Part.FACT
    profiles = IndexEntry.objects.filter(store=world.store, part=Part.PROFILE)
    assert set(profiles.values_list("entity", flat=True)) == {tern.pk, ferries.pk}


class TestRefusals:
    @pytest.fixture(autouse=True)
    def _unchanged(self, world):
        yield
        assert state(world.store)[0] == []
        assert state(world.store)[1:3] == (0, 0)

    @pytest.mark.parametrize(
        ("members", "pointer"),
        [
            ({"kind": "claim"}, "/kind"),
            ({"predicate": "knows"}, "/predicate"),
            ({"object_id": str(uuid.uuid4())}, "/object_id"),
            ({"statement": ""}, "/statement"),
            ({"statement": " "}, "/statement"),
            ({"statement": "x" * 2001}, "/statement"),
            ({"kind": "relation", "predicate": "knows"}, "/statement"),
            ({"kind": "relation", "predicate": "likes"}, "/predicate"),
            ({"subject_id": "E1"}, "/subject_id"),
            ({"subject_id": str(uuid.uuid4()).upper()}, "/subject_id"),
            ({"evidence": []}, "/evidence"),
            ({"evidence": [{"claim_id": str(uuid.uuid4()), "stance": "backs"}]}, "/evidence/0/stance"),
            ({"window": {"from": "2024-02-02T00:00:00Z", "precision": "month"}}, "/window/from"),
            ({"window": {"from": "2024-01-01", "precision": "instant"}}, "/window/from"),
            ({"window": {"precision": "open"}}, "/window/from"),
            ({"window": {"from": "2024", "until": "2023", "precision": "year"}}, "/window/until"),
            ({"window": {"since": "2024"}}, "/window/since"),
            ({"confidence": 1}, "/confidence"),
        ],
    )
    def test_a_body_that_is_no_fact(self, members, pointer, world, tern):
        claim = world.claim()
        refused(world.post("/facts", body(tern, supports(claim)) | members), pointer)

    def test_the_same_claim_twice(self, world, tern):
        claim = world.claim()
        refused(
            world.post("/facts", body(tern, supports(claim), contradicts(claim))), "/evidence", "repeated"
        )

    def test_an_end_that_is_no_entity(self, world, tern):
        claim = world.claim()
        other = World(make_store(world.store.created_by)).entity("Elsewhere")
        never = world.entity("Never mentioned", declared=False)
        retired = world.entity("Retired", status="retired")
        for entity in (other, never, retired):
            refused(world.post("/facts", body(entity, supports(claim))), "/subject_id", "unknown")

    def test_an_end_that_was_merged_away_names_where_to(self, world, tern):
        old = world.entity("The Tern")
        world.merge(old, tern)
        answer = world.post("/facts", body(old, supports(world.claim())))
        conflict(answer)
        assert str(tern.uuid) in answer.json()["detail"]

    def test_a_claim_that_is_not_there(self, world, tern):
        foreign = World(make_store(world.store.created_by)).claim()
        gone = world.claim()
        Record.objects.filter(claims=gone).update(deleted_at=gone.created_at)
        for claim in (foreign, gone):
            refused(world.post("/facts", body(tern, supports(claim))), "/evidence/0/claim_id", "unknown")

    def test_no_current_claim_in_support(self, world, tern):
        stale, against = world.claim(is_current=False), world.claim()
        conflict(world.post("/facts", body(tern, supports(stale), contradicts(against))))

    def test_a_deleted_document_supports_nothing(self, world, tern):
        claim = world.claim()
        Document.objects.filter(pk=claim.document_id).update(deleted_at=claim.created_at)
        conflict(world.post("/facts", body(tern, supports(claim))))

    def test_reported_words_support_no_relation(self, world, tern, ferries):
        claim = world.claim(is_attributed=True, mentions=[tern])
        relation = {
            "kind": "relation",
            "predicate": "uses",
            "subject_id": str(tern.uuid),
            "object_id": str(ferries.uuid),
        }
        relation["evidence"] = [supports(claim)]
        refused(world.post("/facts", relation), "/evidence/0/claim_id", "attributed")

    def test_reported_words_support_no_observation_about_somebody_else(self, world, tern, ferries):
        text = "Skerry Line says so. Aurora Tern is late."
        document = world.document(text)
        claim = world.claim(document, is_attributed=True, mentions=[ferries])
        claim.char_end = 20
        claim.source_span = text[:20]
        claim.save()
        world.claim(document, text="late", mentions=[(tern, 21, 32)])
        refused(world.post("/facts", body(tern, supports(claim))), "/evidence/0/claim_id", "attributed")

    def test_a_window_without_a_word_for_it(self, world, tern):
        claim, other = world.claim(), world.claim()
        plain = body(tern, supports(claim), window=YEAR)
        refused(world.post("/facts", plain), "/window_claim_ids", "required")
        refused(
            world.post("/facts", plain | {"window_claim_ids": [str(other.uuid)]}),
            "/window_claim_ids/0",
            "unknown",
        )
        undated = body(tern, supports(claim), window_claim_ids=[str(claim.uuid)])
        refused(world.post("/facts", undated), "/window_claim_ids", "contradiction")


def test_reported_words_support_what_they_name(world, tern):
    whole = world.claim(is_attributed=True, mentions=[tern])
    inside = world.claim(text="in", is_attributed=True, mentions=[(tern, 4, 9)])
    assert world.observe(tern, "says it is full", whole, inside).support == "current"


def test_a_passage_of_a_document_counts_mentions_in_its_own_text(world, tern):
    """Claims count in the document's text, mentions in the passage's."""
    claim = world.claim(is_attributed=True, mentions=[(tern, 4, 9)])
    passage = claim.record.passage
    passage.char_start, passage.char_end = 100, 114
    passage.save()
    claim.char_start, claim.char_end = 104, 109
    claim.save()
    world.observe(tern, "says so", claim)
    for place in ((109, 114), (100, 104)):
        claim.char_start, claim.char_end = place
        claim.save()
        answer = world.post("/facts", body(tern, supports(claim)))
        refused(answer, "/evidence/0/claim_id", "attributed")


def test_reported_words_may_contradict_anything(world, tern, ferries):
    against = world.claim(is_attributed=True)
    fact = world.relate(ferries, "uses", tern, evidence=[supports(world.claim()), contradicts(against)])
    assert world.read(fact)["documents"] == {"supports": 1, "contradicts": 1}


class TestTheSameAgain:
    def test_it_is_the_fact_there_is_and_takes_the_evidence(self, world, tern, ferries):
        first, second = world.claim(), world.claim()
        dated = {"window": YEAR, "window_claim_ids": [str(first.uuid)]}
        fact = world.relate(ferries, "uses", tern, first, **dated)
        again = {**dated, "window_claim_ids": [str(second.uuid)]}
        assert world.relate(ferries, "uses", tern, second, status=200, **again) == fact
        assert world.relate(ferries, "uses", tern, second, status=200, **again).row_version == 2
        assert world.outcomes(fact) == ["add", "noop", "noop"]
        assert [row.method for row in world.transcript(fact)] == ["declared", "exact", "exact"]
        assert [row.features.get("attached") for row in world.transcript(fact)] == [None, 1, 0]
        assert world.read(fact)["documents"]["supports"] == 2
        assert WindowCitation.objects.filter(fact=fact).count() == 2

    def test_what_dates_it_now_is_a_change(self, world, tern):
        first, second = world.claim(), world.claim()
        members = {"window": YEAR, "window_claim_ids": [str(first.uuid)]}
        fact = world.observe(tern, "is full", first, second, **members)
        members["window_claim_ids"] = [str(second.uuid)]
        for _ in range(2):
            world.observe(tern, "is full", first, second, status=200, **members)
        fact.refresh_from_db()
        assert fact.row_version == 2
        assert [row.features.get("cited") for row in world.transcript(fact)] == [None, 1, 0]
        assert world.read(fact)["window_claim_ids"] == [str(first.uuid), str(second.uuid)]

    def test_after_a_merge_the_ends_are_those_of_the_survivor(self, world, tern, ferries):
        old = world.entity("The Tern")
        fact = world.relate(ferries, "uses", old, world.claim())
        world.merge(old, tern)
        assert world.relate(ferries, "uses", tern, world.claim(), status=200) == fact

    @pytest.mark.parametrize("change", ["window", "statement", "subject", "retracted"])
    def test_anything_else_is_another_fact(self, change, world, tern, ferries):
        claim = world.claim()
        fact = world.observe(tern, "is full", claim)
        subject, statement, members = tern, "is full", {}
        if change == "window":
            members = {"window": YEAR, "window_claim_ids": [str(claim.uuid)]}
        elif change == "statement":
            statement = "is Full"
        elif change == "subject":
            subject = ferries
        else:
            world.command(fact, "retract", {"reason": "wrong"})
        assert world.observe(subject, statement, claim, **members) != fact

    def test_a_claim_with_the_other_stance_stays(self, world, tern):
        claim, other = world.claim(), world.claim()
        fact = world.observe(tern, "is full", claim)
        before = state(world.store)
        again = body(tern, supports(other), contradicts(claim)) | {"statement": "is full"}
        conflict(world.post("/facts", again))
        assert state(world.store) == before
        assert FactEvidence.objects.filter(fact=fact).count() == 1

    def test_it_gives_withdrawn_support_back(self, world, tern):
        claim = world.claim()
        fact = world.observe(tern, "is full", claim)
        world.set_current(claim, current=False)
        world.observe(tern, "is full", world.claim(), status=200)
        fact.refresh_from_db()
        assert fact.support == "current"
        assert world.outcomes(fact) == ["add", "withdrawn", "noop", "restore_support"]
        assert world.transcript(fact)[-1].method == "rule"

    def test_the_key_of_a_request_makes_it_one(self, world, tern):
        wanted = body(tern, supports(world.claim()))
        first = world.post("/facts", wanted, status=201, HTTP_IDEMPOTENCY_KEY="k1")
        second = world.post("/facts", wanted, status=201, HTTP_IDEMPOTENCY_KEY="k1")
        assert (first.json(), first["ETag"]) == (second.json(), second["ETag"])
        assert world.outcomes(world.fact(first.json())) == ["add"]
        other = world.post("/facts", wanted | {"statement": "other"}, HTTP_IDEMPOTENCY_KEY="k1")
        assert other.json()["code"] == "idempotency_conflict"


class TestLists:
    def test_filters(self, world, tern, ferries):
        claim = world.claim()
        full = world.observe(tern, "is full", claim)
        uses = world.relate(ferries, "uses", tern, claim)
        gone = world.observe(ferries, "is gone", claim)
        world.command(gone, "retract", {"reason": "wrong"})

        def listed(**query):
            answer = world.api.get(url(world.store, "/facts"), query)
            assert answer.status_code == 200, answer.content
            return [row["id"] for row in answer.json()["results"]]

        ids = {name: str(fact.uuid) for name, fact in {"full": full, "uses": uses, "gone": gone}.items()}
        assert listed() == [ids["gone"], ids["uses"], ids["full"]]
        assert listed(held="true") == [ids["uses"], ids["full"]]
        assert listed(held="false") == [ids["gone"]]
        assert listed(kind="relation") == listed(predicate="uses") == [ids["uses"]]
        assert listed(entity=str(tern.uuid)) == [ids["uses"], ids["full"]]
        assert listed(entity=str(uuid.uuid4())) == []
        world.set_current(claim, current=False)
        assert listed(support="withdrawn") == [ids["uses"], ids["full"]]
        assert listed(support="current") == []

    def test_pages_hold_each_fact_once(self, world, tern):
        claim = world.claim()
        facts = [world.observe(tern, f"trait {n}", claim) for n in range(5)]
        ids, cursor = [], None
        while cursor is not None or not ids:
            query = {"limit": 2} | ({"cursor": cursor} if cursor else {})
            page = world.api.get(url(world.store, "/facts"), query).json()
            ids += [row["id"] for row in page["results"]]
            cursor = page["next_cursor"]
        assert ids == [str(fact.uuid) for fact in reversed(facts)]

    def test_what_no_visible_testimony_stands_behind_is_nowhere(self, world, tern):
        claim = world.claim()
        fact = world.observe(tern, "is full", claim)
        world.forget(claim)
        assert world.api.get(url(world.store, "/facts")).json()["results"] == []
        world.read(fact, status=404)
        world.command(fact, "retract", {"reason": "x"}, status=404)
        assert Fact.objects.filter(pk=fact.pk).exists()

    def test_an_unknown_fact_is_not_found(self, world, tern):
        fact = world.observe(tern, "is full", world.claim())
        other = f"/facts/relation/{fact.uuid}"
        assert world.api.get(url(world.store, other)).status_code == 404
        assert world.api.get(url(world.store, f"/facts/claim/{fact.uuid}")).status_code == 404
