"""What an answer says about what it left out (contract, section F).

Rule 1: the relations of section F.2 hold by construction. Rule 2: totals count what was confirmed, never drops.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from provenance.context_bundle.core.schema import Json, make
from provenance.context_bundle.core.types import RESOLVE_MAX

TIME_BUDGET: Final = "time_budget"
RESULT_BUDGET: Final = "result_budget"
CANDIDATE_BUDGET: Final = "candidate_budget"
EXPANSION_BUDGET: Final = "expansion_budget"

PRECEDENCE: Final = (
    TIME_BUDGET,
    EXPANSION_BUDGET,
    "frontier_budget",
    "depth_budget",
    CANDIDATE_BUDGET,
    RESULT_BUDGET,
)
"""Contract, section F.4: of several reasons the first is named."""


def truncation(
    *,
    returned: int,
    total: int,
    budgets: Iterable[str] = (),
    continuation: str | None = None,
    cut: str = RESULT_BUDGET,
) -> Json:
    """``returned`` of ``total`` that are known to qualify; both from the cursor on.

    ``budgets``: those that ran out while counting; the total is exact when none did. ``cut``: the reason when rows were
    only counted. ``continuation`` is ignored when all were returned. Raises ValueError for more returned than counted.
    """
    if not 0 <= returned <= total:
        raise ValueError(f"{returned} of {total} returned")
    spent, more = set(budgets), total > returned
    reasons = [*PRECEDENCE, cut]
    named = spent | ({cut} if more else set())
    return make(
        "Truncation",
        truncated=bool(named),
        returned=returned,
        estimated_total=total,
        total_is_exact=not spent,
        continuation=continuation if more else None,
        reason=min(named, key=reasons.index) if named else None,
    )


def resolve_truncation() -> Json:
    """An eleventh candidate was there (section C.1): ten of at least eleven."""
    return make(
        "Truncation",
        truncated=True,
        returned=RESOLVE_MAX,
        estimated_total=RESOLVE_MAX + 1,
        total_is_exact=False,
        continuation=None,
        reason="resolve_candidate_limit",
    )
