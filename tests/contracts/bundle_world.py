"""The data of a context-bundle scenario: one fresh store, its rows made through the ORM in the symbols' order.

Below the write services on purpose: a fixture may date a fact that no claim dates, or back it by testimony that is
gone. Digests, keys of names and the index are the product's own. Rows of every kind are numbered in the order of their
symbols, and ids are the symbols' UUIDs.
"""

import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.test import override_settings

from memoryconsole import search
from memoryconsole.folding import declared_key, resolve_key
from memoryconsole.models import (
    Claim,
    ClaimCurrency,
    ContradictionGroup,
    ContradictionMember,
    Decision,
    Document,
    DocumentVersion,
    Entity,
    EntityAlias,
    Fact,
    FactEvidence,
    Mention,
    MergeEvent,
    Passage,
    Record,
    StoreCounter,
    User,
    WindowCitation,
)
from memoryconsole.services.ingest import digest_of
from tests.conftest import make_client, make_store
from tests.contracts.bundle_format import Given
from tests.contracts.bundle_symbols import Symbols, fact_key
from tests.contracts.values import FormatError

# When what has no instant of its own was stored, and what a fact without `ingested` is believed from.
STORED_AT = datetime(2026, 1, 1, tzinfo=UTC)


def instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text.replace("Z", "+00:00"))


def _at(row: Mapping[str, Any], name: str) -> datetime:
    """The instant of a member that has one, else STORED_AT."""
    return instant(row.get(name)) or STORED_AT


class World:
    """One store and a client that may do everything in it."""

    def __init__(self, given: Given, symbols: Symbols, user: User | None = None) -> None:
        self.symbols = symbols
        self.given = given
        self.user = user or User.objects.create_user(f"contracts-{uuid.uuid4().hex}")
        horizon = instant(given.get("config", {}).get("horizon"))
        self.store = make_store(self.user, belief_horizon_at=horizon)
        self.client = make_client(self.user, self.store)
        # What we do not expect is an answer too: a 500.
        self.client.raise_request_exception = False
        self.entities: dict[str, Entity] = {}
        self.documents: dict[str, Document] = {}
        self.records: dict[str, Record] = {}
        self.claims: dict[str, Claim] = {}
        self.facts: dict[tuple[str, str], Fact] = {}
        with transaction.atomic(), override_settings(EMBEDDER="none"):
            self._build()
            self._count()
            self._index()

    def _build(self) -> None:
        given = self.given
        for number, row in _numbered(given.get("entities", ())):
            self._add_entity(number, row)
        for row in given.get("entities", ()):
            self._add_merge(row)
        for number, row in _numbered(given.get("documents", ())):
            self._add_document(number, row)
        for number, row in _numbered(given.get("claims", ())):
            self._add_claim(number, row)
        self._add_mentions()
        for number, row in _numbered(given.get("facts", ()), "kind"):
            self._add_fact(number, row)
        for row in given.get("groups", ()):
            self._add_group(row)
        for row in given.get("transcript", ()):
            self._add_decision(row)

    def _add_entity(self, number: int, row: Mapping[str, Any]) -> None:
        merged = row.get("merged_into") is not None
        mentioned = any(row["id"] in claim.get("mentions", ()) for claim in self.given.get("claims", ()))
        entity = Entity.objects.create(
            store=self.store,
            number=number,
            uuid=self.symbols.uuid(row["id"]),
            name=row["name"],
            declared_key=declared_key(row["name"]),
            resolve_key=resolve_key(row["name"]),
            status=row.get("status", "merged" if merged else "active"),
            declared=row.get("provenance", not mentioned),
            created_at=STORED_AT,
        )
        self.entities[row["id"]] = entity
        EntityAlias.objects.bulk_create(
            EntityAlias(
                store=self.store,
                entity=entity,
                alias=alias,
                declared_key=declared_key(alias),
                resolve_key=resolve_key(alias),
            )
            for alias in row.get("aliases", ())
        )

    def _add_merge(self, row: Mapping[str, Any]) -> None:
        if row.get("merged_into") is None:
            return
        absorbed, survivor = self.entities[row["id"]], self._entity(row["merged_into"])
        Entity.objects.filter(pk=absorbed.pk).update(merged_into=survivor)
        MergeEvent.objects.create(
            store=self.store,
            uuid=uuid.uuid4(),
            survivor=survivor,
            absorbed=absorbed,
            merged_at=_at(row, "merged_at"),
        )

    def _add_document(self, number: int, row: Mapping[str, Any]) -> None:
        deleted_at = STORED_AT if row.get("deleted") else None
        text = row["text"]
        document = Document.objects.create(
            store=self.store,
            number=number,
            uuid=self.symbols.uuid(row["id"]),
            source_kind=row.get("source_kind", "file"),
            source_ref=f"scenario:{row['id']}",
            title=row.get("title") or "",
            created_at=STORED_AT,
            deleted_at=deleted_at,
        )
        version = DocumentVersion.objects.create(
            store=self.store,
            document=document,
            uuid=uuid.uuid4(),
            representation_uuid=uuid.uuid4(),
            version_no=1,
            text=text,
            digest=digest_of(text),
            status="deleted" if deleted_at else "ready",
            created_at=STORED_AT,
            deleted_at=deleted_at,
        )
        record = Record.objects.create(
            store=self.store,
            number=number,
            uuid=uuid.uuid4(),
            content=text,
            digest=digest_of(text),
            created_at=STORED_AT,
            believed_at=STORED_AT,
        )
        Passage.objects.create(
            record=record, store=self.store, version=version, ordinal=0, char_start=0, char_end=len(text)
        )
        self.documents[row["id"]] = document
        self.records[row["id"]] = record

    def _add_claim(self, number: int, row: Mapping[str, Any]) -> None:
        if row["doc"] not in self.records:
            raise FormatError(f"claim {row['id']} is of no document")
        record, document = self.records[row["doc"]], self.documents[row["doc"]]
        quote = row.get("quote", row["text"])
        start = record.content.find(quote)
        if start < 0 or not quote:
            raise FormatError(f"claim {row['id']}: {quote!r} is not in its document")
        end = start + len(quote)
        # A deleted version says nothing any more (contract, section A.9).
        gone = "version_deleted" if document.deleted_at else "reextracted"
        current = row.get("current", True) and not document.deleted_at
        claim = Claim.objects.create(
            store=self.store,
            number=number,
            uuid=self.symbols.uuid(row["id"]),
            document=document,
            record=record,
            claim_text=row["text"],
            digest=digest_of(row["text"]),
            source_span=quote,
            char_start=start,
            char_end=end,
            spans=[[start, end]],
            is_attributed=row.get("attributed", False),
            asserted_at=instant(row.get("asserted")),
            valid_from=instant(row.get("from")),
            valid_until=instant(row.get("until")),
            valid_precision=row.get("precision", "unknown"),
            is_current=current,
            created_at=STORED_AT,
            ingested_at=STORED_AT,
        )
        if not current:
            ClaimCurrency.objects.create(
                store=self.store,
                claim=claim,
                current=False,
                reason=gone,
                decided_at=STORED_AT,
                decided_by="auto",
            )
        self.claims[row["id"]] = claim

    def _add_mentions(self) -> None:
        """One mention a (claim's span, entity). Those of entities that are not there are ignored."""
        unseen = {row["id"] for row in self.given.get("entities", ()) if row.get("provenance") is False}
        places = {
            (self.entities[name].pk, self.claims[row["id"]].record_id, claim.char_start, claim.char_end)
            for row in self.given.get("claims", ())
            for claim in [self.claims[row["id"]]]
            for name in row.get("mentions", ())
            if name in self.entities and name not in unseen
        }
        Mention.objects.bulk_create(
            Mention(
                store=self.store,
                entity_id=entity,
                record_id=record,
                char_start=start,
                char_end=end,
                created_at=STORED_AT,
            )
            for entity, record, start, end in sorted(places)
        )

    def _add_fact(self, number: int, row: Mapping[str, Any]) -> None:
        ingested_at = _at(row, "ingested")
        own: dict[str, Any] = (
            {"statement": row["statement"]}
            if row["kind"] == "observation"
            else {
                "predicate": row["predicate"],
                "object": self._entity(row["object"]),
            }
        )
        fact = Fact.objects.create(
            store=self.store,
            number=number,
            kind=row["kind"],
            uuid=self.symbols.uuid(row["id"]),
            subject=self._entity(row["subject"]),
            valid_from=instant(row.get("from")),
            valid_until=instant(row.get("until")),
            valid_precision=row.get("precision", "unknown"),
            ingested_at=ingested_at,
            invalidated_at=instant(row.get("invalidated")),
            support=row.get("support", "current"),
            window_since=ingested_at,
            created_at=ingested_at,
            **own,
        )
        self.facts[row["kind"], row["id"]] = fact
        FactEvidence.objects.bulk_create(
            FactEvidence(
                store=self.store, fact=fact, claim=self.claims[claim], stance=stance, attached_at=ingested_at
            )
            for claim, stance in row.get("evidence", ())
            # Testimony that is not there any more has left no row.
            if claim in self.claims
        )
        WindowCitation.objects.bulk_create(
            WindowCitation(store=self.store, fact=fact, claim=self.claims[claim])
            for claim in row.get("window_claims", ())
            if claim in self.claims
        )

    def _add_group(self, row: Mapping[str, Any]) -> None:
        members = []
        for each in row["members"]:
            if fact_key(each) not in self.facts:
                raise FormatError(f"group {row['id']}: there is no {each}")
            members.append(self.facts[fact_key(each)])
        joined_at = max(fact.ingested_at for fact in members)
        resolved_at = joined_at if row.get("resolved") else None
        group = ContradictionGroup.objects.create(
            store=self.store,
            uuid=self.symbols.uuid(row["id"]),
            created_at=joined_at,
            resolved_at=resolved_at,
            verdict="all_stand" if resolved_at else "",
        )
        ContradictionMember.objects.bulk_create(
            ContradictionMember(
                store=self.store,
                group=group,
                fact=fact,
                joined_at=fact.ingested_at,
                # A retracted member is none any more; its row stays, with its end (contract, section P, 12).
                left_at=resolved_at or fact.invalidated_at,
            )
            for fact in members
        )

    def _add_decision(self, row: Mapping[str, Any]) -> None:
        related = row.get("related_id")
        Decision.objects.create(
            store=self.store,
            subject_kind=row["subject_kind"],
            subject_uuid=self.symbols.uuid(row["subject_id"]),
            outcome=row["outcome"],
            method=row.get("method", "declared"),
            related_uuid=None if related is None else self.symbols.uuid(related),
            decided_by=row.get("decided_by", "auto"),
            decided_at=_at(row, "decided_at"),
            features=row.get("features") or {},
        )

    def _entity(self, name: str) -> Entity:
        if name not in self.entities:
            raise FormatError(f"there is no entity {name}")
        return self.entities[name]

    def _count(self) -> None:
        """The counters stand past the highest number, and past every belief so far."""
        beliefs = [STORED_AT]
        for fact in self.facts.values():
            beliefs += [each for each in (fact.ingested_at, fact.invalidated_at) if each is not None]
        StoreCounter.objects.filter(store=self.store).update(
            entity=len(self.entities),
            document=len(self.documents),
            record=len(self.records),
            claim=len(self.claims),
            fact=len(self.facts),
            belief_at=max(beliefs),
        )

    def _index(self) -> None:
        live = [name for name, document in self.documents.items() if document.deleted_at is None]
        search.index(
            self.store,
            records=[self.records[name] for name in live],
            claims=list(self.claims.values()),
            facts=list(self.facts.values()),
            profiles=list(self.entities.values()),
            now=STORED_AT,
        )


def _numbered(rows: Iterable[Mapping[str, Any]], *then: str) -> list[tuple[int, Mapping[str, Any]]]:
    """The rows with their public numbers: those of their symbols' order."""
    ordered = sorted(rows, key=lambda row: (row["id"], *(row[name] for name in then)))
    return list(enumerate(ordered, 1))
