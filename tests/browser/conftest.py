"""A browser and the console it visits, both made once."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, StorageState, expect, sync_playwright

from memoryconsole.embedded.broker import available
from tests.browser.console import Console, running
from tests.browser.watching import Watch

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
HERE = Path(__file__).parent
WIDE = {"width": 1280, "height": 900}
# For a page to load and for a fragment to arrive, on a machine with other things to do.
PATIENCE_MS = 20_000


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium() -> str:
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if found is None:
        pytest.skip("no Chromium on this machine")
    if not available() and not os.environ.get("CELERY_BROKER_URL"):
        pytest.skip("no embedded broker for this platform")
    return found


@pytest.fixture(scope="session")
def console(chromium: str) -> Iterator[Console]:
    with running(os.environ["DATABASE_URL"]) as console:
        yield console


# Of the package, not the session: as long as Playwright runs, Django takes every thread of it for an async one.
@pytest.fixture(scope="package")
def browser(chromium: str) -> Iterator[Browser]:
    # Chromium's own sandbox needs rights that root in a container does not have.
    switches = ["--no-sandbox"] if os.geteuid() == 0 else []
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=switches)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def sessions(browser: Browser, console: Console) -> dict[str, StorageState]:
    """The cookies of each account, signed in through the form."""
    return {name: _signed_in(browser, console, name) for name in console.passwords}


def _signed_in(browser: Browser, console: Console, name: str) -> StorageState:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{console.url}/sign-in")
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(console.passwords[name])
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{console.url}/")
    state = context.storage_state()
    context.close()
    return state


Opener = Callable[..., Page]


@pytest.fixture
def open_tab(browser: Browser, sessions: dict[str, StorageState]) -> Iterator[Opener]:
    """Open a tab: `who` (None: nobody), and options of a browser context such as `java_script_enabled`.

    At the end of the test no tab may have met an error.
    """
    contexts: list[BrowserContext] = []
    watches: list[Watch] = []

    def open_tab(who: "str | None" = "demo", **options: object) -> Page:
        state = None if who is None else sessions[who]
        context = browser.new_context(**{"viewport": WIDE, "storage_state": state, **options})
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()
        watches.append(Watch(page))
        page.watch = watches[-1]
        return page

    yield open_tab
    errors = [error for watch in watches for error in watch.errors]
    for context in contexts:
        context.close()
    assert not errors, "\n".join(errors)


@pytest.fixture(params=["js", "no-js"])
def tab(request: pytest.FixtureRequest, open_tab: Opener) -> Page:
    """The demo account's tab, once with JavaScript and once without."""
    return open_tab(java_script_enabled=request.param == "js")


@pytest.fixture(params=["js", pytest.param("no-js", marks=pytest.mark.slow)])
def either_tab(request: pytest.FixtureRequest, open_tab: Opener) -> Page:
    """The same; without JavaScript only where all tests run."""
    return open_tab(java_script_enabled=request.param == "js")
