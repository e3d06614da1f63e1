"""The index follows: a model that failed and came back, a language that changed."""

from importlib import import_module

import pytest
from django.utils import timezone

from memoryconsole import embedding, jobs
from memoryconsole.models import EntryVector, Job
from memoryconsole.services import indexing
from tests.conftest import url


@pytest.fixture
def broken_model(monkeypatch):
    """A model that raises until `mend()` is called."""
    working = embedding.current()

    class Broken:
        name, dimensions, fingerprint = working.name, working.dimensions, working.fingerprint
        broken = True

        def embed(self, texts):
            if self.broken:
                raise ConnectionError("away")
            return working.embed(texts)

    model = Broken()
    monkeypatch.setattr(embedding, "current", lambda: model)
    return model


def test_a_write_during_an_outage_stands_says_so_when_asked_and_is_embedded_later(
    broken_model, api, store, say, run_jobs
):
    say("the walrus sleeps", "the gull cries")
    say("the tide turns")
    assert not EntryVector.objects.filter(store=store).exists()
    # One job waits, however many writes failed.
    assert Job.objects.filter(store=store, kind="embed", state="queued").count() == 1
    body = api.post(url(store, "/reconstruct"), {"query": "walrus"}, format="json").json()
    assert body["items"][0]["content"] == "the walrus sleeps"
    assert (body["advisory"]["degraded"], body["advisory"]["severity"]) == (True, "fault")
    broken_model.broken = False
    run_jobs(store)
    assert EntryVector.objects.filter(store=store).count() == 3
    body = api.post(url(store, "/reconstruct"), {"query": "walrus"}, format="json").json()
    assert "advisory" not in body


def test_a_changed_language_analyses_every_text_again(api, store, say, run_jobs):
    say("Die Fähren fuhren nach den Inseln")

    def found(query):
        body = {"query": query, "limit": 5}
        return [r["ref"] for r in api.post(url(store, "/recall"), body, format="json").json()["results"]]

    answer = api.patch(url(store), {"language": "german"}, format="json")
    assert answer.status_code == 200
    run_jobs(store)
    assert Job.objects.get(store=store, kind="analyse").state == "done"
    assert found("Fähre") == ["mem:1"]
    assert found("Insel") == ["mem:1"]


def test_a_job_that_failed_often_embeds_when_the_model_is_back(broken_model, store, say, run_jobs):
    say("the walrus sleeps")
    for _ in range(jobs.MAX_ATTEMPTS + 1):
        Job.objects.filter(store=store).update(leased_until=None)
        run_jobs(store)
    broken_model.broken = False
    Job.objects.filter(store=store).update(leased_until=None)
    run_jobs(store)
    assert EntryVector.objects.filter(store=store).count() == 1


def test_inline_a_write_after_an_outage_embeds_what_is_missing(broken_model, store, say, settings):
    settings.CELERY_TASK_ALWAYS_EAGER = True
    say("the walrus sleeps")
    broken_model.broken = False
    indexing.embed_later(store, by=None, now=timezone.now())
    assert EntryVector.objects.filter(store=store).count() == 1


def test_slices_are_small_in_bytes_and_each_is_reported(store, say, run_jobs, settings, monkeypatch):
    settings.EMBEDDER = "none"
    say("walrus " * 20, "gull " * 20, "tide", "salt")
    settings.EMBEDDER = "wordllama"
    monkeypatch.setattr(import_module("memoryconsole.search.index"), "_BATCH_BYTES", 100)
    indexing.embed_later(store, by=None, now=timezone.now())
    indexing.analyse_later(store, by=None, now=timezone.now())
    run_jobs(store)
    done = {job.kind: (job.state, job.done) for job in Job.objects.filter(store=store)}
    # The first is larger than a slice and has one of its own; the second is as large as one.
    assert done == {"embed": ("done", 3), "analyse": ("done", 3)}
    assert EntryVector.objects.filter(store=store).count() == 4
