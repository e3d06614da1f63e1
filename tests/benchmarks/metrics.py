"""What a ranking is worth, and how sure that is. Pure."""

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

DEPTHS = (5, 10, 20)
# Resamples of a bootstrap: the ends of a 90 % interval then move by less than the interval's own meaning.
RESAMPLES = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One question's answer, measured. All between 0 and 1."""

    conversation: str
    category: int
    ndcg10: float
    recall: dict[int, float]
    session_hit10: float


def judge(
    ranked: Sequence[str],
    gold: Iterable[str],
    *,
    conversation: str,
    category: int,
    session_of: Callable[[str], str],
) -> Judged:
    """Measure a ranking (best first, no id twice) against the ids that answer the question (at least one)."""
    wanted = set(gold)
    gains = [1.0 if found in wanted else 0.0 for found in ranked[:10]]
    best = [1.0] * min(10, len(wanted))
    sessions = {session_of(found) for found in ranked[:10]}
    return Judged(
        conversation=conversation,
        category=category,
        ndcg10=dcg(gains) / dcg(best),
        recall={depth: len(wanted & set(ranked[:depth])) / len(wanted) for depth in DEPTHS},
        session_hit10=float(any(session_of(found) in sessions for found in wanted)),
    )


def dcg(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains))


@dataclass(frozen=True, slots=True)
class Measure:
    """A named figure of one answer."""

    name: str
    of: Callable[[Judged], float]


MEASURES = (
    Measure("ndcg10", lambda judged: judged.ndcg10),
    *(Measure(f"r{depth}", lambda judged, depth=depth: judged.recall[depth]) for depth in DEPTHS),
    Measure("session_hit10", lambda judged: judged.session_hit10),
)


def micro(answers: Sequence[Judged], of: Callable[[Judged], float]) -> float:
    """The mean over questions."""
    return fmean(of(judged) for judged in answers)


def macro(answers: Sequence[Judged], of: Callable[[Judged], float]) -> float:
    """The mean over the categories' means."""
    return fmean(micro(group, of) for group in by_category(answers).values())


def by_category(answers: Sequence[Judged]) -> dict[int, list[Judged]]:
    groups: dict[int, list[Judged]] = {}
    for judged in sorted(answers, key=lambda judged: judged.category):
        groups.setdefault(judged.category, []).append(judged)
    return groups


def interval(
    answers: Sequence[Judged], figure: Callable[[Sequence[Judged]], float], *, seed: int = 1
) -> tuple[float, float]:
    """The 5th and 95th percentile of a figure over resampled conversations: questions of one are not independent."""
    conversations: dict[str, list[Judged]] = {}
    for judged in answers:
        conversations.setdefault(judged.conversation, []).append(judged)
    groups = list(conversations.values())
    draw = random.Random(seed)
    figures = sorted(
        figure([judged for group in draw.choices(groups, k=len(groups)) for judged in group])
        for _ in range(RESAMPLES)
    )
    return figures[len(figures) // 20], figures[-(len(figures) // 20) - 1]
