"""The base of every API view."""

from collections.abc import Mapping
from typing import Any, ClassVar

from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memoryconsole import audit
from memoryconsole.access import Actor, open_store
from memoryconsole.errors import ConsoleError, NotAuthenticated, StaleResource
from memoryconsole.http import as_console_error
from memoryconsole.middleware import current_request_id, started_ns
from memoryconsole.models import Scope, Store, Token, User
from memoryconsole.serializers import StrictSerializer
from memoryconsole.traces import Caller, Laps


class ConsoleView(APIView):
    """The base of every API view.

    A request's life: authentication (401), then input (400, 413, 415), then existence and access (404, 403), then
    the service. `scopes` names what each method needs.
    """

    scopes: ClassVar[dict[str, Scope]] = {}

    @property
    def actor(self) -> Actor:
        user, token = self.request.user, self.request.auth
        if not isinstance(user, User):
            raise NotAuthenticated()
        return Actor(user, token if isinstance(token, Token) else None)

    def open_store(self, public_id: str) -> Store:
        method = str(self.request.method)
        # HEAD is GET without a body.
        return open_store(self.actor, public_id, self.scopes["GET" if method == "HEAD" else method])

    def read_body(self, serializer: type[StrictSerializer]) -> dict[str, Any]:
        return serializer.read(self.request.data)

    def read_query(self, serializer: type[StrictSerializer]) -> dict[str, Any]:
        return serializer.read_query(self.request.query_params)

    def problem_extensions(self, error: ConsoleError) -> dict[str, Any]:
        """Further members this route's contract wants in a refusal."""
        return {}


class ContractView(ConsoleView):
    """The base of the read contracts' views: each call is answered through the audit layer and leaves a trace."""

    scopes = {"POST": Scope.READ}
    operation: ClassVar[str]

    def answer(self, request: Request, store: str) -> Response:
        told = audit.answer(
            audit.Call(
                operation=self.operation,
                actor=self.actor,
                store=store,
                body=lambda: _sent(request),
                caller=Caller.of(request.headers, current_request_id()),
                laps=Laps(started_ns(request)),
            )
        )
        return Response(told.body, headers=told.headers)


def if_match(request: Request) -> int | None:
    """The version that a change is meant for (`If-Match`); None: whichever it is. Raises StaleResource for what is
    no version of ours, since it cannot match.
    """
    given = request.headers.get("If-Match")
    if given is None or given.strip() == "*":
        return None
    text = given.strip().removeprefix("W/").strip('"')
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise StaleResource()
    return int(text)


def _sent(request: Request) -> Any:
    """The body. Raises a ConsoleError for what the framework refuses too, so that this refusal leaves its trace."""
    try:
        return request.data
    except APIException as fault:
        raise as_console_error(fault) or fault from None


def versioned(status: int, kept: Mapping[str, Any], *, told: bool) -> Response:
    """What was kept of a change, its resource's version in the `ETag`; `told`: in the body too."""
    body = dict(kept)
    version = body["version"] if told else body.pop("version")
    return Response(body, status=status, headers={"ETag": f'"{version}"'})
