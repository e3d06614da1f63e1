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
    direction. Each anchor in turn may add its share of what room is left, nearest first and at least one; what one
    does not use, the next ones share.
    """
    found = dict.fromkeys(anchors, 0)
    near = set(anchors)
    for place, anchor in enumerate(anchors):
        room = most - len(found)
        share = min(room, max(1, room // (len(anchors) - place)))
        distances = _distances(anchor, neighbours, hops)
        fresh = sorted(
            (each for each in distances if each not in found), key=lambda each: (distances[each], each)
        )
        near |= distances.keys()
        for each in fresh[:share]:
            found[each] = distances[each]
        for each in found.keys() & distances.keys():
            found[each] = min(found[each], distances[each])
    ordered = sorted(found, key=lambda each: (found[each] > 0, found[each], each if found[each] else 0))
    return tuple(ScopeEntity(number=each, hops=found[each]) for each in ordered), not near <= found.keys()


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
