"""The wire: who sends a request, strict JSON in, problems out. `views.py` has the base of the views."""

import json
import logging
import math
from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import cache
from typing import Any, NoReturn

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from rest_framework import authentication, exceptions, negotiation, parsers, renderers
from rest_framework.request import Request

from memoryconsole import errors
from memoryconsole.jsons import write_plain
from memoryconsole.middleware import content_length, current_request_id
from memoryconsole.models import Token, User
from memoryconsole.models.records import storable
from memoryconsole.statements import Given, compiled, instances

log = logging.getLogger(__name__)

# Tool calls nest; nobody's nest this deep.
MAX_DEPTH = 64
PROBLEM_JSON = "application/problem+json"

# "Last used" answers whether a token is alive, not how often: one write a minute at most.
LAST_USED_EVERY = timedelta(minutes=1)


class TokenAuthentication(authentication.BaseAuthentication):
    """`Authorization: Bearer <token>`. A bad token is refused, never treated as no token."""

    def authenticate(self, request: Request) -> tuple[Any, Token] | None:
        scheme, _, text = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        now = timezone.now()
        found = instances(_token_statement(), (Token, User), {"digest": Token.digest_of(text.strip())})
        token, user = found[0] if found else (None, None)
        if token is None or user is None or not token.usable_at(now) or not user.is_active:
            raise errors.NotAuthenticated("The token is unknown, expired or revoked")
        if token.last_used_at is None or now - token.last_used_at > LAST_USED_EVERY:
            Token.objects.filter(pk=token.pk).update(last_used_at=now)
        token.user = user
        return user, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


@cache
def _token_statement() -> str:
    return compiled(Token.objects.select_related("user").filter(digest=Given("digest")))


class SessionAuthentication(authentication.SessionAuthentication):
    """A signed-in person. Unsafe calls need the CSRF token, as pages do."""

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class AlwaysJSON(negotiation.DefaultContentNegotiation):
    """The API speaks JSON whatever the caller says it accepts: an unread Accept header breaks nobody."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> Any:
        return renderers[0], renderers[0].media_type


class QuickJSON(renderers.JSONRenderer):
    """Answers of plain values, as most are, by the quick writer; others (instants, lazy texts) by the framework's."""

    def render(self, data: Any, *context: Any, **named: Any) -> bytes:
        try:
            return b"" if data is None else write_plain(data)
        except TypeError:
            return bytes(super().render(data, *context, **named))


class StrictJSONParser(parsers.BaseParser):
    """JSON as the standard has it, which PostgreSQL can hold.

    Refused: bodies over `MAX_BODY_BYTES` (413), text that is not UTF-8, NaN and Infinity, a member named twice,
    nesting too deep to read, NUL and lone surrogates in any string.
    """

    media_type = "application/json"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        limit = settings.MAX_BODY_BYTES
        try:
            # One byte past the limit is enough to know; a declared length over it is not read at all.
            if content_length(parser_context["request"]) > limit:
                raise errors.BodyTooLarge(f"At most {limit} bytes")
            body = stream.read(limit + 1)
        except RequestDataTooBig:
            raise errors.BodyTooLarge(f"At most {limit} bytes") from None
        if len(body) > limit:
            raise errors.BodyTooLarge(f"At most {limit} bytes")
        return read_json(body)


def read_json(body: bytes) -> Any:
    """Parse strictly. Raises InvalidJSON, or InvalidParameter with pointers for text that cannot be stored."""
    try:
        value = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
    except RecursionError:
        raise errors.InvalidJSON("Nested too deeply") from None
    except UnicodeDecodeError:
        raise errors.InvalidJSON("Not UTF-8") from None
    except ValueError as fault:
        raise errors.InvalidJSON(str(fault)[:200]) from None
    _check_depth(value)
    # NUL and surrogates can only arrive as \u escapes: raw ones were refused above.
    if b"\\u" in body:
        faults = [
            errors.Fault(pointer, "unstorable_text", "NUL and lone surrogates cannot be stored")
            for pointer, text in _strings(value, "")
            if not storable(text)
        ]
        if faults:
            raise errors.InvalidParameter(faults[0].message, errors=faults[:50])
    return value


def _check_depth(value: Any) -> None:
    """Raises InvalidJSON for nesting deeper than any body here has, whatever the interpreter would bear."""
    level = [value]
    for _ in range(MAX_DEPTH):
        inner = [
            m for v in level if isinstance(v, dict | list) for m in (v.values() if isinstance(v, dict) else v)
        ]
        level = [member for member in inner if isinstance(member, dict | list)]
        if not level:
            return
    raise errors.InvalidJSON("Nested too deeply")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("A member is named twice")
    return members


def _finite(text: str) -> float:
    """Python reads 1e400 as infinity, which is no JSON and which PostgreSQL cannot hold."""
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:20]} is too large a number")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _strings(value: Any, pointer: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield pointer, value
    elif isinstance(value, dict):
        for key, member in value.items():
            yield pointer, key
            # A pointer is itself written as JSON: a key that cannot be stored cannot be shown either.
            shown = key if storable(key) else "?"
            yield from _strings(member, f"{pointer}/{shown.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from _strings(member, f"{pointer}/{index}")


def problem(error: errors.ConsoleError) -> JsonResponse:
    body = error.body(instance=f"urn:request:{current_request_id()}")
    return JsonResponse(
        body, status=error.status, content_type=PROBLEM_JSON, headers=error.headers,
        json_dumps_params={"ensure_ascii": False},
    )  # fmt: skip


def problem_response(exception: Exception, context: Mapping[str, Any]) -> HttpResponse | None:
    """DRF's exception handler: every error in the one shape. What we do not know stays an error (500, logged)."""
    error = as_console_error(exception)
    if error is None:
        return None
    extensions = getattr(context.get("view"), "problem_extensions", None)
    if extensions is not None:
        error.extensions = extensions(error) | error.extensions
    return problem(error)


def as_console_error(exception: Exception) -> errors.ConsoleError | None:
    """What a caller may be told of an exception; None for what we do not know."""
    if isinstance(exception, errors.ConsoleError):
        return exception
    if isinstance(exception, exceptions.NotAuthenticated | exceptions.AuthenticationFailed):
        return errors.NotAuthenticated()
    if isinstance(exception, exceptions.PermissionDenied):
        return errors.NotPermitted(str(exception.detail))
    if isinstance(exception, Http404 | exceptions.NotFound):
        return errors.NotFound()
    if isinstance(exception, exceptions.MethodNotAllowed):
        return errors.MethodNotAllowed(str(exception.detail))
    if isinstance(exception, exceptions.UnsupportedMediaType):
        return errors.UnsupportedMediaType("Send application/json")
    if isinstance(exception, OperationalError | InterfaceError) and _is_outage(exception):
        # One line: the database's own log has the rest, and every request of an outage would repeat it.
        log.error("the database is not available: %s", str(exception).splitlines()[0])
        return errors.Unavailable("The database is not available")
    if isinstance(exception, exceptions.ParseError):
        return errors.InvalidJSON(str(exception.detail))
    return None


def refusal(request: HttpRequest, error: errors.ConsoleError) -> HttpResponse:
    """An error outside of any view: a problem under /api, a page elsewhere."""
    from memoryconsole.pages import error_page

    return problem(error) if request.path.startswith("/api/") else error_page(request, error)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The site's 404."""
    return refusal(request, errors.NotFound())


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The site's 403 for a form without its token: an old page, or another site that sent it."""
    detail = "The page it was on is from before you signed in, or cookies are blocked. Open it anew and send it again."
    return refusal(request, errors.FormNotTrusted(detail))


# Connection exceptions, operator intervention (restarts), no disk or connections left, a lock that did not come free:
# the rest is a fault of ours.
OUTAGES = ("08", "57P", "53", "55P03")


def _is_outage(fault: Exception) -> bool:
    """Whether the database was away, as opposed to refusing a statement. Without a code there was no connection."""
    code = getattr(fault.__cause__, "sqlstate", None)
    return code is None or code.startswith(OUTAGES)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The site's 400 for what never reaches a view, such as a host name that is not served."""
    if request.path.startswith("/api/"):
        return problem(
            errors.InvalidParameter("The request's address, host name or cookies cannot be served")
        )
    return HttpResponse("Bad request\n", status=400, content_type="text/plain")


def server_error(request: HttpRequest) -> HttpResponse:
    """The site's 500. The traceback is in the log, under the request id the answer carries."""
    return refusal(request, errors.ConsoleError())
