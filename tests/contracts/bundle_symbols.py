"""Symbols of a scenario and the UUIDs that stand for them: one symbol is one UUID, whatever it names.

UUIDs are in the symbols' order, as the public numbers are that the world gives to its rows.
"""

import re
import uuid
from collections.abc import Iterable, Iterator
from typing import Any

from tests.contracts.bundle_format import Call, Given
from tests.contracts.scenario_files import Scenario
from tests.contracts.values import FormatError

# What is no declared symbol and yet is one: an id that nothing was ever given.
_SYMBOL = re.compile(r"[A-Z]{1,3}\d*")
# The arguments of graph reads that are entities and are not called ids.
_ENDS = {"start", "from", "to"}


class Symbols:
    """The UUID text of each symbol that a scenario declares or uses, and back."""

    def __init__(self, names: Iterable[str]) -> None:
        self._uuids = {
            name: f"{place:08x}-5ce0-4000-8000-{place:012x}"
            for place, name in enumerate(sorted(set(names)), 1)
        }
        self._names = {text: name for name, text in self._uuids.items()}

    def uuid(self, name: str) -> uuid.UUID:
        if name not in self._uuids:
            raise FormatError(f"{name!r} is no symbol of this scenario")
        return uuid.UUID(self._uuids[name])

    def bind(self, name: str, text: str) -> None:
        """From here on the symbol stands for an id that the product has given."""
        self._uuids[name] = text
        self._names[text] = name

    def encode(self, op: str, args: Any) -> Any:
        """The arguments as they are sent: symbols where an id belongs become UUIDs."""
        if not isinstance(args, dict):
            return args
        return {key: self._id(value) if holds_ids(op, key) else value for key, value in args.items()}

    def _id(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._id(each) for each in value]
        # A text that is no symbol is sent as it is: it may be a malformed id on purpose.
        return self._uuids.get(value, value) if isinstance(value, str) else value

    def decode(self, value: Any) -> Any:
        """An answer with the symbols in place of their UUIDs."""
        if isinstance(value, dict):
            return {key: self.decode(member) for key, member in value.items()}
        if isinstance(value, list):
            return [self.decode(each) for each in value]
        return self._names.get(value, value) if isinstance(value, str) else value


def holds_ids(op: str, key: str) -> bool:
    return (
        key.endswith(("_id", "_ids")) or key == "same_source_as" or (op.startswith("graph_") and key in _ENDS)
    )


def symbols_of(scenario: Scenario) -> Symbols:
    given = scenario["given"]
    return Symbols(
        [
            *_declared(given),
            *_declared(given.get("other_deployment", {})),
            *_projected(given.get("projection", {})),
            *(name for each in [*given.get("prior_calls", ()), scenario["call"]] for name in _called(each)),
        ]
    )


def fact_key(text: Any) -> tuple[str, str]:
    """(kind, symbol) of `kind:symbol`."""
    kind, _, name = text.partition(":") if isinstance(text, str) else ("", "", "")
    if kind not in {"relation", "observation"} or not name:
        raise FormatError(f"{text!r} names no fact")
    return kind, name


def _declared(given: Given) -> Iterator[str]:
    for rows in ("entities", "documents", "claims", "facts", "groups"):
        yield from (row["id"] for row in given.get(rows, ()))
    for row in given.get("claims", ()):
        yield from row.get("mentions", ())
    for row in given.get("facts", ()):
        yield from (claim for claim, _stance in row.get("evidence", ()))
        yield from row.get("window_claims", ())
    for row in given.get("transcript", ()):
        yield from filter(None, (row["subject_id"], row.get("related_id")))


def _projected(projection: Given) -> Iterator[str]:
    for name in ("stale_claims", "stale_chunks", "graph_still_holds"):
        yield from projection.get(name, ())
    yield from (fact_key(each)[1] for each in projection.get("stale_facts", ()))


def _called(call: Call) -> Iterator[str]:
    if call["op"] == "declare_fact":
        yield call["args"]["id"]
    if not isinstance(call["args"], dict):
        return
    for key, value in call["args"].items():
        if holds_ids(call["op"], key):
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, str) and _SYMBOL.fullmatch(each):
                    yield each
