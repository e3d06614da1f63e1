"""The first page: the stores one may read, and a form for a new one."""

from django.contrib import messages
from django.db.models import CharField, OuterRef, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from memoryconsole import access
from memoryconsole.errors import InvalidParameter
from memoryconsole.pages.forms import read_form
from memoryconsole.pages.frame import console_page
from memoryconsole.services.stores import create_store
from memoryconsole.shapes import LANGUAGES, StoreIn

# One page of a person's stores; nobody looks through more by eye. The API pages through all of them.
STORES_SHOWN = 500


@require_http_methods(["GET", "HEAD", "POST"])
@console_page
def home(request: HttpRequest, actor: access.Actor) -> HttpResponse:
    """The stores the signed-in person may read; POST makes one."""
    if request.method != "POST":
        return _page(request, actor, {}, None)
    try:
        wanted = read_form(StoreIn, request.POST)
    except InvalidParameter as refused:
        return _page(request, actor, request.POST.dict(), refused)
    store = create_store(actor, now=timezone.now(), **wanted)
    messages.success(request, "The store is there, and empty.")
    return redirect("console:overview", store.public_id)


def _page(
    request: HttpRequest, actor: access.Actor, given: dict[str, str], refused: InvalidParameter | None
) -> HttpResponse:
    role = access.memberships_of(actor).filter(store=OuterRef("pk")).values("role")
    mine = access.readable(actor).annotate(role=Subquery(role, output_field=CharField()))
    stores = list(mine.order_by("name", "public_id")[: STORES_SHOWN + 1])
    context = {
        "stores": stores[:STORES_SHOWN],
        "more": len(stores) > STORES_SHOWN,
        "given": given,
        "faults": refused.errors if refused else (),
        "languages": LANGUAGES,
    }
    return render(request, "console/home.html", context, status=refused.status if refused else 200)
