"""Everything by keyboard alone."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.sights import QUESTION


def focused(page: Page) -> str:
    """What has the focus: its label or its words."""
    return page.evaluate(
        "() => { const e = document.activeElement;"
        " return (e.labels && e.labels.length ? e.labels[0].innerText : e.innerText || e.value || e.tagName).replace(/\\s+/g, ' ').trim(); }"
    )


def test_the_first_stop_leads_past_the_menus(open_tab, console):
    page = open_tab()
    page.goto(console.at("records"))
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    page.keyboard.press("Tab")
    assert focused(page) == "Summaries"


def test_the_stops_come_in_the_order_of_reading_and_are_seen(open_tab, console):
    page = open_tab()
    page.goto(console.at("summaries"))
    stops = []
    while "Find" not in stops:
        page.keyboard.press("Tab")
        stops.append(focused(page))
        outline = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", f"nothing shows that {stops[-1]!r} has the focus"
        assert len(stops) < 30
    assert stops == [
        "Skip to content", "memoryconsole", "Store: Harbour team", "Sign out",
        "Overview", "Ask", "Traces", "Records", "Jobs", "Settings",
        "Records", "Session", "Without summaries of summaries", "Find",
    ]  # fmt: skip


def test_a_question_from_the_key_to_the_answer_without_a_mouse(open_tab, console):
    page = open_tab()
    page.goto(console.at("ask?query=bell"))
    page.keyboard.press("/")
    expect(page.get_by_label("Question")).to_be_focused()
    # What was asked before is selected: typing replaces it.
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    expect(page.get_by_role("article").first).to_contain_text("Forget the kettles")
    page.get_by_role("link", name="How it came about").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/traces/"))
    page.keyboard.press("/")
    page.keyboard.type("mem:200")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="not in the answer")).to_be_visible()


@pytest.mark.parametrize("place", ["records", "summaries", "traces"])
def test_the_key_finds_the_search_of_each_list_and_stays_text_inside_it(place, open_tab, console):
    page = open_tab()
    page.goto(console.at(place))
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.matches('[data-search]')")
    page.keyboard.type("a/b")
    assert page.evaluate("document.activeElement.value") == "a/b"
