"""Signing in, with a limit on how often a name may be tried from one address."""

import hashlib
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from memoryconsole.errors import TooManyRequests
from memoryconsole.models import SignInFailure
from memoryconsole.pages import error_page

# Room for a person who has forgotten a password, none for a list of them.
MAX_FAILURES = 10
WINDOW = timedelta(minutes=15)


class SignInView(LoginView):
    template_name = "console/sign_in.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Judge the limit before the password: hashing one is the expensive part."""
        wait = seconds_to_wait(_key(request), now=timezone.now())
        if wait:
            return error_page(
                request, TooManyRequests(f"Try again in {wait} seconds", headers={"Retry-After": str(wait)})
            )
        return super().post(request, *args, **kwargs)

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        count_failure(_key(self.request), now=timezone.now())
        return super().form_invalid(form)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        SignInFailure.objects.filter(key=_key(self.request)).delete()
        return super().form_valid(form)


def seconds_to_wait(key: bytes, *, now: datetime) -> int:
    """How long this name and address must wait; 0 when they may try."""
    tried = SignInFailure.objects.filter(key=key, since__gt=now - WINDOW, count__gte=MAX_FAILURES).first()
    return 0 if tried is None else max(1, int((tried.since + WINDOW - now).total_seconds()))


def count_failure(key: bytes, *, now: datetime) -> None:
    SignInFailure.objects.filter(since__lte=now - WINDOW).delete()
    _, first = SignInFailure.objects.get_or_create(key=key, defaults={"count": 1, "since": now})
    if not first:
        SignInFailure.objects.filter(key=key).update(count=F("count") + 1)


def _key(request: HttpRequest) -> bytes:
    name = request.POST.get("username", "").strip().casefold()
    address = request.META.get("REMOTE_ADDR", "")
    return hashlib.sha256(f"{address}\n{name}".encode("utf-8", "surrogatepass")).digest()
