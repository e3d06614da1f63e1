"""Every answer leaves a trace: what it holds, who may see it, and that it can be decided again."""

import json
import uuid
from datetime import timedelta
from unittest import mock

import pytest
from django.db import connection, transaction
from django.db.utils import DatabaseError
from django.test import override_settings
from django.utils import timezone

from memoryconsole import embedding
from memoryconsole.models import (
    Association,
    Entity,
    EntityAlias,
    LostTraces,
    Membership,
    Mention,
    Record,
    Role,
    Scope,
    SessionNotice,
    StoreCounter,
    Trace,
)
from memoryconsole.models.traces import pruning
from memoryconsole.services import tracing
from memoryconsole.services.numbering import take_numbers
from tests.conftest import make_client, make_store, url


@pytest.fixture
def ask(api, store):
    """Ask, and give (body, trace id)."""

    def ask(query, *, route="/reconstruct", client=None, headers=None, **members):
        answer = (client or api).post(
            url(store, route), {"query": query, **members}, format="json", headers=headers
        )
        return answer.json(), answer.headers.get("Trace-Id")

    return ask


@pytest.fixture
def replay(api):
    def replay(trace):
        answer = api.post(f"/api/v1/traces/{trace}/replay", {}, format="json")
        assert answer.status_code == 200, answer.content
        return answer.json()

    return replay


def fill(say, amount=14):
    return say(
        *(
            {"content": f"walrus log {n}: " + "the tide was high. " * (n * 3), "message_id": f"m{n // 2}",
             "timestamp": f"2026-01-{n + 1:02}T10:00:00Z", "source": {"type": "User", "id": f"u{n % 3}"}}
            for n in range(amount)
        )
    )  # fmt: skip


def declare(store, refs):
    """A walrus called Otto beside a keeper, and a qualification of one record by another."""
    now, counter = timezone.now(), StoreCounter.objects.get(store=store)
    numbers = take_numbers(counter, "entity", 2)
    otto, keeper = (
        Entity.objects.create(store=store, number=number, uuid=uuid.uuid4(), name=name, declared_key=name.lower(),
                              created_at=now)
        for number, name in zip(numbers, ("Otto", "Keeper"), strict=True)
    )  # fmt: skip
    EntityAlias.objects.create(store=store, entity=otto, alias="walrus", declared_key="walrus")
    EntityAlias.objects.create(store=store, entity=otto, alias="big whiskers", declared_key="big whiskers")
    records = [Record.objects.get(store=store, number=int(ref[4:])) for ref in refs]
    Mention.objects.create(store=store, entity=otto, record=records[0], created_at=now)
    Mention.objects.create(store=store, entity=keeper, record=records[-1], created_at=now)
    one, two = take_numbers(counter, "association", 2)
    Association.objects.create(store=store, number=one, subject_entity=otto, predicate="kept by",
                               object_entity=keeper, declared_at=now)  # fmt: skip
    Association.objects.create(store=store, number=two, subject_record=records[1], predicate="qualifies",
                               object_record=records[0], declared_at=now)  # fmt: skip
    counter.save()


KINDS = {
    "hit": ("walrus", {"count": 3}),
    "traced": ("walrus", {"count": 10, "trace": True, "top_k": 50}),
    "nothing": ("zzyzx", {}),
    "count zero": ("walrus", {"count": 0}),
    "budget exhausted": ("walrus", {"count": 10, "budget": 500}),
    "clamped": ("walrus", {"count": 99, "max_hops": 50, "budget": 1}),
    "blank": ("", {"count": 4}),
    "deep": ("walrus tide", {"deep": True, "count": 2}),
    "scoped": ("walrus", {"source_id": "u1", "count": 5}),
    "narrow": ("walrus", {"count": 5, "max_evidence": 1}),
    "walked": ("otto", {"count": 5, "trace": True}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_answer_replays_identical(ask, replay, say, store, kind):
    refs = fill(say)
    declare(store, [*refs, *say({"content": "the keeper sleeps", "timestamp": "2026-03-01"})])
    query, members = KINDS[kind]
    body, trace = ask(query, **members)
    assert "effective_count" in body
    assert replay(trace) == {"same_core": True, "result": "identical"}
    # A store that has moved on changes nothing about what was answered.
    say("walrus again", {"content": "walrus log new", "message_id": "m0"})
    Association.objects.filter(store=store).delete()
    assert replay(trace) == {"same_core": True, "result": "identical"}


def test_recall_replays_too(ask, replay, say):
    fill(say)
    body, trace = ask("walrus", route="/recall", limit=5)
    assert len(body["results"]) == 5
    assert replay(trace)["result"] == "identical"


def test_a_degraded_answer_replays_and_says_that_it_was_degraded(api, ask, replay, say):
    fill(say)
    with mock.patch.object(embedding, "embed_query", side_effect=embedding.EmbeddingFailed("away")):
        body, trace = ask("walrus", count=3)
        silent, empty = ask("zzyzx", count=3)
    assert body["advisory"]["reason"] == silent["advisory"]["reason"] == "embedder_failed"
    for each in (trace, empty):
        assert replay(each)["result"] == "identical"
        kept = api.get(f"/api/v1/traces/{each}").json()
        assert kept["degraded"] is True
        assert kept["notices"]["advisory"]["reason"] == "embedder_failed"


@pytest.mark.parametrize(
    "members",
    [{"count": True}, {"count": -1}, {"nonsense": 1}, {"budget": 0}, {"query": None}, {"top_k": "5"}],
)
def test_a_refusal_leaves_a_trace_that_replays(api, store, replay, members):
    answer = api.post(url(store, "/reconstruct"), {"query": "walrus"} | members, format="json")
    assert answer.status_code == 400
    trace = answer.headers["Trace-Id"]
    kept = api.get(f"/api/v1/traces/{trace}").json()
    assert (kept["outcome"], kept["reason"]) == ("refused", "invalid_parameter")
    assert kept["request"] == {"query": "walrus"} | members
    assert replay(trace) == {"same_core": True, "result": "identical"}


@pytest.mark.parametrize(
    ("route", "members"),
    [
        ("/reconstruct", {"zzzz": 1, "a": 2, "bb": 3}),
        ("/reconstruct", {f"m{'x' * (99 - n)}": n for n in range(99)}),
        ("/reconstruct", {"session_key": "my-secret-session" * 20}),
        ("/reconstruct", {"session_key": ["my-secret-session"]}),
        ("/reconstruct", {"session_key": None}),
        ("/recall", {"session_key": "my-secret-session"}),
    ],
)
def test_a_refusal_replays_whatever_was_wrong_and_keeps_no_session_key(api, store, replay, route, members):
    answer = api.post(url(store, route), {"query": "walrus"} | members, format="json")
    assert answer.status_code == 400
    trace = answer.headers["Trace-Id"]
    assert replay(trace) == {"same_core": True, "result": "identical"}
    assert "secret" not in json.dumps(Trace.objects.get(pk=trace).request)


@pytest.mark.parametrize("count", ["1e22", "1e16", "-1e300"])
def test_a_number_that_the_database_would_change_is_not_kept(api, store, replay, count):
    body = f'{{"query": "walrus", "count": {count}}}'
    answer = api.post(url(store, "/reconstruct"), body, content_type="application/json")
    assert answer.status_code == 400
    kept = replay(answer.headers["Trace-Id"])
    assert kept == {"same_core": True, "result": "not_replayable", "reason": "request_not_kept"}


@pytest.mark.parametrize(
    ("body", "media_type", "status"),
    [
        ("{", "application/json", 400),
        ("[]", "application/json", 400),
        ('{"query": "a", "query": "b"}', "application/json", 400),
        ('{"query": "walrus"}', "text/plain", 415),
        ("query=walrus", "application/x-www-form-urlencoded", 415),
    ],
)
def test_a_body_that_cannot_be_read_is_said_not_to_be_kept(api, store, replay, body, media_type, status):
    answer = api.post(url(store, "/reconstruct"), body, content_type=media_type)
    assert answer.status_code == status
    trace = answer.headers["Trace-Id"]
    assert replay(trace) == {"same_core": True, "result": "not_replayable", "reason": "request_not_kept"}


LONGEST = {
    "reconstruct": {"query": "\x01" * 20_000, "channel": "\x01" * 256, "project_id": "\x01" * 256},
    "recall": {"query": "\x01" * 20_000, "channel": "\x01" * 256, "project_id": "\x01" * 256},
    "contents": {"refs": ["\U0001f433" * 998] * 20},
    "expand-query": {"session_id": "s", "prompt": "\x01" * 20_000, "query": "\x01" * 20_000,
                     "node_ids": [2**53 - 1] * 1000},
}  # fmt: skip


@pytest.mark.parametrize("route", LONGEST)
def test_the_longest_question_is_kept(api, store, route):
    answer = api.post(url(store, f"/{route}"), LONGEST[route], format="json")
    assert answer.status_code in (200, 404), answer.content
    assert api.get(f"/api/v1/traces/{answer.headers['Trace-Id']}").json()["request"] == LONGEST[route]


def test_settings_over_a_lowered_ceiling_refuse_and_replay(api, store, replay, settings):
    api.patch(url(store), {"settings": {"max_count": 9}}, format="json")
    with override_settings(RECONSTRUCT={**settings.RECONSTRUCT, "max_count": 5}):
        answer = api.post(url(store, "/reconstruct"), {"query": "walrus"}, format="json")
    assert answer.json()["code"] == "store_settings_invalid"
    assert replay(answer.headers["Trace-Id"])["result"] == "identical"


def test_a_refusal_on_a_foreign_store_leaves_nothing(cleo, store):
    client = make_client(cleo, make_store(cleo))
    before = Trace.objects.filter(store=store).count()
    answer = client.post(url(store, "/reconstruct"), {"query": 1}, format="json")
    assert answer.status_code == 400
    assert "Trace-Id" not in answer.headers
    assert Trace.objects.filter(store=store).count() == before


# What a trace holds, and what it does not.


def test_a_trace_holds_no_stored_text(api, ask, say, store):
    secret = "xylophone"
    refs = fill(say) + say({"content": f"walrus {secret}", "source": {"type": "User", "id": f"id-{secret}"}})
    declare(store, refs)
    _, trace = ask("walrus", count=10, trace=True)
    kept = Trace.objects.get(pk=trace)
    assert refs[-1] in json.dumps(kept.seen)
    for held in (kept.request, kept.policy, kept.seen, kept.told, kept.notices):
        assert secret not in json.dumps(held)
        assert "tide was high" not in json.dumps(held)
    assert secret not in api.get(f"/api/v1/traces/{trace}").content.decode()


@pytest.mark.parametrize("which", ["head", "walked", "summary"])
def test_deleting_what_a_trace_names_makes_it_not_replayable(api, ask, replay, say, store, run_jobs, which):
    refs = fill(say)
    walked = say({"content": "the keeper sleeps"})
    declare(store, [*refs, *walked])
    summary = api.post(
        url(store, "/summaries"),
        {"summary": "walrus weeks", "start": "2026-01-01", "end": "2026-02-01"},
        format="json",
    ).json()["ref"]
    body, trace = ask("walrus", count=10, top_k=50)
    gone = {"head": body["items"][0]["head_ref"], "walked": walked[0], "summary": summary}[which]
    route = "records" if gone.startswith("mem") else "summaries"
    assert api.delete(url(store, f"/{route}/{gone}")).status_code == 202
    assert replay(trace) == {"same_core": True, "result": "not_replayable", "reason": "forgotten"}
    run_jobs(store)
    assert replay(trace)["reason"] == "forgotten"


def test_forgetting_a_name_makes_its_cues_not_replayable(ask, replay, say, store):
    declare(store, fill(say))
    _, trace = ask("otto", trace=True)
    Entity.objects.filter(store=store, name="Otto").delete()
    assert replay(trace)["reason"] == "forgotten"


def test_the_stages_add_up_to_the_duration(api, ask, say):
    fill(say)
    _, trace = ask("walrus", count=3)
    kept = api.get(f"/api/v1/traces/{trace}").json()
    assert sum(stage["duration_us"] for stage in kept["stages"]) == kept["duration_us"] > 0
    names = [stage["stage"] for stage in kept["stages"]]
    assert names.index("search") < names.index("core")


def test_a_trace_names_settings_and_whose_they_are(api, ask, store, say):
    say("walrus")
    api.patch(url(store), {"settings": {"default_count": 3}}, format="json")
    _, trace = ask("walrus")
    policy = api.get(f"/api/v1/traces/{trace}").json()["policy"]
    assert policy["settings"]["default_count"] == 3
    assert policy["store"] == {"default_count": 3}
    assert policy["call"] == {}


def test_callers_label_their_traces_and_find_them(api, ask, store):
    headers = {
        "X-Agent-Run": "run-7",
        "X-Labels": "checkout, eval:v2, checkout, bad label!",
        "traceparent": f"00-{'a' * 32}-{'b' * 16}-01",
    }
    _, trace = ask("walrus", headers=headers)
    ask("walrus")
    kept = api.get(f"/api/v1/traces/{trace}").json()
    assert kept["labels"] == ["checkout", "eval:v2"]
    assert (kept["agent_run"], kept["traceparent"]) == ("run-7", headers["traceparent"])
    for query in ("label=eval:v2", "agent_run=run-7"):
        found = api.get(url(store, f"/traces?{query}")).json()["results"]
        assert [each["id"] for each in found] == [trace]


@pytest.mark.parametrize(
    ("header", "value", "member", "kept"),
    [
        ("X-Labels", "a, b c,\xc3\xbc,d/e:f+g-h.i_j", "labels", ["a", "d/e:f+g-h.i_j"]),
        ("X-Labels", "x" * 64 + "," + "y" * 65, "labels", ["x" * 64]),
        ("X-Agent-Run", "l\xe4uft", "agent_run", ""),
        ("traceparent", f"00-{'0' * 32}-{'1' * 16}-00", "traceparent", ""),
        ("traceparent", f"00-{'1' * 32}-{'0' * 16}-00", "traceparent", ""),
        ("traceparent", f"ff-{'1' * 32}-{'1' * 16}-00", "traceparent", ""),
        ("traceparent", f"00-{'1' * 32}-{'1' * 16}-01", "traceparent", f"00-{'1' * 32}-{'1' * 16}-01"),
    ],
)
def test_what_is_no_label_is_left_out_and_the_call_is_answered(api, ask, header, value, member, kept):
    _, trace = ask("walrus", headers={header: value})
    assert api.get(f"/api/v1/traces/{trace}").json()[member] == kept


def test_the_session_key_is_not_kept(ask):
    _, trace = ask("walrus", session_key="my-secret-session")
    kept = Trace.objects.get(pk=trace)
    assert "my-secret-session" not in json.dumps(kept.request)


# Lists.


def test_lists_filter_by_what_was_asked_and_quoted(api, ask, store, say):
    (ref,) = say("the walrus sleeps")
    say("a gull")
    _, hit = ask("walrus")
    _, nothing = ask("zzyzx")
    _, recalled = ask("gull", route="/recall")

    def found(query):
        return {each["id"] for each in api.get(url(store, f"/traces?{query}")).json()["results"]}

    assert found(f"ref={ref}") == {hit}
    assert found("outcome=empty") == {nothing}
    assert found("operation=recall") == {recalled}
    assert found("reason=no_relevant_evidence") == {nothing}
    assert found("until=2020-01-01") == set()


@pytest.mark.parametrize(
    "ref", ["", "mem:", "mem:x", "mem:0", "mem:01", "ep:-1", "ab:1", "mem:1\n", "mem:" + "9" * 19]
)
def test_what_is_no_ref_is_refused(ref, api, ask, store):
    _, trace = ask("walrus")
    for path in (url(store, "/traces"), f"/api/v1/traces/{trace}/why"):
        answer = api.get(path, {"ref": ref})
        assert answer.status_code == 400
        assert [fault["pointer"] for fault in answer.json()["errors"]] == ["?ref"]


def test_a_list_is_paged_without_repeats_while_traces_arrive(api, ask, store):
    asked = [ask("walrus")[1] for _ in range(7)]
    seen, cursor = [], ""
    while cursor is not None:
        page = api.get(url(store, f"/traces?limit=2{cursor and '&cursor=' + cursor}")).json()
        seen += [each["id"] for each in page["results"]]
        cursor = page["next_cursor"]
        ask("walrus")
    assert seen == asked[::-1]


# Who may see a trace.


def test_others_traces_need_operate_and_foreign_ones_do_not_exist(ada, ben, cleo, ask, api, store):
    Membership.objects.create(store=store, user=ben, role=Role.VIEWER)
    viewer = make_client(ben, store)
    _, adas = ask("walrus")
    _, bens = ask("walrus", client=viewer)
    assert {t["id"] for t in viewer.get(url(store, "/traces")).json()["results"]} == {bens}
    assert {t["id"] for t in api.get(url(store, "/traces")).json()["results"]} == {adas, bens}
    # Ada's token without `operate` sees her own.
    narrow = make_client(ada, store, scopes=[Scope.READ])
    assert {t["id"] for t in narrow.get(url(store, "/traces")).json()["results"]} == {adas}
    foreign = make_client(cleo, make_store(cleo))
    for client in (viewer, foreign):
        unknown = client.get(f"/api/v1/traces/{uuid.uuid4()}")
        for tail, method in (("", "get"), ("/replay", "post"), ("/rerun", "post"), ("/why?ref=mem:1", "get")):
            call = getattr(client, method)
            answer = call(f"/api/v1/traces/{adas}{tail}", *([{}] if method == "post" else []), format="json")
            assert answer.status_code == 404
            assert answer.json()["detail"] == unknown.json()["detail"]
        assert client.get(f"/api/v1/traces/compare?a={adas}&b={bens}").status_code == 404


# Append-only, retention.


def test_traces_cannot_be_changed_or_deleted_below_the_services(ask):
    _, trace = ask("walrus")
    for change in (
        lambda rows: rows.update(outcome="answered"),
        lambda rows: rows.update(user=None, reason="x"),
        lambda rows: rows._raw_delete("default"),
    ):
        with pytest.raises(DatabaseError), transaction.atomic():
            change(Trace.objects.filter(pk=trace))
    assert Trace.objects.get(pk=trace).outcome == "empty"


def test_a_person_who_goes_lets_go_of_their_traces(ben, ask, store):
    Membership.objects.create(store=store, user=ben, role=Role.VIEWER)
    _, trace = ask("walrus", client=make_client(ben, store))
    ben.delete()
    kept = Trace.objects.get(pk=trace)
    assert (kept.user_id, kept.token_id) == (None, None)


def test_retention_is_the_stores_or_the_environments(api, ask, store, settings):
    _, trace = ask("walrus")
    later = timezone.now() + timedelta(days=11)
    settings.TRACE_DAYS = 30
    tracing.prune(now=later)
    assert Trace.objects.filter(pk=trace).exists()
    assert api.patch(url(store), {"trace_days": 10}, format="json").json()["trace_days"] == 10
    tracing.prune(now=later)
    assert not Trace.objects.filter(pk=trace).exists()


def test_a_closed_store_takes_its_traces_with_it(api, ask, store, run_jobs):
    _, trace = ask("walrus", session_key="s")
    assert api.delete(url(store)).status_code == 204
    assert api.get(f"/api/v1/traces/{trace}").status_code == 404
    run_jobs(store)
    assert not Trace.objects.filter(pk=trace).exists()


# When no trace can be written.


@pytest.fixture
def locked():
    """The trace table, locked by somebody else for as long as the test runs."""
    other = connection.copy()
    other.inc_thread_sharing()
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = 150")
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("LOCK TABLE mc_trace IN ACCESS EXCLUSIVE MODE")
        yield
    finally:
        other.rollback()
        other.close()
        with connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")


def test_without_its_trace_a_required_answer_is_refused_and_nothing_else_breaks(api, store, say, locked):
    answer = api.post(url(store, "/reconstruct"), {"query": "walrus"}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (503, "audit_unavailable")
    assert answer.json()["items"] == []
    assert "Retry-After" in answer.headers
    assert say("the walrus sleeps") == ["mem:1"]
    assert api.get(url(store, "/records/mem:1")).status_code == 200
    assert api.get(url(store, "/traces")).json()["code"] == "unavailable"
    # A refusal stands without a trace.
    assert api.post(url(store, "/reconstruct"), {"query": 1}, format="json").status_code == 400


def test_an_answer_that_was_refused_for_its_trace_was_heard_by_nobody(ask, store, say, locked):
    say("the walrus sleeps")
    with mock.patch.object(embedding, "embed_query", side_effect=embedding.EmbeddingFailed("away")):
        refused, _ = ask("walrus", session_key="s")
    assert refused["code"] == "audit_unavailable"
    assert not SessionNotice.objects.filter(store=store).exists()


def test_with_best_effort_it_is_served_and_counted(api, store, say, locked):
    say("the walrus sleeps")
    api.patch(url(store), {"audit": "best_effort"}, format="json")
    for _ in range(2):
        answer = api.post(url(store, "/reconstruct"), {"query": "walrus"}, format="json")
        assert answer.status_code == 200
        assert answer.json()["returned_count"] == 1
        assert "Trace-Id" not in answer.headers
    assert LostTraces.objects.get(store=store).count == 2


def test_with_audit_off_nothing_is_written(api, ask, store):
    api.patch(url(store), {"audit": "off"}, format="json")
    body, trace = ask("walrus")
    assert body["returned_count"] == 0
    assert trace is None
    assert not Trace.objects.filter(store=store).exists()


# Notices.


def test_a_session_hears_a_notice_whole_once_and_again_after_it_was_over(ask, say):
    say("the walrus sleeps")
    away = mock.patch.object(embedding, "embed_query", side_effect=embedding.EmbeddingFailed("away"))
    with away:
        first = ask("walrus", session_key="s")[0]["advisory"]
        second = ask("walrus", session_key="s")[0]["advisory"]
        other = ask("walrus", session_key="t")[0]["advisory"]
        nobody = [ask("walrus")[0]["advisory"] for _ in range(2)]
    assert first == other == nobody[0] == nobody[1]
    assert "runbook" in first
    assert second == {k: first[k] for k in ("degraded", "severity", "reason", "advisory_scope")}
    assert "advisory" not in ask("walrus", session_key="s")[0]
    with away:
        assert ask("walrus", session_key="s")[0]["advisory"] == first


def test_a_store_remembers_a_bounded_number_of_sessions(ask, store, monkeypatch):
    from memoryconsole import audit

    monkeypatch.setattr(audit, "MAX_SESSIONS", 3)
    with mock.patch.object(embedding, "embed_query", side_effect=embedding.EmbeddingFailed("away")):
        for n in range(5):
            ask("walrus", session_key=f"s{n}")
        assert SessionNotice.objects.filter(store=store).count() == 3
        # The oldest was forgotten: it hears the notice whole again.
        assert "runbook" in ask("walrus", session_key="s0")[0]["advisory"]
        assert "runbook" not in ask("walrus", session_key="s4")[0]["advisory"]


# Asked again, and compared.


def test_a_rerun_asks_todays_store_and_says_what_came_and_went(api, ask, say, store):
    refs = say("the walrus sleeps at the pier", "a walrus", "a gull")
    _, trace = ask("walrus pier", count=2)
    (new,) = say("walrus pier walrus pier")
    api.delete(url(store, f"/records/{refs[0]}"))
    answer = api.post(f"/api/v1/traces/{trace}/rerun", {}, format="json").json()
    assert new in answer["compared"]["added"]
    assert refs[0] in answer["compared"]["removed"]
    assert 0 <= answer["compared"]["rank_biased_overlap"] < 1
    again = api.get(f"/api/v1/traces/{answer['trace']}").json()
    assert again["rerun_of"] == trace
    assert again["request"] == {"query": "walrus pier", "count": 2}
    reasons = {each["ref"]: each["bound"] for each in answer["why_added"] + answer["why_removed"]}
    assert reasons == {new: "stored_later", refs[0]: "deleted"}


def test_a_rerun_without_a_trace_names_none(api, ask, say, store):
    say("the walrus sleeps")
    _, trace = ask("walrus")
    api.patch(url(store), {"audit": "off"}, format="json")
    answer = api.post(f"/api/v1/traces/{trace}/rerun", {}, format="json").json()
    assert answer["trace"] is None
    assert (answer["compared"]["a"]["id"], answer["compared"]["b"]["id"]) == (trace, None)


def test_settings_for_one_call_need_operate_and_leave_the_store_alone(ada, api, ask, say, store):
    say("walrus one", "walrus two", "walrus three")
    _, trace = ask("walrus")
    body = {"settings": {"default_count": 3}}
    answer = api.post(f"/api/v1/traces/{trace}/rerun", body, format="json").json()
    assert len(answer["compared"]["added"]) == 2
    assert api.get(f"/api/v1/traces/{answer['trace']}").json()["policy"]["call"] == {"default_count": 3}
    assert api.get(url(store)).json()["settings"]["default_count"] is None
    narrow = make_client(ada, store, scopes=[Scope.READ])
    assert narrow.post(f"/api/v1/traces/{trace}/rerun", body, format="json").status_code == 403
    wrong = api.post(f"/api/v1/traces/{trace}/rerun", {"settings": {"default_count": 11}}, format="json")
    assert wrong.status_code == 400


def test_two_traces_are_compared_side_by_side(api, ask, say):
    say("walrus one", "walrus two", "walrus three")
    _, a = ask("walrus", count=2)
    _, b = ask("walrus", count=3)
    compared = api.get(f"/api/v1/traces/compare?a={a}&b={b}").json()
    assert compared["request"] == [{"path": "/count", "then": 2, "now": 3}]
    assert compared["policy"] == []
    assert len(compared["added"]) == 1
    assert compared["removed"] == compared["moved"] == []
    assert compared["jaccard"] == pytest.approx(2 / 3, abs=1e-4)


def test_traces_of_two_stores_are_not_compared(ada, api, ask, store):
    other = make_store(ada)
    client = make_client(ada, store, other)
    _, a = ask("walrus", client=client)
    b = client.post(url(other, "/reconstruct"), {"query": "walrus"}, format="json").headers["Trace-Id"]
    assert client.get(f"/api/v1/traces/compare?a={a}&b={b}").status_code == 400


def test_pruning_is_for_its_transaction_alone(ask):
    _, trace = ask("walrus")
    with pruning():
        pass
    with pytest.raises(DatabaseError), transaction.atomic():
        Trace.objects.filter(pk=trace)._raw_delete("default")


# Reading further leaves a trace too.


def test_get_contents_leaves_a_trace_that_replays(api, replay, say, store):
    one, two = say("the walrus sleeps at the pier", "a gull")
    refs = [one, {"ref": two, "span": [2, 99]}, "mem:99", {"ref": one, "node": 0}, "nonsense"]
    answer = api.post(url(store, "/contents"), {"refs": refs}, format="json")
    assert [item["content"] for item in answer.json()["items"]] == ["the walrus sleeps at the pier", "gull"]
    trace = answer.headers["Trace-Id"]
    kept = api.get(f"/api/v1/traces/{trace}").json()
    assert (kept["operation"], kept["outcome"]) == ("contents", "answered")
    assert "pier" not in json.dumps(kept)
    assert replay(trace) == {"same_core": True, "result": "identical"}
    reasons = {
        ref: api.get(f"/api/v1/traces/{trace}/why?ref={ref}").json()["bound"]
        for ref in (one, "mem:99", "mem:7")
    }
    assert reasons == {one: "served", "mem:99": "missing", "mem:7": "not_asked"}
    api.delete(url(store, f"/records/{two}"))
    assert replay(trace)["reason"] == "forgotten"


def test_a_record_that_is_superseded_later_does_not_change_what_was_served(api, replay, say, store):
    (old,) = say({"content": "the tide table of May", "message_id": "t", "timestamp": "2026-05-01"})
    trace = api.post(url(store, "/contents"), {"refs": [old]}, format="json").headers["Trace-Id"]
    say({"content": "the tide table of June", "message_id": "t", "timestamp": "2026-06-01"})
    later = api.post(url(store, "/contents"), {"refs": [old]}, format="json")
    assert later.json()["items"][0]["superseded_by"] == "mem:2"
    for each in (trace, later.headers["Trace-Id"]):
        assert replay(each)["result"] == "identical"


def test_settings_that_change_nothing_are_refused(api, say, store):
    say("fog on the pier")
    asked = api.post(url(store, "/operations/facts_context"), {"query": "fog"}, format="json")
    trace = asked.headers["Trace-Id"]
    body = {"settings": {"default_count": 3}}
    wrong = api.post(f"/api/v1/traces/{trace}/rerun", body, format="json")
    assert (wrong.status_code, wrong.json()["errors"][0]["pointer"]) == (400, "/settings")
    assert api.post(f"/api/v1/traces/{trace}/rerun", {}, format="json").status_code == 200
