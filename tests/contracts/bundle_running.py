"""A scenario of `context_bundle.json` from its data to its verdict: HTTP, with a clock that stands still."""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from unittest import mock

from django.test import override_settings
from django.utils import timezone

from memoryconsole.models import Scope
from tests.conftest import make_client, url
from tests.contracts.bundle_format import READS, Call
from tests.contracts.bundle_symbols import Symbols, fact_key, symbols_of
from tests.contracts.bundle_values import Result, Results, fault_of, flip, resolve
from tests.contracts.bundle_world import World, instant
from tests.contracts.offered import ADDRESSES
from tests.contracts.scenario_files import Scenario
from tests.contracts.values import FormatError, require_keys

STEP = timedelta(seconds=1)


def run(scenario: Scenario) -> Results:
    """The answers of the calls. The scenario has been validated, and every operation it needs is there."""
    given = scenario["given"]
    running = _Running(given, symbols_of(scenario))
    results = Results()
    for each in given.get("prior_calls", ()):
        results.named[each["as"]] = running.call(each, results)
    results.last = running.call(scenario["call"], results)
    return results


def faults(scenario: Scenario, results: Results) -> list[str]:
    """Everything the scenario finds wrong with its results."""
    found = [fault_of(expectation, results) for expectation in scenario["expect"]]
    return [fault for fault in found if fault is not None]


class _Running:
    def __init__(self, given: Mapping[str, Any], symbols: Symbols) -> None:
        self._given = given
        self._symbols = symbols
        self._world = World(given, symbols)
        if "other_deployment" in given:
            # Another store of the same people: what is in it is nobody's business here all the same.
            World(given["other_deployment"], symbols, self._world.user)
        self._now = _instant(given["now"])
        self._client = self._world.client
        if "credential" in given:
            self._client = _holding(given["credential"], self._world)

    def call(self, call: Call, results: Results) -> Result:
        args = self._args(call["args"], results)
        if call["op"] == "rrf":
            return _rrf(args)
        with self._in_force():
            answer = self._send(call["op"], args)
        if self._given.get("clock") == "step":
            self._now += STEP
        body = json.loads(answer.content) if answer.content else None
        if call["op"] == "declare_fact" and answer.status_code in (200, 201):
            self._symbols.bind(args["id"], body["id"])
        return Result(self._symbols.decode(body), answer.status_code)

    def _args(self, args: Any, results: Results) -> Any:
        """The arguments with what earlier calls gave, changed where the scenario says so."""
        path = self._given.get("mutate", {}).get("path")
        if path is not None and _holds(args, path):
            args = _replaced(args, path, flip(results.at(path)))
        return resolve(args, results)

    def _send(self, op: str, args: Any) -> Any:
        store = self._world.store
        if op == "list_operations":
            return self._client.get(url(store, ADDRESSES[op]))
        if op in READS:
            return self._post(f"/operations/{op}", self._symbols.encode(op, args))
        if op == "declare_fact":
            return self._post(ADDRESSES[op], self._fact(args))
        if op == "ingest_document":
            return self._post(ADDRESSES[op], self._document(args))
        raise FormatError(f"{op}: nothing here sends it")

    def _post(self, tail: str, body: Any) -> Any:
        return self._client.post(
            url(self._world.store, tail), json.dumps(body), content_type="application/json"
        )

    def _fact(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """A fact as it is declared; its id comes with the answer."""
        require_keys(
            args,
            "declare_fact",
            {"id", "kind", "subject", "predicate", "object", "statement", "evidence"},
            {"id"},
        )
        ends = {
            f"{end}_id": str(self._symbols.uuid(args[end])) for end in ("subject", "object") if end in args
        }
        own = {name: args[name] for name in ("kind", "predicate", "statement") if name in args}
        evidence = [
            {"claim_id": str(self._symbols.uuid(claim)), "stance": stance}
            for claim, stance in args["evidence"]
        ]
        return {**own, **ends, "evidence": evidence}

    def _document(self, args: Mapping[str, Any]) -> dict[str, Any]:
        require_keys(args, "ingest_document", {"same_source_as"}, {"same_source_as"})
        document = self._world.documents[args["same_source_as"]]
        text = document.versions.get().text
        return {
            "source_kind": document.source_kind,
            "source_ref": document.source_ref,
            "title": document.title,
            "text": text,
        }

    @contextmanager
    def _in_force(self) -> Iterator[None]:
        from provenance.context_bundle import services

        with ExitStack() as settled:
            settled.enter_context(override_settings(EMBEDDER="none"))
            settled.enter_context(clock(self._now))
            if "projection" in self._given:
                double = Projection(self._world, self._given["projection"], services.nominator)
                settled.enter_context(mock.patch.object(services, "nominator", double))
            if "fault" in self._given:
                settled.enter_context(failing(self._given["fault"]))
            yield


@contextmanager
def clock(now: datetime) -> Iterator[None]:
    """Reads are evaluated, and writes are made, at this instant."""
    from provenance.context_bundle import services

    with (
        mock.patch.object(services, "evaluation_instant", return_value=now),
        mock.patch.object(timezone, "now", return_value=now),
    ):
        yield


# What makes each child's envelope, in the core.
_CHILDREN = {"facts_context": "facts_context", "claims_and_sources_context": "claims_and_sources"}


@contextmanager
def failing(fault: Mapping[str, Any]) -> Iterator[None]:
    """The function that builds the bundle gets a child that fails, or one with a member too many."""
    from provenance.context_bundle import core

    if "in" not in fault:
        raise FormatError(f"fault {fault!r}: nothing here causes it")
    name = _CHILDREN[fault["in"]]
    real = getattr(core, name)

    def broken(*args: Any) -> Any:
        if "raise" in fault:
            raise RuntimeError(fault["raise"])
        return {**real(*args), fault["emit_extra_field"]: 1}

    with mock.patch.object(core, name, broken):
        yield


class Projection:
    """The nomination port of a store whose projection lags: its own nominations, behind ids that the spine rejects."""

    def __init__(self, world: World, given: Mapping[str, Any], real: Any) -> None:
        if "graph_still_holds" in given:
            raise FormatError("graph_still_holds: no read walks a projection of the graph")
        self._real = real
        self._exhausted = given.get("nominations_exhausted", False)
        unissued = 1 << 40
        claims = {name: row.pk for name, row in world.claims.items()}
        facts = {key: row.pk for key, row in world.facts.items()}
        stale: dict[str, list[Any]] = {
            "claims": [claims.get(name) for name in given.get("stale_claims", ())],
            "chunks": [None for _ in given.get("stale_chunks", ())],
            "facts": [facts.get(fact_key(each)) for each in given.get("stale_facts", ())],
        }
        self._stale = {
            part: [unissued + place if pk is None else pk for place, pk in enumerate(keys)]
            for part, keys in stale.items()
        }

    def nominate(self, store: Any, query: Any, wanted: Any, admits: Any) -> tuple[Any, ...]:
        stale = tuple(self._stale.get(wanted.part, ()))
        return tuple(
            self._behind(stale, channel, wanted)
            for channel in self._real.nominate(store, query, wanted, admits)
        )

    def _behind(self, stale: tuple[int, ...], channel: Any, wanted: Any) -> Any:
        keys = stale + tuple(key for key in channel.keys if key not in stale)
        exhausted = channel.exhausted or len(keys) > wanted.depth
        if wanted.part != "profiles":
            exhausted = exhausted or self._exhausted
        return replace(channel, keys=keys[: wanted.depth], exhausted=exhausted)


def _holds(value: Any, path: str) -> bool:
    if isinstance(value, dict | list):
        return any(_holds(each, path) for each in (value.values() if isinstance(value, dict) else value))
    return bool(value == path)


def _replaced(value: Any, path: str, changed: str) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(member, path, changed) for key, member in value.items()}
    if isinstance(value, list):
        return [_replaced(each, path, changed) for each in value]
    return changed if value == path else value


def _rrf(args: Any) -> Result:
    from provenance.context_bundle.core import fusion

    require_keys(args, "rrf", {"channels"}, {"channels"})
    return Result({"ranking": fusion.ranking(args["channels"])})


def _holding(credential: Any, world: World) -> Any:
    """A client with one scope, or with no token at all."""
    if credential is None:
        client = make_client(world.user, world.store)
        client.credentials()
    elif credential in [scope.value for scope in Scope]:
        client = make_client(world.user, world.store, scopes=[Scope(credential)])
    else:
        raise FormatError(f"credential {credential!r}")
    client.raise_request_exception = False
    return client


def _instant(text: str) -> datetime:
    found = instant(text)
    if found is None:
        raise FormatError("now is null")
    return found
