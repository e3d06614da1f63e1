"""Where words stand in a text, verbatim. Pure. Spans are code points [start, end), end exclusive."""

from collections.abc import Iterator, Sequence

Span = tuple[int, int]


def places_of(words: str, text: str, start: int = 0, end: int | None = None) -> Iterator[int]:
    """Where the words begin in text[start:end], in order; they may overlap themselves. None for no words."""
    stop = len(text) if end is None else end
    place = text.find(words, start, stop) if words else -1
    while place >= 0:
        yield place
        place = text.find(words, place + 1, stop)


def find_together(words: Sequence[str], text: str, within: Sequence[Span]) -> tuple[int, list[Span]] | None:
    """The first of the `within` spans, in their order, in which all of these words stand, and where: each where it
    stands first. None where no span has them all.
    """
    for place, (start, end) in enumerate(within):
        found = [text.find(each, start, end) for each in words]
        if all(at >= 0 for at in found):
            return place, [(at, at + len(each)) for at, each in zip(found, words, strict=True)]
    return None


def slices(text: str, spans: Sequence[Span], *, offset: int = 0) -> list[str]:
    """The words at these spans, of a text that begins at `offset` of what they count in."""
    return [text[start - offset : end - offset] for start, end in spans]


def moved(spans: Sequence[Span], by: int) -> list[Span]:
    """The spans, counted from elsewhere."""
    return [(start + by, end + by) for start, end in spans]
