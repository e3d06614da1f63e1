"""One view, nothing written, never nested."""

import threading

import pytest
from django.db import InternalError, connection, transaction
from django.utils import timezone

from memoryconsole.models import Store
from memoryconsole.snapshot import NestedSnapshotError, snapshot


def test_nothing_can_be_written_inside(store):
    with pytest.raises(InternalError, match="read-only"), snapshot():
        Store.objects.filter(pk=store.pk).update(name="changed")


def test_it_does_not_nest():
    with transaction.atomic(), pytest.raises(NestedSnapshotError), snapshot():
        pass
    with snapshot(), pytest.raises(NestedSnapshotError), snapshot():
        pass


def test_what_others_commit_meanwhile_is_not_seen(store):
    def rename():
        Store.objects.filter(pk=store.pk).update(name="changed")
        connection.close()

    with snapshot():
        before = Store.objects.get(pk=store.pk).name
        other = threading.Thread(target=rename)
        other.start()
        other.join()
        assert Store.objects.get(pk=store.pk).name == before
    assert Store.objects.get(pk=store.pk).name == "changed"


def test_its_instant_is_the_databases_now():
    before = timezone.now()
    with snapshot() as instant:
        assert instant.utcoffset() is not None
        assert abs((instant - before).total_seconds()) < 60
