"""Imports, exports and the list of jobs over HTTP."""

import gzip
import io
import json
import re
import uuid

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone
from rest_framework.test import APIClient

from memoryconsole import jobs
from memoryconsole.models import Job, JobChunk, Membership, Record, Role, Scope
from memoryconsole.services import forget
from tests.conftest import make_client, make_store, url
from tests.services.transfer_world import exported, fill, shape

NDJSON = "application/x-ndjson"
PLAIN = b'{"content": "one"}\n{"content": "two"}\n{"content": ""}\n'


def send(client, store, file=PLAIN, query="", media_type=NDJSON, **headers):
    return client.generic("POST", url(store, "/imports") + query, file, media_type, **headers)


def body_of(response):
    return b"".join(response.streaming_content)


def finished(client, job):
    jobs.run(Job.objects.get(uuid=job["id"]).pk)
    return client.get(f"/api/v1/jobs/{job['id']}").json()


def test_a_file_is_sent_as_the_body_and_its_job_tells_what_became_of_it(api, store):
    answer = send(api, store, query="?name=notes.ndjson")
    job = answer.json()
    assert answer.status_code == 202
    assert answer["Location"] == f"/api/v1/jobs/{job['id']}"
    assert (job["kind"], job["state"], job["name"], job["file"]) == ("import", "queued", "notes.ndjson", None)
    told = finished(api, job)
    assert (told["state"], told["done"], told["total"]) == ("done", 3, 3)
    assert told["counts"] == {"created": 2, "duplicate": 0, "bad": 1}
    assert told["message"] == "2 created, 0 duplicate, 1 bad"
    assert [(e["line"], e["code"], e["pointer"]) for e in told["errors"]] == [(3, "blank", "/content")]
    assert Record.objects.filter(store=store).count() == 2


def test_a_file_is_sent_in_a_form_too(api, store):
    upload = SimpleUploadedFile("灯台.ndjson", PLAIN)
    answer = api.post(url(store, "/imports"), {"file": upload}, format="multipart")
    assert answer.status_code == 202, answer.content
    assert answer.json()["name"] == "灯台.ndjson"
    assert finished(api, answer.json())["counts"]["created"] == 2


def test_a_signed_in_person_needs_the_csrf_token(ada, store):
    client = APIClient(enforce_csrf_checks=True)
    client.login(username=ada.username, password="correct horse")
    assert send(client, store).status_code == 403


@pytest.mark.parametrize(
    ("data", "pointer"),
    [
        ({}, "/file"),
        ({"file": "text"}, "/file"),
        ({"file": SimpleUploadedFile("a", b"x"), "other": "y"}, "/other"),
    ],
)
def test_a_form_without_a_file_or_with_more_is_refused(data, pointer, api, store):
    answer = api.post(url(store, "/imports"), data, format="multipart")
    assert answer.status_code == 400
    assert pointer in [fault["pointer"] for fault in answer.json()["errors"]]
    assert not Job.objects.filter(store=store).exists()


@pytest.mark.parametrize("media_type", ["application/json", "text/plain", "application/octet-stream", ""])
def test_another_media_type_is_refused(media_type, api, store):
    answer = send(api, store, media_type=media_type)
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
    assert NDJSON in answer.json()["detail"]


@pytest.mark.parametrize("coding", ["gzip", "br", "gzip, identity", "GZIP"])
def test_a_packed_body_is_refused_and_not_read_as_lines(coding, api, store):
    answer = send(api, store, gzip.compress(PLAIN), HTTP_CONTENT_ENCODING=coding)
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
    assert not Job.objects.filter(store=store).exists()
    assert send(api, store, HTTP_CONTENT_ENCODING="identity").status_code == 202


def test_a_body_without_a_length_is_refused(api, store):
    answer = send(api, store, b"")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "Content-Length"


def test_a_body_that_ends_early_leaves_nothing(api, store):
    answer = send(api, store, CONTENT_LENGTH=str(len(PLAIN) + 5), **{"wsgi.input": io.BytesIO(PLAIN)})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "Content-Length"
    assert not Job.objects.filter(store=store).exists()
    assert not JobChunk.objects.filter(store=store).exists()


@pytest.mark.parametrize("form", [False, True])
def test_a_file_over_the_limit_is_413_and_one_at_it_is_taken(form, api, store, settings):
    settings.MAX_IMPORT_BYTES = len(PLAIN)

    def status(file):
        if form:
            upload = {"file": SimpleUploadedFile("a.ndjson", file)}
            return api.post(url(store, "/imports"), upload, format="multipart").status_code
        return send(api, store, file).status_code

    assert status(PLAIN) == 202
    assert status(PLAIN + b" ") == 413


def test_a_file_may_be_larger_than_other_bodies(api, store, settings):
    settings.MAX_BODY_BYTES = settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 10
    assert send(api, store).status_code == 202


def test_the_same_key_and_file_is_one_import(api, store):
    first = send(api, store, HTTP_IDEMPOTENCY_KEY="k")
    assert send(api, store, HTTP_IDEMPOTENCY_KEY="k").json()["id"] == first.json()["id"]
    other = send(api, store, PLAIN + b"\n", HTTP_IDEMPOTENCY_KEY="k")
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")
    assert Job.objects.filter(store=store).count() == 1


@pytest.mark.parametrize("query", ["?nam=x", "?name=a&name=b", "?name=" + "x" * 257, "?name=%00"])
def test_a_wrong_name_is_refused(query, api, store):
    assert send(api, store, query=query).status_code == 400


def test_an_operator_imports_records_and_no_declarations(ada, ben, store):
    fill(store, ada)
    attic = make_store(ada, "attic")
    Membership.objects.create(store=attic, user=ben, role=Role.OPERATOR)
    client = make_client(ben, attic)
    told = finished(client, send(client, attic, exported(store)).json())
    assert {error["code"] for error in told["errors"]} == {"not_permitted"}
    admin = make_client(ada, attic)
    again = finished(admin, send(admin, attic, exported(store)).json())
    assert again["errors"] == []
    assert (again["counts"]["duplicate"], again["counts"]["bad"]) == (told["counts"]["created"], 0)
    assert shape(attic) == shape(store)


def test_the_store_is_streamed_as_lines_that_an_import_takes_back(api, ada, store):
    fill(store, ada)
    answer = api.get(url(store, "/export"))
    assert (answer.status_code, answer["Content-Type"]) == (200, NDJSON)
    assert answer["Content-Disposition"] == f'attachment; filename="{store.public_id}.ndjson"'
    file = body_of(answer)
    assert file == exported(store)
    attic = make_store(ada, "attic")
    client = make_client(ada, attic)
    assert finished(client, send(client, attic, file).json())["state"] == "done"
    assert body_of(client.get(url(attic, "/export"))) == file


def test_an_export_is_a_job_with_a_file(api, ada, store, say):
    say("one", "two")
    key = {"HTTP_IDEMPOTENCY_KEY": "nightly"}
    answer = api.post(url(store, "/exports"), {}, format="json", **key)
    job = answer.json()
    assert (answer.status_code, job["kind"], job["file"]) == (202, "export", None)
    link = f"/api/v1/jobs/{job['id']}/file"
    assert api.get(link).status_code == 404
    told = finished(api, job)
    assert (told["state"], told["file"], told["done"], told["total"]) == ("done", link, 4, 4)
    # Whoever is told of the job is told of its file.
    assert api.post(url(store, "/exports"), {}, format="json", **key).json() == told
    assert api.post(f"/api/v1/jobs/{job['id']}/cancel", {}, format="json").json() == told
    file = api.get(link)
    assert (file.status_code, file["Content-Type"]) == (200, NDJSON)
    assert body_of(file) == exported(store)
    assert body_of(api.head(link)) == b""
    forget.delete_record(store, 1, by=ada, now=timezone.now())
    assert api.get(link).status_code == 404
    assert api.get(f"/api/v1/jobs/{job['id']}").json()["file"] is None


def test_an_imports_file_is_not_given_out(api, store):
    job = send(api, store).json()
    assert api.get(f"/api/v1/jobs/{job['id']}/file").status_code == 404
    finished(api, job)
    assert api.get(f"/api/v1/jobs/{job['id']}/file").status_code == 404


def test_a_file_of_a_foreign_store_is_an_unknown_one(api, store, cleo, say):
    say("the spare key")
    job = finished(api, api.post(url(store, "/exports"), {}, format="json").json())
    foreign = make_client(cleo, make_store(cleo)).get(f"/api/v1/jobs/{job['id']}/file")
    unknown = make_client(cleo, make_store(cleo)).get(f"/api/v1/jobs/{uuid.uuid4()}/file")
    assert (foreign.status_code, unknown.status_code) == (404, 404)
    assert foreign.json()["detail"] == unknown.json()["detail"]


def test_jobs_are_listed_newest_first_and_paged(api, store, ada):
    now = timezone.now()
    # All at one instant.
    started = [jobs.start(store, "erase", {}, by=ada, now=now) for _ in range(3)]
    last = send(api, store).json()
    listed, cursor = [], ""
    while cursor is not None:
        answer = api.get(url(store, "/jobs") + f"?limit=1{cursor and '&cursor=' + cursor}").json()
        listed += answer["results"]
        cursor = answer["next_cursor"]
    assert listed[0]["id"] == last["id"]
    assert {job["id"] for job in listed[1:]} == {str(job.uuid) for job in started}
    assert len(listed) == 4
    assert [job["kind"] for job in api.get(url(store, "/jobs?kind=import")).json()["results"]] == ["import"]
    assert len(api.get(url(store, "/jobs?state=done")).json()["results"]) == 0
    assert api.get(url(store, "/jobs?state=gone")).status_code == 400


def test_a_viewer_exports_and_does_not_import(ada, ben, store):
    Membership.objects.create(store=store, user=ben, role=Role.VIEWER)
    client = make_client(ben, store)
    assert client.post(url(store, "/exports"), {}, format="json").status_code == 202
    assert send(client, store).status_code == 403
    assert send(make_client(ada, store, scopes=[Scope.READ]), store).status_code == 403


def test_no_answer_of_these_quotes_the_file(api, store):
    job = send(api, store, b'{"content": "walrus", "walrus\n{"role": "walrus"}\n').json()
    told = finished(api, job)
    assert told["counts"]["bad"] == 2
    assert not re.search("walrus", json.dumps(told))
