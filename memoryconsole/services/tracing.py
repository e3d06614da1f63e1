"""What may be done with traces: found, replayed, asked again, compared, pruned."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import Q, QuerySet

from memoryconsole import audit, registry
from memoryconsole.access import Actor, memberships_of, open_store, scopes_of
from memoryconsole.errors import ConsoleError, Fault, InvalidParameter, NotFound
from memoryconsole.models import Role, Scope, Store, Trace
from memoryconsole.models.traces import Outcome, pruning, ref_key
from memoryconsole.overlap import jaccard, rank_biased_overlap
from memoryconsole.registry import Replayed
from memoryconsole.services.stores import check_policy
from memoryconsole.times import write_stamp
from memoryconsole.traces import NotReplayable, digest_of

# Differences told of a replay or a comparison: more would not be read.
MAX_DIFFERENCES = 50
# Rows of a rerun whose coming or going is explained.
MAX_EXPLAINED = 10
# Traces pruned per statement: short locks, steady progress.
_SLICE = 2000
_HEAVY = ("seen", "told")


def visible(actor: Actor) -> "QuerySet[Trace]":
    """The traces an actor may see on the stores they belong to: their own, and everybody's where they may `operate`."""
    memberships = list(memberships_of(actor).values_list("store", "role"))
    reachable = [store for store, _ in memberships]
    operable = [store for store, role in memberships if Scope.OPERATE in scopes_of(actor, Role(role))]
    return Trace.objects.filter(Q(user=actor.user) | Q(store__in=operable), store__in=reachable)


def find(actor: Actor, trace: UUID) -> Trace:
    """A trace the actor may see. Raises NotFound, for those of others as for those that never were; NotPermitted when
    the actor may not read its store.
    """
    found = visible(actor).select_related("store", "user", "token").filter(pk=trace).first()
    if found is None:
        raise NotFound("No such trace")
    open_store(actor, found.store.public_id, Scope.READ)
    return found


def listed(actor: Actor, store: Store, filters: Mapping[str, Any]) -> "QuerySet[Trace]":
    """A store's traces as lists need them, without what was seen and told. `filters`: members of TraceFilters."""
    rows = visible(actor).filter(store=store).select_related("user", "token").defer(*_HEAVY)
    for name in ("operation", "outcome", "reason", "degraded", "agent_run"):
        if name in filters:
            rows = rows.filter(**{name: filters[name]})
    if "actor" in filters:
        rows = rows.filter(user__username=filters["actor"])
    if "label" in filters:
        rows = rows.filter(labels__contains=[filters["label"]])
    if "since" in filters:
        rows = rows.filter(asked_at__gte=filters["since"])
    if "until" in filters:
        rows = rows.filter(asked_at__lt=filters["until"])
    if "ref" in filters:
        rows = rows.filter(quoted__contains=[ref_key(filters["ref"])])
    return rows


def summary_of(trace: Trace) -> dict[str, Any]:
    """A trace as lists show it. The caller has its user and token joined in."""
    return {
        "id": str(trace.pk),
        "operation": trace.operation,
        "outcome": trace.outcome,
        "reason": trace.reason,
        "degraded": trace.degraded,
        "query": registry.operation(trace.operation).question(trace.request),
        "asked_at": write_stamp(trace.asked_at),
        "duration_us": trace.duration_us,
        "actor": trace.user.username if trace.user else None,
        "token": trace.token.name if trace.token else None,
        "request_id": trace.request_id,
        "agent_run": trace.agent_run,
        "traceparent": trace.traceparent,
        "labels": trace.labels,
        "rerun_of": str(trace.rerun_of) if trace.rerun_of else None,
        "core": trace.core,
    }


def details_of(trace: Trace) -> dict[str, Any]:
    """A trace whole, but for the query's vector. It holds no stored text."""
    return summary_of(trace) | {
        "store": trace.store.public_id,
        "digest": bytes(trace.digest).hex(),
        "request": trace.request,
        "policy": trace.policy,
        "seen": _without_vector(trace.seen),
        "told": trace.told,
        "notices": trace.notices,
        "stages": [{"stage": name, "duration_us": spent} for name, spent in trace.stages],
    }


def _without_vector(seen: Mapping[str, Any]) -> dict[str, Any]:
    weighing = (seen.get("search") or {}).get("weighing")
    if not weighing:
        return dict(seen)
    kept = {name: value for name, value in weighing.items() if name != "vector"}
    return {**seen, "search": {**seen["search"], "weighing": kept}}


def replay(trace: Trace) -> dict[str, Any]:
    """Decide again, with the running core, over what the trace holds.

    `{same_core, result: identical | differs | not_replayable}`, with `reason` for the last and `differences` for the
    second: what was decided then and what would be now.
    """
    same_core = {"same_core": trace.core == registry.operation(trace.operation).core}
    try:
        again = _decided(trace)
    except NotReplayable as end:
        return same_core | {"result": "not_replayable", "reason": end.reason}
    if digest_of(again.body) == bytes(trace.digest):
        return same_core | {"result": "identical"}
    return same_core | {"result": "differs", "differences": differences(trace.told, again.told)}


def _decided(trace: Trace) -> Replayed:
    if audit.NOT_KEPT in trace.request:
        raise NotReplayable("request_not_kept")
    operation = registry.operation(trace.operation)
    if trace.outcome != Outcome.REFUSED:
        return operation.replay(trace.store, trace, operation.parse(trace.request))
    try:
        operation.parse(trace.request)
        check_policy(*(trace.policy.get(name, {}) for name in ("environment", "store", "call")))
    except ConsoleError as refusal:
        body = audit.refusal_body(refusal)
        return Replayed(body, body)
    return Replayed({}, {})


def differences(then: Any, now: Any, path: str = "") -> list[dict[str, Any]]:
    """Where two JSON values differ, as `{path, then, now}` (JSON pointers), at most MAX_DIFFERENCES."""
    if isinstance(then, dict) and isinstance(now, dict):
        pairs = [(f"{path}/{name}", then.get(name), now.get(name)) for name in sorted({*then, *now})]
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        pairs = [(f"{path}/{place}", *both) for place, both in enumerate(zip(then, now, strict=True))]
    else:
        return [] if then == now else [{"path": path, "then": then, "now": now}]
    found: list[dict[str, Any]] = []
    for each in pairs:
        found += differences(each[1], each[2], each[0])
        if len(found) >= MAX_DIFFERENCES:
            return found[:MAX_DIFFERENCES]
    return found


def rerun(trace: Trace, call: audit.Call) -> dict[str, Any]:
    """Ask today's store the question of a trace, and say what came, went and moved, and why.

    A past store cannot be asked. `call`: who asks, with what settings; its body and its origin are the trace's.
    Raises what the call raises, NotFound when the trace kept no question, InvalidParameter for settings that the
    operation does not take.
    """
    if audit.NOT_KEPT in trace.request:
        raise NotFound("The trace kept no question that could be asked again")
    if call.settings and not registry.operation(trace.operation).takes_settings:
        message = f"No setting changes an answer of {trace.operation}."
        raise InvalidParameter(message, errors=[Fault("/settings", "contradiction", message)])
    answered = audit.answer(replace(call, body=lambda: trace.request, rerun_of=trace.pk))
    compared = compare(trace, answered.row)
    if answered.trace is None:
        # Its id would lead nowhere.
        compared["b"]["id"] = None
    went = compared["removed"][:MAX_EXPLAINED]
    came = compared["added"][:MAX_EXPLAINED]
    return {
        "trace": None if answered.trace is None else str(answered.trace),
        "compared": compared,
        "why_removed": [why(answered.row, ref) for ref in went],
        "why_added": [why(trace, ref) for ref in came] if trace.outcome != Outcome.REFUSED else [],
    }


def compare(a: Trace, b: Trace) -> dict[str, Any]:
    """Two traces of one store side by side: what was asked, under which settings, and what was answered.

    `results`: every ref at a place of its own in either answer, with both places from 1. `jaccard`: of all rows in
    the two answers; `rank_biased_overlap`: of their order. Raises InvalidParameter for traces of two stores.
    """
    if a.store_id != b.store_id:
        message = "Refs of two stores say nothing about each other."
        raise InvalidParameter(message, errors=[Fault("?b", "contradiction", message)])
    ranked = [_ranked(each) for each in (a, b)]
    places = [{ref: place for place, ref in enumerate(refs, start=1)} for refs in ranked]
    refs = list(dict.fromkeys([*ranked[0], *ranked[1]]))
    return {
        "a": summary_of(a),
        "b": summary_of(b),
        "request": differences(a.request, b.request),
        "policy": differences(a.policy, b.policy),
        "results": [{"ref": ref, "a": places[0].get(ref), "b": places[1].get(ref)} for ref in refs],
        "added": [ref for ref in ranked[1] if ref not in places[0]],
        "removed": [ref for ref in ranked[0] if ref not in places[1]],
        "moved": [
            ref for ref in refs if ref in places[0] and ref in places[1] and places[0][ref] != places[1][ref]
        ],
        "jaccard": round(jaccard(map(str, a.quoted), map(str, b.quoted)), 4),
        "rank_biased_overlap": round(rank_biased_overlap(ranked[0], ranked[1]), 4),
    }


def _ranked(trace: Trace) -> list[str]:
    """The refs of a trace's answer, best first; none of a refusal."""
    if trace.outcome == Outcome.REFUSED:
        return []
    return registry.operation(trace.operation).ranked(trace)


def why(trace: Trace, ref: str) -> dict[str, Any]:
    """Why the row of a ref is in a trace's answer, or which bound kept it out and by how much."""
    operation = registry.operation(trace.operation)
    if trace.outcome == Outcome.REFUSED:
        return operation.refused(trace, ref)
    if ref.partition(":")[0] not in operation.kinds:
        sentence = f"{ref} is nothing that an answer of {operation.name} can hold."
        uncounted = dict.fromkeys(("value", "limit", "by", "unit"))
        told = {"ref": ref, "verdict": "out", "bound": "other_kind", **uncounted}
        return told | {"exact": True, "sentence": sentence, "where": {}, "paths": []}
    return operation.why(trace.store, trace, operation.parse(trace.request), ref)


def prune(*, now: datetime) -> int:
    """Delete the traces that are older than their store keeps them. Returns how many."""
    pruned = 0
    for store, days in Store.objects.values_list("pk", "trace_days"):
        oldest = now - timedelta(days=days or settings.TRACE_DAYS)
        while erased := _prune_slice(store, oldest):
            pruned += erased
    return pruned


def _prune_slice(store: int, oldest: datetime) -> int:
    with pruning(), connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM mc_trace WHERE id IN"
            " (SELECT id FROM mc_trace WHERE store_id = %s AND asked_at < %s ORDER BY asked_at LIMIT %s)",
            [store, oldest, _SLICE],
        )
        return int(cursor.rowcount)
