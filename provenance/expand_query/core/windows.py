"""Where the window around a search hit begins (contract, section B.5, step 6).

Rule 1: the place is found in the text as it is stored. Folding the text first would move whatever follows a
character that grows when folded. Rule 2: this file finds places, it does not search: whether a row is a hit
was decided before.

Theory of operation. A query is several things that may stand in a text: all its words in a row, its quoted
phrases, its single terms, and their parts. The longest of them that occurs says where the window begins. A
text that fits whole is shown whole: the words before a match are worth reading too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from provenance.expand_query.core.blocks import Page
from provenance.expand_query.core.pages import TokenCounter, page

OPERATORS: Final = frozenset({"AND", "OR", "NOT", "NEAR"})
"""Contract, sections B.3 and K: as single terms of a query these say nothing of what to look for."""

PART_MIN_CHARS: Final = 2
"""Contract, section B.5: parts of a term have two characters or more."""

CANDIDATES_MAX: Final = 256
"""A guess: more than a question has words. A message pasted as a query has thousands, each of which costs a way through
every hit; its longest say what it is about.
"""

_PHRASE: Final = re.compile(r'"([^"]*)"')
_PART: Final = re.compile(r"\w+")


def hit_page(text: str, query: str, *, budget: int, count: TokenCounter) -> tuple[Page, int | None]:
    """What is shown of a hit, and where its match begins in the whole text (None = nowhere to be seen)."""
    found = match_offset(text, query)
    offset = 0 if found is None or count(text) <= budget else found
    return page(text, offset=offset, budget=budget, count=count), found


def match_offset(text: str, query: str) -> int | None:
    """Where the longest part of the query that occurs in the text first does, ignoring case; None = none does.

    In code points of the text as it is.
    """
    for candidate in candidates(query):
        found = re.search(re.escape(candidate), text, re.IGNORECASE)
        if found:
            return found.start()
    return None


def candidates(query: str) -> list[str]:
    """What to look for, longest first; of equal length, what the query names first. None of it twice, and the longest
    ``CANDIDATES_MAX`` alone.
    """
    return sorted(dict.fromkeys(_candidates(query)), key=len, reverse=True)[:CANDIDATES_MAX]


def _candidates(query: str) -> Iterator[str]:
    if words := query.replace('"', " ").split():
        yield " ".join(words)
    for phrase in _PHRASE.findall(query):
        if words := phrase.split():
            yield " ".join(words)
    for term in _terms(query):
        for part in (term, *_PART.findall(term)):
            if len(part) >= PART_MIN_CHARS:
                yield part


def _terms(query: str) -> Iterator[str]:
    """The words of the query without what steers a search: quotes, operators, a field's name, a last star."""
    for word in query.replace('"', " ").split():
        if word in OPERATORS:
            continue
        if term := word.rpartition(":")[2].rstrip("*"):
            yield term
