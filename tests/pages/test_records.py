"""Records and summaries: searched, browsed, read whole, deleted; and stored text that does nothing."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from django.utils import timezone
from django.utils.html import escape

from memoryconsole.models import Record, Role
from memoryconsole.services import ingest
from tests.api.harbour import Harbour
from tests.conftest import url

NASTY = [
    "<script>alert(1)</script>",
    "{{7*7}} {% now 'Y' %}",
    '"><img src=x onerror=alert(1)>',
    "javascript:alert(1)",
    "=cmd|'/c calc'!A1",
    "an \u202eoverride that never ends",
    "</div></main><style>*{display:none}</style>",
]


def text_of(answer):
    return answer.content.decode()


def refs(answer):
    """The refs of a list, in order."""
    return re.findall(r'<a class="ref" href="[^"]*/((?:mem|ep):\d+)"', text_of(answer))


def summarise(store, ada, **fields):
    return ingest.store_summary(store, ingest.NewSummary(**fields), by=ada, now=timezone.now())


@pytest.mark.parametrize("nasty", NASTY)
def test_stored_text_is_shown_and_does_nothing(console, at, say, store, ada, nasty):
    say(
        {"content": nasty, "channel": nasty, "project_id": nasty, "message_id": nasty, "session_id": nasty,
         "role": nasty, "timestamp": nasty[:64], "conversation_id": nasty, "tool_name": nasty, "tool_call_id": nasty,
         "tool_calls": [{"name": nasty}], "source": {"type": "User", "id": nasty, "name": nasty}}
    )  # fmt: skip
    summarise(store, ada, summary=nasty, expand_hint=nasty, project_id=nasty, channel=nasty, start=nasty[:64])
    for page in ("records", "records/mem:1", "records/mem:1/delete", "summaries", "summaries/ep:1"):
        answer = console.get(at(page))
        assert answer.status_code == 200
        shown = text_of(answer)
        assert "<script>alert" not in shown
        assert "<img" not in shown
        assert "<style>" not in shown
        assert not re.search(r'href="\s*javascript:', shown)
        assert not re.search(r"<title>[^<]*\u202e", shown)
        # Whatever turns the line around is closed in with its own text.
        for around in re.finditer("\u202e", shown):
            before = shown[: around.start()]
            opened = max(before.rfind("<bdi>"), before.rfind('dir="auto"'))
            assert opened > max(before.rfind("</bdi>"), before.rfind("</p>"), before.rfind("</div>"))
        assert escape(nasty) in shown


def test_a_search_is_in_the_address_and_in_the_form(console, at, say):
    say(
        {"content": "the winch froze", "channel": "desk", "timestamp": "2026-01-05T10:00:00Z"},
        {"content": "the winch runs", "channel": "bridge", "timestamp": "2026-01-06T10:00:00Z"},
        {"content": "the lamp is out", "channel": "desk", "timestamp": "2026-01-07T10:00:00Z"},
    )
    answer = console.get(
        at("records"), {"text": "winch", "channel": "desk", "since": "2026-01-05", "until": "2026-01-06"}
    )
    assert refs(answer) == ["mem:1"]
    shown = text_of(answer)
    for name, value in (("text", "winch"), ("channel", "desk"), ("since", "2026-01-05")):
        assert re.search(f'name="{name}"[^>]* value="{value}"', shown)
    assert "1 record passes the filters" in shown


def test_fields_left_empty_are_no_filters(console, at, say):
    say({"content": "the winch froze", "channel": "desk"})
    empty = {"text": "", "channel": "", "session_id": "", "since": ""}
    assert refs(console.get(at("records"), empty, follow=True)) == ["mem:1"]
    sent = empty | {"channel": "desk", "text": "winch froze"}
    short = at("records") + "?text=winch+froze&channel=desk"
    assert console.get(at("records"), sent)["Location"] == short
    part = console.get(at("records"), sent, headers={"HX-Request": "true"})
    assert (part.status_code, part["HX-Push-Url"], refs(part)) == (200, short, ["mem:1"])


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"since": "yesterday"}, "Not an ISO 8601 time."),
        ({"limit": "0"}, "?limit"),
        ({"colour": "red"}, "?colour"),
        ({"text": "a\0b"}, "NUL"),
        ({"cursor": "made-up"}, "invalid_cursor"),
    ],
)
def test_a_search_that_cannot_be_made_is_an_error_and_no_empty_list(console, at, say, query, said):
    say("the winch froze")
    answer = console.get(at("records"), query)
    assert answer.status_code == 400
    assert said in text_of(answer)
    assert "No record" not in text_of(answer)
    assert "0 records" not in text_of(answer)


def test_a_fault_stands_at_its_field(console, at):
    shown = text_of(console.get(at("records"), {"since": "yesterday", "channel": "desk"}))
    assert re.search(r'name="since"[^>]* value="yesterday"[^>]* aria-invalid="true"', shown)
    assert re.search(r'name="channel"[^>]* value="desk"', shown)


def test_pages_follow_one_another_and_keep_their_filters(console, at, say):
    say(*({"content": f"winch {n}", "channel": "desk"} for n in range(5)), "elsewhere")
    address, seen = at("records") + "?channel=desk&limit=2", []
    while address:
        answer = console.get(address)
        assert "5 records pass the filters; " in text_of(answer)
        seen += refs(answer)
        next_page = re.search(r'href="([^"]+)" rel="next"', text_of(answer))
        address = next_page[1].replace("&amp;", "&") if next_page else None
        if address:
            assert parse_qs(urlsplit(address).query)["channel"] == ["desk"]
    assert seen == ["mem:5", "mem:4", "mem:3", "mem:2", "mem:1"]


def test_an_empty_list_says_whether_the_filters_or_the_store_are_the_reason(console, at, say):
    assert "No record is stored here yet" in text_of(console.get(at("records")))
    assert "No summary is stored here yet" in text_of(console.get(at("summaries")))
    say("the winch froze")
    assert "No record passes these filters" in text_of(console.get(at("records"), {"text": "walrus"}))


def test_a_record_says_which_version_it_is(console, at, say):
    say({"content": "at nine", "message_id": "m", "timestamp": "2026-01-05T10:00:00Z"})
    say({"content": "at ten", "message_id": "m", "timestamp": "2026-01-06T10:00:00Z"})
    old, new = text_of(console.get(at("records/mem:1"))), text_of(console.get(at("records/mem:2")))
    assert "supersedes this one" in old
    assert f'href="{at("records")}/mem:2"' in old
    assert "newest version" in new
    assert "newest version" not in old
    assert "superseded" not in new


def test_versions_of_one_instant_and_undated_ones_are_not_called_newest(console, at, say):
    for n, stamp in enumerate(["2026-01-05T10:00:00Z", "2026-01-05T11:00:00+01:00", "soon"]):
        say({"content": f"edit {n}", "message_id": "m", "timestamp": stamp})
    for number in (1, 2, 3):
        assert "newest version" not in text_of(console.get(at(f"records/mem:{number}")))


def test_a_record_shows_the_whole_text_of_the_longest(console, at, say):
    text = "The fog signal was tested. " * 7000
    say(text[:190_000])
    shown = text_of(console.get(at("records/mem:1")))
    assert shown.count("The fog signal was tested.") >= 7000


def test_nodes_are_marked_without_changing_the_text(console, at, say, store, run_jobs):
    text = "The fog signal was tested at nine & again at ten. " * 120
    say(text)
    run_jobs(store)
    shown = text_of(console.get(at("records/mem:1")))
    assert shown.count('class="seam"') > 1
    quote = re.search(r'<div class="quote" dir="auto">(.*?)</div>', shown, re.S)[1]
    kept = re.sub(
        r'<span class="seam".*?</span></span>', "", re.sub(r"(</span>)(\d+)</span>", r"\1</span>", quote)
    )
    assert kept.replace("&amp;", "&") == text


def test_a_record_names_the_summaries_that_cover_it_and_back(console, at, say, store, ada):
    say({"content": "one", "session_id": "s"}, {"content": "two", "session_id": "s"})
    summarise(store, ada, summary="both", session_id="s", source_type="messages", source_ids=(1, 2))
    summarise(store, ada, summary="above", session_id="s", depth=1, source_type="nodes", source_ids=(1,))
    assert f'href="{at("summaries")}/ep:1"' in text_of(console.get(at("records/mem:1")))
    below = text_of(console.get(at("summaries/ep:1")))
    assert f'href="{at("records")}/mem:2"' in below
    assert f'href="{at("summaries")}/ep:2"' in below
    assert refs(console.get(at("summaries"), {"episodes": "true"})) == ["ep:1"]
    assert refs(console.get(at("summaries"), {"session_id": "s"})) == ["ep:2", "ep:1"]
    assert "No summary passes" in text_of(console.get(at("summaries"), {"session_id": "other"}))


def test_deleting_lists_what_goes_and_stays_first_and_then_hides_it(console, at, say, store, ada, run_jobs):
    say(
        {"content": "at nine", "message_id": "m", "session_id": "s"},
        {"content": "at ten", "message_id": "m", "session_id": "s"},
    )
    summarise(store, ada, summary="both", session_id="s", source_type="messages", source_ids=(1, 2))
    before = text_of(console.get(at("records/mem:1/delete")))
    assert "1 summary that covers it" in before
    assert "1 other version of the same message" in before
    assert Record.objects.live().filter(store=store, number=1).exists()
    done = console.post(at("records/mem:1/delete"), follow=True)
    assert "mem:1 is deleted" in text_of(done)
    assert console.get(at("records/mem:1")).status_code == 404
    assert console.post(at("records/mem:1/delete")).status_code == 404
    assert refs(console.get(at("records"))) == ["mem:2"]
    summary = text_of(console.get(at("summaries/ep:1")))
    assert "sources gone" in summary
    assert "not here" in summary
    run_jobs(store)
    assert "at nine" not in text_of(console.get(at("records")))


def test_deleting_lists_the_claims_and_the_facts_that_go(console, at, say, store, api):
    say("The Tern is late.", "The Tern is full.")
    here = Harbour(api, store)
    tern = here.entity("Aurora Tern")
    late, full = (
        here.claim(f"{word}.", tern, chunk=ref, quote=word)
        for word, ref in (("late", "mem:1"), ("full", "mem:2"))
    )
    here.observe(tern, "is late", late)
    here.observe(tern, "is full", full, against=[late])
    here.observe(tern, "sails", late, full)
    before = text_of(console.get(at("records/mem:1/delete")))
    assert "1 claim taken from it" in before
    assert "1 fact that nothing else supports" in before
    console.post(at("records/mem:1/delete"))
    assert {fact["statement"] for fact in api.get(url(store, "/facts")).json()["results"]} == {
        "is full",
        "sails",
    }


def test_deleting_a_summary_keeps_what_it_stands_for(console, at, say, store, ada):
    say({"content": "one", "session_id": "s"})
    summarise(store, ada, summary="both", session_id="s", source_type="messages", source_ids=(1,))
    assert "1 source that it stands for" in text_of(console.get(at("summaries/ep:1/delete")))
    console.post(at("summaries/ep:1/delete"))
    assert console.get(at("summaries/ep:1")).status_code == 404
    assert console.get(at("records/mem:1")).status_code == 200


def test_a_record_lists_the_answers_that_quoted_it_to_those_who_may_see_them(
    console, at, say, api, store, ben, join, sign_in
):
    say("the winch froze on the aft deck")
    asked = {"query": "winch on the aft deck"}
    assert api.post(f"/api/v1/stores/{store.public_id}/reconstruct", asked, format="json").status_code == 200
    assert "winch on the aft deck" in text_of(console.get(at("records/mem:1"))).split('id="quoted"')[1]
    viewer = text_of(sign_in(join(ben, Role.VIEWER)).get(at("records/mem:1")))
    assert "No answer to you has quoted it" in viewer


def test_an_error_takes_the_place_of_the_page_whatever_part_was_asked_for(console, at):
    answer = console.get(at("records/mem:7"), headers={"HX-Request": "true"})
    assert (answer.status_code, answer["HX-Retarget"], answer["HX-Reselect"]) == (404, "#main", "#main")
    assert 'id="main"' in text_of(answer)


@pytest.mark.parametrize("page", ["records", "", "jobs", "records/mem:1"])
def test_a_database_that_fails_is_an_error_with_a_way_to_retry_and_no_empty_list(
    console, at, say, monkeypatch, page
):
    from django.db import OperationalError

    from memoryconsole.pages import frame

    say("the winch froze")

    def away(*_):
        raise OperationalError("the server closed the connection")

    monkeypatch.setattr(frame, "sections", away)
    monkeypatch.setattr("memoryconsole.access.open_store", away)
    answer = console.get(at(page))
    shown = text_of(answer)
    assert answer.status_code == 503
    assert 'role="alert"' in shown
    assert answer["X-Request-Id"] in shown
    assert f'href="{at(page)}">Try again' in shown
    assert "No record" not in shown


def test_a_statement_that_is_refused_is_an_error_of_ours(console, at, monkeypatch):
    from django.db import OperationalError

    def too_slow(*_, **__):
        fault = OperationalError("canceling statement due to statement timeout")
        fault.__cause__ = type("QueryCanceled", (Exception,), {"sqlstate": "57014"})()
        raise fault

    console.raise_request_exception = False
    monkeypatch.setattr("memoryconsole.pages.records.page", too_slow)
    answer = console.get(at("records"))
    assert answer.status_code == 500
    assert "internal_error" in text_of(answer)
    assert "No record" not in text_of(answer)


def test_a_record_lists_what_was_declared_of_it(console, at, say, api, store):
    say("the winch runs", "it froze again")
    declared = {
        "entities": [{"name": "Aft <b>winch</b>"}],
        "relations": [
            {"subject": "mem:2", "predicate": "supersedes", "object": "mem:1"},
            {"subject": "mem:1", "predicate": "tells of", "object": "Aft <b>winch</b>"},
        ],
    }
    address = f"/api/v1/stores/{store.public_id}/associations"
    answer = api.post(address, {"associations": declared, "anchor_ref": "mem:1"}, format="json")
    assert answer.status_code == 200, answer.content
    shown = text_of(console.get(at("records/mem:1")))
    assert "supersedes this one: somebody declared so" in shown
    assert "Aft &lt;b&gt;winch" in shown
    assert "<b>winch" not in shown
    listed = " ".join(re.sub(r"<[^>]+>", "", shown.split("Associations</h3>")[1].split("</ul>")[0]).split())
    assert "mem:2 supersedes this one, said here" in listed
    assert "this one tells of Aft" in listed
