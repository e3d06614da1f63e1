"""The checker passes the golden answers and finds what is wrong with an answer that breaks a rule."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.contracts.check_envelope import check, check_bundle
from tests.contracts.scenario_files import OWN_COPY

GOLDEN = sorted((OWN_COPY / "golden").glob("*.json"))


def golden(name: str) -> Any:
    return json.loads(next(path for path in GOLDEN if path.name.startswith(name)).read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_the_golden_answers_conform(path: Path) -> None:
    assert check(json.loads(path.read_text(encoding="utf-8"))) == []


def put(*path: Any) -> Callable[[Any], None]:
    """A change: the last of `path` is put where the rest of it leads to."""

    def change(body: Any) -> None:
        *way, last, value = path
        for step in way:
            body = body[step]
        body[last] = value

    return change


def drop(*path: Any) -> Callable[[Any], None]:
    def change(body: Any) -> None:
        for step in path[:-1]:
            body = body[step]
        del body[path[-1]]

    return change


def twice(*path: Any) -> Callable[[Any], None]:
    """A change: the list has its first element at its end once more."""

    def change(body: Any) -> None:
        for step in path:
            body = body[step]
        body.append(deepcopy(body[0]))

    return change


FACT, BLOCK = ("facts", 0), ("facts", 0, "contradiction")
VALIDITY = (*FACT, "validity")
OTHER = "00000000-0000-4000-8000-0000000000ff"


@pytest.mark.parametrize(
    ("name", "change", "fault"),
    [
        ("J01", put("confidence", 1), "unknown confidence"),
        ("J01", put(*FACT, "confidence", 1), "unknown confidence"),
        ("J01", drop("pages"), "without pages"),
        ("J01", put("chunks", None), "no list"),
        ("J01", put("grain", "facts"), "none of fact"),
        ("J01", put("temporal_scope", "mode", "now"), "no scope"),
        ("J01", put("temporal_scope", "at", "2026-01-01T00:00:00Z"), "unknown at"),
        ("J01", put("temporal_scope", "believed_at", "2026-01-01T00:00:00Z"), "believed at another instant"),
        ("J01", put("freshness", "pg_live_ts", "2026-09-30T10:14:59Z"), "older than the evaluation"),
        ("J01", put("freshness", "pg_live_ts", "2026-09-30T10:15:00"), "no instant in UTC"),
        ("J01", put("freshness", "pg_live_ts", "2026-02-30T10:15:00Z"), "there is no"),
        ("J01", put(*FACT, "fact_id", OTHER.upper()), "no UUID in lower case"),
        ("J01", put(*FACT, "evidence_count", True), "no whole number"),
        ("J01", put(*FACT, "evidence_count", 2), "not the evidence_count"),
        ("J01", put(*FACT, "support", "withdrawn"), "withdrawn, though"),
        ("J01", put(*FACT, "temporal_match", "possible"), "temporal_match"),
        ("J01", put(*VALIDITY, "valid_from", "2026-12-01T00:00:00Z"), "outside of the temporal scope"),
        ("J01", put(*VALIDITY, "valid_until", "2026-12-01T00:00:00Z"), "an open window"),
        ("J01", put(*VALIDITY, "valid_precision", "unknown"), "unknown window with a bound"),
        ("J02", put(*VALIDITY, "valid_until", "2022-04-01T00:00:00Z"), "an empty window"),
        ("J01", put(*VALIDITY, "ingested_at", "2026-10-01T00:00:00Z"), "learned after"),
        ("J01", put(*VALIDITY, "invalidated_at", "2026-10-01T00:00:00Z"), "not believed any more"),
        ("J05b", put(*VALIDITY, "invalidated_at", "2025-06-01T00:00:00Z"), "not believed any more"),
        ("J01", put(*FACT, "contradiction_group", None), "a block without a group"),
        ("J01", put(*BLOCK, "group_id", OTHER), "of another group"),
        ("J01", put(*BLOCK, "total", 25), "against its total"),
        ("J01", put(*BLOCK, "total", 24), "returned is not min"),
        ("J01", put(*BLOCK, "continuation", None), "against its total"),
        ("J01", drop(*BLOCK, "co_members", 0, "kind"), "without kind"),
        ("J01", put(*BLOCK, "co_members", 0, "fact_id", "00000000-0000-4000-8000-000000000001"), "the fact itself"),
        ("J01", put(*BLOCK, "co_members", 0, "validity", "ingested_at", "2027-01-01T00:00:00Z"), "not in the order"),
        ("J01", twice("facts"), "one of them twice"),
        ("J01", put("fact_evidence", 0, "claim_id", OTHER), "is not in the answer"),
        ("J01", drop("fact_evidence", 1), "evidence: not what fact_evidence names"),
        ("J02", lambda body: body["evidence"].reverse(), "in the order it is first named"),
        ("J01", drop("evidence_totals", 1), "not two rows a fact"),
        ("J01", lambda body: body["evidence_totals"].reverse(), "in the order of the facts"),
        ("J01", put("evidence_totals", 0, "returned", 2), "wrong numbers"),
        ("J01", put("evidence", 0, "source_span", "short"), "not as long as its offsets"),
        ("J01", put("evidence", 0, "evidence_spans", 0, "char_start", 1), "its origin is not the first"),
        ("J01", put("evidence", 0, "evidence_spans", []), "no list of at least 1"),
        ("J01", put("evidence", 0, "claim_valid_from", "2026-01-01T00:00:00Z"), "no shape of its precision"),
        ("J08", put("evidence", 1, "corroboration_count", 3), "a group that counts wrong"),
        ("J08", lambda body: body["evidence"][1]["grouped_claim_ids"].reverse(), "do not go together"),
        ("J08", put("chunks", 0, "chunk_text", "short"), "not as long as its offsets"),
        ("J08", put("nodes", [{"entity_id": OTHER, "name": "x", "hops": 0}]), "though the grain is evidence"),
        ("J13", put("paths", 0, "length", 1), "do not add up"),
        ("J13", put("paths", 0, "edges", 0, "object_id", OTHER), "joins other nodes"),
        ("J01", put("truncation", "estimated_total", 1), "nothing was left out"),
        ("J01", put("truncation", "truncated", False), "whole and exact"),
        ("J02", put("truncation", "total_is_exact", False), "inexact total"),
        ("J02", put("truncation", "reason", "result_budget"), "a reason or a continuation"),
        ("J14", put("truncation", "returned", 3), "fewer in all"),
        ("J06", put("dropped_by_hydration", 1), "unknown_entity, and more"),
        ("J07", put("negative", "explanation", ""), "says nothing"),
        ("J07", put("truncation", "total_is_exact", False), "did not see everything"),
        ("J14", put("negative", "workaround", None), "without a way around"),
    ],
)  # fmt: skip
def test_a_broken_rule_is_found(name: str, change: Callable[[Any], None], fault: str) -> None:
    body = golden(name)
    change(body)
    assert fault in "; ".join(check(body))


def test_one_side_alone_of_a_disagreement_is_found() -> None:
    body = golden("J02")
    one, other = body["facts"][:2]
    for fact, named in ((one, other), (other, one)):
        member = {key: named[key] for key in ("fact_id", "kind", "label", "evidence_count", "validity")}
        fact["contradiction_group"] = OTHER
        fact["contradiction"] = {
            "group_id": OTHER, "co_members": [member], "returned": 1, "total": 1, "continuation": None,
        }  # fmt: skip
    assert check(body) == []
    member = {
        key: body["facts"][2][key] for key in ("fact_id", "kind", "label", "evidence_count", "validity")
    }
    other["contradiction"]["co_members"] = [member]
    assert "which does not list it" in "; ".join(check(body))


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (put("negative", None), "unknown negative"),
        (drop("facts"), "without facts"),
        (put("contract", "ContextBundle/v1"), "none of ContextBundle/v2"),
        (put("facts", None), "no object"),
        (put("facts", "chunks", [{}]), "facts: "),
        (put("claims_and_sources", "grain", "composite"), "its grain is not evidence"),
        (
            put("facts", "temporal_scope", golden("J05")["temporal_scope"] | {"evaluated_at": "2026-09-30T10:14:00Z"}),
            "one instant",
        ),
    ],
)  # fmt: skip
def test_a_bundle_that_is_none(change: Callable[[Any], None], fault: str) -> None:
    body = golden("J09")
    assert check_bundle(body) == []
    change(body)
    assert fault in "; ".join(check(body))
