"""What can go wrong, as types with codes. Every error leaves the API as `application/problem+json` (RFC 9457)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with a request. `pointer` is a JSON pointer into the body, or `?name` for a query member."""

    pointer: str
    code: str
    message: str


class ConsoleError(Exception):
    """The root of every error a caller may see. `extensions` are further members of the problem body; `context` is
    what a trace keeps of it beside the body.
    """

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"
    title: ClassVar[str] = "Something went wrong on our side"
    # Headers that every answer of this kind carries.
    always: ClassVar[Mapping[str, str]] = {}

    def __init__(
        self,
        detail: str = "",
        *,
        errors: Sequence[Fault] = (),
        headers: Mapping[str, str] | None = None,
        extensions: Mapping[str, Any] | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail or self.title)
        self.detail = detail or self.title
        self.errors = tuple(errors)
        self.headers = {**self.always, **(headers or {})}
        self.extensions = dict(extensions or {})
        self.context = dict(context or {})

    def body(self, instance: str) -> dict[str, Any]:
        """The problem object. `instance` names this occurrence: the request id."""
        problem: dict[str, Any] = {
            "type": f"urn:memoryconsole:problem:{self.code}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            "instance": instance,
        }
        if self.errors:
            problem["errors"] = [
                {"pointer": fault.pointer, "code": fault.code, "message": fault.message}
                for fault in self.errors
            ]
        return problem | self.extensions


class InvalidParameter(ConsoleError):
    status, code, title = 400, "invalid_parameter", "The request is not valid"

    @classmethod
    def of(cls, *faults: Fault) -> "InvalidParameter":
        """A refusal for these faults, one at least; its detail tells the first."""
        first = faults[0]
        where = f"{first.pointer}: " if first.pointer else ""
        return cls(f"{where}{first.message}", errors=faults)


class InvalidJSON(ConsoleError):
    status, code, title = 400, "invalid_json", "The body is not valid JSON"


class InvalidCursor(ConsoleError):
    status, code, title = 400, "invalid_cursor", "The cursor does not belong to this list"


class NotAuthenticated(ConsoleError):
    status, code, title = 401, "not_authenticated", "Sign in or send a valid token"
    always = {"WWW-Authenticate": "Bearer"}


class NotPermitted(ConsoleError):
    status, code, title = 403, "not_permitted", "This needs a scope you do not have"


class FormNotTrusted(NotPermitted):
    """A form without the token that proves that it came from a page of ours."""

    title = "This form could not be taken"


class NotFound(ConsoleError):
    status, code, title = 404, "not_found", "Nothing here"


class MethodNotAllowed(ConsoleError):
    status, code, title = 405, "method_not_allowed", "This address does not take that method"


class IdempotencyConflict(ConsoleError):
    status, code, title = 409, "idempotency_conflict", "This Idempotency-Key was used with another body"


class StateConflict(ConsoleError):
    """The request is in order, and what is here now does not allow it."""

    status, code, title = 409, "state_conflict", "What is here now does not allow that"


class StaleResource(ConsoleError):
    status, code, title = 412, "stale_resource", "The resource has changed since you read it"


class BodyTooLarge(ConsoleError):
    status, code, title = 413, "body_too_large", "The body is larger than this server takes"


class UnsupportedMediaType(ConsoleError):
    status, code, title = 415, "unsupported_media_type", "This address does not take that media type"


class TooManyRequests(ConsoleError):
    status, code, title = 429, "too_many_requests", "Too many tries"


class StoreSettingsInvalid(ConsoleError):
    status, code, title = (
        503,
        "store_settings_invalid",
        "This store's settings exceed what the operator allows",
    )


class AuditUnavailable(ConsoleError):
    status, code, title = 503, "audit_unavailable", "This store answers only what it can keep a trace of"
    always = {"Retry-After": "5"}


class Unavailable(ConsoleError):
    status, code, title = 503, "unavailable", "A part this needs is not available"
    # The supervisor brings a part back within seconds.
    always = {"Retry-After": "5"}
