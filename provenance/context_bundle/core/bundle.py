"""Both authorities side by side: ``ContextBundle/v2`` (contract, section H).

Rule 1: the bundle adds nothing to its children and changes nothing of them. Rule 2: a child that is no closed envelope
of its grain takes the whole answer down; a typed negative in a child is a complete child.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from provenance.context_bundle.core.schema import BUNDLE, CONTRACT, Json, make

GRAINS: Final = {"claims_and_sources": "evidence", "facts": "fact"}

Check = Callable[[Json], object]
"""Raises a ValueError or a RuntimeError for what is no closed envelope."""


class ChildBroken(RuntimeError):
    """A child is no envelope of its grain, or the children were not evaluated at one instant."""


def bundle(claims_and_sources: Json, facts: Json, check: Check) -> Json:
    """The two envelopes in one, as they are. Raises ChildBroken."""
    children = {"claims_and_sources": claims_and_sources, "facts": facts}
    for name, child in children.items():
        try:
            check(child)
        except (ValueError, RuntimeError) as fault:
            raise ChildBroken(f"{name}: {fault}") from fault
        if child["grain"] != GRAINS[name]:
            raise ChildBroken(f"{name}: its grain is {child['grain']}")
    if claims_and_sources["temporal_scope"]["mode"] != "current":
        raise ChildBroken("claims_and_sources: what sources say is said now")
    if len({child["temporal_scope"]["evaluated_at"] for child in children.values()}) != 1:
        raise ChildBroken("the children were not evaluated at one instant")
    return make(BUNDLE, contract=CONTRACT, **children)
