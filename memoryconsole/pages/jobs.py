"""Background work: what waits, runs and ended, and how far it is; files in and out."""

import uuid
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from memoryconsole import jobs
from memoryconsole.errors import BodyTooLarge, ConsoleError, Fault, InvalidCursor, InvalidParameter, NotFound
from memoryconsole.listing import page
from memoryconsole.middleware import content_length
from memoryconsole.models import Job, Scope
from memoryconsole.models.jobs import JobState
from memoryconsole.models.records import storable
from memoryconsole.pages.forms import address, faults_by_field, filled_in, read_form, tidied
from memoryconsole.pages.frame import Frame, store_page
from memoryconsole.services import transfer
from memoryconsole.transfer_api import MULTIPART_BYTES, JobFilters

_NAME_CHARS = 256
# What became of a line, as its job counts it and as the page says it.
COUNTED = {"created": "stored", "duplicate": "there before", "bad": "not taken"}


@store_page("jobs")
@tidied
def listing(request: HttpRequest, frame: Frame) -> HttpResponse:
    """The store's jobs, newest first, a page at a time; the forms to import a file and to export the store."""
    return _listing(request, frame)


def _listing(request: HttpRequest, frame: Frame, refused: ConsoleError | None = None) -> HttpResponse:
    """`refused`: why a file was not taken."""
    context: dict[str, Any] = {
        "given": request.GET.dict(),
        "filtered": bool(filled_in(request).keys() - {"limit", "cursor"}),
        "states": JobState.values,
        "max_import_bytes": settings.MAX_IMPORT_BYTES,
        "file_fault": faults_by_field(refused.errors).get("file", refused.detail) if refused else "",
    }
    status = refused.status if refused else 200
    try:
        query = read_form(JobFilters, request.GET)
        filters = {name: query[name] for name in ("kind", "state") if name in query}
        rows = Job.objects.filter(store=frame.store, **filters).select_related("created_by")
        found, cursor = page(
            rows, query, order=("created_at", "uuid"), list="jobs page", store=frame.store.pk
        )
        context |= {
            "jobs": found,
            "next": address(request, cursor=cursor) if cursor else "",
            "first": address(request, cursor=None) if "cursor" in request.GET else "",
        }
    except (InvalidParameter, InvalidCursor) as fault:
        context["refused"], status = fault, fault.status
    return frame.render("console/jobs.html", context, status=status)


@store_page("jobs", {"GET": Scope.READ, "POST": Scope.OPERATE})
def detail(request: HttpRequest, frame: Frame, job: uuid.UUID) -> HttpResponse:
    """How one job stands; POST cancels it."""
    found = Job.objects.filter(store=frame.store, uuid=job).select_related("created_by").first()
    if found is None:
        raise NotFound("No such job")
    if request.method == "POST":
        if jobs.cancel(found, now=timezone.now()):
            messages.success(request, "The job is cancelled. What it did so far stays done.")
        else:
            messages.warning(request, "This job has ended, or has to finish: it was not cancelled.")
        return redirect("console:job", frame.store.public_id, job)
    waits = found.state in (JobState.QUEUED, JobState.RUNNING)
    context = {
        "job": found,
        "waits": waits,
        "stoppable": waits and jobs.may_cancel(found) and frame.may(Scope.OPERATE),
        "speed": _speed(found, timezone.now()),
        "counts": _counts(found),
        "bad": found.progress.get("counts", {}).get("bad", 0),
        "has_file": transfer.has_file(found),
        "file_name": found.arguments.get("name", "") if found.kind == "import" else "",
    }
    return frame.render("console/job.html", context)


def _counts(job: Job) -> dict[str, int]:
    """What became of an import's lines, in the order a person asks."""
    counts = job.progress.get("counts", {})
    return {said: counts[name] for name, said in COUNTED.items() if name in counts}


def _speed(job: Job, now: datetime) -> int | None:
    """How many a second since it was asked for, waiting included; None where that says nothing."""
    seconds = ((job.finished_at or now) - job.created_at).total_seconds()
    return round(job.done / seconds) if job.done and seconds >= 1 else None


# Exempt from the check that comes before every view: it would read the whole file first. `_take` checks.
@csrf_exempt
@store_page("jobs", {"POST": Scope.WRITE})
def take_file(request: HttpRequest, frame: Frame) -> HttpResponse:
    """Start an import of the file that was sent, and go to its job."""
    limit = settings.MAX_IMPORT_BYTES
    if content_length(request) > limit + MULTIPART_BYTES:
        return _listing(request, frame, BodyTooLarge(f"The file is larger than {limit:,} bytes."))
    return _take(request, frame)


take_file.takes_files = True  # type: ignore[attr-defined]  # FormSizeMiddleware leaves its length to it


@csrf_protect
def _take(request: HttpRequest, frame: Frame) -> HttpResponse:
    try:
        file = _sent_file(request)
    except InvalidParameter as refused:
        return _listing(request, frame, refused)
    name = (file.name or "")[:_NAME_CHARS]
    with transaction.atomic():
        job = transfer.start_import(
            frame.store,
            file.file,  # type: ignore[arg-type]  # whatever the upload handler opened, it reads bytes
            name=name if storable(name) else "",
            declared_by="operator" if frame.may(Scope.DECLARE) else None,
            by=frame.actor.user,
            now=timezone.now(),
        )
    return redirect("console:job", frame.store.public_id, job.uuid)


def _sent_file(request: HttpRequest) -> UploadedFile:
    """The one file of the form. Raises InvalidParameter."""
    files = request.FILES.getlist("file")
    if len(files) != 1:
        raise InvalidParameter("Choose one file.", errors=[Fault("/file", "required", "Choose one file.")])
    if not files[0].size:
        raise InvalidParameter("The file is empty.", errors=[Fault("/file", "blank", "The file is empty.")])
    if files[0].size > settings.MAX_IMPORT_BYTES:
        message = f"The file is larger than {settings.MAX_IMPORT_BYTES:,} bytes."
        raise InvalidParameter(message, errors=[Fault("/file", "max_length", message)])
    return files[0]


@store_page("jobs", {"POST": Scope.READ})
def make_file(request: HttpRequest, frame: Frame) -> HttpResponse:
    """Start an export of everything the store holds, and go to its job."""
    with transaction.atomic():
        job = transfer.start_export(frame.store, by=frame.actor.user, now=timezone.now())
    return redirect("console:job", frame.store.public_id, job.uuid)
