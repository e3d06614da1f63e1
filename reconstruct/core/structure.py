"""Clusters into items: heads, claims, roles, conflicts (contract, section E).

Rule 1: everything said *about* a kept row lives in this file; nothing here adds or moves one.
Rule 2: age never decides what is kept. The head is kept, then relevance, then the walk's own order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from operator import itemgetter

from reconstruct.core.bundle import RELATION_PREFIX, Candidate, Cluster
from reconstruct.core.types import EntityRecords, Pool, RecordRelation, Ref, Row
from reconstruct.core.walk import Gathered, Reach, WalkedRow, gather

SUPPORTS = "supports"
SUPERSEDES = "supersedes"
ROLES = frozenset({SUPPORTS, SUPERSEDES, "corrects", "qualifies", "contradicts", "temporal_predecessor"})
"""The closed vocabulary. The first two are also derived here; the rest can only be declared."""

# Per message identity, its dated versions.
Versions = dict[tuple[str, str], list[tuple[datetime, Ref]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """What the row at ``ref`` is to the claim that carries this."""

    ref: Ref
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One kept row. A candidate has a ``rank`` (0 = best), a walked row ``hops`` (1 or more), never both."""

    row: Row
    why: str
    rank: int | None = None
    hops: int | None = None
    roles: tuple[Role, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Kept versions of one message that share an instant, and so cannot be ordered."""

    refs: tuple[Ref, ...]
    message_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A chosen cluster with what its walk added, cut to max_evidence.

    ``kept``: refs in the order they are quoted, the head first. ``omitted``: refs that max_evidence left out,
    in the order they would have followed. ``claims``: the kept rows as they are shown, newest first.
    """

    cluster: Cluster
    reach: Reach
    gathered: Gathered
    kept: tuple[Ref, ...]
    omitted: tuple[Ref, ...]
    claims: tuple[Claim, ...]
    conflicts: tuple[Conflict, ...]

    @property
    def head(self) -> Ref:
        return self.kept[0]


def arrange(
    chosen: tuple[Cluster, ...],
    reaches: tuple[Reach, ...],
    records: tuple[EntityRecords, ...],
    pool: Pool,
    max_evidence: int,
) -> tuple[Item, ...]:
    """The chosen clusters as items, in order. ``reaches`` has one entry per cluster."""
    pool_refs = {row.ref for row in pool.rows}
    declared = _declared_roles(pool.relations, pool_refs)
    gathered = gather(reaches, records, pool_refs, max_evidence)
    return tuple(
        _item(cluster, reach, walk, declared, max_evidence)
        for cluster, reach, walk in zip(chosen, reaches, gathered, strict=True)
    )


def _item(
    cluster: Cluster, reach: Reach, walk: Gathered, declared: dict[Ref, list[Role]], max_evidence: int
) -> Item:
    head = _head(cluster)
    candidates = [head, *(each for each in cluster.candidates if each is not head)]
    claims = [*map(_of_candidate, candidates), *map(_of_walked, walk.rows)]
    kept = claims[:max_evidence]
    shown = _newest_first(_with_roles(kept, declared))
    return Item(
        cluster=cluster,
        reach=reach,
        gathered=walk,
        kept=tuple(claim.row.ref for claim in kept),
        omitted=tuple(claim.row.ref for claim in claims[max_evidence:]),
        claims=shown,
        conflicts=_conflicts(shown),
    )


def _head(cluster: Cluster) -> Candidate:
    """The most relevant candidate, or the newest version of its message among the candidates."""
    lead = cluster.candidates[0]
    if lead.row.identity is None or lead.row.instant is None:
        return lead
    head, newest = lead, lead.row.instant
    for candidate in cluster.candidates:
        instant = candidate.row.instant
        # Strictly newer: at one instant the better rank, which comes first, stays.
        if candidate.row.identity == lead.row.identity and instant is not None and instant > newest:
            head, newest = candidate, instant
    return head


def _of_candidate(candidate: Candidate) -> Claim:
    return Claim(row=candidate.row, why=candidate.why, rank=candidate.rank)


def _of_walked(walked: WalkedRow) -> Claim:
    return Claim(row=walked.row, why=RELATION_PREFIX + walked.via.relation.predicate, hops=walked.via.hops)


def _with_roles(kept: list[Claim], declared: dict[Ref, list[Role]]) -> list[Claim]:
    refs = {claim.row.ref for claim in kept}
    versions = _versions(kept)
    # Only a candidate episode supports; kept candidates still stand head first, then by rank.
    episodes = [claim.row for claim in kept if claim.rank is not None and claim.row.span is not None]
    placed = []
    for claim in kept:
        named = (role for role in declared.get(claim.row.ref, ()) if role.ref in refs)
        roles = [*_superseded_by(claim.row, versions), *_supported_by(claim.row, episodes), *named]
        # Declared as well as derived, or declared twice, it is still one role.
        placed.append(replace(claim, roles=tuple(dict.fromkeys(roles))))
    return placed


def _versions(claims: Iterable[Claim]) -> Versions:
    """Dated rows by message identity; a walked row is a version like any other."""
    versions: Versions = defaultdict(list)
    for row in (claim.row for claim in claims):
        if row.identity is not None and row.instant is not None:
            versions[row.identity].append((row.instant, row.ref))
    return versions


def _superseded_by(row: Row, versions: Versions) -> list[Role]:
    if row.identity is None or row.instant is None:
        return []
    later = [version for version in versions[row.identity] if version[0] > row.instant]
    # The next version only: a chain reads one step at a time.
    return [Role(ref=min(later)[1], role=SUPERSEDES)] if later else []


def _supported_by(row: Row, episodes: list[Row]) -> list[Role]:
    return [Role(ref=episode.ref, role=SUPPORTS) for episode in episodes if episode.covers(row)]


def _declared_roles(relations: tuple[RecordRelation, ...], candidates: set[Ref]) -> dict[Ref, list[Role]]:
    """Per object, the roles its subjects were declared to have, in the order of (subject, predicate)."""
    declared: dict[Ref, list[Role]] = defaultdict(list)
    for relation in sorted(relations, key=lambda each: (each.subject, each.predicate)):
        ends = {relation.subject, relation.object}
        if len(ends) == 2 and ends <= candidates and relation.predicate in ROLES:
            declared[relation.object].append(Role(ref=relation.subject, role=relation.predicate))
    return declared


def _newest_first(claims: list[Claim]) -> tuple[Claim, ...]:
    """Dated before undated, newest first; then records before episodes, better rank, lower number."""
    tied = sorted(claims, key=_when_tied)
    dated = [(claim.row.instant, claim) for claim in tied if claim.row.instant is not None]
    undated = [claim for claim in tied if claim.row.instant is None]
    return (*(claim for _, claim in sorted(dated, key=itemgetter(0), reverse=True)), *undated)


def _when_tied(claim: Claim) -> tuple[bool, bool, int, int]:
    return (claim.row.ref.kind == "ep", claim.rank is None, claim.rank or 0, claim.row.ref.number)


def _conflicts(claims: tuple[Claim, ...]) -> tuple[Conflict, ...]:
    """In the order of the claims, so the newest conflict first."""
    versions = _versions(claims)
    conflicts = []
    for (_, message_id), dated in versions.items():
        at: dict[datetime, list[Ref]] = defaultdict(list)
        for instant, ref in dated:
            at[instant].append(ref)
        conflicts += [
            Conflict(refs=tuple(sorted(refs)), message_id=message_id) for refs in at.values() if len(refs) > 1
        ]
    return tuple(conflicts)
