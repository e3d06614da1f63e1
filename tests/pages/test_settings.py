"""Settings: what is in force, whose it is, and the audit policy."""

import re

import pytest

from memoryconsole.models import Role, Store


def row(page, name):
    """The cells of a setting's row, as text."""
    found = re.search(rf'<span class="ref">{name}</span>(.*?)</tr>', page, re.S)[1]
    return " ".join(re.sub(r"<[^>]+>", " ", found).split())


def change(api, store, **settings):
    answer = api.patch(f"/api/v1/stores/{store.public_id}", {"settings": settings}, format="json")
    assert answer.status_code == 200


def test_each_value_says_whose_it_is(console, at, api, store, ada):
    change(api, store, top_k=7, max_hops=3)
    change(api, store, max_hops=4)
    change(api, store, max_hops=None)
    page = console.get(at("settings")).content.decode()
    assert f"7 this store's , set by {ada.username}" in row(page, "top_k")
    assert "the installation's is 20" in row(page, "top_k")
    assert row(page, "max_hops").endswith("2 the installation's")
    assert "not set the installation's" in row(page, "forced_count")


def test_who_set_a_value_is_who_gave_it_not_who_changed_another(ada, ben, store):
    from datetime import UTC, datetime

    from memoryconsole.models import StoreSettings
    from memoryconsole.pages.settings import policies

    def saved(version, by, **fields):
        at = datetime(2026, 1, version, tzinfo=UTC)
        return StoreSettings(store=store, version=version, changed_at=at, changed_by=by, **fields)

    history = [
        saved(4, ben, top_k=7, max_hops=1),
        saved(3, ada, top_k=7),
        saved(2, ben, top_k=9),
        saved(1, ada),
    ]
    found = {policy.name: policy for policy in policies(history)}
    assert (found["top_k"].set_by, found["top_k"].set_at.day) == (ada.username, 3)
    assert (found["max_hops"].set_by, found["max_hops"].set_at.day) == (ben.username, 4)
    assert found["max_count"].set_at is None
    assert policies([])[0].value == 1


def test_an_override_above_a_lowered_ceiling_is_shown_as_what_stops_the_store(
    console, at, api, store, settings
):
    change(api, store, default_budget=9000)
    settings.RECONSTRUCT = settings.RECONSTRUCT | {"max_budget": 5000}
    page = console.get(at("settings")).content.decode()
    assert 'role="alert"' in page
    assert "503" in page


def test_the_audit_policy_and_its_days_are_changed(console, at, store):
    version = store.version
    sent = {"audit": "best_effort", "trace_days": "14", "version": str(version)}
    answer = console.post(at("settings"), sent, follow=True)
    assert "are changed" in answer.content.decode()
    changed = Store.objects.get(pk=store.pk)
    assert (changed.audit, changed.trace_days, changed.version) == ("best_effort", 14, version + 1)
    console.post(at("settings"), {"audit": "off", "trace_days": "", "version": str(version + 1)})
    changed.refresh_from_db()
    assert (changed.audit, changed.trace_days) == ("off", None)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"audit": "loudly", "version": "1"}, 400),
        ({"audit": "off", "trace_days": "0", "version": "1"}, 400),
        ({"audit": "off", "trace_days": "many", "version": "1"}, 400),
        ({"audit": "off", "trace_days": "-3", "version": "1"}, 400),
        ({"audit": "off"}, 400),
        ({"audit": "off", "version": "9"}, 412),
    ],
)
def test_a_change_that_cannot_be_made_changes_nothing_and_says_why(console, at, store, sent, status):
    answer = console.post(at("settings"), sent)
    assert answer.status_code == status
    page = answer.content.decode()
    assert 'role="alert"' in page
    assert Store.objects.get(pk=store.pk).audit == store.audit
    if "trace_days" in sent:
        assert f'value="{sent["trace_days"]}"' in page


def test_a_viewer_reads_the_audit_policy(at, store, ben, join, sign_in):
    page = sign_in(join(ben, Role.VIEWER)).get(at("settings")).content.decode()
    assert "Every answer leaves a trace" in page
    assert "Traces are kept for 90 days" in page
