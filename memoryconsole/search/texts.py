"""What each kind of row is found by: its text, and what stands beside it in the index."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from django.db import connection
from django.db.models import prefetch_related_objects

from memoryconsole.identity import FOLLOWED
from memoryconsole.models import Claim, Entity, Fact, Record, Store, Summary
from memoryconsole.models.search import Part
from memoryconsole.models.summaries import SourceType
from memoryconsole.predicates import label

Row = Record | Summary | Claim | Fact | Entity
# The column of the index that points to the row.
Kind = Literal["record", "summary", "claim", "fact", "entity"]

# Facts in a profile (contract: context-bundle M.2, "top fact labels"). Eight lines beside the names: more would make
# the profile of who is known for much a text of its own, in which no word weighs anything. A guess.
PROFILE_FACTS = 8
# Parts are apart in the topmost byte of a salt: no store's primary key comes near it.
_PART_BITS = 56

_NAMES = f"""
    WITH RECURSIVE hit (entity_id) AS (SELECT unnest(%(wanted)s::bigint[])), {FOLLOWED}
    SELECT s.start_id, e.name FROM survivor AS s JOIN mc_entity AS e ON e.id = s.id
"""  # noqa: S608  (put together from constants)

_PROFILES = f"""
    WITH RECURSIVE hit (entity_id) AS (SELECT unnest(%(wanted)s::bigint[])), {FOLLOWED},
    called (survivor_id, hops, number, alias, name) AS (
        SELECT f.survivor_id, f.hops, e.number, 0, e.name FROM family AS f JOIN mc_entity AS e ON e.id = f.id
        UNION ALL
        SELECT f.survivor_id, f.hops, e.number, a.id, a.alias FROM family AS f JOIN mc_entity AS e ON e.id = f.id
        JOIN mc_entity_alias AS a ON a.entity_id = f.id)
    SELECT s.id, ARRAY(SELECT name FROM called WHERE survivor_id = s.id ORDER BY hops, number, alias),
        (SELECT jsonb_agg(jsonb_build_array(subject_id, predicate, object_id, statement) ORDER BY number DESC)::text
         FROM (SELECT f.* FROM mc_fact AS f
               WHERE f.store_id = %(store)s AND f.invalidated_at IS NULL AND f.id <> ALL(%(without)s::bigint[])
               AND (f.subject_id = ANY(ARRAY(SELECT id FROM family WHERE survivor_id = s.id))
                    OR f.object_id = ANY(ARRAY(SELECT id FROM family WHERE survivor_id = s.id)))
               ORDER BY f.number DESC LIMIT %(facts)s) AS known)
    FROM (SELECT DISTINCT id FROM survivor) AS s
"""  # noqa: S608  (put together from constants)


def salt(store: Store, part: Part) -> int:
    """What the keys of a part's terms are salted with, so that a look-up in one part never meets another's entries.
    Recall and summaries of summaries share the store's.
    """
    return store.pk if part <= Part.GRAPH else store.pk | part << _PART_BITS


@dataclass(frozen=True, slots=True)
class Searchable:
    """A row as the index takes it. `row_id`: its primary key, None before it is saved.

    `producers`, `instant`: who produced the text and when; they vote. `digest` orders ties.
    """

    part: Part
    kind: Kind
    row_id: int
    number: int
    text: str
    stored_at: datetime
    digest: bytes = field(repr=False)
    instant: datetime | None = None
    producers: frozenset[str] = frozenset()
    project_id: str | None = None
    channel: str | None = None
    source_id: str = ""
    session_id: int | None = None


def searchables(
    store: Store, rows: Sequence[Row], *, adding: Sequence[Fact] = (), without: Sequence[Fact] = ()
) -> list[Searchable]:
    """One a row, in order. Records, summaries, claims and facts may be unsaved. `adding`: facts that the profiles of
    their ends are to tell of although they are not stored; `without`: those they are not to tell of although they are.

    Statements: one for claims whose records are not loaded, one for profiles, one for the names in facts and profiles.
    """
    claims = [row for row in rows if isinstance(row, Claim)]
    prefetch_related_objects(claims, "record")
    profiles = _read_profiles(store, [row for row in rows if isinstance(row, Entity)], adding, without)
    facts = [row for row in rows if isinstance(row, Fact)]
    told = [_Told.of(fact) for fact in facts] + [
        told for profile in profiles.values() for told in profile.facts
    ]
    names = read_names(store, {end for fact in told for end in fact.ends})
    return [_searchable(row, profiles, names) for row in rows]


def read_names(store: Store, entities: Iterable[int]) -> dict[int, str]:
    """What entities are called by primary key: a merged one as its survivor is. Those that lead to none are left
    out. One statement, none for no entities.
    """
    wanted = sorted(entities)
    if not wanted:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_NAMES, {"store": store.pk, "wanted": wanted})
        return dict(cursor.fetchall())


@dataclass(frozen=True, slots=True)
class _Told:
    """A fact, as far as its label goes."""

    subject: int
    predicate: str
    object: int | None
    statement: str

    @classmethod
    def of(cls, fact: Fact) -> "_Told":
        return cls(fact.subject_id, fact.predicate, fact.object_id, fact.statement)

    @property
    def ends(self) -> list[int]:
        return [end for end in (self.subject, self.object) if end is not None]

    def label(self, names: dict[int, str]) -> str:
        end = "" if self.object is None else names.get(self.object, "")
        return label(self.predicate, self.statement, names.get(self.subject, ""), end)


@dataclass(frozen=True, slots=True)
class _Profile:
    """`names`: its own, those of all it absorbed, and all their aliases, each once."""

    names: tuple[str, ...] = ()
    facts: tuple[_Told, ...] = ()


# Of an entity that is merged away or retired: its entry is about to go.
_NOBODY = _Profile()


def _read_profiles(
    store: Store, entities: Sequence[Entity], adding: Sequence[Fact], without: Sequence[Fact]
) -> dict[int, _Profile]:
    """Profiles by primary key: facts believed now alone, newest first, with the changes of `searchables`.

    One statement, none for no entities.
    """
    if not entities:
        return {}
    values: dict[str, Any] = {
        "store": store.pk,
        "wanted": [entity.pk for entity in entities],
        "facts": PROFILE_FACTS,
        "without": [fact.pk for fact in without],
    }
    with connection.cursor() as cursor:
        cursor.execute(_PROFILES, values)
        return {pk: _profile(pk, names, facts, adding) for pk, names, facts in cursor.fetchall()}


def _profile(survivor: int, names: list[str], facts: str | None, adding: Sequence[Fact]) -> _Profile:
    stored = [_Told(*fact) for fact in json.loads(facts)] if facts else []
    told = [told for told in map(_Told.of, adding) if survivor in told.ends] + stored
    return _Profile(tuple(dict.fromkeys(names)), tuple(told[:PROFILE_FACTS]))


def _searchable(row: Row, profiles: dict[int, _Profile], names: dict[int, str]) -> Searchable:
    match row:
        case Record():
            return _of_record(row)
        case Summary():
            return _of_summary(row)
        case Claim():
            return _of_claim(row)
        case Fact():
            text = _Told.of(row).label(names)
            return _of_text(Part.FACT, "fact", row, text)
        case Entity():
            profile = profiles.get(row.pk, _NOBODY)
            text = "\n".join((*profile.names, *(fact.label(names) for fact in profile.facts)))
            return _of_text(Part.PROFILE, "entity", row, text)


def _of_record(record: Record) -> Searchable:
    return Searchable(
        part=Part.RECALL,
        kind="record",
        row_id=record.pk,
        number=record.number,
        text=record.content,
        stored_at=record.created_at,
        digest=bytes(record.digest),
        instant=record.instant,
        producers=frozenset((record.source_name, record.source_id)),
        project_id=record.project_id,
        channel=record.channel,
        source_id=record.source_id,
        session_id=record.session_id,
    )


def _of_summary(summary: Summary) -> Searchable:
    return Searchable(
        part=Part.GRAPH if summary.source_type == SourceType.NODES else Part.RECALL,
        kind="summary",
        row_id=summary.pk,
        number=summary.number,
        text=summary.summary,
        stored_at=summary.created_at,
        digest=bytes(summary.digest),
        instant=summary.earliest_at,
        project_id=summary.project_id,
        channel=summary.channel,
        session_id=summary.session_id,
    )


def _of_claim(claim: Claim) -> Searchable:
    return Searchable(
        part=Part.CLAIM,
        kind="claim",
        row_id=claim.pk,
        number=claim.number,
        text=_both(claim.claim_text, claim.source_span),
        stored_at=claim.created_at,
        digest=bytes(claim.digest),
        instant=claim.asserted_at,
        producers=frozenset((claim.record.source_name, claim.record.source_id)),
    )


def _both(said: str, span: str) -> str:
    """The claim's words and its source's, without saying twice what one of them holds whole."""
    if span in said:
        return said
    return span if said in span else f"{said}\n{span}"


def _of_text(part: Part, kind: Kind, row: Fact | Entity, text: str) -> Searchable:
    digest = hashlib.sha256(text.encode()).digest()
    return Searchable(part, kind, row.pk, row.number, text, row.created_at, digest)
