"""The texts that a trace names, read again: none of what is gone, and each only as the text it was."""

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from memoryconsole.models import Store
from memoryconsole.statements import all_rows
from memoryconsole.traces import NotReplayable, kept_digest
from provenance.context_bundle.spine.words import digest_of_text

# A claim is readable while its passage is; a document's title and an entity's name as long as they are there.
_BY_ID: Final[Mapping[str, str]] = {
    "claim": """
        SELECT c.uuid::text, c.claim_text FROM mc_claim AS c
        JOIN mc_record AS r ON r.id = c.record_id AND r.deleted_at IS NULL
        WHERE c.store_id = %(store)s AND c.uuid = ANY(%(names)s::uuid[])""",
    "span": """
        SELECT c.uuid::text, c.source_span FROM mc_claim AS c
        JOIN mc_record AS r ON r.id = c.record_id AND r.deleted_at IS NULL
        WHERE c.store_id = %(store)s AND c.uuid = ANY(%(names)s::uuid[])""",
    "document": """
        SELECT uuid::text, title FROM mc_document WHERE store_id = %(store)s AND uuid = ANY(%(names)s::uuid[])""",
    "entity": """
        SELECT uuid::text, name FROM mc_entity WHERE store_id = %(store)s AND uuid = ANY(%(names)s::uuid[])""",
    "observation": """
        SELECT f.uuid::text, f.statement FROM mc_fact AS f
        WHERE f.store_id = %(store)s AND f.kind = 'observation' AND f.uuid = ANY(%(names)s::uuid[])
            AND EXISTS (
                SELECT FROM mc_fact_evidence AS x JOIN mc_claim AS c ON c.id = x.claim_id
                JOIN mc_record AS r ON r.id = c.record_id AND r.deleted_at IS NULL WHERE x.fact_id = f.id)""",
    "mem": """
        SELECT number::text, content FROM mc_record
        WHERE store_id = %(store)s AND number = ANY(%(names)s::bigint[]) AND deleted_at IS NULL""",
    "prefix": """
        SELECT r.number::text, p.context_prefix FROM mc_record AS r JOIN mc_passage AS p ON p.record_id = r.id
        WHERE r.store_id = %(store)s AND r.number = ANY(%(names)s::bigint[]) AND r.deleted_at IS NULL""",
}


def refs_in(written: Any) -> Iterator[tuple[str, str]]:
    """(ref, digest) of every text that a kept `Seen` names."""
    if isinstance(written, dict):
        for value in written.values():
            yield from refs_in(value)
    elif isinstance(written, list):
        if len(written) == 2 and all(isinstance(each, str) for each in written):
            yield written[0], written[1]
        else:
            for value in written:
                yield from refs_in(value)


def read_texts(store: Store, refs: Mapping[str, str]) -> dict[str, str]:
    """The texts that are still there, and still the same, of (ref -> digest); at most seven statements."""
    wanted: dict[str, list[Any]] = defaultdict(list)
    for ref in refs:
        kind, _, name = ref.partition(":")
        if kind in _BY_ID:
            wanted[kind].append(int(name) if kind in ("mem", "prefix") else uuid.UUID(name))
    found: dict[str, str] = {}
    for kind, wanted_names in wanted.items():
        rows = all_rows(_BY_ID[kind], {"store": store.pk, "names": wanted_names})
        found |= {f"{kind}:{name}": text for name, text in rows}
    return found


def reader(store: Store, written: Any) -> Callable[[str, str], str]:
    """What gives the core the texts of a kept `Seen`. It raises NotReplayable for one that is gone, or is another."""
    found = read_texts(store, dict(refs_in(written)))

    def read(ref: str, digest: str) -> str:
        if not ref:
            # A passage that was nominated and not shown.
            return ""
        if ref not in found:
            raise NotReplayable("forgotten")
        if kept_digest(digest_of_text(found[ref])) != digest:
            raise NotReplayable("changed")
        return found[ref]

    return read
