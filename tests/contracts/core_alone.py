"""Rows of unknown context: they cannot be stored, so the core is asked alone, with values made by hand."""

from collections.abc import Mapping
from typing import Any

from memoryconsole.folding import declared_key
from memoryconsole.times import read_stamp
from reconstruct import core
from reconstruct.core.types import (
    Context,
    EntityRecords,
    EntityRelation,
    Graph,
    Mention,
    Pool,
    RecordRelation,
    Ref,
    Row,
    Span,
    StoredText,
)
from reconstruct.serializers import ReconstructIn, reconstruct_ask
from tests.contracts.candidate_stage import readable
from tests.contracts.values import FormatError, Result, text_of
from tests.contracts.world import STORED_FROM, home_of

Given = Mapping[str, Any]


def concerns(given: Given) -> bool:
    return any(record.get("context_unknown") for record in given.get("records", ()))


def reconstruct(given: Given, args: Any, agent: str, settings: core.Settings) -> Result:
    """The core's answer over the scenario's data, with the injected ranking as the pool."""
    if "retrieval" not in given:
        raise FormatError("context_unknown needs retrieval: the core searches nothing")
    if any("nodes" in record for record in given.get("records", ())):
        raise FormatError("context_unknown with nodes is not expressed here")
    ask = reconstruct_ask(ReconstructIn.read(args))
    data = _Data(given, agent)
    retrieval = given["retrieval"]
    ranked = [data.rows[ref] for ref in map(_ref, retrieval.get("ranking", ())) if ref in data.rows]
    within = [row for row in ranked if _readable(row, ask.scope)]
    pool = Pool(
        rows=tuple(within[: core.decide(ask.request, settings).effective_top_k]),
        relations=data.record_relations,
        rows_without_ref=retrieval.get("rows_without_ref", 0),
        gate_fallback=retrieval.get("gate_fallback", False),
        query_embedded=retrieval.get("query_embedding") != "unavailable",
        advisory=retrieval.get("advisory"),
        update=retrieval.get("update"),
    )
    outside = set(data.rows) - {row.ref for row in pool.rows}
    snapshot = core.Snapshot(
        pool=pool,
        graph=Graph(mentions=data.mentions, relations=data.entity_relations),
        records=data.records(outside),
        texts=data.texts,
    )
    body = core.reconstruct(snapshot=snapshot, request=ask.request, settings=settings)
    return Result(body, {"$status": 200, "$media": "application/json", "$embedded": [], "$steps": []})


def _ref(text: str) -> Ref:
    kind, _, number = text.partition(":")
    if kind not in ("mem", "ep") or not number.isdigit():
        raise FormatError(f"{text!r} is no ref")
    return Ref("mem" if kind == "mem" else "ep", int(number))


def _readable(row: Row, scope: Any) -> bool:
    known = row.context or Context(project_id="", channel="")
    return readable(scope, row.ref.kind, known.project_id, known.channel, row.source_id)


class _Data:
    """The scenario's rows of one agent and its graph, as core values."""

    def __init__(self, given: Given, agent: str) -> None:
        records = [row for row in given.get("records", ()) if home_of(row) == agent]
        episodes = [row for row in given.get("episodes", ()) if home_of(row) == agent]
        rows = [*map(_record, records), *map(_episode, episodes)]
        self.rows = {row.ref: row for row in rows}
        texts = {
            **{Ref("mem", row["id"]): text_of(row["content"]) for row in records},
            **{Ref("ep", row["id"]): text_of(row["summary"]) for row in episodes},
        }
        self.texts = tuple(StoredText(ref=ref, text=text) for ref, text in texts.items())
        entities = list(enumerate(given.get("entities", ()), start=1))
        own = [(entity.get("id", place), entity) for place, entity in entities if home_of(entity) == agent]
        self._numbers = {declared_key(entity["name"]): number for number, entity in own}
        self.mentions = tuple(
            Mention(ref=_ref(ref), entity=number)
            for number, entity in own
            for ref in entity.get("mentions", ())
        )
        relations = list(enumerate(given.get("relations", ()), start=1))
        mine = [(relation.get("id", n), relation) for n, relation in relations if home_of(relation) == agent]
        self.record_relations = tuple(
            RecordRelation(
                subject=_ref(relation["subject"]),
                predicate=declared_key(relation["predicate"]),
                object=_ref(relation["object"]),
            )
            for _, relation in mine
            if _between_rows(relation)
        )
        self.entity_relations = tuple(
            self._entity_relation(number, relation)
            for number, relation in mine
            if not _between_rows(relation)
        )

    def records(self, outside: set[Ref]) -> tuple[EntityRecords, ...]:
        mentioned = {
            number: tuple(
                self.rows[each.ref] for each in self.mentions if each.entity == number and each.ref in outside
            )
            for number in self._numbers.values()
        }
        return tuple(EntityRecords(entity=number, rows=rows) for number, rows in mentioned.items() if rows)

    def _entity_relation(self, number: int, relation: Mapping[str, Any]) -> EntityRelation:
        declared_at = read_stamp(relation["declared_at"]) if "declared_at" in relation else STORED_FROM
        subject, object_ = (self._numbers.get(declared_key(relation[end])) for end in ("subject", "object"))
        if declared_at is None or subject is None or object_ is None:
            raise FormatError(f"relation {number} joins what the core does not read")
        return EntityRelation(
            number=number,
            subject=subject,
            predicate=declared_key(relation["predicate"]),
            object=object_,
            declared_at=declared_at,
        )


def _between_rows(relation: Mapping[str, Any]) -> bool:
    return all(relation[end].startswith(("mem:", "ep:")) for end in ("subject", "object"))


def _context(row: Mapping[str, Any]) -> Context | None:
    if row.get("context_unknown"):
        return None
    return Context(project_id=row.get("project", ""), channel=row.get("channel", ""))


def _record(row: Mapping[str, Any]) -> Row:
    source = row.get("source", {})
    return Row(
        ref=Ref("mem", row["id"]),
        timestamp=row.get("timestamp", ""),
        instant=read_stamp(row.get("timestamp", "")),
        context=_context(row),
        message_id=row.get("message_id", ""),
        source_type=source.get("type", ""),
        source_id=source.get("id", ""),
    )


def _episode(row: Mapping[str, Any]) -> Row:
    start, end = read_stamp(row.get("start") or ""), read_stamp(row.get("end") or "")
    return Row(
        ref=Ref("ep", row["id"]),
        timestamp=row.get("start") or STORED_FROM.isoformat(),
        instant=start if row.get("start") else STORED_FROM,
        context=_context(row),
        span=Span(start=start, end=end) if start and end else None,
    )
