"""How many statements each route takes, in a data file: a change is a decision, and no route grows with its rows."""

import itertools
import json
from functools import cache
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memoryconsole.models import Association, Entity, EntityAlias, Mention, Record
from memoryconsole.services.numbering import take_numbers
from tests.conftest import url

EXPECTED = json.loads((Path(__file__).parent / "query_counts.json").read_text())


def fill(store, say, amount):
    """Walrus records in pairs of versions, and a chain of entities each mentioned by every fourth record."""
    say(
        *(
            {"content": f"walrus log {n}", "message_id": f"m{n // 2}", "timestamp": f"2026-01-01T10:{n % 60:02}:00Z",
             "source": {"type": "User", "id": f"u{n % 3}"}, "session_id": f"s{n % 5}"}
            for n in range(amount)
        )
    )  # fmt: skip


def chain(store, amount):
    """Entities e0 - e1 - e2 ... related in a row, mentioned by records in turn."""
    counter = store.counter
    now = timezone.now()
    entities = [
        Entity.objects.create(store=store, number=n, uuid=f"00000000-0000-0000-0000-{n:012}", name=f"Buoy {n}",
                              declared_key=f"buoy {n}", created_at=now)
        for n in take_numbers(counter, "entity", amount)
    ]  # fmt: skip
    for entity in entities:
        EntityAlias.objects.create(
            store=store, entity=entity, alias=f"B{entity.number}", declared_key=f"b{entity.number}"
        )
    for n, (left, right) in enumerate(itertools.pairwise(entities), start=1):
        Association.objects.create(
            store=store,
            number=n,
            subject_entity=left,
            predicate="next to",
            object_entity=right,
            declared_at=now,
        )
    for n, record in enumerate(Record.objects.filter(store=store).order_by("number")):
        Mention.objects.create(store=store, entity=entities[n % amount], record=record, created_at=now)
    counter.save()


def declaration(fresh, amount=3):
    """Entities with aliases, and a relation between a row and one more entity: new ones when `fresh` goes on."""
    return {
        "entities": [{"name": f"Quay {next(fresh)}", "aliases": [f"q{next(fresh)}"]} for _ in range(amount)],
        "relations": [
            {"subject": "mem:1", "predicate": f"lies at {next(fresh)}", "object": f"Berth {next(fresh)}"}
        ],
    }


def source(text):
    return {"source_kind": "file", "source_ref": "log.md", "text": text}


def said(text):
    return {"chunk_id": "mem:2", "claim_text": text, "quote": "walrus"}


@cache
def document(api, store):
    return api.post(url(store, "/documents"), source("walrus"), format="json").json()["id"]


@cache
def claim(api, store):
    return api.post(url(store, "/claims"), said("c"), format="json").json()["id"]


@cache
def disputed(api, store):
    """The id of a contradiction group."""
    subject = api.post(url(store, "/entities"), {"name": "Pier"}, format="json").json()["entity_id"]
    evidence = [{"claim_id": claim(api, store), "stance": "supports"}]
    facts = [
        api.post(url(store, "/facts"), {
            "kind": "observation", "subject_id": subject, "statement": side, "evidence": evidence}, format="json").json()
        for side in ("long", "short")
    ]  # fmt: skip
    members = [{"kind": fact["kind"], "id": fact["id"]} for fact in facts]
    return api.post(url(store, "/contradictions"), {"members": members}, format="json").json()["id"]


def counted(call):
    with CaptureQueriesContext(connection) as captured:
        answer = call()
    assert answer.status_code in (200, 201, 202), answer.content
    # The savepoints and transaction frames are statements too.
    return len(captured)


def routes(api, store):
    fresh = itertools.count()
    ask = {"query": "walrus log near Buoy 1", "count": 10, "top_k": 100}
    entities = [str(row.uuid) for row in Entity.objects.filter(store=store).order_by("number")]
    absorbed = iter(entities[1:])
    currency = itertools.cycle(
        [{"current": False, "reason": "reextracted"}, {"current": True, "reason": "review_restored"}]
    )
    chunks = [str(row.uuid) for row in Record.objects.filter(store=store).order_by("number")]
    return {
        "GET stores": lambda: api.get("/api/v1/stores"),
        "GET store": lambda: api.get(url(store)),
        "GET records": lambda: api.get(url(store, "/records")),
        "GET record": lambda: api.get(url(store, "/records/mem:1")),
        "POST records": lambda: api.post(url(store, "/records"), {"records": [
            {"content": f"note {next(fresh)}", "message_id": f"x{n}", "session_id": "s0"} for n in range(3)]}, format="json"),
        "POST records riding": lambda: api.post(url(store, "/records"), {"records": [
            {"content": f"ride {next(fresh)}", "associations": declaration(fresh)} for _ in range(3)]}, format="json"),
        "POST associations": lambda: api.post(url(store, "/associations"), {
            "associations": declaration(fresh), "anchor_ref": "mem:2"}, format="json"),
        "POST associations again": lambda: api.post(url(store, "/associations"), {
            "associations": declaration(itertools.repeat(0)), "anchor_ref": "mem:2"}, format="json"),
        "POST preview": lambda: api.post(url(store, "/associations/preview"), {
            "associations": declaration(fresh), "anchor_ref": "mem:2"}, format="json"),
        "POST documents": lambda: api.post(url(store, "/documents"), source(f"# A\n\nwalrus {next(fresh)}\n\n# B\n\nx"), format="json"),
        "POST documents again": lambda: api.post(url(store, "/documents"), source("walrus"), format="json"),
        "GET documents": lambda: api.get(url(store, "/documents")),
        "GET document": lambda: api.get(url(store, f"/documents/{document(api, store)}")),
        "GET passages": lambda: api.get(url(store, f"/documents/{document(api, store)}/passages")),
        "POST claims": lambda: api.post(url(store, "/claims"), said(f"c {next(fresh)}"), format="json"),
        "POST claims again": lambda: api.post(url(store, "/claims"), said("c"), format="json"),
        "GET claims": lambda: api.get(url(store, "/claims")),
        "GET claim": lambda: api.get(url(store, f"/claims/{claim(api, store)}")),
        "POST currency": lambda: api.post(
            url(store, f"/claims/{claim(api, store)}/currency"), next(currency), format="json"),
        "GET associations": lambda: api.get(url(store, "/associations")),
        "GET entities": lambda: api.get(url(store, "/entities")),
        "POST entities": lambda: api.post(url(store, "/entities"), {"name": "Buoy", "aliases": ["b"]}, format="json"),
        "GET entity": lambda: api.get(url(store, f"/entities/{entities[0]}")),
        "POST aliases": lambda: api.post(
            url(store, f"/entities/{entities[0]}/aliases"), {"alias": f"b{next(fresh)}"}, format="json"),
        "POST mentions": lambda: api.post(url(store, "/mentions"), {
            "chunk_id": chunks[0], "entity_id": entities[0], "start": 0, "end": 1 + next(fresh)}, format="json"),
        "POST merge": lambda: api.post(
            url(store, f"/entities/{entities[0]}/merge"), {"absorbed_id": next(absorbed)}, format="json"),
        "GET merges": lambda: api.get(url(store, "/merges")),
        "GET jobs": lambda: api.get(url(store, "/jobs")),
        "POST imports": lambda: api.generic("POST", url(store, "/imports"), b'{"content": "x"}', "application/x-ndjson"),
        "POST exports": lambda: api.post(url(store, "/exports"), {}, format="json"),
        "POST traverse": lambda: api.post(url(store, "/traverse"), {"entity": "Quay 0", "max_hops": 2}, format="json"),
        "POST recall": lambda: api.post(url(store, "/recall"), {"query": "walrus"}, format="json"),
        "POST reconstruct": lambda: api.post(url(store, "/reconstruct"), ask, format="json"),
        "POST contents": lambda: api.post(url(store, "/contents"), {"refs": [
            {"ref": "mem:1", "span": [0, 3]}, {"ref": "mem:2", "node": 0}, "mem:3", "ep:1"]}, format="json"),
        "POST payloads": lambda: api.post(url(store, "/payloads"), {"payloads": [
            {"content": f"p {next(fresh)}", "session_id": "s0"} for _ in range(3)]}, format="json"),
        "POST expand-query": lambda: api.post(url(store, "/expand-query"), {
            "session_id": "s0", "prompt": "p", "query": "walrus"}, format="json"),
        "POST expand-query by ids": lambda: api.post(url(store, "/expand-query"), {
            "session_id": "s0", "prompt": "p", "node_ids": [1]}, format="json"),
        "POST expand": lambda: api.post(url(store, "/expand"), {"session_id": "s0", "node_id": 1}, format="json"),
        "GET operations": lambda: api.get(url(store, "/operations")),
        "POST resolve_entity": lambda: api.post(
            url(store, "/operations/resolve_entity"), {"name": "Buoy 1"}, format="json"),
        "POST claims_and_sources_context": lambda: api.post(
            url(store, "/operations/claims_and_sources_context"), {"query": "walrus"}, format="json"),
        "POST facts_context": lambda: api.post(
            url(store, "/operations/facts_context"), {"query": "walrus"}, format="json"),
        "POST contradiction_members": lambda: api.post(
            url(store, "/operations/contradiction_members"), {"group_id": disputed(api, store)}, format="json"),
        "POST context-bundle": lambda: api.post(url(store, "/context-bundle"), {"query": "walrus"}, format="json"),
        "POST verify": lambda: api.post(url(store, "/verify"), {"answer": {"items": [
            {"quote": "w", "expand_args": {"store_id": 1, "content_offset": 0}}]}}, format="json"),
    }  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_statements_per_route(name, api, store, say):
    fill(store, say, 6)
    for number in range(4 if name in ("GET entity", "POST aliases", "POST mentions", "POST merge") else 0):
        api.post(url(store, "/entities"), {"name": f"Mole {number}"}, format="json")
    call = routes(api, store)[name]
    if name.startswith("POST expand"):
        summary = {
            "summary": "walrus logs",
            "session_id": "s0",
            "source_type": "messages",
            "source_ids": [1, 2, 6],
        }
        api.post(url(store, "/summaries"), summary, format="json")
    if name in ("GET associations", "GET entities", "POST traverse"):
        routes(api, store)["POST associations again"]()
    call()
    assert counted(call) == EXPECTED[name]


@pytest.mark.parametrize("name", ["GET records", "POST recall", "POST reconstruct"])
def test_more_rows_take_no_more_statements(name, api, store, say):
    fill(store, say, 6)
    call = routes(api, store)[name]
    call()
    few = counted(call)
    say(*({"content": f"walrus note {n}", "session_id": f"t{n}"} for n in range(60)))
    assert counted(call) == few


@pytest.mark.parametrize(
    ("tail", "body"),
    [
        ("/associations", lambda fresh, n: {"associations": declaration(fresh, n), "anchor_ref": "mem:1"}),
        ("/associations/preview", lambda fresh, n: {"associations": declaration(fresh, n)}),
        (
            "/records",
            lambda fresh, n: {
                "records": [
                    {"content": f"r{next(fresh)}", "associations": declaration(fresh, n)} for _ in range(n)
                ]
            },
        ),
    ],
    ids=["declare", "preview", "ride"],
)
def test_more_declarations_take_no_more_statements(tail, body, api, store, say):
    fill(store, say, 6)
    # The document of whoever speaks outside of sessions is there.
    say("walrus")
    fresh = itertools.count()
    few = counted(lambda: api.post(url(store, tail), body(fresh, 2), format="json"))
    assert counted(lambda: api.post(url(store, tail), body(fresh, 20), format="json")) == few


@pytest.mark.parametrize("tail", ["/associations", "/entities", "/entities/1", "/records/mem:1"])
def test_a_larger_graph_takes_no_more_statements_to_read(tail, api, store, say):
    fill(store, say, 24)
    fresh = itertools.count()

    def grow(amount):
        for _ in range(amount):
            body = {"associations": declaration(fresh), "anchor_ref": "mem:1"}
            assert api.post(url(store, "/associations"), body, format="json").status_code == 200

    grow(1)
    few = counted(lambda: api.get(url(store, tail)))
    grow(4)
    assert counted(lambda: api.get(url(store, tail))) == few


def test_the_walk_takes_one_statement_a_hop_whatever_it_passes(api, store, say):
    """Statements = those without a graph + 1 for each hop and one beyond + 2 for the rows it reaches."""
    fill(store, say, 24)
    base = counted(routes(api, store)["POST reconstruct"])
    chain(store, 12)

    def ask(max_hops, count):
        body = {"query": "walrus log 3", "count": count, "top_k": 5, "max_hops": max_hops}
        return counted(lambda: api.post(url(store, "/reconstruct"), body, format="json"))

    one = ask(1, 1)
    assert ask(1, 5) == one
    assert [ask(hops, 5) - one for hops in (2, 3, 4)] == [1, 2, 3]
    assert one <= base + 1 + 1 + 1 + 2


def test_quotes_by_node_take_one_statement_more_however_many_there_are(api, store, say, run_jobs):
    def ask():
        return api.post(url(store, "/reconstruct"), {"query": "walrus", "count": 10}, format="json")

    say("walrus")
    short = counted(ask)
    long = "walrus rest and swim. " * 200
    say(*(f"{n} {long}" for n in range(2)))
    run_jobs(store)
    assert counted(ask) == short + 1
    assert sum("node" in item for item in ask().json()["items"]) == 2
    say(*(f"{n} {long}" for n in range(3, 9)))
    run_jobs(store)
    assert counted(ask) == short + 1


def test_contents_takes_no_more_statements_for_twenty_refs(api, store, say):
    say(*(f"walrus log {n}" for n in range(30)))

    def ask(amount):
        refs = [{"ref": f"mem:{n}", "node": 0} for n in range(1, amount + 1)]
        return counted(lambda: api.post(url(store, "/contents"), {"refs": refs}, format="json"))

    assert ask(20) == ask(1)
