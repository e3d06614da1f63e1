"""``claims_and_sources`` (contract, sections C.2, F, G and N)."""

import json
from dataclasses import replace

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from provenance.context_bundle.core import (
    SCHEMA,
    ClaimsRequest,
    ClaimsSeen,
    InvalidSeen,
    decide_claims,
    decode,
)
from provenance.context_bundle.core.seen import Channel
from provenance.context_bundle.core.temporal import Current
from provenance.context_bundle.core.types import InvalidRequest
from tests.contracts.check_envelope import check
from tests.core.context_bundle.builders import FRESH, SCOPE, chunk, claim, day, document, said, uuid
from tests.core.context_bundle.worlds import ClaimsWorld, claims_worlds, relaxed

is_envelope = jsonschema_rs.validator_for(SCHEMA).validate


def seen(claims=(), chunks=(), *, claim_channels=None, **given):
    """Two channels that nominate all rows in their order, unless said otherwise."""
    numbers = claim_channels or [[row.number for row in claims]] * 2
    made = ClaimsSeen(
        scope=SCOPE,
        freshness=FRESH,
        claims=tuple(Channel(name=f"c{n}", numbers=tuple(each)) for n, each in enumerate(numbers)),
        chunks=(Channel(name="c0", numbers=tuple(row.number for row in chunks)),),
        claim_rows=tuple(claims),
        chunk_rows=tuple(chunks),
        documents=tuple(document(number) for number in (1, 2, 3)),
    )
    return replace(made, **given)


def ids(body, array="evidence", name="claim_id"):
    return [row[name] for row in body[array]]


@relaxed
@given(claims_worlds())
def test_every_answer_holds_to_the_contract(world: ClaimsWorld):
    body = world.answer()
    is_envelope(body)
    assert check(body) == []
    assert body["grain"] == "evidence"
    assert body["freshness"]["pg_live_ts"] == body["temporal_scope"]["evaluated_at"]
    assert json.dumps(body) == json.dumps(world.answer())
    if not world.seen.anchors_known:
        assert body["negative"]["kind"] == "unknown_entity"
        assert (body["dropped_by_hydration"], body["truncation"]) == (0, None)


@relaxed
@given(claims_worlds())
def test_candidates_are_shown_grouped_left_over_or_dropped(world: ClaimsWorld):
    if not world.seen.anchors_known:
        return
    body = world.answer()
    nominated = {number for channel in world.seen.claims for number in channel.numbers}
    passages = {number for channel in world.seen.chunks for number in channel.numbers}
    decided = decide_claims(world.request, world.seen)
    grouped = [row.number for group in decided.testimony for row in group.claims]
    assert sorted([*grouped, *decided.rejected_claims]) == sorted(nominated)
    assert sorted([*(row.number for row in decided.passages), *decided.rejected_chunks]) == sorted(passages)
    assert body["dropped_by_hydration"] == len(decided.rejected_claims) + len(decided.rejected_chunks)
    cut = body["truncation"]
    assert cut["estimated_total"] == len(decided.testimony) + len(decided.passages)
    # A drop never shortens an answer while something else may be shown.
    assert len(body["evidence"]) == min(world.request.k, len(decided.testimony))
    assert len(body["chunks"]) == min(world.request.k, len(decided.passages))


@relaxed
@given(claims_worlds())
def test_more_anchors_come_first(world: ClaimsWorld):
    if world.request.entity_ids is None or not world.seen.anchors_known:
        return
    decided = decide_claims(world.request, world.seen)
    for touches in (
        [len(group.representative.touches) for group in decided.testimony],
        [len(row.touches) for row in decided.passages],
    ):
        assert touches == sorted(touches, reverse=True)
        assert 0 not in touches


@relaxed
@given(claims_worlds())
def test_pages_put_together_are_the_whole(world: ClaimsWorld):
    wide = replace(world, request=replace(world.request, k=100, candidate_k=400)).answer()
    position, shown, passages = None, [], []
    for _ in range(20):
        body = replace(world, request=replace(world.request, continuation=position)).answer()
        shown += ids(body)
        passages += ids(body, "chunks", "chunk_id")
        is_envelope(body)
        assert check(body) == []
        if body["truncation"] is None or body["truncation"]["continuation"] is None:
            break
        position = decode(body["truncation"]["continuation"].partition(":")[0])
        assert position.scope == world.seen.scope
    assert shown == ids(wide)
    assert passages == ids(wide, "chunks", "chunk_id")


@relaxed
@given(claims_worlds(), st.randoms())
def test_the_order_rows_were_read_in_does_not_matter(world: ClaimsWorld, random):
    mixed = {
        name: tuple(random.sample(rows, len(rows)))
        for name in ("claims", "claim_rows", "chunk_rows", "documents")
        for rows in (getattr(world.seen, name),)
    }
    assert replace(world, seen=replace(world.seen, **mixed)).answer() == world.answer()


def test_only_current_testimony_unless_asked_for():
    world = seen([claim(1, is_current=False), claim(2)])
    body = said(ClaimsRequest(query="winch"), world)
    assert ids(body) == [uuid("c", 2)]
    assert body["dropped_by_hydration"] == 1
    body = said(ClaimsRequest(query="winch", include_superseded=True), world)
    assert [row["is_current_testimony"] for row in body["evidence"]] == [False, True]


def test_a_group_shows_its_best_and_counts_documents():
    says = {"says": "The winch sticks."}
    world = seen(
        [
            claim(3, document=2, **says),
            claim(1, document=1, **says),
            claim(2, document=1, says="the winch sticks"),
        ]
    )
    (row,) = said(ClaimsRequest(query="winch"), world)["evidence"]
    assert row["claim_id"] == uuid("c", 3)
    assert row["corroboration_count"] == 2
    assert row["grouped_claim_ids"] == [uuid("c", 3), uuid("c", 1), uuid("c", 2)]
    assert row["evidence_spans"][0] == {"char_start": row["char_start"], "char_end": row["char_end"]}


def test_rejected_heads_are_refilled_before_the_cut():
    world = seen([claim(1), claim(2)], claim_channels=[[90, 91, 1, 2], [91, 90, 2, 1]])
    body = said(ClaimsRequest(query="winch", k=2, candidate_k=10), world)
    assert ids(body) == [uuid("c", 1), uuid("c", 2)]
    assert body["dropped_by_hydration"] == 2
    assert body["truncation"]["truncated"] is False


def test_a_full_channel_leaves_the_total_open():
    world = seen([claim(1), claim(2)])
    body = said(ClaimsRequest(query="winch", k=1, candidate_k=2), world)
    assert (body["truncation"]["total_is_exact"], body["truncation"]["reason"]) == (False, "candidate_budget")
    body = said(ClaimsRequest(query="winch", k=1, candidate_k=3), world)
    assert (body["truncation"]["total_is_exact"], body["truncation"]["reason"]) == (True, "result_budget")


def test_k_bounds_claims_and_chunks_apart():
    world = seen([claim(1), claim(2)], [chunk(1), chunk(2), chunk(3)])
    body = said(ClaimsRequest(query="winch", k=2), world)
    assert (len(body["evidence"]), len(body["chunks"])) == (2, 2)
    cut = body["truncation"]
    assert (cut["returned"], cut["estimated_total"], cut["total_is_exact"]) == (4, 5, True)
    position = decode(cut["continuation"].partition(":")[0])
    assert position.returned == ((1, 2), (1, 2))
    body = said(ClaimsRequest(query="winch", k=2, continuation=position), world)
    assert (ids(body), ids(body, "chunks", "chunk_id")) == ([], [uuid("b", 3)])
    assert body["negative"] is None


def test_nothing_found_is_absence_only_after_a_complete_search():
    request = ClaimsRequest(query="winch", entity_ids=(uuid("e", 1),))
    assert said(request, seen())["negative"]["kind"] == "known_empty"
    cut = (Channel(name="c0", exhausted=True),)
    body = said(request, replace(seen(), claims=cut))
    assert body["negative"]["kind"] == "boundary"
    assert body["truncation"]["reason"] == "candidate_budget"


def test_what_left_its_anchor_or_its_document_is_dropped():
    request = ClaimsRequest(query="winch", entity_ids=(uuid("e", 1),))
    world = seen([claim(1), claim(2, touches=(1,), document=9), claim(3, touches=(1,))])
    assert decide_claims(request, world).rejected_claims == {1: "anchor_gone", 2: "document_gone"}
    assert ids(said(request, world)) == [uuid("c", 3)]


def test_a_later_page_leaves_out_a_group_whose_head_has_changed():
    """Page one showed claim 1 for both; since then claim 2 ranks before it."""
    says = {"says": "The winch sticks."}
    rows = [claim(1, document=1, **says), claim(2, document=2, **says), claim(3)]
    first = said(ClaimsRequest(query="winch", k=1), seen(rows))
    position = decode(first["truncation"]["continuation"].partition(":")[0])
    later = said(ClaimsRequest(query="winch", k=1, continuation=position), seen([rows[1], rows[0], rows[2]]))
    assert ids(later) == [uuid("c", 3)]


def test_a_later_page_counts_no_drop_of_what_was_returned():
    rows = [claim(1), claim(2), claim(3)]
    first = said(ClaimsRequest(query="winch", k=1), seen(rows, [chunk(1), chunk(2)]))
    position = decode(first["truncation"]["continuation"].partition(":")[0])
    later = ClaimsRequest(query="winch", k=1, continuation=position)
    lost = replace(seen(rows[2:], claim_channels=[[1, 2, 3]]), chunks=(Channel(name="c0", numbers=(1, 2)),))
    body = said(later, lost)
    assert body["dropped_by_hydration"] == 2, "claim 2 and chunk 2; claim 1 and chunk 1 were given before"
    assert ids(body) == [uuid("c", 3)]


def test_the_member_that_touches_most_anchors_represents_its_group():
    says = {"says": "The winch sticks."}
    request = ClaimsRequest(query="winch", entity_ids=(uuid("e", 1), uuid("e", 2)))
    world = seen([claim(1, touches=(1,), **says), claim(2, touches=(2, 1), **says), claim(3, touches=(1,))])
    body = said(request, world)
    assert [row["grouped_claim_ids"] for row in body["evidence"]] == [
        [uuid("c", 2), uuid("c", 1)],
        [uuid("c", 3)],
    ]


def test_a_later_page_is_read_in_the_scope_of_the_first():
    first = said(ClaimsRequest(query="winch", k=1), seen([claim(1), claim(2)]))
    position = decode(first["truncation"]["continuation"].partition(":")[0])
    with pytest.raises(InvalidSeen):
        said(
            ClaimsRequest(query="winch", k=1, continuation=position),
            seen([claim(1), claim(2)], scope=Current(evaluated_at=day(1))),
        )


def test_a_row_that_contradicts_itself_cannot_be_built():
    with pytest.raises(InvalidSeen):
        claim(1, char_end=900, spans=((4, 900),))
    with pytest.raises(InvalidSeen):
        claim(1, spans=((0, 3),))
    with pytest.raises(InvalidSeen):
        chunk(1, char_end=3)
    with pytest.raises(InvalidSeen):
        seen([claim(1), claim(1)])


@pytest.mark.parametrize(
    "broken",
    [
        {"query": ""},
        {"query": " \n"},
        {"query": "x" * 8193},
        {"entity_ids": ()},
        {"entity_ids": (uuid("e", 1), uuid("e", 1))},
        {"entity_ids": tuple(uuid("e", n) for n in range(21))},
        {"k": 0},
        {"k": 101},
        {"k": True},
        {"k": 2.0},
        {"k": 50, "candidate_k": 49},
        {"candidate_k": 401},
    ],
)
def test_a_request_outside_its_bounds_cannot_be_built(broken):
    with pytest.raises(InvalidRequest):
        ClaimsRequest(**{"query": "winch", **broken})
