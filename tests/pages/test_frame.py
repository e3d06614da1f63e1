"""The console's frame: signing in and out, and errors that a person can read."""

import pytest
from django.test import Client


def test_the_first_page_asks_who_you_are():
    answer = Client().get("/")
    assert answer.status_code == 302
    assert answer["Location"].startswith("/sign-in")


def test_signing_in_shows_my_stores_and_only_mine(ada, cleo, store):
    client = Client()
    page = client.post("/sign-in", {"username": ada.username, "password": "correct horse"}, follow=True)
    assert page.status_code == 200
    assert store.public_id in page.content.decode()
    client = Client()
    client.force_login(cleo)
    assert store.public_id not in client.get("/").content.decode()


def test_a_wrong_password_is_said_and_signs_nobody_in(ada):
    client = Client()
    page = client.post("/sign-in", {"username": ada.username, "password": "wrong"})
    assert page.status_code == 200
    assert 'role="alert"' in page.content.decode()
    assert client.get("/").status_code == 302


def test_signing_out_needs_a_post_and_ends_the_session(ada):
    client = Client()
    client.force_login(ada)
    assert client.get("/sign-out").status_code == 405
    client.post("/sign-out")
    assert client.get("/").status_code == 302


def test_forms_need_the_csrf_token(ada):
    client = Client(enforce_csrf_checks=True)
    assert client.post("/sign-in", {"username": ada.username, "password": "correct horse"}).status_code == 403


@pytest.mark.parametrize(
    "target", ["https://elsewhere.example/", "//elsewhere.example", "javascript:alert(1)"]
)
def test_signing_in_never_leads_elsewhere(ada, target):
    answer = Client().post(
        "/sign-in", {"username": ada.username, "password": "correct horse", "next": target}
    )
    assert answer["Location"] == "/"


def test_pages_forbid_foreign_and_inline_script():
    policy = Client().get("/sign-in")["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy


def test_names_are_inert(ada):
    from tests.conftest import make_store

    make_store(ada, "<script>alert(1)</script>{{7*7}}")
    client = Client()
    client.force_login(ada)
    page = client.get("/").content.decode()
    assert "<script>alert" not in page
    assert "{{7*7}}" in page


def test_a_missing_page_is_a_page(ada):
    answer = Client().get("/nowhere")
    assert answer.status_code == 404
    assert answer["Content-Type"].startswith("text/html")
    assert answer["X-Request-Id"] in answer.content.decode()


def test_health(settings):
    assert Client().get("/healthz").status_code == 200
    settings.JOBS_INLINE = True
    ready = Client().get("/readyz")
    assert (ready.status_code, ready.json()) == (200, {"database": "ok", "broker": "ok", "migrations": "ok"})
    settings.JOBS_INLINE = False
    settings.CELERY_BROKER_URL = "redis+socket:///nowhere/at/all.sock"
    ready = Client().get("/readyz")
    assert (ready.status_code, ready.json()["broker"]) == (503, "unreachable")


def test_a_broker_that_accepts_and_never_answers_does_not_hold_the_probe(settings, tmp_path):
    import socket
    import time

    path = tmp_path / "b.sock"
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(path))
        silent.listen(8)
        settings.JOBS_INLINE = False
        settings.CELERY_BROKER_URL = f"redis+socket://{path}"
        began = time.monotonic()
        ready = Client().get("/readyz")
    assert (ready.status_code, ready.json()["broker"]) == (503, "unreachable")
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("known", [True, False])
def test_a_name_is_tried_ten_times_from_one_address_and_then_waits(ada, known, monkeypatch):
    """Known and unknown names alike, without a password being hashed; another address is not held back."""
    from datetime import timedelta

    from memoryconsole import sign_in
    from memoryconsole.models import SignInFailure

    name = ada.username if known else f"nobody-{ada.username}"
    client = Client()
    for _ in range(sign_in.MAX_FAILURES):
        assert client.post("/sign-in", {"username": name, "password": "wrong"}).status_code == 200
    refused = client.post("/sign-in", {"username": name.upper(), "password": "correct horse"})
    assert refused.status_code == 429
    assert 0 < int(refused["Retry-After"]) <= sign_in.WINDOW.total_seconds()
    elsewhere = client.post(
        "/sign-in", {"username": name, "password": "correct horse"}, REMOTE_ADDR="192.0.2.7"
    )
    assert elsewhere.status_code == (302 if known else 200)
    # After the window it may be tried again.
    for row in SignInFailure.objects.all():
        SignInFailure.objects.filter(pk=row.pk).update(since=row.since - timedelta(minutes=16))
    again = Client().post("/sign-in", {"username": name, "password": "correct horse"})
    assert again.status_code == (302 if known else 200)


def test_signing_in_forgets_earlier_mistakes(ada):
    for _ in range(3):
        client = Client()
        for _ in range(9):
            client.post("/sign-in", {"username": ada.username, "password": "wrong"})
        answer = client.post("/sign-in", {"username": ada.username, "password": "correct horse"})
        assert answer.status_code == 302
