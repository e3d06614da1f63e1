"""The reference says what the scenarios say: as much of them as it tells of."""

import re
from typing import Any

import pytest

from tests.context_bundle.reference import Facts, Reference
from tests.contracts.bundle_values import Result, Results, fault_of
from tests.contracts.scenario_files import OWN_COPY, Scenario, load

# What the reference tells of an answer, as paths.
_TOLD = re.compile(
    r"facts\.length|facts\[(\*|0|id=[^\]]+)\]\.(fact_id|temporal_match|evidence_count|support|contradiction_group)"
    r"|facts\[(0|id=[^\]]+)\]\.contradiction(\.total|\.returned|\.group_id|\.co_members.*)?"
    r"|evidence_totals\[[^\]]+\]\.total|fact_evidence\.length|evidence\[\*\]\.claim_id"
    r"|evidence\.length|chunks\.length|evidence\[0\]\.(corroboration_count|grouped_claim_ids.*)|chunks\[\*\]\.doc_id"
    r"|negative(\.kind)?"
)


def concerns(scenario: Scenario) -> bool:
    given, call = scenario["given"], scenario["call"]
    if call["op"] not in ("facts_context", "claims_and_sources_context") or not call["args"].get(
        "entity_ids"
    ):
        return False
    refused = any(each["path"] == "$status" and each.get("value") != 200 for each in scenario["expect"])
    special = {"prior_calls", "mutate", "fault", "credential", "other_deployment"} & given.keys()
    if refused or special or "nominations_exhausted" in given.get("projection", {}):
        return False
    if call["op"] == "claims_and_sources_context":
        return "k" not in call["args"]
    # The reference knows what qualifies, not what k leaves of it.
    qualifying = Reference(given, given["now"]).facts_context(call["args"]).facts
    return len(qualifying) <= call["args"].get("k", 15)


CASES = [pytest.param(each, id=each["id"]) for each in load("context_bundle", OWN_COPY) if concerns(each)]


def facts_body(expected: Facts, reference: Reference, args: Any) -> dict[str, Any]:
    """As much of an answer as the reference knows, facts in the order of their numbers."""
    associations = reference.evidence(expected.facts, args.get("evidence_per_fact", 3))
    return {
        "facts": [
            {
                "fact_id": name,
                "kind": kind,
                "evidence_count": fact["totals"]["supports"],
                "temporal_match": fact["temporal_match"],
                "support": fact["support"],
                "contradiction_group": fact["group"],
                "contradiction": None if fact["group"] is None else {
                    "group_id": fact["group"],
                    "total": fact["co_total"],
                    "returned": len(fact["co_members"]),
                    "co_members": [
                        {"kind": kind, "fact_id": name, "label": reference.label(reference.facts[kind, name])}
                        for kind, name in fact["co_members"]
                    ],
                },
            }
            for (kind, name), fact in expected.facts.items()
        ],
        "evidence_totals": [
            {"fact_kind": kind, "fact_id": name, "stance": stance, "total": total}
            for (kind, name), fact in expected.facts.items()
            for stance, total in fact["totals"].items()
        ],
        "fact_evidence": associations,
        "evidence": [{"claim_id": claim} for claim in dict.fromkeys(claim for _key, claim, _stance in associations)],
        "negative": None if expected.negative is None else {"kind": expected.negative},
    }  # fmt: skip


def claims_body(reference: Reference, args: Any) -> dict[str, Any]:
    expected = reference.claims_and_sources(args)
    return {
        "evidence": [
            {"claim_id": min(names), "grouped_claim_ids": sorted(names), "corroboration_count": documents}
            for names, documents in expected.groups.items()
        ],
        "chunks": [{"doc_id": name} for name in expected.chunks],
        "negative": None if expected.negative is None else {"kind": expected.negative},
    }


@pytest.mark.parametrize("scenario", CASES)
def test_the_reference_says_what_the_scenario_says(scenario: Scenario) -> None:
    given, args = scenario["given"], scenario["call"]["args"]
    reference = Reference(given, given["now"])
    if scenario["call"]["op"] == "facts_context":
        body = facts_body(reference.facts_context(args), reference, args)
    else:
        body = claims_body(reference, args)
    told = [each for each in scenario["expect"] if _TOLD.fullmatch(each["path"])]
    results = Results({}, Result(body, 200))
    assert [fault for each in told if (fault := fault_of(each, results))] == []


def test_the_reference_is_held_against_many_scenarios() -> None:
    told = [each for case in CASES for each in case.values[0]["expect"] if _TOLD.fullmatch(each["path"])]
    assert len(told) > 80
