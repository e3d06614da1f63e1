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
    page.goto(console.at("records"))
    expect(page).to_have_url(re.compile(r"/sign-in\?next="))
