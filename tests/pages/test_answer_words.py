"""An answer in sentences: every reason, every admission, every key has its own, and numbers are the body's."""

import pytest

from memoryconsole.pages.rows import Shown
from memoryconsole.pages.saying import AtRef, Named
from reconstruct import words
from reconstruct.core import response
from reconstruct.parameters import parameters


def body(**members):
    return {"items": [], "effective_count": 3, "returned_count": 0, **members}


def flat(said):
    return "".join(
        part if isinstance(part, str) else getattr(part, "ref", getattr(part, "text", "")) for part in said
    )


REASONS = [
    "count_zero", "no_relevant_evidence", "below_quality_threshold", "exhausted_candidates", "budget_exhausted",
]  # fmt: skip


def test_every_reason_the_contract_has_is_a_sentence_of_its_own():
    import inspect
    import re

    named = set(re.findall(r'"([a-z_]+)"', inspect.getsource(response.shortfall_reason))) - {"str"}
    assert named == set(REASONS) == set(words.SHORTFALLS)
    assert len(set(words.SHORTFALLS.values())) == len(REASONS)


@pytest.mark.parametrize("reason", REASONS)
def test_a_shortfall_says_how_many_of_how_many(reason):
    assert words.shortfall(body(shortfall_reason=reason)) == words.SHORTFALLS[reason]
    some = words.shortfall(body(shortfall_reason=reason, returned_count=2))
    assert some == f"2 of 3 items. {words.SHORTFALLS[reason]}"


def test_nothing_found_by_a_degraded_search_is_never_a_plain_no():
    plain = body(shortfall_reason="no_relevant_evidence")
    assert words.outcome(plain) == "Nothing found"
    degraded = plain | {"advisory": {}}
    assert words.outcome(degraded) == "Nothing found, by a search that is degraded"
    assert "may still be there" in words.shortfall(degraded)
    assert words.shortfall(body(returned_count=3)) == ""


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        ({"gate_fallback": True}, "No row passed the gate"),
        (
            {"requested_count": 99, "count_policy": {"source": "caller", "clamped": True, "reason": "count_requested"}},
            "You asked for 99 items. This store answers 3 items at most.",
        ),
        (
            {"requested_count": None, "count_policy": {"source": "operator_forced", "clamped": False, "reason": ""}},
            "You named no count. The operator forces 3 items",
        ),
        (
            {"requested_budget": 1, "budget_policy": {"source": "caller", "clamped": True,
                                                      "reason": "raised_to_one_excerpt"}},
            "You asked for 1 character. It was raised to the length of one quote.",
        ),
        (
            {"requested_budget": 9000, "budget_policy": {"source": "caller", "clamped": True,
                                                         "reason": "budget_requested"}},
            "You asked for 9,000 characters. It was lowered to what this store allows.",
        ),
        (
            {"requested_budget": 9, "budget_policy": {"source": "operator_forced", "clamped": False, "reason": ""}},
            "You asked for 9 characters. The operator forces one budget",
        ),
        (
            {"shortfall_reason": "budget_exhausted", "effective_budget": 4000, "used_budget": 3900},
            "3,900 of 4,000 characters are used",
        ),
        ({"bounds": {"top_k": 100, "effective_top_k": 50}}, "100 candidates were to come; this store lets 50 come"),
        ({"bounds": {"max_evidence": 40, "omitted": ["max_evidence"]}}, "than max_evidence (40) keeps"),
        ({"bounds": {"max_hops": 2, "omitted": ["max_hops"]}}, "further than max_hops (2)"),
        ({"bounds": {"top_k": 20, "reached": ["top_k"]}}, "As many rows came as top_k allows (20)"),
        ({"bounds": {"max_evidence": 40, "reached": ["max_evidence"]}}, "more rows than were taken in"),
        ({"reconstruction": {"excluded_without_provenance": 1}}, "1 row had no ref"),
        ({"quote_selection": "lexical_only"}, "chosen by words alone"),
    ],
)  # fmt: skip
def test_each_admission_is_said_where_it_applies(members, sentence):
    said = [each.text for each in words.admissions(body(**members))]
    assert len(said) == 1
    assert sentence in said[0]


def test_an_answer_that_admits_nothing_says_nothing():
    assert (
        words.admissions(body(returned_count=3, bounds={"top_k": 20, "max_hops": 2, "max_evidence": 40}))
        == []
    )


def test_a_trace_budget_that_withheld_nothing_is_no_admission():
    assert words.admissions(body(effective_budget=4000, used_budget=10, returned_count=3)) == []


def shown(ref, message_id="", source_id="u1"):
    return Shown(ref, "text", 4, "", "", "desk", message_id, {"type": "User", "id": source_id, "name": ""})


CORRECTED = [{"ref": "mem:1", "role": "corrects"}]
ROWS = {ref: shown(ref, "m1") for ref in ("mem:1", "mem:2")} | {"mem:3": shown("mem:3", "m3", "u2")}


@pytest.mark.parametrize(
    ("why", "more", "sentence"),
    [
        ("seed", {}, "Found by the search on its own."),
        ("cluster:msg_id", {}, "The same message as mem:2."),
        ("cluster:adjacent", {}, "From the same source within 60 s of mem:2."),
        ("cluster:episode", {"roles": [{"ref": "ep:3", "role": "supports"}]}, "Inside the episode ep:3."),
        ("cluster:episode", {}, "Inside the episode that covers its time."),
        ("relation:qualifies", {"roles": [{"ref": "mem:3", "role": "qualifies"}]},
         "Declared: mem:3 qualifies this."),
        (
            "relation:kept by",
            {"roles": [{"ref": "mem:3", "role": "kept by"}]},
            "Declared: mem:3 kept by this.",
        ),
        ("relation:corrects", {}, "Declared: this corrects mem:3."),
        ("relation:kept by", {}, "Joined by a declared relation to another row of this item: kept by."),
        ("relation:kept by", {"hops": 2}, "Walked to: 2 hops from what this item mentions, by kept by."),
    ],
)  # fmt: skip
def test_why_a_row_is_there_is_a_sentence(why, more, sentence):
    claim = {"ref": "mem:1", "why": why, **more}
    claims = [claim, {"ref": "mem:2", "why": why}, {"ref": "mem:3", "why": "seed", "roles": CORRECTED}]
    assert flat(words.why(claim, claims, ROWS, 60)) == sentence


def test_a_forgotten_row_leaves_the_key_said_without_it():
    claims = [{"ref": "mem:1", "why": "cluster:msg_id"}, {"ref": "mem:9", "why": "cluster:msg_id"}]
    assert flat(words.why(claims[0], claims, {}, 60)) == "The same message as another candidate."


def test_a_predicate_is_somebody_elses_words_and_marked_as_such():
    said = words.why({"ref": "mem:1", "why": "relation:<b>"}, [], {}, 60)
    assert Named("<b>") in said
    assert flat(words.role({"ref": "ep:3", "role": "supports"})).startswith("ep:3 supports this: it covers")
    assert flat(words.role({"ref": "mem:3", "role": "supports"})) == "mem:3 supports this"
    assert AtRef("mem:3") in words.role({"ref": "mem:3", "role": "corrects"})


def test_a_role_that_the_reason_told_is_not_told_twice():
    roles = [{"ref": "mem:3", "role": "corrects"}, {"ref": "mem:4", "role": "qualifies"}]
    assert words.further_roles({"why": "relation:corrects", "roles": roles}) == roles[1:]
    assert words.further_roles({"why": "relation:corrects", "hops": 1, "roles": roles}) == roles
    assert words.further_roles({"why": "seed"}) == []


def test_the_head_says_why_it_leads():
    claims = [{"ref": "mem:1", "rank": 4}, {"ref": "mem:2", "rank": 2}, {"ref": "mem:3", "rank": None}]
    assert flat(words.lead("mem:2", claims)) == "It leads: the search ranked it 3rd, best of these"
    assert "newest version of mem:2" in flat(words.lead("mem:1", claims))
    assert flat(words.lead("mem:1", claims[:1])) == "The search ranked it 5th"


SETTINGS = {
    "default_count": 1, "max_count": 10, "forced_count": None, "default_budget": 4000, "max_budget": 20000,
    "forced_budget": None, "top_k": 20, "library_max": 10000, "max_hops": 2, "max_evidence": 40,
    "adjacency_seconds": 60, "preview_chars": 500,
}  # fmt: skip


def whose(request=None, told=None, store=None, call=None, **settings):
    policy = {
        "settings": SETTINGS | settings | (store or {}) | (call or {}),
        "store": store or {},
        "call": call or {},
    }
    return {each.name: each for each in parameters(policy, request or {}, told)}


def test_each_bound_says_whose_it_is():
    assert whose()["count"].whose == "the installation"
    assert whose(store={"default_count": 2})["count"].whose == "this store"
    assert whose(call={"default_count": 2})["count"].whose == "this call's operator"
    assert whose(request={"count": 2})["count"].whose == "this question"
    forced = whose(request={"count": 2}, store={"forced_count": 5})["count"]
    assert (forced.whose, forced.value, forced.asked) == ("forced by this store", 5, 2)


@pytest.mark.parametrize(
    ("settings", "note"),
    [
        ({}, "at most 100"),
        ({"library_max": 50}, "at most 50"),
        ({"top_k": 300}, "a question may name 100 at most"),
    ],
)
def test_candidates_are_bounded_by_what_a_call_takes_and_the_store_allows(settings, note):
    assert whose(**settings)["top_k"].note == note


def test_rows_that_came_are_those_that_were_let_come():
    bounds = {"top_k": 100, "effective_top_k": 50, "reached": ["top_k"]}
    assert "as top_k allows (50)" in words.admissions(body(bounds=bounds))[1].text


def test_what_was_applied_beside_what_was_asked():
    told = {"count": {"effective": 10}, "budget": {"effective": 500}, "effective_top_k": 20, "max_hops": 5,
            "max_evidence": 40}  # fmt: skip
    found = whose(request={"count": 99, "max_hops": 50, "budget": 1}, told=told)
    assert (found["count"].value, found["count"].note) == (10, "lowered from 99")
    assert (found["max_hops"].value, found["max_hops"].note) == (5, "lowered from 50")
    assert (found["budget"].value, found["budget"].note) == (500, "raised from 1")
