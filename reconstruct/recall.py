"""The only reader of this floor: queries in, frozen values out. Everything happens inside the caller's snapshot.

Each stage asks the core what to read next: how deep (`decide`), whose mentions (`bundle`), whose records (`reach`),
whose texts (`arrange`). The number of statements depends on max_hops, never on how many items or rows there are.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from django.db.models import F, Q, QuerySet, Window
from django.db.models.functions import DenseRank, Left, Length

from memoryconsole import search
from memoryconsole.identity import Following, findable, has_merges
from memoryconsole.models import Association, Entity, Mention, Record, Store, Summary
from memoryconsole.models.records import MAX_TEXT_CHARS
from memoryconsole.models.summaries import SourceType
from memoryconsole.nodes import Model
from memoryconsole.scope import ReadScope
from memoryconsole.search.vectors import Whole, quantize
from memoryconsole.traces import Laps, NotReplayable
from reconstruct.core.bundle import Cluster, bundle
from reconstruct.core.cues import Cues
from reconstruct.core.policy import decide
from reconstruct.core.structure import Item, arrange
from reconstruct.core.types import (
    Context,
    EntityRecords,
    Graph,
    Kind,
    Pool,
    RecordRelation,
    Ref,
    Request,
    Row,
    Settings,
    Snapshot,
    Span,
    StoredText,
)
from reconstruct.core.types import Mention as CoreMention
from reconstruct.core.walk import Reach, reach
from reconstruct.graph import in_records, relations_around
from reconstruct.names import read_cues
from reconstruct.texts import Beginning, stored_texts

# Rows read per reached entity at most, whatever max_evidence says.
MAX_READ = 1_000_000

# Columns a core row is made of: no text, it is read later and only for kept claims.
_RECORD_COLUMNS = (
    "number", "project_id", "channel", "message_id", "source_type", "source_id", "timestamp", "instant", "digest",
)  # fmt: skip
_SUMMARY_COLUMNS = (
    "number", "project_id", "channel", "start", "created_at", "earliest_at", "latest_at", "digest",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was read for one reconstruction: the core's snapshot, and what an audit needs beside it.

    `digests`: of the stored text of every candidate and every kept row.
    """

    snapshot: Snapshot
    found: search.Candidates
    cues: Cues
    digests: dict[Ref, bytes]


def read_snapshot(
    store: Store,
    query: search.Query,
    request: Request,
    settings: Settings,
    scope: ReadScope,
    *,
    deep: bool,
    laps: Laps,
) -> Reading:
    """Everything one reconstruction is made of. Call inside `snapshot()`."""
    policy = decide(request, settings)
    following = Following(store)
    cues = read_cues(store, request.query, scope, following)
    laps.lap("cues")
    found = search.candidates(
        store, query, scope, limit=policy.effective_top_k, deep=deep, cue_terms=cues.terms
    )
    laps.lap("search")
    candidates = _Candidates(store, found.rows)
    laps.lap("rows")
    vector = None if found.query_vector is None else quantize(found.query_vector)
    pool = Pool(
        rows=candidates.rows,
        relations=_record_relations(store, scope, candidates),
        gate_fallback=found.gate_fallback,
        query_embedded=vector is not None,
        advisory=found.advisory,
        cues=cues.shown(),
    )
    chosen = bundle(pool, policy.adjacency_seconds)[: policy.count.effective]
    graph, entity_keys = _graph(store, scope, chosen, candidates, policy.max_hops, following)
    reaches = reach(chosen, graph, policy.max_hops)
    records = _records(store, scope, reaches, entity_keys, candidates, policy.max_evidence, following)
    items = arrange(chosen, reaches, records, pool, policy.max_evidence)
    laps.lap("walk")
    kept = _kept(store, _in_turn(items), policy.preview_chars, query.model, vector)
    laps.lap("texts")
    return Reading(
        snapshot=Snapshot(pool=pool, graph=graph, records=_filled(records, kept.rows), texts=kept.texts),
        found=found,
        cues=cues,
        digests=candidates.digests | kept.digests,
    )


class _Candidates:
    """The pool as core rows, best first, and the way between their refs and their primary keys."""

    def __init__(self, store: Store, found: Sequence[search.Candidate]) -> None:
        keys = _keys_by_kind((Ref(row.kind, row.number), row.row_id) for row in found)
        rows = _rows_by_key(store, keys)
        self.rows = tuple(rows[row.kind, row.row_id][0] for row in found)
        self.digests = {row.ref: digest for row, digest in rows.values()}
        self.key_of = {Ref(row.kind, row.number): row.row_id for row in found}
        self.records = keys["mem"]
        self.summaries = keys["ep"]
        self._ref_of = {(ref.kind, key): ref for ref, key in self.key_of.items()}

    def ref(self, record: int | None, summary: int | None) -> Ref | None:
        """The candidate at a pair of foreign keys of which one is set; None when it is no candidate."""
        if record is not None:
            return self._ref_of.get(("mem", record))
        return self._ref_of.get(("ep", summary)) if summary is not None else None


def _keys_by_kind(refs: "Iterable[tuple[Ref, int]]") -> dict[str, list[int]]:
    keys: dict[str, list[int]] = {"mem": [], "ep": []}
    for ref, key in refs:
        keys[ref.kind].append(key)
    return keys


def _rows_by_key(store: Store, keys: dict[str, list[int]]) -> dict[tuple[str, int], tuple[Row, bytes]]:
    """Core rows with the digests of their texts, by kind and primary key."""
    rows: dict[tuple[str, int], tuple[Row, bytes]] = {}
    if keys["mem"]:
        for record in Record.objects.live().filter(store=store, pk__in=keys["mem"]).only(*_RECORD_COLUMNS):
            rows["mem", record.pk] = record_row(record), bytes(record.digest)
    if keys["ep"]:
        for summary in Summary.objects.live().filter(store=store, pk__in=keys["ep"]).only(*_SUMMARY_COLUMNS):
            rows["ep", summary.pk] = summary_row(summary), bytes(summary.digest)
    return rows


def record_row(record: Record) -> Row:
    return Row(
        ref=Ref("mem", record.number),
        timestamp=record.timestamp,
        instant=record.instant,
        context=Context(project_id=record.project_id, channel=record.channel),
        message_id=record.message_id,
        source_type=record.source_type,
        source_id=record.source_id,
    )


def summary_row(summary: Summary) -> Row:
    project_id, channel = summary.project_id, summary.channel
    earliest_at, latest_at = summary.earliest_at, summary.latest_at
    return Row(
        ref=Ref("ep", summary.number),
        timestamp=summary.as_of,
        # A start that was written but cannot be read is unknown time; one never written falls back on storage.
        instant=summary.earliest_at if summary.start else summary.created_at,
        context=None
        if project_id is None or channel is None
        else Context(project_id=project_id, channel=channel),
        span=None if earliest_at is None or latest_at is None else Span(start=earliest_at, end=latest_at),
    )


def _record_relations(store: Store, scope: ReadScope, candidates: _Candidates) -> tuple[RecordRelation, ...]:
    """Declared relations in scope whose two ends are both candidates (one statement)."""
    if not candidates.rows:
        return ()
    records, summaries = candidates.records, candidates.summaries
    rows = Association.objects.filter(
        scope.context(),
        Q(subject_record__in=records) | Q(subject_summary__in=summaries),
        Q(object_record__in=records) | Q(object_summary__in=summaries),
        store=store,
    ).values_list("predicate", "subject_record", "subject_summary", "object_record", "object_summary")
    relations = []
    for predicate, subject_record, subject_summary, object_record, object_summary in rows:
        subject = candidates.ref(subject_record, subject_summary)
        object_ = candidates.ref(object_record, object_summary)
        if subject is not None and object_ is not None:
            relations.append(RecordRelation(subject=subject, predicate=predicate, object=object_))
    # A total order of their own: what the database returns first must not matter.
    return tuple(sorted(set(relations), key=lambda r: (r.subject, r.predicate, r.object)))


def _graph(
    store: Store,
    scope: ReadScope,
    chosen: tuple[Cluster, ...],
    candidates: _Candidates,
    max_hops: int,
    following: Following,
) -> tuple[Graph, dict[int, int]]:
    """The declared graph around the chosen clusters, and the primary keys of its entities by number: survivors, where
    entities were merged.

    One statement for mentions, one per hop and one beyond; one more in a store of merged entities.
    """
    refs = [ref for cluster in chosen for ref in cluster.refs]
    keys_of: dict[int, int] = {}
    if not refs:
        return Graph(), keys_of
    keys = _keys_by_kind((ref, candidates.key_of[ref]) for ref in refs)
    rows = Entity.objects.filter(
        Q(mentions__record__in=keys["mem"]) | Q(mentions__summary__in=keys["ep"]),
        scope.context(),
        findable(),
        store=store,
        mentions__store=store,
    ).values_list("pk", "number", "mentions__record", "mentions__summary", has_merges(store))
    # A row may mention an entity at several places, and several that are one.
    mentions: dict[CoreMention, None] = {}
    for key, number, record, summary, told in rows:
        ref = candidates.ref(record, summary)
        entity = following.survivor(key, number, told=told)
        if ref is not None and entity is not None:
            mentions[CoreMention(ref=ref, entity=entity.number)] = None
            keys_of[entity.number] = entity.pk
    relations = relations_around(store, scope, keys_of, max_hops, following)
    return Graph(mentions=tuple(mentions), relations=relations), keys_of


def _records(
    store: Store,
    scope: ReadScope,
    reaches: tuple[Reach, ...],
    entity_keys: dict[int, int],
    candidates: _Candidates,
    max_evidence: int,
    following: Following,
) -> tuple[EntityRecords, ...]:
    """The refs of readable rows outside the pool that mention a reached entity (two statements)."""
    reached = sorted({found.entity for each in reaches for found in each.entities})
    if not reached:
        return ()
    number_of = {
        member: entity for entity in reached for member in following.known.members(entity_keys[entity])
    }
    rows: dict[int, dict[Row, None]] = defaultdict(dict)
    mentions = Mention.objects.filter(store=store, entity__in=number_of)
    records = in_records(mentions, scope).exclude(record__in=candidates.records)
    for key, number in _first(records, "record", max_evidence):
        rows[number_of[key]][Row(ref=Ref("mem", number))] = None
    if scope.reads_summaries:
        summaries = mentions.filter(
            scope.context(through="summary"), summary__deleted_at=None, summary__isnull=False
        )
        summaries = summaries.exclude(summary__source_type=SourceType.NODES)
        summaries = summaries.exclude(summary__in=candidates.summaries)
        for key, number in _first(summaries, "summary", max_evidence):
            rows[number_of[key]][Row(ref=Ref("ep", number))] = None
    return tuple(EntityRecords(entity=entity, rows=tuple(rows[entity])) for entity in reached if rows[entity])


def _first(mentions: "QuerySet[Mention]", kind: str, max_evidence: int) -> "Iterable[tuple[int, int]]":
    """(entity's key, number), one more per entity than max_evidence: the core counts, and sees there is more.

    A flat join, numbered per entity: whatever PostgreSQL believes about a new store, each mention is read once. A row
    that mentions an entity at several places comes as often, under one number.
    """
    place = Window(DenseRank(), partition_by=F("entity"), order_by=F(f"{kind}__number").asc())
    # More than a store holds is no bound: the number must only fit what it is compared with.
    numbered = mentions.annotate(place=place).filter(place__lte=min(max_evidence, MAX_READ) + 1)
    return numbered.values_list("entity", f"{kind}__number")


def _filled(records: tuple[EntityRecords, ...], rows: dict[Ref, Row]) -> tuple[EntityRecords, ...]:
    """The same entries with the kept rows whole; of the others the core needs no more than their refs."""
    return tuple(
        replace(entry, rows=tuple(rows.get(row.ref, row) for row in entry.rows)) for entry in records
    )


@dataclass(frozen=True, slots=True)
class _Kept:
    rows: dict[Ref, Row]
    texts: tuple[StoredText, ...]
    digests: dict[Ref, bytes]


def _in_turn(items: Sequence[Item]) -> list[Ref]:
    """The kept rows in the order in which a budget carries their quotes; each is kept by one item."""
    turns = zip_longest(*(item.kept for item in items))
    return [ref for turn in turns for ref in turn if ref is not None]


def _kept(
    store: Store, refs: list[Ref], preview_chars: int, model: Model | None, query: Whole | None
) -> _Kept:
    """The kept rows, and what quotes need of their texts and nodes."""
    records = _quoted(Record, store, set(refs), "mem", "content", preview_chars)
    summaries = _quoted(Summary, store, set(refs), "ep", "summary", preview_chars)
    found = {Ref("mem", stored.number): (record_row(stored), stored) for stored in records}
    found |= {Ref("ep", stored.number): (summary_row(stored), stored) for stored in summaries}
    beginnings = [
        Beginning(ref, stored.pk, stored.beginning, stored.length)
        for ref, (_, stored) in ((ref, found[ref]) for ref in refs)
    ]
    return _Kept(
        rows={ref: row for ref, (row, _) in found.items()},
        texts=stored_texts(store, beginnings, model, query),
        digests={ref: bytes(stored.digest) for ref, (_, stored) in found.items()},
    )


def _quoted(
    model: Any, store: Store, refs: set[Ref], kind: str, text: str, preview_chars: int
) -> "Iterable[Any]":
    """Rows with the `beginning` of their text that a quote can show, and the text's `length`."""
    numbers = [ref.number for ref in refs if ref.kind == kind]
    if not numbers:
        return ()
    # No text is longer than the bound, and PostgreSQL's `left` takes no bigint.
    beginning = Left(text, min(preview_chars, MAX_TEXT_CHARS)) if preview_chars else F(text)
    columns = _RECORD_COLUMNS if kind == "mem" else _SUMMARY_COLUMNS
    rows = model.objects.live().filter(store=store, number__in=numbers).order_by("number").only(*columns)
    return rows.annotate(beginning=beginning, length=Length(text))


@dataclass(frozen=True, slots=True)
class Recorded:
    """Rows of a trace as they are stored: those named, their digests, and the texts asked for."""

    rows: dict[Ref, Row]
    digests: dict[Ref, bytes]
    texts: dict[Ref, str]


def read_recorded(
    store: Store, refs: set[Ref], *, whole: set[Ref], beginnings: set[Ref], preview_chars: int
) -> Recorded:
    """The rows a trace names (at most six statements). `whole`, `beginnings`: of which the text is wanted, all or so
    much of it as a quote shows. Raises NotReplayable when one of them is gone.
    """
    rows: dict[Ref, Row] = {}
    digests: dict[Ref, bytes] = {}
    texts: dict[Ref, str] = {}
    kinds: tuple[tuple[Any, Kind, str, Any, Any], ...] = (
        (Record, "mem", "content", record_row, _RECORD_COLUMNS),
        (Summary, "ep", "summary", summary_row, _SUMMARY_COLUMNS),
    )
    for model, kind, text, as_row, columns in kinds:
        numbers = [ref.number for ref in refs if ref.kind == kind]
        if numbers:
            for stored in model.objects.live().filter(store=store, number__in=numbers).only(*columns):
                row = as_row(stored)
                rows[row.ref], digests[row.ref] = row, bytes(stored.digest)
        for wanted, size in ((whole, 0), (beginnings, preview_chars)):
            for stored in _quoted(model, store, wanted, kind, text, size):
                texts[Ref(kind, stored.number)] = stored.beginning
    if refs - rows.keys():
        raise NotReplayable("forgotten")
    return Recorded(rows=rows, digests=digests, texts=texts)
