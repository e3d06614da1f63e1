"""Who a name may mean: ``resolve_entity`` (contract, section C.1).

Rule 1: it never picks one. Rule 2: an exact name ends the search, whatever else is like it.
"""

from __future__ import annotations

from dataclasses import replace

from provenance.context_bundle.core.envelope import envelope
from provenance.context_bundle.core.negatives import unknown_entity
from provenance.context_bundle.core.schema import Json, make
from provenance.context_bundle.core.seen import Entity, NearName, ResolveSeen
from provenance.context_bundle.core.truncation import resolve_truncation
from provenance.context_bundle.core.types import RESOLVE_MAX, ResolveRequest


def resolve_entity(_request: ResolveRequest, seen: ResolveSeen) -> Json:
    """The fact envelope of the candidates. The request's name and context were used where they were read.

    A name that leads nowhere is answered as one that never was: no drop is counted beside ``unknown_entity``.
    """
    entities = {entity.number: entity for entity in seen.entities}
    exact = _exact(seen, entities)
    ranked = exact or _near(seen, entities)
    shown = exact or ranked[:RESOLVE_MAX]
    visited = {*seen.exact, *(() if exact else (each.entity for each in seen.near))}
    hits = dict(seen.context_hits)
    shown = sorted(
        shown,
        key=lambda each: (
            -hits.get(each.entity, 0),
            -each.score,
            entities[each.entity].name.text,
            each.entity,
        ),
    )
    return envelope(
        grain="fact",
        scope=seen.scope,
        freshness=seen.freshness,
        entities=[_candidate(each, entities[each.entity], hits) for each in shown],
        truncation=resolve_truncation() if len(ranked) > len(shown) else None,
        dropped_by_hydration=len(visited - entities.keys()) if shown else 0,
        negative=None if shown else unknown_entity(),
    )


def _exact(seen: ResolveSeen, entities: dict[int, Entity]) -> list[NearName]:
    """All who have the name itself; none of them is nearer than another."""
    held = sorted(entities.keys() & set(seen.exact))
    return [NearName(entity=each, tier="T0", score=1.0) for each in held]


def _near(seen: ResolveSeen, entities: dict[int, Entity]) -> list[NearName]:
    """One row an entity, likest first. A name that only sounds alike scores 0."""
    best: dict[int, NearName] = {}
    for each in sorted(seen.near, key=lambda each: (each.tier, -each.score, -each.likeness)):
        if each.entity in entities:
            best.setdefault(each.entity, each if each.tier == "T1" else replace(each, score=0.0))
    return sorted(best.values(), key=lambda each: (-each.score, -each.likeness, each.entity))


def _candidate(each: NearName, entity: Entity, hits: dict[int, int]) -> Json:
    return make(
        "EntityCandidate",
        entity_id=entity.entity_id,
        canonical_name=entity.name.text,
        tier=each.tier,
        context_hits=hits.get(each.entity, 0),
    )
