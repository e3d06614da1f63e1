"""Claims over the API: verbatim words of a current passage, once, current as long as the source says so."""

import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memoryconsole.models import Claim, ClaimCurrency, Entity, IndexEntry, Mention, Session
from tests.conftest import make_client, make_store, url

# An id that nothing has.
NOBODY = "6f1c2f0e-8a55-4c0b-9d4e-3f0a1b2c3d4e"
TEXT = (
    "# Crew\n\nMarit Solvang joined in April 2022. She sails the Tern.\n\n# Berths\n\nBerth four is closed.\n"
)


@pytest.fixture
def ingest(api, store):
    def ingest(text=TEXT, **members):
        body = {"source_kind": "file", "source_ref": "log.md", "text": text} | members
        answer = api.post(url(store, "/documents"), body, format="json")
        assert answer.status_code == 201, answer.content
        return answer.json()

    return ingest


@pytest.fixture
def claim(api, store):
    """Declare a claim, answer the body. `status` what it must be."""

    def claim(chunk, text="Marit Solvang joined in April 2022.", *, status=201, headers=None, **members):
        body = {"chunk_id": chunk, "claim_text": text} | members
        answer = api.post(url(store, "/claims"), body, format="json", headers=headers)
        assert answer.status_code == status, answer.content
        return answer.json()

    return claim


@pytest.fixture
def read(api, store):
    def read(made, *, status=200):
        answer = api.get(url(store, f"/claims/{made['id']}"))
        assert answer.status_code == status, answer.content
        return answer.json()

    return read


@pytest.fixture
def mark(api, store):
    """Say that a claim is current or not."""

    def mark(made, current, reason=None, *, status=200, headers=None):
        reason = reason or ("review_restored" if current else "reextracted")
        answer = api.post(url(store, f"/claims/{made['id']}/currency"), {"current": current, "reason": reason}, format="json", headers=headers)  # fmt: skip
        assert answer.status_code == status, answer.content
        return answer.json()

    return mark


def entity(store, number, **fields):
    return Entity.objects.create(
        store=store, number=number, uuid=uuid.uuid4(), name="Marit", declared_key="marit", created_at=timezone.now(), **fields
    )  # fmt: skip


def test_a_claim_keeps_its_words_and_where_they_stand(ingest, claim, read):
    made = ingest(source_modified_at="2024-04-02T00:00:00+02:00")
    quote = "Marit Solvang joined in April 2022."
    body = claim(
        "mem:1", quote=quote, is_attributed=True, added_context=["Berth four"], valid_kind="event_time",
        window={"from": "2022-04", "precision": "month"},
    )  # fmt: skip
    assert body == {"id": body["id"], "created": True, "restored": False, "current": True}
    told = read(body)
    start = TEXT.index(quote)
    assert told["spans"] == [{"start": start, "end": start + len(quote)}]
    assert told["source_span"] == TEXT[start : start + len(quote)] == quote
    assert (told["document_id"], told["representation_id"]) == (made["id"], made["representation_id"])
    assert told["window"] == {
        "from": "2022-04-01T00:00:00Z", "until": "2022-04-30T23:59:59.999999Z", "precision": "month",
    }  # fmt: skip
    assert (told["valid_kind"], told["is_attributed"], told["added_context"]) == (
        "event_time",
        True,
        ["Berth four"],
    )
    assert (told["asserted_at"], told["declared_by"]) == ("2024-04-01T22:00:00Z", "agent")
    assert (told["ref"], told["current"], told["currency"]) == ("mem:1", True, [])


def test_offsets_count_in_the_documents_text_and_the_origin_is_first(ingest, claim, read):
    ingest()
    spans = [
        (TEXT.index("She sails"), TEXT.index("She sails") + 18),
        (TEXT.index("Marit"), TEXT.index("Marit") + 5),
    ]
    told = read(claim("mem:1", "Marit sails the Tern.", spans=[{"start": a, "end": b} for a, b in spans]))
    assert told["source_span"] == "She sails the Tern"
    assert [(span["start"], span["end"]) for span in told["spans"]] == spans


def test_offsets_of_a_message_count_in_the_message_and_are_code_points(say, claim, read, api, store):
    content = "🚢 Åse says: the ferry is late 🌊."
    say({"content": content, "session_id": "s", "timestamp": "2026-01-05T10:00:00+01:00"})
    start = content.index("the ferry")
    chunk = api.get(url(store, "/records/mem:1")).json()["chunk_id"]
    told = read(claim(chunk, "The ferry is late.", spans=[{"start": start, "end": start + 17}]))
    assert told["source_span"] == "the ferry is late"
    assert (told["chunk_id"], told["representation_id"]) == (chunk, chunk)
    assert told["asserted_at"] == "2026-01-05T09:00:00Z"


@pytest.mark.parametrize(
    ("members", "pointer", "code"),
    [
        ({"quote": "Marit Solvang left"}, "/quote", "not_found"),
        ({"quote": "marit solvang"}, "/quote", "not_found"),
        ({"quote": "Berth four"}, "/quote", "not_found"),
        ({"quote": " in "}, None, None),
        ({"quote": "in"}, "/quote", "ambiguous"),
        ({"quote": "  "}, "/quote", "blank"),
        ({"quote": ""}, "/quote", "blank"),
        ({}, "", "contradiction"),
        ({"quote": "Marit", "spans": [{"start": 8, "end": 9}]}, "", "contradiction"),
        ({"spans": []}, "/spans", "empty"),
        ({"spans": [{"start": 8, "end": 8}]}, "/spans/0", "outside"),
        ({"spans": [{"start": 9, "end": 8}]}, "/spans/0", "outside"),
        ({"spans": [{"start": 8, "end": 9}, {"start": 70, "end": 80}]}, "/spans/1", "outside"),
        ({"spans": [{"start": 6, "end": 8}]}, "/spans/0", "blank"),
        ({"spans": [{"start": -1, "end": 8}]}, "/spans/0/start", "min_value"),
        ({"spans": [{"start": "1", "end": 8}]}, "/spans/0/start", "invalid"),
        ({"spans": [{"start": 1}]}, "/spans/0/end", "required"),
        ({"quote": "Marit", "added_context": ["Tern", "Nobody"]}, "/added_context/1", "not_found"),
        ({"quote": "Marit", "added_context": [" "]}, "/added_context/0", "blank"),
        ({"quote": "Marit", "window": {"from": "2022-04-02T00:00:00Z", "precision": "month"}}, "/window/from", "not_aligned"),
        ({"quote": "Marit", "window": {"from": "2022-04-02T00:00:00Z"}}, "/window/precision", "required"),
        ({"quote": "Marit", "window": {"from": "2022", "until": "2021", "precision": "year"}}, "/window/until", "contradiction"),
        ({"quote": "Marit", "window": {"precision": "decade"}}, "/window/precision", "invalid_choice"),
        ({"quote": "Marit", "valid_kind": "rumour"}, "/valid_kind", "invalid_choice"),
        ({"quote": "Marit", "asserted_at": "2022-04-02"}, "/asserted_at", "invalid"),
        ({"quote": "Marit", "mentions": [{"entity_id": NOBODY}]}, "/mentions/0/entity_id", "unknown"),
        ({"quote": "Marit", "is_attributed": 1}, "/is_attributed", "invalid"),
        ({"quote": "Marit", "claim_text": " "}, "/claim_text", "blank"),
        ({"quote": "Marit", "confidence": 1}, "/confidence", "unknown"),
    ],
)  # fmt: skip
def test_what_is_no_claim_is_refused(members, pointer, code, ingest, claim, store):
    ingest()
    refused = claim("mem:1", status=201 if code is None else 400, **members)
    if code is not None:
        assert (refused["errors"][0]["pointer"], refused["errors"][0]["code"]) == (pointer, code)
        assert not Claim.objects.filter(store=store).exists()
        assert not Mention.objects.filter(store=store).exists()


@pytest.mark.parametrize("chunk", ["mem:99", NOBODY, "ep:1", "x", "mem:", 1])
def test_a_chunk_that_is_not_there_is_refused(chunk, claim, ingest):
    ingest()
    assert claim(chunk, quote="Marit", status=400)["errors"][0]["pointer"] == "/chunk_id"


def test_another_stores_chunk_is_unknown(ingest, claim, ada, api, store):
    ingest()
    other = make_store(ada, "attic")
    chunk = api.get(url(store, "/records/mem:1")).json()["chunk_id"]
    made = claim(chunk, quote="Marit")
    client = make_client(ada, other)
    body = {"chunk_id": chunk, "claim_text": "x", "quote": "Marit"}
    assert client.post(url(other, "/claims"), body, format="json").status_code == 400
    assert client.get(url(other, f"/claims/{made['id']}")).status_code == 404
    answer = client.post(
        url(other, f"/claims/{made['id']}/currency"),
        {"current": False, "reason": "reextracted"},
        format="json",
    )
    assert answer.status_code == 404


def test_the_same_words_of_the_same_document_are_one_claim(ingest, claim, read):
    ingest("# One\n\nThe ferry is late.\n\n# Two\n\nThe ferry is late.")
    first = claim("mem:1", "Late.", quote="The ferry is late.")
    again = claim("mem:1", "Late.", quote="The ferry is late.", is_attributed=True, status=200)
    assert again == first | {"created": False}
    elsewhere = claim("mem:2", "Late.", quote="The ferry is late.", status=200)
    assert elsewhere["id"] == first["id"]
    told = read(first)
    assert (told["is_attributed"], told["ref"]) == (False, "mem:1")
    assert [(row["ref"], row["current"]) for row in told["occurrences"]] == [("mem:2", True)]
    assert claim("mem:1", "Late.", quote="ferry is late.")["id"] != first["id"]
    assert claim("mem:1", "The ferry is late.", quote="The ferry is late.")["id"] != first["id"]


def test_two_messages_that_say_the_same_make_two_claims(say, claim):
    say({"content": "I agree.", "session_id": "s"}, {"content": "I agree.", "session_id": "s"})
    assert (
        claim("mem:1", "Agreed.", quote="I agree.")["id"] != claim("mem:2", "Agreed.", quote="I agree.")["id"]
    )


def test_what_is_added_stands_in_the_same_conversation(say, claim):
    say(
        {"content": "She sails the Tern.", "session_id": "s"},
        {"content": "Marit is 100% ready_", "session_id": "s"},
        {"content": "Odalys", "session_id": "t"},
        {"content": "I stay.", "source": {"type": "User", "id": "u1"}},
        {"content": "Dag", "source": {"type": "User", "id": "u1"}},
    )
    assert claim("mem:1", "Marit sails.", quote="She sails", added_context=["Marit", "100% ready_"])[
        "created"
    ]
    refused = claim(
        "mem:1", "Odalys sails.", quote="She sails", added_context=["Marit", "Odalys"], status=400
    )
    assert refused["errors"][0]["pointer"] == "/added_context/1"
    claim("mem:1", "x", quote="She sails", added_context=["Marit is 1__%"], status=400)
    assert claim("mem:4", "Dag stays.", quote="I stay.", added_context=["Dag"])["created"]
    claim("mem:4", "Marit stays.", quote="I stay.", added_context=["Marit"], status=400)


def test_mentions_are_kept_in_the_records_own_places(ingest, claim, store):
    ingest()
    marit, tern = entity(store, 1), entity(store, 2)
    at = TEXT.index("Berth four")
    members = {
        "mentions": [
            {"entity_id": str(marit.uuid)},
            {"entity_id": str(tern.uuid), "start": at, "end": at + 5},
        ]
    }
    claim("mem:2", "Closed.", quote="four is closed", **members)
    kept = Mention.objects.filter(store=store).select_related("record").order_by("entity__number")
    assert [row.record.content[row.char_start : row.char_end] for row in kept] == ["four is closed", "Berth"]
    # Again: nothing is doubled.
    claim("mem:2", "Closed.", quote="four is closed", status=200, **members)
    assert Mention.objects.filter(store=store).count() == 2


def test_a_mention_outside_of_the_chunk_or_of_an_entity_that_was_merged_is_refused(ingest, claim, store):
    ingest()
    marit = entity(store, 1)
    gone = entity(store, 2, status="merged", merged_into=marit)
    outside = claim(
        "mem:2", quote="four", mentions=[{"entity_id": str(marit.uuid), "start": 0, "end": 5}], status=400
    )
    assert outside["errors"][0] | {"message": ""} == {
        "pointer": "/mentions/0",
        "code": "outside",
        "message": "",
    }
    merged = claim("mem:2", quote="four", mentions=[{"entity_id": str(gone.uuid)}], status=400)
    assert merged["errors"][0]["code"] == "unknown"


def test_a_newer_version_carries_what_it_still_says_and_closes_the_rest(ingest, claim, read):
    ingest()
    joined = claim("mem:1", quote="joined in April 2022")
    sails = claim("mem:1", "Sails.", quote="She sails the Tern.")
    closed = claim("mem:2", "Closed.", quote="Berth four is closed.")
    newer = "Preface.\n\n# Crew\n\nMarit Solvang joined in April 2022.\n\n# Berths\n\nBerth four is closed.\n"
    assert ingest(newer)["claims"] == {"carried": 2, "closed": 1}
    gone = read(sails)
    assert (gone["current"], gone["occurrences"]) == (False, [])
    assert [(row["current"], row["reason"], row["decided_by"]) for row in gone["currency"]] == [
        (False, "version_superseded", "auto")
    ]
    for made in (joined, closed):
        told = read(made)
        (occurrence,) = told["occurrences"]
        (span,) = occurrence["spans"]
        assert told["current"] is True
        assert newer[span["start"] : span["end"]] == told["source_span"]
        assert occurrence["current"] is True
    # Once more: from where they stand now.
    assert ingest("Berth four is closed.")["claims"] == {"carried": 1, "closed": 1}
    assert [row["current"] for row in read(closed)["occurrences"]] == [True, False]
    assert read(joined)["current"] is False


def test_a_passage_that_stays_keeps_its_claims_places(ingest, claim, read):
    """Of two equal sentences the claim stays with the one it was taken from."""
    same = "The ferry is late."
    ingest(f"# One\n\nMonday. {same}\n\n# Two\n\nTuesday. {same}")
    made = claim("mem:2", "Late on Tuesday.", quote=same)
    ingest(f"# New\n\nSunday. {same}\n\n# One\n\nMonday. {same}\n\n# Two\n\nTuesday. {same}")
    (occurrence,) = read(made)["occurrences"]
    assert occurrence["ref"] == "mem:5"


def test_several_spans_are_carried_together_or_not_at_all(ingest, claim, read):
    ingest("The Tern sails. The Gull rests.")
    spans = [{"start": 16, "end": 30}, {"start": 0, "end": 14}]
    made = claim("mem:1", "One sails, one rests.", spans=spans)
    ingest("# A\n\nThe Gull rests.\n\n# B\n\nThe Gull rests. The Tern sails.")
    (occurrence,) = read(made)["occurrences"]
    assert (occurrence["ref"], len(occurrence["spans"])) == ("mem:3", 2)
    ingest("# A\n\nThe Gull rests.\n\n# B\n\nThe Tern sails.")
    assert read(made)["current"] is False


def test_a_claim_that_is_declared_again_is_current_again(ingest, claim, read):
    ingest()
    made = claim("mem:1", quote="joined in April 2022")
    ingest("Nothing.")
    ingest(TEXT)
    assert read(made)["current"] is False
    again = claim("mem:4", quote="joined in April 2022", status=200)
    assert again == {"id": made["id"], "created": False, "restored": True, "current": True}
    assert [(row["current"], row["reason"]) for row in read(made)["currency"]] == [
        (False, "version_superseded"),
        (True, "review_restored"),
    ]


def test_a_chunk_that_was_replaced_takes_no_claims(ingest, say, claim):
    ingest()
    ingest("Nothing.")
    assert claim("mem:1", quote="Marit", status=409)["code"] == "state_conflict"
    say({"content": "Marit stays.", "message_id": "m"}, {"content": "Marit goes.", "message_id": "m"})
    assert claim("mem:4", quote="Marit", status=409)["code"] == "state_conflict"
    claim("mem:5", quote="Marit")


def test_a_newer_message_closes_what_it_no_longer_says(say, claim, read):
    say({"content": "The ferry leaves at nine. Berth four is closed.", "message_id": "m", "session_id": "s"})
    leaves = claim("mem:1", "Leaves at nine.", quote="leaves at nine")
    closed = claim("mem:1", "Berth four is closed.", quote="Berth four is closed.")
    other = say({"content": "leaves at nine", "message_id": "other"})
    apart = claim(other[0], "Leaves.", quote="leaves")
    say({"content": "Now: Berth four is closed.", "message_id": "m", "session_id": "s"})
    assert read(leaves)["current"] is False
    told = read(closed)
    assert (told["current"], told["ref"]) == (True, "mem:1")
    assert [(row["ref"], row["spans"], row["current"]) for row in told["occurrences"]] == [
        ("mem:3", [{"start": 5, "end": 26}], True)
    ]
    assert read(apart)["current"] is True
    # Two newer versions in one call: each takes its turn.
    say(
        {"content": "Berth four is open.", "message_id": "m"},
        {"content": "Berth four is closed.", "message_id": "m"},
    )
    assert read(closed)["current"] is False
    again = claim("mem:5", "Berth four is closed.", quote="Berth four is closed.", status=200)
    assert (again["id"], again["restored"]) == (closed["id"], True)


def test_versions_of_one_call_are_followed_in_turn(say, claim, read):
    say({"content": "a b", "message_id": "m"})
    made = claim("mem:1", "b", quote="b")
    say({"content": "b c", "message_id": "m"}, {"content": "c b", "message_id": "m"})
    told = read(made)
    assert told["current"] is True
    assert [(row["ref"], row["spans"]) for row in told["occurrences"]] == [
        ("mem:3", [{"start": 2, "end": 3}]),
        ("mem:2", [{"start": 0, "end": 1}]),
    ]


def test_currency_is_a_ledger(ingest, claim, read, mark, api, store):
    ingest()
    made = claim("mem:1", quote="Marit")
    where = url(store, f"/claims/{made['id']}")
    assert api.get(where)["ETag"] == '"0"'
    assert mark(made, False) == {"id": made["id"], "current": False, "changed": True}
    assert mark(made, False)["changed"] is False
    assert api.get(where)["ETag"] == '"1"'
    assert mark(made, True, headers={"If-Match": '"0"'}, status=412)["code"] == "stale_resource"
    assert mark(made, True, headers={"If-Match": '"1"'})["changed"] is True
    assert [(row["current"], row["reason"]) for row in read(made)["currency"]] == [
        (False, "reextracted"),
        (True, "review_restored"),
    ]
    row = ClaimCurrency.objects.filter(claim__uuid=made["id"]).first()
    assert (row.decided_by, row.actor.split()[0][:5]) == ("auto", "user:")


@pytest.mark.parametrize(
    ("current", "reason"),
    [
        (True, "reextracted"),
        (False, "review_restored"),
        (False, "version_deleted"),
        (False, "bored"),
        (1, "review_restored"),
    ],
)
def test_a_reason_has_to_fit(current, reason, ingest, claim, mark):
    ingest()
    made = claim("mem:1", quote="Marit")
    assert mark(made, current, reason, status=400)["code"] == "invalid_parameter"


def test_what_no_current_text_says_cannot_be_current(ingest, claim, mark):
    ingest()
    made = claim("mem:1", quote="Marit")
    ingest("Nothing.")
    assert mark(made, True, status=409)["code"] == "state_conflict"


@pytest.mark.parametrize("between", [("# New\n\nGulls.\n\n" + TEXT,), ("Nothing.", TEXT)])
def test_a_claim_is_current_again_where_a_later_version_has_its_words(
    between, ingest, claim, mark, read, store
):
    """What was not current when the version came was not looked for in it."""
    ingest()
    marit = entity(store, 1)
    made = claim("mem:1", quote="joined in April 2022", mentions=[{"entity_id": str(marit.uuid)}])
    mark(made, False)
    for text in between:
        later = ingest(text)
    assert read(made)["occurrences"] == []
    assert mark(made, True)["current"] is True
    (occurrence,) = read(made)["occurrences"]
    (span,) = occurrence["spans"]
    assert between[-1][span["start"] : span["end"]] == "joined in April 2022"
    assert Mention.objects.filter(entity=marit).count() == 2
    # And it is followed from there.
    assert ingest("# All\n\nShe joined in April 2022.")["claims"] == {"carried": 1, "closed": 0}
    assert later["claims"] == {"carried": 0, "closed": 0}


def test_a_message_s_claim_is_current_again_where_its_newest_version_has_the_words(say, claim, mark, read):
    say({"content": "The ferry is late.", "message_id": "m"}, {"content": "is late", "message_id": "other"})
    made = claim("mem:1", "Late.", quote="is late")
    mark(made, False)
    say({"content": "On time.", "message_id": "m"})
    mark(made, True, status=409)
    say({"content": "Again it is late.", "message_id": "m"})
    assert mark(made, True)["changed"] is True
    assert [(row["ref"], row["spans"]) for row in read(made)["occurrences"]] == [
        ("mem:4", [{"start": 9, "end": 16}])
    ]


def test_without_the_version_that_said_it_again_a_claim_is_not_current(say, claim, mark, read, api, store):
    """The version that is then the newest does not say it."""
    for text in ("The ferry is late.", "On time.", "It is late."):
        say({"content": text, "message_id": "m"})
        if text == "The ferry is late.":
            made = claim("mem:1", "Late.", quote="is late")
    mark(made, True)
    assert api.delete(url(store, "/records/mem:3")).status_code == 202
    told = read(made)
    assert (told["current"], told["occurrences"], told["currency"][-1]["reason"]) == (
        False,
        [],
        "version_deleted",
    )
    assert api.delete(url(store, "/records/mem:2")).status_code == 202
    assert mark(made, True)["current"] is True


def test_without_a_version_that_said_it_too_a_claim_stands_in_the_one_before(say, claim, read, api, store):
    say({"content": "The ferry is late.", "message_id": "m"})
    made = claim("mem:1", "Late.", quote="is late")
    say({"content": "It is late.", "message_id": "m"})
    assert api.delete(url(store, "/records/mem:2")).status_code == 202
    assert read(made)["current"] is True


def test_a_deleted_record_takes_its_claims_along(say, claim, read, api, store, run_jobs):
    (ref,) = say("The ferry is late.")
    made = claim(ref, "Late.", quote="late")
    assert IndexEntry.objects.filter(store=store, claim__isnull=False).exists()
    assert api.delete(url(store, f"/records/{ref}")).status_code == 202
    read(made, status=404)
    assert api.get(url(store, "/claims")).json()["results"] == []
    assert not IndexEntry.objects.filter(store=store, claim__isnull=False).exists()
    claim(ref, "Late.", quote="late", status=400)
    run_jobs(store)
    assert not Claim.objects.filter(store=store).exists()


def test_a_text_that_is_moved_out_takes_its_claims_along(say, claim, read, store):
    from memoryconsole.services.payloads import externalise

    say({"content": "The ferry is late.", "session_id": "s"})
    made = claim("mem:1", "Late.", quote="late")
    externalise(store, 1, now=timezone.now())
    read(made, status=404)
    assert not IndexEntry.objects.filter(store=store, claim__isnull=False).exists()


def test_a_list_is_filtered_and_paged(ingest, claim, say, mark, api, store):
    made = ingest()
    first = claim("mem:1", "one", quote="Marit")
    second = claim("mem:2", "two", quote="Berth four")
    say("three")
    third = claim("mem:3", "three", quote="three")
    mark(second, False)

    def found(query=""):
        body = api.get(url(store, f"/claims?{query}")).json()
        return [row["id"] for row in body["results"]]

    assert found() == [third["id"], second["id"], first["id"]]
    assert found(f"document={made['id']}") == [second["id"], first["id"]]
    assert found("chunk=mem:3") == [third["id"]]
    chunk = api.get(url(store, "/records/mem:1")).json()["chunk_id"]
    assert found(f"chunk={chunk}") == [first["id"]]
    assert found("current=false") == [second["id"]]
    page = api.get(url(store, f"/claims?limit=1&document={made['id']}")).json()
    after = f"limit=1&document={made['id']}&cursor={page['next_cursor']}"
    assert found(after) == [first["id"]]
    counted = api.get(url(store, f"/documents/{made['id']}")).json()
    assert (counted["claim_count"], counted["current_claim_count"]) == (2, 1)


def test_an_idempotency_key_makes_one_claim_and_keeps_no_text(ingest, claim, api, store):
    from memoryconsole.models import IdempotencyKey

    ingest()
    key = {"Idempotency-Key": "k"}
    first = claim("mem:1", quote="Marit", headers=key)
    assert claim("mem:1", quote="Marit", headers=key) == first
    claim("mem:1", quote="Solvang", headers=key, status=409)
    kept = IdempotencyKey.objects.get(store=store, key="k").answer
    assert "Marit" not in str(kept)


def test_a_conversation_whose_document_is_missing_gets_one(say, claim, read, store):
    """As rows have it that were written below the services."""
    say({"content": "one", "session_id": "s"}, "two")
    Session.objects.filter(store=store).update(session_id="t")
    from memoryconsole.models import Document

    Document.objects.filter(store=store).delete()
    made = [claim(ref, "x", quote=quote) for ref, quote in (("mem:1", "one"), ("mem:2", "two"))]
    assert len({read(each)["document_id"] for each in made}) == 2
    assert claim("mem:1", "y", quote="one")["created"]
    assert Document.objects.filter(store=store).count() == 2


def test_more_claims_take_no_more_statements(ingest, claim, api, store):
    text = "\n\n".join(f"# Part {n}\n\nfact {n:03} here" for n in range(40))

    def statements(amount, tail):
        ingest(text + tail)
        listed = api.get(url(store, "/documents?source_kind=file")).json()["results"][0]
        passages = api.get(url(store, f"/documents/{listed['id']}/passages")).json()["results"]
        for row in passages[:amount]:
            claim(row["ref"], f"{row['content']}{tail}", quote=row["content"].split("\n\n")[1])
        body = {"source_kind": "file", "source_ref": "log.md", "text": f"only{tail}"}
        with CaptureQueriesContext(connection) as captured:
            assert (
                api.post(url(store, "/documents"), body, format="json").json()["claims"]["closed"] == amount
            )
        return len(captured)

    statements(1, " a")
    assert statements(1, " b") == statements(30, " c")


def test_a_store_that_never_had_a_claim_is_asked_nothing_about_claims(say, claim):
    def asked():
        with CaptureQueriesContext(connection) as captured:
            say({"content": f"{next(words)} ferry", "message_id": "m"})
        return any("mc_claim" in query["sql"] for query in captured.captured_queries)

    words = iter("abcd")
    assert [asked(), asked()] == [False, False]
    claim("mem:2", "Ferry.", quote="ferry")
    assert asked()


def relation(api, store, claims):
    """A fact that rests on these claims."""
    ids = [str(entity(store, number).uuid) for number in (101, 102)]
    body = {
        "kind": "relation",
        "subject_id": ids[0],
        "predicate": "uses",
        "object_id": ids[1],
        "evidence": [{"claim_id": made["id"], "stance": "supports"} for made in claims],
    }
    answer = api.post(url(store, "/facts"), body, format="json")
    assert answer.status_code == 201, answer.content
    return f"/facts/relation/{answer.json()['id']}"


def fact(api, store, where):
    return api.get(url(store, where)).json()


@pytest.mark.parametrize("mode", ["snapshot", "living"])
def test_a_fact_loses_its_support_with_the_words_of_its_source(mode, ingest, claim, api, store):
    """Said elsewhere, or not at all any more: our processing lost it. A living source has taken it back."""
    ingest(versioning_mode=mode)
    where = relation(api, store, [claim("mem:1", quote="joined in April 2022")])
    ingest("Nothing.")
    told = fact(api, store, where)
    assert (told["support"], told["validity"]["invalidated_at"] is None) == (
        ("withdrawn", True) if mode == "snapshot" else ("current", False)
    )
    outcomes = [entry["outcome"] for entry in told["transcript"]]
    assert outcomes[-1] == ("withdrawn" if mode == "snapshot" else "retracted_source_removal")


def test_a_fact_whose_claim_is_current_again_is_supported_again(ingest, claim, mark, api, store):
    ingest()
    made = claim("mem:1", quote="joined in April 2022")
    where = relation(api, store, [made])
    mark(made, False)
    assert fact(api, store, where)["support"] == "withdrawn"
    mark(made, True)
    assert fact(api, store, where)["support"] == "current"


def test_a_fact_outlives_a_claim_while_another_supports_it(ingest, say, claim, api, store):
    ingest(versioning_mode="living")
    say("Marit joined in April.", "Marit joined then.")
    made = [
        claim("mem:1", quote="joined in April 2022"),
        *(claim(f"mem:{n}", quote="Marit joined") for n in (3, 4)),
    ]
    where = relation(api, store, made)
    ingest("Nothing.")
    assert fact(api, store, where)["support"] == "current"
    api.delete(url(store, "/records/mem:3"))
    assert fact(api, store, where)["validity"]["invalidated_at"] is None
    api.delete(url(store, "/records/mem:4"))
    assert fact(api, store, where)["validity"]["invalidated_at"] is not None
