"""What every request carries: an id, in the answer and in each log line. And what sees to large bodies: a form may not
be one, and none is left behind.
"""

import gc
import json
import logging
import re
import time
import traceback
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

import psycopg
from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse

from memoryconsole.errors import BodyTooLarge

_request_id: ContextVar[str] = ContextVar("request_id", default="-")

# A caller's own id is kept when it is harmless in a log line and a header.
_ACCEPTABLE = re.compile(r"[A-Za-z0-9._-]{8,64}")


def current_request_id() -> str:
    return _request_id.get()


_STARTED = "memoryconsole.started_ns"


def started_ns(request: HttpRequest) -> int:
    """When the request came in, by the clock that traces count with (`time.perf_counter_ns`)."""
    return int(request.META[_STARTED])


class RequestIdMiddleware:
    """Gives the request an id (the caller's X-Request-Id when acceptable) and sends it back."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-Id", "")
        request_id = given if _ACCEPTABLE.fullmatch(given) else uuid.uuid4().hex
        # A trace counts its time from here.
        request.META[_STARTED] = time.perf_counter_ns()
        # Left standing afterwards: Django logs a refused request once the middleware is through.
        _request_id.set(request_id)
        response = self.get_response(request)
        response["X-Request-Id"] = request_id
        return response


def content_length(request: HttpRequest) -> int:
    """How many bytes a request says its body has; 0 where it says nothing."""
    return int(request.META.get("CONTENT_LENGTH") or 0)


# Of bodies that are shorter, a hundred left behind are not much either.
LARGE_BODY_BYTES = 100_000


class LargeBodyMiddleware:
    """A large body goes with its answer. A refusal and its traceback refer to each other, and so hold the frames that
    refused, and the body in them, until somebody looks for such rings.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if content_length(request) > LARGE_BODY_BYTES:
            gc.collect()
        return response


# What Django reads to its end, and puts on disk, as soon as anything looks for a field: the CSRF check does.
_FORMS = ("multipart/form-data", "application/x-www-form-urlencoded")


class FormSizeMiddleware:
    """Refuses a form larger than `MAX_BODY_BYTES` before anything reads it (413), signed in or not.

    Views with a true `takes_files` have a limit of their own. Other bodies pass: their parser stops at the limit.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> HttpResponse | None:
        from memoryconsole.http import refusal

        if request.content_type not in _FORMS or _takes_files(view):
            return None
        if content_length(request) <= settings.MAX_BODY_BYTES:
            return None
        return refusal(request, BodyTooLarge(f"At most {settings.MAX_BODY_BYTES} bytes"))


def _takes_files(view: Callable[..., Any]) -> bool:
    return bool(getattr(getattr(view, "view_class", view), "takes_files", False))


class RequestIdFilter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = _request_id.get()
        return True


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, request id, message, and the traceback when there is one."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "request_id": getattr(record, "request_id", "-"),
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = _traceback(record.exc_info[1])
        return json.dumps(line, ensure_ascii=False)


def _traceback(fault: BaseException | None) -> str:
    """A traceback with what led to it. Of the database's errors the first line alone: the others quote the row."""
    parts: list[str] = []
    told: list[BaseException] = []
    while fault is not None and fault not in told:
        told.append(fault)
        text = str(fault)
        if isinstance(fault, DatabaseError | psycopg.Error):
            text = text.partition("\n")[0]
        frames = "".join(traceback.format_tb(fault.__traceback__))
        parts.append(f"{frames}{type(fault).__module__}.{type(fault).__qualname__}: {text}")
        fault = fault.__cause__ or (None if fault.__suppress_context__ else fault.__context__)
    # The first cause first, as tracebacks are read.
    return "\n\nand then\n\n".join(reversed(parts))
