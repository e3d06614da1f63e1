"""The only reader of this floor: queries in, frozen values out. Everything happens inside the caller's snapshot.

Each stage asks the core what to read next: how deep (`decide`), whose mentions (`bundle`), whose records (`reach`),
whose texts (`arrange`). The number of statements depends on max_hops, never on how many items or rows there are.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from django.db.models import F, Func, IntegerField, Model, Q, QuerySet, TextField, Value, Window
from django.db.models.functions import Left, Length, RowNumber
from django.db.models.lookups import GreaterThan

from memoryconsole import search
from memoryconsole.folding import declared_key
from memoryconsole.models import Association, Entity, EntityAlias, Mention, Record, RecordNode, Store, Summary
from memoryconsole.models.records import MAX_TEXT_CHARS
from memoryconsole.models.summaries import SourceType
from memoryconsole.scope import ReadScope
from reconstruct.core.bundle import Cluster, bundle
from reconstruct.core.cues import Cues, Name, expand, mentioned
from reconstruct.core.policy import decide
from reconstruct.core.structure import arrange
from reconstruct.core.types import (
    Context,
    EntityRecords,
    EntityRelation,
    Graph,
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

# Rows read per reached entity at most, whatever max_evidence says.
MAX_READ = 1_000_000

# Columns a core row is made of: no text, it is read later and only for kept claims.
_RECORD_COLUMNS = (
    "number", "project_id", "channel", "message_id", "source_type", "source_id", "timestamp", "instant",
)  # fmt: skip
_SUMMARY_COLUMNS = (
    "number", "project_id", "channel", "start", "created_at", "earliest_at", "latest_at",
)  # fmt: skip


def read_snapshot(
    store: Store, query: search.Query, request: Request, settings: Settings, scope: ReadScope, *, deep: bool
) -> Snapshot:
    """Everything one reconstruction is made of. Call inside `snapshot()`."""
    policy = decide(request, settings)
    cues = read_cues(store, request.query, scope)
    found = search.candidates(
        store, query, scope, limit=policy.effective_top_k, deep=deep, cue_terms=cues.terms
    )
    candidates = _Candidates(store, found.rows)
    pool = Pool(
        rows=candidates.rows,
        relations=_record_relations(store, scope, candidates),
        gate_fallback=found.gate_fallback,
        query_embedded=found.query_vector is not None,
        advisory=found.advisory,
        cues=cues.shown(),
    )
    chosen = bundle(pool, policy.adjacency_seconds)[: policy.count.effective]
    graph, entity_keys = _graph(store, scope, chosen, candidates, policy.max_hops)
    reaches = reach(chosen, graph, policy.max_hops)
    records = _records(store, scope, reaches, entity_keys, candidates, policy.max_evidence)
    items = arrange(chosen, reaches, records, pool, policy.max_evidence)
    rows, texts = _kept(store, {ref for item in items for ref in item.kept}, policy.preview_chars)
    return Snapshot(pool=pool, graph=graph, records=_filled(records, rows), texts=texts)


def read_cues(store: Store, query: str, scope: ReadScope) -> Cues:
    """The declared names the query mentions, and the terms they add to the lexical search."""
    key = declared_key(query)
    if not key:
        return Cues()
    entities = mentioned(key, _names(store, scope, occurring_in=key))
    if not entities:
        return Cues()
    return expand(key, entities, _names(store, scope, of=entities))


def _names(
    store: Store, scope: ReadScope, *, occurring_in: str | None = None, of: Iterable[int] = ()
) -> list[Name]:
    """Names and aliases in scope: those standing somewhere in a folded query, or all those of some entities."""
    entities = Entity.objects.filter(scope.context(), store=store)
    # An alias is readable where it was declared, and its entity must be readable too.
    aliases = EntityAlias.objects.filter(scope.context(), _at("entity", scope.context()), store=store)
    if occurring_in is None:
        entities, aliases = entities.filter(number__in=of), aliases.filter(entity__number__in=of)
    else:
        entities, aliases = _occurring(entities, occurring_in), _occurring(aliases, occurring_in)
    rows = (
        entities.order_by()
        .values_list("number", "name", "declared_key", Value(False))
        .union(
            aliases.order_by().values_list("entity__number", "alias", "declared_key", Value(True)), all=True
        )
    )
    return [Name(entity=entity, text=text, key=key, alias=alias) for entity, text, key, alias in rows]


def _at(relation: str, condition: Q) -> Q:
    """A read scope's condition on the row that a foreign key leads to.

    A join on primary keys: a subquery over all readable entities is planned badly while a table has no statistics.
    """

    def moved(condition: Any) -> Any:
        if not isinstance(condition, Q):
            name, value = condition
            return (f"{relation}__{name}", value)
        children = [moved(child) for child in condition.children]
        return Q.create(children, condition.connector, condition.negated)

    there: Q = moved(condition)
    return there


def _occurring(names: "QuerySet[Any]", query_key: str) -> "QuerySet[Any]":
    text = Value(query_key, output_field=TextField())
    place = Func(text, F("declared_key"), function="strpos", output_field=IntegerField())
    return names.filter(GreaterThan(place, 0)).exclude(declared_key="")


class _Candidates:
    """The pool as core rows, best first, and the way between their refs and their primary keys."""

    def __init__(self, store: Store, found: Sequence[search.Candidate]) -> None:
        keys = _keys_by_kind((Ref(row.kind, row.number), row.row_id) for row in found)
        rows = _rows_by_key(store, keys)
        self.rows = tuple(rows[row.kind, row.row_id] for row in found)
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


def _rows_by_key(store: Store, keys: dict[str, list[int]]) -> dict[tuple[str, int], Row]:
    rows: dict[tuple[str, int], Row] = {}
    if keys["mem"]:
        records = Record.objects.live().filter(store=store, pk__in=keys["mem"])
        rows |= {("mem", record.pk): record_row(record) for record in records.only(*_RECORD_COLUMNS)}
    if keys["ep"]:
        summaries = Summary.objects.live().filter(store=store, pk__in=keys["ep"])
        rows |= {("ep", summary.pk): summary_row(summary) for summary in summaries.only(*_SUMMARY_COLUMNS)}
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
    store: Store, scope: ReadScope, chosen: tuple[Cluster, ...], candidates: _Candidates, max_hops: int
) -> tuple[Graph, dict[int, int]]:
    """The declared graph around the chosen clusters, and the primary keys of its entities by number.

    One statement for mentions, one per hop and one beyond.
    """
    refs = [ref for cluster in chosen for ref in cluster.refs]
    keys_of: dict[int, int] = {}
    if not refs:
        return Graph(), keys_of
    keys = _keys_by_kind((ref, candidates.key_of[ref]) for ref in refs)
    rows = Entity.objects.filter(
        Q(mentions__record__in=keys["mem"]) | Q(mentions__summary__in=keys["ep"]),
        scope.context(),
        store=store,
        mentions__store=store,
    ).values_list("pk", "number", "mentions__record", "mentions__summary")
    mentions = []
    for key, entity, record, summary in rows:
        ref = candidates.ref(record, summary)
        if ref is not None:
            mentions.append(CoreMention(ref=ref, entity=entity))
            keys_of[entity] = key
    relations = _relations(store, scope, keys_of, max_hops)
    return Graph(mentions=tuple(mentions), relations=relations), keys_of


def _relations(
    store: Store, scope: ReadScope, keys_of: dict[int, int], max_hops: int
) -> tuple[EntityRelation, ...]:
    """Entity relations within max_hops of the known entities, and those that lead one hop further.

    `keys_of` is given what lies at their ends.
    """
    both_ends = Q(subject_entity__isnull=False, object_entity__isnull=False)
    readable = (
        scope.context()
        & both_ends
        & _at("subject_entity", scope.context())
        & _at("object_entity", scope.context())
    )
    relations: dict[int, EntityRelation] = {}
    frontier = set(keys_of.values())
    for _ in range(max_hops + 1):
        if not frontier:
            break
        rows = Association.objects.filter(
            Q(subject_entity__in=frontier) | Q(object_entity__in=frontier), readable, store=store
        ).values_list(
            "number", "predicate", "declared_at",
            "subject_entity", "subject_entity__number", "object_entity", "object_entity__number",
        )  # fmt: skip
        frontier = set()
        for number, predicate, declared_at, subject_key, subject, object_key, object_ in rows:
            relations[number] = EntityRelation(
                number=number, subject=subject, predicate=predicate, object=object_, declared_at=declared_at
            )
            frontier |= {
                key for end, key in ((subject, subject_key), (object_, object_key)) if end not in keys_of
            }
            keys_of |= {subject: subject_key, object_: object_key}
    return tuple(relations[number] for number in sorted(relations))


def _records(
    store: Store,
    scope: ReadScope,
    reaches: tuple[Reach, ...],
    entity_keys: dict[int, int],
    candidates: _Candidates,
    max_evidence: int,
) -> tuple[EntityRecords, ...]:
    """The refs of readable rows outside the pool that mention a reached entity (two statements)."""
    reached = sorted({found.entity for each in reaches for found in each.entities})
    if not reached:
        return ()
    number_of = {entity_keys[entity]: entity for entity in reached}
    rows: dict[int, list[Row]] = defaultdict(list)
    mentions = Mention.objects.filter(store=store, entity__in=number_of)
    records = mentions.filter(_at("record", scope.records()), record__deleted_at=None, record__isnull=False)
    records = records.exclude(record__in=candidates.records)
    for key, number in _first(records, "record", max_evidence):
        rows[number_of[key]].append(Row(ref=Ref("mem", number)))
    if scope.reads_summaries:
        summaries = mentions.filter(
            _at("summary", scope.context()), summary__deleted_at=None, summary__isnull=False
        )
        summaries = summaries.exclude(summary__source_type=SourceType.NODES)
        summaries = summaries.exclude(summary__in=candidates.summaries)
        for key, number in _first(summaries, "summary", max_evidence):
            rows[number_of[key]].append(Row(ref=Ref("ep", number)))
    return tuple(EntityRecords(entity=entity, rows=tuple(rows[entity])) for entity in reached if rows[entity])


def _first(mentions: "QuerySet[Mention]", kind: str, max_evidence: int) -> "Iterable[tuple[int, int]]":
    """(entity's key, number), one more per entity than max_evidence: the core counts, and sees there is more.

    A flat join, numbered per entity: whatever PostgreSQL believes about a new store, each mention is read once.
    """
    place = Window(RowNumber(), partition_by=F("entity"), order_by=F(f"{kind}__number").asc())
    # More than a store holds is no bound: the number must only fit what it is compared with.
    numbered = mentions.annotate(place=place).filter(place__lte=min(max_evidence, MAX_READ) + 1)
    return numbered.values_list("entity", f"{kind}__number")


def _filled(records: tuple[EntityRecords, ...], rows: dict[Ref, Row]) -> tuple[EntityRecords, ...]:
    """The same entries with the kept rows whole; of the others the core needs no more than their refs."""
    return tuple(
        replace(entry, rows=tuple(rows.get(row.ref, row) for row in entry.rows)) for entry in records
    )


def _kept(store: Store, refs: set[Ref], preview_chars: int) -> tuple[dict[Ref, Row], tuple[StoredText, ...]]:
    """The kept rows, what a quote needs of their texts, and what is known of their nodes (three statements)."""
    records = _quoted(Record, store, refs, "mem", "content", preview_chars)
    summaries = _quoted(Summary, store, refs, "ep", "summary", preview_chars)
    found = [(record_row(row), row) for row in records] + [(summary_row(row), row) for row in summaries]
    divided = _divided(store, {row.ref: stored for row, stored in found})
    texts = tuple(
        # Divisions are read as current from the part on that builds them; until then they are merely there.
        StoredText(
            ref=row.ref,
            text=stored.beginning,
            length=stored.length,
            node_state="not_current" if row.ref in divided else "no_nodes",
        )
        for row, stored in found
    )
    return {row.ref: row for row, _ in found}, texts


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


def _divided(store: Store, rows: dict[Ref, Model]) -> set[Ref]:
    """The rows that have nodes."""
    records = {row.pk: ref for ref, row in rows.items() if ref.kind == "mem"}
    summaries = {row.pk: ref for ref, row in rows.items() if ref.kind == "ep"}
    if not rows:
        return set()
    found = (
        RecordNode.objects.filter(Q(record__in=records) | Q(summary__in=summaries), store=store)
        .values_list("record", "summary")
        .distinct()
    )
    return {records[record] if record is not None else summaries[summary] for record, summary in found}
