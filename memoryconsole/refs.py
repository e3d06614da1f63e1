"""Refs as texts: `mem:<number>` is a record, `ep:<number>` a summary. Pure."""

import re
from collections.abc import Iterable

_REF = re.compile(r"(mem|ep):([1-9][0-9]{0,17})")


def is_ref(text: str) -> bool:
    """Whether a text is a ref as the server writes them."""
    return _REF.fullmatch(text) is not None


def split_ref(ref: str) -> tuple[str, int]:
    """(kind, number) of a ref as the server writes them."""
    kind, _, number = ref.partition(":")
    return kind, int(number)


def numbers_by_kind(refs: Iterable[str]) -> dict[str, list[int]]:
    """The numbers of the records (`mem`) and of the summaries (`ep`) among refs; those of payloads are left out."""
    numbers: dict[str, list[int]] = {"mem": [], "ep": []}
    for ref in refs:
        kind, _, number = ref.partition(":")
        if kind in numbers:
            numbers[kind].append(int(number))
    return numbers
