"""What every page keeps to: nothing inline, nothing foreign, forms that name their fields."""

import json
import re
from html import unescape
from html.parser import HTMLParser

import pytest
from django.utils import timezone

from memoryconsole import jobs
from memoryconsole.services import ingest

PAGES = [
    "", "records", "records?since=yesterday", "records/mem:1", "records/mem:1/delete", "records/mem:99", "summaries",
    "summaries/ep:1", "summaries/ep:1/delete", "jobs", "jobs/{job}", "settings",
]  # fmt: skip


class Page(HTMLParser):
    """The start tags of a page, in order."""

    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def all(self, *names):
        return [attributes for tag, attributes in self.tags if tag in names]


@pytest.fixture
def pages(console, at, say, store, ada):
    say(
        {"content": "the winch froze", "message_id": "m", "session_id": "s"},
        {"content": "again", "message_id": "m"},
    )
    ingest.store_summary(store, ingest.NewSummary(summary="a cold week"), by=ada, now=timezone.now())
    job = jobs.start(store, "export", {}, by=ada, now=timezone.now())
    found = {page: console.get(at(page.format(job=job.uuid))) for page in PAGES}
    found |= {"/": console.get("/"), "/nowhere": console.get("/nowhere")}
    return {page: Page(answer.content.decode()) for page, answer in found.items()}


def test_no_page_runs_or_loads_what_the_policy_forbids(pages):
    for name, page in pages.items():
        for tag, attributes in page.tags:
            assert tag != "style", name
            assert tag != "script" or attributes.get("src", "").startswith("/static/"), name
            assert not [a for a in attributes if a == "style" or a.startswith(("on", "hx-on"))], (name, tag)
            for link in ("src", "href", "action", "hx-get"):
                assert re.match(r"[/?#]|$", attributes.get(link) or ""), (name, tag, attributes)


def test_every_page_can_be_walked_by_ear_and_by_keyboard(pages):
    for name, page in pages.items():
        assert len(page.all("h1")) == 1, name
        assert page.all("html")[0]["lang"] == "en"
        assert any(a.get("href") == "#main" for a in page.all("a")), name
        ids = [a["id"] for _, a in page.tags if "id" in a]
        assert len(ids) == len(set(ids)), name
        labelled = {a.get("for") for a in page.all("label")}
        fields = page.all("input", "select", "textarea")
        for field in fields:
            if field.get("type") not in ("hidden", "checkbox", "radio"):
                assert field["id"] in labelled, (name, field)
        for _, attributes in page.tags:
            for pointer in ("aria-labelledby", "aria-describedby", "for"):
                assert set((attributes.get(pointer) or "").split()) <= set(ids), (name, attributes)


def test_every_form_that_writes_carries_its_token(pages):
    for name, page in pages.items():
        posts = [a for a in page.all("form") if a.get("method") == "post"]
        tokens = [a for a in page.all("input") if a.get("name") == "csrfmiddlewaretoken"]
        assert len(posts) == len(tokens), name


def test_errors_are_swapped_and_nothing_is_evaluated_or_kept(console, at):
    text = console.get(at()).content.decode()
    settings = json.loads(unescape(re.search(r"name=\"htmx-config\" content='([^']+)'", text)[1]))
    handling = {rule["code"]: rule["swap"] for rule in settings["responseHandling"]}
    assert handling == {"204": False, "[23]..": True, "[45]..": True}
    assert (settings["allowEval"], settings["allowScriptTags"], settings["historyCacheSize"]) == (
        False,
        False,
        0,
    )
    assert settings["selfRequestsOnly"] is True
    assert settings["includeIndicatorStyles"] is False
