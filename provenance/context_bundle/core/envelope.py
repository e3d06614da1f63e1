"""An envelope: one answer with a machine-readable account of itself (contract, section B).

Rule 1: every array is there, filled or not. Rule 2: what may be filled follows from the grain, and is checked here
and nowhere else.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from provenance.context_bundle.core.schema import ARRAYS, ENVELOPE, Json, make
from provenance.context_bundle.core.seen import Freshness
from provenance.context_bundle.core.temporal import Scope, write_instant, write_instant_or_none, write_scope

Grain = Literal["fact", "evidence", "compiled", "composite"]

EMPTY: Final[dict[str, frozenset[str]]] = {
    "fact": frozenset({"chunks", "pages"}),
    "evidence": frozenset({"facts", "fact_evidence", "evidence_totals", "nodes", "edges", "paths", "pages"}),
    "compiled": frozenset(
        {"facts", "fact_evidence", "evidence_totals", "evidence", "chunks", "nodes", "edges", "paths"}
    ),
    "composite": frozenset({"chunks", "nodes", "edges", "paths", "pages"}),
}
"""The arrays that stay empty, by grain (contract, sections B.2 and B.16)."""


class GrainBroken(ValueError):
    """An array is filled that the grain keeps empty, or a fact's evidence that backs no fact."""


def envelope(
    *,
    grain: Grain,
    scope: Scope,
    freshness: Freshness,
    truncation: Json | None = None,
    dropped_by_hydration: int = 0,
    excluded_unstamped: int = 0,
    negative: Json | None = None,
    aggregate: Json | None = None,
    **arrays: list[Json],
) -> Json:
    """An envelope with every key, in the contract's order; arrays that are not named are empty.

    Raises GrainBroken, and NotClosed for an array that no envelope has.
    """
    _check_grain(grain, arrays)
    filled: dict[str, Any] = {name: [] for name in ARRAYS} | arrays
    return make(
        ENVELOPE,
        grain=grain,
        temporal_scope=write_scope(scope),
        freshness=write_freshness(freshness),
        truncation=truncation,
        dropped_by_hydration=dropped_by_hydration,
        excluded_unstamped=excluded_unstamped,
        negative=negative,
        aggregate=aggregate,
        **filled,
    )


def write_freshness(freshness: Freshness) -> Json:
    """``freshness`` (section B.13). ``k`` is null: no compiled page is ever consumed."""
    return make(
        "Freshness",
        pg_live_ts=write_instant(freshness.pg_live_ts),
        p1_written_inline=freshness.p1_written_inline,
        p1_believed_at_horizon=write_instant_or_none(freshness.p1_believed_at_horizon),
        k=None,
    )


def _check_grain(grain: Grain, arrays: dict[str, list[Json]]) -> None:
    broken = sorted(name for name in EMPTY[grain] if arrays.get(name))
    if broken:
        raise GrainBroken(f"{grain}: {', '.join(broken)}")
    if grain == "fact":
        backing = {row["claim_id"] for row in arrays.get("fact_evidence", ())}
        if any(row["claim_id"] not in backing for row in arrays.get("evidence", ())):
            raise GrainBroken("fact: evidence that backs no fact")
