"""Where the upper floors tell the ground floor what they offer, so that nothing here imports upward.

A floor registers when its app is ready. Readers ask by name; an unknown name is a programming error.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PolicyFault:
    """Settings that contradict each other. `names` are the contract's names of those settings."""

    names: tuple[str, ...]
    message: str


Policy = Mapping[str, int | None]

# (the environment's policy, a store's overrides) -> what is wrong with the policy in force.
PolicyCheck = Callable[[Policy, Policy], Sequence[PolicyFault]]

_policy_checks: dict[str, PolicyCheck] = {}


def register_policy_check(name: str, check: PolicyCheck) -> None:
    _policy_checks[name] = check


def policy_faults(environment: Policy, overrides: Policy) -> list[PolicyFault]:
    """Everything every floor has to say against these settings, in order of registration."""
    return [fault for check in _policy_checks.values() for fault in check(environment, overrides)]
