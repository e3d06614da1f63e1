"""Files in and out, and the list of jobs: imports, exports, what they made."""

import hashlib
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponseBase, StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from rest_framework import parsers, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memoryconsole import access, errors, shapes
from memoryconsole.api import find_job
from memoryconsole.declare_api import declared_by
from memoryconsole.errors import Fault, InvalidParameter
from memoryconsole.idempotency import once
from memoryconsole.listing import PageIn, page
from memoryconsole.middleware import content_length
from memoryconsole.models import Job, Scope, Store
from memoryconsole.models.jobs import JobState
from memoryconsole.openapi import describe
from memoryconsole.serializers import Choice, StrictSerializer, Text
from memoryconsole.services import transfer
from memoryconsole.views import ConsoleView

NDJSON = "application/x-ndjson"
# Of a multipart body, what stands around the file: boundaries, headers, the CSRF token.
MULTIPART_BYTES = 64 * 1024
_READ_BYTES = 1024 * 1024


class JobFilters(PageIn):
    kind = Text(required=False)
    state = Choice(choices=JobState.choices, required=False)


class ImportIn(StrictSerializer):
    """`name`: the file's, to show."""

    name = Text(required=False)


class ImportForm(serializers.Serializer[Any]):
    file = serializers.FileField()


class NdjsonParser(parsers.BaseParser):
    """Hands the body on unread: it may be larger than memory."""

    media_type = NDJSON

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        return stream


class JobsApi(ConsoleView):
    scopes = {"GET": Scope.READ}

    @describe("list_jobs", 200, "{results, next_cursor}", parameters=[JobFilters])
    def get(self, request: Request, store: str) -> Response:
        """List the store's jobs, newest first."""
        query = self.read_query(JobFilters)
        opened = self.open_store(store)
        filters = {name: query[name] for name in ("kind", "state") if name in query}
        jobs = Job.objects.filter(store=opened, **filters)
        # A write may start several at one instant.
        found, cursor = page(jobs, query, order=("created_at", "uuid"), list="jobs", store=opened.pk)
        files = transfer.with_files(found)
        shown = [shapes.job_shape(job, has_file=job.pk in files) for job in found]
        return Response({"results": shown, "next_cursor": cursor})


class ImportsApi(ConsoleView):
    takes_files = True  # FormSizeMiddleware leaves the length to `_check_length`
    scopes = {"POST": Scope.WRITE}
    parser_classes = [NdjsonParser, parsers.MultiPartParser]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        # Before anybody is known: a session's CSRF check reads a form to its end.
        _check_length(request)
        super().initial(request, *args, **kwargs)

    @describe(
        "start_import",
        202,
        "the job",
        request={NDJSON: OpenApiTypes.BINARY, "multipart/form-data": ImportForm},
        parameters=[ImportIn],
        repeatable=True,
    )
    def post(self, request: Request, store: str) -> Response:
        """Take in a file of lines, as a job: what an export made, or one record a line."""
        name = self.read_query(ImportIn).get("name", "")
        _check_body(request)
        opened = self.open_store(store)
        may_declare = Scope.DECLARE in access.scopes_on(self.actor, opened)
        with _received(request) as (file, sent_name, digest):

            def effect() -> tuple[int, dict[str, Any]]:
                job = transfer.start_import(
                    opened,
                    file,
                    name=name or sent_name,
                    declared_by=declared_by(self.actor) if may_declare else None,
                    by=self.actor.user,
                    now=timezone.now(),
                )
                return 202, {"id": str(job.uuid)}

            _, kept = once(request, self.actor, opened, "imports", effect, digest=digest)
        return _accepted(opened, kept["id"])


def _check_body(request: Request) -> None:
    """Raises UnsupportedMediaType, and InvalidParameter for a body without a length."""
    if request.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise errors.UnsupportedMediaType("Send the file as it is, without a Content-Encoding")
    if _media_type(request) not in (NDJSON, "multipart/form-data"):
        raise errors.UnsupportedMediaType(f"Send {NDJSON}, or multipart/form-data with a file")
    if content_length(request) == 0:
        # A chunked body has no length, and its end cannot be told from a broken connection's.
        message = "Send the file as the body, with its length."
        raise InvalidParameter(message, errors=[Fault("Content-Length", "required", message)])


def _check_length(request: Request) -> None:
    """Raises BodyTooLarge."""
    limit = settings.MAX_IMPORT_BYTES
    extra = 0 if _media_type(request) == NDJSON else MULTIPART_BYTES
    if content_length(request) > limit + extra:
        raise errors.BodyTooLarge(f"At most {limit} bytes")


def _media_type(request: Request) -> str:
    return str(request.content_type or "").partition(";")[0].strip().lower()


@contextmanager
def _received(request: Request) -> Iterator[tuple[BinaryIO, str, bytes]]:
    """The file that was sent, on disk and at its beginning, the name it was sent with, and its SHA-256.

    It is whole before anything is stored: a slow sender holds no transaction open.
    """
    body = request.data
    if _media_type(request) == NDJSON:
        with tempfile.TemporaryFile() as file:
            digest, length = _copy(body, file)
            if length != content_length(request):
                message = "The body ended early."
                raise InvalidParameter(message, errors=[Fault("Content-Length", "contradiction", message)])
            yield file, "", digest
        return
    sent = _sent_file(request)
    if (sent.size or 0) > settings.MAX_IMPORT_BYTES:
        raise errors.BodyTooLarge(f"At most {settings.MAX_IMPORT_BYTES} bytes")
    received: Any = sent.file
    digest, _ = _copy(received)
    received.seek(0)
    yield received, _shown(sent.name or ""), digest


def _sent_file(request: Request) -> UploadedFile:
    """The one file of a form. Raises InvalidParameter."""
    unknown = sorted({*request.data} - {"file", "csrfmiddlewaretoken"})
    if unknown:
        raise InvalidParameter(
            "Only a file is taken",
            errors=[Fault(f"/{name}", "unknown", "No such member.") for name in unknown[:50]],
        )
    files = request.FILES.getlist("file")
    if len(files) != 1:
        raise InvalidParameter("Send one file", errors=[Fault("/file", "required", "Send one file.")])
    return files[0]


def _copy(source: Any, target: BinaryIO | None = None) -> tuple[bytes, int]:
    """Read to the end: (SHA-256, bytes). What was read is at the target's beginning."""
    digest, length = hashlib.sha256(), 0
    while part := source.read(_READ_BYTES):
        digest.update(part)
        length += len(part)
        if target is not None:
            target.write(part)
    if target is not None:
        target.seek(0)
    return digest.digest(), length


def _shown(name: str) -> str:
    """A sender's file name as PostgreSQL can hold it."""
    return "".join(char for char in name[:256] if char != "\0" and not "\ud800" <= char <= "\udfff")


def _accepted(store: Store, job_id: str) -> Response:
    job = Job.objects.get(store=store, uuid=job_id)
    # A repeated request is told of the job as it is now, which may have made its file.
    body = shapes.job_shape(job, has_file=transfer.has_file(job))
    return Response(body, status=202, headers={"Location": f"/api/v1/jobs/{job.uuid}"})


class ExportsApi(ConsoleView):
    scopes = {"POST": Scope.READ}

    @describe("start_export", 202, "the job", request=StrictSerializer, repeatable=True)
    def post(self, request: Request, store: str) -> Response:
        """Write everything in the store into a file, as a job."""
        self.read_body(StrictSerializer)
        opened = self.open_store(store)

        def effect() -> tuple[int, dict[str, Any]]:
            return 202, {
                "id": str(transfer.start_export(opened, by=self.actor.user, now=timezone.now()).uuid)
            }

        _, kept = once(request, self.actor, opened, "exports", effect)
        return _accepted(opened, kept["id"])


class ExportApi(ConsoleView):
    scopes = {"GET": Scope.READ}

    @describe("export_store", 200, "one JSON object a line", media_type=NDJSON)
    def get(self, request: Request, store: str) -> HttpResponseBase:
        """Everything in the store, streamed from one snapshot."""
        opened = self.open_store(store)
        return file_response(request, transfer.stream_export(opened), opened)


class JobFileApi(ConsoleView):
    scopes = {"GET": Scope.READ}

    @describe("read_job_file", 200, "one JSON object a line", media_type=NDJSON)
    def get(self, request: Request, job: uuid.UUID) -> HttpResponseBase:
        """The file an export made."""
        found = find_job(self.actor, job, Scope.READ)
        parts = transfer.file_of(found)
        if parts is None:
            raise errors.NotFound("This job has no file")
        return file_response(request, parts, found.store)


def file_response(request: Any, parts: Iterator[bytes], store: Store) -> HttpResponseBase:
    """A download of lines, named after the store."""
    # HEAD has no body, and nothing that would end a snapshot.
    body = parts if request.method == "GET" else iter(())
    response = StreamingHttpResponse(body, content_type=NDJSON)
    response["Content-Disposition"] = f'attachment; filename="{store.public_id}.ndjson"'
    response["Cache-Control"] = "no-store"
    return response
