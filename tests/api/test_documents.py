"""Documents over the API: versions of a source, their passages, and what a newer version does."""

import threading
import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memoryconsole.models import Document, DocumentVersion, IndexEntry, Job, Passage, Record
from memoryconsole.services import documents
from tests.conftest import make_client, make_store, url

NOW = timezone.now()
TEXT = "# Harbour\n\nThe ferry leaves at nine.\n\n## Berths\n\nBerth four is closed.\n"


@pytest.fixture
def ingest(api, store):
    """Ingest a document, answer the body. `status` what it must be."""

    def ingest(text=TEXT, *, status=201, headers=None, **members):
        body = {"source_kind": "file", "source_ref": "log.md", "text": text} | members
        answer = api.post(url(store, "/documents"), body, format="json", headers=headers)
        assert answer.status_code == status, answer.content
        return answer.json()

    return ingest


@pytest.fixture
def read(api, store):
    def read(tail, *, status=200):
        answer = api.get(url(store, tail))
        assert answer.status_code == status, answer.content
        return answer.json()

    return read


def recalled(api, store, query):
    answer = api.post(url(store, "/recall"), {"query": query}, format="json")
    return [row["ref"] for row in answer.json()["results"]]


def test_a_document_falls_into_passages_that_are_records(ingest, read, api, store):
    made = ingest(
        title="Log", project_id="dispatch", channel="desk", source_modified_at="2026-01-05T10:00:00+01:00"
    )
    assert made | {"id": 0, "version_id": 0, "representation_id": 0} == {
        "id": 0, "created": True, "version": 1, "version_id": 0, "representation_id": 0, "passages": 2,
        "claims": {"carried": 0, "closed": 0},
    }  # fmt: skip
    listed = read(f"/documents/{made['id']}/passages")["results"]
    assert [row["content"] for row in listed] == [
        "# Harbour\n\nThe ferry leaves at nine.",
        "## Berths\n\nBerth four is closed.",
    ]
    assert [(row["ref"], row["ordinal"], row["heading"]) for row in listed] == [
        ("mem:1", 0, ["Harbour"]),
        ("mem:2", 1, ["Harbour", "Berths"]),
    ]
    assert all(TEXT[row["start"] : row["end"]] == row["content"] for row in listed)
    record = read("/records/mem:2")
    assert record["chunk_id"] == listed[1]["chunk_id"]
    assert record["passage"] == {
        "document_id": made["id"], "document_title": "Log", "version": 1,
            "representation_id": made["representation_id"], "start": listed[1]["start"],
        "end": listed[1]["end"], "heading": ["Harbour", "Berths"], "current": True,
    }  # fmt: skip
    assert (record["project_id"], record["channel"], record["timestamp"]) == ("dispatch", "desk", "")
    assert recalled(api, store, "berth four closed")[0] == "mem:2"


def test_a_document_tells_of_its_versions(ingest, read):
    made = ingest(title="Log", versioning_mode="living", published_at="2026-01-01T00:00:00Z")
    ingest("Other words.")
    document = read(f"/documents/{made['id']}")
    assert (document["title"], document["versioning_mode"], document["version"]) == ("Log", "living", 2)
    assert [(row["version"], row["passages"], row["status"]) for row in document["versions"]] == [
        (2, 1, "ready"),
        (1, 2, "ready"),
    ]
    newer, older = document["versions"]
    assert newer["superseded_at"] is None
    assert older["superseded_at"] >= newer["created_at"]
    assert older["published_at"] == "2026-01-01T00:00:00Z"
    assert (document["version_count"], document["claim_count"]) == (2, 0)


def test_the_same_text_again_is_no_version_and_an_older_one_is_a_third(ingest):
    first = ingest("A")
    again = ingest("A", status=200)
    assert (again["created"], again["version_id"], again["passages"]) == (False, first["version_id"], 1)
    assert [ingest(text)["version"] for text in ("B", "A")] == [2, 3]
    assert {ingest("A", status=200)["id"]} == {first["id"]}


def test_another_source_is_another_document(ingest):
    assert (
        len({ingest("A")["id"], ingest("A", source_ref="x")["id"], ingest("A", source_kind="web")["id"]}) == 3
    )


def test_a_newer_version_takes_the_place_of_the_older_in_recall(ingest, read, api, store):
    made = ingest("The walrus sleeps on berth four.")
    added = api.post(
        url(store, f"/documents/{made['id']}/versions"),
        {"text": "The walrus left.\n\n# More\n\nGulls."},
        format="json",
    )
    assert added.status_code == 201, added.content
    assert recalled(api, store, "walrus sleeps berth") == ["mem:2"]
    older = read("/records/mem:1")
    assert older["content"] == "The walrus sleeps on berth four."
    assert older["passage"]["current"] is False
    assert [row["ref"] for row in read(f"/documents/{made['id']}/passages")["results"]] == ["mem:2", "mem:3"]
    assert [row["ref"] for row in read(f"/documents/{made['id']}/passages?version=1")["results"]] == ["mem:1"]
    read(f"/documents/{made['id']}/passages?version=3", status=404)


def test_passages_are_paged_in_their_order(ingest, read):
    made = ingest("\n\n".join(f"# Part {n}\n\nwords" for n in range(5)))
    first = read(f"/documents/{made['id']}/passages?limit=2")
    second = read(f"/documents/{made['id']}/passages?limit=2&cursor={first['next_cursor']}")
    third = read(f"/documents/{made['id']}/passages?limit=2&cursor={second['next_cursor']}")
    pages = [[row["ordinal"] for row in page["results"]] for page in (first, second, third)]
    assert (pages, third["next_cursor"]) == ([[0, 1], [2, 3], [4]], None)


def test_a_source_may_say_of_itself_what_it_did_not(ingest, read):
    made = ingest(title="Log")
    before = read(f"/documents/{made['id']}")
    ingest(title="Harbour log", versioning_mode="living", status=200)
    ingest(status=200)
    after = read(f"/documents/{made['id']}")
    assert (after["title"], after["versioning_mode"]) == ("Harbour log", "living")
    assert before["version"] == after["version"] == 1


def test_a_document_stays_in_its_project(ingest):
    ingest(project_id="dispatch")
    ingest("More.", project_id="dispatch")
    refused = ingest("Less.", project_id="other", status=400)
    assert refused["errors"][0]["pointer"] == "/project_id"


@pytest.mark.parametrize(
    ("members", "pointer"),
    [
        ({"source_kind": "conversation"}, "/source_kind"),
        ({"source_kind": " "}, "/source_kind"),
        ({"source_ref": ""}, "/source_ref"),
        ({"text": " \n"}, "/text"),
        ({"text": "x" * 1_000_001}, "/text"),
        ({"text": "a\u0000b"}, ""),
        ({"text": 5}, "/text"),
        ({"versioning_mode": "frozen"}, "/versioning_mode"),
        ({"source_modified_at": "2024-06-15"}, "/source_modified_at"),
        ({"source_modified_at": "2024-06-15T12:00:00"}, "/source_modified_at"),
        ({"published_at": 1718445600}, "/published_at"),
        ({"origin": "external"}, "/origin"),
        ({"text": "# a\n" * 5001}, "/text"),
    ],
)
def test_what_is_no_document_is_refused(members, pointer, ingest, store):
    refused = ingest(status=400, **members)
    assert refused["code"] == "invalid_parameter"
    assert refused["errors"][0]["pointer"].startswith(pointer)
    assert not Document.objects.filter(store=store).exists()
    assert not Record.objects.filter(store=store).exists()


def test_if_match_guards_a_new_version(ingest, api, store):
    made = ingest()
    where = url(store, f"/documents/{made['id']}")
    tag = api.get(where)["ETag"]

    def add(text, given):
        return api.post(f"{where}/versions", {"text": text}, format="json", headers={"If-Match": given})

    assert add("One.", tag).status_code == 201
    stale = add("Two.", tag)
    assert (stale.status_code, stale.json()["code"]) == (412, "stale_resource")
    assert add("Two.", "*").status_code == 201
    assert api.get(where)["ETag"] == '"3"'


def test_an_idempotency_key_makes_one_version(ingest):
    key = {"Idempotency-Key": "once"}
    first = ingest("A", headers=key)
    ingest("B")
    assert ingest("A", headers=key) == first
    assert ingest("C", headers=key, status=409)["code"] == "idempotency_conflict"


def test_sessions_are_documents_and_so_is_each_source_outside_of_them(say, read):
    say(
        {"content": "one", "session_id": "s-1"},
        {"content": "two", "session_id": "s-1"},
        {"content": "three", "session_id": "s-2"},
        {"content": "four", "source": {"type": "User", "id": "u1"}},
        {"content": "five", "source": {"type": "User", "id": "u1"}},
        {"content": "six"},
    )
    say({"content": "seven", "session_id": "s-1"}, "eight")
    listed = read("/documents")["results"]
    assert [(row["source_ref"], row["session_id"], row["version"]) for row in listed] == [
        ("source:User:u1", "", 1),
        ("source::", "", 1),
        ("session:s-2", "s-2", 1),
        ("session:s-1", "s-1", 1),
    ]
    assert {(row["source_kind"], row["origin"]) for row in listed} == {("conversation", "system_generated")}
    told = read(f"/documents/{listed[3]['id']}/passages")["results"]
    assert [(row["ref"], row["content"], row["start"], row["end"]) for row in told] == [
        ("mem:1", "one", 0, 3),
        ("mem:2", "two", 0, 3),
        ("mem:7", "seven", 0, 5),
    ]
    apart = read(f"/documents/{listed[1]['id']}/passages")["results"]
    assert [row["ref"] for row in apart] == ["mem:6", "mem:8"]


def test_a_passage_is_of_its_document_alone(ingest, say, read):
    """It has no source either, and is yet no part of what nobody in particular said."""
    say("loose")
    ingest()
    (loose,) = read("/documents?source_kind=conversation")["results"]
    assert [row["ref"] for row in read(f"/documents/{loose['id']}/passages")["results"]] == ["mem:1"]


def test_a_summary_and_a_payload_make_their_sessions_documents(api, store, read):
    api.post(url(store, "/summaries"), {"summary": "x", "session_id": "told"}, format="json")
    api.post(url(store, "/payloads"), {"payloads": [{"content": "x", "session_id": "kept"}]}, format="json")
    refs = [row["source_ref"] for row in read("/documents")["results"]]
    assert refs == ["session:kept", "session:told"]


def test_a_conversation_takes_no_version(say, api, store, read):
    say({"content": "one", "session_id": "s"})
    (document,) = read("/documents")["results"]
    refused = api.post(url(store, f"/documents/{document['id']}/versions"), {"text": "x"}, format="json")
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (400, "conversation")


def test_a_list_is_filtered(ingest, read, say):
    say({"content": "x", "session_id": "s"})
    ingest(source_ref="a", project_id="p")
    ingest(source_ref="b", source_kind="web", channel="c")

    def found(query):
        return [row["source_ref"] for row in read(f"/documents?{query}")["results"]]

    assert found("source_kind=web") == ["b"]
    assert found("source_kind=conversation") == ["session:s"]
    assert found("source_ref=a") == ["a"]
    assert found("project_id=p") == ["a"]
    assert found("channel=c") == ["b"]


def test_a_passage_is_not_deleted_by_itself(ingest, api, store, read):
    ingest()
    refused = api.delete(url(store, "/records/mem:1"))
    assert (refused.status_code, refused.json()["code"]) == (409, "state_conflict")
    read("/records/mem:1")


def test_a_long_passage_gets_nodes(ingest, store, run_jobs):
    ingest("walrus rest and swim. " * 200)
    assert Job.objects.filter(store=store, kind="divide").exists()
    run_jobs(store)
    assert Record.objects.get(store=store).nodes.count() > 1


def test_another_stores_document_is_none(ingest, api, ada):
    made = ingest()
    other = make_store(ada, "attic")
    client = make_client(ada, other)
    for tail in ("", "/passages"):
        assert client.get(url(other, f"/documents/{made['id']}{tail}")).status_code == 404
    answer = client.post(url(other, f"/documents/{made['id']}/versions"), {"text": "x"}, format="json")
    assert answer.status_code == 404
    assert client.get(url(other, f"/documents/{uuid.uuid4()}")).status_code == 404


def test_a_longer_document_takes_no_more_statements(api, store):
    def statements(ref, amount, tail="A"):
        text = "\n\n".join(f"# Part {n}\n\n{tail} {n}" for n in range(amount))
        body = {"source_kind": "file", "source_ref": ref, "text": text}
        with CaptureQueriesContext(connection) as captured:
            assert api.post(url(store, "/documents"), body, format="json").status_code == 201
        return len(captured)

    statements("warm", 2)
    assert statements("short", 2) == statements("long", 500)
    assert statements("short", 2, tail="B") == statements("long", 500, tail="B")
    assert Passage.objects.filter(store=store).count() == 2 + 2 * 502


def test_only_current_passages_are_in_the_index(ingest, store):
    ingest("One.\n\n# Two\n\nx")
    ingest("Three.")
    indexed = IndexEntry.objects.filter(store=store).values_list(
        "record__passage__version__version_no", flat=True
    )
    assert list(indexed) == [2]


def test_two_writers_of_one_source_make_two_versions_of_one_document(store):
    """In turn, whoever is first: no version is lost and none is current beside another."""
    gate = threading.Barrier(2)

    def write(text):
        try:
            gate.wait(10)
            new = documents.NewDocument(
                source_kind="file", source_ref="race", version=documents.NewVersion(text=text)
            )
            documents.ingest_document(store, new, now=NOW)
        finally:
            connection.close()

    threads = [threading.Thread(target=write, args=(text,)) for text in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    versions = DocumentVersion.objects.filter(store=store).order_by("version_no")
    assert [(row.version_no, row.superseded_at is None) for row in versions] == [(1, False), (2, True)]
    assert Document.objects.filter(store=store).count() == 1
