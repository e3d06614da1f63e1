"""A store with entities and testimony to declare facts from, made below the services that are not under test."""

import hashlib
import itertools
import uuid

from django.db import transaction
from django.utils import timezone

from memoryconsole.folding import declared_key, resolve_key
from memoryconsole.models import (
    Claim,
    Decision,
    Document,
    DocumentVersion,
    Entity,
    Fact,
    Mention,
    Passage,
    Record,
    StoreCounter,
)
from memoryconsole.services.facts.transcript import Decider
from memoryconsole.services.numbering import lock_counter
from memoryconsole.services.settling import settle
from tests.conftest import url


def digest(text):
    return hashlib.sha256(text.encode()).digest()


class World:
    """Rows are numbered as they are made. `api`: a client that may write in the store."""

    def __init__(self, store, api=None):
        self.store = store
        self.api = api
        self.numbers = itertools.count(1)
        self.by = Decider("auto", {"user": 1})

    def entity(self, name, **columns):
        number = next(self.numbers)
        return Entity.objects.create(
            store=self.store, number=number, uuid=uuid.uuid4(), name=name, declared_key=declared_key(name),
            resolve_key=resolve_key(name), created_at=timezone.now(), **columns,
        )  # fmt: skip

    def merge(self, absorbed, survivor):
        Entity.objects.filter(pk=absorbed.pk).update(status="merged", merged_into=survivor)

    def document(self, text="The ferry log.", **columns):
        number, now = next(self.numbers), timezone.now()
        document = Document.objects.create(
            store=self.store, number=number, uuid=uuid.uuid4(), source_kind="file", source_ref=f"file:{number}",
            title="a file", created_at=now, **columns,
        )  # fmt: skip
        version = DocumentVersion.objects.create(
            store=self.store, document=document, uuid=uuid.uuid4(), representation_uuid=uuid.uuid4(),
            version_no=1, text=text, digest=digest(text), created_at=now,
        )  # fmt: skip
        record = self.record(text)
        Passage.objects.create(
            record=record, store=self.store, version=version, ordinal=0, char_start=0, char_end=len(text)
        )
        return document

    def record(self, text):
        now = timezone.now()
        return Record.objects.create(
            store=self.store, number=next(self.numbers), uuid=uuid.uuid4(), content=text, digest=digest(text),
            created_at=now, believed_at=now,
        )  # fmt: skip

    def claim(self, document=None, *, text="The ferry log.", mentions=(), **columns):
        """A claim whose words are the whole document's. `mentions`: entities, or (entity, start, end)."""
        document = document or self.document()
        number, now = next(self.numbers), timezone.now()
        record = Record.objects.get(passage__version__document=document)
        span = record.content
        claim = Claim.objects.create(
            store=self.store, number=number, uuid=uuid.uuid4(), document=document, record=record,
            claim_text=text, digest=digest(text), source_span=span, char_start=0, char_end=len(span),
            spans=[[0, len(span)]], created_at=now, ingested_at=now, **columns,
        )  # fmt: skip
        for mention in mentions:
            entity, *place = mention if isinstance(mention, tuple) else (mention,)
            start, end = place or (None, None)
            Mention.objects.create(
                store=self.store, entity=entity, record=record, char_start=start, char_end=end, created_at=now
            )
        return claim

    def set_current(self, *claims, current):
        """Change claims' currency as processing does."""
        self.change("processing", claims, is_current=current)

    def change(self, cause, claims, **columns):
        """Change claims in one transaction and settle."""
        with transaction.atomic():
            counter = lock_counter(self.store)
            Claim.objects.filter(pk__in=[claim.pk for claim in claims]).update(**columns)
            settle(self.store, counter, [c.pk for c in claims], cause=cause, now=timezone.now())

    def forget(self, *claims):
        """Hide the records of claims, as deleting them does: all claims that were taken from them go too."""
        with transaction.atomic():
            counter = lock_counter(self.store)
            gone = Claim.objects.filter(record__in={claim.record_id for claim in claims})
            Record.objects.filter(claims__in=gone).update(deleted_at=timezone.now())
            keys = list(gone.values_list("pk", flat=True))
            settle(self.store, counter, keys, cause="source", now=timezone.now())

    # What goes through the API.

    def post(self, tail, body, *, status=None, **headers):
        answer = self.api.post(url(self.store, tail), body, format="json", **headers)
        if status is not None:
            assert answer.status_code == status, answer.content
        return answer

    def observe(self, subject, statement, *claims, status=201, **members):
        """Declare an observation on claims in support; answers the fact."""
        body = {
            "kind": "observation",
            "subject_id": str(subject.uuid),
            "statement": statement,
            "evidence": [supports(claim) for claim in claims],
            **members,
        }
        return self.fact(self.post("/facts", body, status=status).json())

    def relate(self, subject, predicate, object_, *claims, status=201, **members):
        body = {
            "kind": "relation",
            "subject_id": str(subject.uuid),
            "predicate": predicate,
            "object_id": str(object_.uuid),
            "evidence": [supports(claim) for claim in claims],
            **members,
        }
        return self.fact(self.post("/facts", body, status=status).json())

    def fact(self, body):
        return Fact.objects.get(store=self.store, kind=body["kind"], uuid=body["id"])

    def command(self, fact, name, body, *, status=200, **headers):
        return self.post(f"{address(fact)}/{name}", body, status=status, **headers)

    def read(self, fact, *, status=200):
        answer = self.api.get(url(self.store, address(fact)))
        assert answer.status_code == status, answer.content
        return answer.json()

    def group(self, *facts, status=201, **members):
        return self.post(
            "/contradictions", {"members": [ref(fact) for fact in facts], **members}, status=status
        )

    def read_group(self, group):
        return self.api.get(url(self.store, f"/contradictions/{group}")).json()

    def transcript(self, fact):
        rows = Decision.objects.filter(store=self.store, subject_kind=fact.kind, subject_uuid=fact.uuid)
        return list(rows.order_by("id"))

    def outcomes(self, fact):
        return [row.outcome for row in self.transcript(fact)]


def supports(claim):
    return {"claim_id": str(claim.uuid), "stance": "supports"}


def contradicts(claim):
    return {"claim_id": str(claim.uuid), "stance": "contradicts"}


def ref(fact):
    return {"kind": fact.kind, "id": str(fact.uuid)}


def address(fact):
    return f"/facts/{fact.kind}/{fact.uuid}"


def state(store):
    """What no refused command may change."""
    counter = StoreCounter.objects.get(store=store)
    facts = list(Fact.objects.filter(store=store).order_by("pk").values())
    return facts, Decision.objects.filter(store=store).count(), counter.fact, counter.belief_at
