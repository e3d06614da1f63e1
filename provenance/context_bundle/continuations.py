"""Continuations: where an answer goes on, signed (contract, section F.5).

A continuation belongs to a store, an operation and its arguments, and lives for an hour from the instant that its scope
is pinned to: the same answer at the same instant has the same one. It holds numbers and a digest, never a text.
"""

import re
from datetime import datetime, timedelta
from typing import Final

from django.core import signing

from memoryconsole.models import Store
from memoryconsole.traces import NotReplayable
from provenance.context_bundle.core import cursor
from provenance.context_bundle.core.cursor import Position

TOKEN_MAX_CHARS: Final = cursor.TOKEN_MAX_CHARS
LIFE: Final = timedelta(hours=1)
"""A guess: an agent reads on at once or never; the search behind it may move meanwhile."""

_SHAPE = re.compile(r"[A-Za-z0-9_-]+:[A-Za-z0-9_-]{43}", re.ASCII)


def well_formed(text: str) -> bool:
    """Whether a text can be a continuation at all, whoever signed it."""
    return len(text) <= TOKEN_MAX_CHARS and _SHAPE.fullmatch(text) is not None


def write(store: Store, position: Position) -> str | None:
    """The continuation of a position; None when it is too long to be one."""
    return cursor.fitting(_signer(store).sign(cursor.encode(position)))


def read(store: Store, text: str, *, operation: str, digest: bytes, now: datetime) -> Position | None:
    """The position; None for one that was altered, is over, or belongs to another store, operation or question."""
    try:
        position = cursor.decode(_signer(store).unsign(text))
    except (signing.BadSignature, cursor.MalformedCursor):
        return None
    over = now - position.scope.evaluated_at > LIFE
    return None if over or not position.of(operation, digest) else position


def _signer(store: Store) -> signing.Signer:
    return signing.Signer(salt=f"memoryconsole.continuation:{store.public_id}")


def reopen(store: Store, text: str) -> Position:
    """The position of a continuation that was taken before, however long ago. Raises NotReplayable when its signature
    holds no more: the key has changed.
    """
    try:
        return cursor.decode(_signer(store).unsign(text))
    except (signing.BadSignature, cursor.MalformedCursor):
        raise NotReplayable("changed") from None
