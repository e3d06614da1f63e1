"""The base of every API view."""

from typing import Any, ClassVar

from rest_framework.views import APIView

from memoryconsole.access import Actor, open_store
from memoryconsole.errors import ConsoleError, NotAuthenticated
from memoryconsole.models import Scope, Store, Token, User
from memoryconsole.serializers import StrictSerializer


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
