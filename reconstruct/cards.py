"""An answer's items as a page shows them: the body, with the rows' producers and the trace's evidence beside it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict
from django.urls import reverse

from memoryconsole.models import Store, Trace
from memoryconsole.pages.marks import Asked
from memoryconsole.pages.rows import read_rows
from memoryconsole.pages.saying import Said
from memoryconsole.pages.shown import Shown
from memoryconsole.refs import split_ref
from reconstruct import evidence, words

# A text without nodes is read this much further a step: a page of it.
STEP_CHARS = 2_000
# A longer question is not carried along in addresses; its words are then not marked further on.
MAX_CARRIED_CHARS = 500

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote with what a reader needs to go on from it (`content_truncated`, `node` and so on of the body).
    `further`: the address of the next step.
    """

    ref: str
    content: str
    markers: Body
    further: str

    @property
    def whole(self) -> bool:
        """Nothing of the row's text is missing."""
        return not self.markers.get("content_truncated") and "node" not in self.markers


@dataclass(frozen=True, slots=True)
class ClaimLine:
    """One claim. `row`: None when it was deleted since it was answered. `found`: how the search came to it."""

    ref: str
    as_of: str
    row: Shown | None
    why: Said
    roles: tuple[Said, ...]
    found: evidence.Evidence | None
    quote: Quote | None
    is_head: bool


@dataclass(frozen=True, slots=True)
class Card:
    place: int
    head: Quote
    lead: Said
    head_line: ClaimLine
    lines: tuple[ClaimLine, ...]
    holds: str
    conflicts: tuple[Body, ...]
    claims_omitted: int
    excerpts_omitted: int
    asked: Asked | None


def cards(store: Store, body: Body, trace: Trace) -> list[Card]:
    """The items of a reconstruction (at most two statements)."""
    beside = _Beside(
        store=store,
        query=trace.request["query"],
        rows=read_rows(store, {claim["ref"] for item in body["items"] for claim in item["claims"]}),
        found=_evidence(trace),
        asked=evidence.asked_of(trace.seen),
        seconds=trace.told["policy"]["adjacency_seconds"],
        told=trace.told["items"],
    )
    return [_card(place, item, beside) for place, item in enumerate(body["items"], start=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Beside:
    """What stands beside the body for all items of an answer."""

    store: Store
    query: str
    rows: Mapping[str, Shown]
    found: Mapping[str, evidence.Evidence]
    asked: Asked | None
    seconds: int
    told: list[Body]


def _quote(beside: _Beside, ref: str, content: str, markers: Body) -> Quote:
    return Quote(
        ref, content, markers, further(beside.store.public_id, ref, len(content), markers, beside.query)
    )


def further(public_id: str, ref: str, shown: int, markers: Body, query: str) -> str:
    """Where one reads on from a quote of `shown` characters: the rest of its node, the nodes around a whole one, or
    the next stretch of a text without nodes.
    """
    kind, number = split_ref(ref)
    address = QueryDict(mutable=True)
    node = markers.get("node")
    if node is None:
        address["until"] = str(shown + STEP_CHARS)
    elif markers.get("content_truncated"):
        address["first"] = str(node["index"])
    else:
        address["first"] = str(max(node["index"] - 1, 0))
        address["last"] = str(min(node["index"] + 1, node["of"] - 1))
    if 0 < len(query) <= MAX_CARRIED_CHARS:
        address["query"] = query
    page = "ask:read-record" if kind == "mem" else "ask:read-summary"
    return f"{reverse(page, args=[public_id, number])}?{address.urlencode()}"


def _card(place: int, item: Body, beside: _Beside) -> Card:
    rows = beside.rows
    quotes = {
        each["ref"]: _quote(beside, each["ref"], each["content"], each) for each in item.get("excerpts", ())
    }
    head = _quote(beside, item["head_ref"], item["content"], item)
    lines = tuple(
        ClaimLine(
            ref=claim["ref"],
            as_of=claim["as_of"],
            row=rows.get(claim["ref"]),
            why=words.why(claim, item["claims"], rows, beside.seconds),
            roles=tuple(words.role(role) for role in words.further_roles(claim)),
            found=beside.found.get(claim["ref"]),
            quote=quotes.get(claim["ref"]),
            is_head=claim["ref"] == head.ref,
        )
        for claim in item["claims"]
    )
    return Card(
        place=place,
        head=head,
        lead=words.lead(head.ref, beside.told[place - 1]["claims"]),
        head_line=next(line for line in lines if line.is_head),
        lines=lines,
        holds=words.cluster_reason(item["independence_reason"]),
        conflicts=tuple(item.get("conflicts", ())),
        claims_omitted=item.get("claims_omitted", 0),
        excerpts_omitted=item.get("excerpts_omitted", 0),
        asked=beside.asked,
    )


def _evidence(trace: Trace) -> dict[str, evidence.Evidence]:
    terms = evidence.words_of(trace.seen, trace.request["query"])
    return {each.ref: each for each in evidence.read(trace.seen["candidates"], terms)}


@dataclass(frozen=True, slots=True)
class Recalled:
    """One row of a recall, as the body has it, with the evidence the trace has for it."""

    row: Body
    found: evidence.Evidence | None
    asked: Asked | None


def recalled(body: Body, trace: Trace) -> list[Recalled]:
    """The rows of a recall; nothing is read."""
    found, asked = _evidence(trace), evidence.asked_of(trace.seen)
    return [Recalled(row, found.get(row["ref"]), asked) for row in body["results"]]
