"""What a trace says of each row the search looked at, with the question's words as they were written. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memoryconsole.pages.marks import Asked, spelled
from memoryconsole.pages.saying import Part, Said, ordinal, plural, share
from memoryconsole.pages.saying import Word as Spelled

# Words of one row that a sentence names; the others are counted.
WORDS_NAMED = 6


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the question: as it was written, and how many rows of how many held it."""

    text: str
    rows: int
    total: int
    # Looked for, although the row's text need not hold it: its producer or its date does.
    lent: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """A row as the search had it. `rank`: from 1; `of`: how many candidates. Shares and cosines in 1/10,000."""

    ref: str
    rank: int
    of: int
    score: int
    own: int
    votes: int
    cues: int
    cosine: int | None
    coverage: int
    rare: bool
    marked: bool
    words: tuple[Word, ...]

    @property
    def notes(self) -> list[str]:
        """What beside its words speaks for the row."""
        return [
            note
            for note, holds in (
                ("holds the rarest", self.rare),
                ("the exact code asked for", self.marked),
                (f"its producer or date adds {self.votes:,}", self.votes),
                (f"declared names add {self.cues:,}", self.cues),
            )
            if holds
        ]

    @property
    def sentence(self) -> Said:
        """How the search came to the row, for a reader who never saw a score."""
        said: list[Part] = [f"{ordinal(self.rank)} of {plural(self.of, 'candidate')}"]
        for place, word in enumerate(self.words[:WORDS_NAMED]):
            said += ["; holds " if place == 0 else ", ", Spelled(word.text)]
        more = len(self.words) - WORDS_NAMED
        if more > 0:
            said.append(f" and {more} more")
        if self.cues:
            said.append("; holds a declared name")
        if self.cosine is not None:
            said.append(f"; nearness in meaning {share(self.cosine)}")
        return tuple(said)


def asked_of(seen: Mapping[str, Any]) -> Asked | None:
    """What the question of a trace looks for in texts; None for a blank one, and for a refusal."""
    weighing = seen.get("search", {}).get("weighing")
    if not weighing:
        return None
    return Asked(frozenset(term for term, _ in weighing["df"]), weighing["language"])


def words_of(seen: Mapping[str, Any], query: str) -> list[Word]:
    """The words the search looked for, in the order of its terms."""
    weighing = seen["search"]["weighing"]
    if not weighing:
        return []
    written = spelled(query, weighing["language"])
    lent = set(weighing["lent"])
    return [Word(written.get(term, term), df, weighing["total"], term in lent) for term, df in weighing["df"]]


def read(rows: list[Any], words: list[Word]) -> list[Evidence]:
    """The rows of `seen["candidates"]` (or `behind`, `below`), ranked as they stand."""
    found = []
    for rank, row in enumerate(rows, start=1):
        ref, score, own, votes, cues, cosine, coverage, rare, is_marked, places = row
        found.append(
            Evidence(
                ref=ref, rank=rank, of=len(rows), score=score, own=own, votes=votes, cues=cues, cosine=cosine,
                coverage=coverage, rare=rare, marked=is_marked, words=tuple(words[place] for place in places),
            )
        )  # fmt: skip
    return found
