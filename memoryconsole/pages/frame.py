"""The door of every page about a store: who is there, what they may do, and how an error is drawn."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.cache import add_never_cache_headers
from django_htmx.http import HttpResponseClientRedirect

from memoryconsole import access
from memoryconsole.errors import ConsoleError, MethodNotAllowed, NotAuthenticated
from memoryconsole.middleware import current_request_id
from memoryconsole.models import Role, Scope, Store, User
from memoryconsole.pages.navigation import Section, sections

READ_ONLY: Mapping[str, Scope] = {"GET": Scope.READ}
# More than a menu can show; the page of all stores has the rest.
STORES_IN_SWITCHER = 20


def signed_in(request: HttpRequest) -> User:
    """The person behind a page that requires one. Raises NotAuthenticated."""
    if not isinstance(request.user, User):
        raise NotAuthenticated()
    return request.user


@dataclass(frozen=True, slots=True)
class Frame:
    """What a page knows of the store it is about and of its visitor. `section` is the page's place in the menu."""

    request: HttpRequest
    actor: access.Actor
    store: Store
    role: Role
    section: str
    # The visitor's stores by name, for the switcher: at most STORES_IN_SWITCHER.
    stores: tuple[Store, ...]

    @property
    def sections(self) -> list[Section]:
        return sections()

    @property
    def can(self) -> dict[str, bool]:
        """What the visitor may do here, by scope; templates ask `frame.can.write`."""
        return {scope.value: self.may(scope) for scope in Scope}

    def may(self, scope: Scope) -> bool:
        return scope in access.scopes_of(self.actor, self.role)

    def render(self, template: str, context: dict[str, Any], *, status: int = 200) -> HttpResponse:
        """The page. `context` is the template's own; `frame` and `store` are added."""
        return render(self.request, template, {"frame": self, "store": self.store, **context}, status=status)


Page = Callable[..., HttpResponse]


def store_page(section: str, scopes: Mapping[str, Scope] = READ_ONLY) -> Callable[[Page], Page]:
    """Makes a view of `(request, frame, **place)` a page of a store at an address with `<store:store>`.

    `scopes` names what each method needs (HEAD is GET). In this order: nobody signed in goes to sign in, a store one
    may not see is not found, a scope one lacks is refused, and any ConsoleError becomes a page that says so.
    """

    def decorate(page: Page) -> Page:
        @wraps(page)
        def view(request: HttpRequest, store: str, **place: Any) -> HttpResponse:
            frame: Frame | None = None
            try:
                frame = _open(request, store, section, scopes)
                response = page(request, frame, **place)
            except NotAuthenticated:
                return _to_sign_in(request)
            except Exception as fault:
                response = error_page(request, known(fault), frame=frame)
            # A page shows stored text: no shared cache and no history on disk may keep it.
            add_never_cache_headers(response)
            return response

        return view

    return decorate


def console_page(page: Page) -> Page:
    """The same for a page of `(request, actor)` that is about no store."""

    @wraps(page)
    def view(request: HttpRequest, **place: Any) -> HttpResponse:
        try:
            response = page(request, access.Actor(signed_in(request)), **place)
        except NotAuthenticated:
            return _to_sign_in(request)
        except Exception as fault:
            response = error_page(request, known(fault))
        add_never_cache_headers(response)
        return response

    return view


def known(fault: Exception) -> ConsoleError:
    """The error a person may see. What is not known to us is raised again: it is a fault of ours (500, logged)."""
    from memoryconsole.http import as_console_error

    error = as_console_error(fault)
    if error is None:
        raise fault
    return error


def error_page(request: HttpRequest, error: ConsoleError, *, frame: Frame | None = None) -> HttpResponse:
    """An error drawn as one, inside the store's frame where that could be opened."""
    context = {
        "error": error,
        "request_id": current_request_id(),
        "again": request.get_full_path() if request.method in ("GET", "HEAD") else "",
    }
    if frame is not None:
        response = frame.render("console/store_error.html", context, status=error.status)
    else:
        # Without the request: its person would be read from a database that may be what is missing.
        response = HttpResponse(render_to_string("console/error.html", context), status=error.status)
    for name, value in error.headers.items():
        response[name] = value
    if request.headers.get("HX-Request") == "true":
        # Whatever part of a page was asked for, the error takes the page's place: it must be seen.
        response["HX-Retarget"] = response["HX-Reselect"] = "#main"
        response["HX-Reswap"] = "outerHTML"
    return response


def _open(request: HttpRequest, public_id: str, section: str, scopes: Mapping[str, Scope]) -> Frame:
    actor = access.Actor(signed_in(request))
    method = "GET" if request.method == "HEAD" else str(request.method)
    if method not in scopes:
        raise MethodNotAllowed(f"This page takes {', '.join(scopes)}", headers={"Allow": ", ".join(scopes)})
    store = access.open_store(actor, public_id, scopes[method])
    memberships = access.memberships_of(actor)
    role = Role(memberships.values_list("role", flat=True).get(store=store))
    mine = memberships.select_related("store").order_by("store__name", "store__public_id")
    stores = tuple(membership.store for membership in mine[:STORES_IN_SWITCHER])
    return Frame(request, actor, store, role, section, stores)


def _to_sign_in(request: HttpRequest) -> HttpResponse:
    if request.headers.get("HX-Request") == "true":
        # A part of a page was asked for after the session ended: the browser goes there as a whole.
        return HttpResponseClientRedirect(redirect_to_login(_whole_page(request)).url)
    return redirect_to_login(request.get_full_path())


def _whole_page(request: HttpRequest) -> str:
    """The address in the browser's bar, as far as it is ours: where to come back to."""
    shown: str | None = getattr(request, "htmx", None) and request.htmx.current_url_abs_path  # type: ignore[attr-defined]
    return shown or request.get_full_path()
