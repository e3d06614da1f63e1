"""How an answer of this contract came about, in order, read off its trace.

A trace holds refs. What they name is read from the store as it is now: what is deleted is told of by its ref alone.
"""

from dataclasses import dataclass
from typing import Any, Final

from memoryconsole.models import Trace
from memoryconsole.pages.rows import read_rows
from memoryconsole.pages.shown import Shown
from provenance.context_bundle.why import ranks_of

Json = dict[str, Any]

TITLES: Final = {"resolved": "Who may be meant", "claims": "What sources say", "facts": "What is held"}


@dataclass(frozen=True, slots=True)
class Line:
    """One entry of an answer. `row` None: it is not there any more. `ranks`: its place in each channel that had it."""

    ref: str
    row: Shown | None
    ranks: list[tuple[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """An envelope, of a bundle each of the two.

    `hidden`: entries that are not listed here. `beyond`: how many qualified behind the last. `time`: the scope as it
    was pinned. The lists are the outline's, each at most as long as the page shows.
    """

    id: str
    title: str
    time: Json
    negative: str | None
    truncation: Json
    dropped: int
    shown: list[Line]
    hidden: int
    beyond: int
    rejected: list[tuple[str, str]]
    scope: list[Any]
    evidence: list[Any]
    groups: list[Any]
    co_members: list[Any]


def of_answer(trace: Trace, most: int) -> dict[str, Any]:
    """The story of an answer, at most `most` entries of each list (at most six statements)."""
    wanted = [ref for told in trace.told.values() for ref in told["shown"][:most]]
    rows = read_rows(trace.store, wanted)
    return {"parts": [_part(trace, name, rows, most) for name in trace.told]}


def _part(trace: Trace, name: str, rows: dict[str, Shown], most: int) -> Part:
    told = trace.told[name]
    refs, beyond = told["shown"], told.get("beyond", 0)
    return Part(
        id=name,
        title=TITLES[name],
        time=trace.seen[name].get("scope", {}),
        negative=told["negative"],
        truncation=told.get("truncation") or {},
        dropped=told.get("dropped", 0),
        shown=[Line(ref, rows.get(ref), ranks_of(told, ref)) for ref in refs[:most]],
        hidden=max(len(refs) - most, 0),
        beyond=beyond if isinstance(beyond, int) else len(beyond),
        rejected=[(ref, reason.replace("_", " ")) for ref, reason in told.get("rejected", [])[:most]],
        scope=told.get("scope", [])[:most],
        evidence=told.get("evidence", [])[:most],
        groups=told.get("groups", [])[:most],
        co_members=told.get("co_members", [])[:most],
    )
