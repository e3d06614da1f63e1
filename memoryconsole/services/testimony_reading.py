"""Documents, passages and claims as lists and their own routes show them: an operator's view, not the read contract."""

import uuid
from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery

from memoryconsole.declarations import RowRef
from memoryconsole.errors import NotFound
from memoryconsole.models import (
    Claim,
    ClaimCurrency,
    ClaimOccurrence,
    Document,
    DocumentVersion,
    FactEvidence,
    Passage,
    Record,
    Store,
)
from memoryconsole.models.documents import CONVERSATION
from memoryconsole.models.graph import KeyDigest, digest_of_key
from memoryconsole.services.conversations import records_of
from memoryconsole.services.standing import current_records
from memoryconsole.snapshot import snapshot
from memoryconsole.times import write_stamp

# A page's worth of each thing that hangs on one document or claim; counts say when there are more.
SHOWN = 100


def documents_of(store: Store, query: dict[str, Any]) -> "QuerySet[Document]":
    """The store's live documents that a list's filters leave, each with its `current_no`."""
    rows = Document.objects.filter(store=store, deleted_at=None).select_related("session")
    for name in ("source_kind", "project_id", "channel"):
        if name in query:
            rows = rows.filter(**{name: query[name]})
    if "source_ref" in query:
        digest = digest_of_key(query["source_ref"])
        rows = rows.alias(ref_digest=KeyDigest("source_ref")).filter(ref_digest=digest)
    current = DocumentVersion.objects.filter(document=OuterRef("pk"), superseded_at=None, deleted_at=None)
    return rows.annotate(current_no=Subquery(current.values("version_no")[:1]))


def document_shape(document: Any) -> dict[str, Any]:
    """A document of `documents_of`. `version`: the number of its current version."""
    return {
        "id": str(document.uuid),
        "source_kind": document.source_kind,
        "source_ref": document.source_ref,
        "title": document.title,
        "versioning_mode": document.versioning_mode,
        "origin": document.origin,
        "project_id": document.project_id,
        "channel": document.channel,
        "session_id": document.session.session_id if document.session else "",
        "version": document.current_no,
        "created_at": write_stamp(document.created_at),
    }


def document_details(store: Store, document: uuid.UUID) -> tuple[dict[str, Any], int]:
    """A document with its versions, newest first, and how many claims were taken from it; and its row version.

    Raises NotFound.
    """
    with snapshot():
        row = documents_of(store, {}).filter(uuid=document).first()
        if row is None:
            raise NotFound("No such document")
        versions = row.versions.defer("text")
        shown = versions.annotate(passage_count=Count("passages")).order_by("-version_no")[:SHOWN]
        claims = Claim.objects.filter(store=store, document=row, record__deleted_at=None)
        return document_shape(row) | {
            "versions": [_version_shape(version) for version in shown],
            "version_count": versions.count(),
            "claim_count": claims.count(),
            "current_claim_count": claims.filter(is_current=True).count(),
        }, row.row_version


def _version_shape(version: Any) -> dict[str, Any]:
    return {
        "id": str(version.uuid),
        "representation_id": str(version.representation_uuid),
        "version": version.version_no,
        "status": version.status,
        "source_modified_at": _stamp(version.source_modified_at),
        "published_at": _stamp(version.published_at),
        "passages": version.passage_count,
        "created_at": write_stamp(version.created_at),
        "superseded_at": _stamp(version.superseded_at),
    }


def passages_of(
    store: Store, document: uuid.UUID, version: int | None
) -> "tuple[QuerySet[Any], str, Callable[[Any], dict[str, Any]]]":
    """The passages of a document's version (None: the current one), the order they are listed in, and how each is
    shown. A conversation's are its live records. Raises NotFound.
    """
    row: Any = documents_of(store, {}).filter(uuid=document).first()
    if row is None:
        raise NotFound("No such document")
    if row.source_kind == CONVERSATION and version in (None, 1):
        return records_of(row), "+number", _record_shape
    number = version if version is not None else row.current_no
    found = Passage.objects.filter(store=store, version__document=row, version__version_no=number)
    if not DocumentVersion.objects.filter(store=store, document=row, version_no=number).exists():
        raise NotFound("No such version")
    return found.filter(record__deleted_at=None).select_related("record"), "+ordinal", _passage_shape


def _passage_shape(passage: Passage) -> dict[str, Any]:
    return {
        "chunk_id": str(passage.record.uuid),
        "ref": passage.record.ref,
        "ordinal": passage.ordinal,
        "start": passage.char_start,
        "end": passage.char_end,
        "section_role": passage.section_role,
        "heading": passage.heading,
        "content": passage.record.content,
    }


def _record_shape(record: Record) -> dict[str, Any]:
    """A conversation's record, which is a representation of its own."""
    return {
        "chunk_id": str(record.uuid),
        "ref": record.ref,
        "ordinal": None,
        "start": 0,
        "end": len(record.content),
        "section_role": "body",
        "heading": [],
        "content": record.content,
    }


def claims_of(store: Store, query: dict[str, Any]) -> "QuerySet[Claim]":
    """The store's visible claims that a list's filters leave: `document`, `chunk` (its origin), `current`."""
    rows = _visible(store)
    if "document" in query:
        rows = rows.filter(document__uuid=query["document"])
    chunk = query.get("chunk")
    if isinstance(chunk, RowRef):
        rows = rows.filter(record__number=chunk.number, record__store=store)
    elif chunk is not None:
        rows = rows.filter(record__uuid=chunk, record__store=store)
    if "current" in query:
        rows = rows.filter(is_current=query["current"])
    return rows


def _visible(store: Store) -> "QuerySet[Claim]":
    """Claims with what their shape needs, without the texts they were taken from."""
    rows = Claim.objects.filter(store=store, record__deleted_at=None)
    return rows.select_related("document", "record__passage__version").defer(
        "record__content", "record__passage__version__text"
    )


def claim_shape(claim: Claim) -> dict[str, Any]:
    """A claim of `claims_of`. Spans count in the representation, which is the record itself for a message."""
    return {
        "id": str(claim.uuid),
        "document_id": str(claim.document.uuid),
        "chunk_id": str(claim.record.uuid),
        "ref": claim.record.ref,
        "representation_id": _representation(claim.record),
        "claim_text": claim.claim_text,
        "source_span": claim.source_span,
        "spans": _spans(claim.spans),
        "added_context": claim.added_context,
        "is_attributed": claim.is_attributed,
        "asserted_at": _stamp(claim.asserted_at),
        "window": {
            "from": _stamp(claim.valid_from),
            "until": _stamp(claim.valid_until),
            "precision": claim.valid_precision,
        },
        "valid_kind": claim.valid_kind,
        "current": claim.is_current,
        "declared_by": claim.declared_by,
        "created_at": write_stamp(claim.created_at),
    }


def claim_details(store: Store, claim_id: uuid.UUID) -> tuple[dict[str, Any], int]:
    """A claim with its ledger, where else it stands, and the facts it is evidence of; and how long the ledger is.

    Raises NotFound.
    """
    with snapshot():
        claim = _visible(store).filter(uuid=claim_id).first()
        if claim is None:
            raise NotFound("No such claim")
        ledger = ClaimCurrency.objects.filter(store=store, claim=claim)
        occurrences = ClaimOccurrence.objects.filter(store=store, claim=claim, record__deleted_at=None)
        evidence = FactEvidence.objects.filter(store=store, claim=claim)
        counts = {"currency_count": ledger.count(), "occurrence_count": occurrences.count(),
                  "evidence_count": evidence.count()}  # fmt: skip
        newest = list(ledger.order_by("-id")[:SHOWN])
        return claim_shape(claim) | counts | {
            "currency": [_ledger_shape(row) for row in reversed(newest)],
            "occurrences": _occurrence_shapes(store, occurrences),
            "evidence": [
                {
                    "kind": link.fact.kind,
                    "id": str(link.fact.uuid),
                    "stance": link.stance,
                    "held": link.fact.invalidated_at is None,
                    "attached_at": write_stamp(link.attached_at),
                }
                for link in evidence.select_related("fact").order_by("-fact__number")[:SHOWN]
            ],
        }, counts["currency_count"]


def _ledger_shape(row: ClaimCurrency) -> dict[str, Any]:
    return {
        "current": row.current,
        "reason": row.reason,
        "decided_by": row.decided_by,
        "decided_at": write_stamp(row.decided_at),
    }


def _occurrence_shapes(store: Store, rows: "QuerySet[ClaimOccurrence]") -> list[dict[str, Any]]:
    """The newest places that say the claim beside its origin, each with whether its text is current."""
    joined = rows.select_related("record__passage__version").defer(
        "record__content", "record__passage__version__text"
    )
    shown = list(joined.order_by("-id")[:SHOWN])
    live = current_records(store).filter(pk__in=[row.record_id for row in shown])
    current = set(live.values_list("pk", flat=True))
    return [
        {
            "chunk_id": str(row.record.uuid),
            "ref": row.record.ref,
            "representation_id": _representation(row.record),
            "spans": _spans(row.spans),
            "current": row.record_id in current,
        }
        for row in shown
    ]


def _representation(record: Record) -> str:
    passage = getattr(record, "passage", None)
    return str(passage.version.representation_uuid if passage is not None else record.uuid)


def _spans(stored: Sequence[Sequence[int]]) -> list[dict[str, int]]:
    return [{"start": start, "end": end} for start, end in stored]


def _stamp(instant: Any) -> str | None:
    return write_stamp(instant) if instant is not None else None
