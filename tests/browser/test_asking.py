"""From a question to the reason why something is not in its answer."""

import re

from playwright.sync_api import Page, expect

from tests.browser.sights import QUESTION


def ask(page: Page, question: str = QUESTION) -> None:
    """Put a question on the Ask page, and see its answer."""
    page.get_by_label("Question").fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("heading", name="Behind this answer")).to_be_visible()


def test_from_the_overview_to_why_a_record_is_missing(tab, console):
    tab.goto(f"{console.url}/")
    tab.get_by_role("link", name="Harbour team").click()
    tab.get_by_role("link", name="Ask this store").click()
    ask(tab)
    expect(tab).to_have_url(re.compile(r"/ask\?.*query=How"))
    first = tab.get_by_role("article").first
    expect(first).to_contain_text("Forget the kettles, the heat tape is in")
    expect(first).to_contain_text("It leads as the newest version of mem:71")
    expect(first).to_contain_text("mem:123 supersedes this: it is a later version")
    expect(first.locator("mark").first).to_have_text("Aft")

    tab.get_by_role("link", name="How it came about").click()
    expect(tab).to_have_url(re.compile(r"/traces/[0-9a-f-]{36}$"))
    expect(tab.get_by_role("heading", name=QUESTION)).to_be_visible()
    expect(tab.get_by_role("region", name="5. What was quoted")).to_contain_text("mem:123")
    asked = tab.get_by_role("searchbox", name="Why is this row there, or why not?")
    asked.fill("mem:200")
    tab.get_by_role("button", name="Why?").click()
    verdict = tab.get_by_role("region", name="Why is this row there, or why not?").get_by_role("status")
    expect(verdict).to_contain_text("not in the answer")
    expect(verdict).to_contain_text("stayed below the gate")
    # The verdict has an address of its own, which can be passed on.
    expect(tab).to_have_url(re.compile(r"\?ref=mem%3A200|\?ref=mem:200"))
    asked.fill("mem:71")
    tab.get_by_role("button", name="Why?").click()
    expect(verdict).to_contain_text("in the answer")
    expect(verdict).not_to_contain_text("not in the answer")


def test_words_lead_to_the_record_that_is_meant(either_tab, console):
    tab = either_tab
    tab.goto(console.at(f"ask?query={QUESTION}&count=1"))
    tab.get_by_label("Is something missing?").fill("lukewarm")
    tab.get_by_role("button", name="Why not?").click()
    tab.get_by_role("link", name=re.compile("Why mem:99")).click()
    expect(tab.get_by_role("status").filter(has_text="in the answer")).to_contain_text("mem:99")


def test_a_trace_is_replayed_and_rerun(either_tab, console):
    tab = either_tab
    tab.goto(console.at(f"ask?query={QUESTION}&count=1"))
    tab.get_by_role("link", name="How it came about").click()
    tab.get_by_role("button", name="Replay").click()
    expect(tab.get_by_role("status").filter(has_text="identical")).to_contain_text(
        "the same to the last byte"
    )
    if "/replay" in tab.url:
        tab.go_back()
    tab.get_by_text("With other settings, this once").click()
    tab.get_by_label("default_count").fill("1")
    tab.get_by_label("preview_chars").fill("50")
    tab.get_by_role("button", name="Rerun and compare").click()
    expect(tab.get_by_role("heading", name="Asked again today, and compared")).to_be_visible()
    expect(tab.get_by_role("region", name="What was answered")).to_contain_text(
        "The same refs in the same order."
    )
    expect(tab.get_by_role("region", name="What was asked otherwise")).to_contain_text("preview_chars")


def test_more_budget_brings_the_withheld_quotes(tab, console):
    tab.goto(console.at(f"ask?query={QUESTION}&count=4&budget=400"))
    withheld = tab.get_by_text("withheld").first
    expect(withheld).to_be_visible()
    before = tab.get_by_role("article").count()
    tab.get_by_text("Parameters", exact=False).first.click()
    tab.get_by_label("Quoted characters").fill("9000")
    tab.get_by_role("button", name="Ask", exact=True).click()
    expect(tab.get_by_role("article").nth(before)).to_be_visible()
    expect(tab).to_have_url(re.compile("budget=9000"))
    expect(tab.get_by_role("article")).to_have_count(4)


def test_a_fault_in_a_form_is_shown_where_it_is(tab, console):
    tab.goto(console.at("ask"))
    tab.get_by_text("Parameters").first.click()
    tab.get_by_label("Question").fill("winch")
    tab.get_by_label("Items").fill("many")
    with tab.watch.expecting(400):
        tab.get_by_role("button", name="Ask", exact=True).click()
        expect(tab.get_by_role("alert")).to_contain_text("The request is not valid")
    expect(tab.get_by_label("Items")).to_have_value("many")
    expect(tab.get_by_label("Items")).to_have_attribute("aria-invalid", "true")
    tab.get_by_label("Items").fill("2")
    tab.get_by_role("button", name="Ask", exact=True).click()
    expect(tab.get_by_role("article")).to_have_count(2)


def test_reading_further_step_by_step(either_tab, console):
    tab = either_tab
    tab.goto(console.at("ask?query=the post-mortem of the card outage of 13 November&count=3"))
    reading = tab.get_by_role("link", name="Read further")
    reading.first.click()
    expect(tab.get_by_text(re.compile(r"characters \d[\d,]* to \d")).first).to_be_visible()
