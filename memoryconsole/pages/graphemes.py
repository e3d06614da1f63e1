"""Cutting text where a reader sees a boundary, never inside what they see as one character. Pure.

Unicode's rules (UAX 29) forbid some boundaries and allow the rest. Cutting needs no complete segmentation, only a
place that is certainly a boundary: the rules below refuse every place of which that is not known.
"""

import unicodedata

# Letters and symbols by category that extend the character before them all the same (UAX 29, Extend and SpacingMark).
_EXTENDING = frozenset("\u0e33\u0eb3\uff9e\uff9f") | frozenset(map(chr, range(0x1F3FB, 0x1F400)))
# Letters that begin a character which the next one continues (Prepend).
_PREPENDED = frozenset("\u0d4e\U000111c2\U000111c3\U0001193f\U00011941\U00011a3a\U00011d46") | frozenset(
    map(chr, range(0x11A84, 0x11A8A))
)
_JAMO = ((0x1100, 0x11FF), (0xA960, 0xA97C), (0xD7B0, 0xD7FB))
_VIRAMA = 9


def cut(text: str, limit: int) -> str:
    """The longest beginning of at most `limit` code points that ends where a character does.

    A single character longer than `limit` is left out: the answer is then shorter than a reader would make it.
    """
    if len(text) <= limit:
        return text
    place = limit
    while place > 0 and not _is_boundary(text, place):
        place -= 1
    return text[:place]


def _is_boundary(text: str, place: int) -> bool:
    """Whether a character certainly ends before `text[place]`."""
    before, after = text[place - 1], text[place]
    if before == "\r" and after == "\n":
        return False
    if unicodedata.category(after)[0] == "M" or unicodedata.category(after) == "Cf" or after in _EXTENDING:
        return False
    # Format characters join (ZWJ, tags) or begin what follows; a virama joins consonants.
    if unicodedata.category(before) == "Cf" or before in _PREPENDED:
        return False
    if unicodedata.combining(before) == _VIRAMA:
        return False
    if _is_jamo(after) or (_is_jamo(before) and "\uac00" <= after <= "\ud7a3"):
        return False
    return not (_is_flag(before) and _is_flag(after)) or _flags_before(text, place) % 2 == 0


def _is_jamo(char: str) -> bool:
    return any(first <= ord(char) <= last for first, last in _JAMO)


def _is_flag(char: str) -> bool:
    """A regional indicator: two of them make one flag."""
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flags_before(text: str, place: int) -> int:
    count = 0
    while count < place and _is_flag(text[place - 1 - count]):
        count += 1
    return count
