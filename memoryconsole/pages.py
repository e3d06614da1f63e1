"""The console's frame: the first page and the pages for errors."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views.decorators.http import require_safe

from memoryconsole import access
from memoryconsole.errors import ConsoleError
from memoryconsole.middleware import current_request_id
from memoryconsole.models import User


def signed_in(request: HttpRequest) -> User:
    """The person behind a page that requires one."""
    if not isinstance(request.user, User):
        raise TypeError("the view does not require a signed-in person")
    return request.user


@require_safe
@login_required
def home(request: HttpRequest) -> HttpResponse:
    """The stores the signed-in person may read."""
    stores = access.readable(access.Actor(signed_in(request))).order_by("name", "public_id")
    return render(request, "console/home.html", {"stores": stores})


def error_page(request: HttpRequest, error: ConsoleError) -> HttpResponse:
    context = {"error": error, "request_id": current_request_id()}
    # Without the request: its person would be read from a database that may be what is missing.
    return HttpResponse(
        render_to_string("console/error.html", context), status=error.status, headers=error.headers
    )
