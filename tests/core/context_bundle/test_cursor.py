"""Positions as text and back (contract, section F.5)."""

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from provenance.context_bundle.core.cursor import (
    TOKEN_MAX_CHARS,
    MalformedCursor,
    Position,
    decode,
    encode,
    fitting,
    pack,
    unpack,
)
from provenance.context_bundle.core.temporal import AsOf, At, Current, History, Overlap
from provenance.context_bundle.core.types import ClaimsRequest, FactsRequest
from tests.core.context_bundle.builders import NOW, SCOPE, day, token, uuid

instants = st.datetimes(timezones=st.just(UTC))
regimes = st.sampled_from(("current", "as_of"))
scopes = st.one_of(
    st.builds(Current, evaluated_at=instants, identity_regime=regimes),
    st.builds(History, evaluated_at=instants, identity_regime=regimes),
    st.builds(At, evaluated_at=instants, at=instants),
    st.tuples(instants, instants, instants).map(
        lambda each: Overlap(evaluated_at=each[0], start=min(each[1:]), end=max(each[1:]))
    ),
    st.builds(AsOf, evaluated_at=instants, believed_at=instants, valid_at=instants, identity_regime=regimes),
)
numbers = st.sets(st.integers(0, 2**40), max_size=40).map(lambda each: tuple(sorted(each)))
positions = st.builds(
    Position,
    operation=st.text("abc_", max_size=20),
    digest=st.binary(max_size=16),
    scope=scopes,
    returned=st.lists(numbers, max_size=3).map(tuple),
    last=st.lists(st.one_of(st.integers(-(2**70), 2**70), st.text(max_size=8)), max_size=4).map(tuple),
)


@given(positions)
def test_a_position_reads_as_itself(position):
    assert decode(encode(position)) == position
    assert set(encode(position)) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@given(positions, st.integers(min_value=0), st.integers(1, 255))
def test_another_byte_is_another_position_or_none(position, place, change):
    packed = bytearray(pack(position))
    packed[place % len(packed)] ^= change
    with suppress(MalformedCursor):
        assert unpack(bytes(packed)) != position


@given(positions, st.integers(min_value=1), st.binary(min_size=1, max_size=3))
def test_bytes_cut_short_or_followed_by_others_are_refused(position, cut, more):
    packed = pack(position)
    with pytest.raises(MalformedCursor):
        unpack(packed[: -(1 + cut % len(packed))] if cut % len(packed) + 1 < len(packed) else b"")
    with pytest.raises(MalformedCursor):
        unpack(packed + more)


@given(st.binary(max_size=60))
@example(b"\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f")
@example(b"\x01\x00\x00\x00\x00\x00\xff\xff\xff\x7f")
def test_any_bytes_are_a_position_or_refused(junk):
    with suppress(MalformedCursor):
        assert pack(unpack(junk)) == junk


@given(st.text(max_size=40))
@example("AQ==")
@example("é")
def test_any_text_is_a_position_or_refused(junk):
    with suppress(MalformedCursor):
        assert encode(decode(junk)) == junk


def test_one_position_has_one_text():
    position = Position(operation="x", digest=b"\xfb\xff\xbe" * 4, scope=SCOPE)
    written = next(
        each for tail in ("", "a", "aa") if len(each := encode(replace(position, operation="x" + tail))) % 4
    )
    last = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".index(written[-1])
    loose = written[:-1] + "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[last + 1]
    assert "-" in encode(position) or "_" in encode(position)
    for other in (
        loose,
        encode(position).replace("-", "+").replace("_", "/"),
        encode(position) + "=",
        f"{written} ",
    ):
        with pytest.raises(MalformedCursor):
            decode(other)


def test_two_hundred_large_numbers_fit_a_cursor():
    """What a facts_context can have returned at most: its depth of candidates, here of a store with two million."""
    spread = tuple(range(7, 2_000_007, 10_000))
    assert len(spread) == 200
    written = token(Position(operation="facts_context", digest=b"d" * 12, scope=SCOPE, returned=(spread,)))
    assert written is not None
    assert len(written) <= TOKEN_MAX_CHARS


def test_a_token_that_is_too_long_cannot_be_resumed():
    assert fitting("x" * TOKEN_MAX_CHARS) is not None
    assert fitting("x" * (TOKEN_MAX_CHARS + 1)) is None
    far = tuple(range(0, 2_000_000_000, 1_000_000))
    assert (
        token(Position(operation="claims_and_sources_context", digest=b"", scope=SCOPE, returned=(far,)))
        is None
    )


def test_returned_numbers_ascend():
    for broken in ((2, 1), (1, 1), (-1,)):
        with pytest.raises(ValueError, match="ascend"):
            Position(operation="x", digest=b"", scope=SCOPE, returned=(broken,))


def test_a_cursor_is_bound_to_every_argument():
    facts = FactsRequest(query="winch")
    others = (
        {"query": "winch "},
        {"entity_ids": (uuid("e", 1),)},
        {"k": 14},
        {"evidence_per_fact": 2},
        {"hops": 2},
        {"predicate": "works_for"},
    )
    digests = {FactsRequest(**{"query": "winch", **other}).digest() for other in others}
    digests |= {
        ClaimsRequest(query="winch").digest(),
        ClaimsRequest(query="winch", include_superseded=True).digest(),
    }
    digests |= {
        ClaimsRequest(query="winch", k=49).digest(),
        ClaimsRequest(query="winch", candidate_k=199).digest(),
    }
    assert len(digests) == 10
    assert facts.digest() not in digests
    position = Position(operation="facts_context", digest=facts.digest(), scope=SCOPE)
    assert FactsRequest(query="winch", continuation=position).digest() == facts.digest()
    assert position.of("facts_context", facts.digest())
    assert not position.of("claims_and_sources_context", facts.digest())
    assert not position.of("facts_context", b"")


def test_an_instant_is_kept_to_the_microsecond():
    scope = At(evaluated_at=NOW + timedelta(microseconds=1), at=datetime.min.replace(tzinfo=UTC))
    position = Position(operation="x", digest=b"", scope=scope, last=(-1, "a", 0))
    assert decode(encode(position)) == position
    assert decode(encode(position)).scope.evaluated_at - NOW == timedelta(microseconds=1)
    assert day(1) != scope.at
