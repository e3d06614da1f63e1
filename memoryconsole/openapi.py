"""What the machine-readable description says of every route alike: credentials and problems."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers


class TokenScheme(OpenApiAuthenticationExtension):
    target_class = "memoryconsole.http.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer"}


class SessionScheme(OpenApiAuthenticationExtension):
    target_class = "memoryconsole.http.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "apiKey", "in": "cookie", "name": "sessionid"}


class Fault(serializers.Serializer[Any]):
    pointer = serializers.CharField()
    code = serializers.CharField()
    message = serializers.CharField()


class Problem(serializers.Serializer[Any]):
    """RFC 9457, with stable codes."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    code = serializers.CharField()
    instance = serializers.CharField()
    errors = Fault(many=True, required=False)  # type: ignore[assignment]  # the member RFC 9457 users expect


PROBLEMS = {
    400: "bad input",
    401: "no or bad credentials",
    403: "a scope you lack",
    404: "nothing here, or nothing you may see",
    405: "not a method of this address",
    413: "the body is too large",
    415: "not application/json",
    503: "a part or a store's settings stand in the way",
}
# Further problems of what a route changes, for `describe`.
REFUSED = {409: "the Idempotency-Key was used with another body, or what is here does not allow it"}
STALE = {412: "changed since you read it"}
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key", OpenApiTypes.STR, OpenApiParameter.HEADER, description="1 to 255 printable characters"
)

IF_MATCH = OpenApiParameter(
    "If-Match", OpenApiTypes.STR, OpenApiParameter.HEADER,
    description="the ETag that the change is meant for: 412 when it is another by now; left out, whichever it is",
)  # fmt: skip


def describe(
    operation: str,
    status: int,
    answer: str,
    *,
    request: Any = None,
    parameters: "list[Any] | None" = None,
    repeatable: bool = False,
    also: "dict[int, str] | None" = None,
    media_type: str = "",
) -> Callable[[Any], Any]:
    """Describe one method of a view: its operation id, what it takes, its success and its problems.

    `repeatable`: it takes an Idempotency-Key. `also`: further problems by status; what answers 412 takes an If-Match.
    `media_type`: of an answer that is no JSON.
    """
    problems = PROBLEMS | ({409: "the Idempotency-Key was used with another body"} if repeatable else {})
    problems |= also or {}
    success = None if status == 204 else OpenApiTypes.OBJECT
    responses: dict[Any, Any] = {status: OpenApiResponse(success, description=answer)}
    if media_type:
        responses = {(status, media_type): OpenApiResponse(OpenApiTypes.BINARY, description=answer)}
    for code, reason in sorted(problems.items()):
        responses[code, "application/problem+json"] = OpenApiResponse(Problem, description=reason)
    return extend_schema(
        operation_id=operation,
        request=request,
        parameters=[
            *(parameters or []),
            *([IDEMPOTENCY_KEY] if repeatable else []),
            *([IF_MATCH] if 412 in problems else []),
        ],
        responses=responses,
    )


def closed_bodies(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Say of every request body that it takes no further members (a postprocessing hook)."""
    for name, schema in result["components"]["schemas"].items():
        if name.endswith("Request") and schema.get("type") == "object":
            schema["additionalProperties"] = False
    return result
