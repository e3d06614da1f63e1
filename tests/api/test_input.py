"""Bad input: a precise 400, and nothing changed."""

import gc
import json
import logging
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import pytest
from django.conf import settings

from memoryconsole.errors import InvalidParameter
from memoryconsole.models import Record, Session, StoreCounter, Summary
from memoryconsole.serializers import StrictSerializer, instance_of
from tests.architecture.test_documents import all_of
from tests.conftest import url

HUGE = 10**400


def post(api, path, body):
    return api.generic(
        "POST", path, body if isinstance(body, bytes) else json.dumps(body), "application/json"
    )


def assert_refused(answer, pointer, code=None):
    assert answer.status_code == 400, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    body = answer.json()
    assert body["code"] == "invalid_parameter"
    assert pointer in [fault["pointer"] for fault in body["errors"]], body
    if code is not None:
        assert code in [fault["code"] for fault in body["errors"]], body


def state(store):
    counter = StoreCounter.objects.get(store=store)
    return (
        Record.objects.filter(store=store).count(),
        Summary.objects.filter(store=store).count(),
        Session.objects.filter(store=store).count(),
        counter.record,
        counter.summary,
        counter.belief_at,
    )


NOT_TEXT = [1, 1.5, True, None, [], {}, ["a"]]
NOT_WHOLE = ["5", True, False, 1.0, 1.5, None, [], {}, "", -1, -(10**30), HUGE]
NOT_FLAG = ["true", 1, 0, "", None, [], {}]
GOOD = {"content": "fine", "session_id": "s", "message_id": "m"}


@pytest.mark.parametrize(
    "member", ["content", "message_id", "project_id", "channel", "session_id", "role", "timestamp"]
)
@pytest.mark.parametrize("value", NOT_TEXT, ids=repr)
def test_a_record_member_that_is_no_text_is_refused(member, value, api, store):
    before = state(store)
    answer = post(api, url(store, "/records"), {"records": [GOOD, {"content": "x", member: value}]})
    assert_refused(answer, f"/records/1/{member}")
    assert state(store) == before


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/records"),
        ({"records": []}, "/records"),
        ({"records": None}, "/records"),
        ({"records": {}}, "/records"),
        ({"records": "x"}, "/records"),
        ({"records": [GOOD] * 1001}, "/records"),
        ({"records": ["x"]}, "/records/0"),
        ({"records": [None]}, "/records/0"),
        ({"records": [{}]}, "/records/0/content"),
        ({"records": [{"content": ""}]}, "/records/0/content"),
        ({"records": [{"content": "x" * 200_001}]}, "/records/0/content"),
        ({"records": [GOOD], "extra": 1}, "/extra"),
        ({"records": [GOOD | {"contents": "x"}]}, "/records/0/contents"),
        ({"records": [GOOD | {"a/b~c": "x"}]}, "/records/0/a~1b~0c"),
        ({"records": [GOOD | {"source": "u1"}]}, "/records/0/source"),
        ({"records": [GOOD | {"source": {"type": "Robot", "id": "x"}}]}, "/records/0/source/type"),
        ({"records": [GOOD | {"source": {"id": 7}}]}, "/records/0/source/id"),
        ({"records": [GOOD | {"source": {"kind": "User"}}]}, "/records/0/source/kind"),
        ({"records": [GOOD | {"message_id": "m" * 257}]}, "/records/0/message_id"),
        ({"records": [GOOD | {"tool_calls": {}}]}, "/records/0/tool_calls"),
        ({"records": [GOOD | {"tool_calls": ["x"]}]}, "/records/0/tool_calls/0"),
        ([GOOD], ""),
        ("text", ""),
        (7, ""),
        (None, ""),
    ],
    ids=lambda value: str(value)[:50],
)
def test_records_bodies_that_are_refused(body, pointer, api, store):
    before = state(store)
    assert_refused(post(api, url(store, "/records"), body), pointer)
    assert state(store) == before


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "invalid_parameter"),  # no body is no members
        (b"{", "invalid_json"),
        (b'{"records": [{"content": "x"}]} tail', "invalid_json"),
        (b'{"records": NaN}', "invalid_json"),
        (b'{"records": [{"content": "x", "content": "y"}]}', "invalid_json"),
        (b'{"records": [{"content": "\xff"}]}', "invalid_json"),
        (b'{"records": [{"content": "\xed\xa0\x80"}]}', "invalid_json"),
        (b'{"records": [{"content": "a\x00b"}]}', "invalid_json"),
        (b"[" * 100_000, "invalid_json"),
        (b'{"records": ' + b"9" * 5000 + b"}", "invalid_json"),
    ],
    ids=[
        "empty",
        "cut",
        "tail",
        "NaN",
        "named twice",
        "not UTF-8",
        "raw surrogate",
        "raw NUL",
        "deep",
        "long number",
    ],
)
def test_bodies_that_are_no_json(body, code, api, store):
    before = state(store)
    answer = post(api, url(store, "/records"), body)
    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert state(store) == before


@pytest.mark.parametrize("escape", ["\\u0000", "\\ud800", "\\udfff", "\\udc00\\ud800"])
@pytest.mark.parametrize(
    ("template", "pointer"),
    [
        ('{"records": [{"content": "a%sb"}]}', "/records/0/content"),
        ('{"records": [{"content": "x", "source": {"id": "%s"}}]}', "/records/0/source/id"),
        ('{"records": [{"content": "x", "tool_calls": [{"f": ["%s"]}]}]}', "/records/0/tool_calls/0/f/0"),
        ('{"records": [{"content": "x", "tool_calls": [{"%s": 1}]}]}', "/records/0/tool_calls/0"),
    ],
)
def test_text_that_cannot_be_stored_is_refused_where_it_stands(escape, template, pointer, api, store):
    before = state(store)
    answer = post(api, url(store, "/records"), (template % escape).encode())
    assert_refused(answer, pointer, "unstorable_text")
    assert state(store) == before


def test_an_escaped_pair_is_one_character(api, store):
    answer = post(api, url(store, "/records"), b'{"records": [{"content": "\\ud83d\\udc0b"}]}')
    assert answer.status_code == 201
    assert Record.objects.get(store=store).content == "🐋"


def test_a_body_over_the_limit_is_413_and_not_read(api, store):
    before = state(store)
    body = json.dumps({"records": [{"content": "x" * 100_000}] * 100}).encode()
    assert len(body) > 10_000_000
    answer = post(api, url(store, "/records"), body)
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
    assert state(store) == before


@pytest.mark.parametrize("media", ["text/plain", "application/x-www-form-urlencoded", "application/xml", ""])
def test_another_media_type_is_415(media, api, store):
    answer = api.generic("POST", url(store, "/records"), b'{"records": [{"content": "x"}]}', media)
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


def test_a_method_that_is_not_there_is_405(api, store):
    answer = api.put(url(store, "/records"), {}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")


@pytest.mark.parametrize("path", ["/reconstruct", "/recall"])
@pytest.mark.parametrize(
    ("member", "values"),
    [
        ("query", [*NOT_TEXT, "x" * 20_001]),
        ("channel", [1, True, [], {}]),
        ("project_id", [1, True, [], {}]),
        ("source_id", [1, True, [], {}]),
        ("deep", NOT_FLAG),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_members_both_reads_share(path, member, values, api, store):
    for value in values:
        assert_refused(post(api, url(store, path), {"query": "q", member: value}), f"/{member}")


@pytest.mark.parametrize(
    ("member", "values"),
    [
        ("count", NOT_WHOLE),
        ("top_k", [*NOT_WHOLE, 0, 101]),
        ("max_hops", NOT_WHOLE),
        ("max_evidence", [*NOT_WHOLE, 0]),
        ("budget", [*NOT_WHOLE, 0]),
        ("trace", NOT_FLAG),
        ("session_key", [*NOT_TEXT, "k" * 257]),
        ("limit", [1]),
        ("topk", [1]),
    ],
)
def test_reconstruct_bounds(member, values, api, store):
    for value in values:
        answer = post(api, url(store, "/reconstruct"), {"query": "q", member: value})
        assert_refused(answer, f"/{member}")
        body = answer.json()
        assert (body["ok"], body["items"], body["returned_count"]) == (False, [], 0)
        assert body["error"]


@pytest.mark.parametrize("value", [*NOT_WHOLE, 0, 101])
def test_recall_limit(value, api, store):
    assert_refused(post(api, url(store, "/recall"), {"query": "q", "limit": value}), "/limit")


def test_large_but_honest_numbers_are_taken(api, store, say):
    say("the walrus sleeps")
    answer = post(
        api,
        url(store, "/reconstruct"),
        {
            "query": "walrus",
            "count": 2**53 - 1,
            "max_hops": 2**53 - 1,
            "max_evidence": 2**53 - 1,
            "budget": 2**53 - 1,
        },
    )
    assert answer.status_code == 200
    assert answer.json()["bounds"]["max_hops"] == 5
    assert answer.json()["effective_count"] == 10


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("limit=0", "?limit"),
        ("limit=201", "?limit"),
        ("limit=-1", "?limit"),
        ("limit=1.5", "?limit"),
        ("limit=ten", "?limit"),
        ("limit=" + "9" * 5000, "?limit"),
        ("limit=1&limit=2", "?limit"),
        ("sort=asc", "?sort"),
        ("text=%00", "?"),
        ("since=yesterday", "?since"),
        ("until=", "?until"),
    ],
)
def test_query_strings(query, pointer, api, store):
    assert_refused(api.get(url(store, f"/records?{query}")), pointer)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/summary"),
        ({"summary": ""}, "/summary"),
        ({"summary": "s", "source_ids": [1]}, "/source_ids"),
        ({"summary": "s", "source_type": "messages"}, "/source_ids"),
        ({"summary": "s", "source_type": "mixed", "source_ids": [1]}, "/source_type"),
        ({"summary": "s", "source_type": "messages", "source_ids": ["1"]}, "/source_ids/0"),
        ({"summary": "s", "source_type": "messages", "source_ids": [True]}, "/source_ids/0"),
        ({"summary": "s", "depth": -1}, "/depth"),
        ({"summary": "s", "start": "2026-01-02", "end": "2026-01-01"}, "/end"),
    ],
    ids=str,
)
def test_summaries_bodies_that_are_refused(body, pointer, api, store):
    before = state(store)
    assert_refused(post(api, url(store, "/summaries"), body), pointer)
    assert state(store) == before


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"name": ""}, "/name"),
        ({"name": 5}, "/name"),
        ({"language": "klingon"}, "/language"),
        ({"audit": "sometimes"}, "/audit"),
        ({"settings": {"default_count": "2"}}, "/settings/default_count"),
        ({"settings": {"default_count": True}}, "/settings/default_count"),
        ({"settings": {"default_count": 0}}, "/settings/default_count"),
        ({"settings": {"default_count": 11}}, "/settings/default_count"),
        ({"settings": {"max_count": 11}}, "/settings/max_count"),
        ({"settings": {"preview_chars": 5000}}, "/settings/default_budget"),
        ({"settings": {"colour": 1}}, "/settings/colour"),
        ({"id": "mine"}, "/id"),
    ],
    ids=str,
)
def test_store_changes_that_are_refused(body, pointer, api, store):
    answer = api.patch(url(store), body, format="json")
    assert_refused(answer, pointer)
    store.refresh_from_db()
    assert store.version == 1


# What broke other systems of this kind: query text that reaches a search grammar.
SYNTAX = [
    "don't", '"half quote', "a-b", "C++", "GB/s", "col:val", "NEAR(", "*", "%", "_", "' OR 1=1 --", "x" * 10_000,
    "?!…", "", " \t\n", "a & b | !c", "<->", "\\", "\u202eevil", "{}", "[a]", "(((", "🙂", "\ufeff", "a\u0301",
]  # fmt: skip


@pytest.mark.parametrize("query", SYNTAX, ids=lambda q: repr(q[:12]))
def test_no_query_text_is_a_command(query, api, store, say):
    say("C++ runs at 3 GB/s", "don't use col:val", "100%_sure", "plain text")
    for path in ("/recall", "/reconstruct"):
        assert post(api, url(store, path), {"query": query}).status_code == 200
    listed = api.get(url(store, "/records"), {"text": query[:1000]})
    assert listed.status_code == 200


@pytest.mark.parametrize("query", ["%", "_"])
def test_wildcards_are_literal(query, api, store, say):
    say("nothing of the kind")
    assert post(api, url(store, "/recall"), {"query": query}).json()["results"] == []


# What has been a 500 once.


@pytest.mark.parametrize("tail", ["", "/records", "/records/mem:1", "/summaries"])
def test_head_is_get_without_a_body(tail, api, store, say):
    say("x")
    assert api.head(url(store, tail)).status_code == 200


@pytest.mark.parametrize(
    ("given", "pointer"), [({"start": "2030-01-01"}, "/start"), ({"end": "2020-01-01"}, "/end")]
)
def test_a_span_that_contradicts_its_sources_is_refused(given, pointer, api, store, say):
    say({"content": "x", "timestamp": "2026-01-01T00:00:00Z"})
    before = state(store)
    body = {"summary": "s", "source_type": "messages", "source_ids": [1], **given}
    assert_refused(post(api, url(store, "/summaries"), body), pointer)
    assert state(store) == before


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1E999"])
def test_a_number_beyond_all_numbers_is_no_json(number, api, store):
    body = '{"records": [{"content": "x", "tool_calls": [{"a": NUMBER}]}]}'.replace("NUMBER", number)
    answer = post(api, url(store, "/records"), body.encode())
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_json")


# What costs little to send must cost little to refuse.


def test_too_many_rows_are_counted_before_they_are_read(api, store, monkeypatch):
    from memoryconsole.shapes import RecordIn

    monkeypatch.setattr(RecordIn, "to_internal_value", lambda self, data: pytest.fail("read a row"))
    assert_refused(post(api, url(store, "/records"), {"records": [{}] * 50_000}), "/records", "max_length")


def test_unknown_members_are_named_up_to_a_limit(api, store):
    answer = post(api, url(store, "/recall"), {"query": "q"} | {f"m{n}": 1 for n in range(50_000)})
    assert answer.status_code == 400
    assert len(answer.json()["errors"]) == 50


def test_tool_calls_are_as_long_as_a_text_at_most(api, store):
    body = {"records": [{"content": "x", "tool_calls": [{"a": "y" * 200_000}]}]}
    assert_refused(post(api, url(store, "/records"), body), "/records/0/tool_calls", "max_length")


@pytest.mark.parametrize("body", [[], 0, "", False, None])
def test_a_cancel_takes_an_object_or_nothing(body, api, store, ada):
    from django.utils import timezone

    from memoryconsole import jobs

    job = jobs.start(store, "embed", {}, by=ada, now=timezone.now())
    assert post(api, f"/api/v1/jobs/{job.uuid}/cancel", body).status_code == 400
    assert api.post(f"/api/v1/jobs/{job.uuid}/cancel").status_code in (200, 415)


@pytest.mark.parametrize("limit", ["1_0", "%205", "%2B5", "5%0a", "\u0665"])
def test_a_number_in_an_address_is_digits(limit, api, store):
    assert_refused(api.get(url(store, f"/records?limit={limit}")), "?limit")


def test_a_store_needs_a_name_one_can_see(api, store):
    assert_refused(post(api, "/api/v1/stores", {"name": "  "}), "/name")


def test_a_malformed_store_id_is_refused_as_its_contract_says(api):
    for name in ("UPPER", "a b", "城", "x" * 100):
        answer = api.post(f"/api/v1/stores/{name}/reconstruct", {"query": "q"}, format="json")
        assert answer.status_code == 404
        assert (answer.json()["ok"], answer.json()["items"], answer.json()["returned_count"]) == (
            False,
            [],
            0,
        )


@pytest.mark.parametrize("depth", [65, 500, 5000])
def test_a_nest_deeper_than_any_body_is_refused(depth, api, store):
    nest = "[" * depth + "]" * depth
    body = '{"records": [{"content": "x", "tool_calls": [{"a": NEST}]}]}'.replace("NEST", nest)
    answer = post(api, url(store, "/records"), body.encode())
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_json")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/recall", {"query": "x" * 1_000_000}),
        ("/records", {"records": [{"content": "y" * 150_000, "unheard": 1}]}),
    ],
)
def test_a_large_body_that_was_refused_is_gone_with_its_answer(path, body, api, store, caplog):
    """A refusal and its traceback hold each other, and what was refused: nobody looks for that soon by itself."""
    caplog.set_level(logging.ERROR, "django.request")  # what is captured holds its request
    sent = json.dumps(body).encode()
    assert post(api, url(store, path), sent).status_code == 400
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        assert post(api, url(store, path), sent).status_code == 400
        after, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    # What was sent is still with the client that sent it; what was read of it is gone.
    assert most - before > 2 * len(sent)
    assert after - before < 1.5 * len(sent)


def test_what_one_body_was_judged_to_be_says_nothing_of_the_next():
    """One instance judges everything: as a new one would, whatever it judged before and whoever changed the result."""
    import_module(settings.ROOT_URLCONF)
    kinds = list(all_of(StrictSerializer))
    assert len(kinds) > 50
    for kind in kinds:
        _judges_alike(kind)


def _judges_alike(kind):
    bodies = [{}, dict.fromkeys(kind().fields, 1), {"unheard": [1]}, [], None]
    bodies += [
        dict.fromkeys(kind().fields, value) for value in ("a", "2024-01-01T00:00:00Z", [], [{}], {}, None)
    ]

    def judged(data):
        try:
            return kind.read(json.loads(json.dumps(data)))
        except InvalidParameter as refused:
            return refused.detail, [(each.pointer, each.code, each.message) for each in refused.errors]

    fresh = []
    for body in bodies:
        instance_of.cache_clear()
        fresh.append(judged(body))
    instance_of.cache_clear()
    for _ in range(2):
        with ThreadPoolExecutor(4) as threads:
            assert list(threads.map(judged, bodies)) == fresh
        for result in map(judged, bodies):
            if isinstance(result, dict):
                result.clear()
