"""How an answer came about, in order, read off its trace: what the search saw, what held together, what was walked,
what was quoted and what fell behind the budget.

A trace names rows; what they say is read as they are stored now. Where a row is gone, its place says so.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from memoryconsole.models import Trace
from memoryconsole.pages.rows import read_names, read_rows
from memoryconsole.pages.saying import Said
from memoryconsole.pages.shown import Shown
from reconstruct import evidence, words
from reconstruct.contents import read_entry
from reconstruct.parameters import parameters

Json = Mapping[str, Any]
# Entities of one item that its walk is told by; the others are counted.
REACHED_SHOWN = 20
# What just missed a bound is shown in a few rows: the border is what matters.
NEAR_SHARE = 4


@dataclass(frozen=True, slots=True)
class Line:
    """A row the search looked at. `row`: None when it was deleted since."""

    found: evidence.Evidence
    row: Shown | None


@dataclass(frozen=True, slots=True)
class Lines:
    """A list of rows in part: `hidden` of them are not shown."""

    shown: tuple[Line, ...]
    hidden: int

    @property
    def total(self) -> int:
        return len(self.shown) + self.hidden


@dataclass(frozen=True, slots=True)
class Member:
    """A row of a cluster, and the key that joined it."""

    ref: str
    row: Shown | None
    why: Said


@dataclass(frozen=True, slots=True)
class Group:
    """A cluster. `place`: its item's, from 1; `chosen`: it was within the count."""

    place: int
    chosen: bool
    holds: str
    members: tuple[Member, ...]
    hidden: int


@dataclass(frozen=True, slots=True)
class Head:
    """What an item of the answer quotes first, and why that leads it."""

    place: int
    ref: str
    row: Shown | None
    lead: Said
    others: int


@dataclass(frozen=True, slots=True)
class Step:
    """An entity the walk came to: by a relation, from the entity at its other end. Names are None when gone."""

    entity: int
    name: str | None
    hops: int
    predicate: str
    other: str | None
    forward: bool


@dataclass(frozen=True, slots=True)
class Walk:
    """What one item's walk did. `added`: rows it brought in, with how; `omitted`: rows that max_evidence cut."""

    place: int
    head: str
    steps: tuple[Step, ...]
    hidden: int
    added: tuple[Member, ...]
    omitted: tuple[str, ...]
    unfollowed: bool
    bound_met: bool


@dataclass(frozen=True, slots=True)
class Place:
    """A quote in the order of the budget. `chars`: its own length; `used`: with all before it."""

    turn: int
    item: int
    ref: str
    row: Shown | None
    chars: int
    used: int
    of: int
    node: tuple[int, int] | None
    order: tuple[int, ...]
    unavailable: str | None


def of_reconstruct(trace: Trace, most: int) -> dict[str, Any]:
    """The story of a reconstruction (at most three statements). `most`: rows of each list."""
    told, seen = trace.told, trace.seen
    lists = _evidence(trace, most)
    groups = told["clusters"][: told["policy"]["count"]["effective"] + most // NEAR_SHARE]
    sequence = told["sequence"][: max(most, told["carried"])]
    items = told["items"]
    rows = read_rows(trace.store, {*_refs(lists), *_cluster_refs(groups, most), *_item_refs(items, most),
                                   *(each["ref"] for each in sequence)})  # fmt: skip
    places = _places(sequence, told["node_order"], rows)
    carried = told["carried"]
    return _searched(trace, lists, rows) | {
        "parameters": parameters(trace.policy, trace.request, told["policy"]),
        "groups": _groups(trace, groups, rows, most),
        "groups_hidden": len(told["clusters"]) - len(groups),
        "count": told["policy"]["count"],
        "walks": _walks(trace, rows, most),
        "carried": places[:carried],
        "fallen": places[carried:],
        "fallen_hidden": len(told["sequence"]) - len(sequence),
        "budget": told["policy"]["budget"],
        "used": told["used_budget"],
        "returned": told["returned"],
        "items": len(items),
        "heads": [
            Head(
                place,
                item["head"],
                rows.get(item["head"]),
                words.lead(item["head"], item["claims"]),
                len(item["kept"]) - 1,
            )
            for place, item in enumerate(items[: told["returned"]], start=1)
        ],
        "clusters": len(told["clusters"]),
        "shortfall": words.shortfall_sentence(trace.reason, degraded=trace.degraded),
        "cue_names": _cue_names(trace, seen),
    }


def of_recall(trace: Trace, most: int) -> dict[str, Any]:
    """The story of a recall (at most two statements): there is a search and nothing after it."""
    lists = _evidence(trace, most)
    rows = read_rows(trace.store, _refs(lists))
    return _searched(trace, lists, rows) | {"limit": trace.policy["limit"]}


def _evidence(trace: Trace, most: int) -> dict[str, tuple[list[evidence.Evidence], int]]:
    """By list: the rows that are shown, and how many are not."""
    terms = evidence.words_of(trace.seen, trace.request["query"])
    found = {}
    for name in ("candidates", "behind", "below"):
        every = trace.seen[name]
        size = most if name == "candidates" else most // NEAR_SHARE
        found[name] = (evidence.read(every, terms)[:size], max(len(every) - size, 0))
    return found


def _refs(lists: Mapping[str, tuple[list[evidence.Evidence], int]]) -> set[str]:
    return {each.ref for shown, _ in lists.values() for each in shown}


def _cluster_refs(groups: Sequence[Json], most: int) -> Iterable[str]:
    return (ref for group in groups for ref, _ in group["rows"][:most])


def _item_refs(items: Sequence[Json], most: int) -> Iterable[str]:
    for item in items:
        yield item["head"]
        yield from islice((claim["ref"] for claim in item["claims"]), most)


def _searched(
    trace: Trace, lists: Mapping[str, tuple[list[evidence.Evidence], int]], rows: Mapping[str, Shown]
) -> dict[str, Any]:
    search = trace.seen["search"]
    return {
        "search": search,
        "words": evidence.words_of(trace.seen, trace.request["query"]),
        "asked": evidence.asked_of(trace.seen),
        "compared": bool(search["weighing"] and search["weighing"]["space"]),
        **{
            name: Lines(tuple(Line(each, rows.get(each.ref)) for each in shown), hidden)
            for name, (shown, hidden) in lists.items()
        },
    }


def _groups(trace: Trace, groups: Sequence[Json], rows: Mapping[str, Shown], most: int) -> list[Group]:
    window = trace.told["policy"]["count"]["effective"]
    seconds = trace.told["policy"]["adjacency_seconds"]
    declared: dict[str, list[Json]] = defaultdict(list)
    for subject, predicate, object_ in trace.seen["relations"]:
        declared[object_].append({"ref": subject, "role": predicate})
    found = []
    for place, group in enumerate(groups, start=1):
        # As claims, so that one sentence says it here and on an answer's card.
        claims = [
            {"ref": ref, "why": why, "roles": declared.get(ref, ())} for ref, why in group["rows"][:most]
        ]
        members = tuple(
            Member(claim["ref"], rows.get(claim["ref"]), words.why(claim, claims, rows, seconds))
            for claim in claims
        )
        hidden = len(group["rows"]) - len(members)
        found.append(Group(place, place <= window, words.cluster_reason(group["reason"]), members, hidden))
    return found


def _walks(trace: Trace, rows: Mapping[str, Shown], most: int) -> list[Walk]:
    """What each item's walk did; of an item that walked nowhere, nothing. One statement for the names."""
    relations = {number: rest for number, *rest in trace.seen["graph"]}
    ends = {end for subject, _, object_, _ in relations.values() for end in (subject, object_)}
    names = read_names(trace.store, ends)
    walks = []
    for place, item in enumerate(trace.told["items"], start=1):
        added = [claim for claim in item["claims"] if claim["hops"] is not None][:most]
        if not (item["reached"] or added or item["unfollowed"] or item["omitted"]):
            continue
        shown = item["reached"][:REACHED_SHOWN]
        walks.append(
            Walk(
                place=place,
                head=item["head"],
                steps=tuple(_step(each, relations, names) for each in shown),
                hidden=len(item["reached"]) - len(shown),
                added=tuple(
                    Member(claim["ref"], rows.get(claim["ref"]), words.why(claim, [claim], rows, 0))
                    for claim in added
                ),
                omitted=tuple(item["omitted"]),
                unfollowed=item["unfollowed"],
                bound_met=item["bound_met"],
            )
        )
    return walks


def _step(reached: Sequence[int], relations: Mapping[int, Sequence[Any]], names: Mapping[int, str]) -> Step:
    entity, hops, number = reached
    subject, predicate, object_, _ = relations[number]
    forward = bool(object_ == entity)
    other = subject if forward else object_
    return Step(entity, names.get(entity), hops, predicate, names.get(other), forward)


def _places(
    sequence: Sequence[Json], node_order: Mapping[str, Sequence[int]], rows: Mapping[str, Shown]
) -> list[Place]:
    places, used = [], 0
    for turn, each in enumerate(sequence, start=1):
        chars = each["span"][1] - each["span"][0]
        used += chars
        places.append(
            Place(
                turn=turn,
                item=each["item"] + 1,
                ref=each["ref"],
                row=rows.get(each["ref"]),
                chars=chars,
                used=used,
                of=each["of"],
                node=None if each["node"] is None else tuple(each["node"]),
                order=tuple(node_order.get(each["ref"], ())),
                unavailable=each["unavailable"],
            )
        )
    return places


def _cue_names(trace: Trace, seen: Json) -> list[str | None]:
    """The names of the entities the question mentions: the search looked for their other names too. None: gone."""
    cues = seen["cues"]
    if not cues:
        return []
    numbers = list(dict.fromkeys(number for number, _ in cues["entities"]))
    names = read_names(trace.store, numbers)
    return [names.get(number) for number in numbers]


def of_contents(trace: Trace, most: int) -> dict[str, Any]:
    """The story of a get_contents (at most two statements): what became of each entry, as it was sent."""
    entries = [read_entry(each) for each in trace.request["refs"]]
    rows = read_rows(trace.store, {str(entry.ref) for entry in entries if entry.ref is not None})
    lines = [
        {"sent": entry.name, "row": rows.get(str(entry.ref)), **outcome}
        for entry, outcome in zip(entries, trace.told["entries"], strict=True)
    ]
    return {"entries": lines[:most], "hidden": len(lines[most:])}
