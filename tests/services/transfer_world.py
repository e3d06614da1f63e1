"""A store that holds something of everything, and files as jobs take and make them."""

import io
import json
import uuid
from typing import Any

from django.utils import timezone

from memoryconsole import jobs
from memoryconsole.folding import declared_key
from memoryconsole.models import (
    Association,
    Entity,
    EntityAlias,
    Job,
    Mention,
    Record,
    Store,
    Summary,
    SummarySource,
    User,
)
from memoryconsole.services import forget, ingest, transfer
from memoryconsole.services.ingest import NewRecord, NewSummary
from memoryconsole.services.numbering import take_numbers
from memoryconsole.snapshot import snapshot

TEXTS = [
    "the ferry leaves at nine",
    "灯台の電池を交換した 🔋👩‍🚒",
    'quotes " and \\ and \u2028 and tabs\tand\r\nline ends',
    "مرحبا ﷺ",
    "= a bit of everything: é e\u0301 \u202egnirts\u202c",
    " white space kept ",
]


def fill(store: Store, by: User) -> None:
    """Versions with one deleted between, gaps, undated rows, tool calls, summaries with gone sources, declarations."""

    def say(*rows: NewRecord) -> None:
        ingest.store_records(store, rows, by=by, now=timezone.now())

    def sum_up(**members: Any) -> Summary:
        return ingest.store_summary(store, NewSummary(**members), by=by, now=timezone.now())

    calls = [
        {
            "name": "tide",
            "arguments": {"harbour": "北", "at": [1, 2.5, 1e-7, None, True], "b": {"z": 1, "a": 2}},
        }
    ]
    say(
        *(NewRecord(content=text, timestamp=f"2026-01-05T10:0{n}:00+01:00") for n, text in enumerate(TEXTS)),
        NewRecord(content="A", message_id="m-1", project_id="dispatch", channel="desk", timestamp="2026-01-05"),
        NewRecord(content="B", message_id="m-1", project_id="dispatch", channel="desk", timestamp="2026-01-06"),
        NewRecord(content="A", message_id="m-1", project_id="dispatch", channel="desk", timestamp="2026-01-07"),
        NewRecord(content="", tool_calls=calls, tool_name="tide", tool_call_id="t-1", conversation_id="c"),
        NewRecord(content="no tools were called", tool_calls=[], timestamp=""),
        NewRecord(content="half past", timestamp="soon", session_id="s-1", role="user", source_type="User",
                  source_id="u1", source_name="Dag"),
        NewRecord(content="in the session too", session_id="s-1"),
        NewRecord(content="the last one, soon gone"),
    )  # fmt: skip
    sum_up(summary="a calm week ⛴", start="2026-01-05", end="2026-01-09", project_id="dispatch")
    leaf = sum_up(summary="what the session said", session_id="s-1", source_type="messages",
                  source_ids=(12, 999, 13, 8), depth=0, token_count=7, source_token_count=30)  # fmt: skip
    other = sum_up(summary="said elsewhere", source_type="messages", source_ids=(7,), expand_hint="more")
    gone = sum_up(summary="soon gone too", source_type="messages", source_ids=(1, 2))
    sum_up(summary="both", source_type="nodes", source_ids=(other.number, leaf.number, gone.number), depth=1)
    declare(store)
    for number in (2, 8, 14):
        forget.delete_record(store, number, by=by, now=timezone.now())
    forget.delete_summary(store, gone.number, by=by, now=timezone.now())
    work(store)


def declare(store: Store) -> None:
    now = timezone.now()
    counter = store.counter
    counter.refresh_from_db()
    dag, ferry, pier, dropped = (
        Entity.objects.create(store=store, number=number, uuid=uuid.uuid4(), name=name, declared_key=declared_key(name),
                              project_id=project, created_at=now, declared_by=by)
        for number, (name, project, by) in zip(
            take_numbers(counter, "entity", 4),
            [("Dag", "", "agent"), ("Straße 山", "dispatch", "operator"), ("Pier", "", "agent"), ("Gone", "", "agent")],
            strict=True,
        )
    )  # fmt: skip
    dropped.delete()
    aliases = [
        (dag, "Dagny", ""),
        (ferry, "ﷺ" * 20, "dispatch"),
        (ferry, "STRASSE", ""),
        (ferry, "strasse2", ""),
    ]
    for entity, alias, channel in aliases:
        EntityAlias.objects.create(
            store=store, entity=entity, alias=alias, declared_key=declared_key(alias), channel=channel
        )
    record = {row.number: row for row in Record.objects.filter(store=store)}
    summary = {row.number: row for row in Summary.objects.filter(store=store)}
    for entity, place in [
        (dag, record[1]),
        (ferry, record[1]),
        (dag, record[2]),
        (dag, summary[1]),
        (pier, record[3]),
    ]:
        place_of = {"record": place} if isinstance(place, Record) else {"summary": place}
        Mention.objects.create(store=store, entity=entity, created_at=now, declared_by="operator", **place_of)
    rows: list[dict[str, Any]] = [
        {"subject_entity": dag, "predicate": "steers", "object_entity": ferry},
        {"subject_entity": dag, "predicate": "steers", "object_entity": ferry, "anchor_record": record[3]},
        {"subject_record": record[9], "predicate": "corrects", "object_record": record[7], "channel": "desk"},
        {"subject_record": record[2], "predicate": "goes with the record", "object_entity": pier},
        {
            "subject_summary": summary[1],
            "predicate": "tells of",
            "object_entity": pier,
            "project_id": "dispatch",
        },
        {
            "subject_entity": pier,
            "predicate": "named in",
            "object_summary": summary[2],
            "anchor_summary": summary[1],
        },
    ]
    for number, row in zip(take_numbers(counter, "association", len(rows)), rows, strict=True):
        Association.objects.create(store=store, number=number, declared_at=now, **row)
    counter.save()


def work(store: Store) -> None:
    """Do the store's waiting jobs."""
    while waiting := list(Job.objects.filter(store=store, state="queued").order_by("pk")):
        for job in waiting:
            jobs.run(job.pk)


def exported(store: Store) -> bytes:
    return b"".join(transfer.stream_export(store))


def start(store: Store, by: User, file: bytes, *, declare: bool = True) -> Job:
    return transfer.start_import(
        store,
        io.BytesIO(file),
        name="file.ndjson",
        declared_by="operator" if declare else None,
        by=by,
        now=timezone.now(),
    )


def imported(store: Store, by: User, file: bytes, **options: Any) -> Job:
    """The job after it has taken the file in."""
    job = start(store, by, file, **options)
    jobs.run(job.pk)
    job.refresh_from_db()
    return job


def lines(*members: Any) -> bytes:
    """A file of these lines; bytes stand as they are."""
    shown = [m if isinstance(m, bytes) else json.dumps(m, ensure_ascii=False).encode() for m in members]
    return b"".join(line + b"\n" for line in shown)


def counts(job: Job) -> tuple[int, int, int]:
    """(created, duplicate, bad)"""
    told = job.progress["counts"]
    return told["created"], told["duplicate"], told["bad"]


def shape(store: Store) -> list[Any]:
    """What the store says, without numbers, times and identities of its own: rows named by their texts."""
    with snapshot():
        text = {row.pk: row.content or "(tools)" for row in Record.objects.live().filter(store=store)}
        told = {row.pk: row.summary for row in Summary.objects.live().filter(store=store)}
        name = {row.pk: row.name for row in Entity.objects.filter(store=store)}

        def end(row: Any, place: str) -> Any:
            for kind, names in (("entity", name), ("record", text), ("summary", told)):
                key = getattr(row, f"{place}_{kind}_id", None)
                if key is not None:
                    return (kind, names[key])
            return None

        return [
            [
                (r.content, r.message_id, r.project_id, r.channel, r.timestamp, r.instant, r.role, r.source_name,
                 r.source_id, r.source_type, r.tool_calls, r.tool_name, r.session and r.session.session_id)
                for r in Record.objects.live().filter(store=store).select_related("session").order_by("number")
            ],
            [
                (s.summary, s.start, s.end, s.earliest_at, s.latest_at, s.project_id, s.channel, s.sources_gone,
                 s.source_type, s.depth,
                 [text.get(p.record_id) or told.get(p.child_id) for p in s.sources.order_by("source_index")])
                for s in Summary.objects.live().filter(store=store).order_by("number")
            ],
            [(e.name, e.declared_key, e.project_id, e.declared_by) for e in Entity.objects.filter(store=store).order_by("number")],
            sorted((name[a.entity_id], a.alias, a.declared_key, a.channel) for a in EntityAlias.objects.filter(store=store)),
            sorted((name[m.entity_id], text.get(m.record_id) or told.get(m.summary_id), m.declared_by) for m in Mention.objects.filter(store=store)),
            [
                (end(a, "subject"), a.predicate, end(a, "object"), end(a, "anchor"), a.project_id, a.channel)
                for a in Association.objects.filter(store=store).order_by("number")
            ],
            SummarySource.objects.filter(store=store, summary__deleted_at=None).count(),
        ]  # fmt: skip
