"""Records in and out: verbatim, versioned, numbered, listed, deleted."""

import json
import threading
from itertools import pairwise

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memoryconsole.models import Job, Record, RecordNode, Summary
from tests.conftest import make_client, make_store, url


def post(api, store, *records, **headers):
    return api.post(url(store, "/records"), {"records": list(records)}, format="json", headers=headers)


def rows(answer):
    assert answer.status_code == 201, answer.content
    return answer.json()["records"]


TEXTS = [
    " kept  as it is \n", "\u202eright to left\u202c", "👩‍👩‍👧‍👦 🇯🇵 e\u0301", "城", "<script>{{7*7}}</script>", "\ufeffbom", "a\r\nb",
    "ｆｕｌｌ ﬁ İı ẞ",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS, ids=repr)
def test_a_text_comes_back_exactly_as_it_was_sent(text, api, store):
    (row,) = rows(post(api, store, {"content": text, "timestamp": " odd stamp "}))
    stored = api.get(url(store, f"/records/{row['ref']}")).json()
    assert stored["content"] == text
    assert stored["timestamp"] == " odd stamp "


def test_the_same_message_again_is_the_same_record(api, store):
    first = rows(post(api, store, {"content": "one", "message_id": "m"}))
    again = rows(post(api, store, {"content": "one", "message_id": " m "}))
    assert again == [{"ref": first[0]["ref"], "created": False}]


def test_a_changed_text_is_a_new_version_compared_with_the_latest_alone(api, store):
    answers = [
        rows(post(api, store, {"content": text, "message_id": "m"}))[0] for text in ("A", "B", "A", "A")
    ]
    assert [a["created"] for a in answers] == [True, True, True, False]
    assert [a.get("version_of") for a in answers] == [None, "mem:1", "mem:2", None]
    assert [a["ref"] for a in answers] == ["mem:1", "mem:2", "mem:3", "mem:3"]


def test_versions_inside_one_batch_see_each_other(api, store):
    batch = [{"content": text, "message_id": "m"} for text in ("A", "A", "B", "A")]
    assert rows(post(api, store, *batch)) == [
        {"ref": "mem:1", "created": True},
        {"ref": "mem:1", "created": False},
        {"ref": "mem:2", "created": True, "version_of": "mem:1"},
        {"ref": "mem:3", "created": True, "version_of": "mem:2"},
    ]


def test_identity_is_project_and_message_id_without_the_channel(api, store):
    base = {"content": "x", "message_id": "m", "project_id": "p", "channel": "a"}
    rows(post(api, store, base))
    same, other = rows(post(api, store, base | {"channel": "b"}, base | {"project_id": "P"}))
    assert same["created"] is False
    assert other == {"ref": "mem:2", "created": True}


def test_without_a_message_id_nothing_is_a_duplicate(api, store):
    answers = rows(post(api, store, {"content": "x"}, {"content": "x"}, {"content": "x", "message_id": "  "}))
    assert [a["created"] for a in answers] == [True, True, True]


def test_message_ids_are_exact_and_case_sensitive(api, store):
    ids = ["acme", "acme1", "ACME", "acme\u0301", "a%", "a_"]
    answers = rows(post(api, store, *({"content": "x", "message_id": i} for i in ids)))
    assert all(a["created"] for a in answers)


def test_a_batch_is_all_or_nothing(api, store):
    answer = post(api, store, {"content": "good"}, {"content": ""})
    assert answer.status_code == 400
    assert rows(post(api, store, {"content": "next"}))[0]["ref"] == "mem:1"


def test_numbers_are_per_store_and_per_kind(api, ada, store):
    other = make_store(ada, "garden")
    other_api = make_client(ada, other)
    assert rows(post(api, store, {"content": "x"}))[0]["ref"] == "mem:1"
    assert rows(post(other_api, other, {"content": "x"}))[0]["ref"] == "mem:1"
    summary = api.post(url(store, "/summaries"), {"summary": "s"}, format="json")
    assert summary.json()["ref"] == "ep:1"


def test_belief_instants_rise_strictly_in_number_order(api, store):
    for _ in range(3):
        rows(post(api, store, *({"content": "x"} for _ in range(20))))
    beliefs = list(
        Record.objects.filter(store=store).order_by("number").values_list("believed_at", flat=True)
    )
    assert len(beliefs) == 60
    assert all(a < b for a, b in pairwise(beliefs))


def test_a_left_out_timestamp_is_the_servers_and_an_unreadable_one_is_unknown(api, store):
    rows(post(api, store, {"content": "now"}, {"content": "never", "timestamp": ""}))
    now, never = Record.objects.filter(store=store).order_by("number")
    assert now.instant == now.created_at
    assert (never.timestamp, never.instant) == ("", None)


def test_a_record_tells_its_versions_and_its_successor(api, store):
    stamps = ["2026-01-01T10:00:00Z", "2026-01-03T10:00:00Z", "2026-01-02T10:00:00Z", "undated"]
    for index, stamp in enumerate(stamps):
        rows(post(api, store, {"content": f"v{index}", "message_id": "m", "timestamp": stamp}))
    told = [api.get(url(store, f"/records/mem:{n}")).json() for n in (1, 2, 3, 4)]
    assert [row["superseded_by"] for row in told] == ["mem:3", None, "mem:2", None]
    assert [v["ref"] for v in told[0]["versions"]] == ["mem:1", "mem:3", "mem:2", "mem:4"]


# Writers at the same time.


def in_threads(*jobs):
    faults = []

    def guard(job):
        try:
            job()
        except Exception as fault:
            faults.append(fault)
        finally:
            connection.close()

    threads = [threading.Thread(target=guard, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert faults == []


def test_two_writers_and_a_reader_lose_nothing_and_keep_the_order(ada, store):
    """Numbers appear in commit order: a reader that has seen n has seen every number below it."""
    seen = []
    done = threading.Event()

    def write(name):
        api = make_client(ada, store)
        for batch in range(20):
            rows(post(api, store, *({"content": f"{name} {batch} {i}"} for i in range(5))))

    def read():
        while not done.is_set():
            seen.append(
                list(Record.objects.filter(store=store).order_by("number").values_list("number", flat=True))
            )

    def both():
        in_threads(lambda: write("left"), lambda: write("right"))
        done.set()

    in_threads(both, read)
    assert sorted(Record.objects.filter(store=store).values_list("number", flat=True)) == list(range(1, 201))
    assert len(seen) > 1
    for numbers in seen:
        assert numbers == list(range(1, len(numbers) + 1))


def test_one_message_sent_by_many_at_once_is_one_record(ada, store):
    answers = []

    def send():
        answers.append(rows(post(make_client(ada, store), store, {"content": "x", "message_id": "m"}))[0])

    in_threads(*[send] * 6)
    assert Record.objects.filter(store=store).count() == 1
    assert sorted(a["created"] for a in answers) == [False] * 5 + [True]


# Idempotency keys.


def test_the_same_key_and_body_answers_the_first_result_again(api, store):
    first = post(api, store, {"content": "x"}, **{"Idempotency-Key": "k1"})
    again = post(api, store, {"content": "x"}, **{"Idempotency-Key": "k1"})
    assert (again.status_code, again.json()) == (201, first.json())
    assert Record.objects.filter(store=store).count() == 1


def test_the_same_key_with_another_body_is_409(api, store):
    rows(post(api, store, {"content": "x"}, **{"Idempotency-Key": "k1"}))
    answer = post(api, store, {"content": "y"}, **{"Idempotency-Key": "k1"})
    assert (answer.status_code, answer.json()["code"]) == (409, "idempotency_conflict")


def test_a_refused_write_keeps_no_key(api, store):
    assert post(api, store, {"content": ""}, **{"Idempotency-Key": "k1"}).status_code == 400
    assert rows(post(api, store, {"content": "x"}, **{"Idempotency-Key": "k1"}))[0]["created"] is True


def test_a_key_belongs_to_its_route_person_and_store(api, ada, store):
    rows(post(api, store, {"content": "x"}, **{"Idempotency-Key": "k1"}))
    other = make_store(ada, "garden")
    assert rows(post(make_client(ada, other), other, {"content": "y"}, **{"Idempotency-Key": "k1"}))
    answer = api.post(
        url(store, "/summaries"), {"summary": "s"}, format="json", headers={"Idempotency-Key": "k1"}
    )
    assert answer.status_code == 201


def test_one_key_used_by_many_at_once_takes_effect_once(ada, store):
    answers = []

    def send():
        answers.append(
            rows(post(make_client(ada, store), store, {"content": "x"}, **{"Idempotency-Key": "k"}))
        )

    in_threads(*[send] * 5)
    assert Record.objects.filter(store=store).count() == 1
    assert answers == [answers[0]] * 5


@pytest.mark.parametrize("key", ["", "k" * 256, "a\tb"])
def test_a_key_that_cannot_be_one_is_refused(key, api, store):
    assert post(api, store, {"content": "x"}, **{"Idempotency-Key": key}).status_code == 400


# Lists.


def pages(api, store, path, limit, between=None, **filters):
    seen, cursor = [], None
    while True:
        query = {"limit": limit, **filters} | ({"cursor": cursor} if cursor else {})
        body = api.get(url(store, path), query).json()
        seen.append([row["ref"] for row in body["results"]])
        cursor = body["next_cursor"]
        if cursor is None:
            return seen
        if between:
            between()


def test_paging_walks_every_record_once(api, store, say):
    refs = say(*(f"text {n}" for n in range(23)))
    walked = pages(api, store, "/records", 7)
    assert [len(page) for page in walked] == [7, 7, 7, 2]
    assert sum(walked, []) == refs[::-1]


def test_rows_that_come_and_go_while_paging_are_never_seen_twice(api, store, say):
    refs = say(*(f"text {n}" for n in range(30)))
    doomed = iter(refs[:12:3])

    def between():
        say("a newcomer")
        if ref := next(doomed, None):
            assert api.delete(url(store, f"/records/{ref}")).status_code == 202

    walked = sum(pages(api, store, "/records", 7, between), [])
    assert len(walked) == len(set(walked))
    assert set(refs) - set(refs[:12:3]) <= set(walked)


def test_a_cursor_is_good_for_its_own_list_alone(api, ada, store, say):
    say(*(f"text {n}" for n in range(5)))
    cursor = api.get(url(store, "/records"), {"limit": 2}).json()["next_cursor"]
    other = make_store(ada, "garden")
    tries = [
        (api, url(store, "/records"), {"cursor": cursor, "project_id": "p"}),
        (make_client(ada, other), url(other, "/records"), {"cursor": cursor}),
        (api, url(store, "/summaries"), {"cursor": cursor}),
        (api, url(store, "/records"), {"cursor": cursor[:-2] + "xx"}),
        (api, url(store, "/records"), {"cursor": "nonsense"}),
        (api, url(store, "/records"), {"cursor": ""}),
    ]
    for client, path, query in tries:
        answer = client.get(path, query)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_cursor"), query


def test_filters(api, store):
    rows(
        post(
            api,
            store,
            {"content": "ferries leave", "project_id": "p", "channel": "c", "session_id": "s", "message_id": "m",
             "source": {"type": "User", "id": "u1"}, "timestamp": "2026-01-02T00:00:00+09:00"},
            {"content": "the ferry left", "project_id": "P", "channel": "C", "session_id": "S",
             "source": {"type": "User", "id": "u10"}, "timestamp": "2026-01-01T15:00:00.000001Z"},
            {"content": "unrelated", "timestamp": "undated"},
        )
    )  # fmt: skip

    def listed(**query):
        return sum(pages(api, store, "/records", 50, **query), [])

    assert listed(project_id="p") == ["mem:1"]
    assert listed(project_id="") == ["mem:3"]
    assert listed(channel="C") == ["mem:2"]
    assert listed(session_id="s") == ["mem:1"]
    assert listed(session_id="") == ["mem:3"]
    assert listed(source_id="u1") == ["mem:1"]
    assert listed(message_id="m") == ["mem:1"]
    assert listed(until="2026-01-01T15:00:00.000001Z") == ["mem:1"]
    assert listed(since="2026-01-01T15:00:00.000001Z") == ["mem:2"]
    assert listed(text="ferry") == ["mem:2", "mem:1"]
    assert listed(text="ferry leave") == ["mem:1"] or listed(text="ferry leave") == ["mem:2", "mem:1"]
    assert listed(text="walrus") == []


@pytest.mark.parametrize("name", ["acme", "acme1", "ACME", "acme ", "acme\u0301", "%", "acm_"])
def test_project_filters_do_not_bleed(name, api, store):
    names = ["acme", "acme1", "ACME", "acme ", "acme\u0301", "%", "acm_"]
    rows(post(api, store, *({"content": "tide table", "project_id": n, "message_id": n} for n in names)))
    recalled = api.post(
        url(store, "/recall"), {"query": "tide table", "project_id": name}, format="json"
    ).json()
    assert [row["project_id"] for row in recalled["results"]] == [name]
    listed = api.get(url(store, "/records"), {"project_id": name}).json()["results"]
    assert [row["project_id"] for row in listed] == [name]


def test_a_list_takes_the_same_statements_whatever_its_length(api, store, say):
    say("one")
    api.get(url(store, "/records"))
    with CaptureQueriesContext(connection) as one:
        api.get(url(store, "/records"))
    say(*(f"text {n}" for n in range(40)))
    with CaptureQueriesContext(connection) as many:
        api.get(url(store, "/records"))
    assert len(one) == len(many)


# Deleting.


def test_a_deleted_record_is_gone_everywhere_at_once(api, store, say, run_jobs):
    (ref,) = say("the walrus sleeps under the pier")
    (kept,) = say("another walrus")
    answer = api.delete(url(store, f"/records/{ref}"))
    assert answer.status_code == 202

    def asked():
        recall = api.post(url(store, "/recall"), {"query": "walrus pier"}, format="json").json()["results"]
        items = api.post(
            url(store, "/reconstruct"), {"query": "walrus pier", "count": 5}, format="json"
        ).json()
        return [row["ref"] for row in recall], [claim["ref"] for i in items["items"] for claim in i["claims"]]

    for _ in range(2):
        assert asked() == ([kept], [kept])
        gone = api.get(url(store, f"/records/{ref}"))
        never = api.get(url(store, "/records/mem:999"))
        assert gone.status_code == never.status_code == 404
        assert {**gone.json(), "instance": ""} == {**never.json(), "instance": ""}
        assert sum(pages(api, store, "/records", 50), []) == [kept]
        run_jobs(store)
    assert Record.objects.filter(store=store).count() == 1
    assert Job.objects.get(store=store).state == "done"
    assert api.get(f"/api/v1/jobs/{answer.json()['job']}").json()["state"] == "done"


def test_deleting_twice_is_404_and_numbers_are_never_used_again(api, store, say):
    (ref,) = say("x")
    assert api.delete(url(store, f"/records/{ref}")).status_code == 202
    assert api.delete(url(store, f"/records/{ref}")).status_code == 404
    assert say("y") == ["mem:2"]


def test_a_deleted_message_may_be_stored_anew(api, store):
    (first,) = rows(post(api, store, {"content": "x", "message_id": "m"}))
    api.delete(url(store, f"/records/{first['ref']}"))
    assert rows(post(api, store, {"content": "x", "message_id": "m"})) == [{"ref": "mem:2", "created": True}]


def test_a_summary_of_a_deleted_record_stays_and_says_so(api, store, say, run_jobs):
    refs = say("one", "two")
    made = api.post(
        url(store, "/summaries"),
        {"summary": "both", "source_type": "messages", "source_ids": [1, 2, 77]},
        format="json",
    )
    assert made.status_code == 201
    api.delete(url(store, f"/records/{refs[0]}"))
    for _ in range(2):
        told = api.get(url(store, "/summaries/ep:1")).json()
        assert told["sources_gone"] is True
        assert [(s["source_index"], s["ref"], s["present"]) for s in told["sources"]] == [
            (0, "mem:1", False),
            (1, "mem:2", True),
            (2, "mem:77", False),
        ]
        run_jobs(store)


def test_a_deleted_store_is_gone_at_once_and_erased_by_its_job(api, store, say, run_jobs):
    say("one")
    api.post(url(store, "/summaries"), {"summary": "s"}, format="json")
    RecordNode.objects.create(
        store=store, record=Record.objects.get(store=store), index=0, start=0, end=3, token_count=1
    )
    assert api.delete(url(store)).status_code == 204
    assert api.get(url(store)).status_code == 404
    assert post(api, store, {"content": "x"}).status_code == 404
    run_jobs(store)
    assert not Record.objects.filter(store=store.pk).exists()
    assert not Summary.objects.filter(store=store.pk).exists()


# Summaries.


def test_a_summary_takes_span_and_context_from_its_sources(api, store):
    base = {"project_id": "p", "channel": "c"}
    rows(
        post(
            api,
            store,
            base | {"content": "b", "timestamp": "2026-01-02T00:00:00+09:00"},
            base | {"content": "a", "timestamp": "2026-01-01T14:00:00Z"},
            {"content": "elsewhere", "timestamp": "undated"},
        )
    )
    body = {"summary": "s", "source_type": "messages", "source_ids": [1, 2], "session_id": "x"}
    api.post(url(store, "/summaries"), body, format="json")
    api.post(url(store, "/summaries"), body | {"source_ids": [1, 3]}, format="json")
    api.post(
        url(store, "/summaries"),
        {"summary": "up", "source_type": "nodes", "source_ids": [1, 2]},
        format="json",
    )
    first, second, up = (api.get(url(store, f"/summaries/ep:{n}")).json() for n in (1, 2, 3))
    assert (first["start"], first["end"]) == ("2026-01-01T14:00:00Z", "2026-01-02T00:00:00+09:00")
    assert (first["project_id"], first["channel"]) == ("p", "c")
    # No common context: unknown.
    assert (second["project_id"], second["channel"]) == (None, None)
    assert [s["ref"] for s in up["sources"]] == ["ep:1", "ep:2"]


def test_summaries_of_summaries_are_no_candidates(api, store):
    api.post(url(store, "/summaries"), {"summary": "walrus season"}, format="json")
    api.post(
        url(store, "/summaries"),
        {"summary": "walrus years", "source_type": "nodes", "source_ids": [1]},
        format="json",
    )
    found = api.post(url(store, "/recall"), {"query": "walrus"}, format="json").json()["results"]
    assert [row["ref"] for row in found] == ["ep:1"]
    assert [row["ref"] for row in api.get(url(store, "/summaries?episodes=true")).json()["results"]] == [
        "ep:1"
    ]


def test_answers_kept_for_a_key_hold_no_text(api, store):
    from memoryconsole.models import IdempotencyKey

    rows(post(api, store, {"content": "the secret walrus"}, **{"Idempotency-Key": "k"}))
    kept = IdempotencyKey.objects.filter(store=store).values().get()
    assert "walrus" not in json.dumps(
        kept, default=lambda b: bytes(b).decode("latin-1") if isinstance(b, memoryview) else str(b)
    )


def test_the_longest_names_of_the_widest_characters_are_stored(api, store):
    """Keys have room for every name that is accepted."""
    wide = "\U0001f40b"
    row = {
        "content": wide,
        "message_id": wide * 256,
        "project_id": wide * 256,
        "channel": wide * 256,
        "session_id": wide * 512,
        "source": {"type": "User", "id": wide * 256, "name": wide * 256},
        "conversation_id": wide * 1000,
        "tool_call_id": wide * 256,
    }
    assert rows(post(api, store, row, **{"Idempotency-Key": "k" * 255}))[0]["created"] is True
    found = api.post(url(store, "/recall"), {"query": wide, "project_id": wide * 256}, format="json").json()
    assert [row["ref"] for row in found["results"]] == ["mem:1"]


def test_the_successor_is_found_among_any_number_of_versions(api, store):
    versions = [
        {"content": f"v{n}", "message_id": "m", "timestamp": f"2026-01-01T{n // 60:02}:{n % 60:02}:00Z"}
        for n in range(150)
    ]
    rows(post(api, store, *versions))
    told = api.get(url(store, "/records/mem:1")).json()
    assert (told["superseded_by"], told["version_count"], len(told["versions"])) == ("mem:2", 150, 100)
    assert api.get(url(store, "/records/mem:150")).json()["superseded_by"] is None


def test_versions_in_one_call_without_times_of_their_own_have_an_order(api, store):
    rows(
        post(
            api,
            store,
            {"content": "walrus one", "message_id": "m"},
            {"content": "walrus two", "message_id": "m"},
        )
    )
    assert api.get(url(store, "/records/mem:1")).json()["superseded_by"] == "mem:2"
    (item,) = api.post(url(store, "/reconstruct"), {"query": "walrus"}, format="json").json()["items"]
    assert item["content"] == "walrus two"
    assert "conflicts" not in item


def test_a_message_id_is_asked_for_as_it_is_stored(api, store):
    rows(post(api, store, {"content": "x", "message_id": " m1 "}))
    for name in ("m1", " m1 "):
        found = api.get(url(store, "/records"), {"message_id": name}).json()["results"]
        assert [row["message_id"] for row in found] == ["m1"]


@pytest.mark.parametrize("kind", ["record", "summary"])
def test_what_hangs_on_a_deleted_row_goes_with_it_before_any_job_runs(kind, api, store, say):
    """Mentions, associations by either end and by the anchor, nodes, index entries and vectors."""
    from django.utils import timezone

    from memoryconsole.models import Association, Entity, EntryVector, IndexEntry, Mention

    now = timezone.now()
    say("the walrus sleeps", "another walrus")
    for text in ("walrus week", "walrus month"):
        api.post(url(store, "/summaries"), {"summary": text}, format="json")
    model, path, ref = (
        (Record, "/records/", "mem:1") if kind == "record" else (Summary, "/summaries/", "ep:1")
    )
    doomed, kept = (model.objects.get(store=store, number=n) for n in (1, 2))
    entity = Entity.objects.create(
        store=store, number=1, uuid="0" * 32, name="W", declared_key="w", created_at=now
    )
    for row in (doomed, kept):
        Mention.objects.create(store=store, entity=entity, created_at=now, **{kind: row})
        RecordNode.objects.create(store=store, index=0, start=0, end=3, **{kind: row})
    ends = [("subject", "object"), ("object", "subject"), ("anchor", "subject")]
    for number, (end, other) in enumerate(ends, start=1):
        for row, offset in ((doomed, 0), (kept, 10)):
            fields = {f"{end}_{kind}": row, f"{other}_entity": entity}
            if end == "anchor":
                fields["object_entity"] = entity
            Association.objects.create(
                store=store, number=number + offset, predicate="p", declared_at=now, **fields
            )
    assert api.delete(url(store, path + ref)).status_code == 202
    for table in (Mention, RecordNode, IndexEntry):
        assert table.objects.filter(store=store, **{kind: doomed}).count() == 0, table
        assert table.objects.filter(store=store, **{kind: kept}).count() == 1, table
    assert EntryVector.objects.filter(store=store).count() == 3
    assert sorted(Association.objects.filter(store=store).values_list("number", flat=True)) == [11, 12, 13]
    found = api.post(url(store, "/recall"), {"query": "walrus"}, format="json").json()["results"]
    assert ref not in [row["ref"] for row in found]
    assert len(found) == 3
    listed = api.get(url(store, "/records" if kind == "record" else "/summaries")).json()["results"]
    assert [row["ref"] for row in listed] == [kept.ref]


def test_a_write_that_overtakes_a_change_of_language_is_found_in_the_new_one(api, store, ada, run_jobs):
    from django.utils import timezone

    from memoryconsole.models import Store
    from memoryconsole.services.ingest import NewRecord, store_records

    opened = Store.objects.get(pk=store.pk)
    api.patch(url(store), {"language": "german"}, format="json")
    run_jobs(store)
    store_records(opened, [NewRecord(content="Die Häuser stehen am Hafen")], now=timezone.now())
    found = api.post(url(store, "/recall"), {"query": "Haus Hafen"}, format="json").json()["results"]
    assert [row["ref"] for row in found] == ["mem:1"]


def test_a_summary_shares_what_its_sources_share(api, store):
    base = {"content": "x", "project_id": "p"}
    rows(post(api, store, base | {"channel": "a"}, base | {"channel": "b"}))
    body = {"summary": "s", "source_type": "messages", "source_ids": [1, 2]}
    api.post(url(store, "/summaries"), body, format="json")
    told = api.get(url(store, "/summaries/ep:1")).json()
    assert (told["project_id"], told["channel"]) == ("p", None)
