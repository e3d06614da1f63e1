"""How something stands in the store now, for whoever asks why it was not in an answer. Call inside `snapshot()`."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from memoryconsole.identity import MAX_HOPS, survivors
from memoryconsole.models import Store
from memoryconsole.refs import split_name, split_ref
from memoryconsole.statements import all_rows
from provenance.context_bundle.core.temporal import Scope, Window
from provenance.context_bundle.spine.facts import Facts, FactScope
from provenance.context_bundle.spine.sql import (
    CURRENT_PASSAGE,
    CURRENT_TESTIMONY,
    MENTIONED,
    PASSAGE,
    SAID,
    bounds,
    in_words,
)

__all__ = [
    "EntityStanding",
    "FactStanding",
    "SaidStanding",
    "bounds",
    "read_chunk_id",
    "read_entity",
    "read_fact",
    "read_said",
]


@dataclass(frozen=True, slots=True)
class FactStanding:
    """`ends`: the refs of its current entities; `ends_current`: all of its ends are such. `group`: the id of the open
    contradiction it is in.
    """

    ingested_at: datetime
    invalidated_at: datetime | None
    window: Window
    predicate: str
    ends: frozenset[str]
    ends_current: bool
    group: str | None


@dataclass(frozen=True, slots=True)
class EntityStanding:
    """`survivor`: the ref of the current entity that it is read as, its own unless it was merged away."""

    declared_at: datetime
    survivor: str


@dataclass(frozen=True, slots=True)
class SaidStanding:
    """A claim or a passage. `mentions`: the ids of the entities it mentions, a claim in its words; `facts`: refs of
    what it is evidence of, a passage by the claims that are from it.
    """

    stored_at: datetime
    is_live: bool
    is_current: bool
    mentions: frozenset[str]
    facts: frozenset[str]


def read_fact(store: Store, ref: str, scope: Scope) -> FactStanding | None:
    """None: there is none, or no testimony of it is left (two statements)."""
    kind, name = split_name(ref)
    rows = all_rows(
        "SELECT id FROM mc_fact WHERE store_id = %(store)s AND kind = %(kind)s AND uuid = %(id)s",
        {"store": store.pk, "kind": kind, "id": uuid.UUID(name)},
    )
    facts = Facts(store, FactScope(scope))
    facts.fetch(pk for (pk,) in rows)
    found = next(iter(facts.read.values()), None)
    if found is None or found.row is None:
        return None
    return FactStanding(
        ingested_at=found.row.ingested_at,
        invalidated_at=found.row.invalidated_at,
        window=found.row.window,
        predicate=found.row.predicate,
        ends=frozenset(f"entity:{end.entity_id}" for end in found.ends),
        ends_current={end.number for end in found.ends} >= set(found.row.ends),
        group=found.row.group,
    )


def read_entity(store: Store, ref: str) -> EntityStanding | None:
    """None: it leads to no current entity (one statement, two for one that does)."""
    for found in survivors(store, uuids=[uuid.UUID(split_name(ref)[1])]):
        ((declared_at,),) = all_rows(
            "SELECT created_at FROM mc_entity WHERE id = %(id)s", {"id": found.asked}
        )
        return EntityStanding(declared_at, f"entity:{found.uuid}")
    return None


def _mentions(where: str) -> str:
    """The entities of some mentions `m`: those that the stored ones are read as, as far as they are active."""
    return f"""
    ARRAY(
        WITH RECURSIVE up (id, merged_into_id, uuid, hops) AS (
            SELECT e.id, e.merged_into_id, e.uuid, 0 FROM ({MENTIONED}) AS m JOIN mc_entity AS e ON e.id = m.entity_id
            WHERE {where}
            UNION ALL
            SELECT e.id, e.merged_into_id, e.uuid, u.hops + 1
            FROM up AS u JOIN mc_entity AS e ON e.id = u.merged_into_id WHERE u.hops < {MAX_HOPS})
        SELECT DISTINCT uuid::text FROM up WHERE merged_into_id IS NULL)
"""  # noqa: S608  (constants)


_IN_CLAIM: Final = f"""
    m.record_id = c.record_id AND {in_words("c.spans")} OR EXISTS (
        SELECT FROM mc_claim_occurrence AS o
        WHERE o.claim_id = c.id AND o.record_id = m.record_id AND {in_words("o.spans")})
"""

_CLAIM: Final = f"""
    SELECT c.ingested_at, d.deleted_at IS NULL, {CURRENT_TESTIMONY}, {_mentions(_IN_CLAIM)},
           ARRAY(SELECT f.kind || ':' || f.uuid FROM mc_fact_evidence AS x JOIN mc_fact AS f ON f.id = x.fact_id
                 WHERE x.claim_id = c.id)
    FROM {SAID} WHERE c.store_id = %(store)s AND c.uuid = %(id)s
"""  # noqa: S608  (constants)

_RECORD: Final = f"""
    SELECT r.created_at, v.deleted_at IS NULL AND d.deleted_at IS NULL, {CURRENT_PASSAGE},
           {_mentions("m.record_id = r.id")},
           ARRAY(SELECT f.kind || ':' || f.uuid FROM mc_claim AS c JOIN mc_fact_evidence AS x ON x.claim_id = c.id
                 JOIN mc_fact AS f ON f.id = x.fact_id WHERE c.record_id = r.id)
    FROM {PASSAGE} WHERE r.store_id = %(store)s AND r.number = %(id)s AND r.deleted_at IS NULL
"""  # noqa: S608  (constants)


def read_chunk_id(store: Store, ref: str) -> str | None:
    """The id that claims name a passage by; None when it is not there (one statement)."""
    statement = "SELECT uuid::text FROM mc_record WHERE store_id = %(store)s AND number = %(number)s"
    rows = all_rows(statement, {"store": store.pk, "number": split_ref(ref)[1]})
    return next((chunk_id for (chunk_id,) in rows), None)


def read_said(store: Store, ref: str) -> SaidStanding | None:
    """A claim or a passage; None when it is not there (one statement)."""
    rows: Sequence[tuple[Any, ...]]
    if ref.startswith("claim:"):
        rows = all_rows(_CLAIM, {"store": store.pk, "id": uuid.UUID(split_name(ref)[1])})
    else:
        rows = all_rows(_RECORD, {"store": store.pk, "id": split_ref(ref)[1]})
    for stored_at, is_live, is_current, mentions, facts in rows:
        return SaidStanding(stored_at, is_live, is_current, frozenset(mentions), frozenset(facts))
    return None
