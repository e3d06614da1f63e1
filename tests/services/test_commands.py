"""The commands an operator gives an account its access with."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from rest_framework.test import APIClient

from memoryconsole.models import Membership, Token


def run(*arguments):
    out, err = StringIO(), StringIO()
    call_command(*arguments, stdout=out, stderr=err)
    return out.getvalue().strip(), err.getvalue()


def test_a_member_and_their_token_reach_the_store_and_no_further(store, ben):
    run("member", ben.username, store.public_id, "viewer")
    text, _ = run("token", ben.username, "--store", store.public_id, "--scope", "read", "--scope", "write")
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")
    url = f"/api/v1/stores/{store.public_id}"
    assert client.get(url).status_code == 200
    assert client.post(f"{url}/records", {"records": [{"content": "x"}]}, format="json").status_code == 403
    run("member", ben.username, store.public_id, "operator")
    assert client.post(f"{url}/records", {"records": [{"content": "x"}]}, format="json").status_code == 201
    run("member", ben.username, store.public_id, "none")
    assert client.get(url).status_code == 404
    assert not Membership.objects.filter(user=ben).exists()


def test_a_token_for_a_store_one_is_no_member_of_is_refused(store, ben):
    with pytest.raises(CommandError, match="no member"):
        run("token", ben.username, "--store", store.public_id)
    assert not Token.objects.filter(user=ben).exists()


def test_a_token_that_reaches_nothing_says_so(ben):
    _, said = run("token", ben.username)
    assert "reaches no store" in said


@pytest.mark.parametrize("days", ["0", "-5", "ten", "99999"])
def test_a_token_lives_for_a_while(ben, days):
    with pytest.raises(CommandError, match="1 to 36500"):
        run("token", ben.username, f"--days={days}")


def test_an_unknown_store_is_said(ben):
    for arguments in (
        ("member", ben.username, "none-22222222", "viewer"),
        ("token", ben.username, "--store", "none"),
    ):
        with pytest.raises(CommandError, match="no store"):
            run(*arguments)
