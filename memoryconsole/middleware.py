"""What every request carries: an id, in the answer and in each log line."""

import json
import logging
import re
import uuid
from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponse

_request_id: ContextVar[str] = ContextVar("request_id", default="-")

# A caller's own id is kept when it is harmless in a log line and a header.
_ACCEPTABLE = re.compile(r"[A-Za-z0-9._-]{8,64}")


def current_request_id() -> str:
    return _request_id.get()


class RequestIdMiddleware:
    """Gives the request an id (the caller's X-Request-Id when acceptable) and sends it back."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-Id", "")
        request_id = given if _ACCEPTABLE.fullmatch(given) else uuid.uuid4().hex
        # Left standing afterwards: Django logs a refused request once the middleware is through.
        _request_id.set(request_id)
        response = self.get_response(request)
        response["X-Request-Id"] = request_id
        return response


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
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)
