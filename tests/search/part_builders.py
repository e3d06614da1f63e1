"""Claims, facts and entities to search for, made through the ORM and indexed by the product's own write side."""

import uuid
from typing import Any

from django.db import transaction
from django.utils import timezone

from memoryconsole import search
from memoryconsole.folding import declared_key, resolve_key
from memoryconsole.models import Claim, Document, Entity, EntityAlias, Fact, Record, Store
from memoryconsole.models.documents import CONVERSATION
from memoryconsole.snapshot import snapshot
from tests.search.builders import NOW, digest_of


def next_number(model: Any, store: Store) -> int:
    last = model.objects.filter(store=store).order_by("-number").values_list("number", flat=True).first()
    return 1 + (last or 0)


def document(store: Store) -> Document:
    found = Document.objects.filter(store=store).first()
    return found or Document.objects.create(
        store=store, number=1, uuid=uuid.uuid4(), source_kind=CONVERSATION, source_ref="s", created_at=NOW
    )


def add_claims(store: Store, *texts: str, record: Record, **fields: Any) -> list[Claim]:
    """Claims whose source says them in the same words, unless `source_span` is given."""
    first = next_number(Claim, store)
    with transaction.atomic():
        claims = [
            Claim.objects.create(
                store=store, number=number, uuid=uuid.uuid4(), document=document(store), record=record,
                claim_text=text, digest=digest_of(text), char_start=0, char_end=1, spans=[[0, 1]], created_at=NOW,
                ingested_at=NOW, **({"source_span": text} | fields),
            )
            for number, text in enumerate(texts, start=first)
        ]  # fmt: skip
        search.index(store, claims=claims, now=NOW)
    return claims


def make_entity(store: Store, name: str, *aliases: str, **fields: Any) -> Entity:
    """An entity without a profile yet."""
    entity = Entity.objects.create(
        store=store, number=next_number(Entity, store), uuid=uuid.uuid4(), name=name, declared_key=declared_key(name),
        resolve_key=resolve_key(name), created_at=NOW, **fields,
    )  # fmt: skip
    for alias in aliases:
        make_alias(entity, alias)
    return entity


def make_alias(entity: Entity, alias: str) -> None:
    EntityAlias.objects.create(
        store=entity.store, entity=entity, alias=alias, declared_key=declared_key(alias),
        resolve_key=resolve_key(alias),
    )  # fmt: skip


def make_fact(store: Store, subject: Entity, said: str, object_: Entity | None = None, **fields: Any) -> Fact:
    """A relation when there is an object, else an observation; not indexed."""
    kind = {"kind": "relation", "predicate": said, "object": object_} if object_ else {
        "kind": "observation", "statement": said}  # fmt: skip
    return Fact.objects.create(
        store=store, number=next_number(Fact, store), uuid=uuid.uuid4(), subject=subject, ingested_at=NOW,
        window_since=NOW, created_at=NOW, **(kind | fields),
    )  # fmt: skip


def add_fact(store: Store, subject: Entity, said: str, object_: Entity | None = None, **fields: Any) -> Fact:
    """A fact, and its ends' profiles, indexed as a declaration does."""
    with transaction.atomic():
        fact = make_fact(store, subject, said, object_, **fields)
        search.index(
            store, facts=[fact], profiles=[subject, *([object_] if object_ else [])], now=timezone.now()
        )
    return fact


def nominate(
    store: Store, query: str, part: search.NominatedPart, among: "list[int] | None" = None
) -> search.Nominations:
    prepared = search.prepare(query)
    with snapshot():
        return search.SearchNominator().nominate(store, prepared, part, among=among)


def channel(found: search.Nominations, name: str) -> "list[tuple[int, int]] | None":
    """(primary key, score) of a channel, best first; None: there is no such channel."""
    for each in found.channels:
        if each.name == name:
            return list(zip(each.ids.tolist(), each.scores.tolist(), strict=True))
    return None


def ids(found: search.Nominations, name: str = "lexical") -> "list[int] | None":
    listed = channel(found, name)
    return None if listed is None else [pk for pk, _ in listed]
