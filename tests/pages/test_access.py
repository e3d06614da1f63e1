"""Who sees which page: what one may not see is like what does not exist, what one may not do is refused."""

import re

import pytest

from memoryconsole.models import Role, Store, Summary
from memoryconsole.services import ingest
from tests.conftest import make_store

READS = [
    "", "records", "records/mem:1", "summaries", "summaries/ep:1", "jobs", "settings",
    "ask", "ask?query=winch", "ask/candidates?query=winch", "read/mem:1", "traces",
]  # fmt: skip
OPERATES = ["records/mem:1/delete", "summaries/ep:1/delete"]


@pytest.fixture(autouse=True)
def _something(store, say, ada):
    from django.utils import timezone

    say({"content": "the winch froze"})
    ingest.store_summary(store, ingest.NewSummary(summary="a cold week"), by=ada, now=timezone.now())
    assert Summary.objects.filter(store=store, number=1).exists()


def anonymous(page):
    """A page without what differs from request to request."""
    text = re.sub(rb'name="csrfmiddlewaretoken" value="[^"]+"', b"", page.content)
    return re.sub(rb"[0-9a-f]{32}", b"", text)


@pytest.mark.parametrize("page", [*READS, *OPERATES])
def test_nobody_signed_in_is_sent_to_sign_in_and_back(client, at, page):
    answer = client.get(at(page))
    assert answer.status_code == 302
    assert answer["Location"].startswith("/sign-in?next=/stores/")


def test_a_part_of_a_page_asked_for_without_a_session_sends_the_whole_browser(client, at):
    answer = client.get(
        at("jobs"),
        headers={"HX-Request": "true", "HX-Current-URL": f"http://testserver{at('records')}?text=x"},
    )
    assert answer["HX-Redirect"] == f"/sign-in?next={at('records')}%3Ftext%3Dx"
    foreign = client.get(
        at("jobs"), headers={"HX-Request": "true", "HX-Current-URL": "https://elsewhere.example/a"}
    )
    assert foreign["HX-Redirect"] == f"/sign-in?next={at('jobs')}"


@pytest.mark.parametrize("page", [*READS, *OPERATES, "jobs/7b0c2f0e-3c55-4a6e-9a51-0d3c0e8d7f11"])
def test_a_foreign_store_is_like_none_at_all(cleo, sign_in, at, page, store):
    browser = sign_in(cleo)
    foreign = browser.get(at(page))
    unknown = browser.get(f"/stores/{store.public_id[:-8]}22222222/{page}")
    assert (foreign.status_code, unknown.status_code) == (404, 404)
    told = anonymous(foreign).replace(store.public_id.encode(), b""), anonymous(unknown)
    assert told[0] == told[1].replace(f"{store.public_id[:-8]}22222222".encode(), b"")
    assert store.name.encode() not in foreign.content


@pytest.mark.parametrize("page", READS)
@pytest.mark.parametrize("role", list(Role))
def test_every_member_reads(ben, join, sign_in, at, page, role):
    assert sign_in(join(ben, role)).get(at(page)).status_code == 200


@pytest.mark.parametrize("page", OPERATES)
def test_a_viewer_is_refused_what_needs_operate(ben, join, sign_in, at, page):
    browser = sign_in(join(ben, Role.VIEWER))
    for answer in (browser.get(at(page)), browser.post(at(page))):
        assert answer.status_code == 403
        assert "not_permitted" in answer.content.decode()


@pytest.mark.parametrize("page", ["settings", "jobs"])
def test_a_viewer_cannot_write_on_a_page_he_may_read(ben, join, sign_in, at, page):
    assert sign_in(join(ben, Role.VIEWER)).post(at(page), {}).status_code in (403, 405)


def test_a_viewer_is_not_offered_what_he_may_not_do(ben, join, sign_in, console, at):
    browser = sign_in(join(ben, Role.VIEWER))
    for page, offer in (("records/mem:1", "/delete"), ("settings", "<form method"), ("settings", "Members")):
        assert offer in console.get(at(page)).content.decode()
        assert offer not in browser.get(at(page)).content.decode()


@pytest.mark.parametrize("page", OPERATES)
def test_writing_needs_the_csrf_token(ada, sign_in, at, page):
    assert sign_in(ada, enforce_csrf_checks=True).post(at(page)).status_code == 403


def test_a_page_says_which_methods_it_takes(console, at):
    answer = console.post(at("records"))
    assert (answer.status_code, answer["Allow"]) == (405, "GET")


@pytest.mark.parametrize("page", READS)
def test_pages_are_kept_in_no_cache(console, at, page):
    assert "no-store" in console.get(at(page))["Cache-Control"]


def test_the_switcher_lists_my_stores_and_only_mine(ada, cleo, console, at):
    mine, hers = make_store(ada, "pantry"), make_store(cleo, "cellar")
    page = console.get(at()).content.decode()
    assert f"/stores/{mine.public_id}/" in page
    assert hers.public_id not in page


def test_a_store_can_be_made_by_who_may_and_by_nobody_else(ada, ben, sign_in):
    made = sign_in(ada).post("/", {"name": "attic", "language": "german"}, follow=True)
    assert made.status_code == 200
    assert Store.objects.get(created_by=ada, name="attic").language == "german"
    assert sign_in(ben).post("/", {"name": "attic", "language": "german"}).status_code == 403
    assert not Store.objects.filter(created_by=ben).exists()
    blank = sign_in(ada).post("/", {"name": "  ", "language": "german"})
    assert blank.status_code == 400
    assert 'role="alert"' in blank.content.decode()
