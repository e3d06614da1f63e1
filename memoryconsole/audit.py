"""The audit layer: a contract call is parsed, answered, and leaves one trace. The contract itself writes nothing.

The trace is written after the answer is made and before it is sent, in a transaction of its own, on the primary. A
store's `audit` says what an answer is worth that leaves none: `required` refuses it (503), `best_effort` serves it
and counts it, `off` writes none.
"""

import hashlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import DatabaseError, InterfaceError, transaction
from django.db.models import F
from django.utils import timezone

from memoryconsole import registry
from memoryconsole.access import Actor, open_store
from memoryconsole.errors import AuditUnavailable, ConsoleError
from memoryconsole.models import LostTraces, Scope, SessionNotice, Store, Trace
from memoryconsole.models.stores import Audit
from memoryconsole.models.traces import Outcome
from memoryconsole.traces import NOTICES, Caller, Laps, Told, canonical, digest_of

log = logging.getLogger(__name__)

TRACE_ID = "Trace-Id"
# Sessions remembered a store, oldest out (decision 14).
MAX_SESSIONS = 256
# The member that stands for a body that was not kept, with its size in bytes (0: it could not be read).
NOT_KEPT = "$not_kept"
# Every body that a contract takes is shorter and is kept; of a longer one, which was refused, only its size is. The
# longest: two texts of 20,000 control characters, six bytes each as JSON, and a thousand numbers.
MAX_REQUEST_BYTES = 300_000
# Longer than any contract takes a session key; what stands for one that is longer still.
_LONG_KEY = 1000
# What a caller has heard once in a session is afterwards named without its evidence and its runbook.
_REMINDED = ("degraded", "severity", "reason", "advisory_scope")


@dataclass(frozen=True, slots=True)
class Answer:
    """`trace`: the id of the call's trace; None when the store keeps none, or it was lost. `row`: the trace itself,
    kept or not.
    """

    body: dict[str, Any]
    trace: UUID | None
    row: Trace

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.trace is None else {TRACE_ID: str(self.trace)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a contract: which, by whom, on which store, and its body, read when its turn comes.

    `settings`: for this call alone; the caller needs `operate`. `rerun_of`: the trace whose question this asks again.
    """

    operation: str
    actor: Actor
    store: str
    body: Callable[[], Any]
    caller: Caller
    laps: Laps
    settings: Mapping[str, int | None] | None = None
    rerun_of: UUID | None = None


def answer(call: Call) -> Answer:
    """Answer a call and leave its trace; a refusal leaves one too, where the caller may see the store.

    Raises what parsing, access and the operation raise, with the trace's id among the error's headers;
    AuditUnavailable when the store requires a trace and none could be written.
    """
    operation = registry.operation(call.operation)
    body: Any = None
    try:
        body = call.body()
        parsed = operation.parse(body)
    except ConsoleError as refusal:
        _refused(call, _visible(call), _refused_request(body), refusal)
        raise
    store = open_store(call.actor, call.store, Scope.READ if call.settings is None else Scope.OPERATE)
    call.laps.lap("request")
    try:
        told = operation.run(store, parsed, call.settings or {}, call.laps)
    except ConsoleError as refusal:
        _refused(call, store, _kept_request(body), refusal)
        raise
    told, hearing = _heard(call, store, body, told)
    call.laps.lap("notices")
    row = _row(call, store, _kept_request(body), told)
    written = _written(call, store, row)
    if hearing is not None:
        # Only now: an answer that is refused for want of a trace is heard by nobody.
        _remember(store, hearing, at=told.asked_at)
    return Answer(told.body, written, row)


def _row(call: Call, store: Store, request: dict[str, Any], told: Told) -> Trace:
    actor = call.actor
    return Trace(
        store=store,
        operation=call.operation,
        outcome=told.outcome,
        reason=told.reason,
        degraded="advisory" in told.body,
        asked_at=told.asked_at,
        user=actor.user,
        token=actor.token,
        request_id=call.caller.request_id,
        agent_run=call.caller.agent_run,
        traceparent=call.caller.traceparent,
        labels=list(call.caller.labels),
        rerun_of=call.rerun_of,
        core=registry.operation(call.operation).core,
        request=request,
        policy=told.policy,
        seen=told.seen,
        told=told.told,
        notices={name: told.body[name] for name in NOTICES if name in told.body},
        stages=call.laps.stages(),
        duration_us=call.laps.total(),
        digest=digest_of(told.body, without=told.unreplayed),
        quoted=list(told.quoted),
    )


def _kept_request(body: Any) -> dict[str, Any]:
    """The body as sent, but for the session key, which is the caller's own. What was no JSON object, or is too long,
    is not kept.
    """
    if not isinstance(body, dict):
        return {NOT_KEPT: 0}
    kept = {name: value for name, value in body.items() if name != "session_key"}
    size = len(canonical(kept))
    return kept if size <= MAX_REQUEST_BYTES else {NOT_KEPT: size}


def _refused_request(body: Any) -> dict[str, Any]:
    """The same of a body that was refused for what it says. What stands for its session key is refused as that was; a
    number that comes back from the database as another would not be.
    """
    if not isinstance(body, dict):
        return _kept_request(body)
    kept = _kept_request(body)
    if NOT_KEPT not in kept and not _comes_back(kept):
        return {NOT_KEPT: len(canonical(kept))}
    if "session_key" not in body or NOT_KEPT in kept:
        return kept
    key = body["session_key"]
    if isinstance(key, str):
        return kept | {"session_key": "*" * min(len(key), _LONG_KEY)}
    return kept | {"session_key": None if key is None else 0}


def _comes_back(value: Any) -> bool:
    """Whether jsonb gives a value back as it is: it writes out a large exponent, which makes an integer of a fraction,
    and knows no -0.0.
    """
    if isinstance(value, float):
        return "e+" not in repr(value) and repr(value) != "-0.0"
    if isinstance(value, dict | list):
        return all(map(_comes_back, value.values() if isinstance(value, dict) else value))
    return True


def _visible(call: Call) -> Store | None:
    """The store of a call that was refused for its input; None when the caller may not read it."""
    try:
        return open_store(call.actor, call.store, Scope.READ)
    except ConsoleError:
        # What was wrong with the input is said whether or not there is such a store.
        return None


def _refused(call: Call, store: Store | None, request: dict[str, Any], refusal: ConsoleError) -> None:
    """Leave the trace of a refusal, and name it in the refusal's headers. A refusal needs no trace to stand."""
    if store is None:
        return
    call.laps.lap("refused")
    told = Told(
        body=refusal_body(refusal),
        outcome=Outcome.REFUSED,
        reason=refusal.code,
        asked_at=timezone.now(),
        policy=dict(refusal.context),
    )
    trace = _row(call, store, request, told)
    trace.told = told.body
    try:
        written = _written(call, store, trace)
    except AuditUnavailable:
        _count_lost(store)
        return
    if written is not None:
        refusal.headers[TRACE_ID] = str(written)


def refusal_body(refusal: ConsoleError) -> dict[str, Any]:
    """A refusal as its trace keeps it: the problem, without what belongs to one occurrence."""
    body = refusal.body(instance="")
    return {name: value for name, value in body.items() if name in ("status", "code", "detail", "errors")}


def _written(call: Call, store: Store, trace: Trace) -> UUID | None:
    if store.audit == Audit.OFF:
        return None
    try:
        trace.insert()
    except (DatabaseError, InterfaceError) as fault:
        # One line: the database's message may quote the row.
        log.error("a trace of %s on %s is lost: %s", call.operation, store.public_id, type(fault).__name__)  # noqa: TRY400
        if store.audit == Audit.REQUIRED:
            raise AuditUnavailable from None
        _count_lost(store)
        return None
    return UUID(str(trace.pk))


def _count_lost(store: Store) -> None:
    """Add to the store's count of lost traces, which the console shows. What cannot be counted is in the log."""
    now = timezone.now()
    try:
        with transaction.atomic():
            LostTraces.objects.get_or_create(store=store, defaults={"last_at": now})
            LostTraces.objects.filter(store=store).update(count=F("count") + 1, last_at=now)
    except (DatabaseError, InterfaceError) as fault:
        log.error("the lost trace on %s could not be counted: %s", store.public_id, type(fault).__name__)  # noqa: TRY400


@dataclass(frozen=True, slots=True)
class _Hearing:
    """What a session will have heard once its answer is sent. `session`: the digest of (actor, session key)."""

    session: bytes
    heard: list[str]


def _heard(call: Call, store: Store, body: Any, told: Told) -> tuple[Told, _Hearing | None]:
    """The answer with its notices as this session hears them: whole once, then in short, or not at all; and what is
    to be remembered of it, None when nothing is new.
    """
    session_key = body.get("session_key") if isinstance(body, dict) else None
    if not session_key:
        return told, None
    notices = {name: _identity(told.body[name]) for name in NOTICES if name in told.body}
    session = hashlib.sha256(canonical([call.actor.user.pk, session_key])).digest()[:16]
    kept = SessionNotice.objects.filter(store=store, session=session).values_list("heard", flat=True).first()
    now = [f"{name}:{identity}" for name, identity in notices.items()]
    hearing = None if now == (kept or []) else _Hearing(session, now)
    again = {name for name, identity in notices.items() if f"{name}:{identity}" in (kept or ())}
    if not again:
        return told, hearing
    reminded = {
        name: _reminder(value) if name in again else value
        for name, value in told.body.items()
        if name not in again or name == "advisory"
    }
    return replace(told, body=reminded), hearing


def _identity(notice: Mapping[str, Any]) -> str:
    """What makes two notices the same news: numbers in their evidence do not."""
    named = [str(notice.get(name, "")) for name in ("reason", "kind", "available")]
    return hashlib.sha256(canonical(named)).hexdigest()[:16]


def _reminder(advisory: Mapping[str, Any]) -> dict[str, Any]:
    return {name: advisory[name] for name in _REMINDED if name in advisory}


def _remember(store: Store, hearing: _Hearing, *, at: datetime) -> None:
    """Keep what the session has heard; what is over is forgotten, so that the next outage is told whole again."""
    try:
        with transaction.atomic():
            SessionNotice.objects.update_or_create(
                store=store, session=hearing.session, defaults={"heard": hearing.heard, "at": at}
            )
            newest = SessionNotice.objects.filter(store=store).order_by("-at", "-pk").values("pk")
            oldest = SessionNotice.objects.filter(store=store, pk__in=newest[MAX_SESSIONS:])
            oldest.delete()
    except (DatabaseError, InterfaceError) as fault:
        # The answer stands: the session then hears a notice twice.
        log.warning("a session's notices on %s were not kept: %s", store.public_id, type(fault).__name__)
