"""A document to passages: runs of whole Markdown blocks, each inside one section (contract: context-bundle A.1). Pure.

The text is never rewritten: a passage is a slice of it. Passages follow one another, do not overlap, and hold every
character that is not blank; what is blank at their edges is in none of them.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

from memoryconsole.divide import CharacterWindow, divide

# Contract, A.1: about so many tokens a passage.
PASSAGE_TOKENS = 400
# An estimate, as no tokenizer is the contract's: four ASCII characters a token, any other character one. A passage is
# then shorter than what the default model reads at once (embedding.WINDOW_CHARS), and has no nodes.
ASCII_PER_TOKEN = 4
# A heading says where a passage is; longer ones are cut, since every passage of the section repeats them.
MAX_HEADING_CHARS = 200

_LINE_END = re.compile(r"\r\n|\r|\n")
# Settings before the text: named values between two lines of dashes, which Markdown would read as a heading.
_FRONT_MATTER = re.compile(
    r"---[ \t]*(?:\r\n|\r|\n)(?=[A-Za-z_][\w-]*[ \t]*:)(?:[^\r\n]*(?:\r\n|\r|\n)){1,200}?---[ \t]*(?=\r|\n|\Z)"
)
# Blocks of blocks: one that is too long for a passage is taken apart.
_CONTAINERS = {"bullet_list_open", "ordered_list_open", "list_item_open", "blockquote_open"}

# Blocks are all that is wanted: what is inside a line is not read.
_PARSER = MarkdownIt("commonmark").enable("table").disable(["inline", "text_join"])

# What a section of this name is. Names that are not here say nothing.
_ROLES = {
    "abstract": "abstract",
    "introduction": "introduction",
    "method": "methods",
    "methods": "methods",
    "methodology": "methods",
    "materials and methods": "methods",
    "results": "results",
    "findings": "results",
    "discussion": "discussion",
    "conclusion": "conclusion",
    "conclusions": "conclusion",
    "references": "references",
    "bibliography": "references",
    "works cited": "references",
    "appendix": "appendix",
    "contents": "nav",
    "table of contents": "nav",
    "license": "legal",
    "licence": "legal",
    "copyright": "legal",
    "disclaimer": "legal",
    "legal notice": "legal",
}
_NUMBERING = re.compile(r"(?:\d+(?:\.\d+)*|[ivxlc]+)(?:[.):]\s*|\s+)")


@dataclass(frozen=True, slots=True)
class PassageSpan:
    """A passage: code points [start, end) of the text, its headings, outermost first, and what its section is."""

    start: int
    end: int
    heading: tuple[str, ...]
    role: str


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines [first, last), or where they are in the text. `level`: of a heading, else 0."""

    first: int
    last: int
    level: int = 0
    title: str = ""


def divide_document(text: str, *, longest: int) -> list[PassageSpan]:
    """The passages of a Markdown text, in order. None is longer than `longest` code points: a block that is longer
    falls into several. None at all for a blank text.
    """
    passages: list[PassageSpan] = []
    path: list[tuple[int, str]] = []
    for section in _sections(_blocks_of(text)):
        path = _entered(path, section[0])
        heading = tuple(title for _level, title in path)
        role = _role(heading)
        for start, end in _packed(text, section):
            passages += [PassageSpan(*span, heading, role) for span in _pieces(text, start, end, longest)]
    return passages


def _entered(path: list[tuple[int, str]], first: _Block) -> list[tuple[int, str]]:
    """The headings above a section that begins with this block."""
    if not first.level:
        return path
    return [above for above in path if above[0] < first.level] + [(first.level, first.title)]


def _role(heading: Sequence[str]) -> str:
    """The role of the innermost heading that names one."""
    for title in reversed(heading):
        plain = title.strip("#*_` \t").casefold().rstrip(":.")
        name = _NUMBERING.sub("", plain, count=1) if _NUMBERING.match(plain) else plain
        if role := _ROLES.get("appendix" if name.split(" ")[0].rstrip(":.") == "appendix" else name):
            return role
    return "body"


def _sections(blocks: Iterator[_Block]) -> Iterator[list[_Block]]:
    section: list[_Block] = []
    for block in blocks:
        if block.level and section:
            yield section
            section = []
        section.append(block)
    if section:
        yield section


def _packed(text: str, section: Sequence[_Block]) -> Iterator[tuple[int, int]]:
    """Runs of a section's blocks of PASSAGE_TOKENS at most, or of one block. A heading is never left alone."""
    start, end, weight, alone = section[0].first, section[0].first, 0.0, True
    for block in section:
        own = _weight(text[block.first : block.last])
        if weight + own > PASSAGE_TOKENS and not alone:
            yield start, end
            start, weight = block.first, 0.0
        end, weight, alone = block.last, weight + own, block.level > 0
    yield start, end


def _pieces(text: str, start: int, end: int, longest: int) -> Iterator[tuple[int, int]]:
    if end - start <= longest:
        yield start, end
        return
    for first, last in divide(text[start:end], CharacterWindow(longest)):
        piece = _trimmed(text, start + first, start + last)
        if piece is not None:
            yield piece


def _weight(text: str) -> float:
    """About how many tokens."""
    if text.isascii():
        return len(text) / ASCII_PER_TOKEN
    plain = len(text.encode("ascii", "ignore"))
    return plain / ASCII_PER_TOKEN + len(text) - plain


def _blocks_of(text: str) -> Iterator[_Block]:
    """The blocks, by their place in the text, that hold anything but blanks."""
    offsets = [0, *(match.end() for match in _LINE_END.finditer(text)), len(text)]
    count = len(offsets) - 1
    for block in _filled(_lines(text, offsets), count):
        span = _trimmed(text, offsets[block.first], offsets[block.last])
        if span is not None:
            yield _Block(*span, block.level, block.title)


def _lines(text: str, offsets: Sequence[int]) -> Iterator[_Block]:
    """The blocks as ranges of lines, as far as the parser tells of them."""
    front = _FRONT_MATTER.match(text)
    skipped = bisect_right(offsets, front.end() - 1) if front else 0
    if skipped:
        yield _Block(0, skipped)
    # The parser is shown blank lines instead, so that its line numbers are the text's.
    shown = "\n" * skipped + text[offsets[skipped] :] if skipped < len(offsets) else ""
    yield from _parsed(_PARSER.parse(shown), text, offsets)


def _parsed(tokens: Sequence[Token], text: str, offsets: Sequence[int]) -> Iterator[_Block]:
    """The outermost of these tokens' blocks; of a container that is too long for a passage, those inside it."""
    place = 0
    while place < len(tokens):
        token = tokens[place]
        after = _close(tokens, place) + 1
        if token.map is not None:
            first, last = token.map
            if token.type == "heading_open" and token.level == 0:
                title = " ".join(tokens[place + 1].content.split())[:MAX_HEADING_CHARS]
                yield _Block(first, last, int(token.tag[1:]), title)
            elif token.type in _CONTAINERS and _too_long(text, offsets, first, last):
                yield from _parsed(tokens[place + 1 : after - 1], text, offsets)
            else:
                yield _Block(first, last)
        place = after


def _too_long(text: str, offsets: Sequence[int], first: int, last: int) -> bool:
    return _weight(text[offsets[first] : offsets[last]].strip()) > PASSAGE_TOKENS


def _close(tokens: Sequence[Token], place: int) -> int:
    """Where the token at `place` is closed: there, unless it opens something."""
    if tokens[place].nesting != 1:
        return place
    level = tokens[place].level
    while tokens[place].nesting != -1 or tokens[place].level != level:
        place += 1
    return place


def _filled(blocks: Iterator[_Block], count: int) -> Iterator[_Block]:
    """The blocks and what lies between them, as link definitions do: lines 0 to `count`, each in one block."""
    edge = 0
    for block in blocks:
        if block.last <= edge:
            continue
        if block.first > edge:
            yield _Block(edge, block.first)
        yield _Block(max(edge, block.first), block.last, block.level, block.title)
        edge = block.last
    if edge < count:
        yield _Block(edge, count)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The range without blank lines before it and blanks after it; None when it is blank."""
    shown = text[start:end]
    inner = shown.lstrip()
    if not inner:
        return None
    blank = shown[: len(shown) - len(inner)]
    # The first line's own indentation stays.
    breaks = [match.end() for match in _LINE_END.finditer(blank)]
    return start + (breaks[-1] if breaks else 0), start + len(shown.rstrip())
