"""Signing in, and what a page shows to those who may only look."""

import re

import pytest
from playwright.sync_api import expect


@pytest.mark.parametrize("js", [True, False])
def test_a_wrong_password_is_told_and_the_right_one_leads_on(js, open_tab, console):
    page = open_tab(None, java_script_enabled=js)
    page.goto(console.at("records"))
    expect(page).to_have_url(re.compile(r"/sign-in\?next="))
    page.get_by_label("User name").fill("demo")
    page.get_by_label("Password").fill("not this one")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("correct username and password")
    page.get_by_label("Password").fill(console.passwords["demo"])
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(console.at("records"))
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(f"{console.url}/sign-in")
    page.goto(console.at("records"))
    expect(page).to_have_url(re.compile(r"/sign-in\?next="))


def test_a_viewer_reads_and_fails_to_write(open_tab, console):
    page = open_tab("vera")
    page.goto(console.at("records/mem:71"))
    expect(page.get_by_role("heading", name="mem:71")).to_be_visible()
    expect(page.get_by_role("link", name="Delete")).to_have_count(0)
    page.goto(console.at("jobs"))
    expect(page.get_by_label("File")).to_have_count(0)
    page.goto(console.at("settings"))
    expect(page.get_by_role("button", name="Save")).to_have_count(0)
    # What no page offers is refused all the same, to a person with a valid session and token.
    token = page.locator("[name=csrfmiddlewaretoken]").first.input_value()
    for place, sent in {"records/mem:71/delete": {}, "settings": {"audit": "off"}, "jobs/import": {}}.items():
        answer = page.request.post(
            console.at(place), form={**sent, "csrfmiddlewaretoken": token}, headers={"Referer": page.url}
        )
        assert answer.status == 403, place
        assert "not_permitted" in answer.text()
    page.goto(console.at("records/mem:71"))
    expect(page.get_by_role("article", name="Text")).to_contain_text("pour hot water")
    with page.watch.expecting(403):
        page.goto(console.at("records/mem:71/delete"))
    expect(page.get_by_role("alert")).to_contain_text("This needs a scope you do not have")


def test_who_is_no_member_learns_nothing_of_a_store(open_tab, console):
    hidden = console.new_store("Hidden from Vera", "a secret")
    page = open_tab("vera")
    page.goto(f"{console.url}/")
    expect(page.get_by_role("main")).not_to_contain_text("Hidden from Vera")
    with page.watch.expecting(404):
        assert page.goto(console.at("", hidden)).status == 404
