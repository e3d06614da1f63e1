"""Documents come in: versions of a source, divided into passages that are records (context-bundle A.1, M.2)."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction

from memoryconsole import search
from memoryconsole.errors import Fault, InvalidParameter, NotFound, StaleResource
from memoryconsole.models import Document, DocumentVersion, Passage, Record, Store, StoreCounter, User
from memoryconsole.models.documents import CONVERSATION, VersioningMode
from memoryconsole.models.graph import KeyDigest, digest_of_key
from memoryconsole.models.records import MAX_TEXT_CHARS
from memoryconsole.passages import PassageSpan, divide_document
from memoryconsole.services.following import Followed, follow_document
from memoryconsole.services.indexing import language_changed
from memoryconsole.services.ingest import digest_of, insert_records
from memoryconsole.services.numbering import lock_counter, take_beliefs, take_numbers

# As long as a payload: 250,000 tokens, four times as many bytes at most, which a body of default size holds.
MAX_DOCUMENT_CHARS = 1_000_000
# A document of that length and of ordinary paragraphs has 700. This many are written in seconds under the store's
# lock; more come of a list that was written as headings.
MAX_PASSAGES = 5_000
# Rows of one INSERT.
_BATCH = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVersion:
    """A text as its source gives it now."""

    text: str
    source_modified_at: datetime | None = None
    published_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDocument:
    """A source with its text. `title`, `versioning_mode` None: as they are, or the default of a new document.

    `project_id` and `channel` are handed down to the passages, so they are a document's own for good.
    """

    source_kind: str
    source_ref: str
    version: NewVersion
    title: str | None = None
    versioning_mode: VersioningMode | None = None
    project_id: str | None = None
    channel: str | None = None


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """What became of a text: its document and version, whether it is a new one, how many passages it has, and what
    it did to the claims of the version before.
    """

    document: Document
    version: DocumentVersion
    created: bool
    passages: int
    followed: Followed = field(default_factory=Followed)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What a text comes to, made before the store's counter is locked."""

    spans: list[PassageSpan]
    records: list[Record]
    analysis: search.Analysis


def ingest_document(
    store: Store, new: NewDocument, *, by: User | None = None, now: datetime
) -> StoredVersion:
    """Store a source's text: a new document, or a new version of the one that has this kind and ref.

    The same text as the latest version's is that version. Raises InvalidParameter: for a text that has too many
    sections, or a project or channel other than the document's.
    """
    return _store(
        store,
        lambda: _by_source(store, new),
        new.version,
        new,
        if_version=None,
        by=by,
        now=now,
    )


def add_version(
    store: Store,
    document: uuid.UUID,
    new: NewVersion,
    *,
    if_version: int | None = None,
    by: User | None = None,
    now: datetime,
) -> StoredVersion:
    """Store a newer text of a document, as `ingest_document` does.

    Raises NotFound, StaleResource when the document is not at `if_version`, InvalidParameter for a conversation,
    whose texts are its records.
    """
    return _store(
        store,
        lambda: _by_uuid(store, document),
        new,
        None,
        if_version=if_version,
        by=by,
        now=now,
    )


def _store(
    store: Store,
    find: Callable[[], Document | None],
    new: NewVersion,
    whole: NewDocument | None,
    *,
    if_version: int | None,
    by: User | None,
    now: datetime,
) -> StoredVersion:
    digest = digest_of(new.text)
    before = _latest(find())
    prepared = None if before and bytes(before.digest) == digest else _prepare(store, new.text, now=now)
    with transaction.atomic():
        counter = lock_counter(store)
        document = find()
        if document is None and whole is not None:
            document = _open(store, counter, whole, now=now)
        if document is None:
            raise NotFound("No such document")
        if if_version is not None and document.row_version != if_version:
            raise StaleResource(f"The document is at version {document.row_version}")
        changed = whole is not None and _describe(document, whole)
        before = _latest(document)
        if before is not None and bytes(before.digest) == digest:
            if changed:
                _touch(document)
            return StoredVersion(document, before, created=False, passages=before.passages.count())
        if prepared is None or language_changed(store):
            prepared = _prepare(store, new.text, now=now)
        return _write(store, counter, document, before, new, prepared, by=by, now=now)


def _by_source(store: Store, new: NewDocument) -> Document | None:
    """By the index that holds digests of both."""
    keys = {"kind_digest": digest_of_key(new.source_kind), "ref_digest": digest_of_key(new.source_ref)}
    rows = Document.objects.filter(store=store).alias(
        kind_digest=KeyDigest("source_kind"), ref_digest=KeyDigest("source_ref")
    )
    return rows.filter(**keys).first()


def _by_uuid(store: Store, document: uuid.UUID) -> Document | None:
    found = Document.objects.filter(store=store, uuid=document, deleted_at=None).first()
    if found is not None and found.source_kind == CONVERSATION:
        message = "A conversation has no versions: its texts are records."
        raise InvalidParameter.of(Fault("", "conversation", message))
    return found


def _latest(document: Document | None) -> DocumentVersion | None:
    """The document's newest version that is not deleted."""
    if document is None:
        return None
    return document.versions.filter(deleted_at=None).order_by("-version_no").defer("text").first()


def _open(store: Store, counter: StoreCounter, new: NewDocument, *, now: datetime) -> Document:
    (number,) = take_numbers(counter, "document", 1)
    counter.save(update_fields=["document"])
    return Document.objects.create(
        store=store,
        number=number,
        uuid=uuid.uuid4(),
        source_kind=new.source_kind,
        source_ref=new.source_ref,
        title=new.title or "",
        versioning_mode=new.versioning_mode or VersioningMode.SNAPSHOT,
        project_id=new.project_id or "",
        channel=new.channel or "",
        # Raised with the first version.
        row_version=0,
        created_at=now,
    )


def _describe(document: Document, new: NewDocument) -> bool:
    """Take over what the source says of itself; whether that changes anything. Raises InvalidParameter."""
    for name in ("project_id", "channel"):
        if getattr(new, name) not in (None, getattr(document, name)):
            message = "The document is in another one: its passages carry it, and do not change."
            raise InvalidParameter.of(Fault(f"/{name}", "contradiction", message))
    changed = False
    for name in ("title", "versioning_mode"):
        value = getattr(new, name)
        if value is not None and value != getattr(document, name):
            setattr(document, name, value)
            changed = True
    if document.deleted_at is not None:
        # A source that was deleted may come again (contract: A.9).
        document.deleted_at = None
        changed = True
    return changed


def _touch(document: Document) -> None:
    document.row_version += 1
    document.save(update_fields=["title", "versioning_mode", "deleted_at", "row_version"])


def _prepare(store: Store, text: str, *, now: datetime) -> _Prepared:
    spans = divide_document(text, longest=MAX_TEXT_CHARS)
    if len(spans) > MAX_PASSAGES:
        message = (
            f"Falls into {len(spans):,} passages; at most {MAX_PASSAGES:,} are taken. Divide the document."
        )
        raise InvalidParameter.of(Fault("/text", "too_many_passages", message))
    records = [_record(store, text[span.start : span.end], now=now) for span in spans]
    return _Prepared(spans, records, search.analyse(store, records))


def _record(store: Store, content: str, *, now: datetime) -> Record:
    """A passage's record: nobody's, of no time, so that it bundles with nothing by accident (decisions 20)."""
    return Record(store=store, uuid=uuid.uuid4(), content=content, digest=digest_of(content), created_at=now)


def _write(
    store: Store,
    counter: StoreCounter,
    document: Document,
    before: DocumentVersion | None,
    new: NewVersion,
    prepared: _Prepared,
    *,
    by: User | None,
    now: datetime,
) -> StoredVersion:
    records = prepared.records
    superseded_at, *beliefs = take_beliefs(counter, len(records) + 1, now=now)
    numbers = take_numbers(counter, "record", len(records))
    counter.save(update_fields=["record", "belief_at"])
    for record, number, believed_at in zip(records, numbers, beliefs, strict=True):
        record.number, record.believed_at = number, believed_at
        record.project_id, record.channel = document.project_id, document.channel
    if before is not None and before.superseded_at is None:
        before.superseded_at = superseded_at
        before.save(update_fields=["superseded_at"])
    version = _version(store, document, new, now=now)
    insert_records(store, records, analysis=prepared.analysis, by=by, now=now)
    passages = _passages(store, version, prepared.spans, records)
    _touch(document)
    followed = Followed()
    if before is not None:
        old = Passage.objects.filter(store=store, version=before)
        search.remove(store, record_ids=list(old.values_list("record", flat=True)))
        followed = follow_document(store, counter, document, before, version, passages, now=now)
    return StoredVersion(document, version, created=True, passages=len(passages), followed=followed)


def _version(store: Store, document: Document, new: NewVersion, *, now: datetime) -> DocumentVersion:
    last = document.versions.order_by("-version_no").values_list("version_no", flat=True).first()
    return DocumentVersion.objects.create(
        store=store,
        document=document,
        uuid=uuid.uuid4(),
        representation_uuid=uuid.uuid4(),
        version_no=(last or 0) + 1,
        text=new.text,
        digest=digest_of(new.text),
        source_modified_at=new.source_modified_at,
        published_at=new.published_at,
        created_at=now,
    )


def _passages(
    store: Store, version: DocumentVersion, spans: Sequence[PassageSpan], records: Sequence[Record]
) -> list[Passage]:
    rows = [
        Passage(
            record=record,
            store=store,
            version=version,
            ordinal=ordinal,
            char_start=span.start,
            char_end=span.end,
            section_role=span.role,
            heading=list(span.heading),
        )
        for ordinal, (span, record) in enumerate(zip(spans, records, strict=True))
    ]
    return Passage.objects.bulk_create(rows, batch_size=_BATCH)
