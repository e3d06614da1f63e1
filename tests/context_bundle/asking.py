"""A store made of a scenario's `given`, asked over HTTP at one instant, and its answers in symbols."""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any
from unittest import mock

from django.test import override_settings

from provenance.context_bundle import services
from tests.conftest import url
from tests.context_bundle.reference import moment
from tests.contracts.bundle_running import Projection, clock
from tests.contracts.bundle_symbols import Symbols
from tests.contracts.bundle_world import World


class Asked:
    """`unissued`: symbols of ids that nothing has."""

    def __init__(self, given: Mapping[str, Any], now: str, unissued: tuple[str, ...] = ("E404",)) -> None:
        rows = ("entities", "documents", "claims", "facts", "groups")
        names = {row["id"] for kind in rows for row in given.get(kind, ())}
        self._now = moment(now)
        self._symbols = Symbols([*names, *unissued])
        self._world = World(dict(given), self._symbols)

    def ask(self, op: str, args: Mapping[str, Any], projection: Mapping[str, Any] | None = None) -> Any:
        """The answer's body. Asked twice: the answers have to be the same, byte by byte (contract, N.12)."""
        with ExitStack() as settled:
            settled.enter_context(override_settings(EMBEDDER="none"))
            settled.enter_context(clock(self._now))
            if projection is not None:
                double = Projection(self._world, projection, services.nominator)
                settled.enter_context(mock.patch.object(services, "nominator", double))
            first, second = self._send(op, args), self._send(op, args)
        assert first == second
        body = self._symbols.decode(json.loads(first))
        assert not list(strangers(body))
        return body

    def _send(self, op: str, args: Mapping[str, Any]) -> bytes:
        body = json.dumps(self._symbols.encode(op, args))
        answer = self._world.client.post(
            url(self._world.store, f"/operations/{op}"), body, content_type="application/json"
        )
        assert answer.status_code == 200, answer.content
        return bytes(answer.content)


# How the symbols of each kind of id begin.
_NAMESPACES = {
    "fact_id": "F",
    "claim_id": "C",
    "doc_id": "D",
    "entity_id": "E",
    "group_id": "G",
    "contradiction_group": "G",
}


def strangers(body: Any) -> Iterator[str]:
    """Ids that stand where ids of another kind belong, or that nothing in the store has (contract, N.14)."""
    if isinstance(body, list):
        for each in body:
            yield from strangers(each)
    if isinstance(body, dict):
        for name, value in body.items():
            if name in _NAMESPACES and value is not None and not str(value).startswith(_NAMESPACES[name]):
                yield f"{name} {value}"
            yield from strangers(value)
