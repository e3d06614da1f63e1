"""Opaque list cursors: signed, and bound to the list, its filters and who asks."""

import hashlib
import json
from typing import Any

from django.core import signing

from memoryconsole.errors import InvalidCursor

_SALT = "memoryconsole.cursor"


def write_cursor(position: Any, **bound: Any) -> str:
    """A cursor standing after `position` (JSON values) in the list that `bound` describes."""
    return signing.dumps([_digest(bound), position], salt=_SALT, compress=False)


def read_cursor(cursor: str, **bound: Any) -> Any:
    """The position. Raises InvalidCursor for a cursor that was altered or belongs to another list."""
    try:
        digest, position = signing.loads(cursor, salt=_SALT)
    except (signing.BadSignature, ValueError, TypeError):
        raise InvalidCursor() from None
    if digest != _digest(bound):
        raise InvalidCursor()
    return position


def _digest(bound: dict[str, Any]) -> str:
    canonical = json.dumps(bound, sort_keys=True, default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]
