"""The rows of `bundle.py`: documents of twenty claims each, entities that they mention, facts that rest on them."""

import hashlib
import random
import time
import uuid
from datetime import UTC, datetime, timedelta
from statistics import quantiles
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from memoryconsole import search
from memoryconsole.models import (
    Claim,
    ContradictionGroup,
    ContradictionMember,
    Document,
    DocumentVersion,
    Entity,
    Fact,
    FactEvidence,
    Mention,
    Passage,
    Record,
    Store,
    StoreCounter,
)
from memoryconsole.snapshot import snapshot
from provenance.context_bundle.core.temporal import Current
from provenance.context_bundle.spine.facts import Facts, FactScope
from provenance.context_bundle.spine.testimony import Testimony
from tests.benchmarks.bench import Texts

PER_DOCUMENT = 20
PER_ENTITY = 25
HUB_FACTS = 1000
SIDES = 50
BATCH = 5000
HYDRATED = 256
TURNS = 40


class Planting:
    """`entities`: ids with about 25 facts each; `hub`: one with a thousand; `disputed`: one whose facts contradict;
    `group`: the id of their contradiction.
    """

    def __init__(self, store: Store, claims: int, facts: int) -> None:
        self.store = store
        self.claims = claims
        self.facts = facts
        self.choose = random.Random(7)
        self.texts = Texts()
        self.sentences = [self.texts.sentence(12) for _ in range(claims)]
        self.now = timezone.now()
        self.entities: list[str] = []
        self.hub = self.disputed = self.group = ""

    def write(self) -> None:
        with transaction.atomic():
            entities = self._write_entities()
            records = self._write_documents()
            claims = self._write_claims(records, entities)
            facts = self._write_facts(entities, claims)
            StoreCounter.objects.filter(store=self.store).update(
                record=len(records), entity=len(entities), claim=len(claims), fact=len(facts),
                document=len(records), belief_at=self.now,
            )  # fmt: skip
        for start in range(0, max(len(claims), len(facts)), BATCH):
            part = slice(start, start + BATCH)
            with transaction.atomic():
                search.index(
                    self.store,
                    records=records[part], claims=claims[part], facts=facts[part], profiles=entities[part],
                    now=self.now,
                )  # fmt: skip
        with connection.cursor() as cursor:
            # What a server that has been running does by itself.
            cursor.execute("VACUUM ANALYZE")

    def _write_entities(self) -> list[Entity]:
        amount = max(self.facts // PER_ENTITY, 10)
        rows = [
            Entity(
                store=self.store, number=n, uuid=uuid.uuid4(), name=f"Pier {n}", declared_key=f"pier {n}",
                resolve_key=f"pier {n}", declared=True, created_at=self.now,
            )
            for n in range(1, amount + 1)
        ]  # fmt: skip
        Entity.objects.bulk_create(rows, batch_size=BATCH)
        self.hub, self.disputed = str(rows[0].uuid), str(rows[1].uuid)
        self.entities = [str(row.uuid) for row in rows[2:]]
        return rows

    def _write_documents(self) -> list[Record]:
        texts = [
            ". ".join(self.sentences[start : start + PER_DOCUMENT])
            for start in range(0, self.claims, PER_DOCUMENT)
        ]
        common: dict[str, Any] = {"store": self.store, "created_at": self.now}
        documents = [
            Document(
                number=n, uuid=uuid.uuid4(), source_kind="file", source_ref=str(n), title=f"Log {n}", **common
            )
            for n in range(1, len(texts) + 1)
        ]
        Document.objects.bulk_create(documents, batch_size=BATCH)
        versions = [
            DocumentVersion(
                document=document, uuid=uuid.uuid4(), representation_uuid=uuid.uuid4(), version_no=1, text=text,
                digest=_digest(text), **common,
            )
            for document, text in zip(documents, texts, strict=True)
        ]  # fmt: skip
        DocumentVersion.objects.bulk_create(versions, batch_size=BATCH)
        records = [
            Record(
                number=n,
                uuid=uuid.uuid4(),
                content=text,
                digest=_digest(text),
                believed_at=self.now,
                **common,
            )
            for n, text in enumerate(texts, 1)
        ]
        Record.objects.bulk_create(records, batch_size=BATCH)
        Passage.objects.bulk_create(
            (
                Passage(record=record, store=self.store, version=version, ordinal=0, char_start=0,
                        char_end=len(record.content))
                for record, version in zip(records, versions, strict=True)
            ),
            batch_size=BATCH,
        )  # fmt: skip
        self.documents = documents
        return records

    def _write_claims(self, records: list[Record], entities: list[Entity]) -> list[Claim]:
        rows, mentions = [], []
        for n in range(self.claims):
            record, document = records[n // PER_DOCUMENT], self.documents[n // PER_DOCUMENT]
            text = self.sentences[n]
            start = record.content.index(text)
            rows.append(
                Claim(
                    store=self.store, number=n + 1, uuid=uuid.uuid4(), document=document, record=record,
                    claim_text=text, digest=_digest(text), source_span=text, char_start=start,
                    char_end=start + len(text), spans=[[start, start + len(text)]],
                    asserted_at=datetime(2020, 1, 1, tzinfo=UTC) + timedelta(hours=n), created_at=self.now,
                    ingested_at=self.now,
                )
            )  # fmt: skip
            mentions.append(
                Mention(
                    store=self.store, entity=entities[n % len(entities)], record=record, char_start=start,
                    char_end=start + len(text), created_at=self.now,
                )
            )  # fmt: skip
        Claim.objects.bulk_create(rows, batch_size=BATCH)
        Mention.objects.bulk_create(mentions, batch_size=BATCH)
        return rows

    def _write_facts(self, entities: list[Entity], claims: list[Claim]) -> list[Fact]:
        rows, evidence = [], []
        for n in range(self.facts):
            subject = entities[0] if n < HUB_FACTS else entities[1] if n < HUB_FACTS + SIDES else None
            subject = subject or self.choose.choice(entities)
            is_relation = n % 5 < 2 and subject is not entities[1]
            begins = datetime(2000 + n % 24, 1, 1, tzinfo=UTC)
            own: dict[str, Any] = {"kind": "observation", "statement": self.texts.sentence(12)}
            if is_relation:
                own = {"kind": "relation", "predicate": "located_in", "object": self.choose.choice(entities)}
            rows.append(
                Fact(
                    store=self.store, number=n + 1, uuid=uuid.uuid4(), subject=subject, ingested_at=self.now,
                    window_since=self.now, created_at=self.now, **own, **_window(n, begins),
                )
            )  # fmt: skip
        Fact.objects.bulk_create(rows, batch_size=BATCH)
        for n, fact in enumerate(rows):
            for k in range(1 + n % 3):
                claim = claims[(n * 7 + k * 1009) % len(claims)]
                stance = "contradicts" if k == 2 else "supports"
                evidence.append(
                    FactEvidence(
                        store=self.store, fact=fact, claim=claim, stance=stance, attached_at=self.now
                    )
                )
        FactEvidence.objects.bulk_create(evidence, batch_size=BATCH)
        group = ContradictionGroup.objects.create(store=self.store, uuid=uuid.uuid4(), created_at=self.now)
        self.group = str(group.uuid)
        ContradictionMember.objects.bulk_create(
            ContradictionMember(store=self.store, group=group, fact=fact, joined_at=self.now)
            for fact in rows[HUB_FACTS : HUB_FACTS + SIDES]
        )
        return rows

    def hydration(self) -> dict[str, Any]:
        """How long 256 rows take to be read and confirmed, in this process."""
        scope = Current(evaluated_at=timezone.now())
        claims = list(Claim.objects.filter(store=self.store).values_list("pk", flat=True))
        facts = list(Fact.objects.filter(store=self.store).values_list("pk", flat=True))

        def read_claims() -> None:
            Testimony(self.store, scope).fetch_claims(self.choose.sample(claims, HYDRATED))

        def read_facts() -> None:
            Facts(self.store, FactScope(scope)).fetch(self.choose.sample(facts, HYDRATED))

        return {"hydrate_claims_p95_ms": _p95(read_claims), "hydrate_facts_p95_ms": _p95(read_facts)}


def _p95(read: Any) -> float:
    spent = []
    for _ in range(TURNS):
        with snapshot():
            started = time.perf_counter()
            read()
            spent.append(1000 * (time.perf_counter() - started))
    return round(quantiles(spent, n=20)[18], 1)


def _window(n: int, begins: datetime) -> dict[str, Any]:
    """One in four undated, one ended, two open."""
    if n % 4 == 0:
        return {}
    if n % 4 == 1:
        ends = begins.replace(year=begins.year + 1)
        return {"valid_from": begins, "valid_until": ends, "valid_precision": "year"}
    return {"valid_from": begins, "valid_precision": "open"}


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
