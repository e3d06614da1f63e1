"""Payloads: large texts kept beside the transcript, and the internal command that moves a record's text out to one."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from memoryconsole import search
from memoryconsole.errors import Fault, InvalidParameter, NotFound
from memoryconsole.models import Payload, Record, RecordNode, Session, Store
from memoryconsole.services.entities import lose_places
from memoryconsole.services.following import lose_claims
from memoryconsole.services.indexing import embed_later, language_changed
from memoryconsole.services.ingest import digest_of, sessions_of
from memoryconsole.services.numbering import lock_counter
from memoryconsole.services.transfer import withdraw_exports


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPayload:
    """A payload as its caller gives it. `ref` '': one is made. `session_id`: its owner."""

    content: str
    session_id: str
    ref: str = ""
    kind: str = "tool_result"
    role: str = ""
    tool_call_id: str = ""
    field_path: str = ""


@dataclass(frozen=True, slots=True)
class StoredPayload:
    ref: str
    created: bool


@transaction.atomic
def store_payloads(store: Store, rows: Sequence[NewPayload], *, now: datetime) -> list[StoredPayload]:
    """Store payloads in order, all or nothing; answers one result per row.

    A ref that is taken by the same text of the same session is that payload, not stored again; taken by another text,
    or by another session, it is refused: texts are immutable. Raises InvalidParameter.
    """
    counter = lock_counter(store)
    sessions = sessions_of(store, counter, [row.session_id for row in rows], now=now)
    before = Payload.objects.filter(store=store, ref__in=[row.ref for row in rows if row.ref]).defer(
        "content"
    )
    taken = {payload.ref: payload for payload in before}
    fresh: list[Payload] = []
    results: list[StoredPayload] = []
    for place, row in enumerate(rows):
        payload = _payload(store, row, sessions[row.session_id], now=now)
        known = taken.setdefault(payload.ref, payload)
        if known is payload:
            fresh.append(payload)
        elif (bytes(known.digest), known.session_id) != (payload.digest, payload.session_id):
            pointer, message = f"/payloads/{place}/ref", "This ref names another payload."
            raise InvalidParameter.of(Fault(pointer, "taken", message))
        results.append(StoredPayload(payload.ref, created=known is payload))
    Payload.objects.bulk_create(fresh)
    return results


def _payload(store: Store, row: NewPayload, session: Session, *, now: datetime) -> Payload:
    return Payload(
        store=store,
        ref=row.ref or _fresh_ref(),
        session=session,
        kind=row.kind,
        role=row.role,
        tool_call_id=row.tool_call_id,
        field_path=row.field_path,
        content=row.content,
        digest=digest_of(row.content),
        created_at=now,
    )


def externalise(store: Store, number: int, *, kind: str = "raw_payload", now: datetime) -> Payload:
    """Move a record's text out to a payload of its session; a placeholder stays in its place.

    The record's digest is the placeholder's from now on; its nodes and its index entry are of the old text and are
    made anew or gone. An internal command: no route does this. Raises NotFound for a record that is not there, or in
    no session, or has a payload already.
    """
    with transaction.atomic():
        counter = lock_counter(store)
        language_changed(store)
        record = Record.objects.live().filter(store=store, number=number).first()
        if record is None or record.session is None or record.payload_id is not None:
            raise NotFound("No such record, or nothing that could own its text")
        payload = Payload.objects.create(
            store=store,
            ref=_fresh_ref(),
            session=record.session,
            kind=kind,
            role=record.role,
            tool_call_id=record.tool_call_id,
            content=record.content,
            digest=bytes(record.digest),
            created_at=now,
        )
        record.content = _placeholder(payload)
        record.digest = digest_of(record.content)
        record.payload = payload
        record.save(update_fields=["content", "digest", "payload"])
        RecordNode.objects.filter(store=store, record=record).delete()
        lose_places(store, record)
        lose_claims(store, counter, record, now=now)
        withdraw_exports(store)
        search.remove(store, record_ids=[record.pk])
        if search.index(store, records=[record], now=now).owed:
            embed_later(store, by=None, now=now)
    return payload


def _placeholder(payload: Payload) -> str:
    """A compact marker for whoever reads the row. It is never parsed: a foreign key says what it stands for."""
    sizes = f"chars={len(payload.content)}; bytes={len(payload.content.encode())}"
    return f"[Externalized payload: kind={payload.kind}; {sizes}; ref={payload.ref}]"


def _fresh_ref() -> str:
    return f"payload-{uuid.uuid4().hex}"
