"""The contract's body, read off a reconstruction (contract, section I).

Rule 1: this file decides nothing about memory; it decides what the answer *says*.
Rule 2: absent means the key is missing, never null or empty; only the two ``requested_`` numbers may be null.
Members appear in one written order, so the same reconstruction always gives the same bytes.

A compact answer names a policy, a bound or a budget only where the server did something other than what was
asked. ``trace`` names them always, and adds what was considered.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from reconstruct.core.policy import Ruling
from reconstruct.core.quote import Quote
from reconstruct.core.rebuild import Reconstruction, rebuild
from reconstruct.core.structure import Claim, Item
from reconstruct.core.types import Request, Settings, Snapshot

Body = dict[str, Any]

ALGORITHM = "v1"
"""The contract's name for these rules, shown as ``reconstruction.policy``."""

NODES_SHOWN = 3
"""Contract, section H: ``node_order`` names a text's best three nodes."""


def reconstruct(*, snapshot: Snapshot, request: Request, settings: Settings) -> Body:
    """The answer to one request over one snapshot: rebuild, then respond."""
    return respond(rebuild(snapshot, request, settings))


def respond(result: Reconstruction) -> Body:
    """The JSON body of the answer. It shares no mutable value with ``result``."""
    trace = result.request.trace
    pool = result.pool
    body: Body = {"items": _items(result)}
    body |= _counts(result, trace) | _budgets(result, trace)
    body |= _present(bounds=_bounds(result, trace), reconstruction=_reconstruction(result, trace))
    body |= _present(
        shortfall_reason=shortfall_reason(result),
        gate_fallback=pool.gate_fallback or None,
        quote_selection="lexical_only" if result.node_orders and not pool.query_embedded else None,
        advisory=_copied(pool.advisory),
        update=_copied(pool.update),
        trace=_trace(result) if trace else None,
    )
    return body


def _present(**members: Any) -> Body:
    return {name: value for name, value in members.items() if value is not None}


def _copied(notice: Mapping[str, object] | None) -> Body | None:
    return None if notice is None else deepcopy(dict(notice))


def _counts(result: Reconstruction, trace: bool) -> Body:
    count = result.policy.count
    told = count.differs or trace
    return {
        **({"requested_count": count.requested} if told else {}),
        "effective_count": count.effective,
        "returned_count": result.returned,
        **({"count_policy": _ruling(count)} if told else {}),
    }


def _budgets(result: Reconstruction, trace: bool) -> Body:
    budget = result.policy.budget
    told = budget.differs or trace
    spent = {"effective_budget": budget.effective, "used_budget": result.used_budget}
    return {
        **({"requested_budget": budget.requested} if told else {}),
        **(spent if result.withheld or trace else {}),
        **({"budget_policy": _ruling(budget)} if told else {}),
    }


def _ruling(ruling: Ruling) -> Body:
    return {"source": ruling.source, "clamped": ruling.clamped, "reason": ruling.reason}


def _bounds(result: Reconstruction, trace: bool) -> Body | None:
    policy = result.policy
    lowered = policy.effective_top_k < policy.top_k
    told = _present(
        effective_top_k=policy.effective_top_k if lowered else None,
        omitted=_omitted(result) or None,
        reached=_reached(result) or None,
    )
    if not (told or policy.max_hops_lowered or trace):
        return None
    return {
        "top_k": policy.top_k,
        "max_hops": policy.max_hops,
        "max_evidence": policy.max_evidence,
        **told,
    }


def _omitted(result: Reconstruction) -> list[str]:
    """Bounds that dropped rows, or relations, of an item that is in the answer."""
    returned = result.items[: result.returned]
    dropped = {
        "max_evidence": any(item.omitted for item in returned),
        "max_hops": any(item.reach.unfollowed for item in returned),
    }
    return [bound for bound, did in dropped.items() if did]


def _reached(result: Reconstruction) -> list[str]:
    """Bounds that were only met. top_k is compared with what was applied, counting rows that have a ref."""
    met = {
        "top_k": len(result.pool.rows) >= result.policy.effective_top_k,
        "max_evidence": any(item.gathered.bound_met for item in result.items[: result.returned]),
    }
    return [bound for bound, was in met.items() if was]


def _reconstruction(result: Reconstruction, trace: bool) -> Body | None:
    excluded = {"excluded_without_provenance": result.pool.rows_without_ref}
    if not trace:
        return excluded if result.pool.rows_without_ref else None
    return {
        "policy": ALGORITHM,
        "candidate_count": len(result.pool.rows),
        "cluster_count": len(result.clusters),
        "selected_count": result.returned,
        **excluded,
    }


def shortfall_reason(result: Reconstruction) -> str | None:
    """Why the window is not full. The order of the questions is the contract's precedence."""
    window = result.policy.count.effective
    below_gate = result.pool.gate_fallback
    if window == 0:
        return "count_zero"
    if not result.pool.rows:
        return "below_quality_threshold" if below_gate else "no_relevant_evidence"
    if result.returned == window:
        return None
    if result.returned < len(result.items):
        return "budget_exhausted"
    return "below_quality_threshold" if below_gate else "exhausted_candidates"


def _trace(result: Reconstruction) -> Body:
    orders = {str(order.ref): list(order.indices[:NODES_SHOWN]) for order in result.node_orders}
    return {
        "candidate_refs": [str(row.ref) for row in result.pool.rows],
        "clusters": [[str(ref) for ref in cluster.refs] for cluster in result.clusters],
        **_present(cues=_copied(result.pool.cues), node_order=orders or None),
    }


def _items(result: Reconstruction) -> list[Body]:
    quotes: list[list[Quote]] = [[] for _ in result.items]
    for place in result.sequence[: result.carried]:
        quotes[place.item].append(place.quote)
    returned = result.items[: result.returned]
    return [_item(item, carried) for item, carried in zip(returned, quotes, strict=False)]


def _item(item: Item, carried: list[Quote]) -> Body:
    head, *excerpts = carried
    conflicts = [
        {
            "refs": [str(ref) for ref in conflict.refs],
            "reason": "same_msg_id_same_timestamp",
            "msg_id": conflict.message_id,
        }
        for conflict in item.conflicts
    ]
    return {
        "content": head.content,
        "head_ref": str(item.head),
        "claims": [_claim(claim) for claim in item.claims],
        "independence_reason": item.cluster.reason,
        **_present(conflicts=conflicts or None, claims_omitted=len(item.omitted) or None),
        **_markers(head),
        **_present(
            excerpts=[_excerpt(excerpt) for excerpt in excerpts] or None,
            excerpts_omitted=len(item.kept) - len(carried) or None,
        ),
    }


def _claim(claim: Claim) -> Body:
    roles = [{"ref": str(role.ref), "role": role.role} for role in claim.roles]
    return {
        "ref": str(claim.row.ref),
        "as_of": claim.row.timestamp,
        "why": claim.why,
        **_present(hops=claim.hops, roles=roles or None),
    }


def _excerpt(quote: Quote) -> Body:
    return {"ref": str(quote.ref), "content": quote.content, **_markers(quote)}


def _markers(quote: Quote) -> Body:
    """What a reader needs to go on from a quote; nothing, for a text that is quoted whole."""
    markers: Body = {}
    if quote.cut:
        markers |= {"content_len": quote.source_length, "content_truncated": True}
    if quote.node is not None:
        index, of = quote.node
        markers["node"] = {"index": index, "of": of, "span": [quote.start, quote.end]}
        if quote.cut:
            markers["expand"] = {"ref": str(quote.ref), "node": index}
    return markers | _present(node_unavailable=quote.unavailable)
