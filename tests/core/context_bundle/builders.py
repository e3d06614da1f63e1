"""Rows by hand, with everything a test does not speak of filled in."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from provenance.context_bundle.core import (
    ClaimsRequest,
    ClaimsSeen,
    FactsRequest,
    FactsSeen,
    Position,
    claims_and_sources,
    encode,
    facts_context,
    fitting,
)
from provenance.context_bundle.core.seen import (
    Chunk,
    Claim,
    Document,
    Entity,
    Fact,
    Freshness,
    Group,
    Text,
)
from provenance.context_bundle.core.temporal import Current, Window

Body = dict[str, Any]

NOW = datetime(2026, 9, 30, 10, tzinfo=UTC)
BEFORE = datetime(2026, 1, 1, tzinfo=UTC)
SCOPE = Current(evaluated_at=NOW)
FRESH = Freshness(pg_live_ts=NOW)


def uuid(first: str, number: int) -> str:
    return f"{first}0000000-0000-4000-8000-{number:012d}"


def text(ref: str, words: str) -> Text:
    return Text(ref=ref, digest=f"digest of {words}", text=words)


def day(number: int) -> datetime:
    return BEFORE + timedelta(days=number)


def document(number: int, **given: Any) -> Document:
    made = Document(
        number=number,
        doc_id=uuid("d", number),
        source_kind="file",
        title=text(f"document:{number}", f"Log {number}"),
    )
    return replace(made, **given)


def claim(number: int, *, says: str = "", **given: Any) -> Claim:
    says = says or f"Claim {number}."
    made = Claim(
        number=number,
        claim_id=uuid("c", number),
        document=1,
        chunk_id=uuid("b", number),
        claim_text=text(f"claim:{number}", says),
        source_span=text(f"claim:{number}/span", says),
        char_start=4,
        char_end=4 + len(says),
        spans=((4, 4 + len(says)), (0, 3)),
    )
    return replace(made, **given)


def chunk(number: int, **given: Any) -> Chunk:
    says = f"Passage {number}."
    made = Chunk(
        number=number,
        chunk_id=uuid("b", number),
        document=1,
        version_id=uuid("f", number),
        representation_id=uuid("a", number),
        chunk_text=text(f"mem:{number}", says),
        char_start=0,
        char_end=len(says),
    )
    return replace(made, **given)


def entity(number: int) -> Entity:
    return Entity(
        number=number, entity_id=uuid("e", number), name=text(f"entity:{number}", f"Entity {number}")
    )


def observation(number: int, **given: Any) -> Fact:
    made = Fact(
        number=number,
        fact_id=uuid("0", number),
        kind="observation",
        subject=1,
        ingested_at=BEFORE,
        statement=text(f"fact:{number}", f"Statement {number}"),
        window=Window(),
        supports=1,
    )
    return replace(made, **given)


def relation(number: int, **given: Any) -> Fact:
    made = Fact(
        number=number,
        fact_id=uuid("1", number),
        kind="relation",
        subject=1,
        predicate="works_for",
        object=2,
        ingested_at=BEFORE,
        supports=1,
    )
    return replace(made, **given)


def group(facts: list[Fact], *, number: int = 1) -> tuple[list[Fact], Group]:
    """The facts as members of one group, and the group as it is read: its first 26."""
    joined = [replace(fact, group=uuid("9", number)) for fact in facts]
    ordered = sorted(joined, key=lambda fact: (fact.ingested_at, fact.kind, fact.number))
    members = tuple(fact.key for fact in ordered[:26])
    return joined, Group(group_id=uuid("9", number), members=members, total=len(facts))


def token(position: Position) -> str | None:
    """A position as it would be signed, with a signature's length."""
    return fitting(f"{encode(position)}:{'s' * 43}")


def said(request: ClaimsRequest, seen: ClaimsSeen) -> Body:
    return claims_and_sources(request, seen, token)


def held(request: FactsRequest, seen: FactsSeen) -> Body:
    return facts_context(request, seen, token)
