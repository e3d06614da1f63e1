"""What the statements of the spine share: conditions, columns, and how rows become values."""

from datetime import datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from provenance.context_bundle.core.temporal import At, History, Overlap, Scope

Keys = NDArray[np.int64]
"""Primary keys."""


HELD: Final = """
    f.ingested_at <= %(believed_at)s
    AND (f.invalidated_at IS NULL OR (%(later)s AND f.invalidated_at > %(believed_at)s))
    AND (f.valid_from IS NULL OR f.valid_from <= %(begins_by)s)
    AND (%(ends_after)s::timestamptz IS NULL OR f.valid_until IS NULL OR f.valid_until > %(ends_after)s::timestamptz)
"""
"""A fact `f` passes the scope (contract, section D.3); `scope_values` has its values. On a later page also one that was
invalidated since the first: it is nominated, dropped and counted.
"""

CERTAIN: Final = """
    f.ingested_at <= %(at)s AND f.invalidated_at IS NULL AND f.valid_from <= %(at)s
    AND (f.valid_precision = 'open' OR f.valid_until > %(at)s)
"""
"""A fact `f` is in the live graph: believed now, and certainly so now (contract, section D.4)."""

VISIBLE: Final = """
    EXISTS (
        SELECT FROM mc_fact_evidence AS x JOIN mc_claim AS c ON c.id = x.claim_id
        JOIN mc_record AS r ON r.id = c.record_id
        WHERE x.fact_id = f.id AND r.deleted_at IS NULL)
"""
"""A fact `f` has evidence in visible history (contract, section A.4)."""

SAID: Final = """
    mc_claim AS c JOIN mc_record AS r ON r.id = c.record_id AND r.deleted_at IS NULL
    JOIN mc_document AS d ON d.id = c.document_id
"""
"""Claims `c` in visible history, with their passages `r` and documents `d`."""

CURRENT_TESTIMONY: Final = "(c.is_current AND d.deleted_at IS NULL)"

CURRENT_PASSAGE: Final = """
    r.deleted_at IS NULL AND (CASE WHEN p.record_id IS NULL
        THEN r.message_id = '' OR NOT EXISTS (
            SELECT FROM mc_record AS n
            WHERE n.store_id = r.store_id AND n.project_id = r.project_id AND n.message_id = r.message_id
                AND n.message_id <> '' AND n.number > r.number AND n.deleted_at IS NULL)
        ELSE v.superseded_at IS NULL AND v.deleted_at IS NULL AND d.deleted_at IS NULL END)
"""
"""A record `r` with its passage `p`, that one's version `v` and its document `d` (all but `r` may be missing) is a
current passage (contract, section B.7): of the newest version of its document, or the newest version of its message.
"""

PASSAGE: Final = """
    mc_record AS r LEFT JOIN mc_passage AS p ON p.record_id = r.id
    LEFT JOIN mc_document_version AS v ON v.id = p.version_id
    LEFT JOIN mc_document AS d ON d.id = v.document_id
"""


MENTIONED: Final = """
    SELECT n.entity_id, n.record_id, n.char_start + coalesce(p.char_start, 0) AS since,
           n.char_end + coalesce(p.char_start, 0) AS until
    FROM mc_mention AS n LEFT JOIN mc_passage AS p ON p.record_id = n.record_id
"""
"""Mentions of entities, placed in the representation, as claims are; no place (NULL): the whole record."""


def in_words(spans: str) -> str:
    """A row `m` of MENTIONED lies in one of these spans (a column of claims or occurrences), or has no place."""
    return f"""(m.since IS NULL OR EXISTS (
        SELECT FROM jsonb_array_elements({spans}) AS s
        WHERE m.since < (s ->> 1)::integer AND (s ->> 0)::integer < m.until))"""


IN_CLAIM: Final = f"""
    (m.since < c.char_end AND c.char_start < m.until
     OR (m.since IS NULL OR jsonb_array_length(c.spans) > 1) AND {in_words("c.spans")})
"""
"""`in_words` of a claim `c`. Its first span stands in columns, and mostly there is no other: a passage has many claims,
and to take the JSON of each apart is slow.
"""


def scope_values(scope: Scope, *, later: bool) -> dict[str, Any]:
    """The values of HELD."""
    begins_by, ends_after = bounds(scope)
    return {
        "believed_at": scope.believed_at,
        "later": later,
        "begins_by": begins_by,
        "ends_after": ends_after,
    }


def bounds(scope: Scope) -> tuple[datetime, datetime | None]:
    """By when a fact has begun to pass the scope, and after what instant it ends; None: whenever."""
    match scope:
        case At():
            return scope.at, scope.at
        case Overlap():
            return scope.end, scope.start
        case History():
            return scope.evaluated_at, None
        case _:
            return scope.evaluated_at, scope.evaluated_at
