"""A browser tab that remembers what went wrong in it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import ConsoleMessage, Page

# How a browser and htmx tell of an answer that is an error, which a journey may have asked for.
_STATUS = re.compile(r"(?:responded with a status of|Response Status Error Code) (\d{3})")


class Watch:
    """Collects a tab's errors: uncaught exceptions and all that the browser's console calls an error or a warning.

    A violation of the Content-Security-Policy is among the latter.
    """

    def __init__(self, page: Page) -> None:
        self.errors: list[str] = []
        self._expected: set[str] = set()
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.errors.append(f"{page.url}: {error}"))

    @contextmanager
    def expecting(self, *statuses: int) -> Iterator[None]:
        """Inside the block, answers with these statuses are no error."""
        self._expected = {str(status) for status in statuses}
        yield
        self._expected = set()

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type not in ("error", "warning"):
            return
        status = _STATUS.search(message.text)
        if status is None or status[1] not in self._expected:
            self.errors.append(f"{message.location.get('url')}: {message.text}")
