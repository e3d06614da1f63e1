"""The neighbourhood of a declared entity: who is how many hops away, by what, and where they are mentioned.

Contract: reconstruct, end of section F. The walk is the very walk of reconstruct; no record's text is read.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, F, Q, QuerySet, Window
from django.db.models.functions import DenseRank

from memoryconsole.folding import declared_key
from memoryconsole.identity import Following, Merges, findable, has_merges
from memoryconsole.models import Association, Entity, EntityAlias, Mention, Store
from memoryconsole.models.graph import with_keys
from memoryconsole.models.summaries import SourceType
from memoryconsole.scope import EVERYTHING, ReadScope
from memoryconsole.snapshot import snapshot
from memoryconsole.times import write_stamp
from reconstruct.core.types import EntityRelation
from reconstruct.core.walk import Reach, neighbourhood
from reconstruct.graph import in_records, relations_around


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
    following = Following(store)
    with snapshot():
        keys_of = _starts(store, ask, following)
        if not keys_of:
            bounds = {"max_hops": ask.max_hops, "limit": ask.limit}
            return {"entities": [], "relations": [], "bounds": bounds, "reason": "no_such_entity"}
        starts = sorted(keys_of)
        relations = relations_around(store, ask.scope, keys_of, ask.max_hops, following)
        reach = neighbourhood(starts, relations, ask.max_hops)
        hops = dict.fromkeys(starts, 0) | {found.entity: found.hops for found in reach.entities}
        shown = dict(list(hops.items())[: ask.limit])
        entities = _entities(store, ask, {number: keys_of[number] for number in shown}, hops, following)
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


def _starts(store: Store, ask: TraverseAsk, following: Following) -> dict[int, int]:
    """The readable entities of that name or alias: primary keys by number (two statements, three in a store of merged
    entities, whose names lead to their survivors).
    """
    keys = [declared_key(ask.entity)]
    readable = ask.scope.context()
    named = with_keys(Entity.objects.filter(readable, findable(), store=store), keys)
    aliased = with_keys(
        EntityAlias.objects.filter(
            readable, ask.scope.context(through="entity"), findable("entity"), store=store
        ),
        keys,
    )
    told = has_merges(store)
    rows = [
        *named.values_list("pk", "number", told),
        *aliased.values_list("entity", "entity__number", told),
    ]
    found = [following.survivor(pk, number, told=merged) for pk, number, merged in rows]
    return {entity.number: entity.pk for entity in found if entity is not None}


def _entities(
    store: Store, ask: TraverseAsk, keys_of: dict[int, int], hops: dict[int, int], following: Following
) -> list[dict[str, Any]]:
    """The shown entities in the order of `keys_of` (four statements, three when no summary is read)."""
    pks = list(keys_of.values())
    names, aliases = _names(store, ask, {member: pk for pk in pks for member in following.known.members(pk)})
    mentions, totals = _mentions(store, ask, following.known, pks)
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


def _names(
    store: Store, ask: TraverseAsk, read_as: dict[int, int]
) -> tuple[dict[int, str], dict[int, list[str]]]:
    """The name of each entity, and by entity its readable aliases in the order of their keys, among them the names of
    what was merged into it (two statements). `read_as`: survivors by member.
    """
    names: dict[int, str] = {}
    aliases: dict[int, list[tuple[str, str, str, str]]] = defaultdict(list)
    scoped = ("declared_key", "project_id", "channel")
    merged = {member for member, pk in read_as.items() if member != pk}
    readable = Q(pk__in=set(read_as.values())) | (Q(pk__in=merged) & ask.scope.context())
    rows = Entity.objects.filter(readable, store=store)
    for pk, *order, name in rows.values_list("pk", *scoped, "name"):
        if read_as[pk] == pk:
            names[pk] = name
        else:
            aliases[read_as[pk]].append((*order, name))
    known = EntityAlias.objects.filter(ask.scope.context(), store=store, entity__in=read_as)
    for pk, *order, alias in known.values_list("entity", *scoped, "alias"):
        aliases[read_as[pk]].append((*order, alias))
    return names, {pk: [text for *_, text in sorted(found)] for pk, found in aliases.items()}


def _mentions(
    store: Store, ask: TraverseAsk, merges: Merges, pks: list[int]
) -> tuple[dict[int, list[str]], dict[int, int]]:
    """Per entity the refs of readable rows that mention it, lowest number first, and how many there are."""
    scope = ask.scope
    survivor = merges.by_survivor(pks)
    every = Mention.objects.filter(store=store, entity__in=merges.members_of(pks))
    records = in_records(every, scope)
    found = [("mem", *row) for row in _first(records, survivor, "record", ask.limit)]
    if scope.reads_summaries:
        summaries = every.filter(
            scope.context(through="summary"), summary__deleted_at=None, summary__isnull=False
        )
        # Summaries of summaries are no episodes.
        episodes = summaries.exclude(summary__source_type=SourceType.NODES)
        found += [("ep", *row) for row in _first(episodes, survivor, "summary", ask.limit)]
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


def _first(
    mentions: "QuerySet[Mention]", survivor: Case | F, kind: str, limit: int
) -> "Iterable[tuple[int, int, int]]":
    """(entity's key, row's number, how many rows the entity has), each row once though it mentions it more often."""
    number = F(f"{kind}__number")
    place = Window(DenseRank(), partition_by=survivor, order_by=number.asc())
    from_last = Window(DenseRank(), partition_by=survivor, order_by=number.desc())
    rows: Any = mentions.annotate(survivor=survivor, place=place, total=place + from_last - 1)
    found = rows.filter(place__lte=limit).values_list("survivor", f"{kind}__number", "total")
    return dict.fromkeys(found)


def _between(
    store: Store, relations: tuple[EntityRelation, ...], shown: dict[int, int]
) -> list[dict[str, Any]]:
    """The relations between shown entities, newest first (one statement)."""
    # The walk's ends: a stored one may have been merged away.
    inside = {each.number: each for each in relations if each.subject in shown and each.object in shown}
    if not inside:
        return []
    found = (
        Association.objects.filter(Q(number__in=inside), store=store)
        .order_by("-declared_at", "number")
        .values_list(
            "number", "predicate", "declared_by", "declared_at", "anchor_record__number", "anchor_summary__number",
        )
    )  # fmt: skip
    shapes = []
    for number, predicate, declared_by, declared_at, record, summary in found:
        shape = {
            "id": number,
            "subject": inside[number].subject,
            "predicate": predicate,
            "object": inside[number].object,
            "declared_by": declared_by,
            "declared_at": write_stamp(declared_at),
        }
        if record is not None or summary is not None:
            shape["anchor_ref"] = f"mem:{record}" if record is not None else f"ep:{summary}"
        shapes.append(shape)
    return shapes
