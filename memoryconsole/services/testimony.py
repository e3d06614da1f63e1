"""Claims are declared, and cease to be current or are current again: commands of people and agents, checked here.

What can be checked is: that the words stand there, verbatim, in a passage that is live and current, and that the
window has a shape (contract: context-bundle A.2, M.2).
"""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any

from django.db import transaction
from django.db.models import Exists, Q

from memoryconsole import search
from memoryconsole.declarations import RowRef
from memoryconsole.errors import Fault, InvalidParameter, NotFound, StaleResource, StateConflict
from memoryconsole.models import (
    Claim,
    ClaimCurrency,
    ClaimOccurrence,
    Document,
    Entity,
    Mention,
    Passage,
    Record,
    Store,
    StoreCounter,
    User,
)
from memoryconsole.models.graph import EntityStatus
from memoryconsole.models.testimony import ClaimKind, CurrencyReason
from memoryconsole.services.conversations import conversation_of, records_of
from memoryconsole.services.currency import change_currency
from memoryconsole.services.declare import DeclaredBy
from memoryconsole.services.facts.transcript import Decider
from memoryconsole.services.indexing import embed_later, language_changed
from memoryconsole.services.ingest import digest_of
from memoryconsole.services.numbering import lock_counter, take_beliefs, take_numbers
from memoryconsole.services.standing import current_records, is_said
from memoryconsole.spans import Span, moved, places_of
from memoryconsole.windows import UNKNOWN, Window

# A quote that stands in more places than these is told of as 'often'.
_COUNTED = 100


@dataclass(frozen=True, slots=True)
class NewMention:
    """The claim is about an entity. `span`: where, in the representation; None: at the claim's own first span."""

    entity: uuid.UUID
    span: Span | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewClaim:
    """A claim as its caller gives it. The words it rests on are given by `spans`, the origin first, counted in the
    representation, or as a `quote` that stands in the chunk exactly once.

    `asserted_at` None: when the source was last modified, or the record's own instant.
    """

    chunk: uuid.UUID | RowRef
    claim_text: str
    spans: tuple[Span, ...] = ()
    quote: str = ""
    added_context: tuple[str, ...] = ()
    is_attributed: bool = False
    asserted_at: datetime | None = None
    window: Window = UNKNOWN
    valid_kind: ClaimKind | None = None
    mentions: tuple[NewMention, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class StoredClaim:
    """`created`: it is new. `restored`: it was there, was not current, and is again."""

    claim: Claim
    created: bool
    restored: bool = False


def declare_claim(
    store: Store,
    new: NewClaim,
    *,
    declared_by: DeclaredBy,
    decider: Decider,
    by: User | None = None,
    now: datetime,
) -> StoredClaim:
    """Store what a source says, or find it: the same text on the same words of the same document is one claim.

    Then the new place becomes one of its occurrences, and a claim that was not current is so again. Its other members
    stay as they were first declared; mentions are added.

    Raises InvalidParameter, with the member at fault, and StateConflict for a chunk that a newer version replaced.
    """
    # Words and vector are made of the chunk as it is before the lock: whoever changed it meanwhile is rare.
    expected = _expected(store, _place(store, new), new, declared_by, now=now)
    foreseen = search.foresee(store, [expected])
    with transaction.atomic():
        counter = lock_counter(store)
        place = _place(store, new)
        record, passage, spans, offset = place.record, place.passage, place.spans, place.offset
        document = (
            passage.version.document
            if passage is not None
            else conversation_of(store, counter, record, now=now)
        )
        _check_context(new.added_context, document, passage)
        mentions = _mentions(store, new, record, spans[0], offset)
        claim = _same(store, new.claim_text, place.words, record, passage)
        created, restored = claim is None, False
        if claim is None:
            claim = _expected(store, place, new, declared_by, now=now)
            claim.document = document
            _insert(store, counter, claim, foreseen, by=by, now=now)
        else:
            restored = _again(store, counter, claim, record, spans, decider=decider, now=now)
        for mention in mentions:
            mention.declared_by, mention.created_at = declared_by, now
        Mention.objects.bulk_create(mentions, ignore_conflicts=True)
        return StoredClaim(claim, created, restored)


def set_currency(
    store: Store,
    claim_id: uuid.UUID,
    *,
    current: bool,
    reason: CurrencyReason,
    if_version: int | None = None,
    decider: Decider,
    now: datetime,
) -> tuple[Claim, bool, int]:
    """Say that a claim is current testimony, or is not: (the claim, whether that was news, its ledger's length).

    What our reading of a source takes away is `withdrawn` from facts, never retracted. Raises NotFound; StaleResource
    when the ledger is not `if_version` rows long; StateConflict where no current text of the source has the words.
    """
    with transaction.atomic():
        counter = lock_counter(store)
        claim = Claim.objects.filter(store=store, uuid=claim_id, record__deleted_at=None).first()
        if claim is None:
            raise NotFound("No such claim")
        version = ClaimCurrency.objects.filter(store=store, claim=claim).count()
        if if_version is not None and version != if_version:
            raise StaleResource(f"The claim's ledger has {version} rows")
        if claim.is_current == current:
            return claim, False, version
        if current and not is_said(store, claim, now=now):
            raise StateConflict("The source's current version does not hold the claim's words")
        change_currency(
            store,
            counter,
            [claim],
            current=current,
            reason=reason,
            cause="processing",
            decider=decider,
            now=now,
        )
        return claim, True, version + 1


def _refusal(pointer: str, code: str, message: str) -> InvalidParameter:
    return InvalidParameter.of(Fault(pointer, code, message))


def _chunk(store: Store, chunk: uuid.UUID | RowRef) -> tuple[Record, Passage | None]:
    """The record, and its place in a document when it is a passage. Raises InvalidParameter, StateConflict."""
    named = {"number": chunk.number} if isinstance(chunk, RowRef) else {"uuid": chunk}
    rows = Record.objects.live().select_related("session", "passage__version__document")
    record = rows.defer("passage__version__text").filter(store=store, **named).first()
    passage = getattr(record, "passage", None)
    if record is None or (passage is not None and passage.version.document.deleted_at is not None):
        raise _refusal("/chunk_id", "unknown", "No such message or passage.")
    if not current_records(store).filter(pk=record.pk).exists():
        raise StateConflict("A newer version replaced this chunk")
    return record, passage


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a claim stands. `spans` count in the representation, in which the record's text begins at `offset`."""

    record: Record
    passage: Passage | None
    spans: list[Span]
    offset: int

    @property
    def words(self) -> str:
        """Those at the claim's origin."""
        start, end = self.spans[0]
        return self.record.content[start - self.offset : end - self.offset]


def _place(store: Store, new: NewClaim) -> _Place:
    """Raises InvalidParameter, StateConflict."""
    record, passage = _chunk(store, new.chunk)
    offset = passage.char_start if passage is not None else 0
    return _Place(record, passage, _spans(new, record.content, offset), offset)


def _spans(new: NewClaim, content: str, offset: int) -> list[Span]:
    """The claim's spans, counted in the representation, found to be inside the chunk."""
    if new.quote:
        found = list(islice(places_of(new.quote, content), _COUNTED))
        if not found:
            raise _refusal("/quote", "not_found", "Does not stand in the chunk, letter by letter.")
        if len(found) > 1:
            often = str(len(found)) if len(found) < _COUNTED else "many"
            raise _refusal("/quote", "ambiguous", f"Stands in the chunk {often} times: give spans.")
        return moved([(found[0], found[0] + len(new.quote))], offset)
    edge = offset + len(content)
    for place, (start, end) in enumerate(new.spans):
        if not offset <= start < end <= edge:
            raise _refusal(
                f"/spans/{place}", "outside", f"Is not inside the chunk, which is [{offset}, {edge})."
            )
        if not content[start - offset : end - offset].strip():
            raise _refusal(f"/spans/{place}", "blank", "Only blanks stand there.")
    return list(new.spans)


def _check_context(words: Sequence[str], document: Document, passage: Passage | None) -> None:
    """What was added to a claim from elsewhere stands in the same document: in the passage's version, or in a live
    record of the same conversation (one statement). Raises InvalidParameter.
    """
    if not words:
        return
    if passage is not None:
        text = passage.version.text
        stands = [each in text for each in words]
    else:
        rows = records_of(document)
        asked = {f"c{place}": Exists(rows.filter(content__contains=each)) for place, each in enumerate(words)}
        row: Any = Document.objects.filter(pk=document.pk).values(**asked).get()
        stands = [row[name] for name in asked]
    for place, there in enumerate(stands):
        if not there:
            raise _refusal(f"/added_context/{place}", "not_found", "Does not stand in the claim's document.")


def _mentions(store: Store, new: NewClaim, record: Record, own: Span, offset: int) -> list[Mention]:
    """The mentions that come with a claim, unsaved (one statement). Raises InvalidParameter."""
    if not new.mentions:
        return []
    wanted = {mention.entity for mention in new.mentions}
    active = Entity.objects.filter(store=store, uuid__in=wanted, status=EntityStatus.ACTIVE).only(
        "pk", "uuid"
    )
    found = {entity.uuid: entity for entity in active}
    rows = []
    for place, mention in enumerate(new.mentions):
        entity = found.get(mention.entity)
        if entity is None:
            raise _refusal(
                f"/mentions/{place}/entity_id", "unknown", "No such entity, or it was merged away."
            )
        start, end = mention.span or own
        if not offset <= start < end <= offset + len(record.content):
            raise _refusal(f"/mentions/{place}", "outside", "Is not inside the chunk.")
        rows.append(
            Mention(
                store=store, entity=entity, record=record, char_start=start - offset, char_end=end - offset
            )
        )
    return rows


def _same(store: Store, text: str, words: str, record: Record, passage: Passage | None) -> Claim | None:
    """The claim that says this already: of a passage in its whole document, of a message in its versions."""
    claims = Claim.objects.filter(
        store=store, record__deleted_at=None, digest=digest_of(text), source_span=words
    )
    if passage is not None:
        return claims.filter(document=passage.version.document_id).order_by("number").first()
    versions = Q(record=record)
    if record.message_id:
        # By key, so that each index is used: the message's versions, then the claims of each.
        others = Record.objects.live().filter(
            store=store, project_id=record.project_id, message_id=record.message_id
        )
        versions |= Q(record__in=list(others.values_list("pk", flat=True)))
    return claims.filter(versions).order_by("number").first()


def _expected(store: Store, place: _Place, new: NewClaim, declared_by: DeclaredBy, *, now: datetime) -> Claim:
    """All of a new claim but its document, its number and its instant of belief."""
    passage, spans = place.passage, place.spans
    said_at = passage.version.source_modified_at if passage is not None else place.record.instant
    return Claim(
        store=store,
        uuid=uuid.uuid4(),
        record=place.record,
        claim_text=new.claim_text,
        digest=digest_of(new.claim_text),
        source_span=place.words,
        char_start=spans[0][0],
        char_end=spans[0][1],
        spans=[list(span) for span in spans],
        added_context=list(new.added_context),
        is_attributed=new.is_attributed,
        asserted_at=new.asserted_at or said_at,
        valid_from=new.window.valid_from,
        valid_until=new.window.valid_until,
        valid_precision=new.window.precision,
        valid_kind=new.valid_kind,
        declared_by=declared_by,
        created_at=now,
    )


def _insert(
    store: Store,
    counter: StoreCounter,
    claim: Claim,
    foreseen: search.Foreseen,
    *,
    by: User | None,
    now: datetime,
) -> None:
    (claim.number,) = take_numbers(counter, "claim", 1)
    (claim.ingested_at,) = take_beliefs(counter, 1, now=now)
    counter.save(update_fields=["claim", "belief_at"])
    claim.save(force_insert=True)
    language_changed(store)
    if search.index(store, claims=[claim], foreseen=foreseen, now=now).owed:
        embed_later(store, by=by, now=now)


def _again(
    store: Store,
    counter: StoreCounter,
    claim: Claim,
    record: Record,
    spans: Iterable[Span],
    *,
    decider: Decider,
    now: datetime,
) -> bool:
    """A claim is declared that is there: note where it stands now. Whether it is current again."""
    if claim.record_id != record.pk:
        ClaimOccurrence.objects.get_or_create(
            store=store,
            claim=claim,
            record=record,
            defaults={"spans": [list(span) for span in spans], "created_at": now},
        )
    if claim.is_current:
        return False
    change_currency(
        store,
        counter,
        [claim],
        current=True,
        reason=CurrencyReason.REVIEW_RESTORED,
        cause="processing",
        decider=decider,
        now=now,
    )
    return True
