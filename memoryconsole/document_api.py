"""The routes of documents: sources come in, again with newer texts, and are listed with their passages."""

import uuid
from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memoryconsole.idempotency import once
from memoryconsole.listing import PageIn, page
from memoryconsole.models import Scope
from memoryconsole.models.documents import CONVERSATION, VersioningMode
from memoryconsole.openapi import STALE, describe
from memoryconsole.serializers import Choice, Instant, StrictSerializer, Text, Whole
from memoryconsole.services import documents, testimony_reading
from memoryconsole.services.documents import MAX_DOCUMENT_CHARS, NewDocument, NewVersion, StoredVersion
from memoryconsole.shapes import not_blank
from memoryconsole.views import ConsoleView, if_match

# A path or an address of usual length.
MAX_SOURCE_REF_CHARS = 2000
MAX_TITLE_CHARS = 500


class VersionIn(StrictSerializer):
    """A text as its source gives it now. `source_modified_at` is when its claims were said."""

    text = Text(max_length=MAX_DOCUMENT_CHARS, allow_blank=False, validators=[not_blank])
    source_modified_at = Instant(required=False, allow_null=True)
    published_at = Instant(required=False, allow_null=True)


class DocumentIn(VersionIn):
    """`POST /stores/{store}/documents`: (source_kind, source_ref) is one document for good."""

    source_kind = Text(max_length=64, allow_blank=False, validators=[not_blank])
    source_ref = Text(max_length=MAX_SOURCE_REF_CHARS, allow_blank=False, validators=[not_blank])
    title = Text(required=False, max_length=MAX_TITLE_CHARS)
    versioning_mode = Choice(choices=VersioningMode.choices, required=False)
    project_id = Text(required=False)
    channel = Text(required=False)

    def validate_source_kind(self, kind: str) -> str:
        if kind == CONVERSATION:
            raise serializers.ValidationError(
                "Conversations are made with their records.", code="conversation"
            )
        return kind


class DocumentFilters(PageIn):
    source_kind = Text(required=False, max_length=64)
    source_ref = Text(required=False, max_length=MAX_SOURCE_REF_CHARS)
    project_id = Text(required=False)
    channel = Text(required=False)


class PassageFilters(PageIn):
    version = Whole(required=False, min_value=1)


class DocumentsApi(ConsoleView):
    scopes = {"GET": Scope.READ, "POST": Scope.WRITE}

    @describe("list_documents", 200, "{results, next_cursor}", parameters=[DocumentFilters])
    def get(self, request: Request, store: str) -> Response:
        """List documents, sessions included, newest number first."""
        query = self.read_query(DocumentFilters)
        opened = self.open_store(store)
        rows = testimony_reading.documents_of(opened, query)
        found, cursor = page(rows, query, list="documents", store=opened.pk)
        shapes = [testimony_reading.document_shape(row) for row in found]
        return Response({"results": shapes, "next_cursor": cursor})

    @describe(
        "ingest_document",
        201,
        "{id, created, version, version_id, representation_id, passages, claims}",
        request=DocumentIn,
        repeatable=True,
    )
    def post(self, request: Request, store: str) -> Response:
        """Store a source's text: a document, or a newer version of it (200 when it says what it said last)."""
        data = self.read_body(DocumentIn)
        mode = data.get("versioning_mode")
        new = NewDocument(
            source_kind=data["source_kind"],
            source_ref=data["source_ref"],
            version=_version(data),
            title=data.get("title"),
            versioning_mode=VersioningMode(mode) if mode is not None else None,
            project_id=data.get("project_id"),
            channel=data.get("channel"),
        )
        opened = self.open_store(store)

        def effect() -> tuple[int, dict[str, Any]]:
            return _stored(documents.ingest_document(opened, new, by=self.actor.user, now=timezone.now()))

        status, body = once(request, self.actor, opened, "documents", effect)
        return Response(body, status=status)


class DocumentApi(ConsoleView):
    scopes = {"GET": Scope.READ}

    @describe("read_document", 200, "the document")
    def get(self, request: Request, store: str, document: uuid.UUID) -> Response:
        """One document with its versions, and how many claims were taken from it."""
        shape, version = testimony_reading.document_details(self.open_store(store), document)
        return Response(shape, headers={"ETag": f'"{version}"'})


class DocumentVersionsApi(ConsoleView):
    scopes = {"POST": Scope.WRITE}

    @describe(
        "add_version",
        201,
        "{id, created, version, version_id, representation_id, passages, claims}",
        request=VersionIn,
        repeatable=True,
        also=STALE,
    )
    def post(self, request: Request, store: str, document: uuid.UUID) -> Response:
        """Store a newer text of a document (200 when it says what it said last)."""
        new = _version(self.read_body(VersionIn))
        version = if_match(request)
        opened = self.open_store(store)

        def effect() -> tuple[int, dict[str, Any]]:
            return _stored(
                documents.add_version(
                    opened, document, new, if_version=version, by=self.actor.user, now=timezone.now()
                )
            )

        status, body = once(request, self.actor, opened, f"documents/{document}/versions", effect)
        return Response(body, status=status)


class DocumentPassagesApi(ConsoleView):
    scopes = {"GET": Scope.READ}

    @describe("list_passages", 200, "{results, next_cursor}", parameters=[PassageFilters])
    def get(self, request: Request, store: str, document: uuid.UUID) -> Response:
        """List the passages of a version in the text's order; of a session, its records by number."""
        query = self.read_query(PassageFilters)
        opened = self.open_store(store)
        rows, order, shape = testimony_reading.passages_of(opened, document, query.get("version"))
        found, cursor = page(rows, query, order=order, list="passages", store=opened.pk, of=str(document))
        return Response({"results": [shape(row) for row in found], "next_cursor": cursor})


def _version(data: dict[str, Any]) -> NewVersion:
    return NewVersion(
        text=data["text"],
        source_modified_at=data.get("source_modified_at"),
        published_at=data.get("published_at"),
    )


def _stored(result: StoredVersion) -> tuple[int, dict[str, Any]]:
    """What is kept for repeated requests: ids and counts."""
    return 201 if result.created else 200, {
        "id": str(result.document.uuid),
        "created": result.created,
        "version": result.version.version_no,
        "version_id": str(result.version.uuid),
        "representation_id": str(result.version.representation_uuid),
        "passages": result.passages,
        "claims": {"carried": result.followed.carried, "closed": result.followed.closed},
    }
