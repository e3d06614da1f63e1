"""What one call may do: counts, budgets and bounds (contract, section B), and which settings are refused.

Nothing here clamps a setting: a combination of settings that could only mislead is named and refused. A
*request* may be clamped, and then the answer says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from reconstruct.core.types import Request, Settings

MAX_HOPS_CEILING = 5
"""Contract, section B: without a ceiling one read could walk a whole graph."""

MINIMUMS: Mapping[str, int] = {
    "default_count": 1,
    "max_count": 1,
    "forced_count": 1,
    "top_k": 1,
    "max_hops": 0,
    "max_evidence": 1,
    "adjacency_seconds": 0,
    "default_budget": 1,
    "max_budget": 1,
    "forced_budget": 1,
    "preview_chars": 0,
    "library_max": 1,
    "rrf_k": 0,
}
OPTIONAL = frozenset({"forced_count", "forced_budget"})
CEILINGS = ("max_count", "max_budget", "library_max")

Source = Literal["operator_forced", "caller", "server_default"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why settings are refused: the settings involved, and a sentence for the operator."""

    names: tuple[str, ...]
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """How a count (items) or a budget (code points) came about: asked, granted, by whom, and why."""

    requested: int | None
    effective: int
    source: Source
    clamped: bool
    reason: str

    @property
    def differs(self) -> bool:
        """The server did something other than what was asked, so the answer has to say so."""
        return self.clamped or self.source == "operator_forced"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The numbers one call runs under. ``top_k`` is what was asked for, ``max_hops`` what is applied."""

    count: Ruling
    budget: Ruling
    top_k: int
    effective_top_k: int
    max_hops: int
    max_hops_lowered: bool
    max_evidence: int
    adjacency_seconds: int
    preview_chars: int
    rrf_k: int


def decide(request: Request, settings: Settings) -> Policy:
    """The policy of one call. ``settings`` have passed :func:`check_policy`."""
    count = _count(request.count, settings)
    top_k = settings.top_k if request.top_k is None else request.top_k
    max_hops = settings.max_hops if request.max_hops is None else request.max_hops
    return Policy(
        count=count,
        budget=_budget(request.budget, count.effective, settings),
        top_k=top_k,
        effective_top_k=min(top_k, settings.library_max),
        max_hops=min(max_hops, MAX_HOPS_CEILING),
        max_hops_lowered=max_hops > MAX_HOPS_CEILING,
        max_evidence=settings.max_evidence if request.max_evidence is None else request.max_evidence,
        adjacency_seconds=settings.adjacency_seconds,
        preview_chars=settings.preview_chars,
        rrf_k=settings.rrf_k,
    )


def effective_settings(environment: Settings, overrides: Mapping[str, int | None]) -> Settings:
    """The environment's settings with a store's own on top; an override of None is none.

    Raises KeyError for a name that is no setting.
    """
    known = {setting.name for setting in fields(Settings)}
    if unknown := sorted(set(overrides) - known):
        raise KeyError(f"no such setting: {', '.join(unknown)}")
    given: dict[str, Any] = {name: value for name, value in overrides.items() if value is not None}
    return replace(environment, **given)


def check_policy(settings: Settings, ceilings: Settings | None = None) -> tuple[Problem, ...]:
    """Every reason to refuse ``settings``, in a fixed order; empty when they are sound.

    At start-up the environment's settings are checked alone. A store's effective settings are checked with
    the environment's as ``ceilings``: when an override is saved, and again whenever they are used, since a
    ceiling may have been lowered meanwhile.
    """
    mistyped = _mistyped(settings)
    if mistyped:
        return mistyped
    problems = [*_below_minimum(settings), *_above_maximum(settings), *_below_one_quote(settings)]
    if ceilings is not None:
        problems += _above_ceiling(settings, ceilings)
    return tuple(problems)


def _count(requested: int | None, settings: Settings) -> Ruling:
    source: Source
    if settings.forced_count is not None:
        base, source, reason = settings.forced_count, "operator_forced", "forced_count_set"
    elif requested is not None:
        base, source, reason = requested, "caller", "count_requested"
    else:
        base, source, reason = settings.default_count, "server_default", "count_omitted"
    effective = min(base, settings.max_count)
    return Ruling(
        requested=requested, effective=effective, source=source, clamped=effective < base, reason=reason
    )


def _budget(requested: int | None, window: int, settings: Settings) -> Ruling:
    source: Source
    one_per_item = window * settings.preview_chars
    if settings.forced_budget is not None:
        base, source, reason = settings.forced_budget, "operator_forced", "forced_budget_set"
    elif requested is not None:
        base, source, reason = requested, "caller", "budget_requested"
    elif one_per_item > settings.default_budget:
        base, source, reason = one_per_item, "server_default", "default_fits_the_window"
    else:
        base, source, reason = settings.default_budget, "server_default", "budget_omitted"
    effective = min(base, settings.max_budget)
    if effective < _one_quote(settings):
        effective, reason = _one_quote(settings), "raised_to_one_excerpt"
    return Ruling(
        requested=requested, effective=effective, source=source, clamped=effective != base, reason=reason
    )


def _one_quote(settings: Settings) -> int:
    # With cutting off a quote has no size; one character is then the least a budget can mean.
    return max(settings.preview_chars, 1)


def _mistyped(settings: Settings) -> tuple[Problem, ...]:
    values = {name: getattr(settings, name) for name in MINIMUMS}
    return tuple(
        Problem(names=(name,), message=f"{name} must be an integer, not {value!r}")
        for name, value in values.items()
        if type(value) is not int and not (value is None and name in OPTIONAL)
    )


def _below_minimum(settings: Settings) -> list[Problem]:
    values = {name: getattr(settings, name) for name in MINIMUMS}
    return [
        Problem(names=(name,), message=f"{name} is {value}; its minimum is {MINIMUMS[name]}")
        for name, value in values.items()
        if value is not None and value < MINIMUMS[name]
    ]


def _above_maximum(settings: Settings) -> list[Problem]:
    problems = []
    for subject in ("count", "budget"):
        maximum = getattr(settings, f"max_{subject}")
        for name in (f"default_{subject}", f"forced_{subject}"):
            value = getattr(settings, name)
            if value is not None and value > maximum:
                message = f"{name} is {value}, above max_{subject}, which is {maximum}"
                problems.append(Problem(names=(name, f"max_{subject}"), message=message))
    return problems


def _below_one_quote(settings: Settings) -> list[Problem]:
    quote = _one_quote(settings)
    values = {name: getattr(settings, name) for name in ("default_budget", "max_budget", "forced_budget")}
    return [
        Problem(names=(name, "preview_chars"), message=f"{name} is {value}, below one quote ({quote})")
        for name, value in values.items()
        if value is not None and value < quote
    ]


def _above_ceiling(settings: Settings, ceilings: Settings) -> list[Problem]:
    pairs = {name: (getattr(settings, name), getattr(ceilings, name)) for name in CEILINGS}
    return [
        Problem(names=(name,), message=f"{name} is {value}, above the server's {ceiling}")
        for name, (value, ceiling) in pairs.items()
        if value > ceiling
    ]
