"""Every page: nothing that axe-core objects to, nothing wider than the screen, no error, and a picture to look at."""

import os
from pathlib import Path

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page, expect

from tests.browser.conftest import WIDE, Opener
from tests.browser.console import Console
from tests.browser.sights import Sights, make_sights

STANDARD = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
NARROW = {"width": 320, "height": 640}
PICTURES = Path(os.environ.get("MEMORYCONSOLE_SCREENSHOTS") or "build/screenshots")
# Pages that are answers with an error, and its status.
ERRORS = {"missing": 404, "ask-refused": 400, "records-refused": 400}
# Looked at in every test run, as a person wide awake would: by day, on a wide screen.
MAIN = ("sign-in", "overview", "ask", "record", "trace-why", "compare", "awkward-job", "settings")
MORE = (
    "home", "ask-nothing", "ask-bounded", "ask-refused", "candidates", "read", "records", "records-found",
    "records-refused", "record-long", "record-delete", "summaries", "summary", "traces", "trace", "trace-guess",
    "trace-refused", "jobs", "missing", "awkward-overview", "awkward-ask", "awkward-records", "awkward-record-1",
    "awkward-record-2", "awkward-record-3", "awkward-record-4", "awkward-record-5", "awkward-record-6",
    "empty-overview", "empty-records", "empty-traces", "empty-jobs",
)  # fmt: skip


@pytest.fixture(scope="session")
def sights(console: Console) -> Sights:
    made = make_sights(console)
    assert made.keys() == {*MAIN, *MORE}
    return made


def faults_of(page: Page) -> list[str]:
    """What axe-core objects to on the page as it is now."""
    page.evaluate(AXE_SCRIPT)
    found = page.evaluate(
        "tags => axe.run(document, {runOnly: tags, resultTypes: ['violations']}).then(r => r.violations)",
        STANDARD,
    )
    return [
        f"{each['id']} ({each['help']}): {node['target']} {node['html'][:120]} {node.get('failureSummary', '')[:300]}"
        for each in found
        for node in each["nodes"]
    ]


def overhang(page: Page) -> list[str]:
    """The elements that reach past the right edge of the screen, where the page can be scrolled sideways."""
    return page.evaluate(
        """() => {
          const root = document.documentElement;
          if (root.scrollWidth <= root.clientWidth) return [];
          return [...document.body.querySelectorAll("*")]
            .filter((each) => each.getBoundingClientRect().right > root.clientWidth + 1)
            .map((each) => each.outerHTML.slice(0, 100));
        }"""
    )


def visit(open_tab: Opener, sights: Sights, name: str) -> Page:
    page = open_tab(None if name == "sign-in" else "demo")
    expected = ERRORS.get(name)
    with page.watch.expecting(*filter(None, [expected])):
        answer = page.goto(sights[name])
    assert answer is not None
    assert answer.status == (expected or 200)
    return page


def picture(page: Page, name: str, scheme: str) -> None:
    """Keep the whole page as it looks now."""
    width = page.viewport_size["width"] if page.viewport_size else 0
    page.screenshot(path=PICTURES / f"{name}-{width}-{scheme}.png", full_page=True)


@pytest.mark.parametrize("name", MAIN)
def test_a_main_page_is_accessible_and_fits_a_small_screen(name, open_tab, sights):
    page = visit(open_tab, sights, name)
    picture(page, name, "light")
    assert faults_of(page) == []
    page.set_viewport_size(NARROW)
    picture(page, name, "light")
    assert overhang(page) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [*MAIN, *MORE])
def test_a_page_is_accessible_and_fits_by_day_and_night_wide_and_narrow(name, open_tab, sights):
    page = visit(open_tab, sights, name)
    found = []
    for size in (WIDE, NARROW):
        page.set_viewport_size(size)
        found += [f"{size['width']} px: {each}" for each in overhang(page)]
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            picture(page, name, scheme)
            found += [f"{size['width']} px, {scheme}: {each}" for each in faults_of(page)]
    assert found == []


def test_text_that_would_be_code_elsewhere_is_shown_as_text(open_tab, sights):
    page = open_tab()
    page.on("dialog", lambda dialog: pytest.fail("stored text was run"))
    for name in ("awkward-record-2", "awkward-records", "awkward-ask"):
        page.goto(sights[name])
        assert '<script>alert("stored")</script> {{ 7|add:7 }}' in page.locator("main").inner_text()
        assert page.locator("main script, main a[href^='javascript:']").count() == 0


def test_what_is_wrong_with_a_page_is_noticed(open_tab, console):
    page = open_tab()
    page.goto(console.at("settings"))
    page.evaluate(
        """() => document.body.insertAdjacentHTML(
          "afterbegin", '<p style="color: red">inline</p><img src="/static/console/icon.svg"><pre class="x"></pre>')"""
    )
    page.evaluate("document.querySelector('.x').style.width = '2000px'")
    assert any("Content Security Policy" in error for error in page.watch.errors)
    page.watch.errors.clear()
    assert any(fault.startswith("image-alt") for fault in faults_of(page))
    assert any('class="x"' in part for part in overhang(page))


def test_the_reference_of_the_api_is_drawn_under_the_same_policy(open_tab, console):
    page = open_tab(None)
    page.goto(f"{console.url}/api/v1/docs")
    expect(page.locator(".opblock-summary-path").filter(has_text="/records").first).to_be_visible()
