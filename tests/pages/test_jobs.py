"""Jobs: how they stand, files in and out, and cancelling."""

import json
import re
import uuid
from io import BytesIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from memoryconsole import jobs
from memoryconsole.models import Job, JobChunk, Record, Role
from memoryconsole.pages import jobs as pages


def text_of(answer):
    return answer.content.decode()


def file_of(*lines, name="notes.ndjson"):
    body = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return SimpleUploadedFile(name, body.encode(), content_type="application/x-ndjson")


def test_a_file_is_imported_and_its_bad_lines_are_told(console, at, store, run_jobs):
    sent = file_of(
        {"content": "the winch froze"}, "no json <script>", {"content": 5}, {"content": "the lamp is out"}
    )
    answer = console.post(at("jobs/import"), {"file": sent}, follow=True)
    waiting = text_of(answer)
    assert "notes.ndjson" in waiting
    assert 'hx-trigger="every 2s"' in waiting
    assert '<noscript><meta http-equiv="refresh"' in waiting
    run_jobs(store)
    done = text_of(console.get(answer.redirect_chain[-1][0]))
    assert "every 2s" not in done
    assert "http-equiv" not in done
    assert re.search(r"<dt>stored</dt><dd>2</dd>", done)
    assert re.findall(r'class="number" data-label="Line">(\d+)<', done) == ["2", "3"]
    assert "<script>" not in done.split("<main")[1]
    assert Record.objects.live().filter(store=store).count() == 2
    assert ">2</a>" in text_of(console.get(at()))


def test_an_export_gives_a_file_that_an_import_takes_back(console, at, store, say, run_jobs, ada, sign_in):
    from tests.conftest import make_store

    say("the winch froze")
    assert "Documents, claims, facts and merges of entities are not in it, nor payloads" in text_of(
        console.get(at("jobs"))
    )
    address = console.post(at("jobs/export"))["Location"]
    run_jobs(store)
    link = re.search(r'href="([^"]+)" download', text_of(console.get(address)))[1]
    file = b"".join(console.get(link).streaming_content)
    other = make_store(ada, "pantry")
    console.post(f"/stores/{other.public_id}/jobs/import", {"file": SimpleUploadedFile("a.ndjson", file)})
    run_jobs(other)
    assert Record.objects.get(store=other).content == "the winch froze"
    JobChunk.objects.filter(store=store).delete()
    assert "no longer kept" in text_of(console.get(address))


@pytest.mark.parametrize(
    ("sent", "said"),
    [({}, "Choose one file."), ({"file": SimpleUploadedFile("e", b"")}, "The file is empty.")],
)
def test_a_form_without_a_file_says_so(console, at, store, sent, said):
    answer = console.post(at("jobs/import"), sent)
    assert answer.status_code == 400
    assert said in text_of(answer)
    assert not Job.objects.filter(store=store).exists()


def test_a_file_too_large_is_refused_unread(console, at, store, settings):
    settings.MAX_IMPORT_BYTES = 1024
    small = console.post(at("jobs/import"), {"file": SimpleUploadedFile("a", b"x" * 1025)})
    assert small.status_code == 400

    class Unread(BytesIO):
        def read(self, *_):
            raise AssertionError("the body was read")

    large = console.generic(
        "POST", at("jobs/import"), b"", content_type="multipart/form-data; boundary=x",
        CONTENT_LENGTH=str(1024 + pages.MULTIPART_BYTES + 1), **{"wsgi.input": Unread()},
    )  # fmt: skip
    assert large.status_code == 413
    assert "larger than 1,024 bytes" in text_of(large)
    assert not Job.objects.filter(store=store).exists()


def test_a_file_needs_the_csrf_token_and_the_scope(ada, ben, join, sign_in, at, store):
    assert (
        sign_in(ada, enforce_csrf_checks=True).post(at("jobs/import"), {"file": file_of({})}).status_code
        == 403
    )
    assert sign_in(ada, enforce_csrf_checks=True).post(at("jobs/export")).status_code == 403
    viewer = sign_in(join(ben, Role.VIEWER))
    assert viewer.post(at("jobs/import"), {"file": file_of({"content": "x"})}).status_code == 403
    assert 'type="file"' not in text_of(viewer.get(at("jobs")))
    assert not Job.objects.filter(store=store).exists()


def test_the_csrf_token_of_the_page_lets_a_file_in(ada, sign_in, at, store):
    browser = sign_in(ada, enforce_csrf_checks=True)
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', text_of(browser.get(at("jobs"))))[1]
    sent = {"file": file_of({"content": "x"}), "csrfmiddlewaretoken": token}
    assert browser.post(at("jobs/import"), sent).status_code == 302
    assert Job.objects.filter(store=store, kind="import").count() == 1


def test_declarations_in_a_file_need_the_scope_to_declare(console, ben, join, sign_in, at, store):
    sign_in(join(ben, Role.OPERATOR)).post(at("jobs/import"), {"file": file_of({"content": "x"})})
    assert Job.objects.get(store=store).arguments["declared_by"] is None
    console.post(at("jobs/import"), {"file": file_of({"content": "x"})})
    assert Job.objects.filter(store=store).latest("pk").arguments["declared_by"] == "operator"


def test_a_job_that_may_be_cancelled_is_and_one_that_must_finish_is_not(
    console, at, store, ada, ben, join, sign_in
):
    now = timezone.now()
    free, owed = (jobs.start(store, kind, {}, by=ada, now=now) for kind in ("export", "erase"))
    assert "Cancel the job" in text_of(console.get(at(f"jobs/{free.uuid}")))
    assert "Cancel the job" not in text_of(console.get(at(f"jobs/{owed.uuid}")))
    viewer = sign_in(join(ben, Role.VIEWER))
    assert "Cancel the job" not in text_of(viewer.get(at(f"jobs/{free.uuid}")))
    assert viewer.post(at(f"jobs/{free.uuid}")).status_code == 403
    assert "is cancelled" in text_of(console.post(at(f"jobs/{free.uuid}"), follow=True))
    assert "was not cancelled" in text_of(console.post(at(f"jobs/{owed.uuid}"), follow=True))
    states = dict(Job.objects.filter(store=store).values_list("kind", "state"))
    assert states == {"export": "cancelled", "erase": "queued"}


def test_a_failed_job_says_why(console, at, store, ada):
    job = jobs.start(store, "export", {}, by=ada, now=timezone.now())
    Job.objects.filter(pk=job.pk).update(state="failed", message="OSError on attempt 5", done=40, total=100)
    shown = text_of(console.get(at(f"jobs/{job.uuid}")))
    assert "OSError on attempt 5" in shown
    assert '<progress class="bar" max="100" value="40"' in shown
    assert "40 of 100 lines" in shown


def test_a_job_of_another_store_is_not_found_here(console, at, ada):
    from tests.conftest import make_store

    job = jobs.start(make_store(ada, "pantry"), "embed", {}, by=ada, now=timezone.now())
    assert console.get(at(f"jobs/{job.uuid}")).status_code == 404
    assert console.get(at(f"jobs/{uuid.uuid4()}")).status_code == 404


def test_the_list_is_filtered_and_paged_by_its_address(console, at, store, ada):
    now = timezone.now()
    made = [jobs.start(store, "embed", {}, by=ada, now=now) for _ in range(5)]
    jobs.start(store, "erase", {}, by=ada, now=now)
    address, seen = at("jobs") + "?kind=embed&limit=2", []
    while address:
        shown = text_of(console.get(address))
        seen += re.findall(r'href="[^"]+/jobs/([0-9a-f-]{36})"', shown)
        follow = re.search(r'href="([^"]+)" rel="next"', shown)
        address = follow and follow[1].replace("&amp;", "&")
    assert sorted(seen) == sorted(str(job.uuid) for job in made)
    assert "No job passes these filters" in text_of(console.get(at("jobs"), {"state": "done"}))
    bad = console.get(at("jobs"), {"state": "asleep"})
    assert bad.status_code == 400
    assert 'role="alert"' in text_of(bad)


def test_speed_is_told_only_where_it_says_something(store, ada):
    from datetime import timedelta

    now = timezone.now()
    job = jobs.start(store, "import", {}, by=ada, now=now)
    job.done = 500
    assert pages._speed(job, now) is None
    assert pages._speed(job, now + timedelta(seconds=10)) == 50
    job.finished_at = now + timedelta(seconds=5)
    assert pages._speed(job, now + timedelta(seconds=99)) == 100
