"""Finding records, their versions and the answers that quoted them; deleting one."""

import re

from playwright.sync_api import expect

from tests.browser.sights import QUESTION


def test_a_record_is_found_with_its_versions_and_the_answers_that_quoted_it(tab, console):
    tab.goto(console.at(f"ask?query={QUESTION}&count=1"))
    tab.get_by_role("link", name="Records").click()
    tab.get_by_label("Holds all of these words").fill("kettles galley")
    tab.get_by_role("button", name="Find").first.click()
    found = tab.get_by_role("region", name="Records found")
    expect(found.get_by_role("status")).to_contain_text("pass")
    found.get_by_role("link", name="mem:71", exact=True).click()
    expect(
        tab.get_by_text("mem:99 supersedes this one: a later version of the same message.")
    ).to_be_visible()
    versions = tab.get_by_role("region", name="Versions of this message")
    expect(versions.get_by_role("listitem")).to_have_count(3)
    quoted = tab.get_by_role("region", name="Answers that quoted it")
    quoted.get_by_role("link", name=QUESTION).first.click()
    expect(tab).to_have_url(re.compile("/traces/"))
    expect(tab.get_by_role("region", name="In short")).to_contain_text("mem:123")


def test_a_fault_in_a_filter_is_shown_and_mended(either_tab, console):
    tab = either_tab
    tab.goto(console.at("records"))
    tab.get_by_text("By project, channel, session").click()
    tab.get_by_label("Said since").fill("yesterday")
    with tab.watch.expecting(400):
        tab.get_by_role("button", name="Find").first.click()
        expect(tab.get_by_role("alert")).to_contain_text("The request is not valid")
    expect(tab.get_by_label("Said since")).to_have_value("yesterday")
    tab.get_by_label("Said since").fill("2026-01-05")
    tab.get_by_role("button", name="Find").first.click()
    expect(tab.get_by_role("region", name="Records found").get_by_role("status")).to_contain_text("pass")


def test_a_deleted_text_is_gone_from_the_trace_that_quoted_it(tab, console):
    store = console.new_store("Forgetful", "The gull stole the spare lamp.", "The bell was polished.")
    console.wait_for_jobs(store)
    tab.goto(console.at("ask?query=who stole the spare lamp", store))
    tab.get_by_role("link", name="How it came about").click()
    trace = tab.url
    expect(tab.get_by_role("main")).to_contain_text("The gull stole the spare lamp.")
    tab.goto(console.at("records/mem:1", store))
    tab.get_by_role("link", name="Delete").click()
    expect(tab.get_by_role("heading", name="Delete mem:1?")).to_be_visible()
    tab.get_by_role("button", name="Delete mem:1").click()
    expect(tab.get_by_role("status").first).to_contain_text("mem:1")
    tab.goto(trace)
    expect(tab.get_by_role("main")).not_to_contain_text("The gull stole")
    expect(tab.get_by_role("main")).to_contain_text("forgotten: it was deleted since")
    with tab.watch.expecting(404):
        assert tab.goto(console.at("records/mem:1", store)).status == 404
