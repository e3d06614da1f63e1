"""The product's answers about the golden world are the golden answers: every member, every form, every order, but for
what the contract leaves to whoever answers (words, and tokens).
"""

import json
from collections.abc import Mapping
from typing import Any
from unittest import mock

import pytest
from django.test import override_settings

from memoryconsole.models import DocumentVersion
from provenance.context_bundle import services
from tests.conftest import url
from tests.context_bundle.golden import (
    CERTIFIED,
    HOLDS_TICKET,
    MARIT,
    NORTHPIER,
    NOW,
    OPERATED,
    TERN,
    USES_PIER,
    WORKS_FOR_NORTHPIER,
    WORKS_FOR_SKERRY,
    WORKS_ON_TERN,
    claim,
    disputed,
    golden,
    id_of,
    observation,
    relation,
    supported,
    world,
)
from tests.context_bundle.reference import moment
from tests.contracts.bundle_running import Projection, clock
from tests.contracts.bundle_world import World


def ask(made: World, op: str, projection: Mapping[str, Any] | None = None, **args: Any) -> Any:
    nominator = services.nominator
    if projection is not None:
        nominator = Projection(made, projection, nominator)
    with (
        override_settings(EMBEDDER="none"),
        clock(moment(NOW)),
        mock.patch.object(services, "nominator", nominator),
    ):
        answer = made.client.post(
            url(made.store, f"/operations/{op}"), json.dumps(args), content_type="application/json"
        )
    assert answer.status_code == 200, answer.content
    return json.loads(answer.content)


def without_words(body: Any) -> Any:
    """The body with the same word for every token and explanation."""
    if isinstance(body, list):
        return [without_words(each) for each in body]
    if not isinstance(body, dict):
        return body
    free = {"continuation", "explanation", "workaround"}
    return {
        name: "..." if name in free and value is not None else without_words(value)
        for name, value in body.items()
    }


def is_golden(body: Any, expected: Any) -> None:
    """Equal in value, in form, and in the order of members."""
    found, wanted = without_words(body), without_words(expected)
    assert found == wanted
    assert json.dumps(found) == json.dumps(wanted)


@pytest.fixture(scope="module")
def crew() -> World:
    facts = [WORKS_FOR_NORTHPIER, WORKS_ON_TERN, WORKS_FOR_SKERRY, HOLDS_TICKET]
    return world((3, 4), [claim(number) for number in (3, 5, 31, 32)], facts)


def test_a_disagreement_larger_than_what_is_shown_of_it() -> None:
    others = disputed()
    group = {"id": id_of("9", 1), "members": [f"observation:{row['id']}" for row in [CERTIFIED, *others]]}
    made = world(
        (1, 2, 3, 5, 6),
        [claim(number) for number in (1, 2, 3, 6, 7)],
        [CERTIFIED, *others, OPERATED],
        [group],
    )
    body = ask(
        made,
        "facts_context",
        query="passenger capacity Aurora Tern",
        entity_ids=[TERN],
        k=1,
        evidence_per_fact=1,
    )
    expected = golden("J01")
    # The relation that leads to the neighbour is a fact about the ship too, which the golden total leaves out.
    expected["truncation"]["estimated_total"] += 1
    is_golden(body, expected)


def by_words(body: Any, expected: Any) -> Any:
    """The answer with its facts in the order of the golden ones: which comes first is a matter of words."""
    order = [fact["fact_id"] for fact in expected["facts"]]
    claims = [row["claim_id"] for row in expected["evidence"]]
    for name, key, wanted in (
        ("facts", "fact_id", order),
        ("fact_evidence", "fact_id", order),
        ("evidence_totals", "fact_id", order),
        ("evidence", "claim_id", claims),
    ):
        body[name].sort(key=lambda row, key=key, wanted=wanted: wanted.index(row[key]))
    return body


def test_at_an_instant_of_another_zone(crew: World) -> None:
    time = {"mode": "at", "at": "2024-06-15T12:00:00+02:00"}
    body = ask(crew, "facts_context", query="Marit Solvang", entity_ids=[MARIT], time=time)
    is_golden(by_words(body, golden("J02")), golden("J02"))


def test_over_a_stretch_that_begins_in_one_employment_and_ends_in_the_next() -> None:
    made = world((3, 4), [claim(3), claim(5)], [WORKS_FOR_NORTHPIER, WORKS_FOR_SKERRY])
    time = {"mode": "overlap", "from": "2022-03-31T23:59:59Z", "to": "2022-04-01T00:00:00Z"}
    body = ask(made, "facts_context", query="Marit Solvang works for", entity_ids=[MARIT], time=time)
    is_golden(by_words(body, golden("J03")), golden("J03"))
    time |= {"from": "2022-04-01T00:00:00Z"}
    body = ask(made, "facts_context", query="Marit Solvang works for", entity_ids=[MARIT], time=time)
    assert [fact["fact_id"] for fact in body["facts"]] == [WORKS_FOR_NORTHPIER["id"]]


def test_history_with_a_withdrawn_fact_and_two_wrong_nominations() -> None:
    claims = [claim(3), claim(5), claim(6, current=False)]
    made = world((3, 4, 5), claims, [WORKS_FOR_NORTHPIER, WORKS_FOR_SKERRY, USES_PIER])
    stale = {"stale_facts": [f"relation:{id_of('1', number)}" for number in (98, 99)]}
    body = ask(
        made,
        "facts_context",
        stale,
        query="works for",
        entity_ids=[MARIT, NORTHPIER],
        time={"mode": "history"},
    )
    is_golden(by_words(body, golden("J04")), golden("J04"))


def test_an_id_that_names_nobody(crew: World) -> None:
    is_golden(ask(crew, "facts_context", query="x", entity_ids=[id_of("e", 404)]), golden("J06"))


def test_nothing_about_somebody_who_is_there(crew: World) -> None:
    made = world((), [])
    is_golden(ask(made, "facts_context", query="hull colour", entity_ids=[TERN]), golden("J07"))


def test_superseded_testimony_when_it_is_asked_for() -> None:
    made = world((3, 4, 8), [claim(3), claim(5, current=False), claim(8, current=False)])
    # The two lists of 2021 have newer versions, in which nobody says so any more.
    lists = [made.documents[id_of("d", number)] for number in (4, 8)]
    DocumentVersion.objects.filter(document__in=lists).update(superseded_at=moment("2024-04-02T00:00:00Z"))
    body = ask(
        made,
        "claims_and_sources_context",
        {"stale_claims": [id_of("c", 99)]},
        query="Marit Solvang joined Northpier Ferries",
        entity_ids=[MARIT],
        include_superseded=True,
    )
    is_golden(body, golden("J08"))


def test_a_bundle_in_which_one_child_says_no() -> None:
    made = world((1, 2), [claim(1), claim(2)], [CERTIFIED | {"evidence": supported(1)}])
    body = ask(
        made, "combined_context", query="certified passenger capacity", entity_ids=[TERN], predicate="founded"
    )
    # Which passage comes first is a matter of words.
    body["claims_and_sources"]["chunks"].sort(key=lambda row: row["chunk_id"])
    is_golden(body, golden("J09"))


def test_a_name_of_two_people() -> None:
    facts = [WORKS_FOR_NORTHPIER | {"until": None, "precision": "open"}]
    made = world((3,), [claim(3)], facts)
    body = ask(made, "resolve_entity", name="Solvang", context_entity_ids=[NORTHPIER])
    is_golden(body, golden("J10"))


def test_a_search_that_ended_before_anything_was_confirmed() -> None:
    made = world((), [])
    stale = [f"observation:{id_of('0', 1000 + place)}" for place in range(200)]
    projection = {"stale_facts": stale, "nominations_exhausted": True}
    body = ask(made, "facts_context", projection, query="hull colour", entity_ids=[TERN])
    is_golden(body, golden("J14"))


def test_a_relation_and_an_observation_of_one_id_have_two_rows_each() -> None:
    """J.16, with no claim withheld by a budget: what there is of the other stance is returned."""
    shared = {"id": id_of("7", 1)}
    against = [id_of("c", 2), "contradicts"]
    facts = [
        relation(1, MARIT, "works_on", TERN, (None, None, "unknown"), evidence=supported(3)) | shared,
        observation(1, MARIT, "Marit Solvang sails", evidence=[*supported(1, 5, 6, 7), against]) | shared,
    ]
    made = world((1, 2, 3, 4, 5, 6), [claim(number) for number in (1, 2, 3, 5, 6, 7)], facts)
    body = ask(
        made,
        "facts_context",
        query="Marit Solvang works on Aurora Tern",
        entity_ids=[MARIT],
        evidence_per_fact=2,
    )
    numbers = {
        (row["fact_kind"], row["stance"]): (row["returned"], row["total"]) for row in body["evidence_totals"]
    }
    assert len(body["evidence_totals"]) == 4
    assert numbers == {
        ("relation", "supports"): (1, 1),
        ("relation", "contradicts"): (0, 0),
        ("observation", "supports"): (2, 4),
        ("observation", "contradicts"): (1, 1),
    }
