"""The differences that are known, and whose they are. `docs/peer.md` argues each. Pure."""

from collections.abc import Set
from typing import Any

from tests.benchmarks.peer_rows import Question

KNOWN = {
    "retrieval": "each found other candidates, or in another order",
    "gate": "only ours says that its gate let nothing pass (decision 16)",
    "label": "theirs puts [Episode] before an episode's text (contract L16)",
    "hops": "ours lowers max_hops to 5 and says so (L10)",
    "probe": "theirs counts the row it reads to see whether there are more (L8)",
    "walked": "theirs lets walked rows supersede nothing and be superseded by nothing (contract O 9)",
    "starts": "theirs takes nothing from an entity that another chosen item's candidates mention (F 8)",
    "trimmed": "theirs stores a text without the blanks at its ends (A.1)",
    "superseded": "ours says that a row read directly was superseded (decision 33)",
    "source": "ours leaves an unknown producer out, and gives an episode none (A.2)",
    "resolved": "theirs keeps whether an episode was resolved; ours has no such mark",
}
LABEL = "[Episode] "
# The most hops that are walked (contract: reconstruct F).
MOST_HOPS = 5


def known(
    aspect: str,
    path: str,
    ours: Any,
    theirs: Any,
    *,
    question: Question | None = None,
    walked: Set[str] = frozenset(),
) -> str | None:
    """The name in KNOWN that explains a difference between two answers over the same candidates; None when nothing
    does. `path`: where in the aspect it is. `walked`: the rows that our answer says the walk reached.
    """
    member = path.rpartition(".")[2]
    if aspect == "shortfall":
        return "gate" if _gate(member, ours, theirs) else None
    if aspect == "bounds":
        asked = question.bounds.get("max_hops", 0) if question else 0
        return "hops" if asked > MOST_HOPS and _without_hops(ours) == _without_hops(theirs) else None
    if member == "claims_omitted":
        # One row a reached entity, and only beside a bound that was met.
        return "probe" if isinstance(ours, int) and isinstance(theirs, int) and ours < theirs else None
    if member == "roles":
        return "walked" if _superseded(ours, theirs, walked) else None
    in_items = aspect in ("items", "claims", "why", "quotes")
    if in_items and question and question.shared_start and _adds(ours, theirs, walked):
        return "starts"
    if aspect in ("quotes", "contents") and member in ("content", "content_len"):
        return _text(ours, theirs)
    return _told(member, ours, theirs) if aspect == "contents" else None


def _superseded(ours: Any, theirs: Any, walked: Set[str]) -> bool:
    """Whether ours only adds rows of the walk that supersede."""
    more = [role for role in ours or () if role not in (theirs or ())]
    kept = [role for role in ours or () if role not in more]
    return kept == (theirs or []) and all(
        role["role"] == "supersedes" and role["ref"] in walked for role in more
    )


def _adds(ours: Any, theirs: Any, walked: Set[str]) -> bool:
    """Whether ours only adds rows of the walk."""
    if not isinstance(ours, list) or not isinstance(theirs, list):
        return False
    more = [entry for entry in ours if entry not in theirs]
    refs = [entry.get("ref") if isinstance(entry, dict) else entry for entry in more]
    return [entry for entry in ours if entry in theirs] == theirs and all(
        isinstance(ref, str) and ref in walked for ref in refs
    )


def _gate(member: str, ours: Any, theirs: Any) -> bool:
    """Candidates that were given passed no gate there, so that only ours can tell of one."""
    if member == "gate_fallback":
        return ours is True and theirs is None
    return (ours, theirs) == ("below_quality_threshold", "exhausted_candidates")


def _without_hops(answer: Any) -> Any:
    """`bounds` as it would be had `max_hops` not been lowered: absent when it says nothing else."""
    bounds = {key: value for key, value in (answer or {}).items() if key != "max_hops"}
    return bounds if bounds.keys() & {"omitted", "reached", "effective_top_k"} else None


def _text(ours: Any, theirs: Any) -> str | None:
    if isinstance(ours, int) and isinstance(theirs, int):
        return "label" if theirs - ours == len(LABEL) else None
    if not isinstance(ours, str) or not isinstance(theirs, str):
        return None
    if theirs.startswith(LABEL) and ours.startswith(theirs.removeprefix(LABEL)):
        return "label"
    return "trimmed" if ours.strip() == theirs else None


def _told(member: str, ours: Any, theirs: Any) -> str | None:
    if member == "superseded_by" and theirs is None:
        return "superseded"
    if member == "source" and ours is None and theirs in ({}, {"System": "episode"}):
        return "source"
    return "resolved" if member == "resolved" and ours is None else None
