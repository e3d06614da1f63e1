"""The reads of this floor: reconstruct, and recall beside it; each answered once, and decided again from its trace."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memoryconsole import search
from memoryconsole.models import Record, Store, Summary, Trace
from memoryconsole.models.traces import Outcome, row_key
from memoryconsole.registry import Policy, PolicyFault, Replayed
from memoryconsole.scope import EVERYTHING, ReadScope
from memoryconsole.services.stores import policy_of
from memoryconsole.shapes import record_shape
from memoryconsole.snapshot import snapshot
from memoryconsole.traces import Laps, Told, check_digests
from reconstruct import core, traces
from reconstruct.recall import read_snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconstructAsk:
    """A reconstruct call as parsed: the core's request, the read scope, and how wide the gate stands."""

    request: core.Request
    scope: ReadScope = EVERYTHING
    deep: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallAsk:
    """A recall call as parsed. `limit` None: the store's top_k."""

    query: str
    limit: int | None = None
    scope: ReadScope = EVERYTHING
    deep: bool = False


def reconstruct(
    store: Store, ask: ReconstructAsk, call: Policy | None = None, laps: Laps | None = None
) -> Told:
    """The contract's body: recall items selected, ordered and given roles; nothing composed, nothing written.

    `call`: settings for this call alone.
    """
    laps = laps or Laps()
    query = search.prepare(ask.request.query)
    laps.lap("embed")
    with snapshot() as at:
        policy = policy_of(store, call)
        settings = settings_of(policy.values)
        laps.lap("policy")
        reading = read_snapshot(store, query, ask.request, settings, ask.scope, deep=ask.deep, laps=laps)
    laps.lap("close")
    result = core.rebuild(reading.snapshot, ask.request, settings)
    body = core.respond(result)
    laps.lap("core")
    told = _told(result, body, at, policy.kept())
    seen = traces.written(reading) | {"last": dict(policy.last)}
    laps.lap("outline")
    return replace(told, seen=seen)


def _told(result: core.Reconstruction, body: dict[str, Any], at: datetime, policy: dict[str, Any]) -> Told:
    return Told(
        body=body,
        outcome=Outcome.ANSWERED if result.returned else Outcome.EMPTY,
        reason=core.shortfall_reason(result) or "",
        asked_at=at,
        policy=policy,
        told=core.outline(result),
        quoted=traces.quoted(result),
    )


def rebuild_trace(store: Store, trace: Trace, ask: ReconstructAsk) -> core.Reconstruction:
    """A traced reconstruction, decided again by the running core over what the trace holds. Raises NotReplayable."""
    settings = settings_of(trace.policy["settings"])
    with snapshot():
        seen = traces.read_back(store, trace.seen, settings.preview_chars)
    return core.rebuild(seen, ask.request, settings)


def replay_reconstruct(store: Store, trace: Trace, ask: ReconstructAsk) -> Replayed:
    result = rebuild_trace(store, trace, ask)
    return Replayed(core.respond(result), core.outline(result))


def recall(store: Store, ask: RecallAsk, call: Policy | None = None, laps: Laps | None = None) -> Told:
    """The candidate rows themselves, best first. Declared associations are not read here."""
    laps = laps or Laps()
    query = search.prepare(ask.query)
    laps.lap("embed")
    with snapshot() as at:
        policy = policy_of(store, call)
        settings = settings_of(policy.values)
        laps.lap("policy")
        limit = min(ask.limit or settings.top_k, settings.library_max)
        found = search.candidates(store, query, ask.scope, limit=limit, deep=ask.deep)
        laps.lap("search")
        rows = _rows(store, [f"{row.kind}:{row.number}" for row in found.rows])
    laps.lap("rows")
    body = _recalled(rows, found.gate_fallback)
    if found.advisory is not None:
        body["advisory"] = found.advisory
    return Told(
        body=body,
        outcome=Outcome.ANSWERED if rows else Outcome.EMPTY,
        reason="" if rows else "no_relevant_evidence",
        asked_at=at,
        policy=policy.kept() | {"limit": limit},
        seen=traces.written_candidates(found, {row.ref: bytes(row.digest) for row in rows})
        | {"last": dict(policy.last)},
        told={"refs": [row.ref for row in rows]},
        quoted=[row_key(row.kind, row.number) for row in found.rows],
    )


def replay_recall(store: Store, trace: Trace, _ask: RecallAsk) -> Replayed:
    """The rows again, as they are stored. There is nothing to decide: the search's order is in the trace."""
    refs = [each[0] for each in trace.seen["candidates"]]
    with snapshot():
        rows = _rows(store, refs)
    check_digests(trace.seen["digests"], {row.ref: bytes(row.digest) for row in rows})
    body = _recalled(rows, trace.seen["search"]["fallback"])
    return Replayed(body, {"refs": [row.ref for row in rows]})


def _recalled(rows: list[Record | Summary], fallback: bool) -> dict[str, Any]:
    body: dict[str, Any] = {
        "results": [record_shape(row) if isinstance(row, Record) else _episode_shape(row) for row in rows]
    }
    if fallback:
        body["gate_fallback"] = True
    return body


def _rows(store: Store, refs: list[str]) -> list[Record | Summary]:
    """The live rows of these refs, in their order (two statements)."""
    wanted = [traces.ref_of(ref) for ref in refs]
    found: dict[str, Record | Summary] = {}
    kinds: tuple[tuple[Any, str], ...] = ((Record, "mem"), (Summary, "ep"))
    for model, kind in kinds:
        numbers = [ref.number for ref in wanted if ref.kind == kind]
        if numbers:
            rows = model.objects.live().select_related("session").filter(store=store, number__in=numbers)
            found |= {row.ref: row for row in rows}
    return [found[ref] for ref in refs if ref in found]


def _episode_shape(summary: Summary) -> dict[str, Any]:
    """An episode as a recall row: what every row has, empty where an episode has none of it."""
    return {
        "ref": summary.ref,
        "content": summary.summary,
        "timestamp": summary.as_of,
        "message_id": "",
        "project_id": summary.project_id,
        "channel": summary.channel,
        "session_id": summary.session.session_id if summary.session else "",
        "source": {"type": "", "id": "", "name": ""},
    }


def settings_of(policy: Mapping[str, int | None]) -> core.Settings:
    return core.effective_settings(core.Settings(), policy)


def policy_faults(environment: Policy, overrides: Policy) -> list[PolicyFault]:
    """What is wrong with a policy: the environment's alone, or a store's overrides under it."""
    ceilings = settings_of(environment)
    problems = (
        core.check_policy(core.effective_settings(ceilings, overrides), ceilings)
        if overrides
        else core.check_policy(ceilings)
    )
    return [PolicyFault(problem.names, problem.message) for problem in problems]
