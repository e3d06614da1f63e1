"""Random answers to be made: a request and what was read for it, as the spine reads it.

Instants, texts and endpoints come from small sets, so that rows tie, group, disagree and fall away often. What the
spine has to know (who is alive in a group, how many lineages stand behind a fact) is counted here in its own way.
"""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from provenance.context_bundle.core import ClaimsRequest, ClaimsSeen, FactsRequest, FactsSeen, Position
from provenance.context_bundle.core.seen import (
    Backing,
    Channel,
    Chunk,
    Claim,
    Fact,
    FactChannel,
    FactKey,
    Group,
    ScopeEntity,
)
from provenance.context_bundle.core.temporal import Current, Scope, Time, Window
from tests.core.context_bundle.builders import (
    FRESH,
    NOW,
    Body,
    chunk,
    claim,
    day,
    document,
    entity,
    held,
    observation,
    relation,
    said,
    uuid,
)
from tests.properties import examples

relaxed = settings(
    max_examples=examples(80),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

SAYINGS = ("The winch sticks.", "the  WINCH sticks", "The winch sticks?", "Pier 4 is dry.", "…")
INSTANTS = (day(0), day(1), day(30), NOW)
CLAIM_WINDOWS: tuple[dict[str, Any], ...] = (
    {},
    {"valid_from": day(1), "valid_precision": "open"},
    {"valid_from": day(1), "valid_until": day(1), "valid_precision": "instant"},
    {"valid_from": day(1), "valid_until": day(2), "valid_precision": "day", "valid_kind": "event_time"},
    {"valid_from": day(1), "valid_until": day(2), "valid_precision": "day"},
    {"valid_from": day(1), "valid_until": day(3), "valid_precision": "day"},
    {"valid_from": day(0), "valid_until": day(2), "valid_precision": "month"},
    {"valid_from": day(0), "valid_until": day(2), "valid_precision": "day"},
)
WINDOWS = (
    Window(),
    Window(valid_from=day(1), precision="open"),
    Window(valid_from=day(1), valid_until=day(2), precision="day"),
    Window(valid_from=day(1), precision="day"),
    Window(valid_until=NOW, precision="month"),
    Window(valid_from=NOW, valid_until=NOW + timedelta(microseconds=1), precision="instant"),
    Window(valid_from=NOW + timedelta(days=9), precision="open"),
)
TIMES = (
    Time(),
    Time(mode="history"),
    Time(mode="at", at=day(1)),
    Time(mode="at", at=day(2)),
    Time(mode="overlap", start=day(2), end=NOW),
    Time(mode="overlap", start=day(1), end=day(1)),
)
ENTITIES = (1, 2, 3, 4)
PREDICATES = ("works_for", "other:moored_at")


@dataclass(frozen=True)
class ClaimsWorld:
    request: ClaimsRequest
    seen: ClaimsSeen

    def answer(self) -> Body:
        return said(self.request, self.seen)

    def behind(self, position: Position) -> "ClaimsWorld":
        return replace(self, request=replace(self.request, continuation=position))


@dataclass(frozen=True)
class FactsWorld:
    request: FactsRequest
    seen: FactsSeen

    def answer(self) -> Body:
        return held(self.request, self.seen)

    def behind(self, position: Position) -> "FactsWorld":
        return replace(self, request=replace(self.request, continuation=position))


claims_of = st.builds(
    lambda number, window, **given: claim(number, **window, **given),
    number=st.just(1),
    window=st.sampled_from(CLAIM_WINDOWS),
    says=st.sampled_from(SAYINGS),
    document=st.integers(1, 4),
    is_current=st.sampled_from((True, True, True, False)),
    is_attributed=st.booleans(),
    asserted_at=st.sampled_from((None, day(0), day(1))),
    touches=st.sampled_from(((), (1,), (2,), (1, 2))),
)
chunks_of = st.builds(
    chunk, number=st.just(1), document=st.integers(1, 4), touches=st.sampled_from(((), (1,), (2,), (1, 2)))
)


def numbered_claim(row: Claim, number: int) -> Claim:
    return replace(row, number=number, claim_id=uuid("c", number), chunk_id=uuid("b", number))


def numbered_chunk(row: Chunk, number: int) -> Chunk:
    return replace(row, number=number, chunk_id=uuid("b", number))


def channels(numbers: int) -> st.SearchStrategy[tuple[Channel, ...]]:
    """Up to two channels that nominate some of the first numbers, and a few that the spine does not hold."""
    listed = st.lists(st.integers(1, numbers + 3), max_size=numbers + 3)
    one = st.builds(
        Channel,
        name=st.just("lexical"),
        numbers=listed.map(tuple),
        exhausted=st.sampled_from((False, False, True)),
    )
    return st.lists(one, max_size=2).map(tuple)


@st.composite
def claims_worlds(draw: st.DrawFn) -> ClaimsWorld:
    claims = draw(st.lists(claims_of, max_size=12))
    chunks = draw(st.lists(chunks_of, max_size=6))
    anchors = draw(st.sampled_from((None, (uuid("e", 1),), (uuid("e", 1), uuid("e", 2)))))
    k = draw(st.sampled_from((1, 2, 50)))
    request = ClaimsRequest(
        query="winch",
        entity_ids=anchors,
        k=k,
        candidate_k=draw(st.sampled_from((max(k, 4), 200))),
        include_superseded=draw(st.booleans()),
    )
    seen = ClaimsSeen(
        scope=Current(evaluated_at=NOW),
        freshness=FRESH,
        anchors_known=draw(st.sampled_from((True, True, True, False))),
        claims=draw(channels(len(claims))),
        chunks=draw(channels(len(chunks))),
        claim_rows=tuple(numbered_claim(row, n) for n, row in enumerate(claims, start=1)),
        chunk_rows=tuple(numbered_chunk(row, n) for n, row in enumerate(chunks, start=1)),
        documents=tuple(document(n) for n in draw(st.sets(st.integers(1, 4)))),
    )
    return ClaimsWorld(request, seen)


facts_of = st.one_of(
    st.builds(
        observation, number=st.just(1), subject=st.sampled_from(ENTITIES), window=st.sampled_from(WINDOWS)
    ),
    st.builds(
        relation,
        number=st.just(1),
        subject=st.sampled_from(ENTITIES),
        predicate=st.sampled_from(PREDICATES),
        object=st.sampled_from(ENTITIES),
        window=st.sampled_from(WINDOWS),
    ),
)


@st.composite
def facts_worlds(draw: st.DrawFn) -> FactsWorld:
    claims = tuple(
        numbered_claim(row, n) for n, row in enumerate(draw(st.lists(claims_of, max_size=10)), start=1)
    )
    documents = draw(st.sets(st.integers(1, 4)))
    current = draw(st.sets(st.sampled_from(ENTITIES)))
    time = draw(st.sampled_from(TIMES))
    scope = time.scope(NOW)
    rows = draw(st.lists(facts_of, max_size=10))
    backing = tuple(
        Backing(fact=fact, claim=each.number, stance=stance)
        for fact in range(1, len(rows) + 1)
        for each in claims
        if (stance := draw(st.sampled_from(("supports", "contradicts", None)))) is not None
    )
    visible = [each for each in claims if each.document in documents]
    facts = [numbered_fact(draw, row, n, backing, visible) for n, row in enumerate(rows, start=1)]
    facts, groups = grouped(draw, facts, scope, current)
    anchored = draw(st.booleans())
    anchors = draw(st.sampled_from(((1,), (1, 2)))) if anchored else ()
    around = draw(st.sets(st.sampled_from((3, 4)))) if anchored and time.mode in ("current", "at") else ()
    request = FactsRequest(
        query="winch",
        entity_ids=tuple(uuid("e", number) for number in anchors) or None,
        k=draw(st.sampled_from((1, 2, 15))),
        evidence_per_fact=draw(st.integers(1, 3)),
        predicate=draw(st.sampled_from((None, None, "works_for"))),
        time=time,
    )
    keys = [fact.key for fact in facts] + [("observation", 98), ("relation", 99)]
    seen = FactsSeen(
        scope=scope,
        freshness=FRESH,
        anchors_known=draw(st.sampled_from((True, True, True, False))),
        entities_in_scope=tuple(ScopeEntity(number=n) for n in anchors)
        + tuple(ScopeEntity(number=n, hops=n - 2) for n in around),
        expansion_capped=anchored and draw(st.sampled_from((False, False, True))),
        nominations=draw(fact_channels(keys)),
        facts=tuple(facts),
        groups=tuple(groups),
        backing=backing,
        claims=claims,
        documents=tuple(document(n) for n in documents),
        entities=tuple(entity(n) for n in current),
    )
    return FactsWorld(request, seen)


def numbered_fact(
    draw: st.DrawFn, row: Fact, number: int, backing: tuple[Backing, ...], visible: list[Claim]
) -> Fact:
    """The fact under a number, with its belief, and with the lineages that stand behind it and against it."""
    lineages = {
        stance: {
            each.document
            for each in visible
            for link in backing
            if (link.fact, link.claim, link.stance) == (number, each.number, stance) and each.is_current
        }
        for stance in ("supports", "contradicts")
    }
    return replace(
        row,
        number=number,
        # Few ids, so that a relation and an observation share one.
        fact_id=uuid("7", (number + 1) // 2) if row.kind == "relation" else uuid("7", number),
        ingested_at=draw(st.sampled_from((day(0), day(1), NOW, NOW + timedelta(microseconds=1)))),
        invalidated_at=draw(st.sampled_from((None, None, None, NOW))),
        withdrawn=not lineages["supports"] and draw(st.booleans()),
        supports=len(lineages["supports"]),
        contradicts=len(lineages["contradicts"]),
    )


def grouped(
    draw: st.DrawFn, facts: list[Fact], scope: Scope, current: set[int]
) -> tuple[list[Fact], list[Group]]:
    """Some facts in up to two groups, and the groups as they are read: their live members."""
    seen_ids: set[tuple[str, str]] = set()
    unique = [
        fact
        for fact in facts
        if not ((fact.kind, fact.fact_id) in seen_ids or seen_ids.add((fact.kind, fact.fact_id)))
    ]
    joined = [
        replace(fact, group=uuid("9", number) if number else None)
        for fact in unique
        for number in (draw(st.sampled_from((None, 1, 1, 2))),)
    ]
    groups = []
    for group_id in sorted({fact.group for fact in joined if fact.group}):
        members = [fact for fact in joined if fact.group == group_id and stands(fact, scope, current)]
        members.sort(key=lambda fact: (fact.ingested_at, fact.kind, fact.number))
        groups.append(
            Group(group_id=group_id, members=tuple(fact.key for fact in members), total=len(members))
        )
    return joined, groups


def stands(fact: Fact, scope: Scope, current: set[int]) -> bool:
    """Alive in a current-belief answer, said over again."""
    first, last = {
        "current": (NOW, NOW),
        "history": (None, NOW),
        "at": (getattr(scope, "at", None),) * 2,
        "overlap": (getattr(scope, "start", None), getattr(scope, "end", None)),
    }[scope.mode]
    since, until = fact.window.valid_from, fact.window.valid_until
    world = (since is None or since <= last) and (first is None or until is None or first < until)
    ends = {fact.subject} | ({fact.object} if fact.object else set())
    return world and ends <= current and fact.ingested_at <= NOW and fact.invalidated_at is None


def fact_channels(keys: list[FactKey]) -> st.SearchStrategy[tuple[FactChannel, ...]]:
    listed = st.lists(st.sampled_from(keys), max_size=len(keys) + 2)
    one = st.builds(
        FactChannel,
        name=st.just("lexical"),
        keys=listed.map(tuple),
        exhausted=st.sampled_from((False, False, True)),
    )
    return st.lists(one, max_size=2).map(tuple)
