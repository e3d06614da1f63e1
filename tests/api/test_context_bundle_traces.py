"""What the assured operations leave behind: traces that can be found by ref, decided again, and questioned."""

import json
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from memoryconsole.models import Claim, Record, Trace
from memoryconsole.models.traces import ref_key
from memoryconsole.times import write_stamp
from provenance.context_bundle import services
from provenance.context_bundle.core import types
from provenance.context_bundle.nominating import Nominated, Search
from tests.api.harbour import Harbour, shown
from tests.conftest import url

FACTS, SAID, BUNDLE, RESOLVE = types.FACTS, types.CLAIMS_AND_SOURCES, types.COMBINED, types.RESOLVE_ENTITY
SECRET = "walrus-coloured funnel"


@pytest.fixture
def harbour(api, store):
    return Harbour(api, store)


@pytest.fixture
def ferry(harbour):
    return harbour.entity("Aurora Tern")


ASKED = {
    RESOLVE: lambda ferry: {"name": "aurora tern"},
    SAID: lambda ferry: {"query": "ferry", "entity_ids": [ferry]},
    FACTS: lambda ferry: {"query": "ferry", "time": {"mode": "at", "at": "2024-06-15T12:00:00+02:00"}},
    BUNDLE: lambda ferry: {"query": "ferry", "entity_ids": [ferry], "hops": 2},
}


@pytest.fixture
def world(ferry, harbour):
    """Facts with a group, an attributed claim against one, claims that say the same, and a neighbour."""
    line = harbour.entity("Skerry Line")
    against = harbour.claim("the line says the ferry carries 290", ferry, is_attributed=True)
    harbour.claim("the ferry carries 310", ferry)
    one = harbour.observe(ferry, "the ferry carries 310", against=[against])
    two = harbour.observe(ferry, f"the ferry has a {SECRET}")
    harbour.relate(ferry, "part_of", line, window={"from": "2020-01-01T00:00:00Z", "precision": "open"})
    harbour.contradict(("observation", one), ("observation", two))
    return ferry


@pytest.mark.parametrize("operation", ASKED)
def test_a_trace_is_decided_again_alike(operation, harbour, world):
    trace = harbour.trace(operation, **ASKED[operation](world))
    assert harbour.replay(trace) == {"same_core": True, "result": "identical"}
    # Whatever was declared since.
    harbour.observe(world, "the ferry carries horses")
    harbour.entity("Aurora Tern")
    assert harbour.replay(trace)["result"] == "identical"


@pytest.mark.parametrize(
    "body",
    [
        {"query": "ferry", "entity_ids": [str(uuid.uuid4())]},
        {"query": "zeppelin"},
        {"query": "ferry", "continuation": "A" * 30 + ":" + "A" * 43},
    ],
    ids=["unknown", "empty", "refused"],
)
@pytest.mark.parametrize("operation", [FACTS, SAID])
def test_a_typed_no_is_decided_again_alike_too(operation, body, harbour, world):
    trace = harbour.trace(operation, **body)
    assert Trace.objects.get(pk=trace).outcome == "empty"
    assert harbour.replay(trace)["result"] == "identical"


@pytest.mark.parametrize("operation", [FACTS, SAID])
def test_a_later_page_is_decided_again_alike(operation, harbour, world):
    body = {"query": "ferry", "entity_ids": [world], "k": 1}
    mark = harbour.ask(operation, **body)["truncation"]["continuation"]
    assert harbour.replay(harbour.trace(operation, **body, continuation=mark))["result"] == "identical"


@pytest.mark.parametrize("operation", ASKED)
def test_a_trace_holds_no_stored_text(api, operation, harbour, world):
    trace = harbour.trace(operation, **ASKED[operation](world))
    kept = json.dumps(api.get(f"/api/v1/traces/{trace}").json())
    row = Trace.objects.get(pk=trace)
    for text in (SECRET, "carries 310", "Skerry", "Aurora Tern"):
        assert text not in kept
        assert text not in json.dumps([row.seen, row.told])


@pytest.mark.parametrize("operation", [SAID, FACTS, BUNDLE])
def test_what_is_forgotten_cannot_be_decided_again(api, operation, harbour, say, store, world):
    (ref,) = say({"content": "the ferry smells of fish"})
    record = Record.objects.get(store=store, number=int(ref[4:]))
    claim = harbour.claim("the ferry smells of fish", world, chunk=str(record.uuid))
    harbour.observe(world, "the ferry smells", claim)
    trace = harbour.trace(operation, query="ferry smells", entity_ids=[world])
    assert harbour.replay(trace)["result"] == "identical"
    assert api.delete(url(store, f"/records/{ref}")).status_code in (202, 204)
    assert harbour.replay(trace) == {"same_core": True, "result": "not_replayable", "reason": "forgotten"}


def test_another_text_under_a_ref_is_said(harbour, store, world):
    trace = harbour.trace(SAID, query="ferry", entity_ids=[world])
    Claim.objects.filter(store=store).update(claim_text="something else")
    assert harbour.replay(trace) == {"same_core": True, "result": "not_replayable", "reason": "changed"}


def test_traces_are_found_by_what_they_quoted(api, harbour, store, world):
    fact = harbour.observe(world, "the ferry carries horses")
    trace = harbour.trace(FACTS, query="horses")
    told = harbour.facts("horses")
    claim = told["evidence"][0]["claim_id"]
    record = Record.objects.get(store=store, uuid=told["evidence"][0]["chunk_id"])
    other = harbour.trace(FACTS, query="zeppelin")
    for ref in (f"observation:{fact}", f"claim:{claim}", f"mem:{record.number}"):
        found = [each["id"] for each in api.get(url(store, "/traces"), {"ref": ref}).json()["results"]]
        assert trace in found
        assert other not in found
    for ref in (f"relation:{fact}", f"claim:{uuid.uuid4()}"):
        assert api.get(url(store, "/traces"), {"ref": ref}).json()["results"] == []
    entity = f"entity:{world}"
    named = harbour.trace(RESOLVE, name="Aurora Tern")
    assert [each["id"] for each in api.get(url(store, "/traces"), {"ref": entity}).json()["results"]] == [
        named
    ]


def test_keys_of_rows_and_of_names_never_meet():
    assert ref_key("mem:12") == 24
    assert ref_key("ep:12") == 25
    keys = {ref_key(f"{kind}:{uuid.uuid4()}") for kind in ("claim", "relation", "entity") for _ in range(100)}
    assert len(keys) == 300
    assert all(-(2**62) <= key < 0 for key in keys)


def test_verify_reads_the_passages_an_answer_quoted(api, harbour, store, world):
    trace = harbour.trace(SAID, query="ferry", entity_ids=[world])
    told = api.post(url(store, "/verify"), {"trace": trace}, format="json").json()
    assert told["counts"]["current"] == len(told["quotes"]) > 0


def test_asking_again_says_what_came_and_what_went(api, harbour, world):
    trace = harbour.trace(FACTS, query="ferry", entity_ids=[world])
    late = harbour.observe(world, "the ferry carries horses")
    gone = shown(harbour.facts(entity_ids=[world]))[0]
    harbour.post(f"/facts/{kind_of(gone)}/{gone}/retract", {"reason": "a misprint"})
    told = api.post(f"/api/v1/traces/{trace}/rerun", {}, format="json").json()
    assert told["compared"]["added"] == [f"observation:{late}"]
    assert [each["bound"] for each in told["why_added"]] == ["stored_later"]
    assert [each["bound"] for each in told["why_removed"]] == ["not_believed"]


def kind_of(fact):
    from memoryconsole.models import Fact

    return Fact.objects.get(uuid=fact).kind


# Why something is there, or is not.


def test_why_for_facts(harbour, ferry):
    line = harbour.entity("Skerry Line")
    held = [harbour.observe(ferry, f"the ferry carries {n}") for n in range(3)]
    ended = harbour.observe(
        ferry, "the ferry was new",
        window={"from": "2020-01-01T00:00:00Z", "until": "2024-01-01T00:00:00Z", "precision": "year"},
    )  # fmt: skip
    elsewhere = harbour.observe(line, "the line is old")
    related = harbour.relate(ferry, "part_of", line)
    retracted = harbour.observe(ferry, "the ferry sank")
    harbour.post(f"/facts/observation/{retracted}/retract", {"reason": "it did not"})
    trace = harbour.trace(
        FACTS, query="ferry", entity_ids=[ferry], k=2, time={"mode": "at", "at": "2024-01-01T00:00:10Z"}
    )
    late = harbour.observe(ferry, "the ferry sails")
    order = Trace.objects.get(pk=trace).told["facts"]
    assert harbour.why(trace, order["shown"][0])["verdict"] == "in"
    behind = harbour.why(trace, order["beyond"][1])
    assert (behind["bound"], behind["value"], behind["limit"], behind["by"]) == ("beyond_k", 4, 2, 2)
    told = {
        name: harbour.why(trace, ref)
        for name, ref in (
            ("outside_time", f"observation:{ended}"), ("out_of_scope", f"observation:{elsewhere}"),
            ("not_believed", f"observation:{retracted}"), ("stored_later", f"observation:{late}"),
            ("no_such_row", f"observation:{uuid.uuid4()}"), ("in_scope", f"entity:{ferry}"),
            ("not_in_scope", f"entity:{line}"),
        )
    }  # fmt: skip
    assert {name: each["bound"] for name, each in told.items()} == {name: name for name in told}
    # Its end is no part of it.
    assert (told["outside_time"]["by"], told["outside_time"]["unit"]) == (11, "seconds")
    predicate = harbour.trace(FACTS, query="ferry", entity_ids=[ferry], predicate="part_of")
    assert harbour.why(predicate, f"relation:{related}")["verdict"] == "in"
    assert harbour.why(predicate, f"observation:{held[0]}")["bound"] == "other_predicate"
    assert harbour.why(trace, "ep:1")["bound"] == "other_kind"


@pytest.mark.parametrize(
    "missed", [timedelta(0), timedelta(microseconds=1), timedelta(seconds=1), timedelta(days=31)]
)
@pytest.mark.parametrize("before", [True, False])
def test_by_as_much_as_why_says_is_enough_and_less_is_not(before, missed, harbour, ferry):
    begins, ends = datetime(2020, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC)
    window = {"from": write_stamp(begins), "until": write_stamp(ends), "precision": "year"}
    fact = f"observation:{harbour.observe(ferry, 'the ferry was new', window=window)}"

    def asked(at):
        time = {"mode": "at", "at": write_stamp(at)}
        return harbour.why(harbour.trace(FACTS, query="ferry", entity_ids=[ferry], time=time), fact)

    at = begins - max(missed, timedelta(microseconds=1)) if before else ends + missed
    step = timedelta(seconds=asked(at)["by"]) * (1 if before else -1)
    assert asked(at + step)["verdict"] == "in"
    assert asked(at + step - (step // abs(step)) * timedelta(seconds=1))["bound"] == "outside_time"


def test_why_for_a_passage_whose_words_stand_in_the_answer(harbour, ferry, store):
    """Who lists the answers that quoted it may ask each of them why."""
    fact = harbour.observe(ferry, "the ferry carries 310")
    trace = harbour.trace(FACTS, query="ferry", entity_ids=[ferry])
    (quoted,) = Trace.objects.get(pk=trace).seen["digests"]
    (claim,) = (each for each, _, _ in Trace.objects.get(pk=trace).told["facts"]["evidence"])
    told = harbour.why(trace, quoted)
    assert (told["verdict"], told["bound"]) == ("in", "source")
    assert claim in told["sentence"]
    harbour.claim("the ferry is old", ferry)
    other = f"mem:{Record.objects.get(store=store, claims__claim_text='the ferry is old').number}"
    again = harbour.trace(FACTS, query="ferry", entity_ids=[ferry])
    assert harbour.why(again, other)["bound"] == "no_evidence"
    harbour.post(f"/facts/observation/{fact}/retract", {"reason": "a misprint"})
    assert (
        harbour.why(harbour.trace(FACTS, query="ferry", entity_ids=[ferry]), quoted)["bound"] == "no_evidence"
    )


def test_why_for_facts_without_anchors(harbour, ferry):
    fact = harbour.observe(ferry, "the ferry carries horses")
    trace = harbour.trace(FACTS, query="zeppelin")
    told = harbour.why(trace, f"observation:{fact}")
    assert (told["bound"], told["exact"]) == ("no_match", True)
    harbour.claim("the quay is wet")
    told = harbour.why(trace, f"observation:{fact}")
    assert (told["bound"], told["exact"]) == ("no_match", False)


def test_why_for_the_other_side_and_for_evidence(harbour, ferry):
    backing = harbour.claim("the ferry carries 310", ferry)
    one = harbour.observe(ferry, "the ferry carries 310", backing)
    two = harbour.observe(ferry, "the boat seats few")
    harbour.contradict(("observation", one), ("observation", two))
    unused = harbour.claim("the ferry is red", ferry)
    trace = harbour.trace(FACTS, query="310", k=1)
    assert harbour.why(trace, f"observation:{two}")["bound"] == "co_member"
    assert harbour.why(trace, f"claim:{backing}")["bound"] == "evidence"
    assert harbour.why(trace, f"claim:{unused}")["bound"] == "no_evidence"


def test_why_for_testimony(api, harbour, ferry, say, store):
    line = harbour.entity("Skerry Line")
    first = harbour.claim("the ferry carries 310", ferry)
    same = harbour.claim("The ferry carries 310!", ferry)
    about_nobody = harbour.claim("the ferry line is old", line)
    document = harbour.document("the ferry sails on Monday", ref="plan")
    old = harbour.claim("the ferry sails on Monday", ferry, document=document)
    (passage,) = harbour.passages(document)
    harbour.document("the ferry sails on Tuesday", ref="plan")
    trace = harbour.trace(SAID, query="ferry", entity_ids=[ferry], k=1)
    representative, other = (first, same)
    told = Trace.objects.get(pk=trace).told["claims"]
    if told["groups"][0][0] != f"claim:{first}":
        representative, other = same, first
    assert harbour.why(trace, f"claim:{representative}")["verdict"] == "in"
    bounds = {
        "grouped": f"claim:{other}", "no_anchor": f"claim:{about_nobody}", "superseded": f"claim:{old}",
        "no_such_row": f"claim:{uuid.uuid4()}",
    }  # fmt: skip
    assert {name: harbour.why(trace, ref)["bound"] for name, ref in bounds.items()} == {
        name: name for name in bounds
    }
    assert harbour.why(trace, passage["ref"])["bound"] == "superseded"
    (ref,) = say({"content": "the ferry is late"})
    assert harbour.why(trace, ref)["bound"] == "stored_later"
    api.delete(url(store, f"/records/{ref}"))
    assert harbour.why(trace, ref)["bound"] == "no_such_row"
    assert harbour.why(trace, told["beyond"][0])["bound"] == "beyond_k"


def test_why_for_names_and_where_nothing_was_read(harbour, ferry):
    other = harbour.entity("Quay")
    trace = harbour.trace(RESOLVE, name="aurora tern")
    assert harbour.why(trace, f"entity:{ferry}")["verdict"] == "in"
    assert harbour.why(trace, f"entity:{other}")["bound"] == "not_named"
    assert harbour.why(trace, f"entity:{harbour.entity('Mole')}")["bound"] == "stored_later"
    fact = harbour.observe(ferry, "the ferry sails")
    unknown = harbour.trace(BUNDLE, query="ferry", entity_ids=[str(uuid.uuid4())])
    assert harbour.why(unknown, f"observation:{fact}")["bound"] == "unknown_entity"
    assert harbour.why(unknown, "mem:1")["bound"] == "unknown_entity"
    assert harbour.why(unknown, f"entity:{ferry}")["bound"] == "unknown_entity"
    refused = harbour.trace(FACTS, query="ferry", continuation="A" * 30 + ":" + "A" * 43)
    assert harbour.why(refused, f"observation:{fact}")["bound"] == "continuation"


def test_why_for_a_name_that_is_near_and_not_listed(harbour):
    pilots = [harbour.entity(f"Harbour pilot {n:02}") for n in range(13)]
    survivor, absorbed = harbour.entity("Lock keeper"), harbour.entity("Sluice warden")
    harbour.merge(survivor, absorbed)
    trace = harbour.trace(RESOLVE, name="harbour pilot")
    eleventh = harbour.why(trace, f"entity:{pilots[10]}")
    assert (eleventh["bound"], eleventh["value"], eleventh["limit"], eleventh["by"]) == (
        "beyond_k",
        11,
        10,
        1,
    )
    twelfth = harbour.why(trace, f"entity:{pilots[11]}")
    assert (twelfth["bound"], "not among the nearest" in twelfth["sentence"]) == ("not_named", True)
    exact = harbour.trace(RESOLVE, name="harbour pilot 03")
    assert "Others have it" in harbour.why(exact, f"entity:{pilots[4]}")["sentence"]
    merged = harbour.why(harbour.trace(RESOLVE, name="sluice warden"), f"entity:{absorbed}")
    assert (merged["bound"], f"entity:{survivor}" in merged["sentence"]) == ("merged", True)
    nobody = harbour.why(trace, f"entity:{uuid.uuid4()}")
    assert (nobody["bound"], "There is no current" in nobody["sentence"]) == ("no_such_row", True)


def test_why_for_an_entity_says_how_far_was_walked(harbour, ferry):
    line, moved = harbour.entity("Skerry Line"), harbour.entity("Skerry Ferries")
    harbour.merge(line, moved)
    harbour.observe(ferry, "the ferry sails")
    asked = {
        "The call named none": {},
        "nothing is walked for the time asked": {"entity_ids": [ferry], "time": {"mode": "history"}},
        "the walk did not come to it": {"entity_ids": [ferry]},
    }
    for sentence, body in asked.items():
        trace = harbour.trace(FACTS, query="ferry", **body)
        assert sentence in harbour.why(trace, f"entity:{line}")["sentence"]
        assert harbour.why(trace, f"entity:{moved}")["bound"] == "merged"
    for n in range(20):
        end = harbour.entity(f"Berth {n}")
        harbour.relate(ferry, "located_in", end, window={"from": "2020-01-01T00:00:00Z", "precision": "open"})
    capped = harbour.why(harbour.trace(FACTS, query="ferry", entity_ids=[ferry]), f"entity:{end}")
    assert "ended before it came there" in capped["sentence"]


def test_why_for_evidence_names_every_fact_it_is_about_and_its_room(harbour, ferry):
    claim = harbour.claim("the ferry carries 310", ferry)
    one = harbour.observe(ferry, "the ferry carries 310", claim)
    two = harbour.observe(ferry, "the ferry carries 290", against=[claim])
    sentence = harbour.why(harbour.trace(FACTS, query="ferry"), f"claim:{claim}")["sentence"]
    assert f"supports observation:{one}" in sentence
    assert f"contradicts observation:{two}" in sentence
    claims = [harbour.claim(f"report {n} on the ferry", ferry) for n in range(5)]
    for n in range(13):
        harbour.observe(ferry, f"the ferry is reported, {n}", *claims)
    answer = harbour.facts(entity_ids=[ferry], k=15, evidence_per_fact=5)
    told = harbour.why(
        harbour.trace(FACTS, query="ferry", entity_ids=[ferry], k=15, evidence_per_fact=5), f"claim:{claim}"
    )
    shown_claims = {row["claim_id"] for row in answer["evidence"]}
    assert len(answer["fact_evidence"]) == 60
    assert told["bound"] == ("evidence" if claim in shown_claims else "associations")


def test_why_of_a_refused_call_and_of_a_ref_that_is_none(api, harbour, ferry, store):
    answer = api.post(url(store, f"/operations/{FACTS}"), {"query": ""}, format="json")
    trace = answer.headers["Trace-Id"]
    assert harbour.why(trace, f"entity:{ferry}")["bound"] == "refused"
    assert harbour.replay(trace)["result"] == "identical"
    for ref in ("claim:12", "fact:12", f"claim:{ferry.upper()}", "mem:x"):
        assert api.get(f"/api/v1/traces/{trace}/why", {"ref": ref}).status_code == 400


def test_a_ref_of_these_kinds_is_asked_of_other_operations_in_vain(api, harbour, ferry, say, store):
    say("the ferry sails")
    trace = api.post(url(store, "/recall"), {"query": "ferry"}, format="json").headers["Trace-Id"]
    told = harbour.why(trace, f"entity:{ferry}")
    assert (told["verdict"], told["bound"]) == ("out", "other_kind")


def test_the_instant_of_a_trace_is_that_of_the_answer(harbour, ferry):
    trace = Trace.objects.get(pk=harbour.trace(FACTS, query="ferry"))
    assert abs((timezone.now() - trace.asked_at).total_seconds()) < 60
    assert trace.request == {"query": "ferry"}


def test_verify_reads_the_quotes_of_a_pasted_bundle(api, harbour, say, store, world):
    document = harbour.document(
        "# Plan\n\nThe ferry sails on Monday.\n\n# Rest\n\nThe ferry rests on Sunday."
    )
    chunk = next(each for each in harbour.passages(document) if "Sunday" in each["content"])
    harbour.claim("The ferry rests.", world, chunk=chunk["chunk_id"], quote="The ferry rests on Sunday.")
    (ref,) = say({"content": "the ferry is late"})
    bundle = harbour.bundle("ferry")
    rows = [
        row
        for half in ("claims_and_sources", "facts")
        for row in (*bundle[half]["evidence"], *bundle[half]["chunks"])
    ]

    def checked(answer):
        return api.post(url(store, "/verify"), {"answer": answer}, format="json").json()

    assert checked(bundle)["counts"] == {"current": len(rows), "changed": 0, "gone": 0, "not_located": 0}
    envelope = bundle["claims_and_sources"]
    envelope["evidence"][0]["source_span"] = "the ferry flies"
    envelope["chunks"][0]["chunk_id"] = "somewhere"
    api.delete(url(store, f"/records/{ref}"))
    counts = checked(envelope)["counts"]
    assert (counts["changed"], counts["not_located"], counts["gone"]) == (1, 1, 1)


def test_a_trace_names_what_was_degraded_about_the_search(harbour, settings, world):
    assert Trace.objects.get(pk=harbour.trace(FACTS, query="ferry")).policy["search_advisories"] == []
    settings.EMBEDDER = "none"
    policy = Trace.objects.get(pk=harbour.trace(FACTS, query="ferry")).policy
    assert policy["embedder"] is None
    assert len(policy["search_advisories"]) == 1


def test_a_passage_that_was_nominated_wrongly_is_named_with_its_reason(
    harbour, say, store, world, monkeypatch
):
    (ref,) = say({"content": "a barge without a name"})
    astray = Record.objects.get(store=store, number=int(ref[4:])).pk

    class Astray(Search):
        def nominate(self, store, query, wanted, admits):
            found = super().nominate(store, query, wanted, admits)
            return (*found, Nominated("astray", (astray,))) if wanted.part == "chunks" else found

    monkeypatch.setattr(services, "nominator", Astray())
    trace = harbour.trace(SAID, query="ferry", entity_ids=[world])
    assert Trace.objects.get(pk=trace).told["claims"]["rejected"] == [[ref, "anchor_gone"]]
    assert harbour.why(trace, ref)["bound"] == "anchor_gone"
    assert harbour.replay(trace)["result"] == "identical"
