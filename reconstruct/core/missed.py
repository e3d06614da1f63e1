"""Why the search did not bring a row: one finding for each bound it has. Pure, as `why` is.

Numbers in, a finding out: what the search knew of the row, and what was asked of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from reconstruct.core.why import Finding, Path, counted, ordinal, percent, plain

_NOT_KNOWN = {
    "language_changed": "the store's language has changed since, and words are cut by other rules",
    "analyzer_changed": "words are cut by other rules since",
    "space_gone": "the vectors that were compared are gone",
    "bounded": "the question or the store was larger than what is searched exactly",
    "vectors_incomplete": "its vector was written since, or then",
    "forgotten": "a declared name that the question brought along is gone",
    "changed": "the store has changed since",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """A gate in 1/10,000, and what it was applied to. ``strong_found``: some row was strong, so that the floor counted;
    ``fallback``: none was, and the rows that hold a word of the query came instead.
    """

    strong_coverage: int
    strong_cosine: int
    floor_coverage: int
    floor_cosine: int
    strong_found: bool
    fallback: bool


def below_gate(ref: str, *, own: int, coverage: int, cosine: int | None, gate: Thresholds) -> Finding:
    """A row that was weighed and not admitted: which threshold it came nearest to."""
    cosine_limit = gate.floor_cosine if gate.strong_found else gate.strong_cosine
    coverage_limit = gate.floor_coverage if gate.strong_found else gate.strong_coverage
    where = {
        "coverage": [coverage, coverage_limit],
        "cosine": [cosine, cosine_limit],
        "fallback": gate.fallback,
    }
    if gate.fallback and own == 0:
        return Finding(
            path="search",
            bound="gate",
            value=0,
            limit=1,
            by=1,
            unit="words",
            sentence=f"No row was strong enough, so the rows that hold a word of the question came; {ref} holds none.",
            where=where,
        )
    measures = [("coverage", coverage, coverage_limit), ("cosine", cosine, cosine_limit)]
    known = [(unit, value, limit) for unit, value, limit in measures if value is not None]
    unit, value, limit = min(known, key=lambda each: (each[2] - each[1]) / each[2])
    share = {"coverage": "of the question's weight", "cosine": "likeness in meaning"}[unit]
    return Finding(
        path="search",
        bound="gate",
        value=value,
        limit=limit,
        by=limit - value,
        unit=unit,
        sentence=f"{ref} stayed below the gate: it has {percent(value)} {share} and needed {percent(limit)},"
        f" {(limit - value) / 100:.2f} points more.",
        where=where,
    )


def result(ref: str, place: int, returned: int) -> Finding:
    """A row of a recall's answer. ``place``: from 0."""
    sentence = f"{ref} is the {ordinal(place + 1)} of {counted(returned, 'row')}."
    return Finding(path="search", bound="result", sentence=sentence, inside=True, where={"place": place})


def behind_candidates(ref: str, place: int, top_k: int, admitted: int) -> Finding:
    """A row that the gate admitted and ``top_k`` cut. ``place``: from 1."""
    return Finding(
        path="search",
        bound="top_k",
        value=place,
        limit=top_k,
        by=place - top_k,
        unit="candidates",
        sentence=f"{ref} was {ordinal(place)} of {admitted} rows that the gate admitted; {counted(top_k, 'candidate')}"
        f" {'was' if top_k == 1 else 'were'} taken.",
        where={"admitted": admitted},
    )


def outscored(ref: str, score: int, last: int, top_k: int, admitted: int) -> Finding:
    """The same for a row whose place was not kept: its score beside the last candidate's."""
    return Finding(
        path="search",
        bound="top_k",
        value=score,
        limit=last,
        by=last - score or None,
        unit="score",
        sentence=f"{ref} was admitted by the gate, with {admitted - 1} others, of which {top_k}"
        f" {'was' if top_k == 1 else 'were'} taken: its score is {score}, that of the last one {last}.",
        where={"admitted": admitted},
    )


def outside_scope(ref: str, filter_: str, has: str | None, asked: str, path: Path) -> Finding:
    """A filter of the call did not see the row. ``has``: None for what a summary does not know."""
    said = "is unknown" if has is None else f"is '{has}'"
    sentence = f"The call looked at {filter_} '{asked}'; of {ref} it {said}."
    if filter_ == "source_id" and ref.startswith("ep:"):
        sentence = (
            f"The call looked at source_id '{asked}', which leaves out summaries unless a channel is given."
        )
    where = {"filter": filter_, "has": has, "asked": asked}
    return Finding(path=path, bound="scope", sentence=sentence, where=where)


def too_old(ref: str, place: int, top_k: int, *, exact: bool) -> Finding:
    """A blank question is answered by the records stored last. ``place``: from 1, newest first."""
    return Finding(
        path="search",
        bound="recency",
        value=place,
        limit=top_k,
        by=place - top_k,
        unit="records",
        exact=exact,
        sentence=f"The question was blank, so the {top_k} records stored last came; {ref} was the"
        f" {ordinal(place)}, newest first.",
    )


def not_known(ref: str, path: Path, reason: str) -> Finding:
    """What kept the row out cannot be said any more. ``reason``: one of the above."""
    sentence = f"It can no longer be said what kept {ref} out: {_NOT_KNOWN[reason]}."
    return plain(path, "not_known", sentence, exact=False, reason=reason)
