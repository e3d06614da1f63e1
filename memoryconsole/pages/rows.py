"""What a page shows of rows that a trace or an answer names: read live, so that what is gone is gone here too."""

from collections.abc import Iterable
from typing import Any

from django.db.models.functions import Left, Length

from memoryconsole.models import Entity, Record, Store, Summary
from memoryconsole.pages.named import read_named
from memoryconsole.pages.shown import Shown
from memoryconsole.refs import numbers_by_kind
from memoryconsole.templatetags.console import BRIEF_CHARS

# The beginning of a text, a little more than a page shows of it, so that the page can tell that there is more.
_READ_CHARS = BRIEF_CHARS + 1


def read_rows(store: Store, refs: Iterable[str]) -> dict[str, Shown]:
    """What is live among the refs (at most two statements for records and summaries, four for what has a UUID)."""
    wanted = list(refs)
    numbers = numbers_by_kind(wanted)
    found = read_named(store, wanted)
    if numbers["mem"]:
        records = Record.objects.live().filter(store=store, number__in=numbers["mem"])
        records = records.defer("content", "tool_calls")
        for record in records.annotate(beginning=Left("content", _READ_CHARS), length=Length("content")):
            found[record.ref] = _record(record)
    if numbers["ep"]:
        summaries = Summary.objects.live().filter(store=store, number__in=numbers["ep"]).defer("summary")
        for summary in summaries.annotate(beginning=Left("summary", _READ_CHARS), length=Length("summary")):
            found[summary.ref] = _summary(summary)
    return found


def _record(record: Any) -> Shown:
    source = {"type": record.source_type, "id": record.source_id, "name": record.source_name}
    return Shown(
        ref=record.ref,
        text=record.beginning,
        length=record.length,
        timestamp=record.timestamp,
        project_id=record.project_id,
        channel=record.channel,
        message_id=record.message_id.strip(),
        source=source,
    )


def _summary(summary: Any) -> Shown:
    return Shown(
        ref=summary.ref,
        text=summary.beginning,
        length=summary.length,
        timestamp=summary.as_of,
        project_id=summary.project_id,
        channel=summary.channel,
        message_id="",
        source={"type": "", "id": "", "name": ""},
    )


def read_names(store: Store, numbers: Iterable[int]) -> dict[int, str]:
    """The names of the entities that are still there, by number (at most one statement)."""
    wanted = set(numbers)
    if not wanted:
        return {}
    return dict(Entity.objects.filter(store=store, number__in=wanted).values_list("number", "name"))
