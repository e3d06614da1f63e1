"""Mentions go along: where a newer text says what an older one said, it mentions whom that mentioned."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection

from memoryconsole.models import Store
from memoryconsole.spans import Span


@dataclass(frozen=True, slots=True)
class Move:
    """What goes from one record's text to another's (primary keys): the mentions inside a span of the older text, to
    where it stands now, `by` code points further on. `span` None: the whole text, and mentions that have no place.
    """

    before: int
    after: int
    span: Span | None = None
    by: int = 0


_CARRY: Final = """
    INSERT INTO mc_mention (store_id, entity_id, record_id, char_start, char_end, declared_by, created_at)
    SELECT m.store_id, m.entity_id, o.after, m.char_start + o.by, m.char_end + o.by, m.declared_by, %(now)s
    FROM unnest(%(before)s::bigint[], %(after)s::bigint[], %(start)s::integer[], %(end)s::integer[], %(by)s::integer[])
        AS o (before, after, start, stop, by)
    JOIN mc_mention AS m ON m.store_id = %(store)s AND m.record_id = o.before
    WHERE o.start IS NULL OR (m.char_start >= o.start AND m.char_end <= o.stop)
    ORDER BY m.id
    ON CONFLICT DO NOTHING
"""


def carry_mentions(store: Store, moves: Sequence[Move], *, now: datetime) -> None:
    """Let the newer texts mention the same entities at the same words (one statement, none for no moves). The older
    ones keep theirs. Call in the transaction that stores the newer texts.
    """
    if not moves:
        return
    values: dict[str, Any] = {
        "store": store.pk,
        "now": now,
        "before": [move.before for move in moves],
        "after": [move.after for move in moves],
        "start": [None if move.span is None else move.span[0] for move in moves],
        "end": [None if move.span is None else move.span[1] for move in moves],
        "by": [move.by for move in moves],
    }
    with connection.cursor() as cursor:
        cursor.execute(_CARRY, values)
