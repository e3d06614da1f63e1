"""The neighbourhood of a declared entity: who is how many hops away, by what, and where they are mentioned.

Contract: reconstruct, end of section F. The walk is the very walk of reconstruct; no record's text is read.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, Q, QuerySet, Window
from django.db.models.functions import RowNumber

from memoryconsole.folding import declared_key
from memoryconsole.models import Association, Entity, EntityAlias, Mention, Store
from memoryconsole.models.graph import with_keys
from memoryconsole.models.summaries import SourceType
from memoryconsole.scope import EVERYTHING, ReadScope
from memoryconsole.snapshot import snapshot
from memoryconsole.times import write_stamp
from reconstruct.core.types import EntityRelation
from reconstruct.core.walk import Reach, neighbourhood
from reconstruct.recall import relations_around


@dataclass(frozen=True, slots=True, kw_only=True)
class TraverseAsk:
    """A traverse call as parsed. `limit` bounds the entities, and the mentions of each."""

    entity: str
    max_hops: int = 1
    limit: int = 20
    scope: ReadScope = EVERYTHING


def traverse(store: Store, ask: TraverseAsk) -> dict[str, Any]:
    """Entities by hops, then the most recent relation that reached them, then number; relations newest first.

    A name of several readable entities starts from all of them. The number of statements depends on max_hops alone.
    """
    with snapshot():
        keys_of = _starts(store, ask)
        if not keys_of:
            bounds = {"max_hops": ask.max_hops, "limit": ask.limit}
            return {"entities": [], "relations": [], "bounds": bounds, "reason": "no_such_entity"}
        starts = sorted(keys_of)
        relations = relations_around(store, ask.scope, keys_of, ask.max_hops)
        reach = neighbourhood(starts, relations, ask.max_hops)
        hops = dict.fromkeys(starts, 0) | {found.entity: found.hops for found in reach.entities}
        shown = dict(list(hops.items())[: ask.limit])
        entities = _entities(store, ask, {number: keys_of[number] for number in shown}, hops)
        between = _between(store, relations, shown)
    return _body(ask, entities, between, reach, omitted=len(hops) - len(shown))


def _body(
    ask: TraverseAsk,
    entities: list[dict[str, Any]],
    relations: list[dict[str, Any]],
    reach: Reach,
    *,
    omitted: int,
) -> dict[str, Any]:
    limited = omitted > 0 or any("mentions_omitted" in entity for entity in entities)
    cut = [name for name, met in (("max_hops", reach.unfollowed), ("limit", limited)) if met]
    bounds: dict[str, Any] = {"max_hops": ask.max_hops, "limit": ask.limit}
    body: dict[str, Any] = {
        "entities": entities,
        "relations": relations,
        "bounds": bounds | ({"omitted": cut} if cut else {}),
    }
    return body | ({"entities_omitted": omitted} if omitted else {})


def _starts(store: Store, ask: TraverseAsk) -> dict[int, int]:
    """The readable entities of that name or alias: primary keys by number (two statements)."""
    keys = [declared_key(ask.entity)]
    readable = ask.scope.context()
    named = with_keys(Entity.objects.filter(readable, store=store), keys)
    aliased = with_keys(
        EntityAlias.objects.filter(readable, ask.scope.context(through="entity"), store=store), keys
    )
    return dict(named.values_list("number", "pk")) | dict(aliased.values_list("entity__number", "entity"))


def _entities(
    store: Store, ask: TraverseAsk, keys_of: dict[int, int], hops: dict[int, int]
) -> list[dict[str, Any]]:
    """The shown entities in the order of `keys_of` (four statements, three when no summary is read)."""
    pks = list(keys_of.values())
    names = dict(Entity.objects.filter(store=store, pk__in=pks).values_list("pk", "name"))
    aliases: dict[int, list[str]] = defaultdict(list)
    for pk, alias in (
        EntityAlias.objects.filter(ask.scope.context(), store=store, entity__in=pks)
        .order_by("entity", "declared_key", "project_id", "channel")
        .values_list("entity", "alias")
    ):
        aliases[pk].append(alias)
    mentions, totals = _mentions(store, ask, pks)
    shapes = []
    for number, pk in keys_of.items():
        shape: dict[str, Any] = {"id": number, "name": names[pk], "hops": hops[number]}
        if pk in aliases:
            shape["aliases"] = aliases[pk]
        if pk in mentions:
            shape["mentions"] = mentions[pk]
            if totals[pk] > len(mentions[pk]):
                shape["mentions_omitted"] = totals[pk] - len(mentions[pk])
        shapes.append(shape)
    return shapes


def _mentions(store: Store, ask: TraverseAsk, pks: list[int]) -> tuple[dict[int, list[str]], dict[int, int]]:
    """Per entity the refs of readable rows that mention it, lowest number first, and how many there are."""
    scope = ask.scope
    every = Mention.objects.filter(store=store, entity__in=pks)
    records = every.filter(scope.records(through="record"), record__deleted_at=None, record__isnull=False)
    found = [("mem", *row) for row in _first(records, "record", ask.limit)]
    if scope.reads_summaries:
        summaries = every.filter(
            scope.context(through="summary"), summary__deleted_at=None, summary__isnull=False
        )
        # Summaries of summaries are no episodes.
        episodes = summaries.exclude(summary__source_type=SourceType.NODES)
        found += [("ep", *row) for row in _first(episodes, "summary", ask.limit)]
    refs: dict[int, list[tuple[int, str]]] = defaultdict(list)
    totals: dict[int, dict[str, int]] = defaultdict(dict)
    for kind, pk, number, total in found:
        refs[pk].append((number, kind))
        totals[pk][kind] = total
    # At one number the episode comes first.
    shown = {
        pk: [f"{kind}:{number}" for number, kind in sorted(rows)[: ask.limit]] for pk, rows in refs.items()
    }
    return shown, {pk: sum(by_kind.values()) for pk, by_kind in totals.items()}


def _first(mentions: "QuerySet[Mention]", kind: str, limit: int) -> "Iterable[tuple[int, int, int]]":
    """(entity's key, row's number, how many rows the entity has)."""
    place = Window(RowNumber(), partition_by=F("entity"), order_by=F(f"{kind}__number").asc())
    total = Window(Count("pk"), partition_by=F("entity"))
    return (
        mentions.annotate(place=place, total=total)
        .filter(place__lte=limit)
        .values_list("entity", f"{kind}__number", "total")
    )


def _between(
    store: Store, relations: tuple[EntityRelation, ...], shown: dict[int, int]
) -> list[dict[str, Any]]:
    """The relations between shown entities, newest first (one statement)."""
    inside = [each.number for each in relations if each.subject in shown and each.object in shown]
    if not inside:
        return []
    found = (
        Association.objects.filter(Q(number__in=inside), store=store)
        .order_by("-declared_at", "number")
        .values_list(
            "number", "subject_entity__number", "predicate", "object_entity__number", "declared_by", "declared_at",
            "anchor_record__number", "anchor_summary__number",
        )
    )  # fmt: skip
    shapes = []
    for number, subject, predicate, object_, declared_by, declared_at, record, summary in found:
        shape = {
            "id": number,
            "subject": subject,
            "predicate": predicate,
            "object": object_,
            "declared_by": declared_by,
            "declared_at": write_stamp(declared_at),
        }
        if record is not None or summary is not None:
            shape["anchor_ref"] = f"mem:{record}" if record is not None else f"ep:{summary}"
        shapes.append(shape)
    return shapes
