"""Who may be meant by a name: whole, nearly, or by its sound (contract: context-bundle C.1). Nothing is picked.

T0: a name or alias with the same `resolve_key`; any hit ends the search. Else T1: trigram similarity of at least 0.3
with a name or alias, and T2: the same Daitch-Mokotoff sound. Names of merged entities lead to their survivors; an
entity without provenance is nowhere.

Scores are shares in 1/10,000, rounded half away from zero, so that a trace compares them exactly. PostgreSQL computes
them as 32-bit floats from counts of trigrams: the same in every installation whose databases classify letters alike.
"""

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from django.db import connection

from memoryconsole.folding import resolve_key
from memoryconsole.identity import FOLLOWED
from memoryconsole.models import Store
from memoryconsole.models.graph import digest_of_key

Tier = Literal["T0", "T1", "T2"]

# Contract: context-bundle C.1. One more than is shown tells that there are more.
SIMILARITY = 0.3
FETCHED = 11
# What scores count in.
UNIT = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A current entity that a name may mean. `pk`: its primary key; `name`: its canonical name.

    `score`: T1's similarity to the nearest of its names, 0 for T2, `UNIT` for T0. `likeness`: the similarity of its
    canonical name. `context_hits`: how many of the context's entities are next to it in the live graph.
    """

    pk: int
    number: int
    uuid: uuid.UUID
    name: str
    tier: Tier
    score: int = UNIT
    likeness: int = UNIT
    context_hits: int = 0


def lookup(
    store: Store, name: str, context_entity_ids: Collection[uuid.UUID] = (), *, at: datetime
) -> tuple[Candidate, ...]:
    """Candidates in the order (score, likeness, number), before the context orders them. Call inside `snapshot()`.

    T0: every one there is. Otherwise the best `FETCHED`. `at`: the evaluation instant, for which relations are live.
    The context never adds or removes a candidate. At most three statements; none for a name without a key.
    """
    key = resolve_key(name)
    if not key:
        return ()
    found = _exact(store, key) or _near(store, key)
    if not found or not context_entity_ids:
        return found
    hits = _context_hits(store, [each.pk for each in found], context_entity_ids, at)
    return tuple(replace(each, context_hits=hits.get(each.pk, 0)) for each in found)


# `KeyDigest` in SQL: what the index holds of a key.
_DIGEST = r"sha256(decode(replace({0}.resolve_key, '\', '\\'), 'escape'))"

# The threshold of `%`, the operator that the index knows, is a setting of the session; it is put in place by this
# statement for the next, which runs when this one finds nobody.
_EXACT = f"""
    WITH RECURSIVE hit (entity_id) AS (
        SELECT e.id FROM mc_entity AS e
        WHERE e.store_id = %(store)s AND {_DIGEST.format("e")} = %(digest)s AND e.resolve_key = %(key)s
        UNION
        SELECT a.entity_id FROM mc_entity_alias AS a
        WHERE a.store_id = %(store)s AND {_DIGEST.format("a")} = %(digest)s AND a.resolve_key = %(key)s),
    {FOLLOWED},
    threshold AS MATERIALIZED (
        SELECT set_config('pg_trgm.similarity_threshold', '{SIMILARITY}', TRUE) AS value)
    SELECT e.id, e.number, e.uuid, e.name
    FROM threshold LEFT JOIN (current_entity AS c JOIN mc_entity AS e ON e.id = c.id) ON TRUE
    ORDER BY e.number
"""  # noqa: S608  (put together from constants)


def _exact(store: Store, key: str) -> tuple[Candidate, ...]:
    rows = _fetch(_EXACT, {"store": store.pk, "key": key, "digest": digest_of_key(key)})
    return tuple(
        Candidate(pk=pk, number=number, uuid=uid, name=name, tier="T0")
        for pk, number, uid, name in rows
        if pk is not None
    )


_SHARE = f"round((similarity({{0}}, %(key)s) * {UNIT})::numeric)::integer"

_NEAR = f"""
    WITH RECURSIVE
    found (entity_id, tier, score) AS MATERIALIZED (
        SELECT e.id, 1, {_SHARE.format("e.resolve_key")} FROM mc_entity AS e
        WHERE e.store_id = %(store)s AND e.resolve_key %% %(key)s
        UNION ALL
        SELECT a.entity_id, 1, {_SHARE.format("a.resolve_key")} FROM mc_entity_alias AS a
        WHERE a.store_id = %(store)s AND a.resolve_key %% %(key)s
        UNION ALL
        SELECT e.id, 2, 0 FROM mc_entity AS e
        WHERE e.store_id = %(store)s AND daitch_mokotoff(e.resolve_key) && daitch_mokotoff(%(key)s)
        UNION ALL
        SELECT a.entity_id, 2, 0 FROM mc_entity_alias AS a
        WHERE a.store_id = %(store)s AND daitch_mokotoff(a.resolve_key) && daitch_mokotoff(%(key)s)),
    hit (entity_id) AS (SELECT DISTINCT entity_id FROM found),
    {FOLLOWED},
    best (id, tier, score) AS (
        SELECT s.id, min(f.tier), max(f.score) FROM found AS f JOIN survivor AS s ON s.start_id = f.entity_id
        GROUP BY s.id)
    SELECT e.id, e.number, e.uuid, e.name, b.tier, b.score, {_SHARE.format("e.resolve_key")} AS likeness
    FROM best AS b JOIN current_entity AS c ON c.id = b.id JOIN mc_entity AS e ON e.id = b.id
    ORDER BY b.score DESC, likeness DESC, e.number
    LIMIT {FETCHED}
"""  # noqa: S608  (put together from constants)


def _near(store: Store, key: str) -> tuple[Candidate, ...]:
    rows = _fetch(_NEAR, {"store": store.pk, "key": key})
    return tuple(
        Candidate(
            pk=pk, number=number, uuid=uid, name=name, tier="T1" if tier == 1 else "T2", score=score, likeness=likeness
        )
        for pk, number, uid, name, tier, score, likeness in rows
    )  # fmt: skip


# A relation is live that is held now, is certainly so now (both ends of its window known, or open), and rests on a
# claim that can still be read (context-bundle A.4, D.4).
_CONTEXT = f"""
    WITH RECURSIVE hit (entity_id) AS (
        SELECT unnest(%(keys)s::bigint[])
        UNION SELECT id FROM mc_entity WHERE store_id = %(store)s AND uuid = ANY(%(uuids)s)),
    {FOLLOWED},
    context (id) AS (
        SELECT DISTINCT s.id FROM survivor AS s JOIN mc_entity AS e ON e.id = s.start_id
        WHERE e.uuid = ANY(%(uuids)s) AND s.id IN (SELECT id FROM current_entity)),
    near (id) AS (SELECT f.id FROM family AS f JOIN context AS c ON c.id = f.survivor_id),
    touching (id) AS (
        SELECT r.id FROM near AS n JOIN mc_fact AS r ON r.subject_id = n.id
        UNION SELECT r.id FROM near AS n JOIN mc_fact AS r ON r.object_id = n.id),
    relation AS MATERIALIZED (
        SELECT r.subject_id, r.object_id FROM touching AS t JOIN mc_fact AS r ON r.id = t.id
        WHERE r.store_id = %(store)s AND r.kind = 'relation'
          AND r.ingested_at <= %(at)s AND r.invalidated_at IS NULL
          AND r.valid_from <= %(at)s AND (r.valid_precision = 'open' OR r.valid_until > %(at)s)
          AND EXISTS (
            SELECT FROM mc_fact_evidence AS v JOIN mc_claim AS c ON c.id = v.claim_id
            JOIN mc_record AS t ON t.id = c.record_id
            WHERE v.fact_id = r.id AND t.deleted_at IS NULL)),
    joined (one, other) AS (
        SELECT subject_id, object_id FROM relation UNION SELECT object_id, subject_id FROM relation)
    SELECT a.survivor_id, count(DISTINCT b.survivor_id)
    FROM joined AS j JOIN family AS a ON a.id = j.one JOIN family AS b ON b.id = j.other
    WHERE a.survivor_id = ANY(%(keys)s) AND b.survivor_id IN (SELECT id FROM context)
      AND a.survivor_id <> b.survivor_id
    GROUP BY a.survivor_id
"""  # noqa: S608  (put together from constants)


def _context_hits(
    store: Store, candidates: Sequence[int], context: Collection[uuid.UUID], at: datetime
) -> dict[int, int]:
    values = {"store": store.pk, "keys": [*candidates], "uuids": [*context], "at": at}
    return {pk: int(hits) for pk, hits in _fetch(_CONTEXT, values)}


def _fetch(statement: str, values: dict[str, Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall()
