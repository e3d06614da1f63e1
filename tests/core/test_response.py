"""What an answer says, and when it says it (contract, section I)."""

import json
from typing import Any

import pytest

from reconstruct.core import Settings, reconstruct
from reconstruct.core.types import Graph
from tests.core.builders import (
    Body,
    ask,
    harbour,
    held,
    linked,
    mentions,
    record,
    snapshot,
)

LAMP = {"mem:1": "lamp oil arrives tuesday"}
STAMP = "2026-01-05T10:00:00+00:00"
MINIMAL = {
    "items": [
        {
            "content": "lamp oil arrives tuesday",
            "head_ref": "mem:1",
            "claims": [{"ref": "mem:1", "as_of": STAMP, "why": "seed"}],
            "independence_reason": "singleton",
        }
    ],
    "effective_count": 1,
    "returned_count": 1,
}


def rows(count: int, **pool: Any) -> Any:
    return snapshot(*(record(number) for number in range(1, count + 1)), **pool)


def test_a_request_served_as_asked_says_so_in_two_integers() -> None:
    assert ask(snapshot(record(1, STAMP), texts=LAMP), count=1) == MINIMAL


def test_everything_at_once_as_the_contract_shows_it() -> None:
    given, request, settings = harbour()
    body = reconstruct(snapshot=given, request=request, settings=settings)
    winch, checklist = body.pop("items")
    assert body == {
        "requested_count": 5,
        "effective_count": 2,
        "returned_count": 2,
        "count_policy": {"source": "caller", "clamped": True, "reason": "count_requested"},
        "requested_budget": 9000,
        "effective_budget": 1500,
        "used_budget": 1430,
        "budget_policy": {"source": "caller", "clamped": True, "reason": "budget_requested"},
        "bounds": {
            "top_k": 8,
            "max_hops": 1,
            "max_evidence": 4,
            "reached": ["top_k"],
            "omitted": ["max_evidence", "max_hops"],
        },
        "reconstruction": {
            "policy": "v1",
            "candidate_count": 8,
            "cluster_count": 3,
            "selected_count": 2,
            "excluded_without_provenance": 1,
        },
        "quote_selection": "lexical_only",
        "advisory": {"degraded": True, "severity": "fault", "advisory_scope": "session"},
        "trace": {
            "candidate_refs": ["mem:11", "mem:21", "ep:7", "mem:12", "mem:22", "mem:23", "mem:41", "mem:13"],
            "clusters": [
                ["mem:11", "ep:7", "mem:12", "mem:13"],
                ["mem:21", "mem:22", "mem:23"],
                ["mem:41"],
            ],
            "node_order": {"mem:11": [1, 0, 2]},
        },
    }
    assert len(winch.pop("content")) == len(checklist.pop("content")) == 500
    supports = {"ref": "ep:7", "role": "supports"}
    inside = {"why": "cluster:episode"}
    assert winch == {
        "head_ref": "mem:11",
        "claims": [
            {"ref": "mem:13", "as_of": "2026-01-02T06:00:55+00:00", **inside, "roles": [supports]},
            {"ref": "mem:12", "as_of": "2026-01-02T06:00:40+00:00", **inside, "roles": [supports]},
            {
                "ref": "mem:11",
                "as_of": "2026-01-02T06:00:00+00:00",
                **inside,
                "roles": [supports, {"ref": "mem:12", "role": "qualifies"}],
            },
            {"ref": "ep:7", "as_of": "2026-01-02T04:00:00+00:00", **inside},
        ],
        "independence_reason": "cluster:episode",
        "claims_omitted": 1,
        "content_len": 900,
        "content_truncated": True,
        "node": {"index": 1, "of": 3, "span": [800, 1300]},
        "expand": {"ref": "mem:11", "node": 1},
        "excerpts": [
            {"ref": "ep:7", "content": "Cold week: winch trouble and fixes."},
            {"ref": "mem:12", "content": "Brake pads ordered."},
            {"ref": "mem:13", "content": "Frost warning tonight."},
        ],
    }
    assert checklist["head_ref"] == "mem:22"
    assert [claim["ref"] for claim in checklist["claims"]] == ["mem:22", "mem:23", "mem:21"]
    assert checklist["claims"][2]["roles"] == [{"ref": "mem:22", "role": "supersedes"}]
    assert checklist["conflicts"] == [
        {"refs": ["mem:22", "mem:23"], "reason": "same_msg_id_same_timestamp", "msg_id": "chk-1"}
    ]
    assert (checklist["content_len"], checklist["node_unavailable"]) == (640, "no_nodes")
    assert [excerpt["ref"] for excerpt in checklist["excerpts"]] == ["mem:21", "mem:23"]


def test_members_appear_in_one_written_order() -> None:
    given, request, settings = harbour()
    body = reconstruct(snapshot=given, request=request, settings=settings)
    assert list(body)[:4] == ["items", "requested_count", "effective_count", "returned_count"]
    assert list(body)[-2:] == ["advisory", "trace"]
    assert list(body["items"][0])[:4] == ["content", "head_ref", "claims", "independence_reason"]


def test_a_clamped_count_is_reported_with_its_request() -> None:
    body = ask(rows(1), count=11)
    assert body["requested_count"] == 11
    assert body["count_policy"] == {"source": "caller", "clamped": True, "reason": "count_requested"}


def test_a_forced_count_is_reported_even_when_it_equals_the_request() -> None:
    body = ask(rows(2), count=2, settings=Settings(forced_count=2))
    assert body["count_policy"] == {
        "source": "operator_forced",
        "clamped": False,
        "reason": "forced_count_set",
    }


def test_a_forced_count_without_a_request_shows_that_nothing_was_asked() -> None:
    assert ask(rows(1), settings=Settings(forced_count=1))["requested_count"] is None


def test_a_forced_budget_is_reported_though_it_withheld_nothing() -> None:
    body = ask(rows(1), settings=Settings(forced_budget=1234), budget=9000)
    assert body["requested_budget"] == 9000
    assert body["budget_policy"]["source"] == "operator_forced"
    assert "effective_budget" not in body


def test_a_configured_default_is_no_event() -> None:
    body = ask(rows(3), settings=Settings(default_count=3))
    assert set(body) == {"items", "effective_count", "returned_count"}


@pytest.mark.parametrize(("top_k", "reached"), [(3, False), (2, True)])
def test_top_k_is_reached_when_retrieval_returned_as_many_rows_as_it_might(top_k: int, reached: bool) -> None:
    body = ask(rows(2), count=1, top_k=top_k)
    assert body.get("bounds", {}).get("reached") == (["top_k"] if reached else None)


def test_top_k_is_compared_with_the_bound_that_was_applied() -> None:
    body = ask(rows(2), count=1, top_k=20, settings=Settings(library_max=2))
    assert body["bounds"] == {
        "top_k": 20,
        "max_hops": 2,
        "max_evidence": 40,
        "effective_top_k": 2,
        "reached": ["top_k"],
    }


def test_rows_without_a_ref_do_not_count_towards_top_k() -> None:
    body = ask(rows(2, rows_without_ref=1), count=2, top_k=3)
    assert "bounds" not in body
    assert body["reconstruction"] == {"excluded_without_provenance": 1}


def test_a_lowered_top_k_is_reported_over_an_empty_pool() -> None:
    body = ask(rows(0), settings=Settings(library_max=2))
    assert body["bounds"] == {"top_k": 20, "max_hops": 2, "max_evidence": 40, "effective_top_k": 2}


def test_lowered_hops_are_reported_as_applied() -> None:
    assert ask(rows(1), max_hops=6)["bounds"] == {"top_k": 20, "max_hops": 5, "max_evidence": 40}
    assert "bounds" not in ask(rows(1), max_hops=5)


def test_omitted_and_reached_are_two_things() -> None:
    given = snapshot(
        record(1),
        graph=Graph(
            mentions=mentions(mem_1=(1,)),
            relations=(linked(1, 1, "run_by", 2), linked(2, 2, "belongs_to", 3)),
        ),
        records=(held(2, record(2), record(3), more=True),),
    )
    bounds = ask(given, top_k=1, max_hops=1, max_evidence=2)["bounds"]
    assert bounds["omitted"] == ["max_evidence", "max_hops"]
    assert bounds["reached"] == ["top_k", "max_evidence"]


def test_a_bound_is_not_told_of_an_item_that_is_not_returned() -> None:
    given = snapshot(record(1), *(record(number, message="x") for number in (2, 3, 4)))
    assert "bounds" not in ask(given, count=1, max_evidence=2)
    assert ask(given, count=2, max_evidence=2)["bounds"]["omitted"] == ["max_evidence"]


def test_a_bound_is_not_told_of_an_item_the_budget_dropped() -> None:
    given = snapshot(
        record(1),
        *(record(number, message="x") for number in (2, 3, 4)),
        graph=Graph(
            mentions=mentions(mem_2=(1,)),
            relations=(linked(1, 1, "run_by", 2), linked(2, 2, "belongs_to", 3)),
        ),
        records=(held(2, record(5), more=True),),
        texts={f"mem:{number}": "x" * 10 for number in range(1, 6)},
    )
    tight = Settings(preview_chars=10, default_budget=10)
    wanted = {"count": 2, "max_hops": 1, "max_evidence": 2}
    assert set(ask(given, **wanted)["bounds"]) >= {"omitted", "reached"}
    body = ask(given, **wanted, budget=10, settings=tight)
    assert body["shortfall_reason"] == "budget_exhausted"
    assert "bounds" not in body


@pytest.mark.parametrize(
    ("pool_size", "gate_fallback", "count", "reason"),
    [
        (0, False, 0, "count_zero"),
        (3, True, 0, "count_zero"),
        (0, False, 3, "no_relevant_evidence"),
        (0, True, 3, "below_quality_threshold"),
        (1, True, 3, "below_quality_threshold"),
        (1, False, 3, "exhausted_candidates"),
        (3, False, 3, None),
        (3, True, 3, None),
    ],
)
def test_a_window_that_is_not_full_says_why(
    pool_size: int, gate_fallback: bool, count: int, reason: str | None
) -> None:
    body = ask(rows(pool_size, gate_fallback=gate_fallback), count=count)
    assert body.get("shortfall_reason") == reason
    assert body.get("gate_fallback") == (True if gate_fallback else None)


def test_budget_is_blamed_before_the_gate_and_before_exhaustion() -> None:
    texts = {f"mem:{number}": "x" * 10 for number in (1, 2)}
    tight = Settings(preview_chars=10, default_budget=10)
    body = ask(rows(2, texts=texts, gate_fallback=True), count=5, budget=10, settings=tight)
    assert body["shortfall_reason"] == "budget_exhausted"


def test_budget_is_not_blamed_when_the_candidates_ran_out() -> None:
    texts = {f"mem:{number}": "x" * 10 for number in (1, 2)}
    tight = Settings(preview_chars=10, default_budget=10)
    given = snapshot(*(record(number, message="x") for number in (1, 2)), texts=texts)
    body = ask(given, count=5, budget=10, settings=tight)
    assert body["items"][0]["excerpts_omitted"] == 1
    assert body["shortfall_reason"] == "exhausted_candidates"


@pytest.mark.parametrize("count", [0, 1])
def test_notices_arrive_unchanged_on_every_path(count: int) -> None:
    advisory = {"degraded": True, "severity": "hint", "evidence": {"tries": [1, 2]}}
    update = {"kind": "newer", "running": "1.0.0"}
    body = ask(rows(0, advisory=advisory, update=update), count=count)
    assert (body["advisory"], body["update"]) == (advisory, update)


def test_the_answer_shares_nothing_mutable_with_the_snapshot() -> None:
    advisory = {"evidence": {"tries": [1, 2]}}
    cues = {"entities": ["Pier Nine"]}
    body = ask(rows(1, advisory=advisory, cues=cues), trace=True)
    body["advisory"]["evidence"]["tries"].append(3)
    body["trace"]["cues"]["entities"].clear()
    assert (advisory, cues) == ({"evidence": {"tries": [1, 2]}}, {"entities": ["Pier Nine"]})


def test_the_trace_names_every_policy_and_count_on_every_path() -> None:
    for given, wanted in ((rows(2), {}), (rows(0), {}), (rows(2), {"count": 0})):
        body = ask(given, trace=True, **wanted)
        assert {"requested_count", "count_policy", "requested_budget", "budget_policy", "bounds"} <= set(body)
        assert {"effective_budget", "used_budget"} <= set(body)
        assert set(body["reconstruction"]) == {
            "policy",
            "candidate_count",
            "cluster_count",
            "selected_count",
            "excluded_without_provenance",
        }
        assert set(body["trace"]) == {"candidate_refs", "clusters"}
        assert all(value is not None for value in body["trace"].values())


def test_without_trace_there_is_no_trace() -> None:
    assert "trace" not in ask(rows(1, cues={"entities": ["Pier Nine"]}))


def test_the_trace_passes_the_cues_on() -> None:
    cues = {"entities": ["Pier Nine"], "terms": ["P9"]}
    assert ask(rows(1, cues=cues), trace=True)["trace"]["cues"] == cues


def test_an_unforced_request_left_open_is_null_and_nothing_else_ever_is() -> None:
    body = ask(rows(1), trace=True)
    assert body["requested_count"] is body["requested_budget"] is None
    assert _nulls(body) == ["requested_count", "requested_budget"]


def test_no_relevance_number_is_ever_shown() -> None:
    given, request, settings = harbour()
    text = json.dumps(reconstruct(snapshot=given, request=request, settings=settings))
    for word in ("score", "similarity", "confidence", "rank", "cosine", "summary", "timeline"):
        assert f'"{word}' not in text


def _nulls(body: Body) -> list[str]:
    return [name for name, value in body.items() if value is None]
