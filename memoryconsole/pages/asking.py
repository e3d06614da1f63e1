"""A contract call made from a page: the same call that the API makes, and the same trace."""

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest

from memoryconsole import audit
from memoryconsole.middleware import current_request_id, started_ns
from memoryconsole.pages.frame import Frame
from memoryconsole.traces import Caller, Laps

# What calls made here are labelled with, so that lists can tell people's questions from agents'.
LABEL = "console"


def page_call(
    request: HttpRequest,
    frame: Frame,
    operation: str,
    body: Callable[[], Any],
    settings: Mapping[str, int | None] | None = None,
) -> audit.Call:
    """The call of a page's visitor on its store. `body`, `settings`: as `audit.Call` has them."""
    return audit.Call(
        operation=operation,
        actor=frame.actor,
        store=frame.store.public_id,
        body=body,
        caller=Caller(request_id=current_request_id(), labels=(LABEL,)),
        laps=Laps(started_ns(request)),
        settings=settings,
    )
