"""Why a row is in an answer, or which bound kept it out, and by how much.

Rule 1: a finding is read off what was decided (the outline) and measured; nothing is decided anew here.
Rule 2: ``by`` is how far the bound would have to move to let the row past *it*; another may wait behind.

A row comes into an answer by the search or by the walk. Each way has one finding: the bound that stopped the row
there, or its place in the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from reconstruct.core.outline import Outline

Path = Literal["search", "walk"]
Edge = tuple[int, int]

NEAREST_FIRST = (
    "budget",
    "max_evidence",
    "beyond_count",
    "count_zero",
    "top_k",
    "recency",
    "max_hops",
    "gate",
    "same_entity",
    "no_evidence",
    "not_known",
    "no_path",
    "no_mention",
    "no_item",
    "scope",
    "not_a_candidate",
)
"""The bounds that keep a row out, the one that is met last on the way into an answer first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one way into the answer says of a row.

    ``value``: what the row had; ``limit``: what was asked of it; ``by``: how much was missing (1 or more; None when it
    cannot be counted), all in ``unit``. ``exact``: False when the store has changed so that the numbers may have been
    others. ``where``: further facts. ``inside``: the row is in the answer.
    """

    path: Path
    bound: str
    sentence: str
    value: int | None = None
    limit: int | None = None
    by: int | None = None
    unit: str | None = None
    exact: bool = True
    inside: bool = False
    where: Mapping[str, Any] = field(default_factory=dict)

    def shown(self) -> Outline:
        return {
            "path": self.path,
            "bound": self.bound,
            "value": self.value,
            "limit": self.limit,
            "by": self.by,
            "unit": self.unit,
            "exact": self.exact,
            "sentence": self.sentence,
            "where": dict(self.where),
        }


def verdict(ref: str, findings: Sequence[Finding], **facts: Any) -> Outline:
    """The answer to "why": the finding that is inside, else the one whose bound came nearest, and all of them."""
    told = min(
        findings,
        key=lambda each: (not each.inside, NEAREST_FIRST.index(each.bound) if not each.inside else 0),
    )
    shown = {name: value for name, value in told.shown().items() if name != "path"}
    return {
        "ref": ref,
        "verdict": "in" if told.inside else "out",
        **shown,
        "paths": [each.shown() for each in findings],
        **{name: value for name, value in facts.items() if value},
    }


def alone(ref: str, bound: str, sentence: str, *, inside: bool = False, **numbers: Any) -> Outline:
    """A verdict that needs no path: there is no such row, or the call was refused."""
    finding = Finding(path="search", bound=bound, sentence=sentence, inside=inside, **numbers)
    shown = {name: value for name, value in finding.shown().items() if name != "path"}
    return {"ref": ref, "verdict": "in" if inside else "out", **shown, "paths": []}


def placed(ref: str, told: Outline, rank: int | None = None) -> Finding | None:
    """The finding for a row that the outline names: a candidate, or a row the walk came to. None for any other.

    ``rank``: of a candidate, from 0.
    """
    for index, item in enumerate(told["items"]):
        if ref in item["kept"]:
            return _kept(ref, told, index) if index < told["returned"] else _item_behind(ref, told, index)
        if ref in item["omitted"]:
            place = len(item["kept"]) + item["omitted"].index(ref) + 1
            return cut_from_line(ref, told, index, place, path="walk" if rank is None else "search")
    for index, cluster in enumerate(told["clusters"]):
        if any(ref == each for each, _ in cluster["rows"]):
            return _beyond_count(ref, told, index, rank or 0)
    return None


def _kept(ref: str, told: Outline, index: int) -> Finding:
    item = told["items"][index]
    (claim,) = [claim for claim in item["claims"] if claim["ref"] == ref]
    at, needed = _quote(ref, told)
    carried = at < told["carried"]
    head = ref == item["head"]
    budget = told["policy"]["budget"]["effective"]
    where = {
        "item": index,
        "head": head,
        "why": claim["why"],
        "hops": claim["hops"],
        "rank": claim["rank"],
        "turn": told["sequence"][at]["turn"],
        "carried": carried,
        "reason": told["clusters"][index]["reason"],
    }
    if carried:
        said = "is the head of" if head else "is quoted as an excerpt in"
        sentence = f"{ref} {said} item {index + 1}{_how(claim)}."
        bound = "head" if head else "excerpt"
        return Finding(path=_path(claim), bound=bound, sentence=sentence, inside=True, where=where)
    return Finding(
        path=_path(claim),
        bound="claim",
        inside=True,
        value=needed,
        limit=budget,
        by=needed - budget,
        unit="characters",
        sentence=f"{ref} is a claim of item {index + 1}{_how(claim)}. Its quote fell behind the budget: the quotes up"
        f" to it take {needed} characters, {needed - budget} more than the {budget} there were.",
        where=where,
    )


def _path(claim: Outline) -> Path:
    return "search" if claim["hops"] is None else "walk"


def _how(claim: Outline) -> str:
    if claim["hops"] is not None:
        return f", {counted(claim['hops'], 'hop')} away by {claim['why']}"
    place = ordinal(claim["rank"] + 1)
    return f", as the {place} candidate" + ("" if claim["why"] == "seed" else f", joined by {claim['why']}")


def _item_behind(ref: str, told: Outline, index: int) -> Finding:
    item = told["items"][index]
    _, needed = _quote(item["head"], told)
    budget = told["policy"]["budget"]["effective"]
    (claim,) = [claim for claim in item["claims"] if claim["ref"] == ref]
    return Finding(
        path=_path(claim),
        bound="budget",
        value=needed,
        limit=budget,
        by=needed - budget,
        unit="characters",
        sentence=f"{ref} belongs to item {index + 1}, whose head fell behind the budget: the quotes up to it take"
        f" {needed} characters, {needed - budget} more than the {budget} there were.",
        where={"item": index, "head": ref == item["head"]},
    )


def _quote(ref: str, told: Outline) -> tuple[int, int]:
    """(the place of a row's quote in the sequence, the code points of all quotes up to it)."""
    used = 0
    for at, place in enumerate(told["sequence"]):
        start, end = place["span"]
        used += end - start
        if place["ref"] == ref:
            return at, used
    raise LookupError(f"{ref} is kept and has no quote")


def cut_from_line(ref: str, told: Outline, index: int, place: int, *, path: Path) -> Finding:
    """A row that stood too far back in its item's line. ``place``: from 1."""
    limit = told["policy"]["max_evidence"]
    behind = " The item itself fell behind the budget." if index >= told["returned"] else ""
    return Finding(
        path=path,
        bound="max_evidence",
        value=place,
        limit=limit,
        by=place - limit,
        unit="rows",
        sentence=f"{ref} was {ordinal(place)} in the line of item {index + 1}, and an item keeps"
        f" {counted(limit, 'row')}.{behind}",
        where={"item": index},
    )


def _beyond_count(ref: str, told: Outline, index: int, rank: int) -> Finding:
    window = told["policy"]["count"]["effective"]
    candidates = sum(len(cluster["rows"]) for cluster in told["clusters"])
    room = (
        f"the answer had room for {counted(window, 'item')}"
        if window
        else "no item was asked for (a count of 0)"
    )
    return Finding(
        path="search",
        bound="beyond_count" if window else "count_zero",
        value=index + 1,
        limit=window,
        by=index + 1 - window,
        unit="items",
        sentence=f"{ref} was the {ordinal(rank + 1)} of {counted(candidates, 'candidate')} and would be in item"
        f" {index + 1}; {room}.",
        where={"cluster": index, "rank": rank},
    )


def plain(path: Path, bound: str, sentence: str, *, exact: bool = True, **where: Any) -> Finding:
    """A finding that has no numbers."""
    return Finding(path=path, bound=bound, sentence=sentence, exact=exact, where=where)


def distances(starts: Iterable[int], edges: Iterable[Edge], furthest: int) -> dict[int, int]:
    """Hops from the nearest start to every entity within ``furthest``, relations followed either way."""
    around: dict[int, set[int]] = {}
    for subject, object_ in edges:
        around.setdefault(subject, set()).add(object_)
        around.setdefault(object_, set()).add(subject)
    found = dict.fromkeys(starts, 0)
    frontier = set(found)
    for hops in range(1, furthest + 1):
        frontier = {entity for origin in frontier for entity in around.get(origin, ()) if entity not in found}
        found |= dict.fromkeys(frontier, hops)
    return found


def too_far(
    ref: str, entities: Sequence[int], reach: Sequence[Mapping[int, int]], max_hops: int
) -> Finding | None:
    """A row whose entities the walk did not come to; None when nothing connects them.

    ``reach``: per item, the hops to every entity there is a way to, bound or not.
    """
    hops = [
        (found[entity], entity, index)
        for index, found in enumerate(reach)
        for entity in entities
        if entity in found
    ]
    beyond = [each for each in hops if each[0] > max_hops]
    if beyond:
        value, entity, index = min(beyond)
        return Finding(
            path="walk",
            bound="max_hops",
            value=value,
            limit=max_hops,
            by=value - max_hops,
            unit="hops",
            sentence=f"{ref} mentions an entity {counted(value, 'hop')} from item {index + 1}; the walk went"
            f" {max_hops}.",
            where={"item": index, "entity": entity},
        )
    at_home = [(entity, index) for hop, entity, index in hops if hop == 0]
    if at_home:
        entity, index = min(at_home)
        sentence = (
            f"{ref} mentions an entity that item {index + 1} itself mentions. The walk adds rows of entities one hop"
            " away or more."
        )
        return plain("walk", "same_entity", sentence, item=index, entity=entity)
    return None


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th ..."""
    teens = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def percent(value: int) -> str:
    """1/10,000 as a percentage: two places, as exact as the number is."""
    return f"{value / 100:.2f} %"
