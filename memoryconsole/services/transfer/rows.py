"""Exported lines become rows again, one kind at a time.

In a store that is restored they keep their numbers and times; elsewhere they get new ones. Either way a row is known
by its UUID (declarations without one: by what they say), so that a file stored twice changes nothing.
"""

import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from memoryconsole import search
from memoryconsole.bulk import copy_instances
from memoryconsole.models import Record, Store, StoreCounter, Summary, SummarySource, User
from memoryconsole.models.summaries import SourceType
from memoryconsole.services import ingest
from memoryconsole.services.dividing import divide_later, needs_nodes
from memoryconsole.services.following import follow_messages
from memoryconsole.services.indexing import embed_later, language_changed
from memoryconsole.services.numbering import lock_counter, take_beliefs, take_numbers
from memoryconsole.services.transfer.lines import BadLine
from memoryconsole.times import read_stamp

Row = TypeVar("Row", Record, Summary)

# (the line's number, its members)
Item = tuple[int, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Restoring:
    """A store that takes over a file's own numbers and times. `last`: the highest number of each kind."""

    last: dict[str, int]
    believed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Where lines go, for whom and when. `restoring` None: rows are numbered and dated anew."""

    store: Store
    by: User | None
    now: datetime
    restoring: Restoring | None = None


@dataclass(slots=True)
class Outcome:
    """What became of some lines: rows made, rows that were there, and lines refused, each with its number. `told`:
    what is to be said of lines that were taken.
    """

    created: int = 0
    duplicate: int = 0
    refused: list[tuple[int, BadLine]] = field(default_factory=list)
    told: list[tuple[int, BadLine]] = field(default_factory=list)


@dataclass(slots=True)
class Prepared:
    """Rows made of lines, not stored yet, by UUID, and what the index will hold of them, in the same order."""

    rows: dict[uuid.UUID, Any]
    analysis: search.Analysis


def prepare(context: Context, kind: str, items: Sequence[Item]) -> Prepared:
    """Make rows of those lines that are not stored yet, and analyse their texts: the work that needs no lock."""
    model, make = _MAKERS[kind]
    wanted = {members["uuid"] for _, members in items}
    known = set(
        model.objects.filter(store=context.store, uuid__in=wanted).values_list("uuid", flat=True)
    )  # fmt: skip
    rows = {m["uuid"]: make(context, m) for _, m in items if m["uuid"] not in known}
    return Prepared(rows, search.analyse(context.store, [*rows.values()]))


def store_records(context: Context, items: Sequence[Item], prepared: Prepared) -> Outcome:
    """Insert records under their UUIDs, with their versions as they are. Call in a transaction."""
    counter = lock_counter(context.store)
    outcome = Outcome()
    fresh = _fresh(context, Record, items, prepared, outcome, kind="record", text="content")
    _number(context, counter, "record", [row for row, _ in fresh])
    if fresh:
        rows = [row for row, _ in fresh]
        session_ids = [members["session_id"] for _, members in fresh]
        analysis = _analysis(context, prepared, rows)
        latest = _latest(context, counter, rows)
        ingest.write_records(
            context.store, counter, rows, session_ids, analysis=analysis, by=context.by, now=context.now
        )
        newer = []
        for row in rows:
            key = (row.project_id, row.message_id)
            if row.message_id and key in latest:
                newer.append((latest[key], row))
            latest[key] = row
        follow_messages(context.store, counter, newer, now=context.now)
    return outcome


def _latest(context: Context, counter: StoreCounter, rows: Sequence[Record]) -> dict[tuple[str, str], Record]:
    """The versions that are the newest before these rows are there; asked for where claims may rest on them."""
    keys = {(row.project_id, row.message_id) for row in rows if row.message_id}
    if not keys or not counter.claim:
        return {}
    return Record.objects.latest_versions(context.store, keys)


def store_summaries(context: Context, items: Sequence[Item], prepared: Prepared) -> Outcome:
    """Insert summaries with their ordered sources. Call in a transaction."""
    counter = lock_counter(context.store)
    outcome = Outcome()
    fresh = _fresh(context, Summary, items, prepared, outcome, kind="summary", text="summary")
    _number(context, counter, "summary", [row for row, _ in fresh])
    if not fresh:
        return outcome
    sessions = ingest.sessions_of(
        context.store, counter, {m["session_id"] for _, m in fresh}, now=context.now
    )
    for summary, members in fresh:
        summary.session = sessions.get(members["session_id"])
    links = _links(context, fresh)
    rows = [summary for summary, _ in fresh]
    copy_instances(Summary, rows)
    SummarySource.objects.bulk_create(links, batch_size=2000)
    analysis = _analysis(context, prepared, rows)
    if search.index(context.store, summaries=rows, analysis=analysis, now=context.now).owed:
        embed_later(context.store, by=context.by, now=context.now)
    # Summaries of summaries are no candidates of recall, so none is ever quoted by a node.
    episodes = [row for row in rows if row.source_type != SourceType.NODES]
    long = [row for row in episodes if needs_nodes(row.summary, analysis)]
    divide_later(context.store, summaries=long, by=context.by, now=context.now)
    return outcome


def known_rows(store: Store, model: Any, wanted: Iterable[uuid.UUID], *columns: str) -> dict[uuid.UUID, Any]:
    """The store's rows by UUID, hidden ones included, with these columns alone."""
    rows = model.objects.filter(store=store, uuid__in=set(wanted)).only("uuid", "number", *columns)
    return {row.uuid: row for row in rows}


def check_number(context: Context, kind: str, number: int, taken: set[int]) -> None:
    """Raises BadLine for a number that a restored row cannot have; notes it as taken otherwise."""
    if context.restoring is None:
        return
    if number > context.restoring.last[kind]:
        raise BadLine("conflict", "Lies beyond the last number in the header.", "/number")
    if number in taken:
        raise BadLine("conflict", "Another row has this number.", "/number")
    taken.add(number)


def taken_numbers(context: Context, model: Any, items: Sequence[Item]) -> set[int]:
    """Those of the lines' numbers that rows of the store have, where that matters."""
    if context.restoring is None:
        return set()
    numbers = [members["number"] for _, members in items]
    rows = model.objects.filter(store=context.store, number__in=numbers)
    return set(rows.values_list("number", flat=True))


def _fresh(
    context: Context,
    model: type[Row],
    items: Sequence[Item],
    prepared: Prepared,
    outcome: Outcome,
    *,
    kind: str,
    text: str,
) -> list[tuple[Row, dict[str, Any]]]:
    """The rows to insert, each with its line's members; the other lines go to `outcome`."""
    known = known_rows(context.store, model, (m["uuid"] for _, m in items), "digest", "deleted_at")
    taken = taken_numbers(context, model, items)
    fresh: list[tuple[Row, dict[str, Any]]] = []
    for line, members in items:
        uid = members["uuid"]
        try:
            if uid in known:
                _check_same(known[uid], members[text])
                outcome.duplicate += 1
                continue
            _check_believed(context, members)
            check_number(context, kind, members["number"], taken)
        except BadLine as bad:
            outcome.refused.append((line, bad))
            continue
        # Known when it was prepared, and erased since.
        row = prepared.rows.get(uid) or _MAKERS[kind][1](context, members)
        known[uid] = row
        fresh.append((row, members))
    outcome.created = len(fresh)
    return fresh


def _check_same(row: Record | Summary, text: str) -> None:
    if row.deleted_at is not None:
        raise BadLine("being_erased", "This row was deleted here and is being erased.", "/uuid")
    if bytes(row.digest) != ingest.digest_of(text):
        raise BadLine("conflict", "A row with this UUID is here and says something else.", "/uuid")


def _check_believed(context: Context, members: dict[str, Any]) -> None:
    if context.restoring is None:
        return
    last = context.restoring.believed_at
    if last is None or members["believed_at"] > last:
        raise BadLine("conflict", "Lies after the last belief instant in the header.", "/believed_at")


def _number(context: Context, counter: StoreCounter, kind: str, rows: Sequence[Record | Summary]) -> None:
    if context.restoring is not None or not rows:
        return
    numbers = take_numbers(counter, kind, len(rows))
    beliefs = take_beliefs(counter, len(rows), now=context.now)
    for row, number, believed_at in zip(rows, numbers, beliefs, strict=True):
        row.number, row.believed_at = number, believed_at
    counter.save(update_fields=[kind, "belief_at"])


def _analysis(
    context: Context, prepared: Prepared, rows: Sequence[Record] | Sequence[Summary]
) -> search.Analysis:
    """What was analysed of the rows beforehand; done again when it was not for these, or in another language."""
    if language_changed(context.store):
        return search.analyse(context.store, rows)
    places = {uid: place for place, uid in enumerate(prepared.rows)}
    if any(row.uuid not in places for row in rows):
        return search.analyse(context.store, rows)
    return prepared.analysis.only(places[row.uuid] for row in rows)


def _links(context: Context, fresh: Sequence[tuple[Summary, dict[str, Any]]]) -> list[SummarySource]:
    """The ordered sources of new summaries. What did not come along keeps its place, under its old number where
    numbers are kept, and under 0 elsewhere: there the old number may be somebody else's.
    """
    wanted = {
        kind: {place for _, m in fresh if m["source_type"] == kind for place in m["sources"]}
        for kind in (SourceType.MESSAGES, SourceType.NODES)
    }
    records = _live(context, Record, wanted[SourceType.MESSAGES])
    children = _live(context, Summary, wanted[SourceType.NODES]) | {row.uuid: row for row, _ in fresh}
    links = []
    for summary, members in fresh:
        rows = records if members["source_type"] == SourceType.MESSAGES else children
        for index, place in enumerate(members["sources"]):
            row = None if isinstance(place, int) else rows.get(place)
            if row is None and not isinstance(place, int):
                summary.sources_gone = True
            links.append(
                SummarySource(
                    store=context.store,
                    summary=summary,
                    source_index=index,
                    number=row.number if row else _gone(context, place),
                    record=row if isinstance(row, Record) else None,
                    child=row if isinstance(row, Summary) else None,
                )
            )
    return links


def _gone(context: Context, place: uuid.UUID | int) -> int:
    return place if context.restoring is not None and isinstance(place, int) else 0


def _live(context: Context, model: Any, wanted: Iterable[uuid.UUID | int]) -> dict[uuid.UUID, Any]:
    uids = [place for place in wanted if not isinstance(place, int)]
    return {
        uid: row
        for uid, row in known_rows(context.store, model, uids, "deleted_at").items()
        if row.deleted_at is None
    }


def _record(context: Context, members: dict[str, Any]) -> Record:
    source, stamp = members.get("source", {}), members.get("timestamp", "")
    return Record(
        store=context.store,
        uuid=members["uuid"],
        # A store that numbers anew writes over these two.
        number=members["number"],
        believed_at=members["believed_at"],
        created_at=members["created_at"] if context.restoring else context.now,
        project_id=members["project_id"],
        channel=members["channel"],
        # Trimmed as the API does: blanks are no id, and no two messages have them in common.
        message_id=members["message_id"].strip(),
        source_type=source.get("type", ""),
        source_id=source.get("id", ""),
        source_name=source.get("name", ""),
        role=members["role"],
        timestamp=stamp,
        instant=read_stamp(stamp),
        content=members["content"],
        digest=ingest.digest_of(members["content"]),
        tool_call_id=members["tool_call_id"],
        tool_name=members["tool_name"],
        tool_calls=members.get("tool_calls"),
        conversation_id=members["conversation_id"],
    )


def _summary(context: Context, members: dict[str, Any]) -> Summary:
    plain = ("uuid", "number", "believed_at", "project_id", "channel", "depth", "source_type", "summary", "start",
             "end", "token_count", "source_token_count", "expand_hint", "sources_gone")  # fmt: skip
    return Summary(
        store=context.store,
        digest=ingest.digest_of(members["summary"]),
        earliest_at=read_stamp(members["start"]),
        latest_at=read_stamp(members["end"]),
        created_at=members["created_at"] if context.restoring else context.now,
        **{name: members[name] for name in plain},
    )


_MAKERS: dict[str, tuple[Any, Callable[[Context, dict[str, Any]], Any]]] = {
    "record": (Record, _record),
    "summary": (Summary, _summary),
}
