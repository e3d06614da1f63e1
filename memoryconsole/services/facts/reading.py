"""Facts and groups as the API writes them out: an operator's view of rows, not the read contract's answer."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Count, Q, QuerySet

from memoryconsole.errors import NotFound
from memoryconsole.identity import Survivor, families, survivors
from memoryconsole.models import (
    ContradictionGroup,
    ContradictionMember,
    Fact,
    FactEvidence,
    FactWindow,
    Store,
    WindowCitation,
)
from memoryconsole.models.facts import Stance
from memoryconsole.services.facts.counting import VISIBLE, lineages, visible_facts, visible_groups
from memoryconsole.services.facts.endpoints import ends_of, label_of
from memoryconsole.services.facts.holding import FactRef, seen
from memoryconsole.services.facts.transcript import transcript_of
from memoryconsole.snapshot import snapshot
from memoryconsole.times import write_stamp

# A page's worth of each thing that hangs on one fact or group.
SHOWN = 100


def facts_of(store: Store, filters: Mapping[str, Any]) -> "QuerySet[Fact]":
    """The store's facts that a list's filters leave; `entity` takes two statements.

    `entity`: either end, merges followed. `support`: of facts that are held, as the queue of those to judge.
    """
    rows = visible_facts(store)
    for name in ("kind", "predicate"):
        if name in filters:
            rows = rows.filter(**{name: filters[name]})
    if "entity" in filters:
        found = survivors(store, uuids=[filters["entity"]])
        members = [key for keys in families(store, [each.pk for each in found]).values() for key in keys]
        rows = rows.filter(Q(subject__in=members) | Q(object__in=members))
    if "held" in filters:
        rows = rows.filter(invalidated_at__isnull=filters["held"])
    if "support" in filters:
        rows = rows.filter(support=filters["support"], invalidated_at=None)
    return rows


def fact_shapes(store: Store, facts: Sequence[Fact]) -> list[dict[str, Any]]:
    """A page of facts (three statements)."""
    ends = ends_of(store, facts)
    counts = lineages(store, [fact.pk for fact in facts])
    groups = _groups_of(store, facts)
    return [_fact_shape(fact, ends, counts, groups.get(fact.pk)) for fact in facts]


def fact_details(store: Store, ref: FactRef) -> tuple[dict[str, Any], int]:
    """(one fact with its evidence, windows past and present, group and transcript; its version). Raises NotFound."""
    with snapshot():
        fact = seen(store, ref)
        (shape,) = fact_shapes(store, [fact])
        entries, total = transcript_of(store, fact.kind, fact.uuid)
        details = {
            **_evidence_of(store, fact),
            "past_windows": [
                {**_bounds(window), "held_from": write_stamp(window.held_from),
                 "held_until": write_stamp(window.held_until)}
                for window in FactWindow.objects.filter(fact=fact).order_by("-held_from", "-pk")[:SHOWN]
            ],
            "transcript": entries,
            "transcript_total": total,
        }  # fmt: skip
    return shape | details, fact.row_version


def receipt(fact: Fact) -> dict[str, Any]:
    """What a command answers about a fact it has changed. It holds no text."""
    return {
        "kind": fact.kind,
        "id": str(fact.uuid),
        "version": fact.row_version,
        "validity": _validity(fact),
        "support": fact.support,
    }


def groups_listed(store: Store, filters: Mapping[str, Any]) -> "QuerySet[ContradictionGroup]":
    """The store's groups that a list's filters leave."""
    rows = visible_groups(store)
    if "open" in filters:
        rows = rows.filter(resolved_at__isnull=filters["open"])
    return rows


def group_shapes(store: Store, groups: Sequence[ContradictionGroup]) -> list[dict[str, Any]]:
    """A page of groups, each with how many facts are live members (one statement)."""
    rows = ContradictionMember.objects.filter(
        store=store, group__in=groups, left_at=None, fact__in=visible_facts(store)
    )
    live = dict(rows.values_list("group").annotate(facts=Count("pk")))
    return [_group_shape(group, live.get(group.pk, 0)) for group in groups]


def _group_shape(group: ContradictionGroup, live: int) -> dict[str, Any]:
    return {
        "id": str(group.uuid),
        "open": group.resolved_at is None,
        "created_at": write_stamp(group.created_at),
        "resolved_at": write_stamp(group.resolved_at) if group.resolved_at else None,
        "verdict": group.verdict or None,
        "live_members": live,
        "version": group.row_version,
    }


def group_details(store: Store, uuid: UUID) -> tuple[dict[str, Any], int]:
    """(one group with its members, in the order they joined; its version). Raises NotFound."""
    with snapshot():
        group = groups_listed(store, {}).filter(uuid=uuid).first()
        if group is None:
            raise NotFound("No such group")
        rows = ContradictionMember.objects.filter(group=group, fact__in=visible_facts(store))
        members = list(rows.select_related("fact").order_by("joined_at", "fact__number", "pk")[:SHOWN])
        ends = ends_of(store, [row.fact for row in members])
        (shape,) = group_shapes(store, [group])
        shape |= {
            "members": [_member_shape(row, ends) for row in members],
            "members_total": rows.count(),
        }
    return shape, group.row_version


def _member_shape(row: ContradictionMember, ends: Mapping[int, Survivor]) -> dict[str, Any]:
    return {
        "kind": row.fact.kind,
        "id": str(row.fact.uuid),
        "label": label_of(row.fact, ends),
        "joined_at": write_stamp(row.joined_at),
        "left_at": write_stamp(row.left_at) if row.left_at else None,
    }


def _fact_shape(
    fact: Fact, ends: Mapping[int, Survivor], counts: Mapping[tuple[int, str], int], group: UUID | None
) -> dict[str, Any]:
    return {
        "kind": fact.kind,
        "id": str(fact.uuid),
        "label": label_of(fact, ends),
        "subject": _end_shape(ends.get(fact.subject_id)),
        "predicate": fact.predicate or None,
        "object": _end_shape(ends.get(fact.object_id or 0)),
        "statement": fact.statement or None,
        "validity": _validity(fact),
        "support": fact.support,
        "documents": {stance: counts.get((fact.pk, stance), 0) for stance in Stance.values},
        "contradiction_group": str(group) if group else None,
        "declared_by": fact.declared_by,
        "version": fact.row_version,
    }


def _end_shape(end: Survivor | None) -> dict[str, str] | None:
    return None if end is None else {"id": str(end.uuid), "name": end.name}


def _validity(fact: Fact) -> dict[str, Any]:
    return {
        **_bounds(fact),
        "ingested_at": write_stamp(fact.ingested_at),
        "invalidated_at": write_stamp(fact.invalidated_at) if fact.invalidated_at else None,
    }


def _bounds(row: Fact | FactWindow) -> dict[str, str | None]:
    return {
        "valid_from": write_stamp(row.valid_from) if row.valid_from else None,
        "valid_until": write_stamp(row.valid_until) if row.valid_until else None,
        "valid_precision": row.valid_precision,
    }


def _groups_of(store: Store, facts: Iterable[Fact]) -> dict[int, UUID]:
    """The open group of each fact that is in one, by the fact's key."""
    rows = ContradictionMember.objects.filter(
        store=store, fact__in=[fact.pk for fact in facts], left_at=None, group__resolved_at=None
    )
    return dict(rows.values_list("fact", "group__uuid"))


def _evidence_of(store: Store, fact: Fact) -> dict[str, Any]:
    """The fact's visible evidence, in the order it was attached, and what of it dates the window."""
    rows = FactEvidence.objects.filter(VISIBLE, store=store, fact=fact)
    shown = rows.select_related("claim__document").order_by("attached_at", "claim__number")[:SHOWN]
    cited = WindowCitation.objects.filter(VISIBLE, fact=fact).order_by("claim__number")
    return {
        "evidence": [
            {
                "claim_id": str(row.claim.uuid),
                "stance": row.stance,
                "claim_text": row.claim.claim_text,
                "document_id": str(row.claim.document.uuid),
                "current": row.claim.is_current and row.claim.document.deleted_at is None,
                "attached_at": write_stamp(row.attached_at),
            }
            for row in shown
        ],
        "evidence_total": rows.count(),
        "window_claim_ids": [str(uuid) for uuid in cited.values_list("claim__uuid", flat=True)[:SHOWN]],
    }
