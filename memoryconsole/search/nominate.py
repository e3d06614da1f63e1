"""Nomination: which claims, passages, facts or entities may answer a query, as primary keys in order and nothing else.

A nominated row is a proposal: who reads it decides, in the same snapshot, whether it may be shown (contract:
context-bundle G). This is the port between the two, so that a test can nominate what would be refused.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np

from memoryconsole.folding import resolve_key
from memoryconsole.models import Store
from memoryconsole.models.search import Part
from memoryconsole.search import advisories
from memoryconsole.search.analyze import tokens
from memoryconsole.search.fuse import Gate
from memoryconsole.search.lexical import Ints
from memoryconsole.search.nominate_read import (
    SIMILARITY_SCALE,
    Near,
    Rows,
    read_few,
    read_near,
    read_nearest,
    read_nearly_named,
    read_part,
    read_rows,
)
from memoryconsole.search.retrieve import Query, comparable
from memoryconsole.search.texts import Kind
from memoryconsole.search.vectors import quantize
from memoryconsole.search.words import MAX_FOUND_BYTES, Words, few, read_words, words_among

# What can be nominated, and whose primary keys the ids are then: claims, records, facts, entities.
NominatedPart = Literal["claims", "chunks", "facts", "profiles"]
ChannelName = Literal["lexical", "semantic"]

# The score of a row in scope that a channel has nothing on: below every cosine and every nearly written name.
UNMATCHED = -10_001

_PLACES: dict[NominatedPart, tuple[Part, Kind]] = {
    "claims": (Part.CLAIM, "claim"),
    "chunks": (Part.RECALL, "record"),
    "facts": (Part.FACT, "fact"),
    "profiles": (Part.PROFILE, "entity"),
}
# Without a scope so many of the nearest rows are nominated: several times what is asked for, and no more where a whole
# store is near.
NEAREST = 2_000
# Words that nobody is called by and that are looked for as names misspelled: a question has one or two.
MAX_NEARLY = 16
# Three letters are as many trigrams as a word needs to be like another one.
_MIN_NEARLY_CHARS = 3


@dataclass(frozen=True, slots=True)
class Channel:
    """One ranking. `ids`: primary keys, best first, equal scores by number; each once. `scores`: one an id, falling.

    lexical: what the words are worth (BM25, above 0); up to 0: an entity whose name is nearly a word of the query,
    its similarity less one, in 1/10,000. semantic: the cosine in 1/10,000. Either: UNMATCHED.
    `cut`: more rows are near enough than were read, and these are the nearest.
    """

    name: ChannelName
    ids: Ints
    scores: Ints
    cut: bool = False

    @property
    def matched(self) -> int:
        """How many of the first ids the channel has something on."""
        return int((self.scores > UNMATCHED).sum())


@dataclass(frozen=True, slots=True)
class Nominations:
    """`channels`: lexical, then semantic where vectors could be compared. `bounded`: the query holds words of more rows
    than are read, and its commonest found none of their own (in a scope that moves rows and loses none). `advisory`:
    what is degraded, or None.
    """

    channels: tuple[Channel, ...]
    bounded: bool = False
    advisory: dict[str, Any] | None = None


class Nominator(Protocol):
    """The port. Called inside `snapshot()`."""

    def nominate(
        self, store: Store, query: Query, part: NominatedPart, *, among: Collection[int] | None
    ) -> Nominations:
        """Who may answer.

        `among`: primary keys of the rows in scope: every one of them is in every channel, unmatched ones last. None:
        the whole store is in scope, and only rows that match are nominated.
        """
        ...


class SearchNominator:
    """The product's own nominator: the words and the vectors of the one index.

    With `among` a word is as rare as it is among the rows in scope (above `words.MAX_ROWS` of them: in the part).
    Without it a row is nominated that holds a word of the query, or whose cosine is at or above the floor of
    recall's gate, the NEAREST of these: to every vector there is a nearest, and without a floor every row would be a
    candidate. Of entities, a name counts too of which a word of the query that nobody is called by is nearly one.

    Statements: one for a scope of at most `words.MAX_ROWS` rows (two where those are longer than
    `words.MAX_FOUND_BYTES`). Otherwise the part; the rows that hold words (one more in a part of more entries, two
    where their rows are longer); the vectors, where they can be compared; the rows that vectors alone found. And the
    names of entities, where a word of the query is nobody's.
    """

    def nominate(
        self, store: Store, query: Query, part: NominatedPart, *, among: Collection[int] | None
    ) -> Nominations:
        place, kind = _PLACES[part]
        near: Near | None = None
        scope: Rows | None
        if among is not None and few(among):
            asked = None if query.vector is None else quantize(query.vector)
            read = read_few(store, place, kind, among, asked, query.model, max_bytes=MAX_FOUND_BYTES)
            ground, scope, near = read.ground, read.rows, read.near
            words = words_among(store, ground, query.text, read.found)
        else:
            ground, scope = read_part(store, place, kind, among)
            words = read_words(store, ground, query.text, cue_terms=())
        nearly = []
        if part == "profiles":
            nearly = read_nearly_named(store, _nobodys(query.text, ground.language, words))
        channels = [_lexical(words, nearly, scope, among)]
        # Of an empty part nothing can be said, not even that its vectors are missing.
        vector, advisory = comparable(ground, query) if ground.total else (None, query.advisory)
        if vector is not None:
            if scope is None:
                near = read_nearest(store, ground, vector, floor=Gate().floor_cosine, most=NEAREST)
                unknown = np.setdiff1d(near.entries, words.found.ids)
                rows = _known(words).and_(read_rows(store, kind, unknown))
            else:
                near, rows = near or read_near(store, ground, vector), scope
            semantic = _ranked("semantic", *_scored(rows, near.entries, near.cosines), scope, among)
            channels.append(replace(semantic, cut=near.cut))
            missing = ground.in_scope - near.seen
            advisory = advisories.incomplete(missing) if missing else advisory
        bounded = advisories.bounded() if words.bounded else None
        return Nominations(tuple(channels), words.bounded, advisory or bounded)


def _lexical(
    words: Words, nearly: Sequence[tuple[int, int, int]], scope: Rows | None, among: Collection[int] | None
) -> Channel:
    rows, matches = _known(words), words.matches
    held = words.found.in_scope & (matches.own > 0) & (rows.ids > 0)
    ids, numbers = rows.ids[held], rows.numbers[held]
    scores = matches.own[held] + matches.votes[held]
    more = np.array(nearly, dtype=np.int64).reshape(-1, 3)
    more = more[~np.isin(more[:, 0], ids)]
    if scope is not None:
        more = more[np.isin(more[:, 0], scope.ids)]
    ids, numbers = np.concatenate([ids, more[:, 0]]), np.concatenate([numbers, more[:, 1]])
    scores = np.concatenate([scores, more[:, 2] - SIMILARITY_SCALE])
    return _ranked("lexical", ids, numbers, scores, scope, among)


def _ranked(
    name: ChannelName,
    ids: Ints,
    numbers: Ints,
    scores: Ints,
    scope: Rows | None,
    among: Collection[int] | None,
) -> Channel:
    """A channel of the rows matched, and behind them of all the others in scope."""
    if scope is not None and among is not None:
        rest = ~np.isin(scope.ids, ids)
        ids, numbers = np.concatenate([ids, scope.ids[rest]]), np.concatenate([numbers, scope.numbers[rest]])
        # A row in scope that the index does not hold has no number here.
        lost = np.setdiff1d(np.fromiter(among, dtype=np.int64), ids)
        ids, numbers = np.concatenate([ids, lost]), np.concatenate([numbers, np.full(len(lost), _LAST)])
        scores = np.concatenate([scores, np.full(len(ids) - len(scores), UNMATCHED, dtype=np.int64)])
    order = np.lexsort((ids, numbers, -scores))
    return Channel(name, ids[order], scores[order])


_LAST = np.iinfo(np.int64).max


def _known(words: Words) -> Rows:
    """The rows behind the entries that hold words. Of another kind: 0."""
    found = words.found
    if found.rows is None or found.numbers is None:
        raise LookupError("the rows were not read along with the words")
    return Rows(found.ids, found.rows, found.numbers)


def _scored(rows: Rows, entries: Ints, cosine: Ints) -> tuple[Ints, Ints, Ints]:
    """(primary keys, numbers, cosines) of the entries whose rows are of the kind asked for."""
    found, at = rows.of(entries)
    real = found.ids > 0
    return found.ids[real], found.numbers[real], cosine[at][real]


def _nobodys(text: str, language: str, words: Words) -> list[str]:
    """The words of a query that no profile holds in any form, folded as names are."""
    matches = words.matches
    held = {term for term, df in zip(matches.terms, matches.df.tolist(), strict=True) if df}
    found: dict[str, None] = {}
    for word in text.split():
        read = list(tokens(word, language))
        asked = {term for token in read for term in token.asked}
        if not any(token.stop for token in read) and held.isdisjoint(asked):
            found[resolve_key(word)] = None
    return [word for word in found if len(word) >= _MIN_NEARLY_CHARS][:MAX_NEARLY]
