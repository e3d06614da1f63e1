"""How far from its anchors an answer looks: the live graph, shared out fairly (contract, section C.3, step 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from provenance.context_bundle.core.seen import ScopeEntity
from provenance.context_bundle.core.types import SCOPE_ENTITIES_MAX


def expand(
    anchors: Sequence[int],
    neighbours: Mapping[int, Sequence[int]],
    hops: int,
    most: int = SCOPE_ENTITIES_MAX,
) -> tuple[tuple[ScopeEntity, ...], bool]:
    """The entities in scope, anchors first, then by hops and number; and whether the graph led to more of them.

    ``neighbours``: for every entity closer to an anchor than ``hops`` those the live graph joins it to, whatever the
    direction. Each anchor in turn may add its share of what room is left, nearest to it first and at least one; what
    one does not use, the next ones share. An entity's hops are those to the anchor nearest to it, whoever added it.
    """
    distances = [_distances(anchor, neighbours, hops) for anchor in anchors]
    nearest: dict[int, int] = {}
    for reached in distances:
        for each, hop in reached.items():
            nearest[each] = min(hop, nearest.get(each, hop))
    found = dict.fromkeys(anchors)
    for place, reached in enumerate(distances):
        room = most - len(found)
        share = min(room, max(1, room // (len(anchors) - place)))
        fresh = sorted(reached.keys() - found.keys(), key=lambda each: (reached[each], each))
        found |= dict.fromkeys(fresh[:share])
    ordered = [
        *dict.fromkeys(anchors),
        *sorted(found.keys() - set(anchors), key=lambda each: (nearest[each], each)),
    ]
    return tuple(ScopeEntity(number=each, hops=nearest[each]) for each in ordered), len(found) < len(nearest)


def _distances(anchor: int, neighbours: Mapping[int, Sequence[int]], hops: int) -> dict[int, int]:
    """How many hops away each entity is that can be reached, the anchor included."""
    distances, frontier = {anchor: 0}, [anchor]
    for hop in range(1, hops + 1):
        reached = {
            each for entity in frontier for each in neighbours.get(entity, ()) if each not in distances
        }
        distances |= dict.fromkeys(reached, hop)
        frontier = list(reached)
    return distances
