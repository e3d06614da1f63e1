"""Verbatim quotes and the order of nodes (contract, section H)."""

from dataclasses import replace

import pytest

from reconstruct.core import InvalidSnapshot, Settings
from reconstruct.core.quote import order_nodes, quote
from reconstruct.core.types import Node, Ref, StoredText
from tests.core.builders import ask, noded, record, ref, snapshot

SHORT = Settings(preview_chars=10, default_budget=100)
WHOLE = Settings(preview_chars=0)


def plain(text: str, state: str = "no_nodes") -> StoredText:
    assert state in ("no_nodes", "not_current")
    return StoredText(ref=ref("mem:1"), text=text, node_state=state)


def order(stored: StoredText, query: str, *, embedded: bool = True, rrf_k: int = 60) -> tuple[int, ...]:
    return order_nodes(stored, query, query_embedded=embedded, rrf_k=rrf_k)


def item(stored: StoredText, settings: Settings = SHORT) -> dict[str, object]:
    """The quote and its markers in a lone item."""
    [only] = ask(snapshot(record(1), texts={"mem:1": stored}), settings=settings, budget=100)["items"]
    return {name: value for name, value in only.items() if name not in ("claims", "independence_reason")}


def test_a_text_that_fits_is_quoted_whole_and_says_nothing_more() -> None:
    assert item(plain("0123456789")) == {"content": "0123456789", "head_ref": "mem:1"}


def test_a_longer_text_is_cut_to_a_pure_prefix_of_its_code_points() -> None:
    assert item(plain("naïve 🦀🦀🦀 crabs  ")) == {
        "content": "naïve 🦀🦀🦀 ",
        "head_ref": "mem:1",
        "content_len": 17,
        "content_truncated": True,
        "node_unavailable": "no_nodes",
    }


def test_a_cut_text_whose_nodes_are_not_current_says_so() -> None:
    assert item(plain("0123456789x", "not_current"))["node_unavailable"] == "not_current"


def test_a_text_that_fits_does_not_miss_its_nodes() -> None:
    assert "node_unavailable" not in item(plain("0123456789", "not_current"))


def test_with_cutting_off_every_text_is_quoted_whole() -> None:
    assert item(plain("x" * 30), WHOLE) == {"content": "x" * 30, "head_ref": "mem:1"}
    stored = noded("mem:1", "a" * 30, "b" * 40, cosines=(0.1, 0.9))
    assert item(stored, WHOLE) == {
        "content": "b" * 40,
        "head_ref": "mem:1",
        "node": {"index": 1, "of": 2, "span": [30, 70]},
    }


def test_an_empty_text_is_an_empty_quote() -> None:
    assert item(plain("")) == {"content": "", "head_ref": "mem:1"}
    assert item(plain(""), WHOLE) == {"content": "", "head_ref": "mem:1"}


def test_a_node_longer_than_a_quote_is_cut_and_hands_over_expand() -> None:
    assert item(noded("mem:1", "a" * 20, "b" * 25, cosines=(0.1, 0.9))) == {
        "content": "b" * 10,
        "head_ref": "mem:1",
        "content_len": 25,
        "content_truncated": True,
        "node": {"index": 1, "of": 2, "span": [20, 30]},
        "expand": {"ref": "mem:1", "node": 1},
    }


def test_a_whole_node_says_where_it_is_and_nothing_more() -> None:
    assert item(noded("mem:1", "a" * 20, "b" * 10, cosines=(0.1, 0.9))) == {
        "content": "b" * 10,
        "head_ref": "mem:1",
        "node": {"index": 1, "of": 2, "span": [20, 30]},
    }


def test_a_node_shorter_than_a_quote_is_not_filled_up_from_its_neighbour() -> None:
    assert item(noded("mem:1", "a" * 20, "bbb", "c" * 20, cosines=(0.1, 0.9, 0.1))) == {
        "content": "bbb",
        "head_ref": "mem:1",
        "node": {"index": 1, "of": 3, "span": [20, 23]},
    }


def test_excerpts_carry_the_same_markers_as_a_head() -> None:
    rows = (record(1, message="x"), record(2, message="x"), record(3, message="x"))
    texts = {"mem:2": noded("mem:2", "a" * 20, "b" * 25, cosines=(0.1, 0.9)), "mem:3": "c" * 11}
    [only] = ask(snapshot(*rows, texts=texts), settings=SHORT)["items"]
    assert only["excerpts"] == [
        {
            "ref": "mem:2",
            "content": "b" * 10,
            "content_len": 25,
            "content_truncated": True,
            "node": {"index": 1, "of": 2, "span": [20, 30]},
            "expand": {"ref": "mem:2", "node": 1},
        },
        {
            "ref": "mem:3",
            "content": "c" * 10,
            "content_len": 11,
            "content_truncated": True,
            "node_unavailable": "no_nodes",
        },
    ]


def test_an_episode_is_quoted_from_its_text_without_a_label() -> None:
    found = quote(StoredText(ref=ref("ep:5"), text="crane crew weekly muster"), (), 10)
    assert (found.content, found.start, found.end) == ("crane crew", 0, 10)


def test_without_a_literal_match_the_cosine_decides() -> None:
    stored = noded("mem:1", "alpha", "beta!", "gamma", cosines=(0.1, 0.8, 0.3))
    assert order(stored, "zzzz") == (1, 2, 0)


def test_equal_fused_ranks_go_to_the_earlier_node() -> None:
    stored = noded("mem:1", "alpha", "beta!", "gamma", cosines=(0.5, 0.5, 0.5))
    assert order(stored, "zzzz") == (0, 1, 2)


def test_a_first_and_a_second_place_beat_a_first_and_a_third() -> None:
    stored = noded("mem:1", "red apple pie recipe", "red apple tart", "green pear", cosines=(0.5, 0.9, 0.7))
    assert order(stored, "red apple pie") == (1, 0, 2)


def test_equal_values_share_a_rank_and_leave_no_gap() -> None:
    # Cosine ranks are 0, 0, 1; trigram ranks 1, 2, 0. With a gap the last node would but tie with the second.
    stored = noded("mem:1", "abc_", "____", "abcd", cosines=(0.9, 0.9, 0.1))
    assert order(stored, "abcd") == (0, 2, 1)


@pytest.mark.parametrize("rrf_k", [0, 60, 10**9])
def test_fused_ranks_are_compared_exactly(rrf_k: int) -> None:
    # Ranks (1, 1), (0, 2), (2, 0): a first and a third place are worth a trifle more than two seconds; with
    # the largest constant the difference is too small for floating point.
    stored = noded("mem:1", "abc_", "abcd", "____", cosines=(0.5, 0.1, 0.9))
    assert order(stored, "abcd", rrf_k=rrf_k) == (1, 2, 0)


def test_without_a_query_vector_trigrams_decide_alone() -> None:
    stored = noded("mem:1", "alpha", "beta!", "the lighthouse code", cosines=(0.9, 0.8, 0.1))
    assert order(stored, "lighthouse code", embedded=False) == (2, 0, 1)


def test_distinct_trigrams_count_once_and_case_does_not() -> None:
    stored = noded("mem:1", "abcabcabcabc", "XABCDX")
    assert order(stored, "ABCD", embedded=False) == (1, 0)


def test_a_trigram_repeated_in_the_query_counts_once() -> None:
    assert order(noded("mem:1", "abc_", "bcab"), "abcabc", embedded=False) == (1, 0)


def test_a_query_below_three_characters_is_one_gram_that_only_an_equal_node_holds() -> None:
    stored = noded("mem:1", "ab is in here", "AB", "a")
    assert order(stored, "ab", embedded=False) == (1, 0, 2)
    assert order(stored, "a", embedded=False) == (2, 0, 1)


def test_an_empty_query_leaves_the_nodes_in_their_order() -> None:
    assert order(noded("mem:1", "abc", "abcd", "x"), "", embedded=False) == (0, 1, 2)


def test_characters_beyond_the_basic_plane_are_single_code_points() -> None:
    stored = noded("mem:1", "🦀🦀 🦀🦀", "🦀🦀🦀", "🦞🦞🦞")
    assert order(stored, "🦀🦀🦀", embedded=False) == (1, 0, 2)


def test_lower_casing_may_lengthen_a_text_without_moving_its_spans() -> None:
    stored = noded("mem:1", "İİİİ", "İstanbul")
    assert order(stored, "i̇stanbul", embedded=False) == (1, 0)
    found = quote(stored, (1, 0), 4)
    assert (found.content, found.start, found.end) == ("İsta", 4, 8)


def test_a_missing_cosine_is_an_error_when_the_query_has_a_vector() -> None:
    whole = noded("mem:1", "abc", "def", cosines=(0.1, 0.2))
    first, last = whole.nodes
    half = replace(whole, nodes=(first, replace(last, cosine=None)))
    with pytest.raises(InvalidSnapshot, match=r"mem:1: no cosine .* node at 3"):
        order(half, "abc")
    assert order(half, "abc", embedded=False) == (0, 1)


def test_a_text_without_nodes_has_no_order() -> None:
    assert order(plain("abc"), "abc") == ()


def test_a_kept_claims_missing_text_is_an_error() -> None:
    given = replace(snapshot(record(1)), texts=())
    with pytest.raises(InvalidSnapshot, match="no text was read for mem:1"):
        ask(given)


def test_lexical_only_is_said_when_nodes_were_ranked_without_a_vector() -> None:
    rows = {"texts": {"mem:1": noded("mem:1", "abc", "def", cosines=(0.1, 0.2))}}
    assert ask(snapshot(record(1), query_embedded=False, **rows))["quote_selection"] == "lexical_only"
    assert "quote_selection" not in ask(snapshot(record(1), **rows))
    assert "quote_selection" not in ask(snapshot(record(1), query_embedded=False))


def test_node_order_and_lexical_only_stay_when_the_budget_cut_the_node_quote() -> None:
    rows = (record(1, message="x"), record(2, message="x"), record(3))
    texts = {"mem:1": "a" * 10, "mem:2": noded("mem:2", "b" * 8, "c" * 8), "mem:3": noded("mem:3", "d" * 10)}
    given = snapshot(*rows, texts=texts, query_embedded=False)
    body = ask(given, settings=SHORT, count=2, budget=10, trace=True)
    assert body["returned_count"] == 1
    assert body["items"][0]["excerpts_omitted"] == 1
    assert body["quote_selection"] == "lexical_only"
    assert body["trace"]["node_order"] == {"mem:2": [0, 1], "mem:3": [0]}


def test_an_item_beyond_the_window_ranks_no_nodes() -> None:
    texts = {"mem:2": noded("mem:2", "abc", "def")}
    body = ask(snapshot(record(1), record(2), texts=texts, query_embedded=False), count=1, trace=True)
    assert "quote_selection" not in body
    assert "node_order" not in body["trace"]


def test_the_trace_names_a_texts_best_three_nodes() -> None:
    stored = noded("mem:1", "a", "b", "c", "d", "e", cosines=(0.1, 0.2, 0.9, 0.4, 0.3))
    body = ask(snapshot(record(1), texts={"mem:1": stored}), trace=True)
    assert body["trace"]["node_order"] == {"mem:1": [2, 3, 4]}


def test_the_beginning_of_a_text_quotes_as_the_whole_does() -> None:
    first, text = Ref("mem", 1), "walrus " * 50
    whole = StoredText(ref=first, text=text)
    for read in (20, 21, 349, 350):
        beginning = StoredText(ref=first, text=text[:read], length=len(text))
        assert quote(beginning, (), 20) == quote(whole, (), 20)


def test_less_than_a_quote_is_refused() -> None:
    beginning = StoredText(ref=Ref("mem", 1), text="walrus", length=7)
    for preview_chars in (7, 8, 0):
        with pytest.raises(InvalidSnapshot):
            quote(beginning, (), preview_chars)


def test_a_beginning_has_no_nodes_and_is_no_longer_than_its_text() -> None:
    first = Ref("mem", 1)
    with pytest.raises(InvalidSnapshot):
        StoredText(ref=first, text="walrus", length=5)
    with pytest.raises(InvalidSnapshot):
        StoredText(ref=first, text="walrus", length=9, node_state="current", nodes=(Node(start=0, end=6),))
