"""Facts that cannot all be true and that nobody has decided between (contract: context-bundle A.6, E, M.2).

A fact is a live member of one open group at most. A group of whose members fewer than two are held stays open: it says
that something was disputed, until somebody resolves it.
"""

import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import F

from memoryconsole.errors import Fault, InvalidParameter, NotFound, StaleResource, StateConflict
from memoryconsole.models import ContradictionGroup, ContradictionMember, Fact, Store
from memoryconsole.models.facts import Outcome
from memoryconsole.services.facts import finding
from memoryconsole.services.facts.changing import Change, changing
from memoryconsole.services.facts.counting import visible_groups
from memoryconsole.services.facts.endpoints import ends_of, whole
from memoryconsole.services.facts.holding import FactRef, held_facts
from memoryconsole.services.facts.transcript import Decider

# What a group came to: the caller's two verdicts, and its end in an older group.
PICK = "pick"
ALL_STAND = "all_stand"
JOINED = "joined"


@dataclass(frozen=True, slots=True)
class Contradicted:
    """What a declaration came to. `common_subject`: whether all the named facts are about one subject, which facts
    that contradict each other usually are.
    """

    group: ContradictionGroup
    created: bool
    changed: bool
    common_subject: bool


def contradict(
    store: Store, refs: Sequence[FactRef], *, join: bool, by: Decider, now: datetime
) -> Contradicted:
    """Say that these facts, two at least, cannot all be true.

    When some of them are in an open group, the others join it. When they are in several, `join` lets the older group
    take in all members of the younger ones, which end. Raises InvalidParameter for facts that are unknown or fewer
    than two, StateConflict for one that is held no longer or shown to nobody, and for several groups without `join`.
    """
    if len(set(refs)) < 2:
        raise InvalidParameter.of(Fault("/members", "min_length", "One fact contradicts nothing."))
    with changing(store, by, now=now) as change:
        facts, common = _members(store, refs)
        groups = _groups_of(store, facts)
        created = not groups
        if created:
            groups = [_open(change)]
        group, changed = _unite(change, groups, facts, join=join)
    return Contradicted(group, created, changed, common)


def extend(
    store: Store,
    group: UUID,
    refs: Sequence[FactRef],
    *,
    join: bool,
    by: Decider,
    if_version: int | None,
    now: datetime,
) -> Contradicted:
    """Add facts to an open group. One that is in another group takes that along, with `join`: the older one of the two
    is then the group that is answered. Raises NotFound, StaleResource; otherwise as `contradict`.
    """
    with changing(store, by, now=now) as change:
        mine = _open_group(store, group, if_version=if_version)
        facts, common = _members(store, refs)
        others = [each for each in _groups_of(store, facts) if each.pk != mine.pk]
        ordered = sorted([mine, *others], key=_age)
        united, changed = _unite(change, ordered, facts, join=join)
    return Contradicted(united, False, changed, common)


def resolve(
    store: Store,
    group: UUID,
    keep: FactRef | None,
    *,
    by: Decider,
    if_version: int | None,
    now: datetime,
) -> ContradictionGroup:
    """Decide an open group. `keep`: this member stands, and the others are held no longer; None: all stand.

    Every membership ends. Raises NotFound, StaleResource; InvalidParameter when `keep` is no live member;
    StateConflict when the group is decided already.
    """
    others = [fact for fact in _live_members(store, group) if not _is(fact, keep)] if keep else []
    with changing(store, by, foreseen=finding.foresee(store, lost=others), now=now) as change:
        mine = _open_group(store, group, if_version=if_version)
        facts = _live_members(store, group)
        kept = [fact for fact in facts if keep is None or _is(fact, keep)]
        if keep is not None and not kept:
            raise InvalidParameter.of(Fault("/keep", "unknown", "No live member of this group."))
        change.leave_groups(facts)
        change.update(kept)
        for fact in kept:
            change.decide(fact, Outcome.RESOLVED, group=str(mine.uuid))
        if keep is not None:
            lost = [fact for fact in facts if not _is(fact, keep)]
            change.close_belief(lost, Outcome.RETRACTED, related=keep.uuid, group=str(mine.uuid))
        _end(change, mine, ALL_STAND if keep is None else PICK)
    return mine


def _members(store: Store, refs: Sequence[FactRef]) -> tuple[list[Fact], bool]:
    """(the facts, whether they are about one subject): held, and shown to whoever reads."""
    facts = held_facts(store, {f"/members/{place}": ref for place, ref in enumerate(refs)})
    ends = ends_of(store, facts)
    for fact in facts:
        if not whole(fact, ends):
            raise StateConflict(f"The {fact.kind} {fact.uuid} is about no current entity")
    return facts, len({ends[fact.subject_id].pk for fact in facts}) == 1


def _groups_of(store: Store, facts: Sequence[Fact]) -> list[ContradictionGroup]:
    """The open groups these facts are in, oldest first."""
    groups = ContradictionGroup.objects.filter(
        store=store, resolved_at=None, members__fact__in=facts, members__left_at=None
    )
    return sorted(groups.distinct(), key=_age)


def _live_members(store: Store, group: UUID) -> list[Fact]:
    rows = ContradictionMember.objects.filter(store=store, group__uuid=group, left_at=None)
    return [row.fact for row in rows.select_related("fact").order_by("fact__number")]


def _is(fact: Fact, ref: FactRef) -> bool:
    return (fact.kind, fact.uuid) == (ref.kind, ref.uuid)


def _age(group: ContradictionGroup) -> tuple[datetime, int]:
    return group.created_at, group.pk


def _open_group(store: Store, group: UUID, *, if_version: int | None) -> ContradictionGroup:
    found = visible_groups(store).filter(uuid=group).first()
    if found is None:
        raise NotFound("No such group")
    if if_version is not None and found.row_version != if_version:
        raise StaleResource(f"The group is at version {found.row_version}")
    if found.resolved_at is not None:
        raise StateConflict("The group is decided already")
    return found


def _open(change: Change) -> ContradictionGroup:
    return ContradictionGroup.objects.create(store=change.store, uuid=uuid.uuid4(), created_at=change.at)


def _end(change: Change, group: ContradictionGroup, verdict: str) -> None:
    group.refresh_from_db(fields=["row_version"])
    group.resolved_at, group.verdict = change.at, verdict
    group.row_version += 1
    group.save(update_fields=["resolved_at", "verdict", "row_version"])


def _unite(
    change: Change, groups: Sequence[ContradictionGroup], named: Sequence[Fact], *, join: bool
) -> tuple[ContradictionGroup, bool]:
    """Bring the named facts and all members of the younger groups into the oldest; (it, whether anything changed)."""
    group, *younger = groups
    if younger and not join:
        raise StateConflict(
            f"The facts are in {len(groups)} open groups: send join to make them one, "
            + ", ".join(str(each.uuid) for each in groups)
        )
    rows = ContradictionMember.objects.filter(store=change.store, group__in=groups, left_at=None)
    members: dict[int, list[Fact]] = defaultdict(list)
    for row in rows.select_related("fact").order_by("fact__number"):
        members[row.group_id].append(row.fact)
    there = {fact.pk for fact in members[group.pk]}
    moved = [fact for each in younger for fact in members[each.pk]]
    joining = list({fact.pk: fact for fact in [*moved, *named] if fact.pk not in there}.values())
    if moved:
        change.leave_groups(moved)
    for each in younger:
        _end(change, each, JOINED)
    _join(change, group, joining)
    _tell(change, group, named, joining)
    return group, bool(joining)


def _join(change: Change, group: ContradictionGroup, facts: Sequence[Fact]) -> None:
    if not facts:
        return
    ContradictionMember.objects.bulk_create(
        ContradictionMember(store=change.store, group=group, fact=fact, joined_at=change.at) for fact in facts
    )
    change.update(facts)
    ContradictionGroup.objects.filter(pk=group.pk).update(row_version=F("row_version") + 1)
    group.row_version += 1


def _tell(change: Change, group: ContradictionGroup, named: Sequence[Fact], joining: Sequence[Fact]) -> None:
    """The transcript: `contradict` on every fact that was named or moved; `noop` when all of it was known."""
    told = list({fact.pk: fact for fact in [*named, *joining]}.values())
    for fact in told:
        # Of several others, the first: the group names them all.
        other = next((each.uuid for each in told if each.pk != fact.pk), None)
        change.decide(
            fact,
            Outcome.CONTRADICT if joining else Outcome.NOOP,
            method="declared" if joining else "exact",
            related=other,
            group=str(group.uuid),
        )
