"""The lexical leg: the query's words and the declared aliases it brings along, looked up and scored."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate

import numpy as np

from memoryconsole.models import Store
from memoryconsole.search.analyze import occurs, phrase, phrase_terms, query_units
from memoryconsole.search.frequencies import frequencies
from memoryconsole.search.lexical import Found, Ints, Matches, holding, idf, impacts, key, match
from memoryconsole.search.read import Ground, read_found, read_texts
from memoryconsole.search.texts import salt

# Exact to here: every row that holds a word of the query is scored. In a larger store a query's commonest
# words may find no rows of their own (they still count in rows that others find), and the answer says that it
# was bounded.
MAX_ROWS = 20_000
# The same guard for long texts, in bytes of forward lists: a hundred texts of the largest size, or twenty
# thousand of three hundred different words, and then the shortest rows first. A request needs four times this.
MAX_FOUND_BYTES = 32_000_000
# Texts in which phrases are looked for, in bytes: about a third of a second of analysis.
MAX_TEXT_BYTES = 1_000_000
# A query is read to here: more is a document, and its first thousand words say what it is about.
MAX_UNITS = 1_000


@dataclass(frozen=True, slots=True)
class Words:
    """`cues`: what declared aliases add to each row. `cue_df`: how many rows hold each alias, in the order given.
    `bounded`: a constant of this module was reached.
    """

    found: Found
    matches: Matches
    cues: Ints
    cue_df: tuple[int, ...]
    bounded: bool

    def of_session(self, which: int) -> "Words":
        """The same, with only the session's records (RECORDS) or its summaries (SUMMARIES) in scope."""
        if self.found.inside is None:
            raise LookupError("the session was not read along with the words")
        return replace(self, found=replace(self.found, in_scope=self.found.inside == which))


@dataclass(frozen=True, slots=True)
class _Cue:
    sequence: tuple[str, ...]
    keys: tuple[int, ...]


def read_words(store: Store, ground: Ground, text: str, cue_terms: Sequence[str]) -> Words:
    """One statement; at most one more above MAX_ROWS, two more above MAX_FOUND_BYTES, and one more for aliases of
    several words.
    """
    every = query_units(text, ground.language)
    units = every[:MAX_UNITS]
    salted = salt(store, ground.part)
    cues = [_cue(salted, term, ground.language) for term in cue_terms]
    keys = {term: key(salted, term) for unit in units for term in unit.terms}
    common, fits = _common(store, ground, keys) if ground.total > MAX_ROWS else ({}, False)
    look = partial(
        read_found, store, ground, phrases=[cue.keys for cue in cues if cue.keys], max_bytes=MAX_FOUND_BYTES
    )
    found, whole = look(_wanted(keys, common), fits=fits and not cues)
    if not whole:
        common = common or _common(store, ground, keys)[0]
        found, _ = look(_wanted(keys, common), shortest=True)
    voices, cue_df, heard = _cue_scores(store, ground, found, cues)
    return Words(
        found=found,
        matches=match(found, units, total=ground.total, salt=salted, at_least=common),
        cues=voices,
        cue_df=cue_df,
        bounded=bool(common) or not whole or not heard or len(every) > MAX_UNITS,
    )


def few(among: Collection[int] | None) -> bool:
    """Whether a scope given by its rows is small enough to be read whole."""
    return among is not None and len(among) <= MAX_ROWS


def words_among(store: Store, ground: Ground, text: str, read: Found | None) -> Words:
    """The query's words in the entries in scope, MAX_ROWS at most: these are `read` whatever they hold, and a term is
    as rare as it is among them. Nothing is read of the rest, so that a question about a few rows costs what they cost.

    No statement; one for the shortest of them, where `read` is None since they are longer than MAX_FOUND_BYTES.
    """
    every = query_units(text, ground.language)
    units = every[:MAX_UNITS]
    scope = [] if ground.scope is None else ground.scope.tolist()
    found, whole = read, True
    if found is None:
        found, whole = read_found(store, ground, (), (), also=scope, max_bytes=MAX_FOUND_BYTES, shortest=True)
    return Words(
        found=found,
        matches=match(found, units, total=len(scope), salt=salt(store, ground.part)),
        cues=np.zeros(len(found.ids), dtype=np.int64),
        cue_df=(),
        bounded=not whole or len(every) > MAX_UNITS,
    )


def _common(store: Store, ground: Ground, keys: dict[str, int]) -> tuple[dict[str, int], bool]:
    """(the terms that find no rows, with their frequencies: the commonest, until the others find MAX_ROWS
    and MAX_FOUND_BYTES at most; whether the others do).

    The rarest term that occurs is always looked for, whatever it finds.
    """
    counted = frequencies(store, ground, list(keys.values()), cap=MAX_ROWS + 1)
    ordered = sorted((*counted[hashed], term) for term, hashed in keys.items() if counted[hashed][0])
    rows = accumulate(entries for entries, _, _ in ordered)
    sizes = accumulate(size for _, size, _ in ordered)
    over = [row > MAX_ROWS or size > MAX_FOUND_BYTES for row, size in zip(rows, sizes, strict=True)]
    common = {term: entries for (entries, _, term), cut in list(zip(ordered, over, strict=True))[1:] if cut}
    return common, not any(over[:1])


def _wanted(keys: dict[str, int], common: dict[str, int]) -> list[int]:
    return [hashed for term, hashed in keys.items() if term not in common]


def _cue(salted: int, term: str, language: str) -> _Cue:
    keys = dict.fromkeys(key(salted, word) for word in phrase_terms(term, language))
    return _Cue(phrase(term, language), tuple(keys))


def _cue_scores(
    store: Store, ground: Ground, found: Found, cues: Sequence[_Cue]
) -> tuple[Ints, tuple[int, ...], bool]:
    """(what each row's phrases are worth, how many rows hold each, whether every text that may hold one was read).
    A phrase counts as a word that occurs once, as rare as the phrase is.
    """
    scores = np.zeros(len(found.ids), dtype=np.int64)
    held = [holding(found, cue.keys) if cue.keys else scores > 0 for cue in cues]
    # The words of a phrase may lie apart: only the text tells.
    doubtful = [rows for cue, rows in zip(cues, held, strict=True) if len(cue.keys) > 1]
    unsure = found.ids[np.logical_or.reduce(doubtful)] if doubtful else found.ids[:0]
    read = read_texts(store, ground, unsure, max_bytes=MAX_TEXT_BYTES) if doubtful else {}
    texts = {pk: phrase(text, ground.language) for pk, text in read.items()}
    once = impacts(np.ones(len(found.ids), dtype=np.int64), found.lengths)
    for cue, rows in zip(cues, held, strict=True):
        if len(cue.keys) > 1:
            rows[rows] = [occurs(cue.sequence, texts.get(pk, ())) for pk in found.ids[rows].tolist()]
        scores += np.where(rows, idf(ground.total, int(rows.sum())) * once, 0)
    return scores, tuple(int(rows.sum()) for rows in held), len(read) == len(unsure)
