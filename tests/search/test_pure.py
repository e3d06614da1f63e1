"""The arithmetic: packing, scores, vectors, gate and order, without a database."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryconsole.search import fuse, lexical
from memoryconsole.search.analyze import index_terms, query_units
from memoryconsole.search.coverage import WHOLE, weight
from memoryconsole.search.fuse import NO_VECTOR, Gate, Key, Kind, Pool
from memoryconsole.search.lexical import Found
from memoryconsole.search.vectors import cosines, largest, literal, quantize

SALT = 41


def found(*texts: str, salt: int = SALT) -> Found:
    packed = [lexical.pack(salt, index_terms(text, "english").counts) for text in texts]
    return Found(
        ids=np.arange(100, 100 + len(texts)),
        lengths=np.array([index_terms(text, "english").length for text in texts], dtype=np.int64),
        sizes=np.array([len(forward) // lexical.FORWARD_BYTES for _, forward in packed], dtype=np.int64),
        in_scope=np.ones(len(texts), dtype=np.bool_),
        forward=b"".join(forward for _, forward in packed),
    )


def test_an_entry_is_packed_the_same_whatever_the_order_of_its_words() -> None:
    one = lexical.pack(SALT, {"ferry": 2, "pier": 1}, ["by\x1fada", "on\x1f2026"])
    other = lexical.pack(SALT, {"pier": 1, "ferry": 2}, ["on\x1f2026", "by\x1fada"])
    assert one == other
    assert one[0] == sorted(one[0])
    assert len(one[0]) == 2
    assert len(one[1]) == 4 * lexical.FORWARD_BYTES


def test_keys_are_salted_with_the_store_and_fit_a_bigint() -> None:
    assert lexical.key(1, "ferry") != lexical.key(2, "ferry")
    assert lexical.key(1, "ferry") == lexical.key(1, "ferry")
    assert all(-(2**63) <= lexical.key(salt, "ferry") < 2**63 for salt in range(200))


def test_words_are_counted_where_they_are() -> None:
    rows = found("ferry ferry pier", "", "pier log", "ferry")
    wanted = [lexical.low(lexical.key(SALT, term)) for term in ("absent", "pier", "ferri")]
    hits = lexical.look_up(rows, wanted)
    seen = sorted(zip(hits.rows.tolist(), hits.terms.tolist(), hits.counts.tolist(), strict=True))
    assert seen == [(0, 1, 1), (0, 2, 2), (2, 1, 1), (3, 2, 1)]


def test_who_and_when_count_only_beside_a_word_of_the_text() -> None:
    marked = lexical.votes(["Ada"], datetime(2026, 5, 8, tzinfo=UTC), "english")
    texts = ["the ferry", "the tide"]
    packed = [lexical.pack(SALT, index_terms(text, "english").counts, marked)[1] for text in texts]
    rows = replace(
        found(*texts),
        sizes=np.array([len(forward) // lexical.FORWARD_BYTES for forward in packed]),
        forward=b"".join(packed),
    )
    units = query_units("what did Ada say of the ferry in May 2026", "english")
    matches = lexical.match(rows, units, total=2, salt=SALT)
    votes = lexical.PRODUCER_VOTE + 2 * lexical.DATE_VOTE
    assert matches.votes.tolist() == [lexical.ONCE * votes, 0]
    assert matches.evidence.coverage.tolist() == [WHOLE, 0]
    # No query finds a row by them.
    assert lexical.pack(SALT, {}, marked)[0] == []


def test_a_row_that_only_an_alias_found_changes_nothing_for_the_others() -> None:
    marked = lexical.votes(["Ada"], None, "english")
    packed = [
        lexical.pack(SALT, index_terms("ferry", "english").counts)[1],
        lexical.pack(SALT, index_terms("larkspur", "english").counts, marked)[1],
    ]

    def coverage(rows: int) -> list[int]:
        forward = packed[:rows]
        found_rows = Found(
            ids=np.arange(rows),
            lengths=np.ones(rows, dtype=np.int64),
            sizes=np.array([len(part) // lexical.FORWARD_BYTES for part in forward]),
            in_scope=np.ones(rows, dtype=np.bool_),
            forward=b"".join(forward),
        )
        units = query_units("ada ferry odalys", "english")
        evidence = lexical.match(found_rows, units, total=2, salt=SALT).evidence
        return [int(share) for share in evidence.coverage]

    assert coverage(2) == [*coverage(1), 0]


def test_a_count_saturates_in_one_byte() -> None:
    (row,) = lexical.look_up(
        found("ferry " * 1000), [lexical.low(lexical.key(SALT, "ferri"))]
    ).counts.tolist()
    assert row == lexical.MAX_FREQUENCY


def test_rare_words_weigh_more_repetitions_less_and_length_costs() -> None:
    assert lexical.idf(100, 1) > lexical.idf(100, 50) > lexical.idf(100, 100) >= 1
    counts = lexical.impacts(np.array([1, 2, 3, 255]), np.array([24, 24, 24, 24])).tolist()
    assert counts == sorted(counts)
    assert counts[1] - counts[0] > counts[2] - counts[1]
    lengths = lexical.impacts(np.array([1, 1, 1, 1]), np.array([6, 24, 240, 50_000])).tolist()
    assert lengths[0] > lengths[1] > lengths[2] == lengths[3] > 0


def test_scores_do_not_depend_on_the_order_in_which_rows_are_read() -> None:
    texts = ["pier ferry log", "ferry ferry", "log of the pier", "tide", "pier pier pier ferry"]
    units = query_units("ferry at the pier log", "english")
    straight = lexical.match(found(*texts), units, total=5, salt=SALT)
    back = lexical.match(found(*reversed(texts)), units, total=5, salt=SALT)
    assert straight.own.tolist() == back.own.tolist()[::-1]
    assert straight.evidence.coverage.tolist() == back.evidence.coverage.tolist()[::-1]


def test_coverage_is_a_share_of_the_query_weighted_by_rarity() -> None:
    texts = ["ferry", "ferry pier", "tide", *["ferry"] * 20]
    units = query_units("ferry pier", "english")
    evidence = lexical.match(found(*texts), units, total=len(texts), salt=SALT).evidence
    whole, common = evidence.coverage[1], evidence.coverage[0]
    assert whole == WHOLE
    assert evidence.coverage[2] == 0
    assert common < WHOLE // 2
    assert evidence.rare.tolist()[:3] == [False, True, False]


def test_the_whole_of_a_compound_costs_nothing_where_only_its_pieces_are_known() -> None:
    units = query_units("brother-in-law", "english")
    evidence = lexical.match(found("my brother in law", "tide"), units, total=2, salt=SALT).evidence
    assert evidence.coverage.tolist() == [WHOLE, 0]


@given(st.integers(0, 10**6), st.data())
def test_a_weight_is_positive_and_falls_with_frequency(total: int, data: st.DataObject) -> None:
    df = data.draw(st.integers(0, total))
    assert weight(total, df) > 0
    assert weight(total, 0) >= weight(total, df)


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=32))
def test_vectors_become_whole_numbers_that_point_the_same_way(values: list[float]) -> None:
    vector = np.array(values, dtype=np.float32)
    whole = quantize(vector)
    if whole is None:
        assert not vector.any()
        return
    assert np.abs(whole).max() == largest(len(values))
    exact = vector.astype(np.float64)
    similarity = exact @ whole / (np.linalg.norm(exact) * np.linalg.norm(whole))
    assert similarity > 0.99
    assert literal(whole).count(",") == len(values) - 1


@pytest.mark.parametrize("dimensions", [1, 2, 3, 256, 384, 768, 1024, 1536, 3072])
def test_no_sum_of_products_leaves_single_precision(dimensions: int) -> None:
    assert dimensions * largest(dimensions) ** 2 < 2**24
    assert np.float16(largest(dimensions)) == largest(dimensions)
    full = np.full(dimensions, largest(dimensions), dtype=np.float32)
    assert int(full @ full) == dimensions * largest(dimensions) ** 2


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_vector_that_is_not_finite_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        quantize([0.5, bad])


def test_cosines_are_whole() -> None:
    assert cosines(np.array([0.0, 1.0, 2.0, 0.12345])).tolist() == [10_000, 0, -10_000, 8766]


def pool(**columns: list[int]) -> Pool:
    size = max(len(column) for column in columns.values())
    whole = {name: np.zeros(size, dtype=np.int64) for name in ("own", "votes", "cues", "coverage")}
    whole |= {"ids": np.arange(size), "found": np.arange(size), "cosine": np.full(size, NO_VECTOR)}
    whole |= {"rare": np.zeros(size, dtype=np.bool_), "marked": np.zeros(size, dtype=np.bool_)}
    whole |= {name: np.array(column).astype(whole[name].dtype) for name, column in columns.items()}
    return Pool(**whole)


def test_without_a_strong_row_only_own_words_come_back() -> None:
    rows = pool(own=[0, 50, 0], cues=[900, 0, 0], coverage=[0, 2000, 0], cosine=[5900, 100, 5999])
    admitted, fallback = fuse.admit(rows, Gate())
    assert fallback
    assert admitted.tolist() == [False, True, False]


def test_beside_a_strong_row_weaker_ones_pass_the_floor() -> None:
    rows = pool(
        coverage=[5500, 1499, 1500, 0, 0, 0], cosine=[0, 0, 0, 4499, 4500, NO_VECTOR], cues=[0] * 5 + [9]
    )
    admitted, fallback = fuse.admit(rows, Gate())
    assert not fallback
    assert admitted.tolist() == [True, False, True, False, True, False]


def test_a_rare_word_passes_the_floor_however_long_the_query() -> None:
    rows = pool(coverage=[9000, 100, 100], rare=[0, 1, 0])
    assert fuse.admit(rows, Gate())[0].tolist() == [True, True, False]
    # Alone it is no strong row: the fallback brings it back.
    assert not fuse.admit(pool(coverage=[100], rare=[1]), Gate())[0].any()


@pytest.mark.parametrize("strong", [{"coverage": [5500]}, {"cosine": [6000]}, {"marked": [1]}])
def test_each_kind_of_evidence_can_be_strong(strong: dict[str, list[int]]) -> None:
    assert fuse.admit(pool(**strong), Gate())[0].all()


def test_nothing_of_its_own_is_never_admitted() -> None:
    admitted, fallback = fuse.admit(pool(cues=[10**6, 10**6], votes=[10**6, 0]), Gate().deepened())
    assert not admitted.any()
    assert not fallback


evidence_columns = st.lists(
    st.tuples(st.integers(0, 10_000), st.integers(-10_001, 10_000), st.booleans(), st.booleans()),
    min_size=1,
    max_size=30,
)


@given(evidence_columns)
def test_deep_admits_more_and_never_less(rows: list[tuple[int, int, bool, bool]]) -> None:
    columns = dict(
        zip(("coverage", "cosine", "rare", "marked"), map(list, zip(*rows, strict=True)), strict=True)
    )
    normal, deep = fuse.admit(pool(**columns), Gate())[0], fuse.admit(pool(**columns), Gate().deepened())[0]
    assert (deep | ~normal).all()


def mixed(rows: fuse.Pool) -> fuse.Ints:
    return fuse.mix(rows, fuse.full_score(rows, 300))


@given(
    st.lists(
        st.tuples(st.integers(0, 500), st.integers(0, 500), st.integers(0, 500)), min_size=1, max_size=20
    ),
    st.data(),
)
def test_an_alias_moves_the_rows_that_have_it_and_no_other(
    rows: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    own, votes, cosine = (list(column) for column in zip(*rows, strict=True))
    voted = data.draw(st.integers(0, len(rows) - 1))
    cues = [700 if place == voted else 0 for place in range(len(rows))]
    without = mixed(pool(own=own, votes=votes, cosine=cosine)).tolist()
    scores = mixed(pool(own=own, votes=votes, cosine=cosine, cues=cues)).tolist()
    assert scores[voted] > without[voted]
    assert [s for p, s in enumerate(scores) if p != voted] == [s for p, s in enumerate(without) if p != voted]


def test_all_ties_of_the_last_row_are_kept_for_the_order_to_decide() -> None:
    ranking = fuse.rank(pool(coverage=[9000] * 5, own=[10, 30, 20, 20, 20]), 1, Gate(), limit=2, near=5)
    assert sorted(ranking.order.tolist()) == [1, 2, 3, 4]
    assert ranking.passed == 5


def test_rows_are_ordered_by_score_instant_kind_digest_and_number() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    keys = [
        Key(9, None, Kind.EP, b"z", 9),
        Key(8, noon + timedelta(microseconds=1), Kind.MEM, b"z", 9),
        Key(8, noon, Kind.MEM, b"a", 2),
        Key(8, noon, Kind.MEM, b"b", 1),
        Key(8, noon, Kind.MEM, b"b", 2),
        Key(8, noon, Kind.EP, b"a", 1),
        Key(8, datetime(1, 1, 1, tzinfo=UTC), Kind.MEM, b"a", 1),
        Key(8, None, Kind.MEM, b"a", 1),
        Key(7, datetime(9999, 12, 31, tzinfo=UTC), Kind.MEM, b"a", 1),
    ]
    shuffled = random.Random(3).sample(keys, len(keys))
    assert sorted(shuffled, key=Key.sort_key) == keys
