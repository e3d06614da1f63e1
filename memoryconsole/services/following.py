"""Claims follow their source: what a newer version still says stays current, what it no longer says does not.

The spans of a claim are looked for in the newer text, verbatim (contract: context-bundle M.2; decisions 19). Mentions
follow too: those of a passage whose text is the same, and those inside the spans of a claim that is found again.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memoryconsole import search
from memoryconsole.models import (
    Claim,
    ClaimOccurrence,
    Document,
    DocumentVersion,
    Passage,
    Record,
    Store,
    StoreCounter,
)
from memoryconsole.models.documents import VersioningMode
from memoryconsole.models.testimony import CurrencyReason
from memoryconsole.models.traces import pruning
from memoryconsole.services.carrying import Move, carry_mentions
from memoryconsole.services.currency import change_currency
from memoryconsole.services.settling import settle
from memoryconsole.spans import Span, find_together, moved, slices

# Rows of one INSERT.
_BATCH = 2000


@dataclass(frozen=True, slots=True)
class Followed:
    """How many claims a newer version carried, and how many it closed."""

    carried: int = 0
    closed: int = 0


def lose_claims(store: Store, counter: StoreCounter, record: Record, *, now: datetime) -> None:
    """The record's text is another one now, and nobody said so: claims that were taken from it go, and others are no
    longer said by it. Call in the transaction that changes the text, holding the store's counter.
    """
    if not counter.claim:
        return
    held = [each.claim for each in _held(store, [record.pk])]
    reason = CurrencyReason.VERSION_DELETED
    change_currency(store, counter, held, current=False, reason=reason, cause="source", now=now)
    ClaimOccurrence.objects.filter(store=store, record=record).delete()
    taken = list(Claim.objects.filter(store=store, record=record).values_list("pk", flat=True))
    settle(store, counter, taken, cause="source", erasing=True, now=now)
    search.remove(store, claim_ids=taken)
    with pruning():
        Claim.objects.filter(pk__in=taken).delete()


@dataclass(frozen=True, slots=True)
class _Held:
    """A current claim as an older text says it: in which record, and at which spans of the representation."""

    claim: Claim
    record_id: int
    spans: tuple[Span, ...]


def follow_messages(
    store: Store, counter: StoreCounter, newer: Sequence[tuple[Record, Record]], *, now: datetime
) -> None:
    """What becomes of the claims of messages that have newer versions: (the version before, the newer one), in order.
    Mentions inside their spans go along.

    Nothing is asked of a store that never had a claim. Call holding the store's counter.
    """
    if not newer or not counter.claim:
        return
    after = {before.pk: record for before, record in newer}
    # Versions that came in the same call as the one before them have no claims yet.
    held = _held(store, after.keys() - {record.pk for _, record in newer})
    if not held:
        return
    texts = dict(Record.objects.filter(pk__in={each.record_id for each in held}).values_list("pk", "content"))
    occurrences: list[ClaimOccurrence] = []
    closed: list[Claim] = []
    moves: list[Move] = []
    for each in held:
        words = slices(texts[each.record_id], each.spans)
        newest: Record | None = after[each.record_id]
        while newest is not None:
            found = find_together(words, newest.content, [(0, len(newest.content))])
            if found is None:
                closed.append(each.claim)
                break
            occurrences.append(_occurrence(each.claim, newest.pk, found[1], now=now))
            moves += _moves(each.record_id, each.spans, newest.pk, found[1])
            newest = after.get(newest.pk)
    carry_mentions(store, moves, now=now)
    _write(store, counter, occurrences, closed, living=False, now=now)


def follow_document(
    store: Store,
    counter: StoreCounter,
    document: Document,
    before: DocumentVersion,
    after: DocumentVersion,
    passages: Sequence[Passage],
    *,
    now: datetime,
) -> Followed:
    """What becomes of a document's claims and mentions in its newer version, whose passages are given in order.

    A passage that says what an old one said takes its claims and mentions with their places; other claims go to the
    first passage that has all their words. Call holding the store's counter.
    """
    old = {passage.record_id: passage for passage in Passage.objects.filter(store=store, version=before)}
    kept = _kept(before.text, old, after.text, passages)
    moves = [Move(record, passage.record_id) for record, passage in kept.items()]
    # Nothing is asked of a store that never had a claim.
    held = _held(store, old) if counter.claim else []
    within = [(passage.char_start, passage.char_end) for passage in passages]
    occurrences: list[ClaimOccurrence] = []
    closed: list[Claim] = []
    for each in held:
        origin = old[each.record_id]
        if (same := kept.get(each.record_id)) is not None:
            spans = moved(each.spans, same.char_start - origin.char_start)
            occurrences.append(_occurrence(each.claim, same.record_id, spans, now=now))
            continue
        found = find_together(slices(before.text, each.spans), after.text, within)
        if found is None:
            closed.append(each.claim)
            continue
        place, spans = passages[found[0]], found[1]
        occurrences.append(_occurrence(each.claim, place.record_id, spans, now=now))
        inside = moved(each.spans, -origin.char_start), moved(spans, -place.char_start)
        moves += _moves(each.record_id, inside[0], place.record_id, inside[1])
    carry_mentions(store, moves, now=now)
    if held:
        living = document.versioning_mode == VersioningMode.LIVING
        _write(store, counter, occurrences, closed, living=living, now=now)
    return Followed(len(held) - len(closed), len(closed))


def _kept(
    before: str, old: Mapping[int, Passage], after: str, passages: Sequence[Passage]
) -> dict[int, Passage]:
    """By the record of an old passage, the new one that says the same: of several that do, the first for the first
    and so on, and the last for those that are too many.
    """
    places: dict[str, list[Passage]] = defaultdict(list)
    for passage in passages:
        places[after[passage.char_start : passage.char_end]].append(passage)
    kept: dict[int, Passage] = {}
    for record, passage in sorted(old.items(), key=lambda each: each[1].ordinal):
        same = places.get(before[passage.char_start : passage.char_end])
        if same:
            kept[record] = same[0] if len(same) == 1 else same.pop(0)
    return kept


def _moves(before: int, spans: Sequence[Span], after: int, found: Sequence[Span]) -> list[Move]:
    """A claim's spans in the one record, and where they were found in the other; each counts in its record's text."""
    return [Move(before, after, span, place[0] - span[0]) for span, place in zip(spans, found, strict=True)]


def find_again(store: Store, claim: Claim, *, now: datetime) -> bool:
    """Whether the newest text of a claim's source has its words, in which nobody has looked for them: what is not
    current is not carried. The place becomes an occurrence. Call holding the store's counter.
    """
    origin = Record.objects.get(pk=claim.record_id)
    passage = Passage.objects.filter(record=origin).first()
    own = moved(_spans(claim.spans), -passage.char_start if passage is not None else 0)
    if passage is not None:
        newest = Passage.objects.filter(
            store=store,
            version__document=claim.document_id,
            version__document__deleted_at=None,
            version__superseded_at=None,
            version__deleted_at=None,
        ).select_related("record")
        texts = [(each.record, each.char_start) for each in newest.order_by("ordinal")]
    else:
        versions = Record.objects.live().filter(
            store=store, project_id=origin.project_id, message_id=origin.message_id
        )
        texts = [(each, 0) for each in versions.order_by("-number")[:1] if origin.message_id]
    for record, offset in texts:
        found = find_together(slices(origin.content, own), record.content, [(0, len(record.content))])
        if found is not None:
            _occurrence(claim, record.pk, moved(found[1], offset), now=now).save()
            carry_mentions(store, _moves(origin.pk, own, record.pk, found[1]), now=now)
            return True
    return False


def _held(store: Store, records: Iterable[int]) -> list[_Held]:
    """The current claims that these records say, as their origin or later, each once (two statements)."""
    wanted = list(records)
    found = {
        claim.pk: _Held(claim, claim.record_id, _spans(claim.spans))
        for claim in Claim.objects.filter(store=store, is_current=True, record__in=wanted).order_by("number")
    }
    later = ClaimOccurrence.objects.filter(store=store, claim__is_current=True, record__in=wanted)
    for row in later.select_related("claim").order_by("claim__number", "pk"):
        found[row.claim_id] = _Held(row.claim, row.record_id, _spans(row.spans))
    return list(found.values())


def _spans(stored: Sequence[Sequence[int]]) -> tuple[Span, ...]:
    return tuple((start, end) for start, end in stored)


def _occurrence(claim: Claim, record_id: int, spans: Sequence[Span], *, now: datetime) -> ClaimOccurrence:
    return ClaimOccurrence(
        store_id=claim.store_id,
        claim=claim,
        record_id=record_id,
        spans=[list(span) for span in spans],
        created_at=now,
    )


def _write(
    store: Store,
    counter: StoreCounter,
    occurrences: Sequence[ClaimOccurrence],
    closed: Sequence[Claim],
    *,
    living: bool,
    now: datetime,
) -> None:
    ClaimOccurrence.objects.bulk_create(occurrences, batch_size=_BATCH)
    change_currency(
        store,
        counter,
        closed,
        current=False,
        reason=CurrencyReason.VERSION_SUPERSEDED,
        # A living document that says something no more has withdrawn it; another has only said it elsewhere.
        cause="source" if living else "processing",
        now=now,
    )
