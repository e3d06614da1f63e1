"""get_contents over HTTP: whole rows and parts of them, and what is said of the ones that cannot be served."""

import json
from datetime import UTC, datetime

import pytest

from memoryconsole.models import Association, Record, RecordNode, Summary
from reconstruct.contents import BUDGET_CHARS, Range, charge, read_entry
from reconstruct.core.types import Ref
from reconstruct.serializers import MAX_ENTRY_CHARS
from tests.conftest import make_store, url

LONG = "".join(f"{n} " + "walrus rest and swim. " * 60 + "\n\n" for n in range(4))


@pytest.fixture
def spans(store, say, run_jobs):
    """`mem:1` is LONG, in nodes: their spans."""
    say({"content": LONG, "message_id": "log", "timestamp": "2026-01-05T10:00:00Z",
         "source": {"type": "User", "id": "u1", "name": "Dag"}})  # fmt: skip
    run_jobs(store)
    found = [
        list(s) for s in RecordNode.objects.filter(store=store).order_by("index").values_list("start", "end")
    ]
    assert len(found) == 4
    return found


def test_a_whole_row_comes_with_what_is_known_about_it(read, spans, say):
    say({"content": "bare", "timestamp": ""})
    assert read("mem:1", "mem:2") == {
        "items": [
            {
                "ref": "mem:1",
                "content": LONG,
                "source": {"type": "User", "id": "u1", "name": "Dag"},
                "timestamp": "2026-01-05T10:00:00Z",
                "id": "log",
            },
            {"ref": "mem:2", "content": "bare"},
        ],
        "missing": [],
        "count": 2,
    }


def test_parts_come_with_their_range_and_the_same_metadata(read, spans):
    first, some, cut = read(
        {"ref": "mem:1", "node": 0}, {"ref": "mem:1", "node": [1, 3]}, {"ref": "mem:1", "span": [2, 8]}
    )["items"]
    length = len(LONG)
    assert first["content"] == LONG[: spans[0][1]]
    assert first["range"] == {"span": spans[0], "node": [0, 0], "of": 4, "content_len": length}
    assert some["content"] == LONG[spans[1][0] :]
    assert some["range"] == {"span": [spans[1][0], length], "node": [1, 3], "of": 4, "content_len": length}
    assert (cut["content"], cut["range"]) == ("walrus", {"span": [2, 8], "content_len": length})
    assert {cut["id"], first["id"], some["id"]} == {"log"}


def test_offsets_are_code_points(read, say):
    say("a🙂é山b")
    item = read({"ref": "mem:1", "span": [1, 4]})["items"][0]
    assert (item["content"], item["range"]["content_len"]) == ("🙂é山", 5)


@pytest.mark.parametrize(
    "part",
    [
        {"node": 0, "span": [0, 1]},
        {"node": -1},
        {"node": True},
        {"node": "2"},
        {"node": 1.0},
        {"node": None},
        {"node": [1]},
        {"node": [0, 1, 2]},
        {"node": [3, 2]},
        {"node": [0, True]},
        {"node": [-1, 0]},
        {"node": {"first": 0}},
        {"span": 3},
        {"span": [5, 5]},
        {"span": [5, 4]},
        {"span": [-1, 5]},
        {"span": [0, 2.5]},
        {"span": [None, 1]},
        {"span": []},
        {"block": 1},
        {"node": 0, "revision": "x"},
    ],
    ids=json.dumps,
)
def test_what_is_no_range_is_refused_and_stops_nothing(part, read, spans):
    told = read({"ref": "mem:1", **part}, {"ref": "mem:1", "node": 2})
    assert told["unresolved"] == [{"ref": "mem:1", "reason": "invalid_range"}]
    assert [item["range"]["node"] for item in told["items"]] == [[2, 2]]
    # Whether the row is there comes first.
    assert read({"ref": "mem:9", **part}) == {"items": [], "missing": ["mem:9"], "count": 0}


def test_a_range_is_never_widened(read, spans, say, store):
    say("short")
    told = read(
        {"ref": "mem:1", "node": [3, 4]},
        {"ref": "mem:1", "node": 10**30},
        {"ref": "mem:2", "node": 0},
        {"ref": "mem:2", "span": [5, 6]},
        {"ref": "mem:2", "span": [4, 10**30]},
    )
    reasons = ["node_out_of_range", "node_out_of_range", "no_current_nodes", "span_out_of_range"]
    assert [each["reason"] for each in told["unresolved"]] == reasons
    assert [item["range"]["span"] for item in told["items"]] == [[4, 5]]
    RecordNode.objects.filter(store=store, index=1).update(start=spans[1][0] + 1)
    assert read({"ref": "mem:1", "node": 0})["unresolved"] == [{"ref": "mem:1", "reason": "no_current_nodes"}]


def test_refs_are_read_as_they_are_spelled_elsewhere(read, say):
    say("one")
    told = read(
        " mem:1 ", "mem:001", "mem:0", "mem:-1", "mem:1x", "MEM:1", "mem:١", "ep:1", "mem:" + "9" * 40
    )
    assert [item["ref"] for item in told["items"]] == ["mem:1", "mem:1"]
    assert told["missing"] == ["mem:0", "mem:-1", "mem:1x", "MEM:1", "mem:١", "ep:1", "mem:" + "9" * 40]


@pytest.mark.parametrize("entry", [5, None, True, [], {}, {"node": 0}, {"ref": 5}, {"ref": None, "node": 0}])
def test_what_names_no_row_is_missing_as_it_was_sent(entry, read, say):
    say("one")
    told = read(entry, "mem:1")
    assert told["missing"] == [entry]
    assert told["count"] == 1
    assert "unresolved" not in told


def test_deleted_and_foreign_rows_are_missing_like_unknown_ones(read, api, store, spans, ada, say):
    say("second")
    other = make_store(ada, "garden")
    assert other.pk != store.pk
    api.delete(url(store, "/records/mem:1"))
    asked = [{"ref": "mem:1", "node": 0}, {"ref": "mem:1", "node": [9, 1]}, "mem:1", "mem:77"]
    assert read(*asked) == {"items": [], "missing": ["mem:1", "mem:1", "mem:1", "mem:77"], "count": 0}


def test_an_episode_comes_whole_and_in_parts_without_a_label(read, api, store, run_jobs):
    body = {"summary": LONG, "start": "2026-01-02T16:00:00Z", "end": "2026-01-02T17:00:00Z"}
    api.post(url(store, "/summaries"), body, format="json")
    run_jobs(store)
    whole, part = read("ep:1", {"ref": "ep:1", "node": 1})["items"]
    assert whole == {"ref": "ep:1", "content": LONG, "timestamp": "2026-01-02T16:00:00Z"}
    assert part["content"] == LONG[slice(*part["range"]["span"])]


def test_a_superseded_version_says_so_and_the_newest_does_not(read, api, store, say):
    versions = [("v1", "", "09"), ("v2", "x", "10"), ("v3", "", "11")]
    for text, channel, hour in versions:
        say({"content": text, "message_id": "m", "channel": channel, "timestamp": f"2026-01-05T{hour}:00:00Z",
             "source": {"type": "User", "id": f"u-{text}"}})  # fmt: skip
    say({"content": "apart"}, {"content": "apart too"})
    told = read("mem:1", "mem:2", "mem:3", "mem:4")["items"]
    assert [item.get("superseded_by") for item in told] == ["mem:2", "mem:3", None, None]
    # By whom, when and where is told by the record itself, whichever channel its reader asks about.
    body = {"query": "v1", "channel": "y"}
    seen = api.post(url(store, "/reconstruct"), body, format="json").json()["items"][0]
    assert "mem:2" not in {claim["ref"] for claim in seen["claims"]}
    record = api.get(url(store, "/records/mem:1")).json()
    newer = next(row for row in record["versions"] if row["ref"] == record["superseded_by"])
    assert (newer["channel"], newer["source"]["id"], newer["timestamp"]) == (
        "x",
        "u-v2",
        "2026-01-05T10:00:00Z",
    )
    assert newer["created_at"]


def test_what_is_said_about_a_row_counts_and_the_rest_is_deferred_as_sent(read, say):
    half = "h" * (BUDGET_CHARS // 2)
    say(half, half, "small")
    # Two halves alone would fit; with what is said about them they do not.
    rest = [{"ref": "mem:2", "span": [0, BUDGET_CHARS]}, "mem:3", "mem:99", 7]
    told = read("mem:99", "mem:1", *rest)
    assert ([item["ref"] for item in told["items"]], told["missing"]) == (["mem:1"], ["mem:99"])
    assert (told["deferred"], told["budget_chars"], told["count"]) == (rest, BUDGET_CHARS, 1)
    # Only the part that is served counts.
    told = read("mem:1", *[{"ref": "mem:2", "span": [0, 100]}] * 10)
    assert (told["count"], "deferred" in told) == (11, False)


def test_the_first_is_served_whatever_its_length_and_a_full_budget_is_used_to_the_last_character(read, say):
    say("x" * 200_000, "y" * BUDGET_CHARS)
    assert read("mem:1", "mem:2")["deferred"] == ["mem:2"]
    (first,) = read({"ref": "mem:2", "span": [0, 100]})["items"]
    (second,) = read({"ref": "mem:2", "span": [0, 30_000]})["items"]
    room = BUDGET_CHARS - charge(first) - charge(second) + 30_000
    assert read({"ref": "mem:2", "span": [0, 100]}, {"ref": "mem:2", "span": [0, room]})["count"] == 2
    assert read({"ref": "mem:2", "span": [0, 100]}, {"ref": "mem:2", "span": [0, room + 1]})["count"] == 1


def test_a_declared_supersession_is_told_by_the_row_it_supersedes(read, api, store, say):
    say("old plan", "new plan", "newer plan", {"content": "v1", "message_id": "m", "timestamp": "2026-01-01"},
        {"content": "v2", "message_id": "m", "timestamp": "2026-01-02"})  # fmt: skip
    api.post(url(store, "/summaries"), {"summary": "the week"}, format="json")
    api.post(url(store, "/summaries"), {"summary": "the week, corrected"}, format="json")
    row = {record.ref: {"record": record} for record in Record.objects.filter(store=store)}
    row |= {summary.ref: {"summary": summary} for summary in Summary.objects.filter(store=store)}
    declared = [("mem:2", "mem:1"), ("ep:1", "mem:1"), ("mem:3", "mem:1"), ("mem:1", "mem:1"), ("mem:1", "mem:4"),
                ("ep:2", "ep:1")]  # fmt: skip
    for number, (subject, object_) in enumerate(declared, start=1):
        ends = {f"subject_{kind}": end for kind, end in row[subject].items()}
        ends |= {f"object_{kind}": end for kind, end in row[object_].items()}
        at = datetime(2026, 1, number, tzinfo=UTC)
        Association.objects.create(store=store, number=number, predicate="supersedes", declared_at=at, **ends)
    other = {"subject_record": row["mem:1"]["record"], "object_record": row["mem:3"]["record"]}
    at = datetime(2026, 2, 1, tzinfo=UTC)
    Association.objects.create(store=store, number=9, predicate="corrects", declared_at=at, **other)

    told = read("mem:1", "mem:2", "mem:3", "mem:4", "ep:1", "ep:2")["items"]
    # The latest declaration; a version before any declaration.
    assert [item.get("superseded_by") for item in told] == ["mem:3", None, None, "mem:5", "ep:2", None]
    record = api.get(url(store, "/records/mem:1")).json()
    assert record["superseded_by"] == "mem:3"
    told = next(each for each in record["associations"] if each["subject"] == {"ref": "mem:3"})
    assert (told["declared_by"], told["declared_at"]) == ("agent", "2026-01-03T00:00:00Z")
    assert api.get(url(store, "/summaries/ep:1")).json()["superseded_by"] == "ep:2"
    # What supersedes is gone with its row.
    api.delete(url(store, "/records/mem:3"))
    assert read("mem:1")["items"][0]["superseded_by"] == "ep:1"


@pytest.mark.parametrize("body", [{}, {"refs": []}, {"refs": "mem:1"}, {"refs": None}, {"refs": ["mem:1"] * 21},
                                  {"refs": {"ref": "mem:1"}}, {"refs": ["mem:1"], "agent_id": "a"}])  # fmt: skip
def test_a_call_that_is_no_call_is_refused_with_ok_false(body, api, store):
    answer = api.post(url(store, "/contents"), body, format="json")
    assert answer.status_code == 400
    told = answer.json()
    assert (told["code"], told["ok"], told["error"]) == ("invalid_parameter", False, told["detail"])
    # Input comes before existence.
    assert api.post("/api/v1/stores/none-22222222/contents", body, format="json").status_code == 400


def test_twenty_refs_are_taken(read, say):
    say("one")
    assert read(*["mem:1"] * 20)["count"] == 20


def test_an_entry_of_any_shape_is_kept_with_its_question_and_a_long_one_refuses_the_call(api, store, say):
    say("one")
    longest = {"ref": "mem:1", "span": [0, 2], "x": "y" * (MAX_ENTRY_CHARS - 41)}
    assert len(json.dumps(longest)) == MAX_ENTRY_CHARS
    answer = api.post(url(store, "/contents"), {"refs": [longest] * 20}, format="json")
    assert [each["reason"] for each in answer.json()["unresolved"]] == ["invalid_range"] * 20
    assert api.get(f"/api/v1/traces/{answer.headers['Trace-Id']}").json()["request"] == {
        "refs": [longest] * 20
    }

    answer = api.post(url(store, "/contents"), {"refs": ["mem:1", longest | {"z": 1}]}, format="json")
    assert answer.status_code == 400
    assert [(fault["pointer"], fault["code"]) for fault in answer.json()["errors"]] == [
        ("/refs/1", "max_length")
    ]


def test_why_of_a_ref_sent_twice_is_that_of_the_entry_that_was_served(api, store, say):
    say("one")
    unserved, served = {"ref": "mem:1", "span": [9, 10]}, {"ref": "mem:1", "span": [0, 1]}

    def why(*refs):
        trace = api.post(url(store, "/contents"), {"refs": refs}, format="json").headers["Trace-Id"]
        told = api.get(f"/api/v1/traces/{trace}/why?ref=mem:1").json()
        return told["verdict"], told["bound"]

    assert why(unserved, served) == why(served, unserved) == ("in", "served")
    assert why(unserved, unserved) == ("out", "span_out_of_range")
    assert why("mem:2") == ("out", "not_asked")


def test_an_entry_is_read_by_its_shape_alone():
    assert read_entry({"ref": "mem:7", "node": 2}).range == Range("node", 2, 2)
    assert read_entry({"ref": "mem:7", "node": [2, 4]}).range == Range("node", 2, 4)
    assert read_entry({"ref": "ep:7", "span": [0, 1]}).ref == Ref("ep", 7)
    assert read_entry({"ref": "mem:7"}).range is None
