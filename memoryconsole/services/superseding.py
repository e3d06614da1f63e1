"""What superseded a row: a later version of its message, or a record or summary that was declared to.

Told from the side of the row that was superseded, whatever scope its reader asks about: who finds an old row by its
ref has no bundle to learn it from.
"""

from collections.abc import Iterable
from typing import Any

from django.db.models import F, Q, QuerySet

from memoryconsole.models import Association, Record, Store
from memoryconsole.nodes import Parent

# The contract's word for it (reconstruct E), as predicates are stored.
SUPERSEDES = "supersedes"


def successors(store: Store, rows: Iterable[Parent]) -> dict[Parent, str]:
    """The ref of what superseded each of these rows, for those that something did (two statements at most).

    The next version in time comes first: the earliest one with a later readable instant, in whatever channel. A row
    that has none is superseded by what was declared so last.
    """
    wanted = set(rows)
    found: dict[Parent, str] = {}
    if wanted:
        last = (
            _declarations(store, wanted)
            .order_by("object_record", "object_summary", "-declared_at", "-number")
            .distinct("object_record", "object_summary")
        )
        for each in last.values(*_ENDS):
            found[_parent(each["object_record"], each["object_summary"])] = _subject(each)
    records = [key for kind, key in wanted if kind == "mem"]
    if records:
        for row, number in Record.objects.filter(store=store, pk__in=records).only("pk").with_successors():
            if number is not None:
                found["mem", row.pk] = f"mem:{number}"
    return found


_ENDS = ("object_record", "object_summary", "subject_record__number", "subject_summary__number")


def _declarations(store: Store, rows: set[Parent]) -> "QuerySet[Association]":
    records = [key for kind, key in rows if kind == "mem"]
    summaries = [key for kind, key in rows if kind == "ep"]
    return (
        Association.objects.filter(
            Q(object_record__in=records) | Q(object_summary__in=summaries),
            store=store,
            predicate=SUPERSEDES,
            subject_entity=None,
        )
        # Nothing supersedes itself.
        .exclude(subject_record__isnull=False, subject_record=F("object_record"))
        .exclude(subject_summary__isnull=False, subject_summary=F("object_summary"))
    )


def _parent(record: int | None, summary: int) -> Parent:
    return ("mem", record) if record is not None else ("ep", summary)


def _subject(ends: dict[str, Any]) -> str:
    record = ends["subject_record__number"]
    return f"mem:{record}" if record is not None else f"ep:{ends['subject_summary__number']}"
