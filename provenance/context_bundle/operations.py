"""What this contract offers to the audit layer, the console and MCP: the four assured operations, and where
the other sides of a fact go on, by name."""

from collections.abc import Mapping
from typing import Any

from memoryconsole.models import Store
from memoryconsole.registry import Operation, Policy
from memoryconsole.traces import Laps, Told
from provenance.context_bundle import core, services, story, why
from provenance.context_bundle.core import types
from provenance.context_bundle.serializers import (
    ClaimsAndSourcesIn,
    CombinedIn,
    ContradictionMembersIn,
    FactsIn,
    ResolveEntityIn,
    claims_ask,
    combined_ask,
    facts_ask,
    members_ask,
    resolve_ask,
)

SAID = frozenset({"mem", "claim"})
FACTS = frozenset({"claim", "relation", "observation"})
HELD = FACTS | {"entity"}


def _resolve_ask(body: Any) -> services.ResolveAsk:
    return resolve_ask(ResolveEntityIn.read(body))


def _claims_ask(body: Any) -> services.ClaimsAsk:
    return claims_ask(ClaimsAndSourcesIn.read(body))


def _facts_ask(body: Any) -> services.FactsAsk:
    return facts_ask(FactsIn.read(body))


def _members_ask(body: Any) -> services.MembersAsk:
    return members_ask(ContradictionMembersIn.read(body))


def _combined_ask(body: Any) -> services.CombinedAsk:
    return combined_ask(CombinedIn.read(body))


def _run_resolve(store: Store, ask: services.ResolveAsk, _call: Policy, laps: Laps) -> Told:
    return services.resolve_entity(store, ask, laps)


def _run_claims(store: Store, ask: services.ClaimsAsk, _call: Policy, laps: Laps) -> Told:
    return services.claims_and_sources(store, ask, laps)


def _run_facts(store: Store, ask: services.FactsAsk, _call: Policy, laps: Laps) -> Told:
    return services.facts_context(store, ask, laps)


def _run_members(store: Store, ask: services.MembersAsk, _call: Policy, laps: Laps) -> Told:
    return services.contradiction_members(store, ask, laps)


def _run_combined(store: Store, ask: services.CombinedAsk, _call: Policy, laps: Laps) -> Told:
    return services.combined_context(store, ask, laps)


def _name(request: Mapping[str, Any]) -> str | None:
    name = request.get("name")
    return name if isinstance(name, str) else None


OPERATIONS = (
    Operation(
        name=types.RESOLVE_ENTITY,
        core=core.CORE,
        parse=_resolve_ask,
        run=_run_resolve,
        replay=services.replay_resolve,
        why=why.of_answer,
        refused=why.of_refused,
        ranked=why.shown,
        story=story.of_answer,
        question=_name,
        kinds=frozenset({"entity"}),
    ),
    Operation(
        name=types.CLAIMS_AND_SOURCES,
        core=core.CORE,
        parse=_claims_ask,
        run=_run_claims,
        replay=services.replay_claims,
        why=why.of_answer,
        refused=why.of_refused,
        ranked=why.shown,
        story=story.of_answer,
        kinds=SAID,
    ),
    Operation(
        name=types.FACTS,
        core=core.CORE,
        parse=_facts_ask,
        run=_run_facts,
        replay=services.replay_facts,
        why=why.of_answer,
        refused=why.of_refused,
        ranked=why.shown,
        story=story.of_answer,
        kinds=HELD,
    ),
    Operation(
        name=types.COMBINED,
        core=core.CORE,
        parse=_combined_ask,
        run=_run_combined,
        replay=services.replay_combined,
        why=why.of_answer,
        refused=why.of_refused,
        ranked=why.shown,
        story=story.of_answer,
        kinds=SAID | HELD,
    ),
    Operation(
        name=types.CONTRADICTION_MEMBERS,
        core=core.CORE,
        parse=_members_ask,
        run=_run_members,
        replay=services.replay_facts,
        why=why.of_answer,
        refused=why.of_refused,
        ranked=why.shown,
        story=story.of_answer,
        unasked="the sides of a contradiction",
        kinds=FACTS,
    ),
)
