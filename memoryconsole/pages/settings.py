"""A store's settings: what is in force, whose value it is, and since when; the audit policy may be changed here."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings as installation
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone

from memoryconsole import registry
from memoryconsole.environment import RECONSTRUCT
from memoryconsole.errors import InvalidParameter, StaleResource
from memoryconsole.models import Membership, Scope, Store, StoreSettings
from memoryconsole.models.stores import Audit
from memoryconsole.pages.forms import faults_by_field, read_form
from memoryconsole.pages.frame import Frame, store_page
from memoryconsole.serializers import Whole
from memoryconsole.services.stores import change_store
from memoryconsole.shapes import StorePatch
from memoryconsole.snapshot import snapshot

# How far back a page looks for who set a value. Older changes are said to be older, not guessed.
HISTORY = 200
MEMBERS_SHOWN = 100

AUDIT_MEANS = {
    Audit.REQUIRED: "Every answer leaves a trace; when none can be written, the question is refused (503).",
    Audit.BEST_EFFORT: "Every answer should leave a trace; answers without one are given all the same, and counted.",
    Audit.OFF: "No answer leaves a trace.",
}


class AuditForm(StorePatch):
    """The part of a store's settings that this page changes, and the version the visitor looked at."""

    version = Whole(min_value=1)


@dataclass(frozen=True, slots=True)
class Policy:
    """One setting of reconstruct: what is in force, and whose it is. `set_at` None: before what the page reads."""

    name: str
    meaning: str
    installed: int | None
    own: int | None
    set_at: datetime | None = None
    set_by: str = ""

    @property
    def value(self) -> int | None:
        return self.installed if self.own is None else self.own


@store_page("settings", {"GET": Scope.READ, "POST": Scope.OPERATE})
def settings_page(request: HttpRequest, frame: Frame) -> HttpResponse:
    """GET shows the settings; POST changes the audit policy and how long traces are kept."""
    if request.method != "POST":
        return _page(frame, {}, None)
    try:
        changes = read_form(AuditForm, request.POST)
        version = changes.pop("version")
        # An empty field is the installation's value.
        changes.setdefault("trace_days", None)
        change_store(frame.store, frame.actor, changes, if_version=version, now=timezone.now())
    except (InvalidParameter, StaleResource) as refused:
        return _page(frame, request.POST.dict(), refused)
    messages.success(request, "The audit settings are changed.")
    return redirect("console:settings", frame.store.public_id)


def _page(
    frame: Frame, given: dict[str, str], refused: InvalidParameter | StaleResource | None
) -> HttpResponse:
    store = frame.store
    with snapshot():
        history = list(
            StoreSettings.objects.filter(store=store)
            .select_related("changed_by")
            .order_by("-version")[:HISTORY]
        )
        members = Membership.objects.filter(store=store).select_related("user").order_by("user__username")
        shown = list(members[:MEMBERS_SHOWN])
    own = history[0].overrides() if history else {}
    context = {
        "policies": policies(history),
        "contradictions": registry.policy_faults(installation.RECONSTRUCT, own) if own else [],
        "members": shown if frame.may(Scope.OPERATE) else [],
        "audits": [(audit.value, AUDIT_MEANS[audit]) for audit in Audit],
        "audit_means": AUDIT_MEANS[Audit(store.audit)],
        "trace_days": _trace_days(store),
        "installed_trace_days": installation.TRACE_DAYS,
        "given": given or {"audit": store.audit, "trace_days": str(store.trace_days or "")},
        "refused": refused,
        "faults": faults_by_field(refused.errors) if refused else {},
    }
    return frame.render("console/settings.html", context, status=refused.status if refused else 200)


def _trace_days(store: Store) -> int:
    return int(installation.TRACE_DAYS if store.trace_days is None else store.trace_days)


def policies(history: Sequence[StoreSettings]) -> list[Policy]:
    """Every setting of reconstruct with who set it. `history`: the store's settings, newest first."""
    found = []
    for variable in RECONSTRUCT:
        own = getattr(history[0], variable.name) if history else None
        change = _set_by(history, variable.name) if own is not None else None
        found.append(
            Policy(
                name=variable.name,
                meaning=variable.meaning,
                installed=installation.RECONSTRUCT[variable.name],
                own=own,
                set_at=change.changed_at if change else None,
                set_by=change.changed_by.username if change and change.changed_by else "",
            )
        )
    return found


def _set_by(history: Sequence[StoreSettings], name: str) -> StoreSettings | None:
    """The change that gave a setting the value it has: the oldest of the newest run of equal values."""
    value = getattr(history[0], name)
    first = history[0]
    for change in history:
        if getattr(change, name) != value:
            return first
        first = change
    # The run reaches the end of what was read: it began there only when nothing older exists.
    return first if len(history) < HISTORY else None
