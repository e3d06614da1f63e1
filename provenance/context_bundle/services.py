"""The operations: each answered once, in one snapshot at one instant, and decided again from its trace."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, TypeVar

from memoryconsole import search
from memoryconsole.models import Store, Trace
from memoryconsole.models.traces import Outcome
from memoryconsole.registry import Replayed
from memoryconsole.snapshot import snapshot
from memoryconsole.traces import Laps, NotReplayable, Told, kept_digest
from provenance.context_bundle import continuations, core, outline
from provenance.context_bundle.contract import check_envelope
from provenance.context_bundle.core import codec
from provenance.context_bundle.core.claims import CLAIMS_AND_SOURCES
from provenance.context_bundle.core.cursor import Position
from provenance.context_bundle.core.negatives import cursor_refused, not_exhaustive
from provenance.context_bundle.core.seen import ClaimsSeen, FactsSeen, Freshness, ResolveSeen
from provenance.context_bundle.core.temporal import Current, Scope
from provenance.context_bundle.core.truncation import TIME_BUDGET, truncation
from provenance.context_bundle.core.types import ClaimsRequest, FactsRequest, MembersRequest, ResolveRequest
from provenance.context_bundle.nominating import Nominator, Search
from provenance.context_bundle.spine import contexts, profiles, texts
from provenance.context_bundle.spine.contexts import Held, Reading
from provenance.context_bundle.spine.deadline import deadline, in_time

Json = dict[str, Any]
SeenKind = TypeVar("SeenKind", ClaimsSeen, FactsSeen, ResolveSeen)

REFUSED: Final = "refused"
SPENT: Final = "spent"

nominator: Nominator = Search()
"""Who nominates. A port: whatever comes through it is read again from the spine."""


@dataclass(frozen=True, slots=True)
class ResolveAsk:
    request: ResolveRequest


@dataclass(frozen=True, slots=True)
class ClaimsAsk:
    """`continuation`: as it was sent, '' for a first page."""

    request: ClaimsRequest
    continuation: str = ""


@dataclass(frozen=True, slots=True)
class FactsAsk:
    """`continuation`: as it was sent, '' for a first page."""

    request: FactsRequest
    continuation: str = ""


@dataclass(frozen=True, slots=True)
class MembersAsk:
    """`continuation`: as it was sent, '' for a list from the first member."""

    request: MembersRequest
    continuation: str = ""


HeldAsk = FactsAsk | MembersAsk
HeldRequest = FactsRequest | MembersRequest


@dataclass(frozen=True, slots=True)
class CombinedAsk:
    claims: ClaimsAsk
    facts: FactsAsk


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """An envelope and what it was made of. `seen` None: nothing was read, since (`unread`) its continuation was refused
    or its time was spent.
    """

    body: Json
    seen: ClaimsSeen | FactsSeen | ResolveSeen | None
    told: Json
    unread: str = ""


def evaluation_instant(at: datetime, believed_at: datetime | None) -> datetime:
    """The one instant of an answer: the snapshot's, or the latest belief if a writer's clock was ahead of it."""
    return at if believed_at is None else max(at, believed_at)


def make_bundle(claims_and_sources: Json, facts: Json) -> Json:
    """ContextBundle/v2 of two children. Raises ChildBroken, which fails the request (contract, section H.5)."""
    return core.bundle(claims_and_sources, facts, check_envelope)


def resolve_entity(store: Store, ask: ResolveAsk, laps: Laps | None = None) -> Told:
    """Who a name may mean. Nobody is picked."""
    laps = laps or Laps()
    with snapshot() as at, deadline():
        reading = _reading(store, at, search.Query(""))
        seen = in_time(profiles.read_resolved, store, ask.request, reading.evaluated_at, reading.freshness)
    laps.lap("search")
    child = _spent_name(reading.freshness) if seen is None else _named(ask, seen)
    check_envelope(child.body)
    laps.lap("decide")
    return _told(reading, {"resolved": child}, child.body)


def _spent_name(freshness: Freshness) -> Child:
    return _spent("fact", Current(evaluated_at=freshness.pg_live_ts), freshness)


def _named(ask: ResolveAsk, seen: ResolveSeen) -> Child:
    body = core.resolve_entity(ask.request, seen)
    return Child(body=body, seen=seen, told=outline.of_resolved(seen, body))


def claims_and_sources(store: Store, ask: ClaimsAsk, laps: Laps | None = None) -> Told:
    """What sources say, and where. `ask` anchored at nobody: the whole store."""
    laps = laps or Laps()
    query = search.prepare(ask.request.query)
    laps.lap("embed")
    with snapshot() as at, deadline():
        reading = _reading(store, at, query)
        request = _claims_request(reading, ask)
        seen = None if request is None else in_time(contexts.read_claims, reading, request)
    laps.lap("read")
    child = _claims_child(reading, ask, request, seen)
    check_envelope(child.body)
    laps.lap("decide")
    return _told(reading, {"claims": child}, child.body)


def facts_context(store: Store, ask: FactsAsk, laps: Laps | None = None) -> Told:
    """What is held true at the time asked, with its evidence and its disagreements."""
    laps = laps or Laps()
    query = search.prepare(ask.request.query)
    laps.lap("embed")
    return _held(store, ask, query, laps)


def contradiction_members(store: Store, ask: MembersAsk, laps: Laps | None = None) -> Told:
    """Who is in a contradiction: the next of them, each as `facts_context` shows a fact."""
    return _held(store, ask, search.Query(""), laps or Laps())


def _held(store: Store, ask: HeldAsk, query: search.Query, laps: Laps) -> Told:
    with snapshot() as at, deadline():
        reading = _reading(store, at, query)
        request = _facts_request(reading, ask)
        held = None if request is None else in_time(_read_held, reading, request)
    laps.lap("read")
    child = _facts_child(reading, ask, request, held)
    check_envelope(child.body)
    laps.lap("decide")
    return _told(reading, {"facts": child}, child.body)


def combined_context(store: Store, ask: CombinedAsk, laps: Laps | None = None) -> Told:
    """Both side by side, read in one snapshot. One that fails fails both; one that says no does not."""
    laps = laps or Laps()
    query = search.prepare(ask.facts.request.query)
    laps.lap("embed")
    with snapshot() as at, deadline():
        reading = _reading(store, at, query)
        claims_seen = in_time(contexts.read_claims, reading, ask.claims.request)
        laps.lap("claims")
        held = in_time(contexts.read_facts, reading, ask.facts.request)
    laps.lap("facts")
    claims = _claims_child(reading, ask.claims, ask.claims.request, claims_seen)
    facts = _facts_child(reading, ask.facts, ask.facts.request, held)
    body = make_bundle(claims.body, facts.body)
    laps.lap("decide")
    return _told(reading, {"claims": claims, "facts": facts}, body)


def _reading(store: Store, at: datetime, query: search.Query) -> Reading:
    """Call inside the snapshot that `at` is the instant of."""
    believed_at, horizon = contexts.read_beliefs(store)
    evaluated_at = evaluation_instant(at, believed_at)
    return Reading(store, evaluated_at, horizon, query, nominator)


def _claims_request(reading: Reading, ask: ClaimsAsk) -> ClaimsRequest | None:
    """The request with the position that its continuation names; None when that is refused."""
    if not ask.continuation:
        return ask.request
    position = _position(reading, ask.continuation, CLAIMS_AND_SOURCES, ask.request.digest())
    return None if position is None else replace(ask.request, continuation=position)


def _facts_request(reading: Reading, ask: HeldAsk) -> HeldRequest | None:
    if not ask.continuation:
        return ask.request
    position = _position(reading, ask.continuation, ask.request.operation, ask.request.digest())
    return None if position is None else replace(ask.request, continuation=position)


def _position(reading: Reading, continuation: str, operation: str, digest: bytes) -> Position | None:
    return continuations.read(
        reading.store, continuation, operation=operation, digest=digest, now=reading.evaluated_at
    )


def _claims_child(
    reading: Reading, ask: ClaimsAsk, request: ClaimsRequest | None, seen: ClaimsSeen | None
) -> Child:
    if request is None:
        return _refused("evidence", Current(evaluated_at=reading.evaluated_at), reading.freshness)
    if seen is None:
        return _claims_spent(request, reading.freshness)
    return _claims_answered(reading.store, request, seen)


def _claims_answered(store: Store, request: ClaimsRequest, seen: ClaimsSeen) -> Child:
    decided = core.decide_claims(request, seen)
    body = core.claims_and_sources(request, seen, _token(store), decided)
    return Child(body=body, seen=seen, told=outline.of_claims(request, seen, decided, body))


def _facts_child(reading: Reading, ask: HeldAsk, request: HeldRequest | None, held: Held | None) -> Child:
    if request is None:
        return _refused("fact", ask.request.time.scope(reading.evaluated_at), reading.freshness)
    if held is None:
        return _facts_spent(request, reading.freshness)
    return _facts_answered(reading.store, request, held)


def _read_held(reading: Reading, request: HeldRequest) -> Held:
    if isinstance(request, MembersRequest):
        return contexts.read_members(reading, request)
    return contexts.read_facts(reading, request)


def _facts_answered(store: Store, request: HeldRequest, held: Held) -> Child:
    seen = held.seen
    if isinstance(request, MembersRequest):
        decided = held.decided or core.decide_members(request, seen)
        body = core.contradiction_members(request, seen, _token(store), decided)
    else:
        decided = held.decided or core.decide_facts(request, seen)
        body = core.facts_context(request, seen, _token(store), decided)
    return Child(body=body, seen=seen, told=outline.of_facts(request.k, seen, decided, body))


def _refused(grain: Any, scope: Scope, freshness: Freshness) -> Child:
    body = core.envelope(grain=grain, scope=scope, freshness=freshness, negative=cursor_refused())
    return Child(body=body, seen=None, told=outline.of_nothing(body), unread=REFUSED)


def _claims_spent(request: ClaimsRequest, freshness: Freshness) -> Child:
    later = request.continuation
    scope = later.scope if later else Current(evaluated_at=freshness.pg_live_ts)
    return _spent("evidence", scope, freshness)


def _facts_spent(request: HeldRequest, freshness: Freshness) -> Child:
    later = request.continuation
    scope = later.scope if later else request.time.scope(freshness.pg_live_ts)
    return _spent("fact", scope, freshness)


def _spent(grain: Any, scope: Scope, freshness: Freshness) -> Child:
    """The database's time was over: nothing of what was read is shown (contract, section C.3)."""
    cut = truncation(returned=0, total=0, budgets=[TIME_BUDGET])
    body = core.envelope(
        grain=grain, scope=scope, freshness=freshness, truncation=cut, negative=not_exhaustive(TIME_BUDGET)
    )
    told = outline.of_nothing(body) | {"truncation": cut}
    return Child(body=body, seen=None, told=told, unread=SPENT)


def _token(store: Store) -> Callable[[Position], str | None]:
    return lambda position: continuations.write(store, position)


def _told(reading: Reading, children: dict[str, Child], body: Json) -> Told:
    negatives = [each.body["negative"] for each in children.values()]
    kinds = [each["kind"] for each in negatives if each is not None]
    passages = reading.passages
    quoted = outline.quoted(
        [child.body for child in children.values()], passages.of_claims, passages.of_chunks
    )
    seen: Json = {name: _kept(child, reading) for name, child in children.items()}
    digests = {f"mem:{number}": kept_digest(passages.digests[number]) for number in quoted.records}
    return Told(
        body=body,
        outcome=Outcome.EMPTY if len(kinds) == len(children) else Outcome.ANSWERED,
        reason=kinds[0] if len(kinds) == len(children) else "",
        asked_at=reading.evaluated_at,
        policy={
            "embedder": None if reading.query.model is None else reading.query.model[0],
            "search_advisories": sorted(reading.advisories),
        },
        seen=seen | {"digests": digests},
        told={name: child.told for name, child in children.items()},
        quoted=quoted.keys,
    )


def _kept(child: Child, reading: Reading) -> Json:
    """What an envelope was made of, without its texts. Of one that nothing was read for: why, and when."""
    if child.seen is None:
        return {child.unread: codec.write(reading.freshness)}
    written: Json = codec.write(child.seen)
    return written


def replay_resolve(store: Store, trace: Trace, ask: ResolveAsk) -> Replayed:
    """A traced look-up decided again. Raises NotReplayable."""
    (kept,) = _read_again(store, trace, ("resolved",))
    spent = _freshness(kept, SPENT)
    child = _spent_name(spent) if spent else _named(ask, _seen(ResolveSeen, kept))
    return Replayed(child.body, {"resolved": child.told})


def replay_claims(store: Store, trace: Trace, ask: ClaimsAsk) -> Replayed:
    """Raises NotReplayable."""
    (kept,) = _read_again(store, trace, ("claims",))
    child = _claims_again(store, ask, kept)
    return Replayed(child.body, {"claims": child.told})


def replay_facts(store: Store, trace: Trace, ask: HeldAsk) -> Replayed:
    """Raises NotReplayable."""
    (kept,) = _read_again(store, trace, ("facts",))
    child = _facts_again(store, ask, kept)
    return Replayed(child.body, {"facts": child.told})


def replay_combined(store: Store, trace: Trace, ask: CombinedAsk) -> Replayed:
    """Raises NotReplayable."""
    claims_kept, facts_kept = _read_again(store, trace, ("claims", "facts"))
    claims = _claims_again(store, ask.claims, claims_kept)
    facts = _facts_again(store, ask.facts, facts_kept)
    return Replayed(make_bundle(claims.body, facts.body), {"claims": claims.told, "facts": facts.told})


_Kept = tuple[Any, Callable[[str, str], str]]
"""(what a child was made of, as JSON; what reads its texts)."""


def _read_again(store: Store, trace: Trace, names: Sequence[str]) -> list[_Kept]:
    with snapshot():
        return [(trace.seen[name], texts.reader(store, trace.seen[name])) for name in names]


def _seen(kind: type[SeenKind], kept: _Kept) -> SeenKind:
    """Raises NotReplayable for what another version of the core has kept."""
    try:
        return codec.read(kind, *kept)
    except codec.Unreadable:
        raise NotReplayable("changed") from None


def _freshness(kept: _Kept, why: str) -> Freshness | None:
    """When nothing was read for this reason; None when it was not so."""
    written, read = kept
    return codec.read(Freshness, written[why], read) if why in written else None


def _claims_again(store: Store, ask: ClaimsAsk, kept: _Kept) -> Child:
    refused, spent = _freshness(kept, REFUSED), _freshness(kept, SPENT)
    if refused:
        return _refused("evidence", Current(evaluated_at=refused.pg_live_ts), refused)
    request = replace(ask.request, continuation=_kept_position(store, ask.continuation))
    if spent:
        return _claims_spent(request, spent)
    return _claims_answered(store, request, _seen(ClaimsSeen, kept))


def _facts_again(store: Store, ask: HeldAsk, kept: _Kept) -> Child:
    refused, spent = _freshness(kept, REFUSED), _freshness(kept, SPENT)
    if refused:
        return _refused("fact", ask.request.time.scope(refused.pg_live_ts), refused)
    request = replace(ask.request, continuation=_kept_position(store, ask.continuation))
    if spent:
        return _facts_spent(request, spent)
    return _facts_answered(store, request, Held(_seen(FactsSeen, kept)))


def _kept_position(store: Store, continuation: str) -> Position | None:
    """Where a traced page began: its continuation was taken then, and may be over now."""
    return continuations.reopen(store, continuation) if continuation else None
