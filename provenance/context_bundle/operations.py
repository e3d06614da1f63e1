"""What this contract offers to the audit layer, the console and MCP: the four assured operations, and where
the other sides of a fact go on, by name."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from memoryconsole.models import Store, Trace
from memoryconsole.registry import Operation, Policy, Replayed
from memoryconsole.serializers import StrictSerializer
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
FACTS = SAID | {"relation", "observation"}
HELD = FACTS | {"entity"}


def _name(request: Mapping[str, Any]) -> str | None:
    name = request.get("name")
    return name if isinstance(name, str) else None


Ask = TypeVar("Ask")


def _operation(
    name: str,
    body: type[StrictSerializer],
    ask: Callable[[Any], Ask],
    run: Callable[[Store, Ask, Laps], Told],
    replay: Callable[[Store, Trace, Ask], Replayed],
    kinds: frozenset[str],
    **more: Any,
) -> Operation:
    """What differs between these operations; none takes settings, and each is traced and explained alike."""

    def run_as_called(store: Store, asked: Ask, _call: Policy, laps: Laps) -> Told:
        return run(store, asked, laps)

    return Operation(
        name=name,
        core=core.CORE,
        parse=lambda given: ask(body.read(given)),
        run=run_as_called,
        replay=replay,
        why=why.of_answer,
        refused=why.of_refused,
        ranked=why.shown,
        story=story.of_answer,
        kinds=kinds,
        **more,
    )


OPERATIONS = (
    _operation(
        types.RESOLVE_ENTITY, ResolveEntityIn, resolve_ask, services.resolve_entity, services.replay_resolve,
        frozenset({"entity"}), question=_name,
    ),
    _operation(
        types.CLAIMS_AND_SOURCES, ClaimsAndSourcesIn, claims_ask, services.claims_and_sources,
        services.replay_claims, SAID,
    ),
    _operation(types.FACTS, FactsIn, facts_ask, services.facts_context, services.replay_facts, HELD),
    _operation(
        types.COMBINED, CombinedIn, combined_ask, services.combined_context, services.replay_combined, SAID | HELD
    ),
    _operation(
        types.CONTRADICTION_MEMBERS, ContradictionMembersIn, members_ask, services.contradiction_members,
        services.replay_facts, FACTS, unasked="the sides of a contradiction",
    ),
)  # fmt: skip
