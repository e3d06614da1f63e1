"""Forms too large are refused before anything reads them, and forms without their token in words a person can use."""

from io import BytesIO

import pytest
from django.test import Client

MULTIPART = "multipart/form-data; boundary=x"


class Unread(BytesIO):
    def read(self, *_):
        raise AssertionError("the body was read")


def send(client, address, length, media=MULTIPART):
    """A POST that announces a length and whose body must not be touched."""
    client.cookies["csrftoken"] = "x" * 32  # without a cookie the check ends before it looks for the token
    announced = {"CONTENT_TYPE": media, "CONTENT_LENGTH": str(length), "wsgi.input": Unread()}
    return client.generic("POST", address, b"", **announced)


@pytest.mark.parametrize("media", [MULTIPART, "application/x-www-form-urlencoded"])
def test_a_form_too_large_is_refused_unread_whoever_sends_it(media, settings):
    answer = send(Client(enforce_csrf_checks=True), "/sign-in", settings.MAX_BODY_BYTES + 1, media)
    assert answer.status_code == 413
    assert "body_too_large" in answer.content.decode()
    assert "<html" in answer.content.decode()


def test_a_form_of_the_size_allowed_is_read(settings):
    with pytest.raises(AssertionError, match="was read"):
        send(Client(enforce_csrf_checks=True), "/sign-in", settings.MAX_BODY_BYTES)


def test_under_the_api_the_refusal_is_a_problem(ada, store, settings, sign_in):
    address = f"/api/v1/stores/{store.public_id}/records"
    answer = send(sign_in(ada, enforce_csrf_checks=True), address, settings.MAX_BODY_BYTES + 1)
    assert answer.status_code == 413
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["code"] == "body_too_large"


@pytest.mark.parametrize("address", ["/stores/{}/jobs/import", "/api/v1/stores/{}/imports"])
def test_where_files_are_taken_another_limit_applies(address, ada, store, settings, sign_in):
    assert settings.MAX_IMPORT_BYTES > settings.MAX_BODY_BYTES
    client = sign_in(ada, enforce_csrf_checks=True)
    with pytest.raises(AssertionError, match="was read"):
        send(client, address.format(store.public_id), settings.MAX_BODY_BYTES + 1)
    assert send(client, address.format(store.public_id), settings.MAX_IMPORT_BYTES * 2).status_code == 413


def test_a_form_without_its_token_is_told_what_to_do(ada, at, sign_in):
    answer = sign_in(ada, enforce_csrf_checks=True).post(at("jobs/export"))
    page = answer.content.decode()
    assert answer.status_code == 403
    assert "This form could not be taken" in page
    assert "Open it anew and send it again" in page
    assert 'id="main"' in page


def test_a_part_of_a_page_without_its_token_shows_the_refusal_in_the_pages_place(ada, at, sign_in):
    answer = sign_in(ada, enforce_csrf_checks=True).post(at("jobs/export"), headers={"HX-Request": "true"})
    assert (answer.status_code, answer["HX-Retarget"]) == (403, "#main")
