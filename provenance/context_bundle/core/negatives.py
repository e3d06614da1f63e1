"""The typed noes: what is said when an answer holds nothing (contract, section B.15).

Rule 1: ``unknown_entity`` has one text, whatever the cause: absent, retired, merged away, forgotten, of another store.
Rule 2: ``known_empty`` is said only after a complete search. Rule 3: a ``boundary`` always says what to do instead.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from provenance.context_bundle.core.schema import Json, make
from provenance.context_bundle.core.temporal import write_instant

_UNKNOWN_ENTITY: Final = (
    "No current entity of this store answers to what was named.",
    "Resolve the name again, try another spelling of it, or ask without an anchor.",
)


def unknown_entity() -> Json:
    """A name or an id leads to no current entity."""
    return _negative("unknown_entity", *_UNKNOWN_ENTITY)


def known_empty(explanation: str, workaround: str | None) -> Json:
    """The search was complete, and nothing matched."""
    return _negative("known_empty", explanation, workaround)


def boundary(explanation: str, workaround: str) -> Json:
    """The store declares that it cannot answer this."""
    return _negative("boundary", explanation, workaround)


def no_testimony(*, anchored: bool) -> Json:
    if anchored:
        return known_empty(
            "The anchors are known, but no current claim and no current passage is tied to them.",
            "Ask facts_context for what is held, or ask again with include_superseded.",
        )
    return known_empty(
        "No current claim and no current passage shares a word with the query.",
        "Use other words, or name an entity to start from.",
    )


def no_facts(*, anchored: bool, predicate: str | None) -> Json:
    what, wider = (
        ("fact", "") if predicate is None else ("relation with this predicate", " or without the predicate")
    )
    if anchored:
        return known_empty(
            f"The anchors are known, but no {what} about them is held for the time asked.",
            f"Ask for another time{wider}, or ask claims_and_sources_context for what sources say.",
        )
    return known_empty(
        f"No {what} held for the time asked shares a word with the query.",
        "Use other words, name an entity to start from, or ask claims_and_sources_context for what sources say.",
    )


def no_members() -> Json:
    return known_empty(
        "No open contradiction with this id has a member, or a further one, that is held for the time asked.",
        "Ask facts_context: a fact that is in a contradiction names its group and the other sides.",
    )


_EXHAUSTED: Final = {
    "candidate_budget": "The search stopped at its depth before any candidate could be confirmed",
    "expansion_budget": "The graph around the anchors is larger than one answer may walk",
    "frontier_budget": "The graph around the start is wider than one answer may walk",
    "depth_budget": "The graph goes on beyond the depth that was walked",
    "time_budget": "The time for one answer was spent",
}


def not_exhaustive(reason: str | None) -> Json:
    """Nothing was confirmed and the search was cut: absence is not established (section F.4)."""
    told = _EXHAUSTED.get(reason or "", "The search was cut before anything could be confirmed")
    return boundary(
        f"{told}, so absence is not established.", "Name an entity to start from, or ask something narrower."
    )


def before_horizon(believed_at: datetime, horizon: datetime) -> Json:
    """Belief is asked for at an instant that is no longer kept (section D.6)."""
    kept = write_instant(horizon)
    return boundary(
        f"What was believed is kept from {kept} on; {write_instant(believed_at)} is earlier.",
        f"Ask with believed_at at {kept} or later, or read the transcript of a fact you know.",
    )


def cursor_refused() -> Json:
    """A continuation that was altered, has expired, or belongs to another question or store (section F.5)."""
    return boundary(
        "The continuation does not belong to this question, or is no longer valid.",
        "Ask again without the continuation.",
    )


def _negative(kind: str, explanation: str, workaround: str | None) -> Json:
    return make("Negative", kind=kind, explanation=explanation, workaround=workaround)
