"""Texts cut to a budget of tokens (contract, section B.4).

Rule 1: a page is a slice of its text; nothing is added, trimmed or joined. Rule 2: paging gets on: while text
remains, a page holds at least one character, whatever the budget.

What a token is, is told by a counter. The default one estimates, so that it is the same everywhere and needs
nothing; any other may be passed in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from provenance.expand_query.core.blocks import Page

TokenCounter: TypeAlias = Callable[[str], int]
"""Tokens of a text, 0 or more. The same for the same text."""

ASCII_CHARS_PER_TOKEN: Final = 4
"""Contract, section B.4."""

DENSITY: Final = ((0.5, 1.5), (0.2, 2.5), (0.0, 4.0))
"""Contract, section B.4: (at least this share of characters beyond ASCII, characters to a token)."""


def estimate_tokens(text: str) -> int:
    """The contract's estimate: 0 for no text, else a quotient of its length, plus 1."""
    if not text:
        return 0
    if text.isascii():
        return len(text) // ASCII_CHARS_PER_TOKEN + 1
    share = (len(text) - len(text.encode("ascii", "ignore"))) / len(text)
    return int(len(text) / next(chars for least, chars in DENSITY if share >= least)) + 1


def cut(text: str, budget: int, count: TokenCounter) -> str:
    """The longest beginning of the text that counts at most ``budget`` tokens; '' without a budget.

    It is found by halving. For a counter that may fall as a text grows (the estimate, where the share of
    characters beyond ASCII crosses a step) it is a beginning that fits and that no further character fits to.
    """
    if budget <= 0:
        return ""
    if count(text) <= budget:
        return text
    fits, exceeds = 0, len(text)
    while exceeds - fits > 1:
        middle = (fits + exceeds) // 2
        if count(text[:middle]) <= budget:
            fits = middle
        else:
            exceeds = middle
    return text[:fits]


def page(text: str, *, offset: int = 0, budget: int, count: TokenCounter) -> Page:
    """The page of a whole text that begins at ``offset``, which is clamped into it (0 to its length)."""
    start = min(max(0, offset), len(text))
    rest = text[start:]
    return Page(content=cut(rest, budget, count) or rest[:1], content_offset=start, content_chars=len(text))
