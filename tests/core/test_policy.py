"""Counts, budgets and bounds; which settings are refused (contract, section B)."""

from dataclasses import replace
from typing import Any

import pytest

from reconstruct.core import Request, Settings, check_policy, decide, effective_settings
from reconstruct.core.policy import MINIMUMS, Problem, Ruling


def ruled(settings: Settings | None = None, **wanted: Any) -> tuple[Ruling, Ruling]:
    policy = decide(Request(query="q", **wanted), settings or Settings())
    return policy.count, policy.budget


def named(*problems: Problem) -> set[str]:
    return {name for problem in problems for name in problem.names}


@pytest.mark.parametrize(
    ("settings", "requested", "effective", "source", "clamped", "reason"),
    [
        (Settings(), None, 1, "server_default", False, "count_omitted"),
        (Settings(default_count=3), None, 3, "server_default", False, "count_omitted"),
        (Settings(), 0, 0, "caller", False, "count_requested"),
        (Settings(), 10, 10, "caller", False, "count_requested"),
        (Settings(), 11, 10, "caller", True, "count_requested"),
        (Settings(forced_count=2), 4, 2, "operator_forced", False, "forced_count_set"),
        (Settings(forced_count=2), 2, 2, "operator_forced", False, "forced_count_set"),
        (Settings(forced_count=2), 0, 2, "operator_forced", False, "forced_count_set"),
        (Settings(forced_count=2), None, 2, "operator_forced", False, "forced_count_set"),
    ],
)
def test_count_is_forced_else_requested_else_default_up_to_the_maximum(
    settings: Settings, requested: int | None, effective: int, source: str, clamped: bool, reason: str
) -> None:
    count, _ = ruled(settings, count=requested)
    assert (count.requested, count.effective) == (requested, effective)
    assert (count.source, count.clamped, count.reason) == (source, clamped, reason)


@pytest.mark.parametrize(
    ("settings", "count", "requested", "effective", "source", "clamped", "reason"),
    [
        (Settings(), 8, None, 4000, "server_default", False, "budget_omitted"),
        (Settings(), 9, None, 4500, "server_default", False, "default_fits_the_window"),
        (Settings(), 10, None, 5000, "server_default", False, "default_fits_the_window"),
        (Settings(), 10, 4000, 4000, "caller", False, "budget_requested"),
        (Settings(max_budget=4500), 10, None, 4500, "server_default", True, "default_fits_the_window"),
        (Settings(), 1, 20_001, 20_000, "caller", True, "budget_requested"),
        (Settings(), 1, 500, 500, "caller", False, "budget_requested"),
        (Settings(), 1, 499, 500, "caller", True, "raised_to_one_excerpt"),
        (Settings(preview_chars=0), 10, 1, 1, "caller", False, "budget_requested"),
        (Settings(forced_budget=1234), 1, 9000, 1234, "operator_forced", False, "forced_budget_set"),
        (Settings(forced_budget=1234), 1, 10, 1234, "operator_forced", False, "forced_budget_set"),
    ],
)
def test_budget_grows_to_the_window_by_default_and_is_never_below_one_quote(
    settings: Settings,
    count: int,
    requested: int | None,
    effective: int,
    source: str,
    clamped: bool,
    reason: str,
) -> None:
    _, budget = ruled(settings, count=count, budget=requested)
    assert (budget.requested, budget.effective) == (requested, effective)
    assert (budget.source, budget.clamped, budget.reason) == (source, clamped, reason)


def test_the_default_budget_follows_the_window_and_not_the_count_asked_for() -> None:
    _, budget = ruled(Settings(max_count=9), count=50)
    assert budget.effective == 9 * 500


def test_breadth_is_not_derived_from_count() -> None:
    few, many = (decide(Request(query="q", count=count), Settings()) for count in (1, 10))
    assert (few.top_k, few.max_hops, few.max_evidence) == (many.top_k, many.max_hops, many.max_evidence)


def test_top_k_is_lowered_to_the_library_ceiling_and_remembers_what_was_asked() -> None:
    policy = decide(Request(query="q", top_k=20), Settings(library_max=2))
    assert (policy.top_k, policy.effective_top_k) == (20, 2)


@pytest.mark.parametrize(("asked", "applied", "lowered"), [(5, 5, False), (6, 5, True), (0, 0, False)])
def test_max_hops_has_a_ceiling_of_five(asked: int, applied: int, lowered: bool) -> None:
    policy = decide(Request(query="q", max_hops=asked), Settings())
    assert (policy.max_hops, policy.max_hops_lowered) == (applied, lowered)


def test_the_ceiling_on_hops_holds_for_the_servers_default_too() -> None:
    policy = decide(Request(query="q"), Settings(max_hops=9))
    assert (policy.max_hops, policy.max_hops_lowered) == (5, True)


def test_the_shipped_settings_are_sound() -> None:
    assert check_policy(Settings()) == ()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (Settings(max_count=5, default_count=6), {"default_count", "max_count"}),
        (Settings(max_count=5, forced_count=6), {"forced_count", "max_count"}),
        (Settings(default_count=0), {"default_count"}),
        (Settings(forced_count=0), {"forced_count"}),
        (Settings(default_budget=499), {"default_budget", "preview_chars"}),
        (Settings(forced_budget=499), {"forced_budget", "preview_chars"}),
        (Settings(default_budget=499, max_budget=499), {"default_budget", "max_budget", "preview_chars"}),
        (Settings(default_budget=30_000), {"default_budget", "max_budget"}),
        (Settings(forced_budget=20_001), {"forced_budget", "max_budget"}),
        (Settings(preview_chars=4001), {"default_budget", "preview_chars"}),
    ],
)
def test_settings_that_could_only_mislead_are_refused_by_name(settings: Settings, expected: set[str]) -> None:
    assert named(*check_policy(settings)) == expected


@pytest.mark.parametrize(
    "settings",
    [
        Settings(max_count=5, forced_count=5),
        Settings(forced_budget=20_000),
        Settings(default_budget=500),
        Settings(preview_chars=0, default_budget=1),
    ],
)
def test_settings_exactly_at_a_limit_are_sound(settings: Settings) -> None:
    assert check_policy(settings) == ()


def test_with_cutting_off_one_quote_is_one_character() -> None:
    assert "default_budget" in named(*check_policy(Settings(preview_chars=0, default_budget=0)))


@pytest.mark.parametrize("name", sorted(MINIMUMS))
def test_every_setting_has_a_minimum(name: str) -> None:
    broken = effective_settings(Settings(), {name: MINIMUMS[name] - 1})
    assert name in named(*check_policy(broken))


@pytest.mark.parametrize("value", ["2", True, 2.0])
@pytest.mark.parametrize("name", ["default_count", "forced_budget", "adjacency_seconds"])
def test_a_setting_that_is_no_integer_is_refused(name: str, value: Any) -> None:
    assert named(*check_policy(effective_settings(Settings(), {name: value}))) == {name}


def test_only_a_forced_value_may_be_missing() -> None:
    missing: Any = None
    assert named(*check_policy(replace(Settings(), max_count=missing))) == {"max_count"}
    assert check_policy(replace(Settings(), forced_count=None)) == ()


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ({"default_count": 6}, {"default_count", "max_count"}),
        ({"max_count": 3, "forced_count": 4}, {"forced_count", "max_count"}),
        ({"max_count": 6}, {"max_count"}),
        ({"library_max": 10_001}, {"library_max"}),
        ({"max_budget": 20_001}, {"max_budget"}),
        ({"forced_budget": 20_001}, {"forced_budget", "max_budget"}),
        ({"default_budget": 499}, {"default_budget", "preview_chars"}),
        ({"default_count": 5}, set()),
        ({"max_count": 5, "library_max": 10_000, "max_budget": 20_000}, set()),
        ({"forced_budget": 20_000}, set()),
        ({"preview_chars": 0}, set()),
        ({}, set()),
    ],
)
def test_a_stores_override_stays_below_the_servers_maximum(
    overrides: dict[str, int], expected: set[str]
) -> None:
    environment = Settings(max_count=5)
    assert named(*check_policy(effective_settings(environment, overrides), environment)) == expected


def test_a_ceiling_lowered_later_is_noticed() -> None:
    overrides = {"max_count": 8}
    assert check_policy(effective_settings(Settings(), overrides), Settings()) == ()
    lowered = Settings(max_count=5)
    assert named(*check_policy(effective_settings(lowered, overrides), lowered)) == {"max_count"}


def test_an_override_of_none_is_none() -> None:
    environment = Settings(forced_count=2)
    assert effective_settings(environment, {"forced_count": None, "max_hops": None}) == environment


def test_an_unknown_setting_is_an_error() -> None:
    with pytest.raises(KeyError, match="max_cuont"):
        effective_settings(Settings(), {"max_cuont": 3})


def test_a_problem_says_what_and_how_much() -> None:
    [problem] = check_policy(Settings(max_count=5, default_count=6))
    assert problem.message == "default_count is 6, above max_count, which is 5"
