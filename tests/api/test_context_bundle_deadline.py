"""The database's time for an answer: when it is over the answer says so, and shows nothing of what was read."""

import pytest
from django.db import connection

from provenance.context_bundle.core import types
from provenance.context_bundle.spine import contexts, profiles
from tests.api.harbour import Harbour, shown

RESOLVE, SAID, FACTS, BUNDLE = types.RESOLVE_ENTITY, types.CLAIMS_AND_SOURCES, types.FACTS, types.COMBINED


@pytest.fixture
def harbour(api, store):
    return Harbour(api, store)


@pytest.fixture
def ferry(harbour):
    ferry = harbour.entity("Aurora Tern")
    for n in range(3):
        harbour.observe(ferry, f"the ferry carries {n}")
    return ferry


@pytest.fixture
def slow(monkeypatch):
    """Make one of the readers take longer, in the database, than an answer may."""

    def slow(module, name):
        real = getattr(module, name)

        def late(*args):
            real(*args)
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_sleep(5)")
            raise AssertionError("the database slept on")

        monkeypatch.setattr("provenance.context_bundle.spine.deadline.DATABASE_SECONDS", 0.5)
        monkeypatch.setattr(module, name, late)
        return monkeypatch

    return slow


def is_spent(envelope):
    cut = envelope["truncation"]
    return (
        envelope["negative"]["kind"],
        cut["truncated"], cut["total_is_exact"], cut["reason"], cut["continuation"],
        [rows for rows in envelope.values() if isinstance(rows, list) and rows],
    ) == ("boundary", True, False, "time_budget", None, [])  # fmt: skip


@pytest.mark.parametrize(
    ("operation", "body", "module", "reader"),
    [
        (RESOLVE, {"name": "aurora tern"}, profiles, "read_resolved"),
        (SAID, {"query": "ferry"}, contexts, "read_claims"),
        (FACTS, {"query": "ferry", "time": {"mode": "at", "at": "2024-01-01T00:00:00Z"}}, contexts, "read_facts"),
    ],
)  # fmt: skip
def test_an_answer_out_of_time_is_a_boundary_and_is_decided_again_alike(
    operation, body, module, reader, ferry, harbour, slow
):
    patched = slow(module, reader)
    answer, trace = harbour.ask(operation, **body), harbour.trace(operation, **body)
    assert is_spent(answer)
    assert answer["temporal_scope"]["mode"] == body.get("time", {}).get("mode", "current")
    patched.undo()
    assert harbour.replay(trace) == {"same_core": True, "result": "identical"}
    told = harbour.why(trace, f"entity:{ferry}" if operation != SAID else "mem:1")
    assert (told["verdict"], told["bound"]) == ("out", "time_budget")
    assert harbour.ask(operation, **body)["negative"] is None


def test_a_later_page_out_of_time_keeps_its_scope(ferry, harbour, slow):
    first = harbour.facts(k=1)
    mark = first["truncation"]["continuation"]
    patched = slow(contexts, "read_facts")
    trace = harbour.trace(FACTS, query="ferry", k=1, continuation=mark)
    spent = harbour.facts(k=1, continuation=mark)
    patched.undo()
    assert is_spent(spent)
    assert spent["temporal_scope"] == first["temporal_scope"]
    assert harbour.replay(trace)["result"] == "identical"
    assert shown(harbour.facts(k=1, continuation=mark))


def test_facts_out_of_time_leave_what_sources_say_whole(ferry, harbour, slow):
    patched = slow(contexts, "read_facts")
    bundle, trace = harbour.bundle(), harbour.trace(BUNDLE, query="ferry")
    patched.undo()
    assert is_spent(bundle["facts"])
    assert len(bundle["claims_and_sources"]["evidence"]) == 3
    assert harbour.replay(trace)["result"] == "identical"


def test_the_time_is_shared_by_both_halves(ferry, harbour, slow):
    slow(contexts, "read_claims")
    bundle = harbour.bundle()
    assert is_spent(bundle["claims_and_sources"])
    assert is_spent(bundle["facts"])


def test_the_limit_ends_with_the_answer(ferry, harbour):
    harbour.facts()
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("0",)
