"""Texts cut to a budget, windows around hits, and what a locator opens."""

from dataclasses import replace
from typing import Any

import pytest

from provenance.expand_query.core import InvalidBlocks, Page, Payload, Window, estimate_tokens
from provenance.expand_query.core.expansion import expand_message, expand_node, expand_payload
from provenance.expand_query.core.pages import cut, page
from provenance.expand_query.core.windows import CANDIDATES_MAX, candidates, hit_page, match_offset
from tests.core.expand_builders import counted, leaf, lineage, parent, row


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("abc", 1),
        ("abcd", 2),
        ("漢" * 3, 3),
        ("漢字ab", 3),  # half of it: four characters, 1.5 to a token
        ("漢abcd", 3),  # a fifth: five characters, 2.5 to a token
        ("漢abcde", 2),  # less: six characters, 4 to a token
    ],
)
def test_the_estimate(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize(
    ("budget", "shown"), [(-1, ""), (0, ""), (1, "a"), (3, "abc"), (6, "abcdef"), (7, "abcdef")]
)
def test_a_cut_text_is_its_longest_beginning_that_fits(budget: int, shown: str) -> None:
    assert cut("abcdef", budget, counted) == shown


@pytest.mark.parametrize(
    ("offset", "budget", "content", "start", "following"),
    [
        (0, 4, "abcd", 0, 4),
        (4, 4, "ef", 4, 0),
        (4, 0, "e", 4, 5),
        (5, 0, "f", 5, 0),
        (6, 4, "", 6, 0),
        (99, 4, "", 6, 0),
        (-3, 1, "a", 0, 1),
    ],
)
def test_pages(offset: int, budget: int, content: str, start: int, following: int) -> None:
    part = page("abcdef", offset=offset, budget=budget, count=counted)
    assert part == Page(content=content, content_offset=start, content_chars=6)
    assert part.next_content_offset == following


def test_paging_gets_on_and_shows_everything() -> None:
    text, shown, offset = "🛶 boats and more", "", 0
    while len(shown) < len(text):
        part = page(text, offset=offset, budget=1, count=lambda text: len(text) + 1)
        shown, offset = shown + part.content, part.next_content_offset
    assert shown == text


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("", []),
        ("x", ["x"]),
        ("pier two", ["pier two", "pier", "two"]),
        ('"pier two" is', ["pier two is", "pier two", "pier", "two", "is"]),
        ("rope AND oil", ["rope AND oil", "rope", "oil"]),
        ("kind:oil* a", ["kind:oil* a", "oil"]),
        ("well-known", ["well-known", "known", "well"]),
    ],
)
def test_what_is_looked_for_longest_first(query: str, wanted: list[str]) -> None:
    assert candidates(query) == sorted(wanted, key=len, reverse=True)


def test_of_a_message_pasted_as_a_query_the_longest_parts_are_looked_for() -> None:
    words = [f"w{number}" for number in range(5_000)]
    looked_for = candidates(" ".join(words))
    assert len(looked_for) == CANDIDATES_MAX
    assert looked_for[0] == " ".join(words)
    assert looked_for[1:] == words[1_000 : 1_000 + CANDIDATES_MAX - 1]


@pytest.mark.parametrize(
    ("text", "query", "found"),
    [
        ("Pier 2 is CLOSED until noon", "closed", 10),
        ("ß" * 10 + "Needle here", "needle", 10),
        ("İ" * 10 + "Needle here", "needle", 10),
        ("a rope. rope and oil", "oil rope and", 2),
        ("a rope. rope and oil", '"rope and" x', 8),
        ("c++ (really?)", "(really?)", 4),
        ("nothing", "needle", None),
        ("nothing", "", None),
    ],
)
def test_where_a_match_begins_in_the_text_as_it_is(text: str, query: str, found: int | None) -> None:
    assert match_offset(text, query) == found


def test_a_window_begins_at_the_match_and_a_text_that_fits_is_whole() -> None:
    text = "Pier 2 is closed until noon"
    cut_short, found = hit_page(text, "closed", budget=10, count=counted)
    assert (cut_short.content, cut_short.content_offset, found) == ("closed unt", 10, 10)
    whole, found = hit_page(text, "closed", budget=27, count=counted)
    assert (whole.content, whole.content_offset, found) == (text, 0, 10)
    unseen, found = hit_page(text, "gale", budget=4, count=counted)
    assert (unseen.content, unseen.content_offset, found) == ("Pier", 0, None)


# Expansion

PAYLOAD = Payload(
    ref="a.json", kind="tool_result", role="tool", session_id="s", content_chars=6, content_bytes=6
)
TEN = Window(max_tokens=10)


def test_a_message_is_a_page_of_its_row() -> None:
    body = expand_message(
        row(3, "0123456789abc", role="user"), "talk", replace(TEN, content_offset=2), counted
    )
    assert (body["store_id"], body["source_type"], body["conversation_id"]) == (3, "raw_message", "talk")
    assert (body["content"], body["content_offset"], body["has_more"]) == ("23456789ab", 2, True)
    assert (body["next_content_offset"], body["content_returned_chars"], body["content_chars"]) == (
        12,
        10,
        13,
    )
    assert "externalized" not in body


@pytest.mark.parametrize(("here", "members"), [(True, 9), (False, 2)])
def test_a_rows_payload_is_told_within_the_session_and_named_elsewhere(here: bool, members: int) -> None:
    body = expand_message(row(3, "[row]", externalized=PAYLOAD, from_current_session=here), "", TEN, counted)
    assert body["externalized"]["ref"] == "a.json"
    assert len(body["externalized"]) == members
    assert "kind" in body["externalized"] or "note" in body["externalized"]


def test_a_payload_is_a_page_of_its_text() -> None:
    body = expand_payload(PAYLOAD, "sonar!", replace(TEN, content_offset=5), counted)
    assert (body["externalized_ref"], body["source_type"], body["kind"]) == (
        "a.json",
        "externalized_payload",
        "tool_result",
    )
    assert (body["content"], body["content_offset"], body["has_more"]) == ("!", 5, False)
    assert (body["content_chars"], body["content_bytes"]) == (6, 6)
    assert "ref" not in body


def test_a_node_is_its_summary_and_its_sources() -> None:
    read = lineage(row(1, "abc"), row(3, "defghijklmn"))
    node = leaf(5, 1, None, 3, text="leaf summary")
    body = expand_node(node, read, TEN, counted)
    assert (body["node_id"], body["source_type"], body["summary"]) == (5, "messages", "leaf summa")
    assert body["summary_truncated"] is True
    assert [(each["store_id"], each["source_index"], each["content"]) for each in body["expanded"]] == [
        (1, 0, "abc"),
        (3, 2, "defghij"),
    ]
    paging = body["pagination"]
    assert (paging["next_source_offset"], paging["next_content_offset"]) == (2, 7)
    assert (paging["skipped_sources"], paging["remaining_sources"]) == (1, 1)
    further = replace(TEN, source_offset=paging["next_source_offset"], content_offset=7)
    rest = expand_node(node, read, further, counted)
    assert [each["content"] for each in rest["expanded"]] == ["klmn"]
    assert rest["pagination"]["has_more"] is False
    # The offset is one into the first source alone.
    both = expand_node(node, read, replace(TEN, content_offset=2), counted)
    assert [each["content"] for each in both["expanded"]] == ["c", "defghijkl"]


def test_a_node_is_paged_by_places() -> None:
    read = lineage(row(1, "a"), row(2, "b"))
    first = expand_node(leaf(5, 1, 2), read, replace(TEN, source_limit=1), counted)
    assert [each["store_id"] for each in first["expanded"]] == [1]
    assert first["pagination"]["next_source_offset"] == 1
    assert first["pagination"]["remaining_sources"] == 1
    beyond = expand_node(leaf(5, 1, 2), read, replace(TEN, source_offset=9), counted)
    assert (beyond["expanded"], beyond["pagination"]["has_more"]) == ([], False)


def test_a_node_of_nodes_lists_summaries_and_one_of_nothing_lists_nothing() -> None:
    read = lineage(leaf(6, text="six"), leaf(7, text="seven and more"))
    body = expand_node(parent(5, 6, 7), read, TEN, counted)
    assert [(each["node_id"], each["summary"]) for each in body["expanded"]] == [(6, "six"), (7, "seven a")]
    assert body["expanded"][1]["summary_truncated"] is True
    assert expand_node(replace(leaf(5), source_type=""), lineage(), TEN, counted)["expanded"] == []


def test_a_hydrated_row_is_no_row_to_expand() -> None:
    shown: Any = row(1, "payload", content_source="externalized_payload", externalized=PAYLOAD)
    with pytest.raises(InvalidBlocks):
        expand_message(shown, "", TEN, counted)
    with pytest.raises(InvalidBlocks):
        expand_node(leaf(5, 1), lineage(shown), TEN, counted)
