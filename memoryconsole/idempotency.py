"""A write that is sent again answers its first result again, also after a crash (`Idempotency-Key`)."""

import hashlib
from collections.abc import Callable
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from rest_framework.request import Request

from memoryconsole.access import Actor
from memoryconsole.errors import Fault, IdempotencyConflict, InvalidParameter
from memoryconsole.models import IdempotencyKey, Store
from memoryconsole.traces import canonical

MAX_KEY_CHARS = 255

Answer = tuple[int, dict[str, Any]]


def once(
    request: Request,
    actor: Actor,
    store: Store | None,
    route: str,
    effect: Callable[[], Answer],
    *,
    digest: bytes | None = None,
) -> Answer:
    """Run `effect` and keep its answer under the request's key, in one transaction; or give the kept one.

    Two requests with one key at the same time: the second waits for the first. Without a key the effect just runs.
    The answer must hold no stored text. `digest`: the body's SHA-256, where the body is no JSON.

    Raises IdempotencyConflict when the key was used with another body,
    InvalidParameter for a key that cannot be one.
    """
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return effect()
    if not (0 < len(key) <= MAX_KEY_CHARS and key.isprintable()):
        raise InvalidParameter(
            "Idempotency-Key must be 1 to 255 printable characters",
            errors=[Fault("Idempotency-Key", "invalid", "1 to 255 printable characters")],
        )
    if digest is None:
        digest = _digest(request.data)
    with transaction.atomic():
        mine, kept = _claim(store, actor, route, key, digest)
        if not mine:
            if bytes(kept.body_digest) != digest:
                raise IdempotencyConflict()
            return kept.status, kept.answer
        kept.status, kept.answer = effect()
        kept.save(update_fields=["status", "answer"])
        return kept.status, kept.answer


def _claim(
    store: Store | None, actor: Actor, route: str, key: str, digest: bytes
) -> tuple[bool, IdempotencyKey]:
    """Write the key, or read the row that has it. The unique constraint makes rivals wait, then lose."""
    place = {"store": store, "user": actor.user, "route": route, "key": key}
    try:
        with transaction.atomic():
            row = IdempotencyKey.objects.create(
                **place, body_digest=digest, status=0, answer={}, created_at=timezone.now()
            )
            return True, row
    except IntegrityError:
        return False, IdempotencyKey.objects.get(**place)


def _digest(body: Any) -> bytes:
    return hashlib.sha256(canonical(body)).digest()
