"""The harness reads the format of `expand_query.json` strictly: what it does not know is an error, never a pass."""

from hashlib import sha256
from typing import Any

import pytest

from tests.contracts import expand_running, expand_values, skipping
from tests.contracts.expand_format import generate, validate
from tests.contracts.expand_values import Result, Results, fault_of, parse_path, resolve
from tests.contracts.values import MISSING, FormatError

BUILD = {"op": "build_provenance", "args": {"session_id": "s"}, "as": "p"}
SUMMARY = {"type": "summary", "node_id": 1, "summary": "lamp oil"}
BODY = {
    "number": 2,
    "nothing": None,
    "text": "lamp oil",
    "none": [],
    "list": [3, 1, 2],
    "same": [7, 7],
    "items": [{"id": "a.b:0", "n": 1, "in": [{"x": 1}]}, {"id": "b", "on": True}],
    "cut": {"session_ids[0]": {"chars": 300}},
}
RESULTS = Results(
    {"r": Result(BODY, {"$status": 200}), "q": Result({"text": "lamp", "long": "lamp oil, two"})},
    {"$blocks_unchanged": True},
)


def scenario(level: str = "builder", given: Any = None, steps: Any = (BUILD,), **more: Any) -> dict[str, Any]:
    expect = [{"path": "p.items", "op": "len_eq", "value": 0}]
    return {
        "id": "X",
        "title": "x",
        "level": level,
        "given": {"context_blocks": []} if given is None else given,
        "call": {"steps": list(steps)},
        "expect": expect,
        **more,
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"author": "x"},
        {"level": "unit"},
        {"expect": []},
        {"call": {"steps": [], "then": []}},
        {"given": {"context_block": []}},
        {"given": {"messages": []}},
        {"given": {"context_blocks": []}, "level": "api"},
        {"steps": [BUILD | {"op": "expand"}]},
        {"steps": [BUILD | {"store": "a"}]},
        {"steps": [{"op": "build_provenance", "args": {"session_id": "s"}}]},
        {"steps": [BUILD | {"args": {}}]},
        {"steps": [BUILD | {"args": {"session_id": "s", "blocks": []}}]},
        {"level": "api", "given": {}, "steps": [BUILD]},
        {"level": "expand", "given": {"records": []}, "steps": []},
    ],
)
def test_what_the_format_does_not_have_is_an_error(wrong: dict[str, Any]) -> None:
    validate(scenario())
    with pytest.raises(FormatError):
        validate(scenario(**wrong))


def test_the_manual_ones_are_skipped() -> None:
    assert skipping.reason("expand_query", scenario()) is None
    assert (
        skipping.reason("expand_query", scenario(level="manual", given={"same_as": "Y"})) == skipping.MANUAL
    )


@pytest.mark.parametrize(
    ("value", "made"),
    [
        ({"$repeat": ["ab", 2]}, "abab"),
        ({"$concat": ["a", {"$repeat": ["b", 2]}]}, "abb"),
        ({"a": [{"$each": {"from": 1, "to": 2, "item": "n{i}"}}, "{i}"]}, {"a": ["n1", "n2", "{i}"]}),
        ([{"$each": {"from": 3, "to": 4, "item": {"id": {"$i": 100}, "t": {"$repeat": ["{i}", 2]}}}}],
         [{"id": 103, "t": "33"}, {"id": 104, "t": "44"}]),
        ({"$ref": "r.text"}, {"$ref": "r.text"}),
    ],
)  # fmt: skip
def test_generators(value: Any, made: Any) -> None:
    assert generate(value) == made


@pytest.mark.parametrize(
    "value",
    [
        {"$repeat": ["a"]},
        {"$repeat": ["a", -1]},
        {"$repeat": ["a", True]},
        {"$concat": ["a", 1]},
        {"$concat": "a"},
        {"$i": 1},
        {"$join": []},
        {"$repeat": ["a", 1], "x": 1},
        {"$each": {"from": 1, "to": 2, "item": "x"}},
        [{"$each": {"from": 1, "to": 2}}],
        [{"$each": {"from": 1, "to": 2, "item": "x", "step": 2}}],
    ],
)
def test_a_generator_of_no_known_form_is_an_error(value: Any) -> None:
    with pytest.raises(FormatError):
        generate(value)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("r.number", 2),
        ("r.nothing", None),
        ("r.list[-1]", 2),
        ("r.list[3]", MISSING),
        ("r.list[-4]", MISSING),
        ("r.items[id=a.b:0].n", 1),
        ("r.items[on=true].id", "b"),
        ("r.items[id=c]", MISSING),
        ("r.items[*].id", ["a.b:0", "b"]),
        ("r.items[*].n", [1]),
        ("r.items[*].in[*].x", [[1]]),
        ("r.none[*].id", []),
        ("r.absent[*].id", MISSING),
        ("r.cut.session_ids[0].chars", 300),
        ("r.number.deeper", MISSING),
        ("r.$status", 200),
        ("$blocks_unchanged", True),
    ],
)
def test_paths(path: str, found: Any) -> None:
    assert RESULTS.at(path) == found


@pytest.mark.parametrize("path", ["", "r.", "r..a", "r.a[", "r.a[x]", None, "s.text", "r.$calls", "$others"])
def test_a_path_of_no_known_form_is_an_error(path: Any) -> None:
    with pytest.raises(FormatError):
        RESULTS.at(path)


def test_references_take_what_an_earlier_step_gave() -> None:
    assert resolve({"a": [{"$ref": "r.list[0]"}]}, RESULTS) == {"a": [3]}
    with pytest.raises(AssertionError):
        resolve({"$ref": "r.absent"}, RESULTS)
    with pytest.raises(FormatError):
        resolve({"$ref": "r.text", "or": 1}, RESULTS)


# (path, op, a value with which it holds, one with which it does not)
OPERATORS = [
    ("r.number", "eq", 2, 2.0),
    ("r.text", "eq", {"$concat": ["lamp", " oil"]}, "lamp"),
    ("r.number", "ne", 2.0, 2),
    ("r.list", "len_eq", 3, 2),
    ("r.text", "len_eq", 8, 9),
    ("r.list", "len_le", 3, 2),
    ("r.list", "len_ge", 3, 4),
    ("r.number", "le", 2, 1),
    ("r.number", "ge", 2, 3),
    ("r.text", "starts_with", "lamp", "oil"),
    ("r.text", "ends_with", "oil", "lamp"),
    ("r.text", "contains", "p o", "P"),
    ("r.items", "contains", "a.b", "c"),
    ("r.text", "not_contains", "P", "p o"),
    ("r.text", "regex", "lamp .+", "lamp"),
    ("r.items[0]", "keys_eq", ["in", "n", "id"], ["id"]),
    ("r.items[0]", "keys_include", ["id"], ["id", "on"]),
    ("r.items[0]", "keys_exclude", ["on"], ["on", "id"]),
    ("r.same", "all_eq", 7, 7.0),
    ("r.list", "set_eq", [1, 2, 3], [1, 1, 2, 3]),
    ("r.list", "json_len_eq", 9, 8),
    ("r.list", "json_len_le", 9, 8),
    ("r.digest", "sha256_of", "lamp", "oil"),
    ("r.text", "eq_path", "r.text", "q.text"),
    ("r.text", "ne_path", "q.text", "r.text"),
    ("q.text", "prefix_of_path", "r.text", "r.digest"),
    ("q.long", "starts_with_path", "r.text", "r.digest"),
]
DIGESTED = Results(
    {"r": Result(BODY | {"digest": sha256(b"lamp").hexdigest()}), "q": RESULTS.named["q"]}, RESULTS.extras
)


def holds(path: str, op: str, *value: Any) -> bool:
    return fault_of({"path": path, "op": op, **({"value": value[0]} if value else {})}, DIGESTED) is None


@pytest.mark.parametrize(("path", "op", "value", "other"), OPERATORS)
def test_operators(path: str, op: str, value: Any, other: Any) -> None:
    assert holds(path, op, value)
    assert not holds(path, op, other)
    assert not holds("r.absent", op, value)
    assert not holds("r.absent", op, other)


def test_operators_without_a_value() -> None:
    assert holds("r.absent", "absent")
    assert not holds("r.nothing", "absent")
    assert holds("r.nothing", "present")
    assert not holds("r.absent", "present")
    assert holds("r.absent", "absent_or_empty")
    assert holds("r.none", "absent_or_empty")
    assert not holds("r.nothing", "absent_or_empty")


def test_every_operator_is_tried_here() -> None:
    valued = expand_values.VALUED.keys() | expand_values.BETWEEN_PATHS.keys()
    assert {op for _, op, _, _ in OPERATORS} == valued
    assert expand_values.UNVALUED.keys() == {"absent", "present", "absent_or_empty"}


@pytest.mark.parametrize(
    ("path", "op", "value"),
    [
        ("r.number", "len_ge", 0),
        ("r.items[1].on", "ge", 0),
        ("r.list", "starts_with", ""),
        ("r.number", "not_contains", "x"),
        ("r.text", "not_contains", 1),
        ("r.list", "keys_exclude", ["x"]),
        ("r.none", "all_eq", 7),
        ("r.text", "set_eq", []),
        ("r.list", "prefix_of_path", "r.list"),
        ("r.text", "ne_path", "r.absent"),
    ],
)
def test_an_operator_fails_on_a_value_of_another_kind(path: str, op: str, value: Any) -> None:
    assert not holds(path, op, value)


@pytest.mark.parametrize(
    "expectation",
    [
        {"path": "r.number", "op": "equals", "value": 2},
        {"path": "r.number", "op": "eq"},
        {"path": "r.number", "op": "eq", "value": 2, "note": "x"},
        {"path": "r.number", "value": 2},
        {"op": "absent"},
        "r.number eq 2",
    ],
)
def test_an_expectation_of_no_known_form_is_an_error(expectation: Any) -> None:
    with pytest.raises(FormatError):
        fault_of(expectation, DIGESTED)


def test_a_scenario_runs_on_its_own_blocks_and_says_what_is_wrong() -> None:
    given = {"context_blocks": [SUMMARY, SUMMARY | {"node_id": 2}]}
    wrong = {"path": "p.items[1].quote", "op": "eq", "value": "rope"}
    right = {"path": "$blocks_unchanged", "op": "eq", "value": True}
    wanted = scenario(given=given, expect=[wrong, right])
    validate(wanted)
    results = expand_running.run(wanted)
    assert parse_path("p.items[1]") == ["p", "items[1]"]
    assert expand_running.faults(wanted, results) == ["p.items[1].quote eq 'rope', found 'lamp oil'"]
