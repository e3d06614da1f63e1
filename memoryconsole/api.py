"""The ground floor's routes: stores, records, summaries, jobs. Each view parses, opens the store, calls one service."""

import uuid
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from memoryconsole import access, errors, jobs, search, shapes
from memoryconsole.declare_api import declared_by
from memoryconsole.idempotency import once
from memoryconsole.listing import PageIn, page
from memoryconsole.models import Job, Record, Scope, Store, Summary
from memoryconsole.openapi import STALE, describe
from memoryconsole.serializers import StrictSerializer
from memoryconsole.services import forget, ingest, stores, transfer
from memoryconsole.services.graph import with_names
from memoryconsole.services.reading import record_details, summary_details
from memoryconsole.times import read_stamp
from memoryconsole.views import ConsoleView, if_match


class StoresApi(ConsoleView):
    # Of the token: there is no store yet to have a role on.
    scopes = {"GET": Scope.READ, "POST": Scope.WRITE}

    @describe("list_stores", 200, "{results, next_cursor}", parameters=[PageIn])
    def get(self, request: Request) -> Response:
        """List the stores the caller may read."""
        query = self.read_query(PageIn)
        bound = {"list": "stores", "actor": self.actor.user.pk}
        found, cursor = page(access.readable(self.actor), query, order="public_id", **bound)
        return Response({"results": [shapes.store_shape(store) for store in found], "next_cursor": cursor})

    @describe("create_store", 201, "the store", request=shapes.StoreIn, repeatable=True)
    def post(self, request: Request) -> Response:
        """Create a store; its id is generated."""
        wanted = self.read_body(shapes.StoreIn)
        stores.check_may_create(self.actor)

        def effect() -> tuple[int, dict[str, Any]]:
            store = stores.create_store(self.actor, now=timezone.now(), **wanted)
            return 201, {"id": store.public_id}

        status, kept = once(request, self.actor, None, "stores", effect)
        # A repeated request is told of the store as it is now, if it still is and the caller may see it.
        made = access.open_store(self.actor, kept["id"], Scope.READ)
        body = shapes.store_shape(made, overrides=stores.overrides_of(made))
        return Response(body, status=status, headers={"ETag": f'"{made.version}"'})


class StoreApi(ConsoleView):
    scopes = {"GET": Scope.READ, "PATCH": Scope.OPERATE, "DELETE": Scope.OPERATE}

    @describe("read_store", 200, "the store and its settings")
    def get(self, request: Request, store: str) -> Response:
        """The store, its settings and its version (`ETag`)."""
        return self._answer(self.open_store(store))

    @describe("change_store", 200, "the store", request=shapes.StorePatch, also=STALE)
    def patch(self, request: Request, store: str) -> Response:
        """Change label, language, audit policy or settings. `If-Match` guards against a change in between."""
        changes = self.read_body(shapes.StorePatch)
        version = if_match(request)
        opened = self.open_store(store)
        changed = stores.change_store(opened, self.actor, changes, if_version=version, now=timezone.now())
        return self._answer(changed)

    @describe("delete_store", 204, "closed", also=STALE)
    def delete(self, request: Request, store: str) -> Response:
        """Close the store at once; what it held is erased in the background."""
        version = if_match(request)
        opened = self.open_store(store)
        forget.delete_store(opened, by=self.actor.user, if_version=version, now=timezone.now())
        return Response(status=204)

    def _answer(self, store: Store) -> Response:
        body = shapes.store_shape(store, overrides=stores.overrides_of(store))
        return Response(body, headers={"ETag": f'"{store.version}"'})


class RecordsApi(ConsoleView):
    scopes = {"GET": Scope.READ, "POST": Scope.WRITE}

    @describe("list_records", 200, "{results, next_cursor}", parameters=[shapes.RecordFilters])
    def get(self, request: Request, store: str) -> Response:
        """List records, newest number first."""
        query = self.read_query(shapes.RecordFilters)
        opened = self.open_store(store)
        rows = filtered_records(opened, query).select_related("session")
        found, cursor = page(rows, query, list="records", store=opened.pk)
        return Response({"results": [shapes.record_shape(row) for row in found], "next_cursor": cursor})

    @describe(
        "store_records",
        201,
        "one {ref, created, version_of?, nodes?, associations?} a row",
        request=shapes.RecordsIn,
        repeatable=True,
    )
    def post(self, request: Request, store: str) -> Response:
        """Store 1 to 1000 records, all or nothing. A record is findable when this has answered."""
        rows = [shapes.new_record(row) for row in self.read_body(shapes.RecordsIn)["records"]]
        opened = self.open_store(store)

        riding = any(row.associations is not None for row in rows)
        may_declare = riding and Scope.DECLARE in access.scopes_on(self.actor, opened)

        def effect() -> tuple[int, dict[str, Any]]:
            stored = ingest.store_records(
                opened,
                rows,
                by=self.actor.user,
                declared_by=declared_by(self.actor) if may_declare else None,
                now=timezone.now(),
            )
            return 201, {"records": [_stored_shape(result) for result in stored]}

        status, body = once(request, self.actor, opened, "records", effect)
        with_names(opened, [row["associations"] for row in body["records"] if "associations" in row])
        return Response(body, status=status)


def _stored_shape(result: ingest.StoredRecord) -> dict[str, Any]:
    shape: dict[str, Any] = {"ref": result.ref, "created": result.created}
    if result.version_of is not None:
        shape["version_of"] = result.version_of
    if result.nodes_queued:
        shape["nodes"] = {"status": "queued"}
    if result.associations is not None:
        # Kept for repeated requests: without texts.
        shape["associations"] = result.associations.shape(names=False)
    return shape


def filtered_records(store: Store, query: dict[str, Any]) -> QuerySet[Record]:
    """The live records that pass the filters of a RecordFilters."""
    rows = Record.objects.live().filter(store=store)
    for name in ("project_id", "channel", "source_id", "message_id"):
        if name in query:
            # A message id is trimmed where it is stored, and so where it is asked for.
            value = query[name].strip() if name == "message_id" else query[name]
            rows = rows.filter(**{name: value})
    if "session_id" in query:
        # Through the foreign key: '' asks for records without a session.
        rows = rows.filter(session__session_id=query["session_id"] or None)
    if "since" in query:
        rows = rows.filter(instant__gte=read_stamp(query["since"]))
    if "until" in query:
        rows = rows.filter(instant__lt=read_stamp(query["until"]))
    if query.get("text"):
        rows = rows.filter(pk__in=search.records_with_words(store, query["text"]))
    return rows


class RecordApi(ConsoleView):
    scopes = {"GET": Scope.READ, "DELETE": Scope.OPERATE}

    @describe("read_record", 200, "the record")
    def get(self, request: Request, store: str, number: int) -> Response:
        """One record: its text, its versions and what supersedes it, its mentions and its nodes' state."""
        return Response(record_details(self.open_store(store), number))

    @describe("delete_record", 202, "{ref, deleted, job}")
    def delete(self, request: Request, store: str, number: int) -> Response:
        """Hide a record at once; it is erased in the background."""
        opened = self.open_store(store)
        job = forget.delete_record(opened, number, by=self.actor.user, now=timezone.now())
        return Response({"ref": f"mem:{number}", "deleted": True, "job": str(job.uuid)}, status=202)


class SummariesApi(ConsoleView):
    scopes = {"GET": Scope.READ, "POST": Scope.WRITE}

    @describe("list_summaries", 200, "{results, next_cursor}", parameters=[shapes.SummaryFilters])
    def get(self, request: Request, store: str) -> Response:
        """List summaries, newest number first."""
        query = self.read_query(shapes.SummaryFilters)
        opened = self.open_store(store)
        rows = Summary.objects.episodes() if query.get("episodes") else Summary.objects.live()
        rows = rows.filter(store=opened)
        if "session_id" in query:
            rows = rows.filter(session__session_id=query["session_id"] or None)
        found, cursor = page(rows.select_related("session"), query, list="summaries", store=opened.pk)
        return Response({"results": [shapes.summary_shape(row) for row in found], "next_cursor": cursor})

    @describe("store_summary", 201, "{ref, created}", request=shapes.SummaryIn, repeatable=True)
    def post(self, request: Request, store: str) -> Response:
        """Store a summary: an episode, or a node of the summary graph."""
        new = shapes.new_summary(self.read_body(shapes.SummaryIn))
        opened = self.open_store(store)

        def effect() -> tuple[int, dict[str, Any]]:
            summary = ingest.store_summary(opened, new, by=self.actor.user, now=timezone.now())
            return 201, {"ref": summary.ref, "created": True}

        status, body = once(request, self.actor, opened, "summaries", effect)
        return Response(body, status=status)


class SummaryApi(ConsoleView):
    scopes = {"GET": Scope.READ, "DELETE": Scope.OPERATE}

    @describe("read_summary", 200, "the summary")
    def get(self, request: Request, store: str, number: int) -> Response:
        """One summary with its ordered sources."""
        return Response(summary_details(self.open_store(store), number))

    @describe("delete_summary", 202, "{ref, deleted, job}")
    def delete(self, request: Request, store: str, number: int) -> Response:
        """Hide a summary at once; it is erased in the background."""
        opened = self.open_store(store)
        job = forget.delete_summary(opened, number, by=self.actor.user, now=timezone.now())
        return Response({"ref": f"ep:{number}", "deleted": True, "job": str(job.uuid)}, status=202)


class JobApi(ConsoleView):
    # The job's own store is looked up; see `find_job`.
    scopes = {"GET": Scope.READ}

    @describe("read_job", 200, "{state, done, total, message, errors}")
    def get(self, request: Request, job: uuid.UUID) -> Response:
        """How a job stands."""
        found = find_job(self.actor, job, Scope.READ)
        return Response(shapes.job_shape(found, has_file=transfer.has_file(found)))


class JobCancelApi(ConsoleView):
    scopes = {"POST": Scope.OPERATE}

    @describe("cancel_job", 200, "the job", request=StrictSerializer)
    def post(self, request: Request, job: uuid.UUID) -> Response:
        """Cancel a job that has not ended. Ended ones stay as they are, and so do those that must finish."""
        self.read_body(StrictSerializer)
        found = find_job(self.actor, job, Scope.OPERATE)
        jobs.cancel(found, now=timezone.now())
        found.refresh_from_db()
        return Response(shapes.job_shape(found, has_file=transfer.has_file(found)))


def find_job(actor: access.Actor, job: uuid.UUID, scope: Scope) -> Job:
    """The job, when the actor may do `scope` on its store. Raises NotFound, NotPermitted."""
    reachable = access.memberships_of(actor).values("store")
    found = Job.objects.select_related("store").filter(uuid=job, store__in=reachable).first()
    if found is None:
        raise errors.NotFound("No such job")
    access.open_store(actor, found.store.public_id, scope)
    return found
