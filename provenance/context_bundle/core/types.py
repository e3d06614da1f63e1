"""The words, the bounds and the requests of the four operations (contract, sections C.0 to C.4).

Rule 1: a request that breaks a bound cannot be built. Rule 2: the bounds stand here alone; what parses JSON takes
them from here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from provenance.context_bundle.core.cursor import Position
from provenance.context_bundle.core.schema import CO_MEMBERS_MAX
from provenance.context_bundle.core.temporal import NOW, Time, write_instant

RESOLVE_ENTITY: Final = "resolve_entity"
CLAIMS_AND_SOURCES: Final = "claims_and_sources_context"
FACTS: Final = "facts_context"
COMBINED: Final = "combined_context"
CONTRADICTION_MEMBERS: Final = "contradiction_members"

QUERY_MAX_CHARS: Final = 8192
PREDICATE_MAX_CHARS: Final = 200
CONTEXT_ENTITIES_MAX: Final = 8
CLAIMS_ENTITIES_MAX: Final = 20
FACTS_ENTITIES_MAX: Final = 19
"""Contract, section C.3: an anchor less than the scope holds, so that a neighbour fits in."""

CLAIMS_K: Final = 50
CLAIMS_K_MAX: Final = 100
CANDIDATE_K: Final = 200
CANDIDATE_K_MAX: Final = 400
FACTS_K: Final = 15
FACTS_K_MAX: Final = 30
EVIDENCE_PER_FACT: Final = 3
EVIDENCE_PER_FACT_MAX: Final = 5
HOPS_MAX: Final = 2
FACT_CANDIDATES: Final = 200
"""Contract, section C.3: the depth of each channel; one more is asked for, to notice that there are more."""

SCOPE_ENTITIES_MAX: Final = 20
"""Contract, section C.3: entities in scope, anchors included; also the profiles an unanchored call looks at."""

ASSOCIATIONS_MAX: Final = 60
"""Contract, section C.3: (fact, claim) pairs in one answer."""

DATABASE_SECONDS: Final = 25.0
"""Contract, section C.3: what the database may take for one answer."""

RESOLVE_MAX: Final = 10
"""Contract, section C.1: candidates below an exact match; one more is asked for."""


class InvalidRequest(ValueError):
    """A request value outside the bounds of its operation."""


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise InvalidRequest(what)


def _check_whole(name: str, value: object, low: int, high: int) -> None:
    # JSON's true is an int to Python; to a caller it is not.
    _require(type(value) is int and low <= value <= high, f"{name} is from {low} to {high}, not {value!r}")


def _check_query(query: str) -> None:
    _require(
        bool(query.strip()) and len(query) <= QUERY_MAX_CHARS, f"query has 1 to {QUERY_MAX_CHARS} characters"
    )


def _check_entities(entity_ids: Sequence[str] | None, most: int) -> None:
    if entity_ids is not None:
        _require(1 <= len(entity_ids) <= most, f"entity_ids has 1 to {most} ids")
        _require(len(set(entity_ids)) == len(entity_ids), "entity_ids names an entity twice")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveRequest:
    """``resolve_entity``. ``context_entity_ids`` only move candidates."""

    name: str
    context_entity_ids: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _require(bool(self.name), "name is empty")
        _require(
            len(self.context_entity_ids) <= CONTEXT_ENTITIES_MAX,
            f"context_entity_ids has at most {CONTEXT_ENTITIES_MAX} ids",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimsRequest:
    """``claims_and_sources_context``. Ids are UUID text, lower case; ``entity_ids`` None = unanchored.

    ``k`` bounds claims and chunks separately, ``candidate_k`` each channel. ``continuation``: where the page before
    ended, its signature and its binding to these arguments already checked.
    """

    query: str
    entity_ids: tuple[str, ...] | None = None
    k: int = CLAIMS_K
    candidate_k: int = CANDIDATE_K
    include_superseded: bool = False
    continuation: Position | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _check_query(self.query)
        _check_entities(self.entity_ids, CLAIMS_ENTITIES_MAX)
        _check_whole("k", self.k, 1, CLAIMS_K_MAX)
        _check_whole("candidate_k", self.candidate_k, self.k, CANDIDATE_K_MAX)

    def digest(self) -> bytes:
        return argument_digest(
            CLAIMS_AND_SOURCES,
            query=self.query,
            entity_ids=self.entity_ids,
            k=self.k,
            candidate_k=self.candidate_k,
            include_superseded=self.include_superseded,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsRequest:
    """``facts_context``. As ``ClaimsRequest``; ``predicate``: only relations that have it are walked and returned."""

    operation: ClassVar[str] = FACTS

    query: str
    entity_ids: tuple[str, ...] | None = None
    k: int = FACTS_K
    evidence_per_fact: int = EVIDENCE_PER_FACT
    hops: int = 1
    predicate: str | None = None
    time: Time = NOW
    continuation: Position | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _check_query(self.query)
        _check_entities(self.entity_ids, FACTS_ENTITIES_MAX)
        _check_whole("k", self.k, 1, FACTS_K_MAX)
        _check_whole("evidence_per_fact", self.evidence_per_fact, 1, EVIDENCE_PER_FACT_MAX)
        _check_whole("hops", self.hops, 1, HOPS_MAX)
        if self.predicate is not None:
            _require(
                1 <= len(self.predicate) <= PREDICATE_MAX_CHARS,
                f"predicate has 1 to {PREDICATE_MAX_CHARS} characters",
            )

    def digest(self) -> bytes:
        instants = (self.time.at, self.time.start, self.time.end)
        return argument_digest(
            FACTS,
            query=self.query,
            entity_ids=self.entity_ids,
            k=self.k,
            evidence_per_fact=self.evidence_per_fact,
            hops=self.hops,
            predicate=self.predicate,
            time=[self.time.mode, *(None if each is None else write_instant(each) for each in instants)],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MembersRequest:
    """``contradiction_members``: who is in a contradiction, from the first member, or behind ``continuation``: where
    the block of a fact or the page before ended.
    """

    operation: ClassVar[str] = CONTRADICTION_MEMBERS
    time: ClassVar[Time] = NOW
    k: ClassVar[int] = CO_MEMBERS_MAX
    evidence_per_fact: ClassVar[int] = EVIDENCE_PER_FACT

    group_id: str
    continuation: Position | None = field(default=None, compare=False)

    def digest(self) -> bytes:
        return argument_digest(CONTRADICTION_MEMBERS, group_id=self.group_id)


DIGEST_BYTES: Final = 12
"""A guess: a cursor is signed, so this only keeps one question's cursor from being used with another."""


def argument_digest(operation: str, **arguments: Any) -> bytes:
    """What a cursor is bound to: the operation and its arguments, defaults filled in, without the continuation."""
    written = json.dumps([operation, arguments], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).digest()[:DIGEST_BYTES]
