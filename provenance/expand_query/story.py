"""How an answer of this contract came about, in order, read off its trace.

A trace names rows and stretches of their texts, or of the payloads that stood in their stead. Each stretch is read as
it is stored now, and shown only where its text is still the one that was answered with.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

from memoryconsole.models import Store, Trace
from memoryconsole.statements import all_rows
from memoryconsole.templatetags.console import BRIEF_CHARS

Json = Mapping[str, Any]

# One code point more than a page shows, so that the page can tell that there is more.
_READ_CHARS: Final = BRIEF_CHARS + 1

# A payload is told of with its row, and goes with it. Nobody is shown one without an owner.
_STRETCHES: Final = """
    WITH asked AS (
        SELECT * FROM unnest(%(places)s::int[], %(kinds)s::text[], %(numbers)s::bigint[], %(payloads)s::text[],
                             %(starts)s::int[], %(chars)s::int[]) AS a (place, kind, number, payload, start, chars))
    SELECT a.place, encode(coalesce(p.digest, r.digest), 'hex'),
           substr(coalesce(p.content, r.content), a.start + 1, a.chars)
    FROM asked AS a
    JOIN mc_record AS r ON r.store_id = %(store)s AND r.number = a.number AND r.deleted_at IS NULL
    LEFT JOIN mc_payload AS p ON p.store_id = %(store)s AND p.ref = a.payload AND p.session_id IS NOT NULL
    WHERE a.kind = 'mem' AND (a.payload IS NULL OR p.id IS NOT NULL)
    UNION ALL
    SELECT a.place, encode(s.digest, 'hex'), substr(s.summary, a.start + 1, a.chars)
    FROM asked AS a
    JOIN mc_summary AS s ON s.store_id = %(store)s AND s.number = a.number AND s.deleted_at IS NULL
    WHERE a.kind = 'ep'
    UNION ALL
    SELECT a.place, encode(p.digest, 'hex'), substr(p.content, a.start + 1, a.chars)
    FROM asked AS a
    JOIN mc_payload AS p ON p.store_id = %(store)s AND p.ref = a.payload AND p.session_id IS NOT NULL
    WHERE a.kind = 'payload'
"""


@dataclass(frozen=True, slots=True)
class Line:
    """A stretch of a text as it was shown: `chars` code points from `start` on. `ref`: of the row, '' for a payload
    that was opened by its own ref; `payload`: the ref of the payload whose text it is, None for the row's own.

    `text`: the beginning of the stretch, None where it may not be shown: it is `stored` no more, or is another text.
    """

    ref: str
    payload: str | None
    start: int
    chars: int
    cut: bool
    stored: bool = False
    text: str | None = None

    @property
    def end(self) -> int:
        return self.start + self.chars

    @property
    def digest_ref(self) -> str:
        """What `Trace.seen["digests"]` calls the text."""
        return self.ref if self.payload is None else f"payload:{self.payload}"


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
    """The story of an expand-query (at most one statement)."""
    told = trace.told
    blocks = told["blocks"][:most]
    left = most
    taken = []
    for block in blocks:
        lines = [_line(entry) for entry in block["shown"][:left]]
        left -= len(lines)
        taken.append((block, lines))
    read = iter(_read(trace, [line for _, lines in taken for line in lines]))
    return {
        "parts": [_part(block, tuple(islice(read, len(lines)))) for block, lines in taken],
        "parts_hidden": max(len(told["blocks"]) - len(blocks), 0),
        "pending_refs": [f"ep:{number}" for number in told["pending"]],
        "dropped": len(told["dropped"]),
        "synthesis": told["synthesis"],
        "budget": trace.policy["settings"]["context_max_tokens"],
        "session_id": trace.seen["session_id"],
    }


def of_page(trace: Trace, most: int) -> dict[str, Any]:
    """The story of an expansion (at most one statement)."""
    return {"opened": _read(trace, list(islice(_opened(trace.told), most + 1))), "told": trace.told}


def _opened(told: Json) -> Iterator[Line]:
    """What was opened, and what lies below it."""
    if "node_id" in told:
        refs = [f"ep:{told['node_id']}", *told["shown"]]
        # Traces that were left before spans were kept have none, and nothing to show by.
        for ref, (start, chars) in zip(refs, told.get("spans", ()), strict="spans" in told):
            yield Line(ref, None, start, chars, cut=False)
        return
    ref = f"mem:{told['store_id']}" if "store_id" in told else ""
    start, chars = told["content_offset"], told["content_returned_chars"]
    yield Line(ref, told.get("externalized_ref"), start, chars, cut=told.get("has_more", False))


def _line(entry: Sequence[Any]) -> Line:
    ref, start, chars, cut, *payload = entry
    return Line(ref, payload[0] if payload else None, start, chars, bool(cut))


def _part(block: Json, lines: tuple[Line, ...]) -> Part:
    return Part(
        type=block["type"],
        node=block["node"],
        depth=block["depth"],
        lines=lines,
        hidden=len(block["shown"]) - len(lines),
        more=block["more"],
    )


def _read(trace: Trace, lines: Sequence[Line]) -> list[Line]:
    """The same lines, each with its text where that is still what it was (one statement; none for no lines)."""
    if not lines:
        return []
    found = {place: (digest, text) for place, digest, text in _stretches(trace.store, lines)}
    digests = trace.seen["digests"]
    read = []
    for place, line in enumerate(lines):
        digest, text = found.get(place, ("", None))
        same = digest[:16] == digests.get(line.digest_ref)
        read.append(replace(line, stored=place in found, text=text if same else None))
    return read


def _stretches(store: Store, lines: Sequence[Line]) -> Iterable[tuple[Any, ...]]:
    """(place in `lines`, digest of the whole text, beginning of the stretch) of those that are stored."""
    refs = [line.ref.partition(":") for line in lines]
    return all_rows(
        _STRETCHES,
        {
            "store": store.pk,
            "places": list(range(len(lines))),
            "kinds": [kind or "payload" for kind, _, _ in refs],
            "numbers": [int(number or 0) for _, _, number in refs],
            "payloads": [line.payload for line in lines],
            "starts": [line.start for line in lines],
            "chars": [min(line.chars, _READ_CHARS) for line in lines],
        },
    )
