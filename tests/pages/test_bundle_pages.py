"""Traces of the assured operations in the browser: told in order, and nothing forgotten is told again."""

import pytest

from tests.api.harbour import Harbour
from tests.conftest import url
from tests.pages.test_ask import words

FUNNEL = "the ferry has a walrus-coloured funnel"


@pytest.fixture
def harbour(api, store):
    return Harbour(api, store)


@pytest.fixture
def story(console, at):
    def story(trace, tail="", **members):
        answer = console.get(at(f"traces/{trace}{tail}"), members)
        assert answer.status_code == 200, answer.content
        return words(answer.content.decode())

    return story


def test_a_bundle_is_told_half_by_half(harbour, story):
    ferry, line = harbour.entity("Aurora Tern"), harbour.entity("Skerry Line")
    one = harbour.observe(ferry, FUNNEL)
    two = harbour.observe(ferry, "the ferry is white all over")
    harbour.contradict(("observation", one), ("observation", two))
    harbour.claim(FUNNEL + "!", ferry)
    harbour.relate(ferry, "part_of", line, window={"from": "2020-01-01T00:00:00Z", "precision": "open"})
    page = story(harbour.trace("combined_context", query="ferry", entity_ids=[ferry]))
    for text in (
        "What sources say", "What is held", FUNNEL, "Aurora Tern part of Skerry Line", "cannot be true together",
        "supports", "stands for", "lexical 1st", f"observation:{one}", "1 hop away",
    ):  # fmt: skip
        assert text in page, text


@pytest.mark.parametrize(
    ("operation", "body", "told"),
    [
        ("resolve_entity", {"name": "aurora tern"}, "Who may be meant"),
        ("facts_context", {"query": "ferry", "k": 1}, "more qualified"),
        ("claims_and_sources_context", {"query": "zeppelin"}, "known_empty"),
        ("facts_context", {"query": "ferry", "time": {"mode": "overlap", "from": "2020-01-01T00:00:00Z",
                                                      "to": "2021-01-01T00:00:00Z"}}, "1 Jan 2020"),
    ],
)  # fmt: skip
def test_each_operation_has_its_story_and_its_question(operation, body, told, harbour, story):
    ferry = harbour.entity("Aurora Tern")
    for n in range(2):
        harbour.observe(ferry, f"the ferry carries {n}")
    page = story(harbour.trace(operation, **body))
    assert told in page
    assert (body.get("query") or body["name"]) in page


def test_the_other_sides_of_a_fact_have_their_story(harbour, story):
    ferry = harbour.entity("Aurora Tern")
    sides = [("observation", harbour.observe(ferry, f"the ferry carries {n}")) for n in range(3)]
    group = harbour.contradict(*sides)["id"]
    page = story(harbour.trace("contradiction_members", group_id=group))
    for text in ("What is held", "the ferry carries 2", "cannot be true together", group):
        assert text in page, text


def test_what_is_forgotten_is_told_of_by_its_ref_alone(api, harbour, say, store, story):
    ferry = harbour.entity("Aurora Tern")
    (ref,) = say(FUNNEL)
    (chunk,) = harbour.said("funnel")["chunks"]
    claim = harbour.claim(FUNNEL, ferry, chunk=chunk["chunk_id"])
    fact = harbour.observe(ferry, FUNNEL, claim)
    trace = harbour.trace("combined_context", query="funnel")
    assert story(trace).count(FUNNEL) == 3
    assert api.delete(url(store, f"/records/{ref}")).status_code in (202, 204)
    page = story(trace)
    assert FUNNEL not in page
    assert page.count("forgotten: it was deleted since") == 3
    for gone in (f"claim:{claim}", f"observation:{fact}", ref):
        assert gone in page
    assert "forgotten" in story(trace, ref=f"claim:{claim}")


def test_the_page_asks_why_and_finds_traces_by_any_ref(at, console, harbour, story):
    ferry = harbour.entity("Aurora Tern")
    fact = harbour.observe(ferry, FUNNEL)
    trace = harbour.trace("facts_context", query="ferry")
    asked = story(trace, ref=f"observation:{fact}")
    assert "in the answer" in asked
    assert FUNNEL in asked
    assert "Not a ref" in story(trace, ref="claim:12")
    listed = console.get(at("traces"), {"ref": f"observation:{fact}"}).content.decode()
    assert trace in listed


def test_two_answers_side_by_side_name_what_came_and_went(at, console, harbour):
    ferry = harbour.entity("Aurora Tern")
    harbour.observe(ferry, "the ferry carries 1")
    trace = harbour.trace("facts_context", query="ferry")
    harbour.observe(ferry, FUNNEL)
    answer = console.post(at(f"traces/{trace}/rerun"))
    assert answer.status_code == 200, answer.content
    page = words(answer.content.decode())
    assert "1 came, 0 went" in page
    assert FUNNEL in page


def test_the_call_is_written_as_it_was_sent_and_nothing_leads_astray(at, console, harbour, say, story):
    say("the ferry is late")
    ferry = harbour.entity("Aurora Tern")
    trace = harbour.trace("facts_context", query="ferry", entity_ids=[ferry], k=3, time={"mode": "history"})
    page = story(trace)
    for text in (f'["{ferry}"]', '{"mode": "history"}'):
        assert text in page
    # No page asks this operation, and no setting changes it.
    for text in ("Ask it again", "With other settings"):
        assert text not in console.get(at(f"traces/{trace}")).content.decode()
    for operation in ("facts_context", "claims_and_sources_context"):
        assert "Which of these is meant?" in story(harbour.trace(operation, query="ferry"), ref="late")
    assert "relation:" in story(trace, ref="of no record")
    named = harbour.trace("resolve_entity", name="Aurora Tern")
    assert "Which of these is meant?" not in story(named, ref="late")
