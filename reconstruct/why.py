"""Why a row is in a traced answer, or which bound kept it out and by how much.

What was decided is in the trace and is read off it, so this is answered although a row of the answer is gone since.
What the trace does not name was measured then by what it holds: the search's weighing (`search.weigh`), and the
declared graph. No text is quoted.

Statements: one for the row and its next version, one more when there is none; for a row that the search did not
list two for declared names and one to weigh it (two after a blank question); for the walk one for what the row
mentions and one for the merges of then, three for its place in an item's line, or one per hop beyond the traced
graph, five at most; one for what was retracted since.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db.models import Count, Q

from memoryconsole import search
from memoryconsole.identity import Following, Merges, findable, read_merges
from memoryconsole.models import Association, Entity, Record, Store, StoreCounter, Summary, Trace
from memoryconsole.models.summaries import SourceType
from memoryconsole.scope import ReadScope
from memoryconsole.search.fuse import Gate
from memoryconsole.snapshot import snapshot
from memoryconsole.traces import NotReplayable
from reconstruct import traces
from reconstruct.core import missed, why
from reconstruct.core.policy import MAX_HOPS_CEILING
from reconstruct.core.types import EntityRecords, Ref, Row
from reconstruct.core.walk import Reach, ReachedEntity, gather
from reconstruct.core.why import Finding
from reconstruct.graph import relations_around
from reconstruct.services import RecallAsk, ReconstructAsk

Json = dict[str, Any]

# Rows of one item's line that are read to find a place in it: a bound that nobody sets this high.
MAX_LINE = 10_000


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """A traced call: its question, and the row that is asked about, which is live."""

    store: Store
    trace: Trace
    scope: ReadScope
    query: str
    top_k: int
    ref: str
    row: Record | Summary

    @cached_property
    def merges(self) -> Merges:
        """The merges in force when the call was made: the trace names the survivors of then (one statement)."""
        return read_merges(self.store, at=self.trace.asked_at)

    @property
    def seen(self) -> Json:
        seen: Json = self.trace.seen
        return seen

    @property
    def last(self) -> Mapping[str, int]:
        last: Mapping[str, int] = self.trace.seen["last"]
        return last


def of_refused(trace: Trace, ref: str) -> Json:
    """The verdict for any ref of a call that was refused."""
    return why.alone(ref, "refused", f"The call was refused ({trace.reason}): nothing was searched.")


def of_reconstruct(store: Store, trace: Trace, ask: ReconstructAsk, ref: str) -> Json:
    """The verdict for one ref of a traced reconstruction (`docs/traces.md` says what it holds)."""
    told = trace.told
    inside = any(ref in item["kept"] for item in told["items"][: told["returned"]])
    with snapshot():
        row, successor = _live(store, ref)
        if row is None:
            return _absent(store, ref, inside=inside)
        if (late := _stored_later(ref, trace)) is not None:
            return late
        asked = _Asked(
            store=store,
            trace=trace,
            scope=ask.scope,
            query=ask.request.query,
            top_k=told["policy"]["effective_top_k"],
            ref=ref,
            row=row,
        )
        mentions = _mentions(asked)
        findings = _ways(asked, mentions)
        changed = _changed_since(asked, mentions)
    return why.verdict(ref, findings, superseded_by=successor, changed_since=changed)


def _ways(asked: _Asked, mentions: Mapping[int, tuple[int, bool]]) -> list[Finding]:
    """What each way into a reconstruction says. A candidate has one: the walk adds no row twice."""
    ranks = {each[0]: rank for rank, each in enumerate(asked.seen["candidates"])}
    placed = why.placed(asked.ref, asked.trace.told, ranks.get(asked.ref))
    if placed is None:
        return [_searched(asked), _walked(asked, mentions)]
    if placed.path == "search" or placed.inside:
        return [placed]
    return [_searched(asked), _in_line(asked, placed) if placed.bound == "max_evidence" else placed]


def of_recall(store: Store, trace: Trace, ask: RecallAsk, ref: str) -> Json:
    """The verdict for one ref of a traced recall, which has candidates and nothing after them."""
    refs = trace.told["refs"]
    with snapshot():
        row, successor = _live(store, ref)
        if row is None:
            return _absent(store, ref, inside=ref in refs)
        if (late := _stored_later(ref, trace)) is not None:
            return late
        asked = _Asked(
            store=store,
            trace=trace,
            scope=ask.scope,
            query=ask.query,
            top_k=trace.policy["limit"],
            ref=ref,
            row=row,
        )
        finding = missed.result(ref, refs.index(ref), len(refs)) if ref in refs else _searched(asked)
    return why.verdict(ref, [finding], superseded_by=successor)


def _live(store: Store, ref: str) -> tuple[Record | Summary | None, str | None]:
    """(the row, the ref of its next version), where there are such."""
    kind, number = _split(ref)
    if kind == "ep":
        return Summary.objects.live().defer("summary").filter(store=store, number=number).first(), None
    found = Record.objects.live().defer("content").filter(store=store, number=number).with_successors()
    if not found:
        return None, None
    record, successor = found[0]
    return record, None if successor is None else f"mem:{successor}"


def _split(ref: str) -> tuple[search.RowKind, int]:
    parsed = traces.ref_of(ref)
    return parsed.kind, parsed.number


def _absent(store: Store, ref: str, *, inside: bool) -> Json:
    """The verdict for a row that is not there: of one that was, nothing is said but whether it is in the answer."""
    kind, number = _split(ref)
    counter = StoreCounter.objects.get(store=store)
    given = counter.record if kind == "mem" else counter.summary
    if number > given:
        sentence = f"The store has given out no number above {given} of this kind."
        return why.alone(
            ref, "no_such_row", sentence, value=number, limit=given, by=number - given, unit="numbers"
        )
    said = "was in the answer and has been deleted since" if inside else "has been deleted"
    return why.alone(ref, "deleted", f"{ref} {said}: nothing more is said of it.", inside=inside)


def _stored_later(ref: str, trace: Trace) -> Json | None:
    kind, number = _split(ref)
    last = trace.seen["last"]
    if number <= last[kind]:
        return None
    sentence = f"{ref} was stored after the call, when {kind}:{last[kind]} was the newest of its kind."
    by = number - last[kind]
    return why.alone(ref, "stored_later", sentence, value=number, limit=last[kind], by=by, unit="numbers")


def _searched(asked: _Asked) -> Finding:
    """What kept a row out of the candidates."""
    seen, ref = asked.seen, asked.ref
    kept_out = _never_read(asked, "search")
    if kept_out is not None:
        return kept_out
    if seen["search"]["gate"] is None:
        return _by_recency(asked)
    admitted = seen["search"]["totals"]["admitted"]
    for place, each in enumerate(seen["behind"], len(seen["candidates"]) + 1):
        if each[0] == ref:
            return missed.behind_candidates(ref, place, asked.top_k, admitted)
    for each in seen["below"]:
        if each[0] == ref:
            return _below_gate(asked, own=each[2], cosine=each[5], coverage=each[6])
    if seen["search"]["bounded"]:
        return missed.not_known(ref, "search", "bounded")
    try:
        return _weighed(asked)
    except (search.NotWeighable, NotReplayable) as fault:
        return missed.not_known(ref, "search", fault.reason)


def _weighed(asked: _Asked) -> Finding:
    """The same for a row that the search did not list: weighed again. Raises NotWeighable, NotReplayable."""
    seen, ref = asked.seen, asked.ref
    totals, weighing = seen["search"]["totals"], traces.read_weighing(seen)
    if weighing is None:
        raise NotReplayable("changed")
    row = _split(ref)
    found = search.weigh(asked.store, weighing, asked.query, traces.cue_terms(asked.store, seen), [row])
    if row not in found:
        return missed.not_known(ref, "search", "changed")
    weighed = found[row]
    evidence = weighed.evidence
    # A vector may have come since: nothing tells when.
    exact = not (seen["search"]["without_vector"] and evidence.cosine is not None)
    if not weighed.reached:
        return why.plain(
            "search", "no_evidence", f"{ref} holds no word of the question, and has no vector to compare."
        )
    beside_strong = bool(totals["admitted"]) and not seen["search"]["fallback"]
    if not search.passes(evidence, Gate(**seen["search"]["gate"]), beside_strong=beside_strong):
        finding = _below_gate(asked, own=evidence.own, cosine=evidence.cosine, coverage=evidence.coverage)
        return finding if exact else replace(finding, exact=False)
    if totals["admitted"] <= len(seen["candidates"]):
        return missed.not_known(ref, "search", "changed" if exact else "vectors_incomplete")
    finding = missed.outscored(
        ref, weighed.key.score, seen["candidates"][-1][1], asked.top_k, totals["admitted"]
    )
    return finding if exact else replace(finding, exact=False)


def _below_gate(asked: _Asked, *, own: int, cosine: int | None, coverage: int) -> Finding:
    found = asked.seen["search"]
    strong_found = bool(found["totals"]["admitted"]) and not found["fallback"]
    thresholds = missed.Thresholds(**found["gate"], strong_found=strong_found, fallback=found["fallback"])
    return missed.below_gate(asked.ref, own=own, coverage=coverage, cosine=cosine, gate=thresholds)


def _never_read(asked: _Asked, path: why.Path) -> Finding | None:
    """A row that neither way reads, whatever it says: outside the call's scope, or a summary of summaries."""
    row, scope, ref = asked.row, asked.scope, asked.ref
    if isinstance(row, Summary) and row.source_type == SourceType.NODES:
        sentence = f"{ref} is a summary of summaries, which is never searched and never walked to."
        return why.plain(path, "not_a_candidate", sentence)
    if scope.project_id is not None and row.project_id not in (scope.project_id, ""):
        return missed.outside_scope(ref, "project_id", row.project_id, scope.project_id, path)
    if scope.channel and row.channel not in (scope.channel, ""):
        return missed.outside_scope(ref, "channel", row.channel, scope.channel, path)
    if isinstance(row, Record):
        if not row.source_id.startswith(scope.source_id):
            return missed.outside_scope(ref, "source_id", row.source_id, scope.source_id, path)
    elif not scope.reads_summaries:
        return missed.outside_scope(ref, "source_id", None, scope.source_id, path)
    return None


def _by_recency(asked: _Asked) -> Finding:
    """The place of a row among the records stored last (two statements)."""
    row, scope, last = asked.row, asked.scope, asked.last
    if isinstance(row, Summary):
        sentence = f"The question was blank, and is answered by records alone; {asked.ref} is a summary."
        return why.plain("search", "not_a_candidate", sentence)
    newer = Q(created_at__gt=row.created_at) | Q(created_at=row.created_at, number__gt=row.number)
    records = Record.objects.live().filter(scope.records(), store=asked.store, number__lte=last["mem"])
    counts = records.aggregate(stored=Count("pk"), ahead=Count("pk", filter=newer))
    summaries = 0
    if scope.reads_summaries:
        readable = Summary.objects.episodes().filter(
            scope.context(), store=asked.store, number__lte=last["ep"]
        )
        summaries = readable.count()
    exact = counts["stored"] + summaries == asked.seen["search"]["totals"]["in_scope"]
    place = counts["ahead"] + 1
    if place <= asked.top_k:
        return missed.not_known(asked.ref, "search", "changed")
    return missed.too_old(asked.ref, place, asked.top_k, exact=exact)


def _mentions(asked: _Asked) -> dict[int, tuple[int, bool]]:
    """The readable entities that the row mentions, by number: (primary key, whether it did when the call was made)."""
    column = "mentions__record" if isinstance(asked.row, Record) else "mentions__summary"
    rows = Entity.objects.filter(
        asked.scope.context(), findable(), store=asked.store, **{column: asked.row.pk}
    )
    found: dict[int, tuple[int, bool]] = {}
    for number, key, declared_at in rows.values_list("number", "pk", "mentions__created_at"):
        entity = asked.merges.read_as(key, number)
        if entity is not None:
            # At several places, by several that are one: the first to be declared counts.
            then = declared_at <= asked.trace.asked_at or found.get(entity.number, (0, False))[1]
            found[entity.number] = (entity.pk, then)
    return found


def _walked(asked: _Asked, mentions: Mapping[int, tuple[int, bool]]) -> Finding:
    """What kept the walk from a row that is in no item's line."""
    told, ref = asked.trace.told, asked.ref
    kept_out = _never_read(asked, "walk")
    if kept_out is not None:
        return kept_out
    if not told["items"]:
        return why.plain("walk", "no_item", "There was no item to walk from.")
    entities = [number for number, (_, then) in mentions.items() if then]
    if not entities:
        return why.plain("walk", "no_mention", f"{ref} mentions no declared entity, so no walk leads to it.")
    reached = {entity for item in told["items"] for entity, _, _ in item["reached"]}
    if reached.intersection(entities):
        return _in_line(asked, None)
    return _too_far(asked, entities, {number: key for number, (key, then) in mentions.items() if then})


def _too_far(asked: _Asked, entities: list[int], keys: dict[int, int]) -> Finding:
    """The hops to the nearest of the row's entities: over the traced graph, then further over today's."""
    told, seen = asked.trace.told, asked.seen
    max_hops = told["policy"]["max_hops"]
    edges = [(subject, object_) for _, subject, _, object_, _ in seen["graph"]]
    finding = _nearest(asked, entities, edges, max_hops + 1)
    further = MAX_HOPS_CEILING - max_hops - 1
    if (finding is None or finding.bound != "max_hops") and further > 0:
        following = Following(asked.store, asked.merges)
        around = relations_around(asked.store, asked.scope, keys, further - 1, following)
        then = [(each.subject, each.object) for each in around if each.declared_at <= asked.trace.asked_at]
        finding = _nearest(asked, entities, edges + then, MAX_HOPS_CEILING)
    if finding is not None:
        return finding
    furthest = max(max_hops + 1, MAX_HOPS_CEILING)
    sentence = f"No declared relations lead from an item to what {asked.ref} mentions within {furthest} hops."
    return why.plain("walk", "no_path", sentence)


def _nearest(asked: _Asked, entities: list[int], edges: list[why.Edge], furthest: int) -> Finding | None:
    told = asked.trace.told
    mentioned: dict[str, set[int]] = defaultdict(set)
    for ref, entity in asked.seen["mentions"]:
        mentioned[ref].add(entity)
    reach = [
        why.distances({entity for ref, _ in cluster["rows"] for entity in mentioned[ref]}, edges, furthest)
        for cluster, _ in zip(told["clusters"], told["items"], strict=False)
    ]
    return why.too_far(asked.ref, entities, reach, told["policy"]["max_hops"])


def _in_line(asked: _Asked, cut: Finding | None) -> Finding:
    """The place of a row in the line of the item that reached it. `cut`: what the outline says of it.

    Where more rows mention an entity than were read, the line is read again (two statements): with a higher bound,
    the rows not read would have stood before this one.
    """
    told, seen, ref = asked.trace.told, asked.seen, asked.ref
    if cut is not None and not any(item["bound_met"] for item in told["items"][: cut.where["item"] + 1]):
        return cut
    records, whole = _lines(asked)
    graph = {relation.number: relation for relation in traces.graph_of(seen).relations}
    reaches = tuple(
        Reach(
            entities=tuple(
                ReachedEntity(entity=entity, hops=hops, relation=graph[relation])
                for entity, hops, relation in item["reached"]
            )
        )
        for item in told["items"]
    )
    pool = [traces.ref_of(each[0]) for each in seen["candidates"]]
    for index, line in enumerate(gather(reaches, records, pool, MAX_LINE)):
        refs = [str(walked.row.ref) for walked in line.rows]
        if ref in refs:
            place = len(told["clusters"][index]["rows"]) + refs.index(ref) + 1
            if place > told["policy"]["max_evidence"]:
                finding = why.cut_from_line(ref, told, index, place, path="walk")
                return finding if whole else replace(finding, exact=False)
    return missed.not_known(ref, "walk", "changed") if cut is None else replace(cut, exact=False)


def _lines(asked: _Asked) -> tuple[tuple[EntityRecords, ...], bool]:
    """(the rows that mention an entity the walk reached, as when the call was made; whether these are all)."""
    reached = {entity for item in asked.trace.told["items"] for entity, _, _ in item["reached"]}
    keys = Entity.objects.filter(store=asked.store, number__in=reached).values_list("pk", "number")
    number_of = {member: number for key, number in keys for member in asked.merges.members(key)}
    at: datetime = asked.trace.asked_at
    then = {"mention__entity__in": number_of, "mention__created_at__lte": at}
    readable: list[tuple[Any, str]] = [
        (Record.objects.live().filter(asked.scope.records(), number__lte=asked.last["mem"], **then), "mem")
    ]
    if asked.scope.reads_summaries:
        summaries = Summary.objects.episodes()
        readable.append((summaries.filter(asked.scope.context(), number__lte=asked.last["ep"], **then), "ep"))
    found: dict[int, dict[Row, None]] = defaultdict(dict)
    whole = True
    for query, kind in readable:
        rows = query.filter(store=asked.store).order_by("number")
        pairs = list(rows.values_list("mention__entity", "number").distinct()[: MAX_LINE + 1])
        whole = whole and len(pairs) <= MAX_LINE
        for member, number in pairs:
            ref = Ref(kind, number)  # type: ignore[arg-type]  # one of the two above
            found[number_of[member]][Row(ref=ref)] = None
    return tuple(EntityRecords(entity=entity, rows=tuple(rows)) for entity, rows in found.items()), whole


def _changed_since(asked: _Asked, mentions: Mapping[int, tuple[int, bool]]) -> Json:
    """What the walk went over and is retracted since, where it concerns the row or its way."""
    seen, ref = asked.seen, asked.ref
    named = {entity for each, entity in seen["mentions"] if each == ref}
    named |= {entity for entity, refs, _ in seen["records"] if ref in refs}
    relations = {number for number, *_ in seen["graph"]}
    left: set[int] = set()
    if relations:
        today = Association.objects.filter(store=asked.store, number__in=relations)
        left = set(today.values_list("number", flat=True))
    changed = {"mentions_gone": sorted(named - mentions.keys()), "relations_gone": sorted(relations - left)}
    return {name: numbers for name, numbers in changed.items() if numbers}
