"""How an answer of this contract came about, in order, read off its trace.

A trace names rows; what they say is read as they are stored now. Where a row is gone, its place says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from memoryconsole.models import Trace
from memoryconsole.pages.rows import Shown, read_rows

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """A row as a block shows it. `row`: None when it was deleted since. `start`, `chars`: what was shown of it."""

    ref: str
    row: Shown | None
    start: int
    chars: int
    cut: bool

    @property
    def end(self) -> int:
        return self.start + self.chars


@dataclass(frozen=True, slots=True)
class Part:
    """A context block. `hidden`: lines of it that are not listed here."""

    type: str
    node: int | None
    depth: int
    lines: tuple[Line, ...]
    hidden: int
    more: bool

    @property
    def node_ref(self) -> str:
        return f"ep:{self.node}"


def of_query(trace: Trace, most: int) -> dict[str, Any]:
    """The story of an expand-query (at most two statements)."""
    told = trace.told
    blocks = told["blocks"][:most]
    left = most
    taken = []
    for block in blocks:
        entries = block["shown"][:left]
        left -= len(entries)
        taken.append((block, entries))
    rows = read_rows(trace.store, {entry[0] for _, entries in taken for entry in entries})
    return {
        "parts": [_part(block, entries, rows) for block, entries in taken],
        "parts_hidden": max(len(told["blocks"]) - len(blocks), 0),
        "pending_refs": [f"ep:{number}" for number in told["pending"]],
        "dropped": len(told["dropped"]),
        "synthesis": told["synthesis"],
        "budget": trace.policy["settings"]["context_max_tokens"],
        "session_id": trace.seen["session_id"],
    }


def of_page(trace: Trace, most: int) -> dict[str, Any]:
    """The story of an expansion (at most two statements)."""
    told = trace.told
    refs = [f"ep:{told['node_id']}"] if "node_id" in told else []
    refs += [f"mem:{told['store_id']}"] if "store_id" in told else []
    refs += islice(told["shown"], most)
    rows = read_rows(trace.store, set(refs))
    return {"opened": [(ref, rows.get(ref)) for ref in refs], "told": told}


def _part(block: Json, entries: list[Any], rows: Mapping[str, Shown]) -> Part:
    return Part(
        type=block["type"],
        node=block["node"],
        depth=block["depth"],
        lines=tuple(
            Line(entry[0], rows.get(entry[0]), entry[1], entry[2], bool(entry[3])) for entry in entries
        ),
        hidden=len(block["shown"]) - len(entries),
        more=block["more"],
    )
