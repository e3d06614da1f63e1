"""``evidence_provenance``: what an answer was given, bounded and told (contract, sections C.1, C.2, C.6, C.8).

Rule 1: the object is a function of the blocks, the scope, ``context_truncated`` and ``synthesis_status``.
Rule 2: it claims nothing it has not seen. It tells what was available to the answer, whole or cut; not that
the answer is right, that a locator still resolves, or that holding one gives a right.
Rule 3: what it says of its items is said of those it lists; its two counts are of everything there was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from provenance.expand_query.core.blocks import Block, InvalidBlocks, Scope
from provenance.expand_query.core.bounds import (
    ITEMS_MAX,
    QUOTE_MAX_CHARS,
    SERIALIZED_CHAR_LIMIT,
    bound,
    digest,
    fit,
)
from provenance.expand_query.core.evidence import identities, item

Json = dict[str, Any]
SynthesisStatus = Literal["completed", "failed", "not_run"]

ENTAILMENT: Final[Mapping[str, str]] = {
    "completed": "not_verified",
    "failed": "not_applicable",
    "not_run": "not_applicable",
}
"""Contract, section C.2. Nothing here ever says more than that an answer was not verified."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the object says whichever items it lists."""

    scope: Scope
    synthesis_status: SynthesisStatus
    context_truncated: bool
    unique_items: int
    occurrences: int


def build_provenance(
    blocks: Iterable[Block | None],
    *,
    scope: Scope,
    synthesis_status: SynthesisStatus,
    context_truncated: bool,
) -> Json:
    """The provenance of one answer, at most 10,000 characters by default ``json.dumps``.

    ``blocks`` are those that were handed, or would have been handed, to a synthesizer, in that order.
    ``context_truncated``: the budget left out more context. Raises InvalidBlocks for an unknown status.
    The object shares nothing with the blocks.
    """
    if synthesis_status not in ENTAILMENT:
        raise InvalidBlocks(f"{synthesis_status!r} is no synthesis status")
    found = identities(blocks, scope.session_id, most=ITEMS_MAX)
    facts = Facts(
        scope=scope,
        synthesis_status=synthesis_status,
        context_truncated=context_truncated,
        unique_items=found.unique,
        occurrences=found.occurrences,
    )
    items = [item(identity) for identity in found.listed]
    return fit(items, lambda listed: _whole(facts, listed)) or _compacted(facts)


def _whole(facts: Facts, items: Sequence[Json]) -> Json:
    shown, shortened = bound(
        {f"session_ids[{number}]": session_id for number, session_id in enumerate(facts.scope.session_ids)}
    )
    retrieval_scope: Json = {"kind": facts.scope.kind, "session_ids": list(shown.values())}
    if shortened:
        retrieval_scope["metadata_truncation"] = shortened
    return _envelope(
        facts,
        items,
        retrieval_scope=retrieval_scope,
        metadata_truncated=bool(shortened) or any("metadata_truncation" in each for each in items),
    )


def _compacted(facts: Facts) -> Json:
    """The object whose session ids alone are too long: a digest stands for them, and no item is listed."""
    retrieval_scope: Json = {
        "kind": facts.scope.kind,
        "session_ids": [],
        "session_id_sha256": digest("\n".join(facts.scope.session_ids)),
        "session_id_omitted_due_to_size": True,
    }
    envelope = _envelope(facts, [], retrieval_scope=retrieval_scope, metadata_truncated=True)
    return envelope | {"fixed_envelope_compacted": True}


def _envelope(
    facts: Facts, items: Sequence[Json], *, retrieval_scope: Json, metadata_truncated: bool
) -> Json:
    return {
        "retrieval_scope": retrieval_scope,
        "identifiers_are_authority": False,
        "locator_replay_safety": "not_guaranteed",
        "synthesis_status": facts.synthesis_status,
        "locator_coverage": _coverage(facts, items),
        "semantic_entailment": ENTAILMENT[facts.synthesis_status],
        "quote_origin": "tool_extracted_from_synthesis_context",
        "context_truncated": facts.context_truncated,
        "context_unique_item_count": facts.unique_items,
        "context_occurrence_count": facts.occurrences,
        "items_truncated": len(items) < facts.unique_items,
        "serialized_char_limit": SERIALIZED_CHAR_LIMIT,
        "serialization": {"scope": "evidence_provenance_only", "json_ensure_ascii": True},
        "quote_max_chars": QUOTE_MAX_CHARS,
        "quotes_truncated_by_provenance_cap": sum(
            each["quote_truncated_by_provenance_cap"] for each in items
        ),
        "metadata_truncated": metadata_truncated,
        "items": list(items),
    }


def _coverage(facts: Facts, items: Sequence[Json]) -> str:
    """Whether every identity has a locator here. It says nothing of whether a locator resolves."""
    if not facts.unique_items:
        return "none"
    listed = len(items) == facts.unique_items
    return "complete" if listed and all(each["locator_present"] for each in items) else "partial"
