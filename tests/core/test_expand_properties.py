"""What holds for every context, whatever its blocks say and whatever graph they come from."""

import json
from copy import deepcopy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from provenance.expand_query.core import (
    Lineage,
    Payload,
    Scope,
    Window,
    build_provenance,
    context_pagination,
    fit_serialized,
    read_blocks,
    write_blocks,
)
from provenance.expand_query.core.blocks import ChildrenBlock, MessagesBlock, SummaryBlock
from provenance.expand_query.core.evidence import identities, item, occurrences
from provenance.expand_query.core.expansion import expand_message, expand_node, expand_payload
from tests.core.expand_builders import row
from tests.core.expand_strategies import STATUSES, World, relaxed, scopes, worlds, written_blocks

LIMIT = 10_000
DEFAULT_MAX_TOKENS = 4000
"""Contract, section D."""

SESSION = Scope.of_session("s-quay")
EVERY = 10**6


def build(
    blocks: Any, scope: Scope = SESSION, status: Any = "completed", truncated: bool = False
) -> dict[str, Any]:
    return build_provenance(blocks, scope=scope, synthesis_status=status, context_truncated=truncated)


@relaxed
@given(written_blocks(), scopes(), STATUSES, st.booleans())
def test_the_object_is_bounded_and_its_counts_agree(
    written: list[Any], scope: Scope, status: str, truncated: bool
) -> None:
    blocks = read_blocks(written)
    body = build(blocks, scope, status, truncated)
    assert len(json.dumps(body)) <= LIMIT
    found = identities(blocks, scope.session_id, most=EVERY).listed
    listed = body["items"]
    # Whole items, the first ones, in first-seen order.
    assert listed == [item(identity) for identity in found[: len(listed)]]
    assert len(listed) <= 24
    assert body["context_unique_item_count"] == len(found)
    assert body["context_occurrence_count"] == sum(1 for _ in occurrences(blocks, scope.session_id))
    assert body["items_truncated"] is (len(listed) < len(found))
    assert body["quotes_truncated_by_provenance_cap"] == sum(
        each["quote_truncated_by_provenance_cap"] for each in listed
    )
    shortened = "metadata_truncation" in body["retrieval_scope"] or "fixed_envelope_compacted" in body
    assert body["metadata_truncated"] is (shortened or any("metadata_truncation" in each for each in listed))
    whole = not body["items_truncated"] and all(each["locator_present"] for each in listed)
    assert body["locator_coverage"] == ("none" if not found else "complete" if whole else "partial")


@relaxed
@given(written_blocks())
def test_one_more_item_would_not_have_fitted(written: list[Any]) -> None:
    blocks = read_blocks(written)
    body = build(blocks)
    found = identities(blocks, SESSION.session_id, most=EVERY).listed
    kept = len(body["items"])
    if kept == min(24, len(found)):
        return
    one_more = [*body["items"], item(found[kept])]
    # What the envelope says of its items takes at most a few characters more or less.
    assert len(json.dumps(body | {"items": one_more})) > LIMIT - 10


@relaxed
@given(written_blocks(), st.integers(1, 6))
def test_the_first_identities_are_the_first_of_all(written: list[Any], most: int) -> None:
    blocks = read_blocks(written)
    first, every = (identities(blocks, SESSION.session_id, most=each) for each in (most, EVERY))
    assert first.listed == every.listed[:most]
    assert (first.unique, first.occurrences) == (len(every.listed), every.occurrences)
    assert every.occurrences == sum(identity.occurrences for identity in every.listed)


@relaxed
@given(written_blocks())
def test_every_item_is_bounded(written: list[Any]) -> None:
    for identity in identities(read_blocks(written), SESSION.session_id, most=EVERY).listed:
        told = item(identity)
        assert len(told["quote"]) <= 500
        assert all(len(told[name]) <= 256 for name in ("session_id", "evidence_id"))
        assert len(told.get("source_paths", [])) <= 8
        for record in told.get("source_paths", []):
            assert 1 <= len(record["path"]) <= 8
            assert record["truncated"] or record["depth"] == len(record["path"])
        assert told["locator_present"] is ("expand_args" in told)


@relaxed
@given(written_blocks())
def test_the_input_is_not_modified_and_the_output_shares_nothing_with_it(written: list[Any]) -> None:
    before = deepcopy(written)
    blocks = read_blocks(written)
    body = build(blocks)
    assert written == before
    first = json.dumps(body)
    for told in body["items"]:
        told.get("expand_args", {}).clear()
        told.get("source_paths", []).clear()
    assert json.dumps(build(blocks)) == first


@relaxed
@given(written_blocks())
def test_writing_blocks_loses_nothing(written: list[Any]) -> None:
    blocks = read_blocks(written)
    sent = json.loads(json.dumps(write_blocks(blocks)))
    assert read_blocks(sent) == blocks
    assert build(read_blocks(sent)) == build(blocks)


@relaxed
@given(written_blocks())
def test_statuses_differ_in_two_members(written: list[Any]) -> None:
    blocks = read_blocks(written)
    done, failed = build(blocks), build(blocks, status="failed")
    differing = {name for name in done if done[name] != failed[name]}
    if len(done["items"]) == len(failed["items"]):
        assert differing == {"synthesis_status", "semantic_entailment"}


@relaxed
@given(worlds())
def test_on_unchanged_data_an_expansion_begins_with_the_quote(world: World) -> None:
    stored = Lineage(nodes=world.lineage.nodes, messages={n: row(n, text) for n, text in world.rows.items()})
    for identity in identities(world.collect().blocks, SESSION.session_id, most=EVERY).listed:
        told = item(identity)
        args = told["expand_args"]
        window = Window(max_tokens=DEFAULT_MAX_TOKENS, content_offset=args.get("content_offset", 0))
        if "externalized_ref" in args:
            ref = args["externalized_ref"]
            opened = expand_payload(Payload(ref=ref), world.payloads[ref], window, world.count)["content"]
        elif "store_id" in args:
            opened = expand_message(stored.message(args["store_id"]), "", window, world.count)["content"]
        else:
            opened = expand_node(stored.node(args["node_id"]), stored, window, world.count)["summary"]
        assert opened.startswith(told["quote"])


@relaxed
@given(worlds())
def test_a_context_says_whatever_it_left_out(world: World) -> None:
    """With a budget for everything nothing is left out; with less, an entry says so."""
    whole, context = world.collect(10**6), world.collect()
    assert context_pagination(whole) == []
    shown = [occurrence.text for occurrence in occurrences(context.blocks, "")]
    everything = [occurrence.text for occurrence in occurrences(whole.blocks, "")]
    if shown != everything:
        assert context_pagination(context)
    fitting, tokens = fit_serialized(context, budget=world.budget, count=world.count)
    assert tokens <= max(world.budget, world.count("[]"))
    assert bool(context_pagination(fitting)) is bool(context_pagination(context) or fitting.dropped)


@relaxed
@given(worlds())
def test_what_is_shown_is_a_slice_of_what_is_stored(world: World) -> None:
    for block in world.collect().blocks:
        if isinstance(block, SummaryBlock):
            assert world.lineage.nodes[block.node_id or 0].summary.startswith(block.summary)
        elif isinstance(block, ChildrenBlock):
            for child in block.children:
                assert child
                assert world.lineage.nodes[child.node_id or 0].summary.startswith(child.summary)
        elif isinstance(block, MessagesBlock):
            for message in block.messages:
                assert message
                stored = world.rows[message.store_id or 0]
                if message.content_source == "externalized_payload":
                    assert message.transcript_content == stored
                    stored = world.payloads[message.externalized_ref]
                page = message.page
                assert stored[page.content_offset : page.end] == page.content
                assert page.content_chars == len(stored)


@relaxed
@given(worlds())
def test_the_contents_are_charged(world: World) -> None:
    """All that is shown costs at most the budget and, for each block, one overdraft.

    A block overdraws by its placeholders, its path and one character that had to be shown.
    """
    context = world.collect()
    spent = sum(world.count(occurrence.text) for occurrence in occurrences(context.blocks, ""))
    placeholders = sum(
        world.count(message.transcript_content or "")
        for block in context.blocks
        if isinstance(block, MessagesBlock)
        for message in block.messages
        if message
    )
    assert spent <= world.budget + placeholders + len(context.blocks)


@relaxed
@given(worlds())
def test_the_same_world_gives_the_same_bytes(world: World) -> None:
    context = world.collect()
    assert world.collect() == context
    assert json.dumps(build(context.blocks)) == json.dumps(build(read_blocks(write_blocks(context.blocks))))
