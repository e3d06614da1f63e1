"""Whether an answer is an envelope, or a ContextBundle/v2: its shape, and every rule that one answer shows by itself.

Contract: context-bundle B, E, F.2, H, N. Written from the contract alone and with nothing of the product, so that it can
disagree with it. `check(body)` answers the faults it finds, none for an answer that conforms.
"""

from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from typing import Any

from tests.contracts.envelope_shapes import ARRAYS, ENVELOPE, Faults, Json, anything, closed, one_of, when

# Co-members that a fact shows (contract, section E.2).
CO_MEMBERS = 25
# What the grain keeps empty (contract, section B.2).
_EMPTY = {
    "fact": {"chunks", "pages"},
    "evidence": {"facts", "fact_evidence", "evidence_totals", "nodes", "edges", "paths"},
    "compiled": set(),
    "composite": set(),
}


def check(body: Any) -> list[str]:
    """The faults of an envelope or of a bundle."""
    return check_bundle(body) if isinstance(body, dict) and "contract" in body else check_envelope(body)


def check_envelope(body: Any) -> list[str]:
    """The faults of an envelope. Rules are looked at when the shape is right."""
    shape = list(ENVELOPE(body, ""))
    return shape or [fault for rule in _RULES for fault in rule(body)]


def check_bundle(body: Any) -> list[str]:
    """The faults of a bundle (contract, section H)."""
    shape = list(
        closed(contract=one_of("ContextBundle/v2"), claims_and_sources=anything, facts=anything)(body, "")
    )
    if shape:
        return shape
    found = []
    for name, grain in (("claims_and_sources", "evidence"), ("facts", "fact")):
        child = body[name]
        found += [f"{name}: {fault}" for fault in check_envelope(child)]
        if isinstance(child, dict) and child.get("grain") != grain:
            found.append(f"{name}: its grain is not {grain}")
    if not found:
        scopes = [body[name]["temporal_scope"] for name in ("claims_and_sources", "facts")]
        if scopes[0]["mode"] != "current" or scopes[0]["evaluated_at"] != scopes[1]["evaluated_at"]:
            found.append(
                "the children were not evaluated at one instant, or what sources say is not said now"
            )
    return found


def _when(text: str | None) -> datetime | None:
    return None if text is None else when(text)


def temporal_match(validity: Json) -> str:
    """Whether the window is complete (contract, section D.4)."""
    if validity["valid_from"] is None:
        return "possible"
    complete = validity["valid_until"] is not None or validity["valid_precision"] == "open"
    return "confirmed" if complete else "possible"


def selects(scope: Json, validity: Json) -> bool:
    """Whether the world condition of the scope holds (contract, section D.3)."""
    since, until = _when(validity["valid_from"]), _when(validity["valid_until"])
    mode = scope["mode"]
    if mode == "history":
        return since is None or since <= when(scope["evaluated_at"])
    if mode == "overlap":
        first, last = when(scope["from"]), when(scope["to"])
    else:
        first = last = when(scope[{"current": "evaluated_at", "at": "at", "as_of": "valid_at"}[mode]])
    return (since is None or since <= last) and (until is None or until > first)


def _scope_rules(e: Json) -> Faults:
    scope = e["temporal_scope"]
    if scope["mode"] == "overlap" and when(scope["to"]) < when(scope["from"]):
        yield "temporal_scope: it ends before it starts"
    if scope["mode"] != "as_of" and scope["evaluated_at"] != scope["believed_at"]:
        yield "temporal_scope: believed at another instant than evaluated"
    if when(e["freshness"]["pg_live_ts"]) < when(scope["evaluated_at"]):
        yield "freshness: older than the evaluation"


def _grain_rules(e: Json) -> Faults:
    for name in sorted(_EMPTY[e["grain"]]):
        if e[name]:
            yield f"{name}: filled, though the grain is {e['grain']}"


def _unique_rules(e: Json) -> Faults:
    for name, members in {
        "facts": ("kind", "fact_id"),
        "evidence": ("claim_id",),
        "chunks": ("chunk_id",),
        "sources": ("doc_id",),
        "entities": ("entity_id",),
        "nodes": ("entity_id",),
        "fact_evidence": ("fact_kind", "fact_id", "claim_id"),
    }.items():
        keys = [tuple(row[member] for member in members) for row in e[name]]
        if len(set(keys)) != len(keys):
            yield f"{name}: one of them twice"


def _window_faults(validity: Json, where: str) -> Faults:
    since, until, precision = (
        _when(validity["valid_from"]),
        _when(validity["valid_until"]),
        validity["valid_precision"],
    )
    if precision == "unknown" and (since or until):
        yield f"{where}: an unknown window with a bound"
    if precision == "open" and (since is None or until is not None):
        yield f"{where}: an open window starts and does not end"
    if precision not in ("unknown", "open") and since is None and until is None:
        yield f"{where}: a {precision} window without bounds"
    if since and until and not since < until:
        yield f"{where}: an empty window"


def _fact_rules(e: Json) -> Faults:
    scope = e["temporal_scope"]
    # The audit hop shows the one fact asked for, whatever became of it.
    audit = e["grain"] == "composite"
    for place, fact in enumerate(e["facts"]):
        where, validity = f"facts[{place}]", fact["validity"]
        yield from _window_faults(validity, where)
        if fact["temporal_match"] != temporal_match(validity):
            yield f"{where}: temporal_match is not what its window says"
        if fact["support"] == "withdrawn" and fact["evidence_count"]:
            yield f"{where}: withdrawn, though there is current support"
        if audit:
            continue
        if not selects(scope, validity):
            yield f"{where}: outside of the temporal scope"
        if when(validity["ingested_at"]) > when(scope["believed_at"]):
            yield f"{where}: learned after the belief asked about"
        gone = _when(validity["invalidated_at"])
        if gone is not None and (scope["mode"] != "as_of" or gone <= when(scope["believed_at"])):
            yield f"{where}: not believed any more"


def _contradiction_rules(e: Json) -> Faults:
    listed: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for place, fact in enumerate(e["facts"]):
        where, block = f"facts[{place}].contradiction", fact["contradiction"]
        if (fact["contradiction_group"] is None) != (block is None):
            yield f"{where}: a group without its block, or a block without a group"
        if block is None:
            continue
        members = [(each["kind"], each["fact_id"]) for each in block["co_members"]]
        if block["group_id"] != fact["contradiction_group"]:
            yield f"{where}: of another group"
        if not block["returned"] == len(members) == min(CO_MEMBERS, block["total"]):
            yield f"{where}: returned is not min({CO_MEMBERS}, total)"
        if (block["continuation"] is not None) != (block["total"] > block["returned"]):
            yield f"{where}: a continuation, or none, against its total"
        if (fact["kind"], fact["fact_id"]) in members or len(set(members)) != len(members):
            yield f"{where}: lists the fact itself, or another twice"
        for each in block["co_members"]:
            yield from _window_faults(each["validity"], where)
            if e["grain"] != "composite" and not selects(e["temporal_scope"], each["validity"]):
                yield f"{where}: a member outside of the temporal scope"
        order = [(each["validity"]["ingested_at"], each["kind"]) for each in block["co_members"]]
        if order != sorted(order, key=lambda pair: (when(pair[0]), pair[1])):
            yield f"{where}: not in the order of ingested_at and kind"
        listed[fact["kind"], fact["fact_id"]] = set(members) if block["total"] == len(members) else set()
    for one, others in listed.items():
        for other in others & listed.keys():
            if listed[other] and one not in listed[other]:
                yield f"facts: {one} lists {other}, which does not list it"


def _evidence_binding_rules(e: Json) -> Faults:
    facts = {(fact["kind"], fact["fact_id"]): fact for fact in e["facts"]}
    claims = [row["claim_id"] for row in e["evidence"]]
    pairs = [(row["fact_kind"], row["fact_id"], row["stance"]) for row in e["fact_evidence"]]
    for row in e["fact_evidence"]:
        if (row["fact_kind"], row["fact_id"]) not in facts or row["claim_id"] not in claims:
            yield "fact_evidence: an end of a row is not in the answer"
    if e["grain"] == "fact" and claims != list(dict.fromkeys(row["claim_id"] for row in e["fact_evidence"])):
        yield "evidence: not what fact_evidence names, in the order it is first named"
    totals = [(row["fact_kind"], row["fact_id"], row["stance"]) for row in e["evidence_totals"]]
    if totals and totals != [(*key, stance) for key in facts for stance in ("supports", "contradicts")]:
        yield "evidence_totals: not two rows a fact, in the order of the facts"
        return
    for row, key in zip(e["evidence_totals"], totals, strict=True):
        if row["returned"] != pairs.count(key) or row["total"] < row["returned"]:
            yield f"evidence_totals: wrong numbers for {key}"
        if row["stance"] == "supports" and row["total"] != facts[key[:2]]["evidence_count"]:
            yield f"evidence_totals: not the evidence_count of {key}"


def _testimony_rules(e: Json) -> Faults:
    for place, claim in enumerate(e["evidence"]):
        where = f"evidence[{place}]"
        start, end = claim["char_start"], claim["char_end"]
        if len(claim["source_span"]) != end - start:
            yield f"{where}: its span is not as long as its offsets say"
        if (claim["evidence_spans"][0]["char_start"], claim["evidence_spans"][0]["char_end"]) != (start, end):
            yield f"{where}: its origin is not the first of its spans"
        if any(span["char_end"] <= span["char_start"] for span in claim["evidence_spans"]):
            yield f"{where}: an empty span"
        since, until = _when(claim["claim_valid_from"]), _when(claim["claim_valid_until"])
        shaped = {
            "unknown": since is None and until is None,
            "open": since is not None and until is None,
            "instant": since is not None and since == until,
        }.get(claim["claim_valid_precision"], bool(since and until and since <= until))
        if not shaped:
            yield f"{where}: its window has no shape of its precision"
        grouped, corroboration = claim["grouped_claim_ids"], claim["corroboration_count"]
        if (corroboration is None) == bool(grouped) or (grouped and grouped[0] != claim["claim_id"]):
            yield f"{where}: its group and its corroboration do not go together"
        if grouped and (len(set(grouped)) != len(grouped) or corroboration > len(grouped)):
            yield f"{where}: a group that counts wrong"
    for place, chunk in enumerate(e["chunks"]):
        if len(chunk["chunk_text"]) != chunk["char_end"] - chunk["char_start"]:
            yield f"chunks[{place}]: its text is not as long as its offsets say"


def _path_rules(e: Json) -> Faults:
    for place, path in enumerate(e["paths"]):
        if path["length"] != len(path["edges"]) or len(path["nodes"]) != path["length"] + 1:
            yield f"paths[{place}]: its nodes and edges do not add up"
            continue
        ends = [node["entity_id"] for node in path["nodes"]]
        for edge, step in zip(path["edges"], pairwise(ends), strict=True):
            if {edge["subject_id"], edge["object_id"]} != set(step):
                yield f"paths[{place}]: an edge that joins other nodes"


def _truncation_rules(e: Json) -> Faults:
    cut = e["truncation"]
    if cut is None:
        return
    exact, returned, total = cut["total_is_exact"], cut["returned"], cut["estimated_total"]
    if exact and not cut["truncated"] and returned != total:
        yield "truncation: whole and exact, and yet other numbers"
    if exact and cut["truncated"] and not total > returned:
        yield "truncation: truncated, and nothing was left out"
    if not exact and not cut["truncated"]:
        yield "truncation: an inexact total is truncated"
    if total < returned:
        yield "truncation: fewer in all than returned"
    if (cut["reason"] is not None or cut["continuation"] is not None) and not cut["truncated"]:
        yield "truncation: a reason or a continuation for what is whole"


def _negative_rules(e: Json) -> Faults:
    negative = e["negative"]
    if negative is None:
        return
    filled = {name for name in ARRAYS if e[name]}
    if negative["kind"] == "unknown_entity" and (filled or e["dropped_by_hydration"] or e["truncation"]):
        yield "negative: unknown_entity, and more"
    if negative["kind"] == "known_empty":
        if filled - {"entities", "nodes"}:
            yield "negative: known_empty with results"
        if e["truncation"] is not None and not e["truncation"]["total_is_exact"]:
            yield "negative: known_empty after a search that did not see everything"
    if negative["kind"] == "boundary" and negative["workaround"] is None:
        yield "negative: a boundary without a way around it"


_RULES: tuple[Callable[[Json], Faults], ...] = (
    _scope_rules,
    _grain_rules,
    _unique_rules,
    _fact_rules,
    _contradiction_rules,
    _evidence_binding_rules,
    _testimony_rules,
    _path_rules,
    _truncation_rules,
    _negative_rules,
)
