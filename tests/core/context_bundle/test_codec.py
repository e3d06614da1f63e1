"""What was seen as JSON and back, without its texts."""

import json
from datetime import datetime

import pytest
from hypothesis import given

from provenance.context_bundle.core import ClaimsSeen, FactsSeen, ResolveSeen, codec
from provenance.context_bundle.core.seen import Fact, NearName, Text
from provenance.context_bundle.core.temporal import AsOf, Scope
from tests.core.context_bundle.builders import (
    FRESH,
    NOW,
    SCOPE,
    chunk,
    claim,
    day,
    document,
    entity,
    observation,
    relation,
)
from tests.core.context_bundle.worlds import claims_worlds, facts_worlds, relaxed


def texts_of(value):
    """Every text of the rows, by what names it."""
    if isinstance(value, Text):
        return {(value.ref, value.digest): value.text}
    if isinstance(value, tuple):
        return {key: each for part in value for key, each in texts_of(part).items()}
    if hasattr(value, "__dataclass_fields__"):
        return texts_of(tuple(getattr(value, name) for name in value.__dataclass_fields__))
    return {}


def again(value):
    written = json.loads(json.dumps(codec.write(value)))
    texts = texts_of(value)
    return codec.read(type(value), written, lambda ref, digest: texts[ref, digest])


@relaxed
@given(claims_worlds())
def test_claims_seen_reads_as_itself(world):
    assert again(world.seen) == world.seen


@relaxed
@given(facts_worlds())
def test_facts_seen_reads_as_itself(world):
    assert again(world.seen) == world.seen


def test_resolve_seen_reads_as_itself():
    seen = ResolveSeen(
        scope=AsOf(evaluated_at=NOW, believed_at=day(3), valid_at=day(1), identity_regime="as_of"),
        freshness=FRESH,
        near=(NearName(entity=1, tier="T1", score=0.25),),
        context_hits=((1, 2),),
        entities=(entity(1),),
    )
    assert again(seen) == seen


def test_no_text_is_written():
    words = "Only in the text."
    seen = ClaimsSeen(
        scope=SCOPE, freshness=FRESH, claim_rows=(claim(1, says=words),), chunk_rows=(chunk(2),)
    )
    written = (
        json.dumps(codec.write(seen)).replace(f"digest of {words}", "").replace("digest of Passage 2.", "")
    )
    assert words not in written
    assert "Passage" not in written
    assert codec.collect_texts(seen) == {
        "claim:1": f"digest of {words}",
        "claim:1/span": f"digest of {words}",
        "mem:2": "digest of Passage 2.",
    }


def test_defaults_are_left_out():
    assert codec.write(document(1, title=None)) == {
        "number": 1,
        "doc_id": document(1).doc_id,
        "source_kind": "file",
    }
    assert codec.write(SCOPE) == {"mode": "current", "evaluated_at": "2026-09-30T10:00:00Z"}
    assert "window" not in codec.write(observation(1))


@pytest.mark.parametrize(
    "change",
    [
        {"number": "1"},
        {"number": True},
        {"number": 1.0},
        {"kind": "opinion"},
        {"surplus": 1},
        {"window": []},
        {"statement": ["ref"]},
        {"ingested_at": 5},
        {"withdrawn": 1},
        {"fact_id": None},
    ],
)
def test_json_that_is_no_such_value_is_refused(change):
    written = {**codec.write(observation(1)), **change}
    with pytest.raises(codec.Unreadable):
        codec.read(Fact, written, lambda _ref, _digest: "text")


def test_a_missing_member_and_an_unknown_mode_are_refused():
    written = codec.write(relation(1))
    with pytest.raises(codec.Unreadable):
        codec.read(
            Fact, {name: each for name, each in written.items() if name != "fact_id"}, lambda _r, _d: ""
        )
    seen = codec.write(FactsSeen(scope=SCOPE, freshness=FRESH))
    with pytest.raises(codec.Unreadable):
        codec.read(FactsSeen, {**seen, "scope": {"mode": "never"}}, lambda _r, _d: "")


def test_a_text_that_is_gone_is_the_readers_to_say():
    def gone(ref, _digest):
        raise LookupError(ref)

    with pytest.raises(LookupError, match="fact:1"):
        codec.read(Fact, codec.write(observation(1)), gone)


def test_what_has_no_json_is_refused():
    for each in ([1], {"a": 1}, object()):
        with pytest.raises(TypeError):
            codec.write(each)
    assert datetime.fromisoformat(codec.write(NOW)) == NOW
    assert Scope.__args__[0].mode == "current"
