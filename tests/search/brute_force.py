"""Recall by hand: every row read, every rule spelled out in plain Python, nothing shared with the product but
the analyser and the constants. Slow on purpose.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from memoryconsole.scope import ReadScope
from memoryconsole.search import analyze, coverage, fuse, lexical
from memoryconsole.search.vectors import quantize

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MONTHS = [datetime(2026, month, 1).strftime("%B") for month in range(1, 13)]


@dataclass
class Row:
    """A stored row as the test made it."""

    kind: str
    number: int
    text: str
    digest: bytes
    instant: datetime | None = None
    project: str | None = ""
    channel: str | None = ""
    source: str = ""
    producers: tuple[str, ...] = ()
    vector: Sequence[float] | None = None
    terms: dict[str, int] = field(default_factory=dict)
    length: int = 0

    def __post_init__(self) -> None:
        found = analyze.index_terms(self.text, "english")
        self.terms, self.length = found.counts, found.length

    def holds(self, term: str) -> bool:
        return term in self.terms

    def lends(self, term: str) -> tuple[bool, int]:
        """(its producer's name has the term, how many of its dates are the term)."""
        names = {t for name in self.producers for t in analyze.index_terms(name, "english").counts}
        dates = []
        if self.instant is not None:
            moment = self.instant.astimezone(UTC)
            (month,) = analyze.index_terms(MONTHS[moment.month - 1], "english").counts
            dates = [moment.strftime("%Y"), moment.strftime("%Y-%m"), moment.strftime("%Y-%m-%d"), month]
        return term in names, dates.count(term)


def visible(row: Row, scope: ReadScope) -> bool:
    if scope.project_id is not None and row.project not in (scope.project_id, ""):
        return False
    if scope.channel and row.channel not in (scope.channel, ""):
        return False
    if scope.source_id:
        return row.source.startswith(scope.source_id) if row.kind == "mem" else bool(scope.channel)
    return True


@dataclass
class Judged:
    """What one row is worth."""

    row: Row
    own: int
    votes: int
    cues: int
    cosine: int | None
    coverage: int
    rare: bool
    marked: bool
    score: int = 0


def judge(
    rows: Sequence[Row], query: str, scope: ReadScope, cues: Iterable[str], asked: Sequence[float] | None
) -> tuple[list[Judged], int]:
    """Every row in scope that words or vectors reach, and the ideal score."""
    units = analyze.query_units(query, "english")
    df = {t: sum(row.holds(t) for row in rows) for unit in units for t in unit.terms}
    judged = []
    for row in rows:
        if not visible(row, scope):
            continue
        own = sum(idf(len(rows), df[t]) * impact(row.terms[t], row.length) for t in df if row.holds(t))
        lent = [row.lends(t) for t in df]
        votes = (lexical.PRODUCER_VOTE if any(by for by, _ in lent) else 0) + lexical.DATE_VOTE * sum(
            on for _, on in lent
        )
        covered, rare, marked = evidence(row, units, df, rows)
        judged.append(
            Judged(
                row,
                own=own,
                votes=lexical.ONCE * votes if own else 0,
                cues=sum(cue_score(row, rows, cue) for cue in cues),
                cosine=cosine(row.vector, asked),
                coverage=covered if own else 0,
                rare=rare,
                marked=marked,
            )
        )
    ideal = lexical.ONCE * sum(max(idf(len(rows), df[t]) for t in unit.terms) for unit in units)
    return [j for j in judged if j.own or j.cues or j.cosine is not None], ideal


def idf(total: int, df: int) -> int:
    return max(1, round(256 * math.log(1 + (total - df + 0.5) / (df + 0.5))))


def impact(count: int, length: int) -> int:
    count = min(count, 255)
    norm = 0.9 * (0.6 + 0.4 * min(length / 24, 10))
    return round(255 * count / (count + norm))


def cosine(vector: Sequence[float] | None, asked: Sequence[float] | None) -> int | None:
    if vector is None or asked is None:
        return None
    a, b = quantize(vector), quantize(asked)
    assert a is not None
    assert b is not None
    left, right = a.tolist(), b.tolist()
    dot = sum(x * y for x, y in zip(left, right, strict=True))
    return round(10_000 * dot / math.sqrt(sum(x * x for x in left) * sum(y * y for y in right)))


def cue_score(row: Row, rows: Sequence[Row], cue: str) -> int:
    wanted = analyze.phrase(cue, "english")
    if not wanted:
        return 0
    holders = [r for r in rows if contains(analyze.phrase(r.text, "english"), wanted)]
    return idf(len(rows), len(holders)) * impact(1, row.length) if row in holders else 0


def contains(words: Sequence[str], wanted: Sequence[str]) -> bool:
    return any(list(words[i : i + len(wanted)]) == list(wanted) for i in range(len(words)))


def evidence(
    row: Row, units: Sequence[analyze.Unit], df: dict[str, int], rows: Sequence[Row]
) -> tuple[int, bool, bool]:
    total = len(rows)
    asked = gained = 0
    rare = marked = False
    for unit in units:
        known = [t for t in unit.terms if df[t]]
        basis = unit.terms[1:] if unit.compound and unit.terms[0] not in known else unit.terms
        weights = {t: coverage.weight(total, df[t]) for t in basis}
        worth = max(weights.values())
        borrowed = {t for t in unit.terms if any(row.lends(t))}
        reached = [r for r in rows if any(r.holds(t) for t in df)]
        if not known and any(any(r.lends(t)) for r in reached for t in unit.terms):
            worth = min(worth, coverage.LENT_WEIGHT)
        asked += worth
        held = [t for t in unit.terms if row.holds(t)]
        for term in held:
            gained += worth * weights[term] // sum(weights.values())
            if 4 * weights[term] >= 3 * coverage.weight(total, 0):
                rare = True
                marked = marked or (unit.marked and term == unit.terms[0])
        if borrowed and not held:
            gained += worth
    return min(10_000, (10_000 * gained + asked // 2) // max(asked, 1)), rare, marked


def rank(judged: list[Judged], ideal: int, gate: fuse.Gate, limit: int) -> tuple[list[Judged], bool]:
    """The admitted rows in order, at most `limit`, and whether they are the fallback."""
    full = max(*(j.own + j.votes for j in judged), ideal // 2, 1) if judged else 1
    for j in judged:
        j.score = 10 * ((j.own + j.votes + j.cues) * 10_000 // full) + 4 * max(j.cosine or 0, 0)
    strong = [
        j
        for j in judged
        if j.coverage >= gate.strong_coverage or reaches(j.cosine, gate.strong_cosine) or j.marked
    ]
    if strong:
        passed = [
            j
            for j in judged
            if j in strong
            or j.coverage >= gate.floor_coverage
            or reaches(j.cosine, gate.floor_cosine)
            or j.rare
        ]
    else:
        passed = [j for j in judged if j.own]
    passed.sort(key=order)
    return passed[:limit], bool(passed) and not strong


def reaches(cosine: int | None, threshold: int) -> bool:
    return cosine is not None and cosine >= threshold


def order(j: Judged) -> tuple[object, ...]:
    when = (1, 0) if j.row.instant is None else (0, -((j.row.instant - EPOCH).total_seconds()))
    return -j.score, when, j.row.kind == "ep", j.row.digest[:8], j.row.number
