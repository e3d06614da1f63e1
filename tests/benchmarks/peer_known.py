"""The differences that are known, and whose they are. `docs/peer.md` argues each. Pure."""

from typing import Any

from tests.benchmarks.peer_rows import Question

KNOWN = {
    "retrieval": "each found other candidates, or in another order",
    "gate": "only ours says that its gate let nothing pass (decision 16)",
    "label": "theirs puts [Episode] before an episode's text (specification L16)",
    "hops": "ours lowers max_hops to 5 and says so (L10)",
    "probe": "theirs counts the row it reads to see whether there are more (L8)",
    "trimmed": "theirs stores a text without the blanks at its ends (A.1)",
    "superseded": "ours says that a row read directly was superseded (decision 33)",
    "source": "ours leaves an unknown producer out, and gives an episode none (A.2)",
    "resolved": "theirs keeps whether an episode was resolved; ours has no such mark",
}
LABEL = "[Episode] "
# The most hops that are walked (specification F).
MOST_HOPS = 5


def known(aspect: str, path: str, ours: Any, theirs: Any, question: Question | None) -> str | None:
    """The name in KNOWN that explains a difference between two answers over the same candidates; None when nothing
    does. `path`: where in the aspect it is.
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
    if aspect in ("quotes", "contents") and member == "content":
        return _text(ours, theirs)
    if member == "content_len" and isinstance(ours, int) and isinstance(theirs, int):
        return "label" if theirs - ours == len(LABEL) else None
    if aspect == "contents":
        return _told(member, ours, theirs)
    return None


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
