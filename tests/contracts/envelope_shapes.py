"""The closed models of context-bundle as the contract draws them (B.1 to B.15), for `check_envelope`.

A shape is a table of members; a member's type is a function from (value, where it stands) to faults. Written from the
contract alone and with nothing of the product, so that it can disagree with it.
"""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

Json = dict[str, Any]
Faults = Iterator[str]
Type = Callable[[Any, str], Faults]

_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)


def when(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC)


def _text(value: Any, where: str) -> Faults:
    if not isinstance(value, str):
        yield f"{where}: {value!r} is no text"


def _written(value: Any, where: str) -> Faults:
    if not isinstance(value, str) or not value:
        yield f"{where}: {value!r} says nothing"


def _flag(value: Any, where: str) -> Faults:
    if not isinstance(value, bool):
        yield f"{where}: {value!r} is neither true nor false"


def _number(value: Any, where: str) -> Faults:
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield f"{where}: {value!r} is no number"


def _instant(value: Any, where: str) -> Faults:
    if not isinstance(value, str) or not _INSTANT.fullmatch(value):
        yield f"{where}: {value!r} is no instant in UTC"
        return
    try:
        when(value)
    except ValueError:
        yield f"{where}: there is no {value}"


def _uuid(value: Any, where: str) -> Faults:
    if not isinstance(value, str) or not _UUID.fullmatch(value):
        yield f"{where}: {value!r} is no UUID in lower case"


def _count(least: int = 0) -> Type:
    def counted(value: Any, where: str) -> Faults:
        if type(value) is not int or value < least:
            yield f"{where}: {value!r} is no whole number from {least}"

    return counted


def one_of(*words: str) -> Type:
    def known(value: Any, where: str) -> Faults:
        if value not in words:
            yield f"{where}: {value!r} is none of {', '.join(words)}"

    return known


def _or_null(kind: Type) -> Type:
    def optional(value: Any, where: str) -> Faults:
        if value is not None:
            yield from kind(value, where)

    return optional


def _many(kind: Type, least: int = 0) -> Type:
    def listed(value: Any, where: str) -> Faults:
        if not isinstance(value, list) or len(value) < least:
            yield f"{where}: no list of at least {least}"
            return
        for place, each in enumerate(value):
            yield from kind(each, f"{where}[{place}]")

    return listed


def _named(kind: Type) -> Type:
    """An object whose members are free to be called anything."""

    def mapped(value: Any, where: str) -> Faults:
        if not isinstance(value, dict):
            yield f"{where}: no object"
            return
        for name, each in value.items():
            yield from kind(each, f"{where}.{name}")

    return mapped


def anything(value: Any, where: str) -> Faults:
    yield from ()


def closed(**members: Type) -> Type:
    """An object with exactly these members, in this order."""

    def checked(value: Any, where: str) -> Faults:
        if not isinstance(value, dict):
            yield f"{where}: no object"
            return
        yield from (f"{where}: unknown {name}" for name in value.keys() - members.keys())
        yield from (f"{where}: without {name}" for name in members if name not in value)
        for name, kind in members.items():
            if name in value:
                yield from kind(value[name], f"{where}.{name}".lstrip("."))

    return checked


PRECISION = one_of("unknown", "instant", "day", "month", "quarter", "year", "open")
FACT_KIND = one_of("relation", "observation")
STANCE = one_of("supports", "contradicts")
SUPPORT = one_of("current", "withdrawn")

_SCOPE: dict[str, Type] = {
    "evaluated_at": _instant,
    "believed_at": _instant,
    "identity_regime": one_of("current", "as_of"),
}
_MODES: dict[str, dict[str, Type]] = {
    "current": {},
    "at": {"at": _instant},
    "overlap": {"from": _instant, "to": _instant},
    "history": {},
    "as_of": {"valid_at": _instant},
}


def _scope(value: Any, where: str) -> Faults:
    mode = value.get("mode") if isinstance(value, dict) else None
    if mode not in _MODES:
        yield f"{where}: no scope of a known mode"
        return
    yield from closed(mode=_text, **_MODES[mode], **_SCOPE)(value, where)


VALIDITY = closed(
    valid_from=_or_null(_instant),
    valid_until=_or_null(_instant),
    valid_precision=PRECISION,
    ingested_at=_instant,
    invalidated_at=_or_null(_instant),
)
CO_MEMBER = closed(fact_id=_uuid, kind=FACT_KIND, label=_text, evidence_count=_count(), validity=VALIDITY)
CONTRADICTION = closed(
    group_id=_uuid,
    co_members=_many(CO_MEMBER),
    returned=_count(),
    total=_count(),
    continuation=_or_null(_written),
)
FACT = closed(
    fact_id=_uuid,
    kind=FACT_KIND,
    label=_text,
    evidence_count=_count(),
    validity=VALIDITY,
    temporal_match=one_of("confirmed", "possible"),
    contradiction_group=_or_null(_uuid),
    contradiction=_or_null(CONTRADICTION),
    support=SUPPORT,
)
EVIDENCE = closed(
    claim_id=_uuid,
    doc_id=_uuid,
    chunk_id=_uuid,
    claim_text=_text,
    source_span=_text,
    char_start=_count(),
    char_end=_count(1),
    evidence_spans=_many(closed(char_start=_count(), char_end=_count(1)), 1),
    is_attributed=_flag,
    is_current_testimony=_flag,
    asserted_at=_or_null(_instant),
    claim_valid_from=_or_null(_instant),
    claim_valid_until=_or_null(_instant),
    claim_valid_precision=PRECISION,
    claim_valid_kind=_or_null(
        one_of("proposition_validity", "event_time", "measurement_period", "effective_period")
    ),
    document_title=_or_null(_text),
    source_kind=_or_null(_text),
    corroboration_count=_or_null(_count(1)),
    grouped_claim_ids=_many(_uuid),
)
CHUNK = closed(
    chunk_id=_uuid,
    doc_id=_uuid,
    version_id=_uuid,
    representation_id=_uuid,
    chunk_text=_text,
    context_prefix=_or_null(_text),
    char_start=_count(),
    char_end=_count(1),
    section_role=_or_null(_text),
    document_title=_or_null(_text),
    source_kind=_text,
    source_modified_at=_or_null(_instant),
    published_at=_or_null(_instant),
)
NODE = closed(entity_id=_uuid, name=_text, hops=_count())
EDGE = closed(
    relation_id=_uuid,
    subject_id=_uuid,
    object_id=_uuid,
    predicate=_text,
    fact=_or_null(_text),
    evidence_count=_count(),
    valid_from=_or_null(_instant),
    valid_until=_or_null(_instant),
    valid_precision=PRECISION,
    ingested_at=_or_null(_instant),
    invalidated_at=_or_null(_instant),
    support=SUPPORT,
)
ARRAYS: dict[str, Type] = {
    "entities": closed(
        entity_id=_uuid, canonical_name=_text, tier=one_of("T0", "T1", "T2", "T3"), context_hits=_count()
    ),
    "facts": FACT,
    "evidence": EVIDENCE,
    "fact_evidence": closed(fact_kind=FACT_KIND, fact_id=_uuid, claim_id=_uuid, stance=STANCE),
    "evidence_totals": closed(
        fact_kind=FACT_KIND, fact_id=_uuid, stance=STANCE, returned=_count(), total=_count()
    ),
    "chunks": CHUNK,
    "sources": closed(
        doc_id=_uuid,
        title=_or_null(_text),
        source_kind=_text,
        markdown_uri=_or_null(_text),
        mention_count=_or_null(_count()),
        first_mentioned_at=_or_null(_instant),
        last_mentioned_at=_or_null(_instant),
    ),
    "transcript": closed(
        subject_kind=one_of("relation", "observation", "entity", "k_page"),
        outcome=_text,
        method=_text,
        confidence=_or_null(_number),
        related_id=_or_null(_uuid),
        decided_by=one_of("auto", "human"),
        decided_at=_instant,
        features=_or_null(_named(anything)),
    ),
    "nodes": NODE,
    "paths": closed(length=_count(1), nodes=_many(NODE, 2), edges=_many(EDGE, 1)),
    "edges": EDGE,
    "ranking": closed(item_id=_uuid, score=_number, signals=_named(_number)),
    "changes": closed(
        kind=one_of("relation", "observation", "claim", "page"),
        change=one_of("new", "invalidated", "capped", "recompiled"),
        id=_uuid,
        label=_or_null(_text),
        at=_instant,
    ),
    "pages": closed(
        artifact_id=_uuid,
        page_kind=_text,
        git_path=_or_null(_text),
        page_summary=_or_null(_text),
        last_compiled_at=_or_null(_instant),
        status=_text,
        stale=_flag,
        open_review_flags=_count(),
        redaction_required=_flag,
    ),
}
AGGREGATE = closed(
    form=_text,
    buckets=_many(
        closed(key=_or_null(_text), count=_count(), possible_count=_count(), entity_id=_or_null(_uuid))
    ),
    total=_count(),
    possible_total=_count(),
    bounded_by=_or_null(_text),
)
FRESHNESS = closed(
    pg_live_ts=_instant,
    p1_written_inline=_flag,
    p1_believed_at_horizon=_or_null(_instant),
    k=_or_null(closed(compiled_at=_or_null(_instant), stale=_flag, open_flags=_count())),
)
TRUNCATION = closed(
    truncated=_flag,
    returned=_count(),
    estimated_total=_count(),
    total_is_exact=_flag,
    continuation=_or_null(_written),
    reason=_or_null(_written),
)
NEGATIVE = closed(
    kind=one_of("unknown_entity", "known_empty", "boundary"),
    explanation=_written,
    workaround=_or_null(_written),
)
GRAINS = ("fact", "evidence", "compiled", "composite")
ENVELOPE = closed(
    grain=one_of(*GRAINS),
    temporal_scope=_scope,
    **{name: _many(kind) for name, kind in ARRAYS.items()},
    aggregate=_or_null(AGGREGATE),
    freshness=FRESHNESS,
    truncation=_or_null(TRUNCATION),
    dropped_by_hydration=_count(),
    excluded_unstamped=_count(),
    negative=_or_null(NEGATIVE),
)
