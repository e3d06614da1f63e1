"""How alike two ranked lists are. Pure."""

from collections.abc import Iterable, Sequence

# Webber, Moffat and Zobel (2010): the first ten places then carry 86 % of the weight.
PERSISTENCE = 0.9


def jaccard(a: Iterable[str], b: Iterable[str]) -> float:
    """The share of all members that both have: 0..1, and 1 for two empty sets."""
    left, right = set(a), set(b)
    return len(left & right) / len(left | right) if left | right else 1.0


def rank_biased_overlap(a: Sequence[str], b: Sequence[str], persistence: float = PERSISTENCE) -> float:
    """Rank-biased overlap of two lists without repeats, extrapolated to their end: 0..1, early places weigh most.

    Webber, Moffat and Zobel, "A similarity measure for indefinite rankings", equation 32: it takes lists of unequal
    length. Two empty lists are alike.
    """
    short, long = sorted((a, b), key=len)
    if not long:
        return 1.0
    if not short:
        return 0.0
    overlap = [len(set(short[:depth]) & set(long[:depth])) for depth in range(1, len(long) + 1)]
    size, end = len(short), len(long)
    seen = sum(overlap[depth - 1] / depth * persistence**depth for depth in range(1, end + 1))
    beyond = sum(
        overlap[size - 1] * (depth - size) / (size * depth) * persistence**depth
        for depth in range(size + 1, end + 1)
    )
    rest = ((overlap[end - 1] - overlap[size - 1]) / end + overlap[size - 1] / size) * persistence**end
    return min(1.0, (1 - persistence) / persistence * (seen + beyond) + rest)
