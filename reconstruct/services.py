"""The two reads of this floor: reconstruct, and recall beside it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memoryconsole import search
from memoryconsole.models import Record, Store, Summary
from memoryconsole.registry import Policy, PolicyFault
from memoryconsole.scope import EVERYTHING, ReadScope
from memoryconsole.services.stores import policy_of
from memoryconsole.shapes import record_shape
from memoryconsole.snapshot import snapshot
from reconstruct import core
from reconstruct.recall import read_snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconstructAsk:
    """A reconstruct call as parsed: the core's request, the read scope, and how wide the gate stands."""

    request: core.Request
    scope: ReadScope = EVERYTHING
    deep: bool = False
    session_key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallAsk:
    """A recall call as parsed. `limit` None: the store's top_k."""

    query: str
    limit: int | None = None
    scope: ReadScope = EVERYTHING
    deep: bool = False


def reconstruct(store: Store, ask: ReconstructAsk) -> dict[str, Any]:
    """The contract's body: recall items selected, ordered and given roles; nothing composed, nothing written."""
    query = search.prepare(ask.request.query)
    with snapshot():
        settings = settings_of(policy_of(store))
        seen = read_snapshot(store, query, ask.request, settings, ask.scope, deep=ask.deep)
    return core.reconstruct(snapshot=seen, request=ask.request, settings=settings)


def recall(store: Store, ask: RecallAsk) -> dict[str, Any]:
    """The candidate rows themselves, best first. Declared associations are not read here."""
    query = search.prepare(ask.query)
    with snapshot():
        settings = settings_of(policy_of(store))
        limit = min(ask.limit or settings.top_k, settings.library_max)
        found = search.candidates(store, query, ask.scope, limit=limit, deep=ask.deep)
        results = _rows(store, found.rows)
    body: dict[str, Any] = {"results": results}
    if found.gate_fallback:
        body["gate_fallback"] = True
    if found.advisory is not None:
        body["advisory"] = found.advisory
    return body


def _rows(store: Store, found: "tuple[search.Candidate, ...]") -> list[dict[str, Any]]:
    records = Record.objects.live().select_related("session").filter(store=store)
    summaries = Summary.objects.live().select_related("session").filter(store=store)
    record = records.in_bulk([row.row_id for row in found if row.kind == "mem"])
    episode = summaries.in_bulk([row.row_id for row in found if row.kind == "ep"])
    return [
        record_shape(record[row.row_id]) if row.kind == "mem" else _episode_shape(episode[row.row_id])
        for row in found
    ]


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
