"""The other sides of a contradiction, a page at a time: ``contradiction_members`` (contract, section E).

The block of a fact lists the first of them and says where the list goes on: here, in the scope of that answer, without
the fact that it was seen from.
"""

from __future__ import annotations

from typing import Final

from provenance.context_bundle.core.contradiction import (
    NOBODY,
    MembersAfter,
    member_order,
    members_position,
    read_members_position,
)
from provenance.context_bundle.core.cursor import Token
from provenance.context_bundle.core.facts import ABSENT, FactsDecided, envelope_of, refusal
from provenance.context_bundle.core.negatives import no_members, not_exhaustive
from provenance.context_bundle.core.schema import Json
from provenance.context_bundle.core.seen import Fact, FactKey, FactsSeen, InvalidSeen
from provenance.context_bundle.core.truncation import CANDIDATE_BUDGET
from provenance.context_bundle.core.types import MembersRequest

LEFT_GROUP: Final = "left_group"


def decide_members(request: MembersRequest, seen: FactsSeen) -> FactsDecided:
    """Who is in the group behind the cursor, in order. Raises InvalidSeen when a later page is not read in its pinned
    scope.
    """
    after = _after(request, seen)
    rows = {fact.key: fact for fact in seen.facts}
    current = frozenset(entity.number for entity in seen.entities)
    rejected: dict[FactKey, str] = {}
    confirmed: list[Fact] = []
    for key in dict.fromkeys(key for channel in seen.nominations for key in channel.keys):
        row = rows.get(key)
        if row is None:
            rejected[key] = ABSENT
        elif after is not None and (key == after.viewpoint or member_order(row) <= after.after):
            continue
        elif (why := refusal(row, seen.scope, current)) is not None:
            rejected[key] = why
        elif row.group != request.group_id:
            rejected[key] = LEFT_GROUP
        else:
            confirmed.append(row)
    deep = any(channel.exhausted for channel in seen.nominations)
    return FactsDecided(
        rejected=rejected,
        confirmed=sorted(confirmed, key=member_order),
        budgets=frozenset({CANDIDATE_BUDGET} if deep else ()),
    )


def contradiction_members(
    request: MembersRequest, seen: FactsSeen, token: Token, decided: FactsDecided | None = None
) -> Json:
    """The fact envelope of a page. Same request and seen, same bytes. ``decided``: what ``decide_members`` made of
    these two, if that is known already.
    """
    return envelope_of(
        request,
        seen,
        token,
        decided or decide_members(request, seen),
        goes_on=lambda shown: _continuation(request, seen, shown[-1], token),
        nothing=lambda cut: not_exhaustive(cut["reason"]) if cut["truncated"] else no_members(),
    )


def _after(request: MembersRequest, seen: FactsSeen) -> MembersAfter | None:
    if request.continuation is None:
        return None
    after = read_members_position(request.continuation)
    if after.scope != seen.scope:
        raise InvalidSeen("a later page is read in the scope of the first")
    return after


def _continuation(request: MembersRequest, seen: FactsSeen, last: Fact, token: Token) -> str | None:
    after = _after(request, seen)
    viewpoint = NOBODY if after is None else after.viewpoint
    return token(members_position(request.group_id, viewpoint, last, seen.scope))
