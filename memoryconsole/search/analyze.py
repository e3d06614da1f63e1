"""Text to terms: what recall calls a word. Pure: values in, values out, no settings, no database.

Rule 1: nothing here changes what is stored or quoted; folding exists in the index only.
Rule 2: the same text gives the same terms wherever they are computed. A change to any rule of this file or of
stopwords.py raises ANALYZER, and entries written by another version are indexed again.

How a text is read. It is normalised (NFKC), so that composed, decomposed, full-width and ligature spellings
meet, and cut into tokens: runs of letters, digits and marks held together by single joints (`-`, `.`, `/`,
`_`, `'` ...), and emoji. A plain word gives its stem. A compound (`PO-7741`, `/var/log`, `getUserName`) gives
its whole and its pieces. A run of a script that writes no spaces gives every pair of neighbouring characters,
and every character. Case and accents are folded; accents after stemming, where the language's stemmer reads
them.
"""

import re
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import snowballstemmer

from memoryconsole.search.stopwords import STOP_WORDS

ANALYZER = 1

# Longer runs are data (base64, minified code), not words that anyone types: their first characters stand for
# them.
MAX_TERM_CHARS = 64


def _class(*categories: str) -> str:
    """The code points below U+20000 of these general categories, as the inside of a character class."""
    spans: list[tuple[int, int]] = []
    for code in range(0x20000):
        if unicodedata.category(chr(code)) in categories:
            if spans and spans[-1][1] == code - 1:
                spans[-1] = (spans[-1][0], code)
            else:
                spans.append((code, code))
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in spans)


# `\w` leaves marks out, which would cut Thai, Hindi and Arabic words in pieces.
_MARKS = _class("Mn", "Mc", "Me")
_W = rf"[\w{_MARKS}]"
_PICTURE = rf"[{_class('So')}][\U0001f3fb-\U0001f3ff]*"
_TOKEN = re.compile(
    # An emoji with its skin tone, and what it is joined to.
    rf"(?P<picture>{_PICTURE}(?:\u200d{_PICTURE})*)"
    # A word or compound: a comma joins digits only; C++ and C# keep their sign.
    rf"|{_W}+(?:(?:://|[-./\\:@'#&+=~]|(?<=\d),(?=\d)){_W}+)*(?:(?:\+\+|\#)(?!{_W}))?"
)
_PIECE = re.compile(rf"(?:[^\W_]|[{_MARKS}])+")
# Inside a piece: lower|Upper, and letters|digits where both sides are long enough to be meant.
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[^\W\d_]{2})(?=\d\d)|(?<=\d\d)(?=[^\W\d_]{2})")
# How the character before them is drawn, where a line may break: never a part of a word.
_SILENT = re.compile("[\u00ad\u200b\u2060\u20e3\ufe00-\ufe0f]")
# Scripts written without spaces, and Hangul, whose particles are glued to the word.
_HAN_KANA = (
    r"\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
)
_HANGUL = r"\u1100-\u11ff\u3131-\u318e\ua960-\ua97f\uac00-\ud7ff"
_SOUTHEAST = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_UNSPACED = re.compile(rf"([{_HAN_KANA}]+|[{_HANGUL}]+|[{_SOUTHEAST}]+)")
# What English hangs on a word with an apostrophe: the word before it is the word. "n't" belongs to it,
# though.
_CLITICS = frozenset({"s", "d", "m", "ll", "re", "ve"})
# Accents of Latin, Greek and Cyrillic; Hebrew points; Arabic vowel signs and the stroke that only stretches.
_ACCENTS = re.compile(r"[\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]")
# Languages whose own words have no accents: there "résumé" and "resume" must have one stem.
_WITHOUT_ACCENTS = frozenset({"english"})


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a text.

    `asked`: the terms a query looks for, the whole of a compound first.
    `indexed`: the terms an entry is found by: those, and the single characters of an unspaced run.
    `sequence`: its smallest words in order, for comparing phrases and counting length.
    `marked`: it looks like an identifier: digits beside letters or joints, an address, a path.
    `stop`: a word questions are asked with (`stopwords.py`).
    """

    asked: tuple[str, ...]
    indexed: tuple[str, ...]
    sequence: tuple[str, ...]
    marked: bool = False
    stop: bool = False

    @property
    def is_compound(self) -> bool:
        return len(self.asked) == len(self.sequence) + 1


@dataclass(frozen=True, slots=True)
class Terms:
    """What an entry is indexed by. `counts`: how often each term occurs (at least 1). `length`: its words."""

    counts: dict[str, int]
    length: int


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing a query asks for, which a row holds or does not: a word, a pair of characters, or a compound.

    `terms`: of a compound, its whole and then its pieces (`compound`); otherwise the one term.
    """

    terms: tuple[str, ...]
    compound: bool = False
    marked: bool = False


def tokens(text: str, language: str) -> Iterator[Token]:
    """The tokens of a text, in order. `language` names a Snowball stemmer; an unknown name stems nothing."""
    for match in _TOKEN.finditer(_SILENT.sub("", unicodedata.normalize("NFKC", text)).replace("\u2019", "'")):
        found = match.group()
        if match["picture"]:
            yield _picture(found)
        elif found.isascii() or not _UNSPACED.search(found):
            yield from _word(found, language)
        else:
            for run in _UNSPACED.split(found):
                yield from (_run(run),) if _UNSPACED.fullmatch(run) else _word(run, language)


def index_terms(text: str, language: str) -> Terms:
    """What a text is indexed by. Stop words are among its terms: a query of nothing else must find it."""
    counts: dict[str, int] = {}
    length = 0
    for token in tokens(text, language):
        for term in token.indexed:
            counts[term] = counts.get(term, 0) + 1
        length += len(token.sequence)
    return Terms(counts, length)


def query_units(text: str, language: str, *, keep_stops: bool = False) -> tuple[Unit, ...]:
    """What a query asks for, each thing once, in order. Stop words only when there is nothing else, or
    `keep_stops`.
    """
    found = list(tokens(text, language))
    kept = found if keep_stops else [token for token in found if not token.stop] or found
    units: dict[Unit, None] = {}
    for token in kept:
        if token.is_compound:
            units[Unit(token.asked, compound=True, marked=token.marked)] = None
        else:
            units.update((Unit((term,), marked=token.marked), None) for term in token.asked)
    return tuple(units)


def phrase(text: str, language: str) -> tuple[str, ...]:
    """The smallest words of a text, in order: a phrase occurs where its sequence occurs without a gap."""
    return tuple(term for token in tokens(text, language) for term in token.sequence)


def phrase_terms(text: str, language: str) -> tuple[str, ...]:
    """Terms that every text in which a phrase occurs is indexed by."""
    return tuple(
        term
        for token in tokens(text, language)
        for term in (token.sequence if token.is_compound else token.asked)
    )


def occurs(wanted: Sequence[str], sequence: Sequence[str]) -> bool:
    """Whether a phrase (not empty) lies in a sequence of words without a gap."""
    size = len(wanted)
    return any(
        sequence[place : place + size] == wanted
        for place in range(len(sequence) - size + 1)
        if sequence[place] == wanted[0]
    )


@lru_cache(maxsize=65_536)
def _word(found: str, language: str) -> tuple[Token, ...]:
    pieces = _PIECE.findall(found)
    if not pieces:
        return ()
    if "'" in found and len(pieces) > 1 and pieces[-1].casefold() in _CLITICS:
        pieces = pieces[:-1]
        found = found[: found.rindex("'")]
    parts = [part for piece in pieces for part in _HUMP.split(piece)]
    joined = "".join(parts)
    stops = STOP_WORDS.get(language, frozenset())
    stop = _fold(joined) in stops or all(_fold(part) in stops for part in parts)
    if len(parts) == 1 and found.strip("-./\\:@'&=~_,") == joined:
        term = (_term(joined, language),)
        return (Token(term, term, term, marked=_is_number_or_code(joined), stop=stop),)
    sequence = tuple(_term(part, language) for part in parts)
    if stop and pieces[-1].casefold() == "t":
        term = (_term(joined, language),)
        return (Token(term, term, term, stop=True),)
    # e-mail meets email, O'Brien meets obrien, getUserName meets getusername; other joints stay in the whole.
    plain = joined.isalpha() and not set(found) - set(joined) - set("-'_")
    whole = _term(joined, language) if plain else _bare(_fold(found).replace(",", ""))
    terms = (whole, *sequence)
    return (Token(terms, terms, sequence, marked=not plain and _is_marked(found), stop=stop),)


def _is_number_or_code(word: str) -> bool:
    digits = sum(character.isdigit() for character in word)
    return digits >= 5 or (digits >= 2 and digits < len(word))


def _is_marked(compound: str) -> bool:
    return (
        any(character.isdigit() or character in "@\\_" for character in compound) or compound.count("/") > 1
    )


def _picture(found: str) -> Token:
    pictures = tuple(part for part in re.split("[\u200d\U0001f3fb-\U0001f3ff]+", found) if part)
    if len(pictures) == 1:
        return Token(pictures, pictures, pictures)
    terms = ("\u200d".join(pictures), *pictures)
    return Token(terms, terms, pictures)


def _run(found: str) -> Token:
    characters = tuple(_fold(found))
    if len(characters) == 1:
        return Token(characters, characters, characters)
    pairs = tuple(map("".join, pairwise(characters)))
    return Token(pairs, pairs + characters, characters)


def _fold(word: str) -> str:
    """Case folded, and normalised again, since folding may undo it."""
    return unicodedata.normalize("NFKC", word.casefold())


def _term(word: str, language: str) -> str:
    folded = _fold(word)
    if any(map(str.isdigit, folded)):
        return _bare(folded)
    if language in _WITHOUT_ACCENTS:
        return _stem(_bare(folded), language)
    return _bare(_stem(folded, language))


def _bare(folded: str) -> str:
    """Without accents, the Turkish dotless i as any other, cut."""
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", folded)).replace("\u0131", "i")
    return unicodedata.normalize("NFC", bare or folded)[:MAX_TERM_CHARS]


_stemmers = threading.local()


def _stem(word: str, language: str) -> str:
    # A stemmer keeps state while it works: one per thread.
    stemmer = getattr(_stemmers, language, None)
    if stemmer is None:
        if language not in snowballstemmer.algorithms():
            return word
        stemmer = snowballstemmer.stemmer(language)
        setattr(_stemmers, language, stemmer)
    return str(stemmer.stemWord(word))
