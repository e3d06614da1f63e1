"""Which rows hold a query's words, and what that is worth: BM25 in integers. Pure: arrays in, arrays out.

Theory of operation. An entry keeps its terms twice. `keys`, 64-bit hashes salted with the store, are what the
database finds it by. `forward` is a packed list of (low 32 bits of the key, frequency), which is what it is
scored from here, exactly, for every row found. Nothing is cut off before scoring, so the order is that of a
full scan.

All sums are integers: float sums depend on the order in which rows happen to be read, and with it the
ranking.

An entry also holds votes, under marked terms that no query finds by: who produced the text and when. They
raise rows that already hold a word of the query (LoCoMo, five conversations: macro nDCG@10 43.2 without
votes, 47.2 with the producer's, 47.9 with the date's too).
"""

import hashlib
import math
import struct
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memoryconsole.search.analyze import Unit, index_terms
from memoryconsole.search.coverage import Evidence, cover

Ints = NDArray[np.int64]

# BM25. k1 and b as usual for short texts. The average length is a constant and not the store's, so that a
# row's worth depends on nothing but the row; 24 words is a spoken turn (measured: 16 and 34 move nDCG by less
# than 1).
K1, B, AVERAGE_LENGTH = 0.9, 0.4, 24
# A text longer than this many averages is treated as this long: it holds many subjects, each of them in a
# part of it.
LENGTH_CAP = 10
# Impacts are scaled to one byte, idf by this factor: sums stay exact in 64 bits for any query.
IMPACT_SCALE, IDF_SCALE = 255, 256
MAX_FREQUENCY = 255

# Votes are worth a word found in every seventh row (idf 2), and one in every third (idf 1), at average
# length.
PRODUCER_VOTE, DATE_VOTE = 2 * IDF_SCALE, 1 * IDF_SCALE
_PRODUCER, _DATE = "by\x1f", "on\x1f"
# English only: other languages meet the year and the numeric dates.
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
           "november", "december")  # fmt: skip

# Where an entry is, seen from a session.
OUTSIDE, RECORDS, SUMMARIES = 0, 1, 2

_ITEM = struct.Struct("<IB")
_FORWARD = np.dtype([("term", "<u4"), ("count", "u1")])
FORWARD_BYTES = _FORWARD.itemsize


@lru_cache(maxsize=262_144)
def key(salt: int, term: str) -> int:
    """The 64-bit key of a term in one part of one store (signed, as PostgreSQL's bigint). Equal in every process."""
    digest = hashlib.blake2b(
        term.encode("utf-8", "surrogatepass"), digest_size=8, key=salt.to_bytes(8, "little")
    )
    return int.from_bytes(digest.digest(), "little", signed=True)


def votes(producers: Iterable[str], instant: datetime | None, language: str) -> set[str]:
    """The marked terms of who produced a text (names and ids) and when (UTC)."""
    marked = {_PRODUCER + term for name in producers for term in _name_terms(name, language)}
    if instant is not None:
        moment = instant.astimezone(UTC)
        marked |= {_DATE + f"{moment:%Y}", _DATE + f"{moment:%Y-%m}", _DATE + f"{moment:%Y-%m-%d}"}
        if language == "english":
            marked |= {_DATE + term for term in _name_terms(_MONTHS[moment.month - 1], language)}
    return marked


@lru_cache(maxsize=4096)
def _name_terms(name: str, language: str) -> tuple[str, ...]:
    return tuple(index_terms(name, language).counts)


def pack(salt: int, counts: Mapping[str, int], marked: Iterable[str] = ()) -> tuple[list[int], bytes]:
    """(keys, forward) of an entry. Both sorted, so that they depend on the terms alone."""
    keys = {key(salt, term): count for term, count in counts.items()}
    items = {low(hashed): min(count, MAX_FREQUENCY) for hashed, count in keys.items()}
    for term in marked:
        items.setdefault(low(key(salt, term)), 1)
    return sorted(keys), b"".join(_ITEM.pack(term, count) for term, count in sorted(items.items()))


def idf(total: int, df: int) -> int:
    """A term's rarity among `total` live rows, `df` of which hold it; at least 1, so that a match always
    counts.
    """
    return max(1, round(IDF_SCALE * math.log(1 + (total - df + 0.5) / (df + 0.5))))


def impacts(counts: Ints, lengths: Ints) -> Ints:
    """What an occurrence count is worth in a text of that length: 0..255, saturating."""
    norm = K1 * (1 - B + B * np.minimum(lengths / AVERAGE_LENGTH, LENGTH_CAP))
    return np.rint(IMPACT_SCALE * counts / (counts + norm)).astype(np.int64)


# One occurrence in a text of average length: what a vote, and the ideal row's every word, counts.
ONCE = int(impacts(np.array([1]), np.array([AVERAGE_LENGTH]))[0])


@dataclass(frozen=True, slots=True)
class Found:
    """Entries as columns, one element an entry: every live entry of the store that holds a wanted term.

    `sizes`: items of each entry's forward list. `forward`: those lists, one after another, in the same order.
    `rows`, `numbers`: the rows' primary keys (0: a row of another kind) and public numbers, where they were asked for.
    `inside`: OUTSIDE the session that was asked for, or one of its RECORDS or SUMMARIES.
    """

    ids: Ints
    lengths: Ints
    sizes: Ints
    in_scope: NDArray[np.bool_]
    forward: bytes
    rows: Ints | None = None
    numbers: Ints | None = None
    inside: Ints | None = None

    @classmethod
    def of(cls, heads: NDArray[Any], forward: bytes | None, in_scope: NDArray[np.bool_]) -> "Found":
        """From the columns id, length and bytes (of the forward list), and row, number and inside where they are."""

        def column(name: str) -> Ints | None:
            return heads[name].astype(np.int64) if name in (heads.dtype.names or ()) else None

        return cls(
            ids=heads["id"].astype(np.int64),
            lengths=heads["length"].astype(np.int64),
            sizes=heads["bytes"].astype(np.int64) // FORWARD_BYTES,
            in_scope=in_scope,
            forward=bytes(forward or b""),
            rows=column("row"),
            numbers=column("number"),
            inside=column("inside"),
        )


@dataclass(frozen=True, slots=True)
class Hits:
    """Occurrences of wanted terms: the row of `Found`, the term's place in the list, how often."""

    rows: Ints
    terms: Ints
    counts: Ints

    def where(self, mask: NDArray[np.bool_]) -> "Hits":
        return Hits(self.rows[mask], self.terms[mask], self.counts[mask])


@dataclass(frozen=True, slots=True)
class Matches:
    """What the words say, one element a row of `Found`.

    `own`: BM25 over the row's own words; 0 where it holds none. `votes`: what producer and date add to that.
    `evidence`: how much of the query it holds (`coverage.py`).
    `ideal`: what a row of average length with every word of the query once would have. `df`: how many rows of the
    store hold each term. `lent`: the terms that the producer or date of some row lends it.
    """

    own: Ints
    votes: Ints
    evidence: Evidence
    ideal: int
    terms: tuple[str, ...]
    df: Ints
    lent: tuple[str, ...]
    idfs: Ints
    hits: Hits

    def words(self, rows: Ints) -> list[tuple[tuple[str, int], ...]]:
        """Of each given row, the query's words that it holds, with their idf, rarest first; none of a row -1."""
        wanted = np.zeros(len(self.own), dtype=np.bool_)
        wanted[rows[rows >= 0]] = True
        kept = self.hits.where(wanted[self.hits.rows])
        held: dict[int, list[tuple[str, int]]] = {}
        for row, term in zip(kept.rows.tolist(), kept.terms.tolist(), strict=True):
            held.setdefault(row, []).append((self.terms[term], int(self.idfs[term])))
        return [
            tuple(sorted(held.get(row, ()), key=lambda word: (-word[1], word[0]))) for row in rows.tolist()
        ]


def look_up(found: Found, wanted: Sequence[int]) -> Hits:
    """The occurrences of `wanted` (32-bit terms) in the forward lists. Two equal terms: the first place is
    given.
    """
    items = np.frombuffer(found.forward, dtype=_FORWARD)
    hashes = items["term"]
    # Almost no item is wanted: a table over the low 16 bits discards the rest without a search.
    table = np.zeros(65_536, dtype=np.bool_)
    order = np.argsort(np.array(wanted, dtype=np.uint32), kind="stable")
    ordered = np.array(wanted, dtype=np.uint32)[order]
    table[ordered & 0xFFFF] = True
    places = np.flatnonzero(table[hashes & 0xFFFF])
    at = np.minimum(np.searchsorted(ordered, hashes[places]), len(ordered) - 1)
    real = ordered[at] == hashes[places]
    places, at = places[real], at[real]
    rows = np.searchsorted(np.cumsum(found.sizes), places, side="right")
    return Hits(rows.astype(np.int64), order[at].astype(np.int64), items["count"][places].astype(np.int64))


def match(
    found: Found,
    units: Sequence[Unit],
    *,
    total: int,
    salt: int,
    at_least: Mapping[str, int] | None = None,
    lent_elsewhere: Collection[str] = (),
) -> Matches:
    """Score every found row against the query's units. `total`: live entries of the store. `at_least`:
    frequencies of terms that were not looked for, so that not all of their rows are here. `lent_elsewhere`: terms
    that the producers or dates of rows not here lend.
    """
    terms = tuple(dict.fromkeys(term for unit in units for term in unit.terms))
    size, rows = len(terms), len(found.ids)
    spelled = [prefix + term for prefix in ("", _PRODUCER, _DATE) for term in terms]
    every = look_up(found, [low(key(salt, term)) for term in spelled])
    hits = every.where(every.terms < size)
    df = np.bincount(hits.terms, minlength=size)
    for term, frequency in (at_least or {}).items():
        df[terms.index(term)] = max(df[terms.index(term)], frequency)
    idfs = np.array([idf(total, int(count)) for count in df], dtype=np.int64)
    own = _sum(hits.rows, idfs[hits.terms] * impacts(hits.counts, found.lengths[hits.rows]), rows)
    produced = every.rows[(every.terms >= size) & (every.terms < 2 * size)]
    dated = every.rows[every.terms >= 2 * size]
    voices = PRODUCER_VOTE * (np.bincount(produced, minlength=rows) > 0)
    # Not from rows that only an alias found: they must not change what others are worth.
    lent = every.where((every.terms >= size) & (own[every.rows] > 0))
    evidence = cover(
        units, terms, df, total=total, rows=rows,
        held=_by_term(hits.rows, hits.terms, size), lent=_by_term(lent.rows, lent.terms % max(size, 1), size),
        lent_elsewhere={terms.index(term) for term in lent_elsewhere},
    )  # fmt: skip
    return Matches(
        own=own,
        votes=np.where(own > 0, ONCE * (voices + DATE_VOTE * np.bincount(dated, minlength=rows)), 0),
        evidence=evidence,
        ideal=ONCE * sum(max(int(idfs[terms.index(term)]) for term in unit.terms) for unit in units),
        terms=terms,
        df=df,
        lent=tuple(terms[place] for place in np.unique(lent.terms % max(size, 1)).tolist()),
        idfs=idfs,
        hits=hits,
    )


def holding(found: Found, keys: Sequence[int]) -> NDArray[np.bool_]:
    """Which found rows hold every one of these keys (at least one is given)."""
    hits = look_up(found, [low(value) for value in keys])
    return np.bincount(hits.rows, minlength=len(found.ids)) == len(set(keys))


def low(hashed: int) -> int:
    """The part of a key that the forward list holds."""
    return hashed & 0xFFFFFFFF


def _sum(rows: Ints, values: Ints, size: int) -> Ints:
    # bincount adds in float64: exact, because every partial sum is a whole number below 2**53.
    return np.bincount(rows, weights=values, minlength=size).astype(np.int64)


def _by_term(rows: Ints, terms: Ints, size: int) -> list[Ints]:
    """The rows of each term."""
    order = np.argsort(terms, kind="stable")
    bounds = np.cumsum(np.bincount(terms, minlength=size))[:-1]
    return np.split(rows[order], bounds) if size else []
