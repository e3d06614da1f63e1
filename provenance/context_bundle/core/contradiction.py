"""The other sides of a disagreement are never silently absent (contract, section E).

Rule 1: a fact of a group always carries its block: who else is in it up to 25, how many there are, and where the list
goes on. Rule 2: nothing else shortens it: not the query, the ranking, ``k``, or that a member is in the answer itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final, cast

from provenance.context_bundle.core.cursor import (
    MalformedCursor,
    Position,
    Token,
    from_microseconds,
    microseconds,
)
from provenance.context_bundle.core.results import label, validity
from provenance.context_bundle.core.schema import CO_MEMBERS_MAX, Json, make
from provenance.context_bundle.core.seen import Entity, Fact, FactKey, FactKind, Group, InvalidSeen
from provenance.context_bundle.core.temporal import Scope, believes, selects
from provenance.context_bundle.core.types import CONTRADICTION_MEMBERS, MembersRequest


@dataclass(frozen=True, kw_only=True)
class Frame:
    """What a fact is shown in: the scope, the rows read, and who signs cursors."""

    scope: Scope
    facts: Mapping[FactKey, Fact]
    groups: Mapping[str, Group]
    entities: Mapping[int, Entity]
    token: Token

    @cached_property
    def sides(self) -> Mapping[str, list[tuple[Fact, Json]]]:
        """The live members of each group in their order, each with what a block says of it: that is made once, though
        it stands in the blocks of all the others.
        """
        read = {
            name: [self.facts[key] for key in group.members if key in self.facts]
            for name, group in self.groups.items()
        }
        return {
            name: [
                (fact, co_member(fact, self.entities))
                for fact in sorted(members, key=member_order)
                if live(fact, self)
            ]
            for name, members in read.items()
        }


NOBODY: Final[FactKey] = ("observation", -1)
"""The viewpoint of a list of all members: a number that no fact has."""


@dataclass(frozen=True, slots=True)
class MembersAfter:
    """Where a list of co-members goes on: behind ``after``, seen from ``viewpoint``, which it never names."""

    group_id_digest: bytes
    scope: Scope
    viewpoint: FactKey
    after: tuple[datetime, FactKind, int]


def live(fact: Fact, frame: Frame) -> bool:
    """Believed, inside the world condition, its ends current entities (section E.6); its row says it is visible."""
    return (
        believes(frame.scope, fact.ingested_at, fact.invalidated_at)
        and selects(frame.scope, fact.window)
        and all(end in frame.entities for end in fact.ends)
    )


def member_order(fact: Fact) -> tuple[datetime, FactKind, int]:
    """Section E.2."""
    return (fact.ingested_at, fact.kind, fact.number)


def block(fact: Fact, frame: Frame) -> Json | None:
    """The contradiction block of a fact, None if it is in no group. Raises KeyError if its group was not read, and
    InvalidSeen if too few of its members were.
    """
    if fact.group is None:
        return None
    group, standing = frame.groups[fact.group], frame.sides[fact.group]
    others = [side for side in standing if side[0].key != fact.key][:CO_MEMBERS_MAX]
    # The fact is one of its group's live members, unless an audit shows it after its end.
    total = group.total - (len(group.members) - len(standing)) - live(fact, frame)
    if len(others) != min(total, CO_MEMBERS_MAX):
        raise InvalidSeen(
            f"group {group.group_id}: {len(others)} of {total} co-members of {fact.key} were read"
        )
    return make(
        "Contradiction",
        group_id=group.group_id,
        co_members=[shown for _, shown in others],
        returned=len(others),
        total=total,
        continuation=_continuation(fact.group, fact, others[-1][0], frame) if total > len(others) else None,
    )


def co_member(fact: Fact, entities: Mapping[int, Entity]) -> Json:
    return make(
        "CoMember",
        fact_id=fact.fact_id,
        kind=fact.kind,
        label=label(fact, entities),
        evidence_count=fact.supports,
        validity=validity(fact),
    )


def members_digest(group_id: str) -> bytes:
    """What a cursor of ``contradiction_members`` is bound to."""
    return MembersRequest(group_id=group_id).digest()


def members_position(group_id: str, viewpoint: FactKey, last: Fact, scope: Scope) -> Position:
    """Where the co-members go on behind ``last``."""
    ingested_at, kind, number = member_order(last)
    return Position(
        operation=CONTRADICTION_MEMBERS,
        digest=members_digest(group_id),
        scope=scope,
        last=(*viewpoint, microseconds(ingested_at), kind, number),
    )


def read_members_position(position: Position) -> MembersAfter:
    """Raises MalformedCursor for a position of another list."""
    match position.last:
        case (str(view), int(viewed), int(ingested), str(kind), int(number)) if (
            position.operation == CONTRADICTION_MEMBERS
        ):
            after = (from_microseconds(ingested), cast(FactKind, kind), number)
            return MembersAfter(position.digest, position.scope, (cast(FactKind, view), viewed), after)
    raise MalformedCursor("a position of another list")


def _continuation(group_id: str, fact: Fact, last: Fact, frame: Frame) -> str:
    token = frame.token(members_position(group_id, fact.key, last, frame.scope))
    if token is None:
        raise ValueError("a position among co-members always fits a cursor")
    return token
