"""What holds for every answer, whatever the store holds."""

import json
import os
import subprocess
import sys
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reconstruct.core import Snapshot, check_policy, respond
from reconstruct.core.types import EntityRelation, Graph, Mention, RecordRelation, Ref, StoredText
from tests.core.builders import Body
from tests.core.strategies import ENTITIES, START, World, answer, decided, relaxed, worlds

AMPLE = 10**6
PROBE = Path(__file__).with_name("print_answers.py")


def asking(world: World, **wanted: Any) -> World:
    return replace(world, request=replace(world.request, **wanted))


def roomy(world: World) -> World:
    """The same request with a budget that withholds nothing."""
    wide = replace(world.settings, max_budget=AMPLE)
    return asking(replace(world, settings=wide), budget=AMPLE)


def seeing(world: World, **parts: Any) -> World:
    return replace(world, snapshot=replace(world.snapshot, **parts))


def quoted(body: Body) -> list[list[str]]:
    return [
        [item["content"], *(each["content"] for each in item.get("excerpts", []))] for item in body["items"]
    ]


def unquoted(body: Body) -> list[Body]:
    """The items without their quotes: what the budget and the nodes may not touch."""
    names = ("head_ref", "claims", "independence_reason", "conflicts", "claims_omitted")
    return [{name: item[name] for name in names if name in item} for item in body["items"]]


def is_prefix(short: list[Any], long: list[Any]) -> bool:
    return long[: len(short)] == short


@relaxed
@given(worlds())
def test_every_candidate_is_in_exactly_one_cluster(world: World) -> None:
    clusters = decided(world).clusters
    refs = [ref for cluster in clusters for ref in cluster.refs]
    assert sorted(refs) == sorted(row.ref for row in world.snapshot.pool.rows)
    ranks = [[candidate.rank for candidate in cluster.candidates] for cluster in clusters]
    assert all(own == sorted(own) for own in ranks)
    assert [own[0] for own in ranks] == sorted(own[0] for own in ranks)


@relaxed
@given(worlds())
def test_a_row_is_a_seed_exactly_when_it_is_alone(world: World) -> None:
    for cluster in decided(world).clusters:
        alone = len(cluster.candidates) == 1
        assert all((candidate.why == "seed") is alone for candidate in cluster.candidates)
        assert (cluster.reason == "singleton") is alone


@relaxed
@given(worlds(), st.integers(1, 120), st.integers(1, 120))
def test_raising_only_the_budget_never_removes_an_item_or_an_excerpt(
    world: World, one: int, two: int
) -> None:
    wide = replace(world, settings=replace(world.settings, max_budget=200))
    small, large = (answer(asking(wide, budget=budget)) for budget in sorted((one, two)))
    assert is_prefix(unquoted(small), unquoted(large))
    assert all(is_prefix(few, many) for few, many in zip(quoted(small), quoted(large), strict=False))


@relaxed
@given(worlds(), st.integers(1, 120), st.integers(1, 120))
def test_the_budget_moves_nothing_but_the_end_of_the_prefix(world: World, one: int, two: int) -> None:
    first, second = (decided(asking(world, budget=budget)) for budget in (one, two))
    assert (first.clusters, first.items, first.sequence) == (second.clusters, second.items, second.sequence)


@relaxed
@given(worlds())
def test_the_items_for_a_count_are_a_prefix_of_those_for_the_next(world: World) -> None:
    answers = [answer(asking(roomy(world), count=count)) for count in range(7)]
    assert all(is_prefix(few["items"], more["items"]) for few, more in pairwise(answers))


@relaxed
@given(worlds(), st.integers(1, 90))
def test_under_any_named_budget_the_heads_for_a_count_are_a_prefix_of_those_for_the_next(
    world: World, budget: int
) -> None:
    answers = [answer(asking(world, count=count, budget=budget)) for count in range(7)]
    assert all(is_prefix(unquoted(few), unquoted(more)) for few, more in pairwise(answers))


@relaxed
@given(worlds())
def test_count_does_not_move_the_candidates(world: World) -> None:
    traces = [answer(asking(world, count=count, trace=True))["trace"] for count in (1, 3, 10)]
    assert all(trace["candidate_refs"] == traces[0]["candidate_refs"] for trace in traces)
    assert all(trace["clusters"] == traces[0]["clusters"] for trace in traces)


@relaxed
@given(worlds())
def test_returned_never_exceeds_effective_and_a_short_window_has_a_reason(world: World) -> None:
    body = answer(world)
    assert body["returned_count"] == len(body["items"]) <= body["effective_count"]
    short = body["returned_count"] < body["effective_count"] or body["effective_count"] == 0
    assert ("shortfall_reason" in body) is short


@relaxed
@given(worlds())
def test_used_stays_within_effective_but_for_a_whole_first_head(world: World) -> None:
    result = decided(world)
    effective = result.policy.budget.effective
    assert result.used_budget == sum(len(text) for item in quoted(respond(result)) for text in item)
    assert result.used_budget <= effective or (result.carried == 1 and result.policy.preview_chars == 0)


@relaxed
@given(worlds())
def test_every_quote_stands_in_its_row_at_its_span(world: World) -> None:
    texts = {text.ref: text.text for text in world.snapshot.texts}
    result = decided(world)
    for place in result.sequence:
        quote = place.quote
        assert texts[quote.ref][quote.start : quote.end] == quote.content
    for item in respond(result)["items"]:
        for shown in (item, *item.get("excerpts", [])):
            text = texts[_ref(shown.get("ref") or shown["head_ref"])]
            start, end = shown["node"]["span"] if "node" in shown else (0, len(shown["content"]))
            assert text[start:end] == shown["content"]


@relaxed
@given(worlds())
def test_nodes_change_neither_items_nor_their_order_nor_claims(world: World) -> None:
    bare = tuple(StoredText(ref=text.ref, text=text.text) for text in world.snapshot.texts)
    without = seeing(world, texts=bare)
    assert decided(world).items == decided(without).items
    assert unquoted(answer(roomy(world))) == unquoted(answer(roomy(without)))


@relaxed
@given(worlds())
def test_a_graph_that_no_candidate_touches_changes_nothing(world: World) -> None:
    bare = seeing(world, graph=Graph(), records=())
    far = tuple(
        EntityRelation(number=number, subject=90, predicate="runs", object=number, declared_at=START)
        for number in (91, 92)
    )
    beside = seeing(bare, graph=Graph(relations=far), records=world.snapshot.records)
    assert answer(bare) == answer(beside)


@relaxed
@given(worlds())
def test_unrelated_declarations_beside_a_real_graph_change_nothing(world: World) -> None:
    graph = world.snapshot.graph
    far = EntityRelation(number=99, subject=90, predicate="runs", object=91, declared_at=START)
    elsewhere = Mention(ref=Ref("mem", 500), entity=ENTITIES[0])
    wider = Graph(mentions=(*graph.mentions, elsewhere), relations=(far, *graph.relations))
    assert answer(world) == answer(seeing(world, graph=wider))


@relaxed
@given(worlds())
def test_no_row_appears_twice_in_one_answer_and_walked_rows_are_no_candidates(world: World) -> None:
    result = decided(world)
    refs = [ref for item in result.items for ref in (*item.kept, *item.omitted)]
    assert len(refs) == len(set(refs))
    candidates = {row.ref for row in world.snapshot.pool.rows}
    for item in result.items:
        assert all(walked.row.ref not in candidates for walked in item.gathered.rows)
        assert item.head in item.cluster.refs
        assert len(item.kept) <= result.policy.max_evidence


@relaxed
@given(worlds())
def test_trace_changes_no_item(world: World) -> None:
    assert answer(asking(world, trace=True))["items"] == answer(asking(world, trace=False))["items"]


@relaxed
@given(worlds())
def test_the_inputs_are_unchanged(world: World) -> None:
    before = deepcopy(world)
    body = answer(world)
    _spoil(body)
    assert world == before
    assert answer(world) == answer(before)


def _spoil(value: Any) -> None:
    """Change everything in a JSON value that can be changed."""
    children = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    for child in list(children):
        _spoil(child)
    if isinstance(value, dict | list):
        value.clear()


@relaxed
@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_in_which_rows_were_read_changes_no_byte(world: World, random: Any) -> None:
    seen = world.snapshot

    def shuffled(values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(random.sample(values, len(values)))

    records = tuple(replace(entry, rows=shuffled(entry.rows)) for entry in seen.records)
    other = Snapshot(
        pool=replace(seen.pool, relations=shuffled(seen.pool.relations)),
        graph=Graph(mentions=shuffled(seen.graph.mentions), relations=shuffled(seen.graph.relations)),
        records=shuffled(records),
        texts=shuffled(seen.texts),
    )
    assert json.dumps(answer(world)) == json.dumps(answer(replace(world, snapshot=other)))


@relaxed
@given(worlds(), st.permutations(range(1, 10)))
def test_the_order_of_insertion_changes_nothing_but_refs(world: World, numbers: list[int]) -> None:
    """Rows inserted in another order have other numbers, and the answer the same rows.

    Where the contract itself asks for the number it may matter: which of several declared predicates links
    a row first, and which row a relation leads to first. So one predicate, and no walk. Which of two versions
    of one instant supersedes a third is told by a ref alone, and both have the same message id.
    """
    pool = world.snapshot.pool
    tame = seeing(
        world,
        pool=replace(pool, relations=tuple(replace(each, predicate="corrects") for each in pool.relations)),
        graph=Graph(),
        records=(),
    )
    moved = {Ref(kind, old): Ref(kind, new) for kind in ("mem", "ep") for old, new in enumerate(numbers, 1)}
    back = {str(new): str(old) for old, new in moved.items()}
    message_of = {str(row.ref): row.message_id.strip() for row in pool.rows}
    before = _settled(answer(tame), {}, message_of)
    after = _settled(answer(replace(tame, snapshot=_renumbered(tame.snapshot, moved))), back, message_of)
    assert before == after


def _renumbered(seen: Snapshot, moved: dict[Ref, Ref]) -> Snapshot:
    relations = tuple(
        RecordRelation(subject=moved[each.subject], predicate=each.predicate, object=moved[each.object])
        for each in seen.pool.relations
    )
    rows = tuple(replace(row, ref=moved[row.ref]) for row in seen.pool.rows)
    texts = tuple(replace(text, ref=moved[text.ref]) for text in seen.texts)
    return Snapshot(pool=replace(seen.pool, rows=rows, relations=relations), texts=texts)


def _settled(body: Body, back: dict[str, str], message_of: dict[str, str]) -> Body:
    """The body with refs put back, what is ordered by ref sorted, and superseders named by their message."""

    def put_back(value: Any) -> Any:
        if isinstance(value, dict):
            return {back.get(name, name): put_back(each) for name, each in value.items()}
        if isinstance(value, list):
            return [put_back(each) for each in value]
        return back.get(value, value) if isinstance(value, str) else value

    settled: Body = put_back(body)
    for item in settled["items"]:
        for conflict in item.get("conflicts", []):
            conflict["refs"].sort()
        for claim in item["claims"]:
            for role in claim.get("roles", []):
                if role["role"] == "supersedes":
                    role["ref"] = message_of[role["ref"]]
            claim.get("roles", []).sort(key=lambda role: (role["role"], role["ref"]))
    return settled


@relaxed
@given(worlds())
def test_an_answer_is_json_without_fractions_or_stray_nulls(world: World) -> None:
    body = answer(world)
    assert json.loads(json.dumps(body)) == body
    assert all(type(leaf) in (str, int, bool) for leaf in _leaves({**body, **_may_be_null(body)}))


def _may_be_null(body: Body) -> Body:
    return {
        name: 0 for name in ("requested_count", "requested_budget") if name in body and body[name] is None
    }


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for each in value.values() for leaf in _leaves(each)]
    return [leaf for each in value for leaf in _leaves(each)] if isinstance(value, list) else [value]


@relaxed
@given(worlds())
def test_generated_settings_are_ones_a_server_would_start_with(world: World) -> None:
    assert check_policy(world.settings) == ()


def _ref(handle: str) -> Ref:
    kind, number = handle.split(":")
    return Ref("mem" if kind == "mem" else "ep", int(number))


def test_the_same_input_gives_the_same_bytes_under_any_hash_seed() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, str(PROBE)],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(PROBE.parents[2])},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2", "4294967295")
    }
    [only] = outputs
    assert only.count(b"\n") > 10
