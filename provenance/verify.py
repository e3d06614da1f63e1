"""Whether what an answer quoted still stands where it was quoted from: by digest, and adding nothing to any contract.

A pasted quote is compared with what stands at its place today; a stored answer, which keeps no texts, by the digests
that its trace has. That a quote is current says that the text is the same, not that it is true.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from django.db import connection

from memoryconsole.models import Store, Trace
from memoryconsole.snapshot import snapshot
from memoryconsole.times import write_stamp
from memoryconsole.traces import kept_digest

Json = dict[str, Any]
Kind = Literal["mem", "ep", "payload", "chunk"]
State = Literal["current", "changed", "gone", "not_located"]

MAX_QUOTES: Final = 500
"""Far more than any answer of the contracts holds; each costs one slice of a text."""

STATES: Final[tuple[State, ...]] = ("current", "changed", "gone", "not_located")

_LARGEST: Final = 2**53 - 1
_CHUNK: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote, and where it was taken from: `kind` None when that cannot be told. `path` into what was pasted."""

    path: str
    text: str
    kind: Kind | None = None
    name: int | str = ""
    offset: int = 0

    @property
    def ref(self) -> str | None:
        return None if self.kind is None else f"{self.kind}:{self.name}"


def of_answer(store: Store, answer: Mapping[str, Any]) -> Json:
    """The state of each quote of a pasted answer: an expand-query answer, its provenance alone, a reconstruction, an
    envelope or a bundle of envelopes.

    Raises ValueError for what holds more quotes than MAX_QUOTES.
    """
    quotes = list(quotes_of(answer))
    if len(quotes) > MAX_QUOTES:
        raise ValueError(f"At most {MAX_QUOTES} quotes at once.")
    with snapshot() as at:
        stands = _standing(store, quotes)
    told = [
        {"path": quote.path, "ref": quote.ref, "offset": quote.offset, "chars": len(quote.text)}
        | {"state": _state(quote, stands.get(place))}
        for place, quote in enumerate(quotes)
    ]
    return {"checked_at": write_stamp(at), "quotes": told, "counts": _counts(told)}


def of_trace(store: Store, trace: Trace) -> Json:
    """The state of each row, and each payload, that a traced answer quoted."""
    then: dict[str, str] = dict(trace.seen.get("digests", {}))
    refs = [f"{'ep' if key % 2 else 'mem'}:{key // 2}" for key in trace.quoted if key >= 0]
    refs += [ref for ref in then if ref.startswith("payload:")]
    with snapshot() as at:
        now = _digests(store, refs)
    told = []
    for ref in dict.fromkeys(refs):
        state: State = "gone" if ref not in now else "not_located"
        if ref in now and ref in then:
            state = "current" if now[ref] == then[ref] else "changed"
        told.append({"ref": ref, "state": state})
    return {"checked_at": write_stamp(at), "quotes": told, "counts": _counts(told)}


def quotes_of(answer: Mapping[str, Any]) -> Iterator[Quote]:
    """The quotes of an answer as it was pasted. What has no quote where one is expected has none to tell of."""
    provenance = answer.get("evidence_provenance")
    if isinstance(provenance, Mapping):
        yield from _items(provenance, "/evidence_provenance")
        return
    yield from _items(answer, "")
    yield from _envelope(answer, "")
    for name in ("claims_and_sources", "facts"):
        if isinstance(answer.get(name), Mapping):
            yield from _envelope(answer[name], f"/{name}")


def _items(holder: Mapping[str, Any], path: str) -> Iterator[Quote]:
    items = holder.get("items")
    for place, item in enumerate(items if isinstance(items, list) else ()):
        if not isinstance(item, Mapping):
            continue
        here = f"{path}/items/{place}"
        if isinstance(item.get("quote"), str):
            yield _evidence(item, f"{here}/quote")
        if isinstance(item.get("content"), str):
            yield _recalled(item, item.get("head_ref"), f"{here}/content")
        excerpts = item.get("excerpts")
        for number, excerpt in enumerate(excerpts if isinstance(excerpts, list) else ()):
            if isinstance(excerpt, Mapping) and isinstance(excerpt.get("content"), str):
                yield _recalled(excerpt, excerpt.get("ref"), f"{here}/excerpts/{number}/content")


def _envelope(envelope: Mapping[str, Any], path: str) -> Iterator[Quote]:
    """The words of sources in an envelope: of its claims, and its passages. Offsets count in the representation."""
    for rows, name in (("evidence", "source_span"), ("chunks", "chunk_text")):
        listed = envelope.get(rows)
        for place, row in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(row, Mapping) and isinstance(row.get(name), str):
                yield _said(row, row[name], f"{path}/{rows}/{place}/{name}")


def _said(row: Mapping[str, Any], text: str, path: str) -> Quote:
    chunk, start = row.get("chunk_id"), row.get("char_start", -1)
    if not isinstance(chunk, str) or _CHUNK.fullmatch(chunk) is None or not _whole(start):
        return Quote(path, text)
    return Quote(path, text, "chunk", chunk, start)


def _evidence(item: Mapping[str, Any], path: str) -> Quote:
    """A quote of a provenance object. Its locator tells its place; one without is not looked for elsewhere."""
    args, text = item.get("expand_args"), item["quote"]
    if not isinstance(args, Mapping):
        return Quote(path, text)
    offset = args.get("content_offset", 0)
    if not _whole(offset):
        return Quote(path, text)
    if _whole(args.get("node_id")):
        return Quote(path, text, "ep", args["node_id"])
    if _whole(args.get("store_id")):
        return Quote(path, text, "mem", args["store_id"], offset)
    if isinstance(args.get("externalized_ref"), str):
        return Quote(path, text, "payload", args["externalized_ref"], offset)
    return Quote(path, text)


def _recalled(quoted: Mapping[str, Any], ref: Any, path: str) -> Quote:
    """A quote of a reconstruction: from the beginning of its row's text, or from where its node's span begins."""
    kind, _, number = ref.partition(":") if isinstance(ref, str) else ("", "", "")
    if kind not in ("mem", "ep") or not (number.isascii() and number.isdigit() and len(number) < 16):
        return Quote(path, quoted["content"])
    node = quoted.get("node")
    span = node.get("span") if isinstance(node, Mapping) else None
    start = span[0] if isinstance(span, list) and span else 0
    if not _whole(start):
        return Quote(path, quoted["content"])
    return Quote(path, quoted["content"], "mem" if kind == "mem" else "ep", int(number), start)


def _whole(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST


def _state(quote: Quote, stands: str | None) -> State:
    if quote.kind is None:
        return "not_located"
    if stands is None:
        return "gone"
    return "current" if _digest(stands) == _digest(quote.text) else "changed"


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _counts(told: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    states = [each["state"] for each in told]
    return {state: states.count(state) for state in STATES}


# What stands at a place: (its number in the request, the slice). A payload that nobody owns is nobody's to see.
_SLICES: Final[Mapping[Kind, str]] = {
    "mem": """
        SELECT a.place, substr(r.content, a.start, a.chars) FROM mc_record AS r
        JOIN unnest(%s::bigint[], %s::int[], %s::int[], %s::int[]) AS a (name, place, start, chars)
            ON a.name = r.number
        WHERE r.store_id = %s AND r.deleted_at IS NULL""",
    "ep": """
        SELECT a.place, substr(r.summary, a.start, a.chars) FROM mc_summary AS r
        JOIN unnest(%s::bigint[], %s::int[], %s::int[], %s::int[]) AS a (name, place, start, chars)
            ON a.name = r.number
        WHERE r.store_id = %s AND r.deleted_at IS NULL""",
    "payload": """
        SELECT a.place, substr(r.content, a.start, a.chars) FROM mc_payload AS r
        JOIN unnest(%s::text[], %s::int[], %s::int[], %s::int[]) AS a (name, place, start, chars)
            ON a.name = r.ref
        WHERE r.store_id = %s AND r.session_id IS NOT NULL""",
    "chunk": """
        SELECT a.place, substr(coalesce(v.text, r.content), a.start, a.chars) FROM mc_record AS r
        JOIN unnest(%s::uuid[], %s::int[], %s::int[], %s::int[]) AS a (name, place, start, chars)
            ON a.name = r.uuid
        LEFT JOIN mc_passage AS p ON p.record_id = r.id
        LEFT JOIN mc_document_version AS v ON v.id = p.version_id
        WHERE r.store_id = %s AND r.deleted_at IS NULL""",
}

# No text is this long, and PostgreSQL's integers end further on.
_BEYOND: Final = 2**30


def _standing(store: Store, quotes: Sequence[Quote]) -> dict[int, str]:
    """What stands today where each quote was taken from, by the quote's place (at most four statements)."""
    found: dict[int, str] = {}
    with connection.cursor() as cursor:
        for kind, statement in _SLICES.items():
            asked = [(place, quote) for place, quote in enumerate(quotes) if quote.kind == kind]
            if asked:
                cursor.execute(
                    statement,
                    [
                        [quote.name for _, quote in asked],
                        [place for place, _ in asked],
                        [min(quote.offset, _BEYOND) + 1 for _, quote in asked],
                        [len(quote.text) for _, quote in asked],
                        store.pk,
                    ],
                )
                found |= dict(cursor.fetchall())
    return found


def _digests(store: Store, refs: Sequence[str]) -> dict[str, str]:
    """Today's digests of rows and payloads, as traces write them (one statement)."""
    parts = [ref.partition(":") for ref in refs]
    names: dict[str, list[Any]] = {kind: [n for k, _, n in parts if k == kind] for kind in _SLICES}
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT 'mem:' || number, digest FROM mc_record
            WHERE store_id = %(store)s AND number = ANY(%(mem)s::bigint[]) AND deleted_at IS NULL
            UNION ALL SELECT 'ep:' || number, digest FROM mc_summary
            WHERE store_id = %(store)s AND number = ANY(%(ep)s::bigint[]) AND deleted_at IS NULL
            UNION ALL SELECT 'payload:' || ref, digest FROM mc_payload
            WHERE store_id = %(store)s AND ref = ANY(%(payload)s::text[]) AND session_id IS NOT NULL
            """,
            {"store": store.pk, **names},
        )
        return {ref: kept_digest(bytes(digest)) for ref, digest in cursor.fetchall()}
