"""A reconstruction written down: what was decided, by refs, spans and numbers, never by text.

Plain JSON values. Two reconstructions that decided alike have equal outlines; where they differ, the outlines say
where.
"""

from __future__ import annotations

from typing import Any

from reconstruct.core.allocate import Place
from reconstruct.core.policy import Policy, Ruling
from reconstruct.core.rebuild import Reconstruction
from reconstruct.core.structure import Claim, Item

Outline = dict[str, Any]


def outline(result: Reconstruction) -> Outline:
    """``clusters``: all, in item order, each row with the key that joined it. ``items``: the chosen clusters with
    what their walk added. ``sequence``: every quote in the fixed order, of which the first ``carried`` are in the
    answer; the rest fell behind the budget.
    """
    return {
        "policy": _policy(result.policy),
        "clusters": [
            {"reason": cluster.reason, "rows": [[str(each.row.ref), each.why] for each in cluster.candidates]}
            for cluster in result.clusters
        ],
        "items": [_item(item) for item in result.items],
        "sequence": [_place(place) for place in result.sequence],
        "carried": result.carried,
        "returned": result.returned,
        "used_budget": result.used_budget,
        "node_order": {str(order.ref): list(order.indices) for order in result.node_orders},
    }


def _policy(policy: Policy) -> Outline:
    return {
        "count": _ruling(policy.count),
        "budget": _ruling(policy.budget),
        "top_k": policy.top_k,
        "effective_top_k": policy.effective_top_k,
        "max_hops": policy.max_hops,
        "max_evidence": policy.max_evidence,
        "adjacency_seconds": policy.adjacency_seconds,
        "preview_chars": policy.preview_chars,
    }


def _ruling(ruling: Ruling) -> Outline:
    return {
        "requested": ruling.requested,
        "effective": ruling.effective,
        "source": ruling.source,
        "clamped": ruling.clamped,
        "reason": ruling.reason,
    }


def _item(item: Item) -> Outline:
    return {
        "head": str(item.head),
        "kept": [str(ref) for ref in item.kept],
        "omitted": [str(ref) for ref in item.omitted],
        "claims": [_claim(claim) for claim in item.claims],
        "conflicts": [[str(ref) for ref in conflict.refs] for conflict in item.conflicts],
        "reached": [[found.entity, found.hops, found.relation.number] for found in item.reach.entities],
        "unfollowed": item.reach.unfollowed,
        "bound_met": item.gathered.bound_met,
    }


def _claim(claim: Claim) -> Outline:
    return {
        "ref": str(claim.row.ref),
        "why": claim.why,
        "rank": claim.rank,
        "hops": claim.hops,
        "roles": [[str(role.ref), role.role] for role in claim.roles],
    }


def _place(place: Place) -> Outline:
    quote = place.quote
    return {
        "item": place.item,
        "turn": place.turn,
        "ref": str(quote.ref),
        "span": [quote.start, quote.end],
        "of": quote.source_length,
        "node": None if quote.node is None else list(quote.node),
        "unavailable": quote.unavailable,
    }
