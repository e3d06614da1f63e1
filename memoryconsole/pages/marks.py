"""Which stretches of a text are words of a question, as the search reads words. Pure.

A stretch is judged by the terms the search's own analyser makes of it, so that "pouring" is marked for "pour", and a
mark never begins or ends inside what a reader sees as one character.
"""

import re
import unicodedata
from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from memoryconsole.search.analyze import tokens

# One letter per character says what it is; the rules below are then written over those letters.
# w: of a word; m: drawn with the one before it; j: joins words (as in PO-7741); p: a picture or a sign; -: the rest.
_RUN = re.compile(r"w[wm]*(?:jw[wm]*)*|p[pm]*")
_PIECE = re.compile(r"w[wm]*")
_CHARACTER = re.compile(r".m*")
_JOINTS = frozenset("-./\\:@'\u2019#&+=~")

# Controls of directions part words, here as in the index.
_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question looks for: its terms, as the search made them of it, and the language that stems."""

    terms: Set[str]
    language: str


def spans(text: str, asked: Asked) -> list[Span]:
    """The stretches of `text` to mark, in order, apart from each other; code points [start, end)."""
    if not asked.terms:
        return []
    kinds = "".join(map(_kind, text))
    found: list[Span] = []
    for run in _RUN.finditer(kinds):
        for start, end in _in_run(text, kinds, run.span(), asked):
            if found and found[-1][1] >= start:
                found[-1] = (found[-1][0], max(found[-1][1], end))
            else:
                found.append((start, end))
    return found


def spelled(query: str, language: str) -> dict[str, str]:
    """The terms of a query with the words they were made of, as they stand there."""
    words: dict[str, str] = {}
    for run in _RUN.finditer("".join(map(_kind, query))):
        found = query[run.start() : run.end()]
        for token in tokens(found, language):
            for term in token.asked:
                # A run of a script without spaces, and the pieces of a compound, are their own spelling.
                words.setdefault(term, found if len(token.asked) == 1 and len(token.sequence) == 1 else term)
    return words


@lru_cache(maxsize=4096)
def _kind(char: str) -> str:
    if char in _JOINTS:
        return "j"
    if char in _DIRECTIONS:
        return "-"
    if char.isalnum() or char == "_":
        return "w"
    category = unicodedata.category(char)
    # Marks, joiners, and the skin tones of emoji.
    if category[0] == "M" or category == "Cf" or "\U0001f3fb" <= char <= "\U0001f3ff":
        return "m"
    return "p" if category[0] == "S" and not char.isascii() else "-"


def _in_run(text: str, kinds: str, run: Span, asked: Asked) -> Iterator[Span]:
    """The words asked for inside one run of letters and joints: all of it, or those of its pieces."""
    start, end = run
    whole = list(tokens(text[start:end], asked.language))
    # Where no spaces part the words, the first term of a run is its first pair and not the run.
    spaced = len(whole) == 1 and not _is_unspaced(text[start])
    if spaced and whole[0].asked[:1] and whole[0].asked[0] in asked.terms:
        yield run
        return
    for piece in _PIECE.finditer(kinds, start, end):
        yield from _in_piece(text, kinds, piece.span(), asked)


def _in_piece(text: str, kinds: str, piece: Span, asked: Asked) -> Iterator[Span]:
    characters = [found.span() for found in _CHARACTER.finditer(kinds, *piece)]
    unspaced = [_is_unspaced(text[start]) for start, _ in characters]
    if not any(unspaced):
        if _holds(text[piece[0] : piece[1]], asked):
            yield piece
        return
    yield from sorted(_in_unspaced(text, characters, unspaced, asked))


def _in_unspaced(text: str, characters: list[Span], unspaced: list[bool], asked: Asked) -> Iterator[Span]:
    """Where no spaces part the words, every pair of neighbours is a term; beside them, words as everywhere."""
    spaced: list[Span] = []
    for (start, end), flag in zip(characters, unspaced, strict=True):
        if flag and text[start:end] in asked.terms:
            yield start, end
    for (left, right), flags in zip(pairwise(characters), pairwise(unspaced), strict=True):
        if all(flags) and _holds(text[left[0] : right[1]], asked):
            yield left[0], right[1]
    for (start, end), flag in [*zip(characters, unspaced, strict=True), ((0, 0), True)]:
        if not flag:
            spaced.append((start, end))
        elif spaced:
            if _holds(text[spaced[0][0] : spaced[-1][1]], asked):
                yield spaced[0][0], spaced[-1][1]
            spaced = []


def _holds(word: str, asked: Asked) -> bool:
    return any(term in asked.terms for token in tokens(word, asked.language) for term in token.asked)


@lru_cache(maxsize=4096)
def _is_unspaced(char: str) -> bool:
    """Whether the search reads a run of this character pair by pair."""
    found = list(tokens(char * 2, "none"))
    return len(found) == 1 and len(found[0].sequence) == 2
