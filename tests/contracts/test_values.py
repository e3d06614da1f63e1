"""The harness reads its own format strictly: what it does not know is an error, never a pass."""

from typing import Any

import pytest

from tests.contracts.values import (
    MISSING,
    FormatError,
    NoValue,
    Result,
    Results,
    expand,
    fault_of,
    find,
    parse_path,
    same,
    text_of,
)

BODY = {
    "number": 1,
    "nothing": None,
    "text": "lamp oil",
    "none": [],
    "list": [3, 1, 2],
    "items": [
        {"ref": "mem:1", "claims": [{"ref": "mem:1"}, {"ref": "ep:2"}]},
        {"ref": "mem:9", "claims": [{"ref": "mem:9"}], "count": 2, "on": True},
        {"count": 7},
    ],
}


def of_one(body: Any = BODY, **extras: Any) -> Results:
    return Results(1, [Result(body, {f"${name}": value for name, value in extras.items()})])


def of_two(first: Any, second: Any) -> Results:
    return Results(2, [Result(first), Result(second)])


def holds(path: str, op: str, *value: Any, results: Results | None = None) -> bool:
    check = {"path": path, "op": op, **({"value": value[0]} if value else {})}
    return fault_of(check, results or of_one()) is None


@pytest.mark.parametrize(
    ("left", "right"),
    [(1, 1.0), (1, True), (0, False), (1, "1"), (None, False), (None, 0), ([], {}), ("", None), ([1], [1.0])],
)
def test_values_of_different_types_differ(left: Any, right: Any) -> None:
    assert not same(left, right)
    assert same(left, left)


def test_the_order_of_members_does_not_matter_that_of_elements_does() -> None:
    assert same({"a": 1, "b": [1, 2]}, {"b": [1, 2], "a": 1})
    assert not same([1, 2], [2, 1])


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("as it is", "as it is"),
        ({"prefix": "ab", "fill": "x", "length": 5}, "abxxx"),
        ({"prefix": "ab", "fill": "xyz", "length": 6}, "abxyzx"),
        ({"prefix": "abc", "fill": "x", "length": 3}, "abc"),
        ({"prefix": "灯台", "fill": "🛶", "length": 4}, "灯台🛶🛶"),
        ({"parts": ["one, ", {"prefix": "two", "fill": "!", "length": 5}]}, "one, two!!"),
    ],
)
def test_texts_are_written_out(spec: Any, text: str) -> None:
    assert text_of(spec) == text


@pytest.mark.parametrize(
    "spec",
    [
        {"prefix": "abc", "fill": "x", "length": 2},
        {"prefix": "abc", "fill": "", "length": 4},
        {"prefix": "abc", "length": 4},
        {"parts": "abc"},
        {"parts": [], "fill": "x"},
        {"prefix": "a", "fill": "x", "length": 2, "suffix": "z"},
        3,
        None,
    ],
)
def test_a_text_of_no_known_form_is_an_error(spec: Any) -> None:
    with pytest.raises(FormatError):
        text_of(spec)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("number", 1),
        ("nothing", None),
        ("items[1].ref", "mem:9"),
        ("items[ref=mem:9].claims[0].ref", "mem:9"),
        ("items[count=7]", {"count": 7}),
        ("items[on=true].ref", "mem:9"),
        ("items[*].ref", ["mem:1", "mem:9"]),
        ("items[*].claims[*].ref", [["mem:1", "ep:2"], ["mem:9"]]),
        ("list[*]", [3, 1, 2]),
        ("absent", MISSING),
        ("absent.deeper[0]", MISSING),
        ("number.deeper", MISSING),
        ("number[0]", MISSING),
        ("list[3]", MISSING),
        ("items[ref=mem:2]", MISSING),
        ("items[*].unknown", MISSING),
        ("none[*]", MISSING),
        ("text[*]", MISSING),
    ],
)
def test_paths(path: str, found: Any) -> None:
    assert find(BODY, parse_path(path)) == found


def test_a_selected_value_runs_to_the_bracket() -> None:
    rows = {"rows": [{"name": "a.b = c"}, {"name": ""}]}
    assert find(rows, parse_path("rows[name=a.b = c].name")) == "a.b = c"
    assert find(rows, parse_path("rows[name=].name")) == ""


@pytest.mark.parametrize(
    "path",
    [
        "",
        ".",
        "a.",
        ".a",
        "a..b",
        "a[",
        "a]",
        "a[]",
        "a[-1]",
        "a[x]",
        "a[0:2]",
        "a[*=1]",
        "a[?(@.b)]",
        "a[0]b",
        None,
        3,
        ["a"],
    ],
)
def test_a_path_of_no_known_form_is_an_error(path: Any) -> None:
    with pytest.raises(FormatError):
        of_one().at(path)


def test_with_several_runs_a_path_starts_with_its_run() -> None:
    results = of_two({"a": [1]}, [7])
    assert results.at("r0") == {"a": [1]}
    assert results.at("r0.a[0]") == 1
    assert results.at("r1[0]") == 7
    for path in ("a", "r2", "r2.a", "r", "r0a", "r0.", "rx.a", "r00x"):
        with pytest.raises(FormatError):
            results.at(path)


def test_with_one_run_a_path_has_no_prefix() -> None:
    assert of_one().at("r0") is MISSING


def test_a_result_that_is_not_there_yet_is_an_error() -> None:
    with pytest.raises(FormatError):
        Results(2, [Result({})]).at("r1.a")


def test_what_stands_beside_the_body() -> None:
    results = of_one({}, status=200, steps=[{"ref": "mem:2"}])
    assert results.at("$status") == 200
    assert results.at("$steps[0].ref") == "mem:2"
    assert results.at("$embedded") is MISSING
    with pytest.raises(FormatError):
        results.at("$headers")


def test_references_are_replaced_at_any_depth() -> None:
    value = {"refs": [{"ref": {"$from": "items[0].ref"}, "text": {"$text": {"parts": ["a", "b"]}}}, 3]}
    assert expand(value, of_one().at) == {"refs": [{"ref": "mem:1", "text": "ab"}, 3]}
    assert expand({"$from": "nothing"}, of_one().at) is None


@pytest.mark.parametrize("value", [{"$form": "a"}, {"$from": "text", "or": 1}, {"$text": "a", "$from": "b"}])
def test_an_unknown_reference_is_an_error(value: Any) -> None:
    with pytest.raises(FormatError):
        expand([value], of_one().at)


def test_a_reference_that_leads_nowhere_is_no_value() -> None:
    with pytest.raises(NoValue):
        expand({"$from": "absent"}, of_one().at)


# (path, op, a value with which it holds, one with which it does not)
OPERATORS = [
    ("number", "eq", 1, 1.0),
    ("number", "eq", {"$from": "list[1]"}, {"$from": "list[2]"}),
    ("text", "eq", {"$text": {"prefix": "lamp ", "fill": "oil", "length": 8}}, {"$text": "lamp"}),
    ("number", "ne", True, 1),
    ("list", "set", [1, 2, 3], [1, 2]),
    ("list", "set", [1, 2, 3], [1, 1, 2, 3]),
    ("list", "set", [1, 2, 3], [1, 2, 3.0]),
    ("list", "len", 3, 2),
    ("text", "strlen", 8, 7),
    ("number", "gte", 1, 2),
    ("number", "lte", 1, 0),
    ("list", "has", 3, "3"),
    ("list", "hasnt", 4, 3),
    ("items[0]", "keys", ["claims", "ref"], ["ref"]),
    ("text", "prefix", "lamp", "oil"),
    ("text", "contains", "p o", "P"),
    ("list", "proper_superset", [1, 2], [1, 2, 3]),
    ("list", "proper_superset", [], [4]),
    ("list[*]", "same", "list", "items"),
    ("none", "list_prefix_of", "list", "number"),
]


@pytest.mark.parametrize(("path", "op", "value", "other"), OPERATORS)
def test_operators(path: str, op: str, value: Any, other: Any) -> None:
    assert holds(path, op, value)
    assert not holds(path, op, other)


def test_operators_without_a_value() -> None:
    assert holds("absent", "absent")
    assert holds("absent.deeper", "absent")
    assert not holds("nothing", "absent")
    assert holds("number", "present")
    assert not holds("nothing", "present")
    assert not holds("absent", "present")
    assert holds("items[*].claims[*].ref", "unique")
    assert not holds("rows", "unique", results=of_one({"rows": [["a"], ["b", "a"]]}))
    assert holds("rows", "unique", results=of_one({"rows": [1, 1.0, True, "1"]}))


@pytest.mark.parametrize(("path", "op", "value", "other"), OPERATORS)
def test_every_operator_but_absent_fails_without_a_value_to_look_at(
    path: str, op: str, value: Any, other: Any
) -> None:
    assert not holds("absent", op, value)
    assert not holds("absent", op, other)


def test_every_operator_is_tried_here() -> None:
    from tests.contracts import values

    assert {op for _, op, _, _ in OPERATORS} == values.VALUED.keys() | values.BETWEEN_PATHS.keys()
    assert values.UNVALUED.keys() == {"absent", "present", "unique"}


@pytest.mark.parametrize(
    ("path", "op", "value"),
    [
        ("text", "len", 8),
        ("list", "strlen", 3),
        ("text", "gte", 1),
        ("number", "has", 1),
        ("text", "hasnt", "x"),
        ("list", "keys", []),
        ("list", "prefix", ""),
        ("list", "contains", 1),
        ("text", "set", "lamp oil"),
        ("text", "list_prefix_of", "text"),
        ("number", "unique", None),
    ],
)
def test_an_operator_fails_on_a_value_of_another_kind(path: str, op: str, value: Any) -> None:
    assert not holds(path, op, value)


def test_booleans_are_no_numbers() -> None:
    assert not holds("items[1].on", "gte", 0)
    assert not holds("number", "lte", True)


@pytest.mark.parametrize("op", ["eq", "ne", "hasnt", "same", "list_prefix_of"])
def test_a_value_that_is_not_there_fails(op: str) -> None:
    value = "absent" if op in ("same", "list_prefix_of") else {"$from": "absent"}
    assert not holds("list", op, value)


@pytest.mark.parametrize(
    "check",
    [
        {"path": "number", "op": "equals", "value": 1},
        {"path": "number", "op": "eq"},
        {"path": "number", "op": "eq", "value": 1, "note": "x"},
        {"path": "number", "value": 1},
        {"op": "absent"},
        {"path": "number[", "op": "absent"},
        {"path": "list", "op": "same", "value": ["list"]},
        "number eq 1",
    ],
)
def test_a_check_of_no_known_form_is_an_error(check: Any) -> None:
    with pytest.raises(FormatError):
        fault_of(check, of_one())


def test_a_fault_says_what_was_found() -> None:
    assert fault_of({"path": "number", "op": "eq", "value": 2}, of_one()) == "number eq 2, found 1"
    assert fault_of({"path": "absent", "op": "eq", "value": 2}, of_one()) == "absent eq 2, found no value"
