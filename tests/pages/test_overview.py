"""The overview: what is stored, what is being done, what was asked, and what is wrong."""

import re

import pytest
from django.utils import timezone

from memoryconsole import embedding, jobs
from memoryconsole.models import IndexEntry, Job, LostTraces, Role
from memoryconsole.models.search import Part
from memoryconsole.services import ingest
from tests.api.expanding import Graph
from tests.api.test_query_counts import chain


def shown(console, at):
    answer = console.get(at())
    assert answer.status_code == 200
    return answer.content.decode()


def figures(page):
    pairs = re.findall(r"<dt>([\w ]+)</dt><dd>(?:<a[^>]*>)?([\d,—]+)", page)
    return dict(pairs)


def test_an_empty_store_says_how_to_fill_it(console, at, ben, join, sign_in):
    page = shown(console, at)
    assert "Three ways to fill it" in page
    assert "/records" in page
    assert "manage.py demo" in page
    assert figures(page)["Records"] == "0"
    viewer = shown(sign_in(join(ben, Role.VIEWER)), at)
    assert "Import a file" not in viewer


def test_counts_are_the_totals_of_the_lists(console, at, say, store, ada):
    say(*({"content": f"note {n}", "session_id": f"s{n % 2}"} for n in range(5)))
    ingest.store_summary(store, ingest.NewSummary(summary="all of it"), by=ada, now=timezone.now())
    chain(store, 3)
    for records in (5, 4):
        assert figures(shown(console, at)) == {
            "Records": str(records), "Summaries": "1", "Sessions": "2", "Entities": "3", "Associations": "2",
            "Documents": "0", "Claims": "0", "Facts held": "0",
        }  # fmt: skip
        listed = console.get(at("records")).content.decode()
        assert f"{records} records" in listed
        console.post(at(f"records/mem:{records}/delete"))


def test_texts_without_a_vector_are_counted_and_said(console, at, say, monkeypatch):
    say("the winch froze")
    assert "by words and by meaning" in shown(console, at)
    monkeypatch.setattr(embedding, "current", lambda: None)
    say("the lamp is out", "the ferry left")
    page = shown(console, at)
    assert "3 texts can be found; 2 of them by words alone" in page
    assert "No embedding model is configured" in page


def test_summaries_of_summaries_are_owed_no_vector(console, at, api, store, run_jobs):
    graph = Graph(api, store)
    graph.sum_up("Week of beasts.", [graph.sum_up("Animals.", graph.say("the walrus sleeps"))], "nodes")
    run_jobs(store)
    assert IndexEntry.objects.filter(store=store, part=Part.GRAPH).count() == 1
    page = shown(console, at)
    assert "2 texts can be found, by words and by meaning" in page


def test_a_model_that_does_not_answer_is_a_fault(console, at, monkeypatch):
    def broken():
        raise embedding.EmbeddingFailed("wordllama: OSError")

    monkeypatch.setattr(embedding, "current", broken)
    page = shown(console, at)
    assert 'class="notice bad"' in page
    assert "wordllama: OSError" in page


def test_a_failed_job_is_seen_and_so_are_answers_without_a_trace(console, at, store, ada):
    job = jobs.start(store, "analyse", {}, by=ada, now=timezone.now())
    Job.objects.filter(pk=job.pk).update(state="failed", message="OSError on attempt 5")
    LostTraces.objects.create(store=store, count=3, last_at=timezone.now())
    page = shown(console, at)
    assert 'class="badge bad">failed' in page
    assert "OSError on attempt 5" in page
    assert "1 failed" in page
    assert "3 answers left no trace" in page


@pytest.mark.parametrize(("role", "sees"), [(Role.VIEWER, False), (Role.OPERATOR, True)])
def test_other_peoples_questions_are_for_operators(
    console, at, say, api, store, ben, join, sign_in, role, sees
):
    say("the winch froze")
    for query in ("winch <b>bold</b>", "quantum chromodynamics"):
        api.post(f"/api/v1/stores/{store.public_id}/reconstruct", {"query": query}, format="json")
    api.post(f"/api/v1/stores/{store.public_id}/reconstruct", {"query": "x", "count": "y"}, format="json")
    mine = shown(console, at)
    assert "winch &lt;b&gt;bold" in mine
    for word in ("answered", "empty", "refused"):
        assert f">{word}</span>" in mine
    other = shown(sign_in(join(ben, role)), at)
    assert ("quantum chromodynamics" in other) is sees
