"""How an answer of this contract is written down: refs, reasons and numbers, never a text.

Refs are `claim:<id>`, `relation:<id>`, `observation:<id>`, `entity:<id>` and `mem:<number>`. `shown`: in the order of
the answer. `beyond`: what qualified behind it. `rejected`: [ref, reason] of what was nominated and dropped.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from memoryconsole.models.traces import row_key
from memoryconsole.refs import name_key
from provenance.context_bundle import core
from provenance.context_bundle.core.fusion import Fused
from provenance.context_bundle.core.seen import ClaimsSeen, Fact, FactsSeen, ResolveSeen
from provenance.context_bundle.core.types import ClaimsRequest

Json = dict[str, Any]


def of_nothing(body: Json) -> Json:
    """An envelope that says no and nothing else."""
    return {"negative": body["negative"]["kind"], "shown": []}


def of_resolved(seen: ResolveSeen, body: Json) -> Json:
    return {
        "shown": [f"entity:{each['entity_id']}" for each in body["entities"]],
        "beyond": max(len(seen.near) - len(body["entities"]), 0) if not seen.exact else 0,
    } | _said(body)


def of_claims(request: ClaimsRequest, seen: ClaimsSeen, decided: core.ClaimsDecided, body: Json) -> Json:
    """`groups`: [ref of the representative, refs of the others] where more than one claim says the same. `ranks`: [ref,
    place in each channel] of the candidates, best first.
    """
    if not seen.anchors_known:
        return of_nothing(body)
    claims = {row.number: f"claim:{row.claim_id}" for row in seen.claim_rows}
    groups = [[claims[claim.number] for claim in group.claims] for group in decided.testimony]
    chunks = {row.number: f"mem:{row.number}" for row in seen.chunk_rows}
    passages = [chunks[chunk.number] for chunk in decided.passages]
    return {
        "shown": [*(group[0] for group in groups[: request.k]), *passages[: request.k]],
        "beyond": [*(group[0] for group in groups[request.k :]), *passages[request.k :]],
        "groups": [[group[0], group[1:]] for group in groups if len(group) > 1],
        "rejected": [
            *_rejected(decided.rejected_claims, claims, "claim"),
            *_rejected(decided.rejected_chunks, chunks, "mem"),
        ],
        "channels": [[each.name for each in seen.claims], [each.name for each in seen.chunks]],
        "ranks": [
            *_ranks(decided.fused_claims, claims),
            *_ranks(decided.fused_chunks, chunks),
        ],
    } | _said(body)


def of_facts(k: int, seen: FactsSeen, decided: core.FactsDecided, body: Json) -> Json:
    """`evidence`: [claim, stance, fact] of the associations shown. `co_members`: [fact, refs of the other sides]."""
    if not seen.anchors_known:
        return of_nothing(body)
    facts = {row.key: ref_of(row) for row in seen.facts}
    confirmed = [ref_of(fact) for fact in decided.confirmed]
    entities = {entity.number: f"entity:{entity.entity_id}" for entity in seen.entities}
    return {
        "shown": confirmed[:k],
        "beyond": confirmed[k:],
        "rejected": _rejected(decided.rejected, facts, "observation"),
        "stale_neighbours": len(decided.stale_neighbours),
        "scope": [
            [entities[each.number], each.hops] for each in seen.entities_in_scope if each.number in entities
        ],
        "channels": [each.name for each in seen.nominations],
        "ranks": _ranks(decided.fused, facts),
        "evidence": [
            [f"claim:{each['claim_id']}", each["stance"], f"{each['fact_kind']}:{each['fact_id']}"]
            for each in body["fact_evidence"]
        ],
        "co_members": [
            [
                f"{each['kind']}:{each['fact_id']}",
                [f"{other['kind']}:{other['fact_id']}" for other in each["contradiction"]["co_members"]],
            ]
            for each in body["facts"]
            if each["contradiction"] is not None
        ],
    } | _said(body)


def ref_of(fact: Fact) -> str:
    return f"{fact.kind}:{fact.fact_id}"


def _said(body: Json) -> Json:
    return {
        "negative": None if body["negative"] is None else body["negative"]["kind"],
        "truncation": body["truncation"] and {**body["truncation"], "continuation": None},
        "dropped": body["dropped_by_hydration"],
    }


def _rejected(rejected: Mapping[Any, str], refs: Mapping[Any, str], kind: str) -> list[list[str]]:
    """A nomination that no row stands behind is told of without a name."""
    return [[refs.get(key, f"{kind}:?"), why] for key, why in rejected.items()]


def _ranks(fused: Iterable[Fused[Any]], refs: Mapping[Any, str]) -> list[list[Any]]:
    return [[refs[each.key], *each.ranks] for each in fused if each.key in refs]


class Quoted(NamedTuple):
    """What an answer quotes. `records`: the numbers of those among them that are passages."""

    keys: list[int]
    records: list[int]


def quoted(bodies: Sequence[Json], of_claims: Mapping[str, int], of_chunks: Mapping[str, int]) -> Quoted:
    """The rows in envelopes, as a trace's index holds them: passages, the claims from them, facts, entities."""
    records: dict[int, None] = {}
    names: dict[tuple[str, str], None] = {}
    for body in bodies:
        for row in body["evidence"]:
            names |= dict.fromkeys(("claim", each) for each in (row["claim_id"], *row["grouped_claim_ids"]))
            records[of_claims[row["claim_id"]]] = None
        records |= dict.fromkeys(of_chunks[row["chunk_id"]] for row in body["chunks"])
        for fact in body["facts"]:
            names[fact["kind"], fact["fact_id"]] = None
            others = fact["contradiction"]["co_members"] if fact["contradiction"] else ()
            names |= dict.fromkeys((other["kind"], other["fact_id"]) for other in others)
        names |= dict.fromkeys(("entity", row["entity_id"]) for row in (*body["entities"], *body["nodes"]))
    keys = [*(row_key("mem", number) for number in records), *(name_key(*name) for name in names)]
    return Quoted(keys, list(records))
