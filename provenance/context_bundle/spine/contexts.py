"""One answer's reading, in order: who is asked about, who is nominated, what those are, and what is shown beside them.

Statements of a question about entities: one for the anchors, one a hop of the walk, one for what it found. Facts take
one for those in scope, the search's, two for the rows and their ends, up to three where there are groups, and one for
the evidence. Testimony takes one for what the anchors are mentioned in, the search's twice, one for the claims and two
for the passages.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

import numpy as np

from memoryconsole.models import Store
from memoryconsole.search import Query
from memoryconsole.statements import all_rows
from provenance.context_bundle import core
from provenance.context_bundle.core.contradiction import read_members_position
from provenance.context_bundle.core.fusion import rrf
from provenance.context_bundle.core.seen import (
    Channel,
    ClaimsSeen,
    Entity,
    Fact,
    FactChannel,
    FactsSeen,
    Freshness,
)
from provenance.context_bundle.core.temporal import Current, Scope
from provenance.context_bundle.core.types import (
    FACT_CANDIDATES,
    SCOPE_ENTITIES_MAX,
    ClaimsRequest,
    FactsRequest,
    MembersRequest,
)
from provenance.context_bundle.nominating import Admits, Among, Nominated, Nominator, Wanted, admitted
from provenance.context_bundle.spine.anchors import Anchor, Reach, reach, read_anchors
from provenance.context_bundle.spine.facts import Facts, FactScope, read_about, read_groups, read_listed
from provenance.context_bundle.spine.profiles import Profiles
from provenance.context_bundle.spine.testimony import Passages, Testimony, read_backing

WALKED_MODES: Final = ("current", "at")
"""Contract, section C.3: the live graph is a graph of today; history and overlaps are asked about anchors alone."""


@dataclass(slots=True)
class Reading:
    """What one answer, or both halves of a bundle, are read with. `evaluated_at`: the one instant of the answer.

    `passages`: which records the testimony is from. `advisories`: what was degraded about the search. `followed`:
    anchors by the ids asked for, read once.
    """

    store: Store
    evaluated_at: datetime
    horizon: datetime | None
    query: Query
    nominator: Nominator
    passages: Passages = field(default_factory=Passages)
    advisories: set[str] = field(default_factory=set)
    followed: dict[tuple[str, ...], tuple[Anchor, ...] | None] = field(default_factory=dict)

    @property
    def freshness(self) -> Freshness:
        return Freshness(pg_live_ts=self.evaluated_at, p1_believed_at_horizon=self.horizon)

    def nominate(self, wanted: Wanted, admits: Admits) -> tuple[Nominated, ...]:
        """Through the port."""
        found = self.nominator.nominate(self.store, self.query, wanted, admits)
        self.advisories |= {channel.advisory for channel in found if channel.advisory}
        return found

    def anchors(self, ids: tuple[str, ...] | None) -> tuple[Anchor, ...] | None:
        """None: one of them is no current entity. Asked for nobody: nobody."""
        if not ids:
            return ()
        if ids not in self.followed:
            self.followed[ids] = read_anchors(self.store, ids)
        return self.followed[ids]


def read_beliefs(store: Store) -> tuple[datetime | None, datetime | None]:
    """(the latest belief instant given out, the oldest that can be asked about); None: none. One statement."""
    ((believed_at, horizon),) = all_rows(
        """
        SELECT c.belief_at, s.belief_horizon_at FROM mc_store AS s JOIN mc_store_counter AS c ON c.store_id = s.id
        WHERE s.id = %(store)s
        """,
        {"store": store.pk},
    )
    return believed_at, horizon


def read_claims(reading: Reading, request: ClaimsRequest) -> ClaimsSeen:
    """What `claims_and_sources_context` is made of (contract, section C.2)."""
    later = request.continuation
    scope: Scope = later.scope if later else Current(evaluated_at=reading.evaluated_at)
    anchors = reading.anchors(request.entity_ids)
    if anchors is None:
        return ClaimsSeen(scope=scope, freshness=reading.freshness, anchors_known=False)
    testimony = Testimony(
        reading.store, scope, superseded=request.include_superseded, passages=reading.passages
    )
    if anchors:
        testimony.about(anchors)
    claims = _said(reading, request, testimony, "claims")
    chunks = _said(reading, request, testimony, "chunks")
    testimony.fetch_claims(key for channel in claims for key in channel.keys)
    testimony.fetch_chunks(key for channel in chunks for key in channel.keys)
    seen = _claims_seen(reading, testimony, claims, chunks)
    decided = core.decide_claims(request, seen)
    testimony.complete_claims(group.representative.number for group in decided.testimony[: request.k])
    testimony.complete_chunks({chunk.number for chunk in decided.passages[: request.k]})
    return _claims_seen(reading, testimony, claims, chunks)


def _said(reading: Reading, request: ClaimsRequest, testimony: Testimony, part: str) -> tuple[Nominated, ...]:
    """The claims or the passages that may answer. Those tied to an anchor are known to be admitted."""
    wanted = Wanted(part="claims" if part == "claims" else "chunks", depth=request.candidate_k)
    admits = testimony.admits_claims if part == "claims" else testimony.admits_chunks
    if request.entity_ids is not None:
        wanted = replace(wanted, among=Among.by_anchor(list(testimony.touched[part].values())))
        return reading.nominate(wanted, frozenset)
    return reading.nominate(wanted, admits)


def _claims_seen(
    reading: Reading, testimony: Testimony, claims: Sequence[Nominated], chunks: Sequence[Nominated]
) -> ClaimsSeen:
    claim_numbers = {pk: claim.number for pk, claim in testimony.claims.items()}
    chunk_numbers = {pk: chunk.number for pk, chunk in testimony.chunks.items()}
    return ClaimsSeen(
        scope=testimony.scope,
        freshness=reading.freshness,
        claims=tuple(_channel(each, claim_numbers) for each in claims),
        chunks=tuple(_channel(each, chunk_numbers) for each in chunks),
        claim_rows=tuple(testimony.claims.values()),
        chunk_rows=tuple(testimony.chunks.values()),
        documents=tuple(testimony.documents.values()),
    )


def _channel(nominated: Nominated, numbers: dict[int, int]) -> Channel:
    """By public number. What is not there has a number that no row has."""
    keys = tuple(numbers.get(key, -1 - key) for key in nominated.keys)
    return Channel(name=nominated.name, numbers=keys, exhausted=nominated.exhausted)


@dataclass(frozen=True, slots=True)
class Held:
    """What an envelope of facts is made of, and what the core decided on the way: what is read beside the facts that
    are shown changes none of it. None: nothing was to be decided.
    """

    seen: FactsSeen
    decided: core.FactsDecided | None = None


def read_facts(reading: Reading, request: FactsRequest) -> Held:
    """What `facts_context` is made of (contract, section C.3)."""
    later = request.continuation
    scope = later.scope if later else request.time.scope(reading.evaluated_at)
    anchors = reading.anchors(request.entity_ids)
    if anchors is None:
        return Held(FactsSeen(scope=scope, freshness=reading.freshness, anchors_known=False))
    facts = Facts(reading.store, FactScope(scope, request.predicate, later=later is not None))
    around = Reach((), (), frozenset())
    if request.entity_ids is not None:
        hops = request.hops if scope.mode in WALKED_MODES else 0
        around = reach(reading.store, anchors, hops=hops, predicate=request.predicate, at=scope.evaluated_at)
        channels = _in_scope(reading, facts, around, anchors)
    else:
        channels = _matching(reading, facts)
    seen = FactsSeen(
        scope=scope,
        freshness=reading.freshness,
        entities_in_scope=around.entities,
        expansion_capped=around.capped,
        nominations=channels,
        facts=facts.rows,
        entities=_entities(facts, around),
    )
    decided = core.decide_facts(request, seen)
    shown = decided.confirmed[: request.k]
    return Held(_with_details(reading, facts, around, seen, shown, request.evidence_per_fact), decided)


def read_members(reading: Reading, request: MembersRequest) -> Held:
    """What `contradiction_members` is made of (contract, section E): six statements where nobody listed is refused."""
    later = request.continuation
    scope = later.scope if later else request.time.scope(reading.evaluated_at)
    facts = Facts(reading.store, FactScope(scope, later=later is not None))
    listed = read_listed(facts, request.group_id, read_members_position(later) if later else None)
    keys = admitted({"": listed}, FACT_CANDIDATES, facts.admits)[""]
    channel = FactChannel(
        name="members",
        keys=tuple(facts.key(pk) for pk in keys[:FACT_CANDIDATES]),
        exhausted=len(keys) > FACT_CANDIDATES,
    )
    around = Reach((), (), frozenset())
    seen = FactsSeen(
        scope=scope,
        freshness=reading.freshness,
        nominations=(channel,),
        facts=facts.rows,
        entities=_entities(facts, around),
    )
    decided = core.decide_members(request, seen)
    shown = decided.confirmed[: request.k]
    return Held(_with_details(reading, facts, around, seen, shown, request.evidence_per_fact), decided)


def _with_details(
    reading: Reading, facts: Facts, around: Reach, seen: FactsSeen, shown: Sequence[Fact], per_fact: int
) -> FactsSeen:
    """What stands beside the facts that will be shown: their groups and their evidence."""
    groups = read_groups(facts, (fact.group for fact in shown if fact.group is not None))
    backing, claims, documents = read_backing(
        reading.store, [fact.number for fact in shown], per_fact, reading.passages
    )
    return replace(
        seen,
        facts=facts.rows,
        groups=groups,
        backing=backing,
        claims=claims,
        documents=documents,
        entities=_entities(facts, around),
    )


def _entities(facts: Facts, around: Reach) -> tuple[Entity, ...]:
    found = {entity.number: entity for entity in around.rows} | facts.entities
    return tuple(found[number] for number in sorted(found))


def _in_scope(
    reading: Reading, facts: Facts, around: Reach, anchors: Sequence[Anchor]
) -> tuple[FactChannel, ...]:
    among = read_about(reading.store, facts.scope, around.keys).among(anchors)
    wanted = Wanted(part="facts", depth=FACT_CANDIDATES, among=among)
    return _fact_channels(reading, facts, wanted)


def _matching(reading: Reading, facts: Facts) -> tuple[FactChannel, ...]:
    """Facts that match the query themselves, and a channel of those about the entities that match it best."""
    direct = _fact_channels(reading, facts, Wanted(part="facts", depth=FACT_CANDIDATES))
    profiles = Profiles(reading.store)
    wanted = Wanted(part="profiles", depth=SCOPE_ENTITIES_MAX)
    found = reading.nominate(wanted, profiles.admits)
    best = [each.key for each in rrf([profiles.numbers(channel.keys) for channel in found])]
    owners = [profiles.members(number) for number in best[:SCOPE_ENTITIES_MAX]]
    cut = len(best) > len(owners) or any(channel.exhausted for channel in found)
    return (*direct, _about(reading, facts, owners, direct, cut=cut))


def _about(
    reading: Reading,
    facts: Facts,
    owners: Sequence[tuple[int, ...]],
    direct: Sequence[FactChannel],
    *,
    cut: bool,
) -> FactChannel:
    """The facts about these entities: those of the first before those of the next; of one entity those that match the
    query themselves, then the newest.
    """
    if not owners:
        return FactChannel(name="profiles", exhausted=cut)
    about = read_about(reading.store, facts.scope, [member for owner in owners for member in owner])
    place = np.full(len(about.keys), len(owners))
    for at, owner in reversed(list(enumerate(owners))):
        place[about.have(owner)] = at
    order = np.lexsort((-about.keys, place))
    chosen = admitted({"": about.keys[order]}, FACT_CANDIDATES, facts.admits)[""]
    owned = dict(zip(about.keys.tolist(), place.tolist(), strict=True))
    ranks = {key: rank for channel in reversed(direct) for rank, key in enumerate(channel.keys)}
    chosen.sort(key=lambda pk: (owned[pk], ranks.get(facts.key(pk), FACT_CANDIDATES), -facts.key(pk)[1]))
    return FactChannel(
        name="profiles",
        keys=tuple(facts.key(pk) for pk in chosen[:FACT_CANDIDATES]),
        exhausted=cut or len(chosen) > FACT_CANDIDATES,
    )


def _fact_channels(reading: Reading, facts: Facts, wanted: Wanted) -> tuple[FactChannel, ...]:
    nominated = reading.nominate(wanted, facts.admits)
    facts.fetch(key for channel in nominated for key in channel.keys)
    return tuple(
        FactChannel(
            name=channel.name, keys=tuple(facts.key(key) for key in channel.keys), exhausted=channel.exhausted
        )
        for channel in nominated
    )
