"""The numbers one question runs under, and whose each of them is. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reconstruct.core.policy import MAX_HOPS_CEILING
from reconstruct.serializers import MAX_TOP_K

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One bound. `asked`: by this question, None when it named none. `value`: what was, or will be, applied. `whose`:
    who set that. `note`: what stands beside it (a ceiling, a change the server made).
    """

    name: str
    label: str
    asked: int | None
    value: int
    whose: str
    note: str = ""


# Request name -> (label, its default's setting, its ceiling's setting, the setting that forces it).
_BOUNDS = {
    "count": ("Items", "default_count", "max_count", "forced_count"),
    "budget": ("Quoted characters", "default_budget", "max_budget", "forced_budget"),
    "top_k": ("Candidates", "top_k", "library_max", None),
    "max_hops": ("Relation hops", "max_hops", None, None),
    "max_evidence": ("Evidence rows", "max_evidence", None, None),
}
# Settings that no request names.
_FIXED = {
    "adjacency_seconds": "Seconds that one burst of a source spans",
    "preview_chars": "Characters of one quote",
}


def parameters(policy: Values, request: Values, told: Values | None = None) -> list[Parameter]:
    """`policy`: `settings` in force, of which `store` and `call` are the store's and the call's own. `request`: the
    body as sent. `told`: what was applied (`Trace.told["policy"]`); None before anything was asked.
    """
    found = [_bound(name, policy, request, told) for name in _BOUNDS]
    for name, label in _FIXED.items():
        found.append(Parameter(name, label, None, policy["settings"][name], whose(policy, name)))
    return found


def whose(policy: Values, setting: str) -> str:
    """Who set a setting's value."""
    if policy.get("call", {}).get(setting) is not None:
        return "this call's operator"
    return "this store" if policy.get("store", {}).get(setting) is not None else "the installation"


def _bound(name: str, policy: Values, request: Values, told: Values | None) -> Parameter:
    label, default, ceiling, forced = _BOUNDS[name]
    settings = policy["settings"]
    asked = request.get(name)
    if forced is not None and settings[forced] is not None:
        by, value = f"forced by {whose(policy, forced)}", settings[forced]
    elif asked is not None:
        by, value = "this question", asked
    else:
        by, value = whose(policy, default), settings[default]
    applied = _applied(name, told, value)
    return Parameter(
        name, label, asked, applied, by, _note(name, value, applied, settings.get(ceiling or ""))
    )


def _applied(name: str, told: Values | None, value: int) -> int:
    if told is None:
        return value
    if name == "top_k":
        return int(told["effective_top_k"])
    found = told[name]
    return int(found["effective"] if isinstance(found, Mapping) else found)


def _note(name: str, value: int, applied: int, ceiling: int | None) -> str:
    if applied < value:
        return f"lowered from {value:,}"
    if applied > value:
        # A default budget grows with the window; a small one is raised to one quote.
        return f"raised from {value:,}"
    if name == "max_hops":
        return f"at most {MAX_HOPS_CEILING}"
    if name == "top_k":
        return _most_candidates(applied, ceiling)
    return "" if ceiling is None else f"at most {ceiling:,}"


def _most_candidates(applied: int, ceiling: int | None) -> str:
    """What a question may name: the smaller of what a call takes and what the store allows. A setting may go beyond."""
    most = MAX_TOP_K if ceiling is None else min(MAX_TOP_K, ceiling)
    return f"at most {most:,}" if applied <= most else f"a question may name {most:,} at most"
