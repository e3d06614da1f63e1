"""What this floor offers to the audit layer, the console and MCP: expand-query and expand, by name."""

from collections.abc import Mapping
from typing import Any

from memoryconsole.models import Store
from memoryconsole.registry import Operation, Policy
from memoryconsole.traces import Laps, Told
from provenance.expand_query import core, services, story, why
from provenance.expand_query.serializers import ExpandIn, ExpandQueryIn, expand_ask, query_ask


def _query_ask(body: Any) -> services.QueryAsk:
    return query_ask(ExpandQueryIn.read(body))


def _expand_ask(body: Any) -> services.ExpandAsk:
    return expand_ask(ExpandIn.read(body))


def _run_query(store: Store, ask: services.QueryAsk, _call: Policy, laps: Laps) -> Told:
    return services.expand_query(store, ask, laps)


def _run_expand(store: Store, ask: services.ExpandAsk, _call: Policy, laps: Laps) -> Told:
    return services.expand(store, ask, laps)


def _question(request: Mapping[str, Any]) -> str | None:
    """What was searched for; with ids, what was to be answered. A refused request may hold anything."""
    words = [each for each in (request.get("query"), request.get("prompt")) if isinstance(each, str)]
    return next((each for each in words if each.strip()), None)


OPERATIONS = (
    Operation(
        name="expand_query",
        core=core.CORE,
        parse=_query_ask,
        run=_run_query,
        replay=services.replay_query,
        why=why.of_query,
        refused=why.of_refused,
        ranked=why.shown,
        story=story.of_query,
        question=_question,
    ),
    Operation(
        name="expand",
        core=core.CORE,
        parse=_expand_ask,
        run=_run_expand,
        replay=services.replay_expand,
        why=why.of_page,
        refused=why.of_refused,
        ranked=why.opened,
        story=story.of_page,
        unasked="a locator followed",
    ),
)
