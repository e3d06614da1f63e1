"""The comparison sees every difference, and puts none down to a reason that is not its own."""

from typing import Any

import pytest

from tests.benchmarks.peer import overlap
from tests.benchmarks.peer_client import token_info
from tests.benchmarks.peer_compare import ASPECTS, differences, named, view
from tests.benchmarks.peer_data import scenarios
from tests.benchmarks.peer_known import known
from tests.benchmarks.peer_rows import Question


def answer(**more: Any) -> dict[str, Any]:
    item = {
        "content": "a",
        "head_ref": "@a",
        "independence_reason": "singleton",
        "claims": [{"ref": "@a", "as_of": "", "why": "seed"}],
    }
    return {"items": [item], "effective_count": 1, "returned_count": 1, **more}


def differing(ours: dict[str, Any], theirs: dict[str, Any]) -> set[str]:
    a, b = view(ours, ours), view(theirs, theirs)
    return {aspect for aspect in ASPECTS if differences(a[aspect], b[aspect])}


def changed(**of_item: Any) -> dict[str, Any]:
    whole = answer()
    whole["items"][0] |= of_item
    return whole


def claim(**more: Any) -> list[dict[str, Any]]:
    return [{"ref": "@a", "as_of": "", "why": "seed", **more}]


@pytest.mark.parametrize(
    ("theirs", "aspects"),
    [
        (answer(), set()),
        (changed(head_ref="@b"), {"heads"}),
        (changed(content="b"), {"quotes"}),
        (changed(node={"index": 1, "of": 2, "span": [0, 1]}), {"quotes"}),
        (changed(claims_omitted=1), {"why"}),
        (changed(claims=claim(ref="@b")), {"items", "claims", "why"}),
        (changed(claims=claim(hops=1)), {"claims"}),
        (changed(claims=claim(why="cluster:msg_id")), {"why"}),
        (changed(claims=claim(roles=[{"ref": "@b", "role": "supports"}])), {"why"}),
        (answer(effective_count=2), {"counts"}),
        (answer(used_budget=1), {"budget"}),
        (answer(bounds={"top_k": 1}), {"bounds"}),
        (answer(shortfall_reason="count_zero"), {"shortfall"}),
        (answer(quote_selection="lexical_only"), {"rest"}),
        (answer(trace={"candidate_refs": ["@a"], "clusters": []}), {"pool", "rest"}),
        (answer(trace={"candidate_refs": None, "clusters": [["@a"]]}), {"rest", "trace"}),
        (answer(reconstruction={"policy": "v1"}), {"rest", "trace"}),
    ],
)
def test_a_difference_shows_where_it_is(theirs: dict[str, Any], aspects: set[str]) -> None:
    assert differing(answer(), theirs) == aspects


def test_every_place_that_differs_is_told_and_types_count() -> None:
    assert differences({"a": [1, 2], "b": True}, {"a": [1, 3], "c": None}) == [
        (".a[1]", 2, 3),
        (".b", True, None),
    ]
    assert differences([1], [1, 2]) == [("", [1], [1, 2])]
    assert differences(1, True) == [("", 1, True)]


def test_refs_become_names_as_values_and_as_keys_and_texts_stay() -> None:
    names = {"mem:1": "@a"}
    assert named({"mem:1": ["mem:1", {"ref": "mem:1"}], "n": 1, "t": "see mem:1"}, names) == {
        "@a": ["@a", {"ref": "@a"}], "n": 1, "t": "see mem:1",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("aspect", "path", "ours", "theirs", "bounds", "reason"),
    [
        ("quotes", "[0].content", "Dusk.", "[Episode] Dusk.", {}, "label"),
        ("quotes", "[0].content", "Dusk falls.", "[Episode] Dusk", {}, "label"),
        ("quotes", "[0].content", "Dusk.", "[Episode] Dawn.", {}, None),
        ("quotes", "[0].content", " Dusk.\n", "Dusk.", {}, "trimmed"),
        ("quotes", "[0].content", "Dusk.", " Dusk.", {}, None),
        ("quotes", "[0].content_len", 600, 610, {}, "label"),
        ("quotes", "[0].content_len", 610, 600, {}, None),
        ("bounds", ".bounds", {"top_k": 20, "max_hops": 5}, None, {"max_hops": 9}, "hops"),
        ("bounds", ".bounds", {"top_k": 20, "max_hops": 5}, None, {"max_hops": 5}, None),
        ("bounds", ".bounds", {"top_k": 2, "max_hops": 5, "reached": ["top_k"]}, None, {"max_hops": 9}, None),
        ("why", "[0].claims_omitted", 5, 7, {}, "probe"),
        ("why", "[0].claims_omitted", 7, 5, {}, None),
        ("why", "[0].claims_omitted", None, 1, {}, None),
        ("shortfall", ".gate_fallback", True, None, {}, "gate"),
        ("shortfall", ".gate_fallback", None, True, {}, None),
        ("shortfall", ".shortfall_reason", "exhausted_candidates", "budget_exhausted", {}, None),
        ("contents", ".items[0].superseded_by", "@b", None, {}, "superseded"),
        ("contents", ".items[0].source", None, {"type": "User"}, {}, None),
        ("heads", "[0]", "@a", "@b", {}, None),
    ],
)
def test_a_known_difference_is_told_from_one_that_only_looks_like_it(
    aspect: str, path: str, ours: Any, theirs: Any, bounds: dict[str, Any], reason: str | None
) -> None:
    assert known(aspect, path, ours, theirs, question=Question("q", bounds)) == reason


def supersedes(ref: str) -> dict[str, str]:
    return {"ref": ref, "role": "supersedes"}


def test_only_a_role_of_the_walk_is_put_down_to_the_walk() -> None:
    def reason(ours: Any, theirs: Any) -> str | None:
        return known("why", "[0].claims[0].roles", ours, theirs, walked={"@w"})

    assert reason([supersedes("@w")], None) == "walked"
    assert reason([supersedes("@w"), supersedes("@a")], [supersedes("@a")]) == "walked"
    assert reason([supersedes("@a")], None) is None
    assert reason([{"ref": "@w", "role": "supports"}], None) is None
    assert reason(None, [supersedes("@w")]) is None


def test_rows_of_the_walk_are_expected_only_where_items_share_a_start() -> None:
    def reason(ours: Any, theirs: Any, *, shared: bool = True) -> str | None:
        question = Question("q", shared_start=shared)
        return known("items", "[0]", ours, theirs, question=question, walked={"@w"})

    assert reason(["@a", "@w"], ["@a"]) == "starts"
    assert reason(["@a", "@w"], ["@a"], shared=False) is None
    assert reason(["@a", "@b"], ["@a"]) is None
    assert reason(["@a"], ["@a", "@w"]) is None
    assert reason([["@a"], ["@w"]], [["@a"]]) is None


def test_the_stored_and_the_asked_can_be_told_apart() -> None:
    for scenario in scenarios():
        names = [row.name for row in scenario.rows]
        assert len(set(names)) == len(names)
    texts = [row.text.strip() for scenario in scenarios() for row in scenario.rows]
    queries = [question.query for scenario in scenarios() for question in scenario.questions]
    assert len({*texts, *queries}) == len(texts) + len(queries)


def test_a_window_closes_on_a_text_that_runs_past_it() -> None:
    assert token_info("abc", 3) == {"count": 3, "window": 3, "truncated": False, "window_end_char": 3}
    assert token_info("abcd", 3) == {"count": 4, "window": 3, "truncated": True, "window_end_char": 3}


def test_pools_overlap_by_what_they_share() -> None:
    assert overlap([], []) == 1
    assert overlap(["@a"], []) == 0
    assert overlap(["@a", "@b"], ["@b", "@c"]) == pytest.approx(1 / 3)
