"""What an answer says it was given: identities, quotes, locators and paths."""

import json
from hashlib import sha256
from typing import Any

import pytest

from provenance.expand_query.core import InvalidBlocks, Scope
from provenance.expand_query.core.bounds import measure
from tests.core.expand_builders import (
    child,
    children,
    hits,
    hydrated,
    message,
    messages,
    provenance,
    summary,
)

HOPS = [{"node_id": 300 + n, "source_index": n % 3} for n in range(8)]


def only(*blocks: Any, **more: Any) -> dict[str, Any]:
    items = provenance(*blocks, **more)["items"]
    assert len(items) == 1
    return items[0]


def ids(body: dict[str, Any]) -> list[str]:
    return [item["evidence_id"] for item in body["items"]]


# The two totals that the contract publishes. They measure every member of the envelope and of an item.


def test_twenty_four_unicode_heavy_items_measure_9717() -> None:
    whose = {"session_id": "berth", "source": "test", "role": "user"}
    found = [
        message(n, "漢字🙂" * 250, content_source="raw_search_hit", content_offset=0, **whose)
        for n in range(1, 25)
    ]
    body = provenance(hits(*found), session="berth")
    assert len(json.dumps(body)) == 9717
    assert [item["store_id"] for item in body["items"]] == [1, 2]
    assert (body["context_unique_item_count"], body["items_truncated"]) == (24, True)
    assert (body["quotes_truncated_by_provenance_cap"], body["locator_coverage"]) == (2, "partial")


def test_oversized_metadata_measures_5879() -> None:
    session, ref = "session-" + "x" * 20_000, "ref-" + "界" * 10_000
    assert (len(session), len(ref)) == (20_008, 10_004)
    given = hydrated(
        7, "hydrated output", ref, session_id=session, role="r" * 2000, source="s" * 2000, content_offset=0
    )
    body = provenance(hits(given), session=session)
    assert len(json.dumps(body)) == 5879
    assert body["retrieval_scope"] == {
        "kind": "current_session",
        "session_ids": [session[:256]],
        "metadata_truncation": {
            "session_ids[0]": {"original_chars": 20_008, "sha256": sha256(session.encode()).hexdigest()}
        },
    }
    (item,) = body["items"]
    assert "expand_args" not in item
    assert item["store_id"] == 7
    assert item["metadata_truncation"].keys() == {
        "session_id",
        "source",
        "role",
        "externalized_ref",
        "evidence_id",
    }


def test_a_ten_deep_path_keeps_its_last_eight_hops() -> None:
    item = only(summary(900, source_path=HOPS, source_path_depth=10, source_path_truncated=True))
    assert item["source_paths"] == [{"path": HOPS, "depth": 10, "truncated": True}]


def test_the_sizes_of_the_smallest_items() -> None:
    """The contract's cost model (section C.8 with section K), for one-digit ids and a session of one letter."""
    empty = measure(provenance(session="s", status="completed"))
    assert empty == measure(provenance(session="s", status="not_run")) == 644 + len("s")
    assert measure(provenance(summary(1, ""), session="s")) - empty == 311
    assert measure(provenance(summary(1, ""), summary(2, ""), session="s")) - empty == 311 + 309


@pytest.mark.parametrize(
    ("text", "quote", "cut"),
    [
        ("", "", False),
        ("q" * 500, "q" * 500, False),
        ("q" * 501, "q" * 500, True),
        ("🛶" * 600, "🛶" * 500, True),
    ],
)
def test_quotes_are_the_first_five_hundred_code_points(text: str, quote: str, cut: bool) -> None:
    item = only(summary(1, text))
    assert item["quote"] == quote
    assert item["quote_chars_before_provenance_cap"] == len(text)
    assert item["quote_truncated_by_provenance_cap"] is cut


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        (message(4), "store:4:0:message"),
        (message(4, content_offset=9, content_source="raw_search_hit"), "store:4:9:raw_search_hit"),
        (hydrated(4, "x", "a.json", content_offset=2), "externalized:a.json:2"),
        (message(4, content_source="externalized_payload"), "store:4:0:externalized_payload"),
        (message(True), "context:0:message:0"),
        (message("4"), "context:0:message:0"),
        (message(None), "context:0:message:0"),
        (message(4, content_offset=True), "store:4:0:message"),
        (message(4, content_offset=1.0), "store:4:0:message"),
        (message(4, content_source=""), "store:4:0:message"),
        (message(4, content_source=None), "store:4:0:message"),
    ],
)
def test_what_a_message_is_known_by(given: dict[str, Any], seen: str) -> None:
    assert only(hits(given))["evidence_id"] == seen


def test_what_has_no_id_is_known_by_its_place_and_what_is_ignored_keeps_one() -> None:
    body = provenance(
        "junk",
        {"type": "weather", "messages": [message(1)]},
        summary(None),
        children(1, "junk", child(None, 0)),
        hits(7, message(None, transcript_content="row")),
    )
    assert ids(body) == [
        "context:2:summary",
        "context:3:child:1",
        "context:4:message:1",
        "context:4:message:1:transcript_content",
    ]
    assert body["locator_coverage"] == "partial"
    assert not any(item["locator_present"] for item in body["items"])


@pytest.mark.parametrize("transcript", [None, "x"])
def test_a_row_that_says_the_same_or_nothing_is_no_second_item(transcript: str | None) -> None:
    assert only(hits(hydrated(1, "x", "a.json", transcript_content=transcript)))["quote"] == "x"


def test_an_empty_row_under_a_payload_is_a_second_item() -> None:
    body = provenance(hits(hydrated(1, "x", "a.json", transcript_content="")))
    assert [item["quote"] for item in body["items"]] == ["x", ""]


def test_rows_that_share_a_payload_share_its_identity_and_keep_their_own() -> None:
    body = provenance(
        messages(
            5,
            hydrated(1, "sonar", "a.json", source_index=0, transcript_content="[one]"),
            hydrated(2, "sonar", "a.json", source_index=1, transcript_content="[two]"),
        )
    )
    assert ids(body) == [
        "externalized:a.json:0",
        "store:1:0:transcript_content",
        "store:2:0:transcript_content",
    ]
    assert [item["context_occurrence_count"] for item in body["items"]] == [2, 1, 1]
    assert len(body["items"][0]["source_paths"]) == 2


def test_a_row_seen_through_the_graph_and_by_search_is_two_identities() -> None:
    body = provenance(
        messages(5, message(1, source_index=0)), hits(message(1, content_source="raw_search_hit"))
    )
    assert ids(body) == ["store:1:0:message", "store:1:0:raw_search_hit"]


@pytest.mark.parametrize(
    ("given", "args"),
    [
        (message(4, content_offset=3), {"store_id": 4, "content_offset": 3}),
        (message(4, externalized={"ref": "a.json"}), {"store_id": 4, "content_offset": 0}),
        (hydrated(4, "x", "k" * 256, content_offset=3), {"externalized_ref": "k" * 256, "content_offset": 3}),
        (hydrated(4, "x", "k" * 257), None),
        (hydrated(4, "x", ""), None),
        (message(4, content_source="externalized_payload", externalized="a.json"), None),
        (message(None), None),
    ],
)
def test_a_locator_leads_to_the_quoted_text_or_is_not_there(
    given: dict[str, Any], args: dict[str, Any] | None
) -> None:
    item = only(hits(given))
    assert item.get("expand_args") == args
    assert item["locator_present"] is (args is not None)
    assert item["locator_replay_status"] == ("unverified" if args else "not_available")
    if args is None:
        assert "expand_args" not in item


def test_a_ref_that_leads_nowhere_is_still_told() -> None:
    item = only(hits(message(4, externalized={"ref": "a.json"})))
    assert (item["source_type"], item["externalized_ref"]) == ("raw_message", "a.json")


def test_a_summary_without_a_session_belongs_to_the_requests_and_a_message_to_none() -> None:
    body = provenance(
        summary(1), summary(2, session_id="s-other"), children(1, child(3, 0)), hits(message(4)), session="s"
    )
    assert [item["session_id"] for item in body["items"]] == ["s", "s-other", "s", ""]


@pytest.mark.parametrize(
    ("value", "shown"), [(None, ""), (0, ""), (False, ""), (5, "5"), (True, "True"), ("s", "s")]
)
def test_metadata_of_another_type_is_told_as_text(value: Any, shown: str) -> None:
    assert only(hits(message(4, role=value)))["role"] == shown


@pytest.mark.parametrize(("length", "whole"), [(256, True), (257, False)])
def test_metadata_is_bounded_at_256_code_points(length: int, whole: bool) -> None:
    text = "é🛶" * length
    item = only(hits(message(4, role=text[:length])))
    assert item["role"] == text[:256]
    assert ("metadata_truncation" not in item) is whole


def test_an_unusual_content_source_is_bounded_too() -> None:
    item = only(hits(message(4, content_source="c" * 300)))
    assert item["content_source"] == "c" * 256
    assert item["metadata_truncation"].keys() == {"content_source", "evidence_id"}
    assert item["source_type"] == "raw_message"


# Paths


def test_the_last_edge_comes_before_the_bound() -> None:
    block = {"source_path": HOPS, "source_path_depth": 10, "source_path_truncated": True}
    item = only(children(320, child(99, 3), **block))
    assert item["source_paths"] == [
        {"path": [*HOPS[1:], {"node_id": 320, "source_index": 3}], "depth": 11, "truncated": True}
    ]


@pytest.mark.parametrize("depth", [None, 0, 2, True, "9"])
def test_a_depth_that_is_none_is_the_lists_length(depth: Any) -> None:
    item = only(summary(1, source_path=HOPS[:3], source_path_depth=depth))
    assert item["source_paths"] == [{"path": HOPS[:3], "depth": 3, "truncated": False}]


def test_a_greater_depth_says_that_hops_are_missing() -> None:
    item = only(summary(1, source_path=HOPS[:3], source_path_depth=5))
    assert item["source_paths"] == [{"path": HOPS[:3], "depth": 5, "truncated": True}]


def test_hops_that_name_no_place_go_and_are_counted() -> None:
    given = [
        "junk",
        {"node_id": 1},
        {"node_id": True, "source_index": 0},
        {"node_id": 1, "source_index": "0"},
    ]
    item = only(summary(1, source_path=[*given, HOPS[0]]))
    assert item["source_paths"] == [{"path": [HOPS[0]], "depth": 5, "truncated": True}]
    assert "source_paths" not in only(summary(1, source_path=given))


def test_an_edge_without_a_place_is_counted_and_not_named() -> None:
    item = only(children(None, child(5, 0), source_path=HOPS[:1]))
    assert item["source_paths"] == [{"path": HOPS[:1], "depth": 2, "truncated": True}]


def test_a_hit_has_no_path_and_a_root_has_one_once_it_is_reached_as_a_child() -> None:
    body = provenance(summary(9), children(50, child(9, 1)), hits(message(4, source_index=0)))
    assert body["items"][0]["source_paths"] == [
        {"path": [{"node_id": 50, "source_index": 1}], "depth": 1, "truncated": False}
    ]
    assert "source_paths" not in body["items"][1]


def test_a_search_reaches_nothing_by_an_edge() -> None:
    found = hits(message(4, source_index=0)) | {"node_id": 5}
    assert "source_paths" not in only(found)
    assert only(found | {"source_path": HOPS[:1]})["source_paths"][0] == {
        "path": HOPS[:1], "depth": 1, "truncated": False,
    }  # fmt: skip


def test_one_path_twice_is_one_record() -> None:
    item = only(children(50, child(9, 1)), children(50, child(9, 1)))
    assert (item["context_occurrence_count"], len(item["source_paths"])) == (2, 1)


# The envelope


def test_members_of_the_envelope_speak_of_what_is_listed() -> None:
    """A cut quote and shortened metadata that are not listed are not told."""
    small = [summary(n) for n in range(1, 25)]
    body = provenance(*small, hits(message(4, "y" * 900, role="r" * 900)), truncated=True)
    assert len(body["items"]) < 25
    assert body["quotes_truncated_by_provenance_cap"] == 0
    assert body["metadata_truncated"] is False
    assert body["context_truncated"] is True
    assert (body["context_unique_item_count"], body["context_occurrence_count"]) == (25, 25)


def test_ten_thousand_characters_are_allowed_and_one_more_is_not() -> None:
    def filled(missing: int) -> dict[str, Any]:
        return provenance(*(summary(n, "y" * 350) for n in range(1, 14)), summary(14, "y" * missing))

    missing = 10_000 - measure(filled(100)) + 100
    assert 100 <= missing < 500
    exact, over = filled(missing), filled(missing + 1)
    assert (measure(exact), len(exact["items"])) == (10_000, 14)
    assert (len(over["items"]), over["items_truncated"], over["locator_coverage"]) == (13, True, "partial")


def test_a_large_item_is_not_skipped_for_a_small_one_behind_it() -> None:
    large = message(2, "🛶" * 500, role="🛶" * 256, source="🛶" * 256)
    body = provenance(hits(message(1), large, message(3)))
    assert [item["store_id"] for item in body["items"]] == [1]


def test_a_status_nobody_has_defined_is_refused() -> None:
    with pytest.raises(InvalidBlocks):
        provenance(status="unknown")


def test_session_ids_that_fill_the_object_are_named_by_a_digest() -> None:
    sessions = tuple(chr(0x1F600 + n) * 300 for n in range(3))
    scope = Scope(session_id="s", session_ids=sessions, kind="explicit_sessions")
    body = provenance(summary(1), summary(1), scope=scope)
    assert body["retrieval_scope"] == {
        "kind": "explicit_sessions",
        "session_ids": [],
        "session_id_sha256": sha256("\n".join(sessions).encode()).hexdigest(),
        "session_id_omitted_due_to_size": True,
    }
    assert body["fixed_envelope_compacted"] is True
    assert (body["items"], body["items_truncated"], body["locator_coverage"]) == ([], True, "partial")
    assert (body["context_unique_item_count"], body["context_occurrence_count"]) == (1, 2)
    empty = provenance(scope=scope, status="not_run")
    assert (empty["items_truncated"], empty["locator_coverage"]) == (False, "none")
    assert "fixed_envelope_compacted" not in provenance(
        scope=Scope(session_id="s", session_ids=sessions[:2], kind="explicit_sessions")
    )


def test_a_scope_without_a_session_is_refused() -> None:
    with pytest.raises(InvalidBlocks):
        Scope(session_id="s", session_ids=())
    with pytest.raises(InvalidBlocks):
        Scope(session_id="s", session_ids=("s",), kind="everything")  # type: ignore[arg-type]
