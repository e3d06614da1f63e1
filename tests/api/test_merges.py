"""Two entities that are one: what is read of them, by every reader, and after the merge is reversed (decision 18)."""

import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memoryconsole.models import Association, Decision, Entity, EntityAlias, IndexEntry, Mention, MergeEvent
from tests.api.declared import named, relation
from tests.conftest import make_client, make_store, url


@pytest.fixture
def send(api, store):
    """POST, answer the body. `status` what it must be."""

    def send(tail, body=None, status=201, **headers):
        answer = api.post(url(store, tail), {} if body is None else body, format="json", **headers)
        assert answer.status_code == status, answer.content
        return answer.json()

    return send


@pytest.fixture
def get(api, store):
    def get(tail, **query):
        answer = api.get(url(store, tail), query)
        assert answer.status_code == 200, answer.content
        return answer.json()

    return get


@pytest.fixture
def uid(store):
    """The id of an entity by its number."""
    return lambda number: str(Entity.objects.get(store=store, number=number).uuid)


@pytest.fixture
def merge(send, uid):
    """Merge one entity into another, by their numbers; answers the merge's id."""

    def merge(absorbed, survivor):
        return send(f"/entities/{uid(survivor)}/merge", {"absorbed_id": uid(absorbed)})["merge_id"]

    return merge


@pytest.fixture
def undo(send):
    return lambda merge_id: send(f"/merges/{merge_id}/reverse", status=200)


@pytest.fixture
def harbour(say, declare):
    """Skerry Line (1) and its old name Skjer Linjen (2, "the Skjer"), each with a row and relations of its own:
    Odalys (3) works for the one, Fenn (4) for the other.
    """
    say(
        "Skerry Line sails at nine",
        "Skjer Linjen was founded in May",
        "Odalys is on leave",
        "Fenn has the keys",
    )
    for ref, body in (
        ("mem:1", named("Skerry Line")),
        ("mem:2", {"entities": [{"name": "Skjer Linjen", "aliases": ["the Skjer"]}]}),
        ("mem:3", named("Odalys")),
        ("mem:4", named("Fenn")),
    ):
        declare(body, anchor_ref=ref)
    declare(relation("Odalys", "works for", "Skerry Line"))
    declare(relation("Fenn", "works for", "Skjer Linjen"))


# The commands


def test_a_merge_says_what_it_did_and_a_reversal_undoes_it(harbour, send, get, uid, undo):
    made = send(f"/entities/{uid(1)}/merge", {"absorbed_id": uid(2)})
    assert made.pop("merged_at").endswith("Z")
    merge_id = made.pop("merge_id")
    assert made == {"survivor_id": uid(1), "absorbed_id": uid(2), "reversed_at": None}
    away = get(f"/entities/{uid(2)}")
    assert (away["status"], away["merged_into"], away["survivor"]) == ("merged", uid(1), uid(1))
    assert (away["aliases"], away["mention_count"], away["mentions"]["results"]) == ([], 0, [])
    stays = get(f"/entities/{uid(1)}")
    assert (stays["status"], stays["merged_into"], stays["mention_count"]) == ("active", None, 2)
    assert [alias["alias"] for alias in stays["aliases"]] == ["Skjer Linjen", "the Skjer"]
    assert stays["alias_count"] == 2
    shown = {row["ref"]: row["entity_id"] for row in stays["mentions"]["results"]}
    assert shown == {"mem:1": uid(1), "mem:2": uid(2)}
    assert [event["merge_id"] for event in stays["merges"]] == [merge_id]
    assert stays["merges"][0]["absorbed_name"] == "Skjer Linjen"
    assert get("/entities/1")["mentions"] == ["mem:1", "mem:2"]

    undone = undo(merge_id)
    assert undone["reversed_at"] is not None
    back = get(f"/entities/{uid(2)}")
    assert (back["status"], back["survivor"], back["mention_count"]) == ("active", uid(2), 1)
    assert [alias["alias"] for alias in back["aliases"]] == ["the Skjer"]
    assert get(f"/entities/{uid(1)}")["alias_count"] == 0


def test_nothing_is_rewritten(harbour, merge, undo, store):
    def stored():
        tables = (Association, Mention, EntityAlias)
        return [list(table.objects.filter(store=store).order_by("pk").values()) for table in tables]

    before = stored()
    merge_id = merge(2, 1)
    assert stored() == before
    undo(merge_id)
    assert stored() == before


def test_merges_that_cannot_be_are_refused_and_change_nothing(harbour, merge, send, uid, store):
    merge(2, 1)
    before = list(Entity.objects.filter(store=store).order_by("pk").values())
    for survivor, absorbed in ((1, 1), (1, 2), (2, 3), (3, 2), (2, 1)):
        refused = send(f"/entities/{uid(survivor)}/merge", {"absorbed_id": uid(absorbed)}, 409)
        assert refused["code"] == "state_conflict"
    fault = send(f"/entities/{uid(1)}/merge", {"absorbed_id": str(uuid.uuid4())}, 400)["errors"][0]
    assert (fault["pointer"], fault["code"]) == ("/absorbed_id", "unknown")
    for body in (
        {},
        {"absorbed_id": 2},
        {"absorbed_id": uid(3), "why": "x"},
        {"absorbed_id": uid(3).upper()},
    ):
        assert send(f"/entities/{uid(1)}/merge", body, 400)["code"] == "invalid_parameter"
    assert list(Entity.objects.filter(store=store).order_by("pk").values()) == before
    assert MergeEvent.objects.filter(store=store).count() == 1
    assert Decision.objects.filter(store=store).count() == 2


def test_aliases_and_mentions_of_what_was_merged_away_are_refused_with_where_it_went(
    harbour, merge, send, uid
):
    merge(2, 1)
    refused = send(f"/entities/{uid(2)}/aliases", {"alias": "x"}, 409)
    assert uid(1) in refused["detail"]
    chunk = {"chunk_id": str(uuid.uuid4()), "entity_id": uid(2), "start": 0, "end": 1}
    assert send("/mentions", chunk, 400)["errors"][0]["pointer"] == "/chunk_id"


def test_a_merge_is_reversed_once_and_not_while_a_later_one_rests_on_it(harbour, merge, undo, send, uid):
    first = merge(2, 1)
    second = merge(1, 3)
    assert send(f"/merges/{first}/reverse", status=409)["code"] == "state_conflict"
    undo(second)
    undo(first)
    assert send(f"/merges/{first}/reverse", status=409)["code"] == "state_conflict"
    assert send(f"/merges/{uuid.uuid4()}/reverse", status=404)["code"] == "not_found"
    assert send(f"/merges/{second}/reverse", {"x": 1}, 400)["code"] == "invalid_parameter"
    # What was taken apart may be put together again.
    merge(1, 2)


def test_if_match_and_keys_guard_a_merge(harbour, api, store, uid):
    address, body = url(store, f"/entities/{uid(1)}/merge"), {"absorbed_id": uid(2)}
    stale = api.post(address, body, format="json", HTTP_IF_MATCH='"7"')
    assert (stale.status_code, stale.json()["code"]) == (412, "stale_resource")
    first = api.post(address, body, format="json", HTTP_IF_MATCH='"1"', HTTP_IDEMPOTENCY_KEY="k")
    assert (first.status_code, first["ETag"]) == (201, '"2"')
    again = api.post(address, body, format="json", HTTP_IF_MATCH='"1"', HTTP_IDEMPOTENCY_KEY="k")
    assert (again.status_code, again["ETag"], again.json()) == (201, '"2"', first.json())
    merge_id = first.json()["merge_id"]
    undone = [
        api.post(url(store, f"/merges/{merge_id}/reverse"), {}, format="json", HTTP_IDEMPOTENCY_KEY="k")
        for _ in range(2)
    ]
    assert [answer.status_code for answer in undone] == [200, 200]
    assert undone[0].json() == undone[1].json()
    assert api.get(url(store, f"/entities/{uid(1)}"))["ETag"] == '"3"'


def test_of_two_merges_at_one_time_one_is_refused(harbour, api, store, uid):
    def call(survivor, absorbed):
        try:
            address = url(store, f"/entities/{uid(survivor)}/merge")
            return api.post(address, {"absorbed_id": uid(absorbed)}, format="json").status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        statuses = list(pool.map(lambda pair: call(*pair), [(1, 2), (2, 1)]))
    assert sorted(statuses) == [201, 409]
    assert MergeEvent.objects.filter(store=store, reversed_at=None).count() == 1


def test_merges_are_listed_newest_first(harbour, merge, undo, get, uid, api, store):
    first, second, third = merge(2, 1), merge(4, 3), merge(3, 1)
    undo(third)
    assert [row["merge_id"] for row in get("/merges")["results"]] == [third, second, first]
    assert [row["merge_id"] for row in get("/merges", in_force="true")["results"]] == [second, first]
    assert [row["merge_id"] for row in get("/merges", in_force="false")["results"]] == [third]
    assert [row["merge_id"] for row in get("/merges", entity_id=uid(3))["results"]] == [third, second]
    page = get("/merges", limit=2, entity_id=uid(1))
    assert [row["merge_id"] for row in page["results"]] == [third, first]
    assert page["next_cursor"] is None
    page = get("/merges", limit=1)
    assert get("/merges", limit=1, cursor=page["next_cursor"])["results"][0]["merge_id"] == second
    refused = api.get(url(store, "/merges"), {"cursor": page["next_cursor"], "entity_id": uid(1)})
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_cursor")


def test_another_store_s_merge_and_entity_are_unknown(harbour, merge, uid, cleo):
    merge_id = merge(2, 1)
    other = make_store(cleo)
    client = make_client(cleo, other)
    mine = client.post(url(other, "/entities"), {"name": "mine"}, format="json").json()["entity_id"]
    assert client.post(url(other, f"/merges/{merge_id}/reverse"), {}, format="json").status_code == 404
    answer = client.post(url(other, f"/entities/{mine}/merge"), {"absorbed_id": uid(3)}, format="json")
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (400, "unknown")


# Reading: lists and pages


def test_lists_show_every_name_mention_and_end_as_the_survivors(harbour, merge, get):
    merge(2, 1)
    rows = {row["id"]: row for row in get("/entities")["results"]}
    assert {number: row["status"] for number, row in rows.items()} == {
        1: "active", 2: "merged", 3: "active", 4: "active",
    }  # fmt: skip
    assert rows[2]["merged_into"] == rows[1]["entity_id"]
    assert (rows[1]["mention_count"], rows[2]["mention_count"]) == (2, 0)
    assert [alias["alias"] for alias in rows[1]["aliases"]] == ["Skjer Linjen", "the Skjer"]
    assert [row["id"] for row in get("/entities", name="THE SKJER")["results"]] == [2, 1]
    assert [row["id"] for row in get("/entities", name="the skjer", status="active")["results"]] == [1]
    ends = [(row["subject"]["name"], row["object"]) for row in get("/associations")["results"]]
    skerry = {"entity": 1, "name": "Skerry Line"}
    assert ends == [("Fenn", skerry), ("Odalys", skerry)]
    for number in (1, 2):
        assert [row["id"] for row in get("/associations", entity=number)["results"]] == [2, 1]
    assert [row["id"] for row in get("/entities/1")["associations"]] == [2, 1]
    assert get("/entities/2")["associations"] == []
    assert get("/records/mem:2")["mentions"] == [skerry]


def test_a_row_that_mentions_both_mentions_one(harbour, declare, merge, get, traverse):
    declare(named("Skerry Line", "Skjer Linjen"), anchor_ref="mem:3")
    merge(2, 1)
    assert get("/entities/1")["mention_count"] == 3
    assert get("/entities/1")["mentions"] == ["mem:1", "mem:2", "mem:3"]
    assert [each["entity"] for each in get("/records/mem:3")["mentions"]] == [1, 3]
    (skerry,) = traverse("skerry line", max_hops=0)["entities"]
    assert skerry["mentions"] == ["mem:1", "mem:2", "mem:3"]
    (skerry,) = traverse("skerry line", max_hops=0, limit=2)["entities"]
    assert (skerry["mentions"], skerry["mentions_omitted"]) == (["mem:1", "mem:2"], 1)


def test_at_most_thirty_two_names_are_listed_and_all_counted(harbour, declare, merge, get):
    for name in ("Skerry Line", "Skjer Linjen"):
        declare({"entities": [{"name": name, "aliases": [f"{name[:4]}{n:02}" for n in range(20)]}]})
    merge(2, 1)
    shown = get("/entities/1")
    assert shown["alias_count"] == 42
    assert [alias["alias"] for alias in shown["aliases"]] == [
        *(f"Sker{n:02}" for n in range(20)), *(f"Skje{n:02}" for n in range(12))
    ]  # fmt: skip


# Reading: traverse and reconstruct


def test_traverse_follows_merges_from_every_name(harbour, merge, undo, traverse):
    apart = traverse("skerry line")
    merge_id = merge(2, 1)
    for name in ("Skerry Line", "skjer linjen", "THE SKJER"):
        answer = traverse(name)
        assert [(row["id"], row["hops"]) for row in answer["entities"]] == [(1, 0), (4, 1), (3, 1)]
        skerry = answer["entities"][0]
        assert skerry["name"] == "Skerry Line"
        assert skerry["aliases"] == ["Skjer Linjen", "the Skjer"]
        assert skerry["mentions"] == ["mem:1", "mem:2"]
        assert [(row["subject"], row["object"]) for row in answer["relations"]] == [(4, 1), (3, 1)]
    assert [row["id"] for row in traverse("fenn", max_hops=2)["entities"]] == [4, 1, 3]
    undo(merge_id)
    assert traverse("skerry line") == apart
    assert [row["id"] for row in traverse("fenn", max_hops=2)["entities"]] == [4, 2]


def claims(answer):
    return [[(claim["ref"], claim["why"]) for claim in item["claims"]] for item in answer["items"]]


def test_the_walk_passes_through_what_was_merged(harbour, merge, undo, ask):
    def walk():
        return claims(ask("who has the keys", count=1, top_k=1))

    alone = walk()
    assert sorted(alone[0]) == [("mem:2", "relation:works for"), ("mem:4", "seed")]
    merge_id = merge(2, 1)
    # Fenn - Skjer Linjen = Skerry Line - Odalys.
    (joined,) = walk()
    assert ("mem:4", "seed") in joined
    assert sorted(ref for ref, _ in joined) == ["mem:1", "mem:2", "mem:3", "mem:4"]
    undo(merge_id)
    assert walk() == alone


def test_a_chain_of_merges_is_walked_as_one(harbour, declare, say, merge, ask):
    say("Nordlinje rests")
    declare(named("Nordlinje"), anchor_ref="mem:5")
    declare(relation("Nordlinje", "moors at", "Quay"))
    say("the quay is wet")
    declare(named("Quay"), anchor_ref="mem:6")
    merge(5, 2)
    merge(2, 1)
    (item,) = claims(ask("who is on leave", count=1, top_k=1, max_hops=2))
    assert sorted(ref for ref, _ in item) == [f"mem:{n}" for n in range(1, 7)]


def test_names_of_what_was_merged_are_cues(harbour, merge, undo, ask):
    def cues(query):
        return ask(query, trace=True)["trace"].get("cues")

    assert cues("when does skerry line sail") == {"entities": ["Skerry Line"]}
    merge_id = merge(2, 1)
    assert cues("when does skerry line sail") == {
        "entities": ["Skerry Line"],
        "terms": ["Skjer Linjen", "the Skjer"],
    }
    assert cues("and the skjer?") == {"entities": ["Skerry Line"], "terms": ["Skerry Line", "Skjer Linjen"]}
    undo(merge_id)
    assert cues("when does skerry line sail") == {"entities": ["Skerry Line"]}


def test_scopes_look_at_what_was_declared(say, declare, merge, ask, traverse):
    """A merge neither widens nor narrows what a scope reads."""
    say(
        {"content": "the larkspur is late", "project_id": "p"},
        {"content": "old hull repaired", "project_id": "q"},
    )
    declare(named("Larkspur"), anchor_ref="mem:1", project_id="p")
    declare({"entities": [{"name": "Old Hull", "aliases": ["hull"]}]}, anchor_ref="mem:2", project_id="q")
    declare(relation("Larkspur", "moors at", "Pier"), project_id="p")
    declare(relation("Old Hull", "lies at", "Yard"), project_id="q")
    merge(2, 1)
    inside = traverse("old hull", project_id="q")
    assert [row["id"] for row in inside["entities"]] == [1, 4]
    assert inside["entities"][0]["aliases"] == ["hull", "Old Hull"]
    assert inside["entities"][0]["mentions"] == ["mem:2"]
    other = traverse("larkspur", project_id="p")
    assert [row["id"] for row in other["entities"]] == [1, 3]
    assert "aliases" not in other["entities"][0]
    assert traverse("hull", project_id="p")["reason"] == "no_such_entity"


# Declaring


def test_declarations_by_any_name_are_the_survivors(harbour, merge, declare, get, store):
    merge(2, 1)
    answer = declare(
        {**named("THE SKJER"), **relation("skjer linjen", "moors at", "Quay")}, anchor_ref="mem:4"
    )
    assert answer["entities"] == [{"id": 1, "created": False, "name": "Skerry Line"}]
    row = Association.objects.get(store=store, number=3)
    assert row.subject_entity.number == 1
    assert Mention.objects.filter(store=store, entity__number=1, record__number=4).count() == 1
    # An alias of what was merged away is no longer another entity's.
    again = declare({"entities": [{"name": "Skerry Line", "aliases": ["The Skjer", "skerry"]}]})
    assert again["dropped"] == []
    assert EntityAlias.objects.filter(store=store, entity__number=1).count() == 1
    # And of anybody else's it still is.
    other = declare({"entities": [{"name": "Fenn", "aliases": ["the skjer"]}]})
    assert other["dropped"][0]["item"] == "entities[0].aliases[0]"


def test_what_is_known_under_the_other_name_is_not_declared_twice(harbour, merge, undo, declare, store):
    merge_id = merge(2, 1)
    answer = declare(relation("Fenn", "works for", "Skerry Line"))
    assert answer["relations"] == [2]
    declare(named("Skerry Line"), anchor_ref="mem:2")
    assert Association.objects.filter(store=store).count() == 2
    assert Mention.objects.filter(store=store).count() == 4
    undo(merge_id)
    assert declare(relation("Fenn", "works for", "Skerry Line"))["relations"] == [3]
    assert declare(relation("Fenn", "works for", "Skjer Linjen"))["relations"] == [2]


def test_a_preview_is_what_declaring_does(harbour, merge, send, declare):
    merge(2, 1)
    body = {"associations": {**named("the skjer"), **relation("Fenn", "works for", "skerry line")}}
    shown = send("/associations/preview", body, 200)
    assert (shown["entities"], shown["relations"]) == (
        [{"id": 1, "name": "Skerry Line", "created": False}],
        [2],
    )
    assert not any(shown["registers"].values())


def test_a_mention_is_retracted_at_the_survivor(harbour, merge, declare, get):
    merge(2, 1)
    assert declare(retract={"mentions": [{"entity": 2, "ref": "mem:1"}]})["retracted"]["mentions"] == 0
    assert declare(retract={"mentions": [{"entity": 1, "ref": "mem:2"}]})["retracted"]["mentions"] == 1
    assert get("/entities/1")["mentions"] == ["mem:1"]


def test_an_entity_that_leads_nowhere_is_not_reused(harbour, declare, store, traverse, ask):
    """Rows below the services: a cycle, and one whose survivor is gone."""
    one, two, three = (Entity.objects.get(store=store, number=n) for n in (1, 2, 3))
    Entity.objects.filter(pk=one.pk).update(status="merged", merged_into=two)
    Entity.objects.filter(pk=two.pk).update(status="merged", merged_into=one)
    Entity.objects.filter(pk=three.pk).update(status="merged", merged_into=None)
    for name in ("Skerry Line", "the skjer", "Odalys"):
        assert traverse(name)["reason"] == "no_such_entity"
    assert [row["id"] for row in traverse("fenn", max_hops=2)["entities"]] == [4]
    assert claims(ask("who has the keys", count=1, top_k=1)) == [[("mem:4", "seed")]]
    assert declare(named("Skerry Line"))["entities"][0]["created"] is True


# Traces


def traced(api, store, query, **members):
    answer = api.post(url(store, "/reconstruct"), {"query": query, **members}, format="json")
    return answer.json(), answer.headers["Trace-Id"]


@pytest.mark.parametrize("later", ["merge", "undo"])
def test_replay_answers_the_same_whatever_is_merged_since(later, harbour, merge, undo, api, store, declare):
    merge_id = merge(2, 1) if later == "undo" else None
    body, trace = traced(api, store, "does the skjer have keys", trace=True)
    if later == "undo":
        undo(merge_id)
    else:
        merge(2, 1)
    replayed = api.post(f"/api/v1/traces/{trace}/replay", {}, format="json").json()
    assert replayed["result"] == "identical"
    again, _ = traced(api, store, "does the skjer have keys", trace=True)
    assert again["trace"]["cues"] != body["trace"]["cues"]


@pytest.mark.parametrize("later", ["merge", "undo"])
def test_why_speaks_of_the_entities_of_then(later, harbour, merge, undo, api, store):
    def why(trace, ref):
        return api.get(f"/api/v1/traces/{trace}/why", {"ref": ref}).json()

    merge_id = merge(2, 1) if later == "undo" else None
    _, trace = traced(api, store, "who has the keys", count=1, top_k=1, max_hops=1)
    before = {ref: why(trace, ref) for ref in ("mem:1", "mem:2", "mem:3", "mem:4")}
    if later == "undo":
        undo(merge_id)
    else:
        merge(2, 1)
    assert {ref: why(trace, ref) for ref in before} == before
    assert all("changed_since" not in verdict for verdict in before.values())
    assert before["mem:2"]["verdict"] == "in"
    assert before["mem:3"]["verdict"] == "out"
    walk = {path["path"]: path["bound"] for path in before["mem:3"]["paths"]}["walk"]
    assert walk == ("max_hops" if later == "undo" else "no_path")


# Statements and the index


def counted(call):
    with CaptureQueriesContext(connection) as captured:
        call()
    return len(captured)


def test_a_store_of_merges_takes_one_statement_more(harbour, declare, merge, ask, traverse):
    calls = {
        "reconstruct": lambda: ask("the skjer has keys", count=5, top_k=10),
        "traverse": lambda: traverse("the skjer", max_hops=2),
    }
    declare(named("Pier", "Jetty"))
    before = {name: counted(call) for name, call in calls.items()}
    # Nobody whom they meet.
    merge(6, 5)
    assert {name: counted(call) for name, call in calls.items()} == {
        name: n + 1 for name, n in before.items()
    }


def test_the_profile_of_the_survivor_holds_the_names_of_both(harbour, merge, undo, send, store, uid):
    """Entities that facts are about are found by their names: profiles follow merges and aliases."""
    from memoryconsole.models import Fact

    skjer = Entity.objects.get(store=store, number=2)
    Fact.objects.create(
        store=store, number=1, uuid=uuid.uuid4(), kind="observation", subject=skjer, statement="sails",
        ingested_at=store.created_at, window_since=store.created_at, created_at=store.created_at,
    )  # fmt: skip

    def profiled():
        rows = IndexEntry.objects.filter(store=store, entity__isnull=False).order_by("entity__number")
        return dict(rows.values_list("entity__number", "length"))

    assert profiled() == {}
    send(f"/entities/{uid(2)}/aliases", {"alias": "Old Linjen"})
    (alone,) = profiled().values()
    merge_id = merge(2, 1)
    assert list(profiled()) == [1]
    assert profiled()[1] > alone
    undo(merge_id)
    assert profiled() == {2: alone}
