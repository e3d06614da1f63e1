"""How large the provenance of an answer may be (contract, sections C.7 and C.8).

Rule 1: every number that bounds it is in this file. Rule 2: what is shortened says so and can be recognized:
by its length and its digest. Rule 3: what does not fit is left out whole, and from the end.

Theory of operation. Identities beyond the 24th are not listed. The object is then measured as Python's
``json.dumps`` writes it, which escapes whatever is not ASCII: a character beyond the basic plane costs twelve.
While it is too long its last item goes, and what it says of its items is worked out anew. If nothing is left
to go, the session ids themselves are too long, and a fixed envelope names them by a digest.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from itertools import accumulate
from typing import Any, Final

Json = dict[str, Any]

ITEMS_MAX: Final = 24
"""The contract's: unique identities listed."""

SERIALIZED_CHAR_LIMIT: Final = 10_000
"""The contract's: characters of the nested object, and of it alone, by default ``json.dumps``."""

QUOTE_MAX_CHARS: Final = 500
"""The contract's: code points of one quote."""

METADATA_MAX_CHARS: Final = 256
"""The contract's: code points of one metadata text."""

SEPARATOR: Final = ", "
"""What ``json.dumps`` writes between two items of a list."""

PATHS_MAX: Final = 8
"""The contract's: distinct paths named of one item."""


def measure(value: object) -> int:
    """Characters of the value by default ``json.dumps``: spaced separators, everything but ASCII escaped.

    What goes over the wire is shorter, and is not what the contract bounds.
    """
    return len(json.dumps(value))


def digest(text: str) -> str:
    """Lower-case hex SHA-256 of the text in UTF-8. Texts come from storage, which holds no lone surrogates."""
    return sha256(text.encode()).hexdigest()


def emitted_whole(text: str) -> bool:
    """Whether a metadata text is shown as it is."""
    return len(text) <= METADATA_MAX_CHARS


def bound(metadata: Mapping[str, str]) -> tuple[dict[str, str], Json]:
    """The metadata texts as they are shown, and by name what was shortened: its length and its digest."""
    shown = {name: text[:METADATA_MAX_CHARS] for name, text in metadata.items()}
    shortened = {
        name: {"original_chars": len(text), "sha256": digest(text)}
        for name, text in metadata.items()
        if not emitted_whole(text)
    }
    return shown, shortened


def fit(items: Sequence[Json], envelope: Callable[[Sequence[Json]], Json]) -> Json | None:
    """The envelope around as many of the first items as fit; None when it is too long without any.

    ``items``: those of at most the first ``ITEMS_MAX`` identities. ``envelope`` gives the whole object around
    the items it is given, as its member ``items``.
    """
    # Each item is measured once: 24 of escaped text may be sixty times the limit.
    ends = [0, *accumulate(measure(item) + len(SEPARATOR) for item in items)]
    for kept in range(bisect_right(ends, SERIALIZED_CHAR_LIMIT) - 1, -1, -1):
        whole = envelope(items[:kept])
        length = measure(whole | {"items": []}) + ends[kept] - (len(SEPARATOR) if kept else 0)
        if length <= SERIALIZED_CHAR_LIMIT:
            return whole
    return None
