"""The synthesizer that an operator names, against a real HTTP server: every way it may fail, and what it is sent."""

import json
import logging
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.db import connection

from provenance.expand_query.synthesis import Answer, Endpoint, SynthesisFailed, configured, read_answer

KEY = "sk-a-key-that-nobody-may-see"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.path, dict(self.headers), json.loads(body)))
        self.server.behave(self)

    def do_GET(self):
        self.server.asked.append((self.path, dict(self.headers), None))
        self.reply(200, b"{}")

    def reply(self, status, body, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.asked = []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def endpoint(server, **options):
    given = {"timeout_seconds": 5.0, "max_bytes": 10_000, "key": KEY, "model": "m-1"} | options
    return Endpoint(url=f"http://127.0.0.1:{server.server_port}/v1", **given)


def completion(content, **choice):
    return json.dumps(
        {"choices": [{"message": {"role": "assistant", "content": content}, **choice}]}
    ).encode()


def ask(server, **options):
    return endpoint(server, **options).synthesize("Why?", [{"type": "summary", "summary": "Größe"}], 77)


def reason(server, **options):
    with pytest.raises(SynthesisFailed) as failed:
        ask(server, **options)
    assert KEY not in str(failed.value)
    return failed.value.reason


def test_it_is_asked_once_with_the_question_and_the_blocks_as_untrusted_data(server):
    server.behave = lambda call: call.reply(200, completion("  Because.\n", finish_reason="stop"))
    assert ask(server) == Answer("Because.")
    ((path, headers, body),) = server.asked
    assert (path, headers["Authorization"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    assert (body["model"], body["max_tokens"]) == ("m-1", 77)
    system, user = body["messages"]
    assert "data" in system["content"]
    assert user["content"].startswith("Question: Why?")
    assert "untrusted" in user["content"]
    assert '"summary": "Größe"' in user["content"]


def test_without_a_key_none_is_sent(server):
    server.behave = lambda call: call.reply(200, completion("x"))
    ask(server, key="")
    assert "Authorization" not in server.asked[0][1]


def test_an_answer_that_was_cut_says_so(server):
    server.behave = lambda call: call.reply(200, completion("It starts Tue", finish_reason="length"))
    assert ask(server) == Answer("It starts Tue", truncated=True)


@pytest.mark.parametrize("content", ["", " \n\t ", None, "<think>hm</think>", " <think>hm</think>\n "])
def test_a_blank_reply_is_a_failure(server, content):
    server.behave = lambda call: call.reply(200, completion(content))
    assert reason(server) == "blank"


@pytest.mark.parametrize(
    "body",
    [
        b"", b"<html>", b"[]", b"null", b"{}", b'{"choices": null}', b'{"choices": []}', b'{"choices": {}}',
        b'{"choices": [null]}', b'{"choices": [{}]}', b'{"choices": [{"message": null}]}',
        b'{"choices": [{"message": {"content": 7}}]}', b'{"choices": [{"message": {"content": "\\ud800"}}]}',
        b'{"choices": [{"message": {"content": "a\\u0000b"}}]}', b"\xff\xfe", b"[" * 5000,
    ],
)  # fmt: skip
def test_a_malformed_reply_is_a_failure(server, body):
    server.behave = lambda call: call.reply(200, body)
    assert reason(server) == "malformed_response"


@pytest.mark.parametrize("status", [201, 204, 400, 401, 429, 500, 503])
def test_another_status_than_200_is_the_providers_failure(server, status):
    server.behave = lambda call: call.reply(status, b"" if status == 204 else completion("no"))
    assert reason(server) == "provider_error"


def test_a_redirect_is_not_followed(server):
    elsewhere = f"http://127.0.0.1:{server.server_port}/stolen"
    server.behave = lambda call: call.reply(307, b"", Location=elsewhere)
    assert reason(server) == "provider_error"
    assert [path for path, _, _ in server.asked] == ["/v1/chat/completions"]


def test_a_refused_connection_is_the_providers_failure():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    gone = Endpoint(url=f"http://127.0.0.1:{port}", model="m", timeout_seconds=5.0, max_bytes=1000)
    with pytest.raises(SynthesisFailed) as failed:
        gone.synthesize("Why?", [], 10)
    assert failed.value.reason == "provider_error"


def test_a_connection_that_is_dropped_is_the_providers_failure(server):
    server.behave = lambda call: call.connection.shutdown(socket.SHUT_RDWR)
    assert reason(server) == "provider_error"


def test_a_chunk_of_fewer_than_no_octets_is_the_providers_failure(server):
    def behave(call):
        call.send_response(200)
        call.send_header("Transfer-Encoding", "chunked")
        call.end_headers()
        call.wfile.write(b"-5\r\nabc")

    server.behave = behave
    assert reason(server) == "provider_error"


def test_a_reply_longer_than_allowed_is_not_read(server):
    server.behave = lambda call: call.reply(200, completion("x" * 20_000))
    assert reason(server) == "malformed_response"


def test_a_slow_endpoint_ends_at_the_deadline(server):
    release = threading.Event()
    server.behave = lambda call: release.wait(10)
    started = time.monotonic()
    assert reason(server, timeout_seconds=0.3) == "timeout"
    assert time.monotonic() - started < 2
    release.set()


@pytest.mark.parametrize("where", ["headers", "body"])
def test_a_byte_a_second_ends_at_the_deadline_too(server, where):
    """Each read comes in time; all of them together do not."""
    over = threading.Event()

    def drip(call):
        try:
            if where == "body":
                call.send_response(200)
                call.send_header("Content-Length", "1000")
                call.end_headers()
            else:
                call.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
            for _ in range(20):
                call.wfile.write(b"x")
                call.wfile.flush()
                time.sleep(1)
        except OSError:
            over.set()

    server.behave = drip
    started = time.monotonic()
    assert reason(server, timeout_seconds=1.5) == "timeout"
    assert time.monotonic() - started < 3
    # The socket is shut: the server notices.
    assert over.wait(5)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<think>first</think>\nThe pier.", "The pier."),
        ('He said "<think>x</think>" aloud.', 'He said "<think>x</think>" aloud.'),
        ("<think>never ends", "<think>never ends"),
    ],
)
def test_reasoning_is_removed_only_where_it_leads(content, text):
    assert read_answer(completion(content)).text == text


def test_nothing_is_configured_by_default(settings):
    assert configured() is None
    settings.SYNTHESIS = settings.SYNTHESIS | {"url": "https://models.example/v1", "key": KEY}
    made = configured()
    assert made.timeout_seconds == 30
    assert KEY not in repr(made)


@pytest.fixture
def asked(server, settings, api, store, say):
    """Asks expand-query about a session of one record, with the server as its synthesizer."""
    settings.SYNTHESIS = {
        "url": f"http://127.0.0.1:{server.server_port}/v1", "model": "m-1", "key": KEY, "timeout_seconds": 1,
        "max_bytes": 10_000,
    }  # fmt: skip
    say({"content": "The walrus sleeps at pier 2.", "session_id": "s"})

    def ask(**body):
        body = {"session_id": "s", "prompt": "Where?", "query": "walrus"} | body
        return api.post(f"/api/v1/stores/{store.public_id}/expand-query", body, format="json")

    return ask


def test_an_answer_comes_with_what_it_was_given(server, asked, caplog):
    server.behave = lambda call: call.reply(200, completion("At pier 2."))
    with caplog.at_level(logging.DEBUG):
        answer = asked()
    body = answer.json()
    assert (body["answer"], body["model"], body["synthesis"]) == (
        "At pier 2.",
        "m-1",
        {"status": "completed"},
    )
    assert body["evidence_provenance"]["items"][0]["quote"] == "The walrus sleeps at pier 2."
    assert KEY not in answer.content.decode() + caplog.text
    assert "walrus sleeps" not in caplog.text


@pytest.mark.parametrize(
    ("behave", "why"),
    [
        (lambda call: time.sleep(1.5), "timeout"),
        (lambda call: call.reply(200, completion(" ")), "blank"),
        (lambda call: call.reply(200, b"{}"), "malformed_response"),
        (lambda call: call.reply(500, b""), "provider_error"),
    ],
    ids=["timeout", "blank", "malformed_response", "provider_error"],
)
def test_a_failure_keeps_all_that_was_found(server, asked, behave, why):
    server.behave = lambda call: call.reply(200, completion("At pier 2."))
    good = asked().json()
    server.behave = behave
    answer = asked()
    bad = answer.json()
    assert (answer.status_code, bad["degraded"], bad["synthesis"]) == (
        200,
        True,
        {"status": "failed", "reason": why},
    )
    assert "answer" not in bad
    assert ("timeout_seconds" in bad) is (why == "timeout")
    for name in ("node_ids", "matches", "raw_matches", "context_truncated", "context_pagination"):
        assert bad[name] == good[name]
    differ = {
        n
        for n in good["evidence_provenance"]
        if good["evidence_provenance"][n] != bad["evidence_provenance"][n]
    }
    assert differ == {"synthesis_status", "semantic_entailment"}


def test_no_transaction_is_open_while_it_is_asked(server, asked, monkeypatch):
    server.behave = lambda call: call.reply(200, completion("x"))
    open_while = []
    real = Endpoint.synthesize

    def watched(self, *args):
        open_while.append(connection.in_atomic_block)
        return real(self, *args)

    monkeypatch.setattr(Endpoint, "synthesize", watched)
    assert asked().json()["answer"] == "x"
    assert open_while == [False]


def test_what_it_said_is_not_in_the_trace_and_not_replayed(server, asked, api):
    server.behave = lambda call: call.reply(200, completion("A secret of the model."))
    trace = asked().headers["Trace-Id"]
    server.asked.clear()
    told = api.get(f"/api/v1/traces/{trace}")
    assert "secret of the model" not in told.content.decode()
    assert told.json()["told"]["synthesis"]["status"] == "completed"
    replayed = api.post(f"/api/v1/traces/{trace}/replay", {}, format="json").json()
    assert replayed == {"same_core": True, "result": "identical"}
    assert server.asked == []
