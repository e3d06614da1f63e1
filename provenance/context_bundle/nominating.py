"""Who nominates: the port between the one search and this contract.

A nomination is nothing but an id. The product nominates in the answer's own snapshot, and only rows that the answer may
show (`admits`); what else comes through the port is read again from the spine, rejected, and counted.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from memoryconsole.models import Store
from memoryconsole.search import Query
from memoryconsole.search.nominate import SearchNominator

Part = Literal["claims", "chunks", "facts", "profiles"]

Admits = Callable[[Collection[int]], Collection[int]]
"""Primary keys in, those of them out that may be shown (at most one statement a call)."""

BATCH: Final = 256
"""Contract, section C.2: candidates confirmed at a time."""


@dataclass(frozen=True, slots=True)
class Among:
    """Rows in scope: primary keys, ascending, and how many anchors each touches."""

    keys: NDArray[np.int64]
    touched: NDArray[np.int64]

    @classmethod
    def of(cls, keys: NDArray[np.int64], touched: NDArray[np.int64]) -> "Among":
        order = np.argsort(keys, kind="stable")
        return cls(keys[order], touched[order])

    @classmethod
    def by_anchor(cls, anchors: Sequence[NDArray[np.int64]]) -> "Among":
        """From the keys that touch each anchor, every key once an anchor."""
        together = np.concatenate(anchors) if anchors else np.zeros(0, dtype=np.int64)
        return cls(*np.unique(together, return_counts=True))

    def touches(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many anchors each of these touches, 0 for one that is not in scope."""
        if not len(self.keys):
            return np.zeros(len(keys), dtype=np.int64)
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[places] == keys, self.touched[places], 0)


@dataclass(frozen=True, slots=True)
class Nominated:
    """What one channel nominates: primary keys, best first. `exhausted`: it had more than were asked for, or
    than were read. `advisory`: what was degraded about the search, '' for nothing.
    """

    name: str
    keys: tuple[int, ...] = ()
    exhausted: bool = False
    advisory: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be nominated: at most `depth` of each channel.

    `among`: the rows in scope; every one of them is a candidate of each channel, those that touch more anchors first.
    None: the whole store, where only what matches the query is a candidate.
    """

    part: Part
    depth: int
    among: Among | None = None


class Nominator(Protocol):
    def nominate(
        self, store: Store, query: Query, wanted: Wanted, admits: Admits
    ) -> tuple[Nominated, ...]: ...


_nominator: Final = SearchNominator()


class Search:
    """The product's own: words, and vectors where there are any, in the one search."""

    def nominate(self, store: Store, query: Query, wanted: Wanted, admits: Admits) -> tuple[Nominated, ...]:
        among = wanted.among
        if among is not None and not len(among.keys):
            return (Nominated("lexical"),)
        found = _nominator.nominate(
            store, query, wanted.part, among=None if among is None else among.keys.tolist()
        )
        orders: dict[str, NDArray[np.int64]] = {}
        for channel in found.channels:
            ids = np.asarray(channel.ids, dtype=np.int64)
            if among is not None:
                ids = ids[np.argsort(-among.touches(ids), kind="stable")]
            orders[channel.name] = ids
        chosen = admitted(orders, wanted.depth, admits)
        # Words too common to be found by leave rows out only where rows must match.
        unfound = found.bounded and among is None
        cut = {channel.name for channel in found.channels if channel.cut}
        advisory = str(found.advisory["reason"]) if found.advisory else ""
        return tuple(
            Nominated(
                name,
                tuple(keys[: wanted.depth]),
                len(keys) > wanted.depth or unfound or name in cut,
                advisory,
            )
            for name, keys in chosen.items()
        )


def admitted(orders: dict[str, NDArray[np.int64]], depth: int, admits: Admits) -> dict[str, list[int]]:
    """The first `depth` + 1 of each order that are admitted, asked about a batch at a time."""
    judged: dict[int, bool] = {}
    # At first as many as are wanted; where many are refused, fewer and larger steps.
    least = 1
    while batch := _next_batch(orders, depth, judged, least):
        passed = set(admits(batch))
        judged |= {key: key in passed for key in batch}
        least = max(BATCH, 2 * least)
    return {
        name: [key for key in order.tolist() if judged.get(key)][: depth + 1]
        for name, order in orders.items()
    }


def _next_batch(
    orders: dict[str, NDArray[np.int64]], depth: int, judged: dict[int, bool], least: int
) -> list[int]:
    """Keys still to be judged: the next ones of each order that has not `depth` + 1 admitted keys yet."""
    batch: dict[int, None] = {}
    for order in orders.values():
        missing, taken = depth + 1, 0
        for key in order.tolist():
            if missing == 0 or taken >= max(least, missing):
                break
            if key in judged:
                missing -= judged[key]
            else:
                batch[key] = None
                taken += 1
    return list(batch)
