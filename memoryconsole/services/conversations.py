"""The documents that nobody sent: a session is one, and so is all that one source said outside of sessions.

Claims taken from their records count as one source (contract: context-bundle A.1; decisions 19).
"""

import hashlib
import uuid
from collections.abc import Collection, Iterable
from datetime import datetime

from django.db.models import QuerySet

from memoryconsole.models import Document, DocumentVersion, Record, Session, Store, StoreCounter
from memoryconsole.models.documents import CONVERSATION, Origin
from memoryconsole.models.graph import KeyDigest, digest_of_key
from memoryconsole.services.numbering import take_numbers

# (source type, source id) of records that are in no session.
Source = tuple[str, str]

# A conversation's version has no text of its own.
_NO_TEXT = hashlib.sha256(b"").digest()


def open_session_documents(
    store: Store, counter: StoreCounter, sessions: Iterable[Session], *, now: datetime
) -> None:
    """Make the documents of sessions that were just made. Call holding the store's counter."""
    _open(
        store,
        counter,
        [
            _conversation(store, f"session:{session.session_id}", session=session, now=now)
            for session in sessions
        ],
    )


def open_source_documents(
    store: Store, counter: StoreCounter, sources: Collection[Source], *, now: datetime
) -> None:
    """Make the documents of those sources that have none yet. One statement where all have; none for no sources.

    Call holding the store's counter.
    """
    if not sources:
        return
    known = set(_of_sources(store, sources).values_list("source_type", "source_id"))
    _open(
        store,
        counter,
        [_of_source(store, source, now=now) for source in sorted(set(sources) - known)],
    )


def conversation_of(store: Store, counter: StoreCounter, record: Record, *, now: datetime) -> Document:
    """The document of a record that is no passage; made where rows were written without (one that restores does so).

    Call holding the store's counter.
    """
    rows = Document.objects.filter(store=store, source_kind=CONVERSATION, session=record.session)
    if record.session is None:
        rows = _of_sources(store, [(record.source_type, record.source_id)])
    found = rows.first()
    if found is not None:
        return found
    if record.session is not None:
        open_session_documents(store, counter, [record.session], now=now)
    else:
        open_source_documents(store, counter, [(record.source_type, record.source_id)], now=now)
    return rows.get()


def records_of(document: Document) -> "QuerySet[Record]":
    """The live records of a conversation."""
    rows = Record.objects.live().filter(store=document.store_id, session=document.session_id)
    if document.session_id is not None:
        return rows
    return rows.filter(passage=None, source_type=document.source_type, source_id=document.source_id)


def _of_sources(store: Store, sources: Iterable[Source]) -> "QuerySet[Document]":
    """Found by the index that holds digests of ids."""
    wanted = list(sources)
    return (
        Document.objects.filter(store=store, source_kind=CONVERSATION, session=None)
        .alias(source_digest=KeyDigest("source_id"))
        .filter(
            source_type__in={kind for kind, _ in wanted},
            source_digest__in=sorted({digest_of_key(name) for _, name in wanted}),
        )
    )


def _of_source(store: Store, source: Source, *, now: datetime) -> Document:
    kind, name = source
    document = _conversation(store, f"source:{kind}:{name}", session=None, now=now)
    document.source_type, document.source_id = source
    return document


def _conversation(store: Store, ref: str, *, session: Session | None, now: datetime) -> Document:
    return Document(
        store=store,
        uuid=uuid.uuid4(),
        source_kind=CONVERSATION,
        source_ref=ref,
        origin=Origin.SYSTEM_GENERATED,
        session=session,
        created_at=now,
    )


def _open(store: Store, counter: StoreCounter, documents: list[Document]) -> None:
    """Number the documents and insert them, each with its one version."""
    if not documents:
        return
    for document, number in zip(documents, take_numbers(counter, "document", len(documents)), strict=True):
        document.number = number
    Document.objects.bulk_create(documents)
    DocumentVersion.objects.bulk_create(
        DocumentVersion(
            store=store,
            document=document,
            uuid=uuid.uuid4(),
            representation_uuid=uuid.uuid4(),
            version_no=1,
            digest=_NO_TEXT,
            created_at=document.created_at,
        )
        for document in documents
    )
    counter.save(update_fields=["document"])
