"""The data that a context-bundle scenario asks for is what the store then holds."""

from typing import Any

import pytest
from django.db.models import F

from memoryconsole.models import (
    Claim,
    ContradictionMember,
    Decision,
    Entity,
    Fact,
    FactEvidence,
    IndexEntry,
    Mention,
    MergeEvent,
    Passage,
    StoreCounter,
)
from memoryconsole.models.search import Part
from tests.contracts import bundle_world
from tests.contracts.bundle_symbols import symbols_of
from tests.contracts.bundle_world import World
from tests.contracts.values import FormatError

LATE, LATER = "2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z"
GIVEN: dict[str, Any] = {
    "now": "2026-09-30T10:00:00Z",
    "config": {"horizon": "2025-01-01T00:00:00Z"},
    "entities": [
        {"id": "E2", "name": "Pier 4"},
        {"id": "E1", "name": "Aurora Tern", "aliases": ["Tern"]},
        {"id": "E3", "name": "A. Tern", "merged_into": "E1", "merged_at": LATE},
        {"id": "E4", "name": "Ghost", "provenance": False},
        {"id": "E5", "name": "Old Tern", "status": "retired"},
    ],
    "documents": [
        {"id": "D2", "title": "Gone", "text": "Tern sank.", "source_kind": "web", "deleted": True},
        {"id": "D1", "title": "Note", "text": "The Tern floats. Tern sails.", "source_kind": "file"},
    ],
    "claims": [
        {"id": "C1", "doc": "D1", "text": "Aurora Tern floats", "quote": "Tern floats", "mentions": ["E1", "E4", "E9"]},
        {"id": "C2", "doc": "D1", "text": "Tern sails.", "current": False, "asserted": LATE},
        {"id": "C3", "doc": "D2", "text": "Tern sank.", "from": LATE, "until": LATE, "precision": "instant"},
    ],
    "facts": [
        {"id": "X", "kind": "relation", "subject": "E1", "predicate": "located_in", "object": "E2", "from": LATE,
         "precision": "open", "evidence": [["C1", "supports"]], "window_claims": ["C1"]},
        {"id": "X", "kind": "observation", "subject": "E3", "statement": "It floats", "invalidated": LATER,
         "support": "withdrawn", "ingested": LATE, "evidence": [["C2", "supports"], ["CX", "contradicts"]]},
        {"id": "F1", "kind": "observation", "subject": "E1", "statement": "It sank"},
    ],
    "groups": [
        {"id": "G1", "members": ["relation:X", "observation:X"]},
        {"id": "G2", "members": ["observation:F1"], "resolved": True},
    ],
    "transcript": [
        {"subject_kind": "relation", "subject_id": "X", "outcome": "supersede", "related_id": "F1", "decided_at": LATER}
    ],
}  # fmt: skip


def world(**changed: Any) -> World:
    scenario = {
        "given": {**GIVEN, **changed},
        "call": {"op": "facts_context", "args": {"entity_ids": ["E404"]}},
    }
    return World(scenario["given"], symbols_of(scenario))


@pytest.fixture(scope="module")
def made() -> World:
    return world()


def test_numbers_and_ids_are_in_the_order_of_the_symbols(made: World) -> None:
    assert [each.name for each in Entity.objects.filter(store=made.store).order_by("number")] == [
        "Aurora Tern", "Pier 4", "A. Tern", "Ghost", "Old Tern",
    ]  # fmt: skip
    assert [each.document_id for each in Claim.objects.filter(store=made.store).order_by("number")] == [
        made.documents[name].pk for name in ("D1", "D1", "D2")
    ]
    facts = list(Fact.objects.filter(store=made.store).order_by("number"))
    assert [(each.kind, each.statement) for each in facts] == [
        ("observation", "It sank"), ("observation", "It floats"), ("relation", ""),
    ]  # fmt: skip
    assert facts[1].uuid == facts[2].uuid == made.symbols.uuid("X")
    counter = StoreCounter.objects.get(store=made.store)
    assert (counter.entity, counter.document, counter.record, counter.claim, counter.fact) == (5, 2, 2, 3, 3)
    assert counter.belief_at == bundle_world.instant(LATER)


def test_what_gives_an_entity_its_provenance(made: World) -> None:
    declared = Entity.objects.filter(store=made.store).order_by("number").values_list("declared", flat=True)
    assert list(declared) == [False, True, True, False, True]
    mentions = Mention.objects.filter(store=made.store)
    assert [(each.entity, each.record, each.char_start, each.char_end) for each in mentions] == [
        (made.entities["E1"], made.records["D1"], 4, 15)
    ]


def test_merges_and_other_states(made: World) -> None:
    event = MergeEvent.objects.get(store=made.store)
    assert (event.survivor, event.absorbed) == (made.entities["E1"], made.entities["E3"])
    assert event.merged_at == bundle_world.instant(LATE)
    states = Entity.objects.filter(store=made.store).order_by("number").values_list("status", flat=True)
    assert list(states) == ["active", "active", "merged", "active", "retired"]
    assert list(made.entities["E1"].aliases.values_list("resolve_key", flat=True)) == ["tern"]
    assert made.store.belief_horizon_at == bundle_world.instant("2025-01-01T00:00:00Z")


def test_a_document_is_one_passage_and_a_claim_its_span(made: World) -> None:
    passages = Passage.objects.filter(store=made.store)
    assert passages.filter(char_start=0, version__text=F("record__content")).count() == 2
    claim = made.claims["C1"]
    assert (claim.source_span, claim.char_start, claim.char_end) == ("Tern floats", 4, 15)
    current = {name: row.is_current for name, row in made.claims.items()}
    assert current == {"C1": True, "C2": False, "C3": False}
    assert made.claims["C3"].currency.get().reason == "version_deleted"
    assert made.documents["D2"].versions.get().deleted_at is not None


def test_facts_their_evidence_and_their_groups(made: World) -> None:
    relation, observation = made.facts["relation", "X"], made.facts["observation", "X"]
    evidence = FactEvidence.objects.filter(store=made.store).order_by("fact__number", "pk")
    assert [(each.fact, each.claim, each.stance) for each in evidence] == [
        (observation, made.claims["C2"], "supports"), (relation, made.claims["C1"], "supports"),
    ]  # fmt: skip
    assert relation.citations.get().claim == made.claims["C1"]
    left = {each.fact_id: each.left_at for each in ContradictionMember.objects.filter(store=made.store)}
    assert left[relation.pk] is None
    assert left[observation.pk] == observation.invalidated_at == bundle_world.instant(LATER)
    assert left[made.facts["observation", "F1"].pk] is not None
    decision = Decision.objects.get(store=made.store)
    assert (decision.subject_uuid, decision.related_uuid) == (made.symbols.uuid("X"), made.symbols.uuid("F1"))


def test_the_index_holds_what_a_read_may_look_for(made: World) -> None:
    held = IndexEntry.objects.filter(store=made.store).values_list("part", flat=True)
    assert {part: list(held).count(part) for part in Part} == {
        Part.RECALL: 1, Part.GRAPH: 0, Part.CLAIM: 3, Part.FACT: 3, Part.PROFILE: 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    "wrong",
    [
        {"claims": [{"id": "C1", "doc": "D9", "text": "Tern sails."}]},
        {"claims": [{"id": "C1", "doc": "D1", "text": "Tern flies."}]},
        {"facts": [{"id": "F1", "kind": "observation", "subject": "E9", "statement": "x"}]},
        {"groups": [{"id": "G1", "members": ["relation:F9"]}]},
        {"groups": [{"id": "G1", "members": ["F1"]}]},
        {"entities": [{"id": "E1", "name": "Tern", "merged_into": "E9"}]},
    ],
)
def test_what_refers_to_nothing_is_an_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(FormatError):
        world(**{"facts": [], "groups": [], "claims": [], **wrong})
