"""Entities made on purpose, their aliases, and mentions at a place (contract: context-bundle M.2)."""

import uuid

import pytest

from memoryconsole.models import Document, DocumentVersion, Entity, EntityAlias, Mention, Passage, Record
from memoryconsole.services.payloads import externalise
from tests.api.declared import named
from tests.conftest import make_client, make_store, url


@pytest.fixture
def send(api, store):
    """POST, answer the body. `status` what it must be."""

    def send(tail, body, status=201, **headers):
        answer = api.post(url(store, tail), body, format="json", **headers)
        assert answer.status_code == status, answer.content
        return answer.json()

    return send


@pytest.fixture
def create(send):
    def create(name, **members):
        return send("/entities", {"name": name, **members})["entity_id"]

    return create


@pytest.fixture
def get(api, store):
    def get(tail, **query):
        answer = api.get(url(store, tail), query)
        assert answer.status_code == 200, answer.content
        return answer.json()

    return get


@pytest.fixture
def chunk(say, store):
    """Store a message; answers its chunk id."""

    def chunk(text):
        (ref,) = say(text)
        return str(Record.objects.get(store=store, number=int(ref[4:])).uuid)

    return chunk


def passage(store, text, start, end):
    """A document of one passage, stored below the services; answers the passage's chunk id."""
    rows = {"store": store, "created_at": store.created_at}
    number = 1 + Document.objects.filter(store=store).count()
    document = Document.objects.create(
        **rows, number=900 + number, uuid=uuid.uuid4(), source_kind="file", source_ref=str(number)
    )
    version = DocumentVersion.objects.create(
        **rows, document=document, uuid=uuid.uuid4(), representation_uuid=uuid.uuid4(), version_no=1, text=text,
        digest=b"0" * 32,
    )  # fmt: skip
    record = Record.objects.create(
        **rows, number=900 + number, uuid=uuid.uuid4(), content=text[start:end], digest=b"0" * 32,
        believed_at=store.created_at,
    )  # fmt: skip
    Passage.objects.create(
        record=record, store=store, version=version, ordinal=0, char_start=start, char_end=end
    )
    return record


# Creating


def test_an_entity_is_always_a_new_one(send, get):
    first = send("/entities", {"name": " Quay ", "aliases": ["Kai", "kay", "KAI", "quay"], "project_id": "p"})
    second = send("/entities", {"name": "quay"})
    assert (first["id"], second["id"]) == (1, 2)
    assert first["entity_id"] != second["entity_id"]
    rows = get("/entities", name="QUAY")["results"]
    assert [row["id"] for row in rows] == [2, 1]
    quay = rows[1]
    assert (quay["name"], quay["project_id"], quay["status"]) == ("Quay", "p", "active")
    assert quay["aliases"] == [
        {"alias": "Kai", "project_id": "p", "channel": ""},
        {"alias": "kay", "project_id": "p", "channel": ""},
    ]


def test_a_declaration_reuses_the_lowest_of_homonyms(create, declare):
    create("Mercury")
    create("Mercury")
    assert declare(named("mercury"))["entities"] == [{"id": 1, "created": False, "name": "Mercury"}]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/name"),
        ({"name": ""}, "/name"),
        ({"name": "  "}, "/name"),
        ({"name": 7}, "/name"),
        ({"name": "x" * 257}, "/name"),
        ({"name": "x", "aliases": ["", "y"]}, "/aliases/0"),
        ({"name": "x", "aliases": "y"}, "/aliases"),
        ({"name": "x", "aliases": ["y"] * 33}, "/aliases"),
        ({"name": "x", "kind": "ship"}, "/kind"),
    ],
    ids=str,
)
def test_what_is_no_entity_is_refused(body, pointer, send, store):
    refused = send("/entities", body, 400)
    assert (refused["code"], refused["errors"][0]["pointer"]) == ("invalid_parameter", pointer)
    assert not Entity.objects.filter(store=store).exists()


def test_a_repeated_key_makes_no_second_entity(send, store):
    first = send("/entities", {"name": "Quay"}, HTTP_IDEMPOTENCY_KEY="k")
    assert send("/entities", {"name": "Quay"}, HTTP_IDEMPOTENCY_KEY="k") == first
    assert (
        send("/entities", {"name": "Pier"}, 409, HTTP_IDEMPOTENCY_KEY="k")["code"] == "idempotency_conflict"
    )
    assert Entity.objects.filter(store=store).count() == 1


def test_who_declared_it_is_kept(create, store, ada, client):
    create("by a token")
    client.force_login(ada)
    answer = client.post(url(store, "/entities"), {"name": "by a person"}, content_type="application/json")
    assert answer.status_code == 201, answer.content
    assert [e.declared_by for e in Entity.objects.filter(store=store).order_by("number")] == [
        "agent",
        "operator",
    ]


# Reading one


def test_an_entity_is_read_by_its_id_and_by_its_number(create, get, api, store):
    quay = create("Quay", aliases=["kay"], channel="c")
    answer = api.get(url(store, f"/entities/{quay}"))
    assert answer["ETag"] == '"1"'
    whole = answer.json()
    assert whole.pop("created_at").endswith("Z")
    assert whole == {
        "id": 1,
        "entity_id": quay,
        "name": "Quay",
        "project_id": "",
        "channel": "c",
        "status": "active",
        "merged_into": None,
        "survivor": quay,
        "aliases": [{"alias": "kay", "project_id": "", "channel": "c"}],
        "alias_count": 1,
        "mention_count": 0,
        "declared_by": "agent",
        "merges": [],
        "mentions": {"results": [], "next_cursor": None},
    }
    by_number = get("/entities/1")
    assert (by_number["entity_id"], by_number["mentions"], by_number["associations"]) == (quay, [], [])


def test_ids_of_nobody_and_of_another_store_are_not_found(create, api, store, cleo):
    other = make_store(cleo)
    answer = make_client(cleo, other).post(url(other, "/entities"), {"name": "Quay"}, format="json")
    foreign, unknown = answer.json()["entity_id"], str(uuid.uuid4())
    bodies = []
    for entity in (foreign, unknown):
        for tail, body in (("", None), ("/aliases", {"alias": "x"}), ("/merge", {"absorbed_id": unknown})):
            address = url(store, f"/entities/{entity}{tail}")
            answer = api.get(address) if body is None else api.post(address, body, format="json")
            assert answer.status_code == 404
            problem = answer.json()
            problem.pop("instance")
            bodies.append(problem)
    assert bodies[:3] == bodies[3:]


def test_mentions_are_paged(create, chunk, send, api, store):
    quay = create("Quay")
    for number in range(5):
        send("/mentions", {"chunk_id": chunk(f"quay {number}"), "entity_id": quay, "quote": "quay"})
    seen, query = [], {"limit": 2}
    while True:
        page = api.get(url(store, f"/entities/{quay}"), query).json()["mentions"]
        seen += [row["ref"] for row in page["results"]]
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]
    assert seen == ["mem:5", "mem:4", "mem:3", "mem:2", "mem:1"]
    other = create("Pier")
    answer = api.get(url(store, f"/entities/{other}"), {"cursor": query["cursor"]})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_cursor")


# Aliases


def test_an_alias_is_added_once_whoever_else_is_called_so(create, send, get):
    quay, pier = create("Quay", project_id="p"), create("Pier")
    assert send(f"/entities/{quay}/aliases", {"alias": "landing"}) == {"entity_id": quay, "created": True}
    assert send(f"/entities/{quay}/aliases", {"alias": " LANDING"}, 200)["created"] is False
    assert send(f"/entities/{quay}/aliases", {"alias": "QUAY"}, 200)["created"] is False
    assert send(f"/entities/{pier}/aliases", {"alias": "landing"})["created"] is True
    assert [row["id"] for row in get("/entities", name="landing")["results"]] == [2, 1]
    assert get(f"/entities/{quay}")["aliases"] == [{"alias": "landing", "project_id": "p", "channel": ""}]


def test_if_match_guards_an_alias(create, api, store):
    quay = create("Quay")
    address = url(store, f"/entities/{quay}/aliases")
    first = api.post(address, {"alias": "kay"}, format="json", HTTP_IF_MATCH='"1"')
    assert (first.status_code, first["ETag"]) == (201, '"2"')
    stale = api.post(address, {"alias": "kai"}, format="json", HTTP_IF_MATCH='"1"')
    assert (stale.status_code, stale.json()["code"]) == (412, "stale_resource")
    assert EntityAlias.objects.filter(store=store).count() == 1
    # The same again changes nothing, and its version stays.
    again = api.post(address, {"alias": "kay"}, format="json", HTTP_IF_MATCH='"2"')
    assert (again.status_code, again["ETag"]) == (200, '"2"')


# Mentions


def test_a_mention_is_at_a_place_of_a_message(create, chunk, send, get):
    quay, text = create("Quay"), "At the quäy, the quay 🚢 of old"
    at = chunk(text)
    found = send("/mentions", {"chunk_id": at, "entity_id": quay, "quote": "quay 🚢"})
    start = text.index("quay 🚢")
    assert found == {
        "chunk_id": at, "entity_id": quay, "char_start": start, "char_end": start + 6, "created": True,
    }  # fmt: skip
    again = {"chunk_id": at, "entity_id": quay, "start": start, "end": start + 6}
    assert send("/mentions", again, 200)["created"] is False
    whole = {"chunk_id": at, "entity_id": quay, "start": 0, "end": len(text)}
    assert send("/mentions", whole)["char_end"] == len(text)
    shown = get(f"/entities/{quay}")["mentions"]["results"]
    assert [(row["ref"], row["char_start"], row["char_end"]) for row in shown] == [
        ("mem:1", 0, len(text)),
        ("mem:1", start, start + 6),
    ]
    assert {row["entity_id"] for row in shown} == {quay}


def test_places_of_a_passage_count_in_the_document(create, send, store):
    text = "Preface.\n\nThe quay burnt down.\n\nEnd."
    record = passage(store, text, 10, 30)
    quay, at = create("Quay"), str(record.uuid)
    found = send("/mentions", {"chunk_id": at, "entity_id": quay, "quote": "quay"})
    assert (found["char_start"], found["char_end"]) == (14, 18)
    assert text[14:18] == "quay"
    assert (
        send("/mentions", {"chunk_id": at, "entity_id": quay, "start": 14, "end": 18}, 200)["created"]
        is False
    )
    mention = Mention.objects.get(store=store)
    assert record.content[mention.char_start : mention.char_end] == "quay"
    for start, end in ((9, 12), (28, 31), (0, 4)):
        refused = send("/mentions", {"chunk_id": at, "entity_id": quay, "start": start, "end": end}, 400)
        assert refused["errors"][0] | {"message": ""} == {
            "pointer": "/start",
            "code": "out_of_range",
            "message": "",
        }
    Document.objects.filter(versions__passages__record=record).update(deleted_at=store.created_at)
    refused = send("/mentions", {"chunk_id": at, "entity_id": quay, "quote": "burnt"}, 400)
    assert refused["errors"][0]["pointer"] == "/chunk_id"


@pytest.mark.parametrize(
    ("place", "pointer", "code"),
    [
        ({"quote": "boat"}, "/quote", "not_found"),
        ({"quote": "Quay"}, "/quote", "not_found"),
        ({"quote": "quay"}, "/quote", "ambiguous"),
        ({"quote": ""}, "/quote", "blank"),
        ({"start": 0, "end": 0}, "/start", "out_of_range"),
        ({"start": 3, "end": 2}, "/start", "out_of_range"),
        ({"start": 0, "end": 100}, "/start", "out_of_range"),
        ({"start": -1, "end": 2}, "/start", "min_value"),
        ({"start": 0}, "", "invalid"),
        ({"end": 2}, "", "invalid"),
        ({}, "", "invalid"),
        ({"quote": "a", "start": 0, "end": 1}, "", "invalid"),
        ({"start": 0, "end": True}, "/end", "invalid"),
    ],
    ids=str,
)
def test_what_is_no_place_in_the_chunk_is_refused(place, pointer, code, create, chunk, send, store):
    body = {"chunk_id": chunk("a quay and a quay"), "entity_id": create("Quay")} | place
    fault = send("/mentions", body, 400)["errors"][0]
    assert (fault["pointer"], fault["code"]) == (pointer, code)
    assert not Mention.objects.filter(store=store).exists()


def test_overlapping_words_are_more_than_one_place(create, chunk, send):
    body = {"chunk_id": chunk("anana"), "entity_id": create("Ana"), "quote": "ana"}
    assert send("/mentions", body, 400)["errors"][0]["code"] == "ambiguous"


def test_a_chunk_or_an_entity_that_is_not_here_is_refused(create, chunk, send, api, store):
    at, quay, nobody = chunk("quay"), create("Quay"), str(uuid.uuid4())
    place = {"start": 0, "end": 4}
    for body, pointer in (
        ({"chunk_id": nobody, "entity_id": quay}, "/chunk_id"),
        ({"chunk_id": at, "entity_id": nobody}, "/entity_id"),
        ({"chunk_id": quay, "entity_id": quay}, "/chunk_id"),
        ({"chunk_id": "x", "entity_id": quay}, "/chunk_id"),
        ({"chunk_id": at.upper(), "entity_id": quay}, "/chunk_id"),
    ):
        assert send("/mentions", body | place, 400)["errors"][0]["pointer"] == pointer
    assert api.delete(url(store, "/records/mem:1")).status_code == 202
    assert (
        send("/mentions", {"chunk_id": at, "entity_id": quay} | place, 400)["errors"][0]["pointer"]
        == "/chunk_id"
    )


# However many places of a row mention an entity, it is one mention


@pytest.fixture
def thrice(create, chunk, send, declare, store):
    """Larkspur, mentioned at two places of mem:1 and somewhere in it, and by mem:2; Odalys tends it, in mem:3."""
    lark, odalys = create("Larkspur"), create("Odalys")
    first, second, third = chunk("Larkspur meets Larkspur"), chunk("Larkspur alone"), chunk("Odalys sleeps")
    for at, start in ((first, 0), (first, 15), (second, 0)):
        send("/mentions", {"chunk_id": at, "entity_id": lark, "start": start, "end": start + 8})
    send("/mentions", {"chunk_id": third, "entity_id": odalys, "quote": "Odalys"})
    answer = declare(
        named("Larkspur")
        | {"relations": [{"subject": "Odalys", "predicate": "tends", "object": "Larkspur"}]},
        anchor_ref="mem:1",
    )
    assert answer["mentions"] == 1
    # It is mentioned already, wherever that is.
    assert Mention.objects.filter(store=store).count() == 4
    Mention.objects.create(
        store=store, entity=Entity.objects.get(uuid=lark), record=Record.objects.get(uuid=first),
        created_at=store.created_at,
    )  # fmt: skip
    return lark


def test_lists_and_pages_count_a_row_once(thrice, get):
    assert [row["mention_count"] for row in get("/entities")["results"]] == [1, 2]
    assert get("/entities/1")["mentions"] == ["mem:1", "mem:2"]
    assert get(f"/entities/{thrice}")["mention_count"] == 2
    assert len(get(f"/entities/{thrice}")["mentions"]["results"]) == 4
    assert get("/records/mem:1")["mentions"] == [{"entity": 1, "name": "Larkspur"}]


def test_traverse_counts_a_row_once(thrice, traverse):
    (lark, _) = traverse("larkspur", limit=2)["entities"]
    assert lark["mentions"] == ["mem:1", "mem:2"]
    assert "mentions_omitted" not in lark
    (lark,) = traverse("larkspur", limit=1)["entities"]
    assert (lark["mentions"], lark["mentions_omitted"]) == (["mem:1"], 1)


def test_the_walk_adds_a_row_once_and_its_bound_counts_rows(thrice, ask):
    def walked(max_evidence):
        body = ask("sleeps", count=1, top_k=1, max_evidence=max_evidence)
        (item,) = body["items"]
        refs = sorted(claim["ref"] for claim in item["claims"])
        return refs, item.get("claims_omitted"), body["bounds"]

    assert walked(3)[:2] == (["mem:1", "mem:2", "mem:3"], None)
    assert walked(2)[:2] == (["mem:1", "mem:3"], 1)
    # Two rows mention it: as many as are read, and no more.
    assert "max_evidence" not in walked(2)[2].get("reached", [])
    assert "max_evidence" in walked(1)[2]["reached"]


def test_retracting_takes_every_place_of_the_row(thrice, declare, get):
    body = {"mentions": [{"entity": 1, "ref": "mem:1"}, {"entity": 1, "ref": "mem:3"}]}
    assert declare(retract=body)["retracted"] == {"relations": 0, "mentions": 1}
    assert get("/entities/1")["mentions"] == ["mem:2"]


def test_a_text_that_moves_out_leaves_the_mention_without_a_place(thrice, say, store, get):
    say({"content": "Larkspur in Larkspur", "session_id": "s"})
    record = Record.objects.get(store=store, content="Larkspur in Larkspur")
    lark = Entity.objects.get(uuid=thrice)
    for start, end in ((0, 8), (12, 20)):
        Mention.objects.create(
            store=store,
            entity=lark,
            record=record,
            char_start=start,
            char_end=end,
            created_at=store.created_at,
        )
    externalise(store, record.number, now=store.created_at)
    rows = Mention.objects.filter(record=record)
    assert [(row.char_start, row.char_end) for row in rows] == [(None, None)]
    assert get("/records/mem:4")["mentions"] == [{"entity": 1, "name": "Larkspur"}]
    assert Mention.objects.filter(record__number=1, store=store).count() == 3
