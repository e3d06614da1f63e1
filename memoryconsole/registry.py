"""Where the upper floors tell the ground floor what they offer, so that nothing here imports upward.

A floor registers when its app is ready. Readers ask by name; an unknown name is a programming error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    # Floors register while the apps are still loading: the models are not there yet.
    from memoryconsole.models import Store, Trace
    from memoryconsole.traces import Laps, Told


@dataclass(frozen=True, slots=True)
class PolicyFault:
    """Settings that contradict each other. `names` are the contract's names of those settings."""

    names: tuple[str, ...]
    message: str


Policy = Mapping[str, int | None]

# (the environment's policy, a store's overrides) -> what is wrong with the policy in force.
PolicyCheck = Callable[[Policy, Policy], Sequence[PolicyFault]]

_policy_checks: dict[str, PolicyCheck] = {}


class Replayed(NamedTuple):
    """An answer decided again from a trace: its body, and what was decided, as `Trace.told` has it."""

    body: dict[str, Any]
    told: dict[str, Any]


def query_of(request: Mapping[str, Any]) -> str | None:
    """The words of a request that has them in `query`; a refused one may hold anything there."""
    query = request.get("query")
    return query if isinstance(query, str) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A read contract, as the audit layer, the console and MCP see it.

    `core`: the version of the pure core that decides. `parse`: a JSON body to whatever `run` takes (raises
    InvalidParameter). `run`: (store, parsed, settings for this call alone, stopwatch).

    What is asked about a trace that was answered: `replay`: (store, trace, parsed) to the core once more over what the
    trace holds (raises NotReplayable). `why`: (store, trace, parsed, ref) to the bound that kept the row out. `ranked`:
    the refs of its answer, best first. `story`: (trace, how many rows of each list) to what the template
    `traces/story_<name>.html` tells of it: only the floor that wrote `seen` and `told` can read them. `refused`: `why`
    for a trace that was refused: (trace, ref). `kinds`: the kinds of refs that its answers hold.

    `takes_settings`: settings for one call alone change its answer. `page`: the console's page that asks it.

    `question`: a kept request to the words it asked with, None where it has none; `unasked`: what lists
    say in their place, where the operation takes no words.
    """

    name: str
    core: str
    parse: Callable[[Any], Any]
    run: Callable[[Store, Any, Policy, Laps], Told]
    replay: Callable[[Store, Trace, Any], Replayed]
    why: Callable[[Store, Trace, Any, str], dict[str, Any]]
    refused: Callable[[Trace, str], dict[str, Any]]
    ranked: Callable[[Trace], list[str]]
    story: Callable[[Trace, int], dict[str, Any]]
    question: Callable[[Mapping[str, Any]], str | None] = query_of
    unasked: str = ""
    takes_settings: bool = False
    page: str = ""
    kinds: frozenset[str] = frozenset({"mem", "ep"})


_operations: dict[str, Operation] = {}


def register_operation(operation: Operation) -> None:
    _operations[operation.name] = operation


def operation(name: str) -> Operation:
    """Raises KeyError for an operation nobody registered."""
    return _operations[name]


def operation_names() -> list[str]:
    return sorted(_operations)


def register_policy_check(name: str, check: PolicyCheck) -> None:
    _policy_checks[name] = check


def policy_faults(environment: Policy, overrides: Policy) -> list[PolicyFault]:
    """Everything every floor has to say against these settings, in order of registration."""
    return [fault for check in _policy_checks.values() for fault in check(environment, overrides)]
