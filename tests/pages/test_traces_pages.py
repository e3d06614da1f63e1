"""Traces in the browser: who sees them, what they tell, and that nothing forgotten is told again."""

import html
import re
import uuid
from unittest import mock

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memoryconsole import embedding
from memoryconsole.models import (
    Association,
    Entity,
    Mention,
    Record,
    Role,
    StoreCounter,
    Trace,
)
from memoryconsole.pages.traces import laps
from memoryconsole.services.numbering import take_numbers
from tests.conftest import make_client, make_store
from tests.pages.test_ask import words

NASTY = "<script>alert(1)</script> walrus {{7*7}}"


@pytest.fixture
def asked(api, store):
    """Ask over the API; the trace's id."""

    def asked(query="walrus", *, client=None, route="reconstruct", headers=None, **members):
        address = f"/api/v1/stores/{store.public_id}/{route}"
        answer = (client or api).post(address, {"query": query, **members}, format="json", headers=headers)
        return answer.headers["Trace-Id"]

    return asked


@pytest.fixture
def story(console, at):
    """A trace's page as a reader sees it."""

    def story(trace, tail="", **members):
        answer = console.get(at(f"traces/{trace}{tail}"), members)
        assert answer.status_code == 200, answer.content
        return words(answer.content.decode())

    return story


# Who sees what.


def test_a_viewer_sees_their_own_and_an_operator_everybodys(
    asked, at, ben, join, say, sign_in, store, console
):
    say("a walrus")
    hers = asked()
    viewer = sign_in(join(ben, Role.VIEWER))
    his = asked(client=make_client(ben, store))
    assert [str(hers) in viewer.get(at("traces")).content.decode(), his in viewer.get(at("traces")).content.decode()] \
        == [False, True]  # fmt: skip
    assert viewer.get(at(f"traces/{hers}")).status_code == 404
    assert viewer.get(at(f"traces/{his}")).status_code == 200
    page = console.get(at("traces")).content.decode()
    assert hers in page
    assert his in page
    assert "Asked by" not in viewer.get(at("traces")).content.decode()


@pytest.mark.parametrize(
    ("method", "tail"),
    [("get", ""), ("post", "/replay"), ("post", "/rerun"), ("get", "/compare?b={other}")],
)
def test_a_foreign_trace_is_like_none_at_all(method, tail, ada, asked, cleo, say, sign_in, console, store):
    say("a walrus")
    trace = asked()
    elsewhere = make_store(ada)
    mine = make_store(cleo)
    stranger = sign_in(cleo)
    for browser, place in ((stranger, store), (stranger, mine), (console, elsewhere)):
        answers = [
            getattr(browser, method)(f"/stores/{place.public_id}/traces/{each}{tail.format(other=trace)}")
            for each in (trace, uuid.uuid4())
        ]
        assert [each.status_code for each in answers] == [404, 404]
        assert b"walrus" not in answers[0].content


def test_only_post_replays_and_reruns_and_both_need_the_csrf_token(ada, asked, at, console, say, sign_in):
    say("a walrus")
    trace = asked()
    strict = sign_in(ada, enforce_csrf_checks=True)
    for tail in ("replay", "rerun"):
        assert console.get(at(f"traces/{trace}/{tail}")).status_code == 405
        assert strict.post(at(f"traces/{trace}/{tail}")).status_code == 403


# The list.


def test_the_list_takes_the_filters_of_the_api_and_keeps_them_in_its_address(asked, at, console, say):
    (ref,) = say("a walrus")
    hit = asked("walrus", headers={"X-Agent-Run": "run-7", "X-Labels": "night"})
    miss = asked("zzyzx")
    for filters, shown in (
        ({"outcome": "answered"}, hit), ({"outcome": "empty"}, miss), ({"ref": ref}, hit), ({"agent_run": "run-7"}, hit),
        ({"label": "night"}, hit), ({"reason": "no_relevant_evidence"}, miss),
    ):  # fmt: skip
        page = console.get(at("traces"), filters).content.decode()
        other = miss if shown == hit else hit
        assert (shown in page, other in page) == (True, False), filters
        assert all(f'value="{value}"' in page or f"selected>{value}" in page for value in filters.values())
    nothing = words(console.get(at("traces"), {"agent_run": "nobody"}).content.decode())
    assert "No trace passes these filters" in nothing


def test_pages_of_traces_follow_each_other_without_loss(asked, at, console, say):
    say("a walrus")
    made = [asked() for _ in range(5)]
    found, address = [], at("traces") + "?limit=2"
    while address:
        page = console.get(address).content.decode()
        found += re.findall(r'href="[^"]*/traces/([0-9a-f-]{36})"', page)
        more = re.search(r'href="([^"]+)" rel="next"', page)
        address = html.unescape(more[1]) if more else None
    assert found == made[::-1]


@pytest.mark.parametrize("bad", ["ref=12", "since=soon", "outcome=fine", "cursor=x", "nobody=knows"])
def test_a_filter_that_is_none_is_refused_and_no_empty_list(asked, at, bad, console, say):
    answer = console.get(at(f"traces?{bad}"))
    assert answer.status_code == 400
    assert "Nobody has asked" not in answer.content.decode()


# The story.


def declare(store, refs):
    now = timezone.now()
    counter = StoreCounter.objects.get(store=store)
    first, second = take_numbers(counter, "entity", 2)
    otto, keeper = (
        Entity.objects.create(store=store, number=number, uuid=uuid.uuid4(), name=name, declared_key=name,
                              created_at=now)
        for number, name in ((first, "otto <b>"), (second, "keeper"))
    )  # fmt: skip
    records = {ref: Record.objects.get(store=store, number=int(ref[4:])) for ref in refs}
    Mention.objects.create(store=store, entity=otto, record=records[refs[0]], created_at=now)
    Mention.objects.create(store=store, entity=keeper, record=records[refs[-1]], created_at=now)
    (one,) = take_numbers(counter, "association", 1)
    Association.objects.create(store=store, number=one, subject_entity=otto, predicate="kept by",
                               object_entity=keeper, declared_at=now)  # fmt: skip
    counter.save()


def test_the_story_is_told_in_order_with_its_bounds(asked, say, store, story):
    refs = say(*(f"the walrus of bay {n}: " + "tide " * 90 for n in range(25)), "who sleeps in the hut")
    declare(store, [refs[0], refs[-1]])
    told = story(asked("the walrus of bay 0", count=3, budget=1200))
    places = [told.index(heading) for heading in (
        "In short", "1. What was asked for", "2. What the search found", "3. What belongs together",
        "4. What was reached", "5. What was quoted", "6. The answer", "Where the time went",
    )]  # fmt: skip
    assert places == sorted(places)
    assert "Items count 3 this question" in told
    assert "Candidates top_k 20 the installation" in told
    assert "The search's depth, 20: these passed the gate and were cut" in told
    assert "The count, 3: what follows was beyond it" in told
    assert re.search(r"The budget: [\d,]+ of 1,200 characters are used. What follows fell behind it", told)
    # Stems are shown as the words that were asked.
    assert "walrus in 25" in told


def test_the_walk_is_told_by_names_and_predicates(asked, say, store, story):
    refs = say("otto the walrus", "who sleeps in the hut")
    declare(store, refs)
    told = story(asked("walrus"))
    assert "1 hop otto <b> — kept by → keeper" in told
    assert "mem:2 Walked to: 1 hop from what this item mentions, by kept by ." in told
    Entity.objects.filter(store=store).delete()
    assert "1 hop (gone) — kept by → (gone)" in story(Trace.objects.get(store=store).pk)


def test_the_gate_is_drawn_between_what_passed_and_what_did_not(asked, say, story):
    say("the walrus sleeps at the pier", *(f"the pier number {n}" for n in range(30)))
    told = story(asked("walrus sleeps pier"))
    assert "The gate: a strong row covers 0.55" in told
    assert told.index("The gate: ") > told.index("mem:1 ")


def test_without_a_strong_row_the_gate_is_not_said_to_be_passed(asked, say, story):
    say("the pier of a far away town in the rain", "a gull")
    with mock.patch.object(embedding, "embed_query", return_value=None):
        told = story(asked("an absent word beside pier", count=5))
    assert "None was strong enough to pass the gate" in told
    assert "passed the gate," not in told
    assert "These rows hold words of the question" in told


def test_long_lists_are_cut_and_shown_whole_on_request(asked, say, story):
    say(*(f"walrus number {n}" for n in range(40)))
    trace = asked(top_k=40)
    short, whole = story(trace), story(trace, all="true")
    assert "20 more candidates. Show all" in short
    assert "more candidates" not in whole
    assert len(set(re.findall(r"mem:\d+", whole))) == 40


@pytest.mark.parametrize(
    ("query", "members", "sentence"),
    [
        ("", {}, "no words, so nothing was searched for"),
        ("zzyzx", {}, "Nothing stored here is evidence"),
        ("walrus", {"count": 0}, "No item was asked for"),
    ],
)
def test_every_kind_of_answer_has_a_story(asked, say, story, query, members, sentence):
    say("walrus one", "walrus two")
    assert sentence in story(asked(query, **members))


def test_a_recall_has_a_story_of_its_own(asked, say, story):
    say("walrus one", "walrus two")
    told = story(asked(route="recall"))
    assert "A recall bundles nothing and walks nowhere" in told
    assert "What belongs together" not in told


def test_a_refusal_tells_its_story_too(asked, at, console, story):
    trace = asked("walrus", count="two")
    told = story(trace)
    assert "The call was refused" in told
    assert "A valid integer is required" in told
    assert '"count": "two"' in told
    assert "Rerun and compare" not in told
    assert "Why is this row there" not in told
    # Somebody may type the address.
    assert console.get(at(f"traces/{trace}?ref=mem:1")).status_code == 200


def test_a_degraded_search_says_so_on_its_trace(asked, say, story):
    say("a walrus")
    with mock.patch.object(embedding, "embed_query", side_effect=embedding.EmbeddingFailed("away")):
        trace = asked("zzyzx")
    told = story(trace)
    assert "The embedding model did not answer" in told
    assert "What it could not reach may still be there" in told


def test_nothing_of_a_deleted_row_is_told(api, asked, at, console, say, store, story):
    refs = say(
        {"content": "the secret walrus", "source": {"type": "User", "id": "u1", "name": "Otto Geheim"}},
        "another walrus",
    )
    trace, other = asked(count=2), asked(count=1)
    api.delete(f"/api/v1/stores/{store.public_id}/records/{refs[0]}")
    pages = [
        story(trace), story(trace, all="true"), story(trace, ref=refs[0]), story(trace, "/compare", b=other),
        words(console.post(at(f"traces/{trace}/replay")).content.decode()),
        words(console.post(at(f"traces/{trace}/rerun")).content.decode()),
    ]  # fmt: skip
    for told in pages:
        assert "secret" not in told
        assert "Geheim" not in told
    assert "forgotten: it was deleted since" in pages[0]
    assert f"/records/{refs[0]}" not in console.get(at(f"traces/{trace}")).content.decode()
    assert "A row or a name this answer was made of has been deleted since" in pages[4]


def test_nothing_on_a_trace_is_ever_markup(at, console, say, store):
    say(
        {
            "content": NASTY,
            "channel": "<b>c</b>",
            "source": {"type": "Agent", "id": "<u>", "name": "<img src=x>"},
        }
    )
    console.get(at("ask"), {"query": NASTY, "channel": "<b>c</b>"})
    trace = Trace.objects.get(store=store)
    for tail in (
        "",
        "?ref=mem:1",
        "?ref=" + "walrus",
        "?ref=%3Cscript%3E",
        f"/compare?b={trace.pk}",
        "/compare?b=%3Ci%3E",
    ):
        page = console.get(at(f"traces/{trace.pk}{tail}")).content.decode()
        for inert in ("<script>alert", "<img src=x", "<b>c", "<u>", "<script>&", "<i>"):
            assert inert not in page
    page = console.get(at("traces")).content.decode()
    assert "<script>alert" not in page


# Why.


def test_why_a_row_is_in_or_out_is_a_sentence(asked, say, story):
    say("the walrus sleeps at the pier", "walrus", "a gull far away")
    trace = asked("walrus sleeps pier", count=1)
    inside, beyond, gate = (story(trace, ref=ref) for ref in ("mem:1", "mem:2", "mem:3"))
    assert "in the answer mem:1" in inside
    assert "not in the answer mem:2" in beyond
    assert "Bound beyond_count , missed by 1 item" in beyond
    assert "not in the answer mem:3" in gate
    # One scale in the sentence and beside the bound; what is missing is no share of anything.
    numbers = re.search(r"has ([\d.]+ %) .* needed ([\d.]+ %), ([\d.]+ points) more", gate)
    assert f"missed by {numbers[3]} of" in gate
    assert f"({numbers[1]}, the bound being {numbers[2]})" in gate
    assert "no_such_row" in story(trace, ref="mem:99")


def test_words_instead_of_a_ref_bring_records_to_choose_from(asked, say, story):
    say("the walrus sleeps", "the walrus eats", "a gull")
    told = story(asked(), ref="walrus eats")
    assert "Which of these is meant?" in told
    assert "Why mem:2 ?" in told
    assert "Why mem:1 ?" not in told
    assert "No record holds all of these words" in story(asked(), ref="walrus unicorn")


def test_what_looks_like_a_ref_and_is_none_is_refused(asked, say, story):
    say("a walrus")
    told = "Not a ref such as mem:12, ep:3 or claim:<uuid> (so are relation:, observation:, entity:)."
    assert told in story(asked(), ref="mem:0x1")


# Decided again, asked again, compared.


def test_a_replay_says_that_the_answer_is_the_same(asked, at, console, say):
    say("a walrus")
    answer = console.post(at(f"traces/{asked()}/replay"))
    assert answer.status_code == 200
    assert "Decided again over what this trace holds, the answer is the same" in words(
        answer.content.decode()
    )


def test_a_replay_that_differs_says_where(asked, at, console, say, monkeypatch):
    from memoryconsole.services import tracing

    say("a walrus")
    differs = {
        "same_core": False,
        "result": "differs",
        "differences": [{"path": "/<b>", "then": 1, "now": [2]}],
    }
    monkeypatch.setattr(tracing, "replay", lambda _: differs)
    page = console.post(at(f"traces/{asked()}/replay")).content.decode()
    assert "Another version of the core runs now" in words(page)
    assert "/&lt;b&gt;" in page


def test_a_rerun_tells_what_came_and_why(asked, at, console, say, store):
    say("a walrus among the gulls of the bay")
    trace = asked("walrus gulls", count=1)
    (new,) = say("walrus gulls walrus gulls")
    page = console.post(at(f"traces/{trace}/rerun")).content.decode()
    said = words(page)
    assert "1 came, 1 went" in said
    assert new in said
    rerun = Trace.objects.get(store=store, rerun_of=trace)
    assert f"/traces/{trace}/compare?b={rerun.pk}" in page
    assert rerun.labels == ["console"]
    again = words(console.get(at(f"traces/{trace}/compare?b={rerun.pk}")).content.decode())
    assert "1 came, 1 went" in again
    assert "Compare with the trace it reran" in words(console.get(at(f"traces/{rerun.pk}")).content.decode())


def test_settings_for_one_question_are_for_operators(asked, at, ben, console, join, say, sign_in, store):
    say("walrus one", "walrus two", "walrus three")
    trace = asked()
    said = words(
        console.post(at(f"traces/{trace}/rerun"), {"default_count": "3", "max_count": ""}).content.decode()
    )
    assert "2 came, 0 went" in said
    assert Trace.objects.get(store=store, rerun_of=trace).policy["call"] == {"default_count": 3}
    for bad in ({"default_count": "11"}, {"default_count": "many"}, {"nobody": "1"}):
        assert console.post(at(f"traces/{trace}/rerun"), bad).status_code == 400
    viewer = sign_in(join(ben, Role.VIEWER))
    his = asked(client=make_client(ben, store))
    assert "With other settings" not in viewer.get(at(f"traces/{his}")).content.decode()
    assert viewer.post(at(f"traces/{his}/rerun"), {"default_count": "3"}).status_code == 403
    assert viewer.post(at(f"traces/{his}/rerun")).status_code == 200


def test_a_comparison_with_what_is_no_trace_of_this_store_says_so(asked, at, console, say):
    say("a walrus")
    trace = asked()
    assert console.get(at(f"traces/{trace}/compare?b=x")).status_code == 400
    assert console.get(at(f"traces/{trace}/compare?b={uuid.uuid4()}")).status_code == 404
    other = asked("walrus", count=2)
    said = words(console.get(at(f"traces/{trace}/compare?b={other}")).content.decode())
    assert "request/count" in said


# Statements and times.


def test_a_story_reads_in_statements_that_do_not_grow(asked, at, console, say, store):
    refs = say(*(f"walrus number {n}" for n in range(30)))
    declare(store, refs)
    counts = []
    for members in ({"count": 1, "top_k": 2}, {"count": 10, "top_k": 30}):
        trace = asked(**members)
        with CaptureQueriesContext(connection) as queries:
            console.get(at(f"traces/{trace}?all=true"))
        counts.append(len(queries))
    assert counts[0] <= counts[1] <= 15


def test_stages_fill_the_whole_and_none_is_too_thin_to_see():
    found = laps([["request", 10], ["search", 985], ["core", 0], ["outline", 5]])
    assert [lap.name for lap in found] == ["request", "search", "core", "outline"]
    assert all(lap.width >= 0.5 and lap.start + lap.width <= 100.01 for lap in found)
    assert laps([]) == []
