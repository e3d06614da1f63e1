"""Forms and addresses through the serializers the API has: texts are converted first, then the same fields judge."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict

from memoryconsole.errors import Fault
from memoryconsole.serializers import StrictSerializer

# What every form carries beside its fields.
OURS = ("csrfmiddlewaretoken",)


def read_form(serializer: type[StrictSerializer], sent: QueryDict) -> dict[str, Any]:
    """The validated members of a form or of an address. Raises InvalidParameter as `read_query` does.

    A field left empty was not filled in: browsers send it all the same.
    """
    filled = QueryDict(mutable=True)
    for name, values in sent.lists():
        if name not in OURS and values != [""]:
            filled.setlist(name, values)
    return serializer.read_query(filled)


def faults_by_field(faults: tuple[Fault, ...]) -> dict[str, str]:
    """What to say beside each field; faults of no field stand under ''."""
    said: dict[str, str] = {}
    for fault in faults:
        said.setdefault(fault.pointer.lstrip("?/"), fault.message)
    return said


def address(request: HttpRequest, **changes: str | None) -> str:
    """The page's own address with some members changed (None: left out) and empty ones dropped: short to share."""
    members = QueryDict(mutable=True)
    for name, value in {**request.GET.dict(), **changes}.items():
        if value:
            members[name] = value
    return f"{request.path}?{members.urlencode()}" if members else request.path


def filled_in(request: HttpRequest) -> dict[str, str]:
    """What the address says, without the fields of a form that were left empty."""
    return {name: value for name, value in request.GET.dict().items() if value}


def tidied(page: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Makes a page's address say what was filled in and nothing else: a browser sends a form's empty fields too.

    For a view of `(request, frame, **place)` whose filters are a GET form.
    """

    @wraps(page)
    def view(request: HttpRequest, frame: Any, **place: Any) -> HttpResponse:
        short = address(request)
        sent = request.GET
        if len(filled_in(request)) == len(sent) or any(len(values) > 1 for _, values in sent.lists()):
            return page(request, frame, **place)
        if request.headers.get("HX-Request") == "true":
            response = page(request, frame, **place)
            response["HX-Push-Url"] = short
            return response
        return HttpResponseRedirect(short)

    return view
