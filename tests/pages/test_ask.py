"""The Ask page: the API's own answer, said in words; it asks only when its address holds a question."""

import html
import json
import re
from itertools import pairwise
from unittest import mock

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memoryconsole import embedding
from memoryconsole.models import Record, Role, StoreSettings, Trace
from memoryconsole.models.stores import Audit

NASTY = "<script>alert(1)</script> {{7*7}} {% now 'Y' %} walrus \u202egnp =cmd|'/c calc'!A1"


@pytest.fixture
def ask(console, at):
    """Open the page with a question; the answer as text, unescaped."""

    def ask(query, *, tail="ask", browser=None, **members):
        answer = (browser or console).get(at(tail), {"query": query, **members})
        return answer, answer.content.decode()

    return ask


def words(page):
    """What a reader sees of a page, in one line."""
    main = re.sub(r"(?s)^.*<main[^>]*>|</main>.*$", "", page)
    return " ".join(html.unescape(re.sub(r"(?s)<[^>]+>", " ", main)).split())


def traces(store):
    return Trace.objects.filter(store=store)


def test_an_open_page_asks_nothing(console, at, store):
    answer = console.get(at("ask"))
    assert answer.status_code == 200
    assert console.head(at("ask") + "?query=walrus").status_code == 200
    assert not traces(store).exists()


def test_a_question_is_the_call_the_api_serves(api, ask, say, store):
    say("the walrus sleeps at the pier", "a walrus", "a gull")
    answer, page = ask("walrus pier", count="2", max_hops="1")
    trace = traces(store).get()
    # Numbers arrive as numbers, and what was not filled in was not sent.
    assert trace.request == {"query": "walrus pier", "count": 2, "max_hops": 1}
    assert trace.labels == ["console"]
    assert trace.token is None
    shown = json.loads(html.unescape(re.search(r"(?s)<pre dir=\"ltr\"[^>]*>(\{.*?)</pre>", page)[1]))
    served = api.post(f"/api/v1/stores/{store.public_id}/reconstruct", trace.request, format="json")
    assert shown == served.json()
    assert answer.status_code == 200


def test_each_opening_is_a_call_of_its_own_and_says_so(ask, say, store):
    say("a walrus")
    ask("walrus")
    _, page = ask("walrus")
    assert traces(store).count() == 2
    assert "Opening or reloading this page asks again" in words(page)


def test_a_form_is_asked_at_the_address_that_names_what_was_filled_in(console, at, say, store):
    say("a walrus")
    answer = console.get(at("ask"), {"query": "a & b", "count": "", "channel": "desk", "budget": ""})
    assert (answer.status_code, answer["Location"]) == (302, at("ask") + "?query=a+%26+b&channel=desk")
    assert not traces(store).exists()
    console.get(answer["Location"])
    assert traces(store).get().request == {"query": "a & b", "channel": "desk"}


def test_an_empty_question_brings_what_was_stored_last(ask, say, store):
    refs = say("one", "two")
    _, page = ask("", count="2")
    assert traces(store).get().request == {"query": "", "count": 2}
    assert all(ref in page for ref in refs)


def test_an_item_says_what_it_is_and_why(ask, say):
    say({"content": "the walrus sleeps", "message_id": "m1", "timestamp": "2026-01-01T10:00:00+01:00",
         "source": {"type": "User", "id": "u1", "name": "Otto"}, "channel": "pier"})  # fmt: skip
    say({"content": "the walrus woke", "message_id": "m1", "timestamp": "2026-01-02T10:00:00+01:00"})
    _, page = ask("walrus sleeps")
    said = words(page)
    assert "The same message as mem:1 ." in said
    assert "mem:2 supersedes this: it is a later version" in said
    assert "It leads as the newest version of mem:1 , which the search ranked best of these." in said
    assert "1st of 2 candidates; holds sleeps , walrus" in said
    assert "Otto" in said
    # The stamp as it was stored, on hover.
    assert 'title="stored as 2026-01-01T10:00:00+01:00"' in page
    assert "the <mark>walrus</mark> <mark>sleeps</mark>" in page


@pytest.mark.parametrize(
    ("query", "members", "sentence"),
    [
        ("walrus", {"count": "0"}, "No item was asked for"),
        ("zzyzx", {}, "Nothing stored here is evidence for this question"),
        ("walrus", {"count": "9"}, "What the search brought makes fewer items than were asked for"),
        ("walrus", {"count": "3", "budget": "500"}, "The budget ended the answer"),
        ("an absent word beside pier", {"count": "5"}, "No row passed the gate"),
    ],
)
def test_why_an_answer_is_short_is_said(ask, say, query, members, sentence):
    say("walrus " + "x" * 400, "walrus " + "y" * 400, "walrus z", "the pier of a far away town in the rain")
    with mock.patch.object(embedding, "embed_query", return_value=None):
        answer, page = ask(query, **members)
    assert answer.status_code == 200
    assert sentence in words(page)


def test_what_was_clamped_and_withheld_is_said_with_its_numbers(ask, say):
    say(
        {"content": "walrus one", "message_id": "m"},
        {"content": "walrus two " + "y" * 600, "message_id": "m"},
    )
    said = words(ask("walrus", count="99", budget="1", max_hops="50")[1])
    assert "You asked for 99 items. This store answers 10 items at most." in said
    assert "You asked for 1 character. It was raised to the length of one quote." in said
    assert "You asked for 50 hops; 5 is as far as a walk goes." in said
    assert "of 500 characters are used" in said
    assert "Its quote is withheld" in said


def test_a_forced_setting_is_named_with_its_owner(ask, say, store):
    say("walrus one", "walrus two")
    StoreSettings.objects.create(store=store, version=2, forced_count=1, changed_at=timezone.now())
    said = words(ask("walrus", count="2")[1])
    assert "You asked for 2 items. The operator forces 1 item on every question." in said
    assert "1 applied: forced by this store" in said


@pytest.mark.parametrize("tail", ["ask", "ask/candidates"])
def test_a_degraded_search_is_told_before_everything_else(ask, say, tail):
    say("a walrus")
    fault = embedding.EmbeddingFailed("the model is away <b>")
    with mock.patch.object(embedding, "embed_query", side_effect=fault):
        _, nothing = ask("zzyzx", tail=tail)
        _, found = ask("walrus", tail=tail)
    for page in (nothing, found):
        said = words(page)
        assert "degraded The embedding model did not answer (the model is away <b>)" in said
        assert page.index("degraded") < page.index(
            'role="status">N' if page is nothing else '<h2 role="status">'
        )
    # Nothing found by half a search is no plain no.
    assert "Nothing found, by a search that is degraded" in words(nothing)
    assert "may still be there" in words(nothing)
    healthy = words(ask("zzyzx", tail=tail)[1])
    assert "degraded" not in healthy
    assert "Nothing stored here is evidence" in healthy


def test_what_is_refused_is_said_beside_its_field_and_leaves_a_trace(ask, store):
    answer, page = ask("x", count="two", deep="maybe")
    assert answer.status_code == 400
    trace = traces(store).get()
    assert trace.request == {"query": "x", "count": "two", "deep": "maybe"}
    assert f"/traces/{trace.pk}" in page
    assert 'id="f-count-fault"' in page
    assert "Nothing found" not in page


def test_a_member_nobody_knows_and_one_given_twice_are_refused(console, at):
    assert console.get(at("ask") + "?query=x&cuont=1").status_code == 400
    assert console.get(at("ask") + "?query=x&query=y").status_code == 400
    assert console.get(at("ask") + "?query=%00").status_code == 400


def test_an_answer_that_may_not_go_without_a_trace_is_an_error_drawn_as_one(ask, say, store):
    from django.db import DatabaseError

    say("a walrus")
    with mock.patch.object(Trace, "insert", side_effect=DatabaseError("full")):
        answer, page = ask("walrus")
    assert answer.status_code == 503
    assert "audit_unavailable" in page
    assert "Nothing found" not in page
    store.audit = Audit.OFF
    store.save()
    answer, page = ask("walrus")
    assert answer.status_code == 200
    assert "left no trace" in words(page)


def test_nothing_stored_or_asked_is_ever_markup(ask, say, store):
    say({"content": NASTY, "channel": "<b>c</b>", "message_id": "<i>m</i>",
         "source": {"type": "Agent", "id": "<u>", "name": "<img src=x onerror=alert(1)>"}})  # fmt: skip
    for tail in ("ask", "ask/candidates"):
        _, page = ask(NASTY, tail=tail)
        for inert in ("<script>alert", "<img src=x", "<b>c", "<i>m", "<u>"):
            assert inert not in page
        assert "{{7*7}}" in html.unescape(re.sub("</?mark>", "", page))


def test_a_word_with_a_direction_of_its_own_turns_no_sentence_around(ask, say):
    say("wal\u202erus here", "\u05d0\u05d1\u05d2 \u05d3\u05d4")
    page = ask("wal\u202erus")[1]
    # A control of directions parts words in the index, and stands in no sentence of ours.
    assert "holds <bdi>wal</bdi>, <bdi>rus</bdi>" in page or "holds <bdi>rus</bdi>, <bdi>wal</bdi>" in page
    page = ask("\u05d0\u05d1\u05d2 \u05d3\u05d4")[1]
    assert page.count("<bdi>\u05d3\u05d4</bdi>") == 1


def test_a_card_survives_a_row_that_is_deleted_between(console, ask, say, store, monkeypatch):
    from reconstruct import cards

    say("a walrus")
    monkeypatch.setattr(cards, "read_rows", lambda *_: {})
    answer, page = ask("walrus")
    assert answer.status_code == 200
    assert "deleted since" in words(page)


def test_the_other_way_to_ask_takes_the_question_along(ask, say):
    say("walrus one", "walrus two")
    _, page = ask("walrus & pier", channel="desk")
    assert "ask/candidates?query=walrus+%26+pier&amp;channel=desk" in page
    _, page = ask("walrus", tail="ask/candidates", limit="1")
    assert words(page).count("1st of 1 candidate") == 1


def test_the_curl_is_one_argument_whatever_was_asked(ask):
    _, page = ask("it's $(rm) `x`")
    shown = html.unescape(re.search(r"(?s)(curl .*?)</pre>", page)[1])
    import shlex

    body = shlex.split(shown.replace("\\\n", ""))[-1]
    assert json.loads(body) == {"query": "it's $(rm) `x`"}


def test_a_viewer_asks_and_a_stranger_finds_nothing(ask, ben, cleo, join, say, sign_in, store):
    say("a walrus")
    answer, _ = ask("walrus", browser=sign_in(join(ben, Role.VIEWER)))
    assert answer.status_code == 200
    answer, _ = ask("walrus", browser=sign_in(cleo))
    assert answer.status_code == 404
    assert traces(store).count() == 1


def test_the_page_reads_in_statements_that_do_not_grow_with_the_answer(ask, console, say):
    say(*(f"walrus number {n}" for n in range(12)))
    ask("walrus")
    counts = []
    for count in ("1", "10"):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            ask("walrus", count=count)
        counts.append(len(queries))
    # Cards of summaries would take one more.
    assert counts[0] == counts[1] <= 24


# Reading further.


def test_a_quote_leads_on_step_by_step_to_the_whole_text(console, ask, say, run_jobs, store):
    text = "".join(f"Paragraph {n} of the walrus log. " + "The tide was high and the gulls were loud. " * 12 + "\n\n"
                   for n in range(12))  # fmt: skip
    say(text)
    run_jobs(store)
    _, page = ask("walrus")
    step = html.unescape(re.search(r'href="([^"]*/read/mem:1\?[^"]*)"', page)[1])
    seen = []
    while step and len(seen) < 30:
        page = console.get(step).content.decode()
        place = re.search(r"characters ([\d,]+) to ([\d,]+) of ([\d,]+)", words(page))
        seen.append([int(each.replace(",", "")) for each in place.groups()])
        more = re.search(r'href="([^"]*)"[^>]*>(?:One more node on each side|[\d,]+ characters more)<', page)
        step = html.unescape(more[1]) if more else None
    assert seen[-1] == [1, len(text), len(text)]
    assert len(seen) > 1
    # Every step shows more than the one before, around it.
    for before, after in pairwise(seen):
        assert after[0] <= before[0]
        assert after[1] >= before[1]
        assert after != before
    assert "<mark>walrus</mark>" in page
    assert "This is all of it." in words(page)
    # Each step is a call of get_contents, with a trace that tells its story.
    steps = list(traces(store).filter(operation="contents"))
    assert len(steps) == len(seen)
    told = words(console.get(f"/stores/{store.public_id}/traces/{steps[0].pk}").content.decode())
    assert "texts read by ref" in told


def test_a_stretch_that_is_not_there_is_said_and_a_row_that_is_not_there_is_not_found(
    console, at, say, store
):
    say("short")
    assert "not divided into nodes" in words(console.get(at("read/mem:1?first=0")).content.decode())
    assert console.get(at("read/mem:2")).status_code == 404
    assert console.get(at("read/mem:1?first=x")).status_code == 400
    Record.objects.filter(store=store).update(deleted_at=timezone.now())
    assert console.get(at("read/mem:1")).status_code == 404
