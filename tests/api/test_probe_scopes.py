"""Projects, bounds, deletions, versions and the walk, tried through HTTP where memories like this one went wrong."""

import json
from concurrent.futures import ThreadPoolExecutor

from django.db import connections

from memoryconsole.models import RecordNode
from tests.api.declared import named, relation
from tests.conftest import make_client, url


def claims(body):
    return [claim["ref"] for item in body["items"] for claim in item["claims"]]


# Projects


def test_two_projects_with_one_message_id_are_two_messages(api, store, ask, say, read):
    say(*({"content": f"walrus of {project or 'all'}", "message_id": "m", "project_id": project,
           "timestamp": f"2026-01-0{day}T00:00:00Z"} for day, project in enumerate(("", "a", "b"), start=1)))  # fmt: skip
    for scope in ({}, {"project_id": "a"}, {"project_id": None}):
        body = ask("walrus", count=5, **scope)
        assert {item["independence_reason"] for item in body["items"]} == {"singleton"}
        assert "supersedes" not in json.dumps(body)
    assert len(ask("walrus", count=5)["items"]) == 3
    assert not any("superseded_by" in item for item in read("mem:1", "mem:2", "mem:3")["items"])
    for number in (1, 2, 3):
        record = api.get(url(store, f"/records/mem:{number}")).json()
        assert (record["superseded_by"], record["version_count"]) == (None, 1)


def test_a_relation_of_another_project_bundles_nothing(ask, say, declare):
    """Rows of the global pool, a relation declared in project b: whoever asks in project a does not see it."""
    say("walrus on the quay", "walrus on the pier")
    declare(relation("mem:2", "corrects", "mem:1"), project_id="b")
    for scope in ({"project_id": "a"}, {"project_id": ""}):
        items = ask("walrus", count=5, **scope)["items"]
        assert [item["independence_reason"] for item in items] == ["singleton", "singleton"]
        assert not any("roles" in claim for item in items for claim in item["claims"])
    for scope in ({"project_id": "b"}, {}):
        (item,) = ask("walrus", count=5, **scope)["items"]
        assert item["independence_reason"] == "cluster:relation"


def test_a_relation_to_a_row_of_another_project_bundles_nothing(ask, say, declare):
    say("walrus on the quay", {"content": "walrus on the pier", "project_id": "b"},
        {"content": "walrus at sea", "project_id": "a"})  # fmt: skip
    declare(
        {"relations": [{"subject": "mem:2", "predicate": "corrects", "object": f"mem:{n}"} for n in (1, 3)]}
    )
    body = ask("walrus", count=5, project_id="a", trace=True)
    assert sorted(claims(body)) == ["mem:1", "mem:3"]
    assert {item["independence_reason"] for item in body["items"]} == {"singleton"}
    assert "mem:2" not in json.dumps(body)


# Bounds


def test_fifty_hops_are_five_and_the_answer_says_so(ask, say, declare):
    say("the walrus sleeps", *(f"ballast {hop}" for hop in range(1, 8)))
    declare(named("stop 0"), anchor_ref="mem:1")
    for hop in range(1, 8):
        declare({**named(f"stop {hop}"), **relation(f"stop {hop - 1}", "leads to", f"stop {hop}")},
                anchor_ref=f"mem:{hop + 1}")  # fmt: skip
    fifty, five = ask("walrus", max_hops=50, top_k=1), ask("walrus", max_hops=5, top_k=1)
    assert fifty == five
    assert fifty["bounds"] == {
        "top_k": 1, "max_hops": 5, "max_evidence": 40, "omitted": ["max_hops"], "reached": ["top_k"],
    }  # fmt: skip
    assert sorted(claim["hops"] for claim in fifty["items"][0]["claims"] if "hops" in claim) == [
        1,
        2,
        3,
        4,
        5,
    ]
    # Said also where nothing was walked, and only where it was lowered.
    assert ask("zzyzx", max_hops=50)["bounds"] == {"top_k": 20, "max_hops": 5, "max_evidence": 40}
    assert "bounds" not in ask("zzyzx", max_hops=5)


# Deleting


def test_a_deleted_row_leaves_every_path_and_gives_its_place_to_the_next(
    api, store, ask, say, read, declare, run_jobs
):
    long = "The walrus of pier nine sleeps on the warm stones. " * 60
    say(
        {"content": long, "session_id": "s"},
        "The walrus of pier nine wakes.",
        {"content": "apart", "session_id": "s"},
    )
    declare({"entities": [{"name": "Otto", "aliases": ["pier nine"]}], **relation("Otto", "near", "Keeper")},
            anchor_ref="mem:1")  # fmt: skip
    declare(named("Keeper"), anchor_ref="mem:3")
    declare(relation("mem:1", "supersedes", "mem:2"))
    body = {
        "summary": "a day",
        "session_id": "s",
        "depth": 0,
        "source_type": "messages",
        "source_ids": [1, 3],
    }
    assert api.post(url(store, "/summaries"), body, format="json").status_code == 201
    run_jobs(store)
    question = long[:50]
    before = ask(question, top_k=100, trace=True, count=10)
    assert before["items"][0]["head_ref"] == "mem:1"
    assert {"mem:1", "mem:3"} <= set(claims(before))

    assert api.delete(url(store, "/records/mem:1")).status_code == 202
    unknown = read("mem:99", {"ref": "mem:99", "node": 0}, {"ref": "mem:99", "span": [0, 9]})
    gone = read("mem:1", {"ref": "mem:1", "node": 0}, {"ref": "mem:1", "span": [0, 9]})
    assert json.dumps(gone) == json.dumps(unknown).replace("mem:99", "mem:1")
    for moment in ("at once", "erased"):
        for query in (question, "pier nine", "otto", "keeper", ""):
            first, second = ask(query, count=10, trace=True), ask(query, count=10, trace=True)
            assert first == second, moment
            assert "mem:1" not in json.dumps(first), (moment, query)
        assert ask(question)["items"][0]["head_ref"] == "mem:2"
        assert "superseded_by" not in read("mem:2")["items"][0]
        assert api.get(url(store, "/entities/1")).json()["mentions"] == []
        sources = api.get(url(store, "/summaries/ep:1")).json()["sources"]
        assert [source["present"] for source in sources] == [False, True]
        listed = api.get(url(store, "/records")).json()["results"]
        assert [row["ref"] for row in listed] == ["mem:3", "mem:2"]
        run_jobs(store)
    assert not RecordNode.objects.filter(store=store).exists()


def test_a_deleted_store_has_neither_rows_nor_contents(api, store, ask, say, run_jobs):
    say("the walrus sleeps")
    assert ask("walrus")["returned_count"] == 1
    assert api.delete(url(store)).status_code == 204
    for _ in range(2):
        for tail, body in (("/reconstruct", {"query": "walrus"}), ("/contents", {"refs": ["mem:1"]})):
            assert api.post(url(store, tail), body, format="json").status_code == 404
        run_jobs(store)


# Versions and scopes


def test_a_correction_in_a_channel_is_told_by_the_version_it_leaves_behind(api, store, ask, say, read):
    """Version 1 for everybody, version 2 in channel x: from y only the first is there, and it says that it is old."""
    say(
        {"content": "walrus feeding is at nine", "message_id": "m", "timestamp": "2026-01-01T00:00:00Z"},
        {"content": "walrus feeding is at ten", "message_id": "m", "channel": "x", "timestamp": "2026-01-02T00:00:00Z",
         "source": {"type": "User", "id": "odalys"}},
    )  # fmt: skip
    (outside,) = ask("walrus feeding", channel="y", count=5)["items"]
    assert (outside["head_ref"], [claim["ref"] for claim in outside["claims"]]) == ("mem:1", ["mem:1"])
    for scope in ({}, {"channel": "x"}):
        (inside,) = ask("walrus feeding", count=5, **scope)["items"]
        assert inside["head_ref"] == "mem:2"
        assert inside["claims"][1]["roles"] == [{"ref": "mem:2", "role": "supersedes"}]
    old = api.get(url(store, "/records/mem:1")).json()
    assert old["superseded_by"] == "mem:2"
    (newer,) = (row for row in old["versions"] if row["ref"] == "mem:2")
    assert (newer["channel"], newer["source"]["id"], newer["timestamp"]) == (
        "x",
        "odalys",
        "2026-01-02T00:00:00Z",
    )
    assert read("mem:1")["items"][0]["superseded_by"] == "mem:2"


# Several ways to one row


def test_a_row_that_words_meaning_and_the_walk_find_is_a_candidate_and_the_nearest_reason_wins(
    ada, api, store, ask, say, declare
):
    """Fifty calls, eight at a time: the row both searched and declared keeps its place; one reached by two ways has
    the fewer hops, and of two relations at one hop the one declared last.
    """
    say("the walrus sleeps on the pier", "the walrus wakes", "ballast", "rope")
    declare({**named("Walrus"), **relation("Walrus", "knows", "Keeper")}, anchor_ref="mem:1")
    declare(named("Keeper"), anchor_ref="mem:2")
    declare(named("Keeper"), anchor_ref="mem:3")
    declare(relation("Keeper", "carries", "Rope"))
    declare(named("Rope"), anchor_ref="mem:3")
    declare(named("Rope"), anchor_ref="mem:4")
    declare(relation("Walrus", "is fed by", "Keeper"))

    def once(_):
        answer = make_client(ada, store).post(
            url(store, "/reconstruct"), {"query": "walrus pier", "count": 5, "max_hops": 3}, format="json"
        )
        for connection in connections.all():
            connection.close()
        return answer.content

    with ThreadPoolExecutor(8) as pool:
        answers = set(pool.map(once, range(50)))
    assert len(answers) == 1
    body = json.loads(answers.pop())
    assert sorted(claims(body)) == ["mem:1", "mem:2", "mem:3", "mem:4"]
    why = {
        claim["ref"]: (claim["why"], claim.get("hops")) for item in body["items"] for claim in item["claims"]
    }
    assert why == {
        "mem:1": ("seed", None),
        "mem:2": ("seed", None),
        "mem:3": ("relation:is fed by", 1),
        "mem:4": ("relation:carries", 2),
    }
    assert len(body["items"]) == 2
