"""get_contents: stored texts by ref, whole or in part (contract: reconstruct H).

Entries are judged one by one and none stops the others: a ref that leads nowhere is missing, a range that cannot be
served is unresolved, and never widened. What is said of an entry is said in this order: whether the row is there,
whether the range is one at all, whether the row has it.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from memoryconsole.models import Record, Store, Summary, Trace
from memoryconsole.models.traces import Outcome, row_key
from memoryconsole.nodes import Parent, StoredNode, partitions, read_nodes
from memoryconsole.registry import Replayed
from memoryconsole.services.superseding import successors
from memoryconsole.snapshot import snapshot
from memoryconsole.traces import Laps, Told, check_digests, kept_digest
from reconstruct.core import why
from reconstruct.core.types import Ref

MAX_REFS = 20
# Characters a call answers (contract, section H): a row's text with what is said about the row. The first is always
# served.
BUDGET_CHARS = 40_000

Reason = Literal["invalid_range", "no_current_nodes", "node_out_of_range", "span_out_of_range"]

# More digits than any number that is given out.
_REF = re.compile(r"(mem|ep):0*([1-9][0-9]{0,17})", re.ASCII)
_MEMBERS = {"ref", "node", "span"}


@dataclass(frozen=True, slots=True)
class Range:
    """What part of a text is wanted: nodes first to last, both included, or code points [first, last)."""

    kind: Literal["node", "span"]
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One of a call's refs. `sent`: as the caller sent it. `name`: its ref as it is spelled there; what was sent,
    where that names none. `ref`: None when it is no ref. `range`: None for the whole text; a reason when it is no
    range.
    """

    sent: Any
    name: Any
    ref: Ref | None
    range: Range | Reason | None = None


def get_contents(store: Store, sent: Sequence[Any], laps: Laps) -> Told:
    """The answer to 1 to MAX_REFS refs, each a ref or `{ref, node | span}`, as they came in."""
    entries = [read_entry(each) for each in sent]
    with snapshot() as at:
        rows = _rows(store, {entry.ref for entry in entries if entry.ref is not None})
        by_node = {
            entry.ref for entry in entries if isinstance(entry.range, Range) and entry.range.kind == "node"
        }
        parents = {row.parent for ref, row in rows.items() if ref in by_node}
        # Where a node lies depends on the text alone: the model need not be the running one.
        nodes = read_nodes(store, None, parents)
        newer = successors(store, [row.parent for row in rows.values()])
    for row in rows.values():
        if row.parent in newer:
            row.about["superseded_by"] = newer[row.parent]
    laps.lap("rows")
    served = _judged(entries, rows, nodes)
    body = _body(entries, served, rows)
    laps.lap("serve")
    return Told(
        body=body,
        outcome=Outcome.ANSWERED if body["items"] else Outcome.EMPTY,
        reason="" if body["items"] else "nothing_served",
        asked_at=at,
        seen={"digests": {str(ref): kept_digest(row.digest) for ref, row in rows.items()}},
        told={"entries": served, "superseded_by": {str(ref): newer[row.parent] for ref, row in rows.items()
                                                   if row.parent in newer}},
        quoted=_quoted(entries, served),
    )  # fmt: skip


def replay_contents(store: Store, trace: Trace, refs: Sequence[Any]) -> Replayed:
    """What was served, read again at the very places. Raises NotReplayable when a row is gone."""
    entries = [read_entry(each) for each in refs]
    served = trace.told["entries"]
    with snapshot():
        rows = _rows(store, {entry.ref for entry in entries if entry.ref is not None})
    check_digests(trace.seen["digests"], {str(ref): row.digest for ref, row in rows.items()})
    for ref, row in rows.items():
        if newer := trace.told["superseded_by"].get(str(ref)):
            row.about["superseded_by"] = newer
    return Replayed(_body(entries, served, rows), trace.told)


def served_refs(trace: Trace) -> list[str]:
    """The refs whose texts a traced call served, in order, each once."""
    entries = [read_entry(each) for each in trace.request["refs"]]
    pairs = zip(entries, trace.told["entries"], strict=True)
    return list(dict.fromkeys(str(entry.ref) for entry, outcome in pairs if outcome["as"] == "served"))


def why_contents(_store: Store, trace: Trace, refs: Sequence[Any], ref: str) -> dict[str, Any]:
    """Why a row's text is in an answer of get_contents, or not. Of a ref that was sent twice, the entry that was
    served speaks; of several that were not, the first.
    """
    entries = [read_entry(each) for each in refs]
    pairs = zip(entries, trace.told["entries"], strict=True)
    outcomes = [outcome for entry, outcome in pairs if str(entry.ref) == ref]
    if not outcomes:
        return why.alone(ref, "not_asked", f"{ref} was not asked for.")
    outcome = next((each for each in outcomes if each["as"] == "served"), outcomes[0])
    bound = outcome.get("reason", outcome["as"])
    sentence = f"{ref} {_SENTENCES[outcome['as']]}" + (f": {bound}." if "reason" in outcome else ".")
    return why.alone(ref, bound, sentence, inside=outcome["as"] == "served")


_SENTENCES = {
    "served": "was served",
    "missing": "was not there: no row of that ref, or none any more",
    "unresolved": "was asked for in a range that could not be served",
    "deferred": f"fell behind the {BUDGET_CHARS} characters of one answer and was handed back to be asked again",
}


def read_entry(sent: Any) -> Entry:
    """An entry of whatever shape: what is wrong with it is part of the answer, never an error."""
    if isinstance(sent, str):
        return Entry(sent, sent, _ref(sent))
    if not isinstance(sent, dict) or not isinstance(sent.get("ref"), str):
        return Entry(sent, sent, None)
    return Entry(sent, sent["ref"], _ref(sent["ref"]), _range(sent))


def _ref(text: str) -> Ref | None:
    found = _REF.fullmatch(text.strip())
    return None if found is None else Ref("mem" if found[1] == "mem" else "ep", int(found[2]))


def _range(sent: dict[str, Any]) -> Range | Reason | None:
    if sent.keys() - _MEMBERS or {"node", "span"} <= sent.keys():
        return "invalid_range"
    if "node" in sent:
        given = sent["node"]
        first, last = _pair([given, given] if type(given) is int else given)
        return Range("node", first, last) if 0 <= first <= last else "invalid_range"
    if "span" in sent:
        first, last = _pair(sent["span"])
        return Range("span", first, last) if 0 <= first < last else "invalid_range"
    return None


def _pair(given: Any) -> tuple[int, int]:
    """Two JSON integers; (-1, -1), which no range is, for anything else."""
    # JSON's true is an int to Python.
    if isinstance(given, list) and len(given) == 2 and all(type(end) is int for end in given):
        return given[0], given[1]
    return -1, -1


@dataclass(frozen=True, slots=True)
class _Row:
    """A stored row: its text, what is said about it, and where its nodes hang."""

    parent: Parent
    text: str
    digest: bytes
    about: dict[str, Any]


def _rows(store: Store, refs: set[Ref]) -> dict[Ref, _Row]:
    """The live rows among the refs (one statement a kind)."""
    rows: dict[Ref, _Row] = {}
    records = [ref.number for ref in refs if ref.kind == "mem"]
    if records:
        stored = Record.objects.live().filter(store=store, number__in=records)
        for record in stored:
            rows[Ref("mem", record.number)] = _Row(
                ("mem", record.pk), record.content, bytes(record.digest), _about(record)
            )
    summaries = [ref.number for ref in refs if ref.kind == "ep"]
    if summaries:
        for summary in Summary.objects.live().filter(store=store, number__in=summaries):
            about = {"timestamp": summary.as_of}
            rows[Ref("ep", summary.number)] = _Row(
                ("ep", summary.pk), summary.summary, bytes(summary.digest), about
            )
    return rows


def _about(record: Record) -> dict[str, Any]:
    source = {"type": record.source_type, "id": record.source_id, "name": record.source_name}
    about = {
        "source": source if any(source.values()) else None,
        "timestamp": record.timestamp,
        "id": record.message_id,
    }
    return {name: value for name, value in about.items() if value}


def _judged(
    entries: Sequence[Entry], rows: dict[Ref, _Row], nodes: dict[Parent, list[StoredNode]]
) -> list[dict[str, Any]]:
    """What becomes of each entry: `as` served (with the `range`, null for a whole text), missing, unresolved (with
    the `reason`), or deferred.
    """
    judged: list[dict[str, Any]] = []
    spent = served = 0
    for entry in entries:
        row = rows.get(entry.ref) if entry.ref is not None else None
        if entry.ref is None or row is None:
            judged.append({"as": "missing"})
            continue
        found = _found(row, entry.range, nodes.get(row.parent, []))
        if isinstance(found, str):
            judged.append({"as": "unresolved", "reason": found})
            continue
        spent += charge(_item(entry.ref, row, found))
        if served and spent > BUDGET_CHARS:
            break
        served += 1
        judged.append({"as": "served", "range": found})
    return judged + [{"as": "deferred"}] * (len(entries) - len(judged))


def _quoted(entries: Sequence[Entry], judged: Sequence[dict[str, Any]]) -> list[int]:
    served = {entry.ref for entry, outcome in zip(entries, judged, strict=True) if outcome["as"] == "served"}
    return sorted(row_key(ref.kind, ref.number) for ref in served if ref is not None)


def _found(
    row: _Row, wanted: Range | Reason | None, nodes: Sequence[StoredNode]
) -> dict[str, Any] | Reason | None:
    return _span(wanted, len(row.text), nodes) if isinstance(wanted, Range) else wanted


def _body(
    entries: Sequence[Entry], judged: Sequence[dict[str, Any]], rows: dict[Ref, _Row]
) -> dict[str, Any]:
    items: list[dict[str, Any]] = []
    missing: list[Any] = []
    unresolved: list[dict[str, Any]] = []
    deferred: list[Any] = []
    for entry, outcome in zip(entries, judged, strict=True):
        if outcome["as"] == "served" and entry.ref is not None:
            items.append(_item(entry.ref, rows[entry.ref], outcome["range"]))
        elif outcome["as"] == "missing":
            missing.append(entry.name)
        elif outcome["as"] == "unresolved":
            unresolved.append({"ref": entry.name, "reason": outcome["reason"]})
        else:
            deferred.append(entry.sent)
    body: dict[str, Any] = {"items": items, "missing": missing, "count": len(items)}
    if unresolved:
        body["unresolved"] = unresolved
    if deferred:
        body |= {"deferred": deferred, "budget_chars": BUDGET_CHARS}
    return body


def charge(item: dict[str, Any]) -> int:
    """What an item costs of the budget, in characters: its text, and all else about it as JSON."""
    about = {name: value for name, value in item.items() if name != "content"}
    return len(item["content"]) + len(json.dumps(about, ensure_ascii=False))


def _item(ref: Ref, row: _Row, found: dict[str, Any] | None) -> dict[str, Any]:
    if found is None:
        return {"ref": str(ref), "content": row.text, **row.about}
    start, end = found["span"]
    return {"ref": str(ref), "content": row.text[start:end], **row.about, "range": found}


def _span(wanted: Range, length: int, nodes: Sequence[StoredNode]) -> dict[str, Any] | Reason:
    """The `range` member of an item: what is served of a text of `length` code points."""
    if wanted.kind == "span":
        if wanted.first >= length:
            return "span_out_of_range"
        return {"span": [wanted.first, min(wanted.last, length)], "content_len": length}
    if not partitions(nodes, length):
        return "no_current_nodes"
    if wanted.last >= len(nodes):
        return "node_out_of_range"
    return {
        "span": [nodes[wanted.first].start, nodes[wanted.last].end],
        "node": [wanted.first, wanted.last],
        "of": len(nodes),
        "content_len": length,
    }
