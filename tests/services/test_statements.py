"""Statements whose plans stay with a connection: what is sent, what comes back, who counts it."""

import uuid
from datetime import UTC, datetime

import pytest
from django.db import ProgrammingError, connection
from django.test.utils import CaptureQueriesContext

from memoryconsole.statements import all_rows

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
NAMED = uuid.UUID("5f0c1d2e-3a4b-4c5d-8e6f-708192a3b4c5")


def planned(marker):
    """(how often a prepared statement ran with the plan that stays, how often with one of its own)."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE statement LIKE %s",
            [f"%{marker}%"],
        )
        return cursor.fetchall()


@pytest.mark.django_db(transaction=True)
def test_a_statement_is_planned_once_whatever_its_values_are():
    for number in (1, 70_000, 2**40):
        assert all_rows("SELECT %(number)s + 1 AS planned_once", {"number": number}) == [(number + 1,)]
    assert planned("planned_once") == [(3, 0)]


@pytest.mark.django_db(transaction=True)
def test_where_plans_may_not_be_kept_none_is():
    connection.ensure_connection()
    kept = connection.connection.prepare_threshold
    connection.connection.prepare_threshold = None
    try:
        assert all_rows("SELECT %(number)s + 1 AS not_kept", {"number": 1}) == [(2,)]
        assert planned("not_kept") == []
    finally:
        connection.connection.prepare_threshold = kept


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("bigint", 2**40),
        ("bigint", None),
        ("bigint[]", [1, 2**40, -3]),
        ("bigint[]", []),
        ("text[]", ["a,b", '"', "{}", "100 %", ""]),
        ("uuid[]", [NAMED]),
        ("timestamptz", NOW),
        ("boolean", True),
        ("bytea", b"\x00\xff%s"),
        ("text", "50 % of 'it'"),
    ],
)
def test_a_value_comes_back_as_it_was_sent(store, kind, value):
    ((read,),) = all_rows(f"SELECT %(value)s::{kind}", {"value": value})
    assert read == value
    assert type(read) is type(value)


def test_an_array_of_numbers_is_one_where_its_place_says_so(store):
    rows = all_rows("SELECT id FROM mc_store WHERE id = ANY(%(keys)s)", {"keys": [store.pk, -1]})
    assert rows == [(store.pk,)]
    assert all_rows("SELECT id FROM mc_store WHERE id = ANY(%(keys)s)", {"keys": []}) == []


def test_it_is_counted_as_any_query_is(store):
    with CaptureQueriesContext(connection) as captured:
        all_rows("SELECT %(number)s AS counted", {"number": 1})
    (query,) = captured.captured_queries
    assert "AS counted" in query["sql"]


def test_a_fault_is_djangos(store):
    with pytest.raises(ProgrammingError):
        all_rows("SELECT * FROM there_is_no_such_table", {})
