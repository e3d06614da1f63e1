"""Refs as texts. `mem:<number>` is a record, `ep:<number>` a summary; what has a UUID in the contracts is named by it:
`claim:<uuid>`, `relation:<uuid>`, `observation:<uuid>`, `entity:<uuid>`. Pure.
"""

import hashlib
import re
from collections.abc import Iterable

NAMED = ("claim", "relation", "observation", "entity")
"""The kinds of what is known by its UUID."""

NOT_A_REF = (
    f"Not a ref such as mem:12, ep:3 or claim:<uuid> (so are {', '.join(f'{kind}:' for kind in NAMED[1:])})."
)
"""What to tell whoever sent something else."""

_ROW = re.compile(r"(mem|ep):([1-9][0-9]{0,17})")
_NAMED = re.compile(rf"(?:{'|'.join(NAMED)}):[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}")


def is_ref(text: str) -> bool:
    """Whether a text is a ref as the server writes them."""
    return _ROW.fullmatch(text) is not None or is_named(text)


def is_named(text: str) -> bool:
    """Whether a text is the ref of something that is known by its UUID."""
    return _NAMED.fullmatch(text) is not None


def split_ref(ref: str) -> tuple[str, int]:
    """(kind, number) of a record's or summary's ref as the server writes them."""
    kind, _, number = ref.partition(":")
    return kind, int(number)


def split_name(ref: str) -> tuple[str, str]:
    """(kind, UUID) of the ref of something that is known by its UUID."""
    kind, _, name = ref.partition(":")
    return kind, name


def name_key(kind: str, name: str) -> int:
    """What a trace's index holds of something that is known by its UUID: below 0, where no row's key is.

    62 bits of a digest: two of a store's things meet by accident once in thousands of millions.
    """
    digest = hashlib.sha256(f"{kind}:{name}".encode()).digest()
    return -1 - (int.from_bytes(digest[:8]) >> 2)


def numbers_by_kind(refs: Iterable[str]) -> dict[str, list[int]]:
    """The numbers of the records (`mem`) and of the summaries (`ep`) among refs; what is no row is left out."""
    numbers: dict[str, list[int]] = {"mem": [], "ep": []}
    for ref in refs:
        kind, _, number = ref.partition(":")
        if kind in numbers:
            numbers[kind].append(int(number))
    return numbers
