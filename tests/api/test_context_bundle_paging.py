"""Where an answer goes on: pages that neither repeat nor lose, and continuations that belong to one question."""

import math

import pytest

from memoryconsole.models import Fact
from provenance.context_bundle import services
from provenance.context_bundle.core import cursor
from tests.api.harbour import Harbour, shown
from tests.conftest import make_store


@pytest.fixture
def harbour(api, store):
    return Harbour(api, store)


@pytest.fixture
def fleet(harbour):
    """(an entity, seven facts about it in seven documents)."""
    ferry = harbour.entity("Aurora Tern")
    return ferry, [harbour.observe(ferry, f"the ferry carries {n}") for n in range(7)]


def pages(ask, **body):
    """Every page of an answer, at most ten."""
    found = [ask(**body)]
    while found[-1]["truncation"]["continuation"] and len(found) < 10:
        found.append(ask(**body | {"continuation": found[-1]["truncation"]["continuation"]}))
    return found


@pytest.mark.parametrize("k", [1, 3, 7, 30])
def test_pages_of_facts_are_the_whole_list_cut(k, fleet, harbour):
    ferry, facts = fleet
    whole = shown(harbour.facts(entity_ids=[ferry], k=30))
    assert set(whole) == set(facts)
    found = pages(harbour.facts, entity_ids=[ferry], k=k)
    assert len(found) == math.ceil(7 / k)
    assert [fact for page in found for fact in shown(page)] == whole
    assert [page["truncation"]["estimated_total"] for page in found] == [7 - k * n for n in range(len(found))]
    assert len({str(page["temporal_scope"]) for page in found}) == 1
    assert found[-1]["truncation"]["truncated"] is False
    assert all(page["negative"] is None for page in found)


@pytest.mark.parametrize("k", [1, 4, 7])
def test_pages_of_testimony_are_both_lists_cut(k, fleet, harbour):
    ferry, _ = fleet
    whole = harbour.said(entity_ids=[ferry], k=100)
    found = pages(harbour.said, entity_ids=[ferry], k=k)
    for rows, name in (("evidence", "claim_id"), ("chunks", "chunk_id")):
        assert [row[name] for page in found for row in page[rows]] == [row[name] for row in whole[rows]]
    assert len(whole["evidence"]) == len(whole["chunks"]) == 7


def test_a_page_can_be_asked_for_twice(fleet, harbour):
    ferry, _ = fleet
    mark = harbour.facts(entity_ids=[ferry], k=3)["truncation"]["continuation"]
    one, two = (harbour.facts(entity_ids=[ferry], k=3, continuation=mark) for _ in range(2))
    del one["freshness"], two["freshness"]
    assert one == two


def test_what_is_declared_after_the_first_page_is_in_none(fleet, harbour):
    ferry, facts = fleet
    one = harbour.facts(entity_ids=[ferry], k=3)
    late = harbour.observe(ferry, "the ferry carries horses")
    two = harbour.facts(entity_ids=[ferry], k=30, continuation=one["truncation"]["continuation"])
    assert two["negative"]["kind"] == "boundary"
    two = harbour.facts(entity_ids=[ferry], k=3, continuation=one["truncation"]["continuation"])
    three = harbour.facts(entity_ids=[ferry], k=3, continuation=two["truncation"]["continuation"])
    assert set(shown(one)) | set(shown(two)) | set(shown(three)) == set(facts)
    assert late not in shown(two)
    said = harbour.said(entity_ids=[ferry], k=3)
    claim = harbour.claim("the ferry is painted", ferry)
    rest = pages(harbour.said, entity_ids=[ferry], k=3, continuation=said["truncation"]["continuation"])
    assert claim not in [row["claim_id"] for page in rest for row in page["evidence"]]


def test_what_is_retracted_between_two_pages_is_dropped_and_counted(fleet, harbour, store):
    ferry, _ = fleet
    one = harbour.facts(entity_ids=[ferry], k=3)
    whole = shown(harbour.facts(entity_ids=[ferry], k=30))
    harbour.post(f"/facts/observation/{whole[4]}/retract", {"reason": "it was a misprint"})
    two = harbour.facts(entity_ids=[ferry], k=3, continuation=one["truncation"]["continuation"])
    assert set(shown(two)) == {whole[3], *whole[5:]}
    assert two["dropped_by_hydration"] == 1
    assert two["truncation"]["truncated"] is False
    assert Fact.objects.get(store=store, uuid=whole[4]).invalidated_at is not None
    assert harbour.facts(entity_ids=[ferry], k=30)["dropped_by_hydration"] == 0


@pytest.mark.parametrize("superseded", [False, True])
def test_a_claim_that_was_given_with_another_does_not_come_again_without_it(superseded, harbour):
    """Whoever stood for claims that say the same may say so no more by the next page: the others were given all the
    same.
    """
    ferry = harbour.entity("Aurora Tern")
    alike = [harbour.claim("the ferry carries 310", ferry) for _ in range(3)]
    others = [harbour.claim(f"the ferry has {n} decks", ferry) for n in range(2)]
    body = {"entity_ids": [ferry], "k": 1, "include_superseded": superseded}
    one = harbour.said("carries 310", **body)
    assert one["evidence"][0]["grouped_claim_ids"] == alike
    harbour.post(f"/claims/{alike[0]}/currency", {"current": False, "reason": "reextracted"})
    rest = pages(harbour.said, query="carries 310", **body, continuation=one["truncation"]["continuation"])
    assert [row["claim_id"] for page in rest for row in page["evidence"]] == others


def test_a_claim_that_says_the_same_as_a_given_one_only_now_still_comes(harbour):
    ferry = harbour.entity("Aurora Tern")
    alike = [harbour.claim("the ferry carries 310", ferry) for _ in range(2)]
    other = harbour.claim("the ferry has 3 decks", ferry)
    harbour.post(f"/claims/{alike[1]}/currency", {"current": False, "reason": "reextracted"})
    body = {"query": "carries 310", "entity_ids": [ferry], "k": 1, "include_superseded": True}
    one = harbour.said(**body)
    assert one["evidence"][0]["grouped_claim_ids"] == alike[:1]
    harbour.post(f"/claims/{alike[1]}/currency", {"current": True, "reason": "review_restored"})
    rest = pages(harbour.said, **body, continuation=one["truncation"]["continuation"])
    assert {row["claim_id"] for page in rest for row in page["evidence"]} == {alike[1], other}


def test_claims_that_say_the_same_come_once_though_they_are_too_many_to_be_named(harbour, monkeypatch):
    ferry = harbour.entity("Aurora Tern")
    alike = [harbour.claim("the ferry carries 310", ferry) for _ in range(40)]
    others = [harbour.claim(f"the ferry has {n} decks", ferry) for n in range(3)]
    body = {"query": "carries 310", "entity_ids": [ferry], "k": 1}
    whole = harbour.said(**body)["truncation"]["continuation"]
    monkeypatch.setattr(cursor, "TOKEN_MAX_CHARS", len(whole) - 1)
    found = pages(harbour.said, **body)[:4]
    assert len(found[0]["truncation"]["continuation"]) < len(whole)
    assert set(found[0]["evidence"][0]["grouped_claim_ids"]) == set(alike)
    assert {row["claim_id"] for page in found[1:] for row in page["evidence"]} == set(others)


def refused(answer):
    return (
        answer["negative"]["kind"],
        bool(answer["negative"]["workaround"]),
        shown(answer),
        answer["truncation"],
    )


BOUNDARY = ("boundary", True, [], None)


def test_a_continuation_belongs_to_one_question(fleet, harbour):
    ferry, _ = fleet
    body = {"entity_ids": [ferry], "k": 3}
    mark = harbour.facts(**body)["truncation"]["continuation"]
    others = [
        {"query": "boat"}, {"k": 4}, {"hops": 2}, {"evidence_per_fact": 1}, {"predicate": "part_of"},
        {"time": {"mode": "history"}},
    ]  # fmt: skip
    for other in others:
        assert refused(harbour.facts(**{**body, **other}, continuation=mark)) == BOUNDARY
    without = {"k": 3}
    assert refused(harbour.facts(**without, continuation=mark)) == BOUNDARY
    assert harbour.said(entity_ids=[ferry], k=3, continuation=mark)["negative"]["kind"] == "boundary"
    assert shown(harbour.facts(**body, time={"mode": "current"}, continuation=mark))


@pytest.mark.parametrize("at", [0, 5, -50, -1])
def test_an_altered_continuation_is_refused_and_never_page_one(at, fleet, harbour):
    ferry, _ = fleet
    mark = harbour.facts(entity_ids=[ferry], k=3)["truncation"]["continuation"]
    letter = "B" if mark[at] == "A" else "A"
    altered = mark[:at] + letter + mark[at:][1:]
    assert refused(harbour.facts(entity_ids=[ferry], k=3, continuation=altered)) == BOUNDARY


def test_another_stores_continuation_is_refused(ada, api, fleet, harbour):
    from tests.conftest import make_client

    mark = harbour.facts(k=3)["truncation"]["continuation"]
    other = make_store(ada)
    elsewhere = Harbour(make_client(ada, other), other)
    assert refused(elsewhere.facts(k=3, continuation=mark)) == BOUNDARY
    assert len(shown(harbour.facts(k=3, continuation=mark))) == 3


def test_a_continuation_ends_after_an_hour(fleet, harbour, monkeypatch):
    from datetime import timedelta

    ferry, _ = fleet
    body = {"entity_ids": [ferry], "k": 3}
    mark = harbour.facts(**body)["truncation"]["continuation"]
    real = services.evaluation_instant
    for minutes, taken in ((59, True), (61, False)):
        later = timedelta(minutes=minutes)
        monkeypatch.setattr(services, "evaluation_instant", lambda *known, by=later: real(*known) + by)
        assert bool(shown(harbour.facts(**body, continuation=mark))) == taken


def test_a_continuation_too_long_to_be_one_is_not_given(fleet, harbour, monkeypatch):
    from provenance.context_bundle.core import cursor

    ferry, _ = fleet
    monkeypatch.setattr(cursor, "TOKEN_MAX_CHARS", 40)
    answer = harbour.facts(entity_ids=[ferry], k=3)
    assert answer["truncation"]["truncated"] is True
    assert answer["truncation"]["continuation"] is None
