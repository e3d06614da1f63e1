"""What is left of facts when the testimony behind them has been erased: nothing (contract: context-bundle A.9)."""

from django.db import connection

from memoryconsole.models.traces import pruning

# The rows that hang on a fact go with it, by the database; its transcript knows it by kind and id alone.
_ERASE = """
WITH gone AS (
    SELECT f.id, f.kind, f.uuid FROM mc_fact AS f
    WHERE f.store_id = %(store)s AND NOT EXISTS (SELECT FROM mc_fact_evidence AS e WHERE e.fact_id = f.id)
    ORDER BY f.id LIMIT %(limit)s
), told AS (
    DELETE FROM mc_decision AS d USING gone
    WHERE d.store_id = %(store)s AND d.subject_kind = gone.kind AND d.subject_uuid = gone.uuid
)
DELETE FROM mc_fact AS f USING gone WHERE f.id = gone.id
"""
_ERASE_GROUPS = """
DELETE FROM mc_contradiction_group WHERE id IN (
    SELECT g.id FROM mc_contradiction_group AS g
    WHERE g.store_id = %(store)s AND NOT EXISTS (SELECT FROM mc_contradiction_member AS m WHERE m.group_id = g.id)
    ORDER BY g.id LIMIT %(limit)s)
"""


def erase_unbacked(store: int, *, limit: int) -> int:
    """Physically remove facts (`limit` at most) that no claim is evidence of any more, transcripts included; answers
    how many. `store`: its primary key.

    Belief in them ended when their testimony was hidden: a fact always begins with evidence, in one transaction.
    """
    with pruning(), connection.cursor() as cursor:
        cursor.execute(_ERASE, {"store": store, "limit": limit})
        return int(cursor.rowcount)


def erase_empty_groups(store: int, *, limit: int) -> int:
    """Physically remove groups (`limit` at most) of which every fact was erased; answers how many. A group always
    begins with its members, in one transaction.
    """
    with connection.cursor() as cursor:
        cursor.execute(_ERASE_GROUPS, {"store": store, "limit": limit})
        return int(cursor.rowcount)
