"""Answers over HTTP are what the slow reference says, in small random stores, at the edges of windows and beliefs."""

from collections.abc import Mapping
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.context_bundle.asking import Asked
from tests.context_bundle.reference import STANCES, Claims, FactKey, Facts, Reference, moment
from tests.context_bundle.strategies import NOW, asked_stores
from tests.properties import SLOW_PHASES, examples

slowly = settings(
    max_examples=examples(40),
    phases=SLOW_PHASES,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
briefly = settings(slowly, max_examples=examples(20))


def key_of(row: Mapping[str, Any], prefix: str = "") -> FactKey:
    return (row[f"{prefix}kind"], row["fact_id"])


def told(fact: Mapping[str, Any], totals: Mapping[Any, int]) -> dict[str, Any]:
    """What an answer says of a fact, as the reference says it."""
    validity, block = fact["validity"], fact["contradiction"]
    assert validity["invalidated_at"] is None
    return {
        "label": fact["label"],
        "temporal_match": fact["temporal_match"],
        "support": fact["support"],
        "valid_from": None if validity["valid_from"] is None else moment(validity["valid_from"]),
        "valid_until": None if validity["valid_until"] is None else moment(validity["valid_until"]),
        "valid_precision": validity["valid_precision"],
        "ingested_at": moment(validity["ingested_at"]),
        "totals": {stance: totals[(*key_of(fact), stance)] for stance in STANCES},
        "group": fact["contradiction_group"],
        "co_members": [] if block is None else [key_of(each) for each in block["co_members"]],
        "co_total": 0 if block is None else block["total"],
    }


def look_around(body: Any, reference: Reference) -> None:
    """What holds of every first page, whatever was asked (contract, N.10, N.15)."""
    assert body["temporal_scope"]["evaluated_at"] == body["freshness"]["pg_live_ts"] == reference.written_now
    for row, text in [
        *((row, row["source_span"]) for row in body["evidence"]),
        *((row, row["chunk_text"]) for row in body["chunks"]),
    ]:
        whole = reference.documents[row["doc_id"]]["text"]
        assert whole[row["char_start"] : row["char_end"]] == text


def compare_facts(body: Any, expected: Facts, reference: Reference, asked: Mapping[str, Any]) -> None:
    look_around(body, reference)
    assert (body["negative"] or {}).get("kind") == expected.negative
    totals = {(*key_of(row, "fact_"), row["stance"]): row["total"] for row in body["evidence_totals"]}
    assert {key_of(fact): told(fact, totals) for fact in body["facts"]} == expected.facts
    assert body["dropped_by_hydration"] == body["excluded_unstamped"] == 0
    if expected.negative == "unknown_entity":
        assert body["truncation"] is None
        return
    whole = {"truncated": False, "returned": len(expected.facts), "estimated_total": len(expected.facts),
             "total_is_exact": True, "continuation": None, "reason": None}  # fmt: skip
    assert body["truncation"] == whole
    assert {node["entity_id"]: node["hops"] for node in body["nodes"]} == {
        name: hops for name, hops in expected.scope.items() if hops
    }
    answered = [key_of(fact) for fact in body["facts"]]
    coverage = [len(set(asked["entity_ids"]) & set(reference.ends(reference.facts[key]))) for key in answered]
    assert coverage == sorted(coverage, reverse=True)
    associations = [(key_of(row, "fact_"), row["claim_id"], row["stance"]) for row in body["fact_evidence"]]
    assert associations == reference.evidence(answered, asked.get("evidence_per_fact", 3))


def compare_claims(body: Any, expected: Claims, reference: Reference, names: list[str]) -> None:
    look_around(body, reference)
    assert (body["negative"] or {}).get("kind") == expected.negative
    groups = {frozenset(row["grouped_claim_ids"]): row["corroboration_count"] for row in body["evidence"]}
    assert groups == expected.groups
    assert sorted(row["doc_id"] for row in body["chunks"]) == sorted(expected.chunks)
    for order in (
        [len(reference.touched(reference.claims[row["claim_id"]]) & set(names)) for row in body["evidence"]],
        [expected.chunks[row["doc_id"]] for row in body["chunks"]],
    ):
        assert order == sorted(order, reverse=True)
    if expected.negative != "unknown_entity":
        assert body["truncation"]["estimated_total"] == len(expected.groups) + len(expected.chunks)
        assert not body["truncation"]["truncated"]


Case = tuple[dict[str, Any], list[dict[str, Any]]]


@given(case=asked_stores(questions=3), per_fact=st.integers(1, 5))
@slowly
def test_facts(case: Case, per_fact: int) -> None:
    store, questions = case
    asked, reference = Asked(store, NOW), Reference(store, NOW)
    for question in questions:
        args = question | {"k": 30, "evidence_per_fact": per_fact}
        compare_facts(asked.ask("facts_context", args), reference.facts_context(args), reference, args)


@given(case=asked_stores(questions=2), superseded=st.booleans())
@briefly
def test_claims_and_sources(case: Case, superseded: bool) -> None:
    store, questions = case
    asked, reference = Asked(store, NOW), Reference(store, NOW)
    for names in [question["entity_ids"] for question in questions]:
        args = {"query": "Tern", "entity_ids": names, "k": 100, "include_superseded": superseded}
        body = asked.ask("claims_and_sources_context", args)
        compare_claims(body, reference.claims_and_sources(args), reference, names)


@given(case=asked_stores())
@briefly
def test_a_bundle_is_its_two_children(case: Case) -> None:
    store, (question,) = case
    asked = Asked(store, NOW)
    testimony = {name: question[name] for name in ("query", "entity_ids")}
    body = asked.ask("combined_context", question)
    assert body["claims_and_sources"] == asked.ask("claims_and_sources_context", testimony)
    assert body["facts"] == asked.ask("facts_context", question)


@given(case=asked_stores())
@briefly
def test_without_anchors_nothing_is_found_that_does_not_qualify(case: Case) -> None:
    store, (question,) = case
    args = {name: question[name] for name in question if name != "entity_ids"} | {"k": 30}
    expected = Reference(store, NOW).facts_context(args).facts
    body = Asked(store, NOW).ask("facts_context", args)
    totals = {(*key_of(row, "fact_"), row["stance"]): row["total"] for row in body["evidence_totals"]}
    assert {key_of(fact): told(fact, totals) for fact in body["facts"]}.items() <= expected.items()
    # A statement holds the query's word, so it is found.
    assert {key for key in expected if key[0] == "observation"} <= {key_of(fact) for fact in body["facts"]}


@given(case=asked_stores(), k=st.integers(1, 3))
@briefly
def test_pages_are_the_whole_answer_in_pieces(case: Case, k: int) -> None:
    store, (question,) = case
    asked = Asked(store, NOW)
    whole = asked.ask("facts_context", question | {"k": 30})["facts"]
    pages: list[Any] = []
    args = question | {"k": k}
    while True:
        body = asked.ask("facts_context", args)
        if body["negative"] is not None:
            assert not whole
            return
        cut = body["truncation"]
        assert (cut["returned"], cut["estimated_total"]) == (len(body["facts"]), len(whole) - len(pages))
        pages += body["facts"]
        if cut["continuation"] is None:
            break
        args = question | {"k": k, "continuation": cut["continuation"]}
    assert pages == whole


@given(case=asked_stores(), data=st.data())
@briefly
def test_what_a_projection_wrongly_nominates_is_counted_and_changes_nothing(
    case: Case, data: st.DataObject
) -> None:
    store, (question,) = case
    args = question | {"k": 30}
    asked, reference = Asked(store, NOW, unissued=("E404", "F98", "F99")), Reference(store, NOW)
    expected = reference.facts_context(args)
    known = [f"{kind}:{name}" for kind, name in reference.facts]
    wrong = data.draw(st.lists(st.sampled_from([*known, "relation:F98", "observation:F99"]), unique=True))
    body = asked.ask("facts_context", args, {"stale_facts": wrong})
    assert {key_of(fact) for fact in body["facts"]} == set(expected.facts)
    if expected.negative != "unknown_entity":
        rejected = [each for each in wrong if tuple(each.split(":")) not in expected.facts]
        assert body["dropped_by_hydration"] == len(rejected)
