"""How many entries hold each of a query's words, where there are too many entries to read all that do.

Theory of operation. To count a common word, its entries must be visited: it is most of the time of such a search. So a
process remembers what it counted of common words. A count holds for as long as nothing is taken away from the part
(`IndexPart.removals`), but for what was added since, and that is looked at anew each time: the entries past the last
one of then. The answer is the one a count would give, in any process, with or without a memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from memoryconsole.models import Store
from memoryconsole.search.read import Ground, Standing, read_frequencies

Frequency: TypeAlias = tuple[int, int]
"""(how many entries hold a word, bytes of their forward lists); no bytes where there are as many as are counted."""

# A word of fewer entries is counted as quickly as it is remembered.
WORTH_KEEPING = 1_000
# Entries added since a word was last asked for, beyond which it is counted again.
MAX_ADDED = 2_000
# Words remembered, of all stores together: some hundred bytes each.
MAX_KEPT = 20_000


@dataclass(frozen=True, slots=True)
class _Counted:
    frequency: Frequency
    at: Standing


_kept: dict[tuple[str, str, int, int], _Counted] = {}


def frequencies(store: Store, ground: Ground, keys: Sequence[int], *, cap: int) -> dict[int, Frequency]:
    """The frequency of each key in what the ground searches; from `cap` entries on no more is known than that.

    One statement at most: what was not counted before is counted, and what was added since to what was. Raises
    LookupError for a ground of few rows.
    """
    now = ground.standing
    if now is None:
        raise LookupError("nothing is counted of a ground of few rows")
    held: dict[int, _Counted] = {}
    for key in keys:
        counted = _kept.get(_name(store, ground, cap, key))
        if counted is not None and _holds(counted.at, now):
            held[key] = counted
    unknown = [key for key in keys if key not in held]
    since = {key: each.at.last for key, each in held.items() if each.at.last < now.last}
    read = read_frequencies(store, ground, unknown, cap=cap, since=since)
    found = {
        key: _sum(held[key].frequency if key in held else _NOWHERE, read.get(key, _NOWHERE), cap)
        for key in keys
    }
    for key, frequency in found.items():
        if frequency[0] >= WORTH_KEEPING:
            _keep(_name(store, ground, cap, key), _Counted(frequency, now))
    return found


_NOWHERE: Frequency = (0, 0)


def _holds(then: Standing, now: Standing) -> bool:
    """Whether what was counted then is right for now, but for a few entries added. A snapshot may be older than one
    that another request counted in.
    """
    return then.removals == now.removals and then.last <= now.last and now.entries - then.entries <= MAX_ADDED


def _sum(counted: Frequency, more: Frequency, cap: int) -> Frequency:
    entries, size = counted[0] + more[0], counted[1] + more[1]
    # Which of more entries were counted is chance, and so are their bytes.
    return (entries, size) if entries < cap else (cap, 0)


def _name(store: Store, ground: Ground, cap: int, key: int) -> tuple[str, str, int, int]:
    return store.public_id, ground.parts, cap, key


def _keep(name: tuple[str, str, int, int], counted: _Counted) -> None:
    if len(_kept) >= MAX_KEPT:
        _kept.clear()
    _kept[name] = counted
