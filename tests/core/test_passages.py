"""A document falls into passages that hold all of it once, each of whole blocks of one section."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryconsole.passages import MAX_HEADING_CHARS, divide_document
from tests.properties import examples

LONGEST = 200_000

# Pieces of Markdown that meet in ways nobody writes on purpose.
PIECES = [
    "# Dock\n", "## 2. Results\n", "#### deep\n", "Setext\n===\n", "a ferry", "\n", "\n\n", "- item\n", "  - sub\n", "1. one\n",
    "> said\n", "> # not a section\n", "```\n", "~~~\n", "    code\n", "| a | b |\n|---|---|\n| 1 | 2 |\n", "[r]: /u\n", "<div>\n",
    "<!--", "-->", "---\n", "title: x\n", "***\n", "\t", "\r", "\r\n", "\u2028", "\x0b", "\x0c", "\x1c", "\x85", "\u3000",
    "é", "城", " ", "word " * 500, "x" * 50, "\\", "`", "*", "![", "](",
]  # fmt: skip
markdown = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=20)), max_size=40).map("".join)


def texts(text, **options):
    return [text[each.start : each.end] for each in divide_document(text, longest=LONGEST, **options)]


@settings(max_examples=examples(300))
@given(markdown, st.sampled_from([10, 300, LONGEST]))
def test_passages_hold_every_character_that_is_not_blank_once(text, longest):
    edge = 0
    for passage in divide_document(text, longest=longest):
        assert edge <= passage.start < passage.end <= len(text)
        assert passage.end - passage.start <= longest
        assert text[edge : passage.start].strip() == ""
        assert text[passage.start : passage.end].strip() != ""
        assert not text[passage.end - 1].isspace()
        edge = passage.end
    assert text[edge:].strip() == ""


@pytest.mark.parametrize("text", ["", " \n\t\n", "\u3000\n"])
def test_a_blank_text_has_none(text):
    assert divide_document(text, longest=LONGEST) == []


def test_a_section_is_a_passage_of_its_own():
    text = "before\n\n# Harbour\n\nOne.\n\nTwo.\n\n## Berths\n\nThree.\n\n# Ferries\nFour."
    found = divide_document(text, longest=LONGEST)
    assert [text[each.start : each.end] for each in found] == [
        "before",
        "# Harbour\n\nOne.\n\nTwo.",
        "## Berths\n\nThree.",
        "# Ferries\nFour.",
    ]
    assert [each.heading for each in found] == [(), ("Harbour",), ("Harbour", "Berths"), ("Ferries",)]


def test_blocks_are_whole_and_a_passage_has_about_400_tokens():
    """1,600 ASCII characters: eight paragraphs of 200 and no more."""
    paragraphs = [f"{n:02} " + "a" * 197 for n in range(20)]
    found = texts("\n\n".join(paragraphs))
    assert [each.split("\n\n") for each in found] == [paragraphs[:8], paragraphs[8:16], paragraphs[16:]]


def test_text_of_other_letters_counts_a_token_a_letter():
    found = texts("\n\n".join(["城" * 200] * 4))
    assert [len(each) for each in found] == [402, 402]


def test_a_block_that_is_longer_stays_whole_and_keeps_its_heading():
    block = "word " * 1000 + "end"
    text = f"# Log\n\n{block}\n\nshort"
    assert texts(text) == [f"# Log\n\n{block}", "short"]


def test_a_list_that_is_longer_falls_between_its_items():
    items = [f"- {n} " + "a" * 300 for n in range(12)]
    found = texts("\n".join(items))
    assert len(found) == 3
    assert all(each.startswith("- ") for each in found)
    assert "\n".join(found) == "\n".join(items)


def test_a_block_longer_than_a_record_is_cut_at_its_best_places():
    text = "A sentence here. " * 40
    found = divide_document(text, longest=100)
    assert all(text[each.start : each.end].endswith(".") for each in found)


def test_a_heading_inside_a_block_is_no_section():
    text = "> # quoted\n> words\n\n```\n# comment\n```\n\n- # item"
    assert {each.heading for each in divide_document(text, longest=LONGEST)} == {()}


def test_link_definitions_are_in_a_passage_too():
    assert texts("See [it].\n\n[it]: https://example.org\n") == ["See [it].\n\n[it]: https://example.org"]


def test_settings_before_the_text_are_no_heading():
    text = "---\ntitle: Log\ndate: x\n---\n\nWords.\n\n---\n\nMore."
    assert [each.heading for each in divide_document(text, longest=LONGEST)] == [()]
    assert divide_document("---\nno settings\n---\n", longest=LONGEST)[-1].heading == ("no settings",)


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_lines_end_as_they_like(ends):
    text = ends.join(["# One", "", "a", "b", "", "# Two", "", "c"])
    assert texts(text) == [ends.join(["# One", "", "a", "b"]), ends.join(["# Two", "", "c"])]


@pytest.mark.parametrize(
    ("heading", "role"),
    [("Results", "results"), ("3. Results:", "results"), ("**Methods**", "methods"), ("Appendix B: Tides", "appendix"),
     ("IV. Discussion", "discussion"), ("Table of contents", "nav"), ("Licence", "legal"), ("Notes", "body"),
     ("Resulting", "body"), ("Bibliography", "references")],
)  # fmt: skip
def test_a_section_is_what_its_heading_says(heading, role):
    (found,) = divide_document(f"# {heading}\n\nwords", longest=LONGEST)
    assert found.role == role


def test_a_section_inside_an_appendix_is_of_it():
    found = divide_document("# Appendix\n\na\n\n## Tides\n\nb\n\n# Notes\n\nc", longest=LONGEST)
    assert [each.role for each in found] == ["appendix", "appendix", "body"]


def test_a_heading_is_cut_and_its_passage_is_not():
    title = "long " * 200
    (found,) = divide_document(f"# {title}\n\nwords", longest=LONGEST)
    assert len(found.heading[0]) == MAX_HEADING_CHARS
    assert found.end > len(title)
