"""What is analysed before the store's counter is locked: no writer waits for another one's embedder, and what changes
meanwhile is indexed as it is then.
"""

import threading

import pytest
from django.db import DatabaseError, connection, transaction

from memoryconsole import embedding
from memoryconsole.models import EntryVector, IndexEntry, Job, Store, StoreCounter
from memoryconsole.search.analysis import embedded, words_of
from memoryconsole.search.index import searchables
from tests.api.harbour import Harbour, shown
from tests.conftest import url


def elsewhere(work):
    """Run the work in a thread, on a connection of its own; answer what it answers."""
    found = []

    def run():
        try:
            found.append(work())
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def free(store):
    """Whether another writer could write in the store just now."""

    def lock():
        try:
            with transaction.atomic():
                StoreCounter.objects.select_for_update(nowait=True).get(store=store)
        except DatabaseError:
            return False
        return True

    return elsewhere(lock)


class Slow:
    """The running model, and what happens while it works: whether others could write, and `meanwhile`, once."""

    def __init__(self, model, store):
        self.name, self.dimensions, self.fingerprint = model.name, model.dimensions, model.fingerprint
        self.model = model
        self.store = store
        self.seen = []
        self.meanwhile = None

    def embed(self, texts):
        self.seen.append((list(texts), free(self.store)))
        work, self.meanwhile = self.meanwhile, None
        if work is not None:
            elsewhere(work)
        return self.model.embed(texts)


@pytest.fixture
def harbour(api, store):
    return Harbour(api, store)


@pytest.fixture
def slow(store, monkeypatch):
    model = Slow(embedding.current(), store)

    def start():
        monkeypatch.setattr(embedding, "current", lambda: model)
        return model

    return start


def true(store):
    """Whether every entry holds what is analysed of its row as it is today."""
    store = Store.objects.get(pk=store.pk)
    entries = IndexEntry.objects.filter(store=store).select_related(
        "record", "summary", "claim__record", "fact", "entity"
    )
    entries = list(entries.order_by("pk"))
    rows = searchables(store, [e.record or e.summary or e.claim or e.fact or e.entity for e in entries])
    vectors = dict(EntryVector.objects.filter(store=store).values_list("entry", "embedding"))
    wanted = embedded(embedding.current(), [row.text for row in rows])
    for entry, row, vector in zip(entries, rows, wanted, strict=True):
        keys, forward, length = words_of(store, row)
        if (entry.keys, bytes(entry.forward), entry.length) != (keys, forward, length):
            return False
        if list(vectors[entry.pk]) != vector.tolist():
            return False
    return bool(entries)


def ways(harbour):
    """What each command needs, made beforehand, and the command."""
    tern, line = harbour.entity("Aurora Tern", aliases=["the Tern"]), harbour.entity("Skerry Line")
    chunk = harbour.passages(harbour.document("The Tern is late. The Tern is full."))[0]["chunk_id"]
    claim = harbour.claim("The Tern is late.", chunk=chunk)
    facts = [harbour.observe(tern, f"is {word}", claim) for word in ("late", "early")]
    group = harbour.contradict(*(("observation", fact) for fact in facts))["id"]
    sources = harbour.observe(tern, "is nowhere", harbour.claim("The Tern is nowhere."))
    stale = harbour.claim("The Tern is sold.")
    withdrawn = harbour.observe(tern, "is sold", stale)
    harbour.post(f"/claims/{stale}/currency", {"current": False, "reason": "reextracted"})
    evidence = [{"claim_id": claim, "stance": "supports"}]
    return {
        "claim": ("/claims", {"chunk_id": chunk, "claim_text": "Full, the Tern.", "quote": "The Tern is full."}),
        "observation": ("/facts", {"kind": "observation", "subject_id": tern, "statement": "is blue", "evidence": evidence}),
        "relation": ("/facts", {"kind": "relation", "subject_id": line, "predicate": "uses", "object_id": tern, "evidence": evidence}),
        "retract": (f"/facts/observation/{sources}/retract", {"reason": "a slip"}),
        "judge": (f"/facts/observation/{withdrawn}/support", {"verdict": "invalidate_fact"}),
        "resolve": (f"/contradictions/{group}/resolve", {"verdict": "pick", "keep": {"kind": "observation", "id": facts[0]}}),
    }  # fmt: skip


@pytest.mark.parametrize("way", ["claim", "observation", "relation", "retract", "judge", "resolve"])
@pytest.mark.parametrize("key", [{}, {"HTTP_IDEMPOTENCY_KEY": "k"}], ids=["plain", "keyed"])
def test_nobody_waits_for_an_embedder(way, key, harbour, slow, api, store):
    tail, body = ways(harbour)[way]
    model = slow()
    answer = api.post(url(store, tail), body, format="json", **key)
    assert answer.status_code in (200, 201), answer.content
    assert [is_free for _, is_free in model.seen] == [True]
    assert true(store)


def test_nobody_waits_for_a_record_either(slow, say, store):
    model = slow()
    say("The Tern is late.")
    assert [is_free for _, is_free in model.seen] == [True]
    assert true(store)


def test_what_was_declared_meanwhile_is_in_the_profile(harbour, slow, store):
    tern = harbour.entity("Aurora Tern")
    claims = [harbour.claim(text) for text in ("The Tern is late.", "The Tern is full.")]
    model = slow()
    model.meanwhile = lambda: harbour.observe(tern, "is full", claims[1])
    late = harbour.observe(tern, "is late", claims[0])
    assert late in shown(harbour.facts("late"))
    assert true(store)


def test_a_name_that_came_meanwhile_is_in_the_profile(harbour, slow, store):
    tern = harbour.entity("Aurora Tern")
    claim = harbour.claim("The Tern is late.")
    model = slow()
    model.meanwhile = lambda: harbour.post(f"/entities/{tern}/aliases", {"alias": "Grey Lady"})
    harbour.observe(tern, "is late", claim)
    assert true(store)


@pytest.mark.parametrize("way", ["claim", "observation"])
def test_a_language_that_changed_meanwhile_is_the_one(way, harbour, slow, api, store, run_jobs):
    tail, body = ways(harbour)[way]
    model = slow()

    def change():
        assert api.patch(url(store), {"language": "german"}, format="json").status_code == 200
        # It has done what was stored: what is stored behind it has to be of the new language by itself.
        run_jobs(store)

    model.meanwhile = change
    assert api.post(url(store, tail), body, format="json").status_code == 201
    assert true(store)


def test_a_model_that_fails_is_asked_once(harbour, slow, api, store, monkeypatch):
    tail, body = ways(harbour)["observation"]
    model = slow()

    def fail(texts):
        model.seen.append((list(texts), free(store)))
        raise ConnectionError("away")

    monkeypatch.setattr(model, "embed", fail)
    assert api.post(url(store, tail), body, format="json").status_code == 201
    assert [is_free for _, is_free in model.seen] == [True]
    assert Job.objects.filter(store=store, kind="embed", state="queued").count() == 1


# Merges: the labels of facts name their ends as they are read.


@pytest.mark.parametrize("at_once", [500, 2])
def test_after_a_merge_facts_are_found_by_the_survivors_name(at_once, harbour, store, run_jobs, monkeypatch):
    monkeypatch.setattr("memoryconsole.services.profiles.LABELS_AT_ONCE", at_once)
    old, line = harbour.entity("Fjordbuss"), harbour.entity("Skerry Line")
    claim = harbour.claim("It is so.")
    facts = {harbour.relate(old, "uses", harbour.entity(f"Pier {number}"), claim) for number in range(5)}
    retracted = harbour.relate(old, "part_of", harbour.entity("Coastline"), claim)
    harbour.post(f"/facts/relation/{retracted}/retract", {"reason": "a slip"})

    def found(name):
        run_jobs(store)
        assert true(store)
        return set(shown(harbour.facts(name)))

    assert (found("Fjordbuss"), found("Skerry Line")) == (facts, set())
    merged = harbour.merge(line, old)
    assert found("Skerry Line") == facts
    assert found("Fjordbuss") == facts
    harbour.post(f"/merges/{merged['merge_id']}/reverse", {})
    assert (found("Fjordbuss"), found("Skerry Line")) == (facts, set())


def test_a_merge_further_on_names_the_last_survivor(harbour, store):
    names = [harbour.entity(name) for name in ("Fjordbuss", "Skerry Line", "Northpier")]
    fact = harbour.relate(names[0], "uses", names[0], harbour.claim("It is so."))
    harbour.merge(names[1], names[0])
    harbour.merge(names[2], names[1])
    assert true(store)
    assert shown(harbour.facts("Northpier uses")) == [fact]
