"""The harness reads the format of `context_bundle.json` strictly: what it does not know is an error, never a pass."""

from typing import Any

import pytest

from tests.contracts.bundle_format import operations, validate
from tests.contracts.bundle_symbols import Symbols, fact_key, symbols_of
from tests.contracts.bundle_values import Result, Results, fault_of, find, flip, resolve
from tests.contracts.values import MISSING, FormatError

ASK = {"op": "facts_context", "args": {"query": "Tern", "entity_ids": ["E1"]}}
BODY = {
    "grain": "fact",
    "nothing": None,
    "at": "2026-01-02T00:00:00Z",
    "facts": [
        {"fact_id": "X", "kind": "relation", "n": 1, "contradiction": None},
        {"fact_id": "X", "kind": "observation", "n": 2, "contradiction": {"co_members": [{"fact_id": "F2"}]}},
        {
            "fact_id": "F1",
            "kind": "observation",
            "n": 1,
            "contradiction": {"co_members": [{"fact_id": "F3"}]},
        },
    ],
    "evidence_totals": [
        {"fact_kind": "relation", "fact_id": "X", "stance": "supports", "total": 1},
        {"fact_kind": "relation", "fact_id": "X", "stance": "contradicts", "total": 0},
    ],
    "paths": [{"length": 2, "edges": [{"relation_id": "R1"}, {"relation_id": "R2"}]}],
    "chunks": [],
    "words": ["a", "b"],
}
RESULTS = Results(
    {"p1": Result({"token": "abcde", "facts": [{"fact_id": "F9"}], "body": BODY})}, Result(BODY, 200)
)


def scenario(given: Any = None, call: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "id": "X",
        "title": "x",
        "given": {"now": "2026-09-30T10:00:00Z"} | (given or {}),
        "call": call or ASK,
        "expect": [{"path": "negative", "op": "is_null"}],
        **more,
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"author": "x"},
        {"expect": []},
        {"call": ASK | {"as": "x"}},
        {"call": {"op": "answer_context", "args": {}}},
        {"given": {"instant": "now"}},
        {"given": {"clock": "random"}},
        {"given": {"entities": [{"id": "E1"}]}},
        {"given": {"entities": [{"id": "E1", "name": "Tern", "kind": "ship"}]}},
        {"given": {"documents": [{"id": "D1", "text": "x", "chunks": []}]}},
        {"given": {"claims": [{"id": "C1", "text": "x"}]}},
        {"given": {"facts": [{"id": "F1", "kind": "relation", "subject": "E1", "confidence": 1}]}},
        {"given": {"groups": [{"id": "G1"}]}},
        {"given": {"config": {"horizont": None}}},
        {"given": {"projection": {"stale_pages": []}}},
        {"given": {"other_deployment": {"now": "2026-01-01T00:00:00Z"}}},
        {"given": {"other_deployment": {"entities": [{"name": "Tern"}]}}},
        {"given": {"fault": {"in": "facts_context"}}},
        {"given": {"fault": {"in": "resolve_entity", "raise": "x"}}},
        {"given": {"fault": {"in": "facts_context", "raise": "x", "emit_extra_field": "y"}}},
        {"given": {"fault": {"forget": "done"}}},
        {"given": {"mutate": {"path": "$p1.token", "change": "flip two characters"}}},
        {"given": {"prior_calls": [ASK]}},
        {"given": {"prior_calls": [{"as": "p", "op": "search_claims", "args": {}}]}},
    ],
)
def test_what_the_format_does_not_have_is_an_error(wrong: dict[str, Any]) -> None:
    validate(scenario())
    with pytest.raises(FormatError):
        validate(scenario(**wrong))


def test_the_operations_that_a_scenario_needs() -> None:
    prior = [{"as": name, "op": op, "args": {}} for name, op in (("a", "delta"), ("b", "facts_context"))]
    assert operations(scenario({"prior_calls": prior})) == ["delta", "facts_context"]
    assert operations(scenario({"fault": {"forget": "running"}})) == ["facts_context", "forget_document"]


def test_symbols_and_their_uuids_have_one_order_and_undeclared_ones_are_ids_too() -> None:
    entities = [{"id": name, "name": "Tern"} for name in ("E2", "E1")]
    facts = [{"id": "F1", "kind": "observation", "subject": "E1", "evidence": [["CX", "supports"]]}]
    projection = {"stale_chunks": ["K9"], "stale_facts": ["relation:S1"]}
    symbols = symbols_of(
        scenario(
            {"entities": entities, "facts": facts, "projection": projection},
            {"op": "facts_context", "args": {"query": "E1", "entity_ids": ["E1", "E404", "no id"]}},
        )
    )
    names = ["CX", "E1", "E2", "E404", "F1", "K9", "S1"]
    uuids = [symbols.uuid(name) for name in names]
    assert sorted(uuids) == uuids
    assert len(set(uuids)) == len(names)
    sent = symbols.encode("facts_context", {"query": "E1", "entity_ids": ["E1", "no id", 3], "k": 2})
    assert sent == {"query": "E1", "entity_ids": [str(uuids[1]), "no id", 3], "k": 2}
    assert symbols.decode({"facts": [{"fact_id": str(uuids[4]), "label": "E1"}]}) == {
        "facts": [{"fact_id": "F1", "label": "E1"}]
    }
    with pytest.raises(FormatError):
        symbols.uuid("E5")


def test_ends_of_a_path_are_ids_in_graph_reads_alone() -> None:
    symbols = Symbols(["A", "B"])
    ends = {"from": "A", "to": "B"}
    assert symbols.encode("claims_as_of", ends) == ends
    assert symbols.encode("graph_path", ends) == {
        "from": str(symbols.uuid("A")),
        "to": str(symbols.uuid("B")),
    }
    assert fact_key("relation:A") == ("relation", "A")
    for wrong in ("A", "claim:A", "relation:", None):
        with pytest.raises(FormatError):
            fact_key(wrong)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("", BODY),
        ("$status", 200),
        ("grain", "fact"),
        ("facts.length", 3),
        ("chunks.length", 0),
        ("chunks[*].chunk_id", []),
        ("facts[0].kind", "relation"),
        ("facts[9].kind", MISSING),
        ("facts[*].n", [1, 2, 1]),
        ("facts[*].label", MISSING),
        ("facts[id=F1].n", 1),
        ("facts[id=observation:X].n", 2),
        ("facts[id=F404].n", MISSING),
        ("facts[kind=relation].n", 1),
        ("evidence_totals[id=relation:X,stance=contradicts].total", 0),
        ("facts[id=F1].contradiction.co_members[*].fact_id", ["F3"]),
        ("paths.length", 1),
        ("paths[0].length", 2),
        ("paths[*].edges[*].relation_id", ["R1", "R2"]),
        ("words[1]", "b"),
        ("grain.length", MISSING),
        ("$p1.facts[*].fact_id", ["F9"]),
        ("$p1.body.facts[id=F1].n", 1),
    ],
)
def test_paths(path: str, value: Any) -> None:
    assert RESULTS.at(path) == value


@pytest.mark.parametrize(
    "path",
    [None, 3, ".", "facts.", "facts[]", "facts[-1]", "facts[id=X].n", "paths[id=R1]", "chunks[0", "$p2.token",
     "$statuses", "facts[label=x].n", "facts.$status"],
)  # fmt: skip
def test_what_is_no_path_is_an_error(path: Any) -> None:
    with pytest.raises(FormatError):
        RESULTS.at(path)


def test_the_kind_in_an_id_is_only_for_facts() -> None:
    assert find({"chunks": [{"chunk_id": "K1"}]}, ["chunks", "[id=K1]"]) == {"chunk_id": "K1"}
    with pytest.raises(FormatError):
        find({"chunks": [{"chunk_id": "K1"}]}, ["chunks", "[id=relation:K1]"])


@pytest.mark.parametrize(
    ("path", "op", "value"),
    [
        ("grain", "eq", "fact"),
        ("facts[0].n", "ne", 2),
        ("grain", "in", ["fact", "evidence"]),
        ("facts[*].fact_id", "set_eq", ["F1", "X"]),
        ("words", "list_eq", ["a", "b"]),
        ("words", "contains", "a"),
        ("at", "contains", "2026"),
        ("words", "not_contains", "c"),
        ("nothing", "is_null", None),
        ("grain", "not_null", None),
        ("facts[0].n", "lt", 2),
        ("facts[0].n", "lte", 1),
        ("facts[1].n", "gt", 1),
        ("$status", "gte", 200),
        ("at", "gt", "2026-01-01T23:59:59.999999Z"),
        ("grain2", "absent", None),
        ("nothing.deeper", "absent", None),
        ("facts[0].n", "same_as", "facts[2].n"),
        ("", "same_as", "$p1.body"),
        ("words", "disjoint", "$p1.facts[*].fact_id"),
        ("paths[0]", "keys_eq", ["edges", "length"]),
    ],
)
def test_an_operator_that_holds(path: str, op: str, value: Any) -> None:
    assert fault_of({"path": path, "op": op, "value": value}, RESULTS) is None


@pytest.mark.parametrize(
    ("path", "op", "value"),
    [
        ("grain", "eq", "evidence"),
        ("facts[0].n", "eq", 1.0),
        ("facts[0].n", "eq", True),
        ("nowhere", "ne", 2),
        ("grain", "ne", "fact"),
        ("grain", "in", ["evidence"]),
        ("facts[*].fact_id", "set_eq", ["F1"]),
        ("words", "list_eq", ["b", "a"]),
        ("words", "contains", "c"),
        ("words", "not_contains", "a"),
        ("nowhere", "not_contains", "a"),
        ("grain", "is_null", None),
        ("nowhere", "is_null", None),
        ("nothing", "not_null", None),
        ("nowhere", "not_null", None),
        ("facts[0].n", "lt", 1),
        ("facts[0].n", "gt", "0"),
        ("grain", "gt", 0),
        ("nothing", "absent", None),
        ("grain", "same_as", "at"),
        ("grain", "same_as", "nowhere"),
        ("nowhere", "same_as", "grain"),
        ("words", "disjoint", "words"),
        ("nowhere", "disjoint", "words"),
        ("paths[0]", "keys_eq", ["edges"]),
        ("words", "keys_eq", ["a", "b"]),
    ],
)
def test_an_operator_that_does_not_hold(path: str, op: str, value: Any) -> None:
    assert fault_of({"path": path, "op": op, "value": value}, RESULTS) is not None


@pytest.mark.parametrize(
    "wrong",
    [
        {"path": "grain", "op": "is", "value": 1},
        {"path": "grain", "op": "eq"},
        {"path": "grain"},
        {"path": "grain", "op": "eq", "value": 1, "note": "x"},
        {"path": "grain", "op": "same_as", "value": "$nobody.grain"},
    ],
)
def test_what_is_no_expectation_is_an_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(FormatError):
        fault_of(wrong, RESULTS)


def test_references_in_arguments() -> None:
    args = {"continuation": "$p1.token", "ids": ["$p1.facts[0].fact_id"], "query": "Tern"}
    assert resolve(args, RESULTS) == {"continuation": "abcde", "ids": ["F9"], "query": "Tern"}
    with pytest.raises(AssertionError):
        resolve("$p1.nothing", RESULTS)
    with pytest.raises(FormatError):
        resolve("$p7.token", RESULTS)


@pytest.mark.parametrize(
    ("text", "flipped"),
    [("abcde", "abAde"), ("abAde", "abBde"), ("abcd", "aAcd"), ("ab.de", "aA.de"), ("..z", "..A")],
)
def test_the_letter_or_digit_nearest_the_middle_is_flipped(text: str, flipped: str) -> None:
    assert flip(text) == flipped


def test_what_has_nothing_to_flip() -> None:
    for wrong in (None, "", "--"):
        with pytest.raises(AssertionError):
            flip(wrong)
