"""Two answers to one question, side by side. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

# What a question is compared by, and the members of the answer that belong to it. `items` to `quotes` look into the
# items; `pool` and `trace` need answers with a trace.
ASPECTS = (
    "pool",
    "items",
    "heads",
    "claims",
    "why",
    "quotes",
    "counts",
    "budget",
    "bounds",
    "shortfall",
    "rest",
    "trace",
)
_TOP = {
    "counts": ("effective_count", "returned_count", "requested_count", "count_policy"),
    "budget": ("requested_budget", "budget_policy", "effective_budget", "used_budget"),
    "bounds": ("bounds",),
    "shortfall": ("shortfall_reason", "gate_fallback"),
}
_NOT_QUOTES = {"claims", "head_ref", "independence_reason", "claims_omitted", "conflicts"}

Answer = Mapping[str, Any]


def named(answer: Any, names: Mapping[str, str]) -> Any:
    """The answer with every ref replaced by its row's name: numbers differ between the systems, rows do not."""
    if isinstance(answer, dict):
        return {names.get(key, key): named(value, names) for key, value in answer.items()}
    if isinstance(answer, list):
        return [named(value, names) for value in answer]
    return names.get(answer, answer) if isinstance(answer, str) else answer


def view(compact: Answer, traced: Answer) -> dict[str, Any]:
    """An answer by aspects. `compact`: without a trace; `traced`: the same question with one, its candidates most
    relevant first.
    """
    items: Sequence[Answer] = compact["items"]
    trace = traced.get("trace", {})
    seen = {"items", *(member for members in _TOP.values() for member in members)}
    return {
        "pool": trace.get("candidate_refs"),
        "items": [sorted(claim["ref"] for claim in item["claims"]) for item in items],
        "heads": [item["head_ref"] for item in items],
        "claims": [[_without(claim, "why", "roles") for claim in item["claims"]] for item in items],
        "why": [_reasons(item) for item in items],
        "quotes": [{key: value for key, value in item.items() if key not in _NOT_QUOTES} for item in items],
        **{aspect: _some(compact, members) for aspect, members in _TOP.items()},
        "rest": {key: value for key, value in compact.items() if key not in seen},
        "trace": {
            "clusters": sorted(sorted(cluster) for cluster in trace.get("clusters", [])),
            **{key: value for key, value in trace.items() if key not in ("candidate_refs", "clusters")},
            "reconstruction": traced.get("reconstruction"),
        },
    }


def _reasons(item: Answer) -> dict[str, Any]:
    return {
        "independence_reason": item["independence_reason"],
        "claims": [_some(claim, ("ref", "why", "roles")) for claim in item["claims"]],
        **_some(item, ("conflicts", "claims_omitted")),
    }


def _some(source: Answer, members: Sequence[str]) -> dict[str, Any]:
    return {member: source[member] for member in members if member in source}


def _without(source: Answer, *members: str) -> dict[str, Any]:
    return {key: value for key, value in source.items() if key not in members}


def differences(ours: Any, theirs: Any, path: str = "") -> list[tuple[str, Any, Any]]:
    """Every place where two values differ, as (path, ours, theirs); a missing member shows as None."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        keys = sorted(ours.keys() | theirs.keys())
        return [
            found for key in keys for found in differences(ours.get(key), theirs.get(key), f"{path}.{key}")
        ]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return [found for place, (a, b) in pairs for found in differences(a, b, f"{path}[{place}]")]
    return [] if ours == theirs and type(ours) is type(theirs) else [(path, ours, theirs)]
