"""Statements whose plans stay with a connection: what is sent, what comes back, who counts it."""

import uuid
from datetime import UTC, datetime

import psycopg
import pytest
from django.db import OperationalError, ProgrammingError, connection
from django.test.utils import CaptureQueriesContext

from memoryconsole.errors import NotFound
from memoryconsole.models import Token, User
from memoryconsole.snapshot import snapshot
from memoryconsole.statements import Given, all_rows, compiled, instances, one_row

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


def test_a_search_is_planned_for_its_values():
    # A plan for no values in particular would divide by zero: it is made before there are any.
    assert one_row("SELECT CASE WHEN %s::boolean THEN 1 ELSE 1 / 0 END, %s::bytea", [True, b"\xff"]) == (
        1,
        b"\xff",
    )


def test_another_number_of_rows_is_a_fault():
    with pytest.raises(ValueError, match="unpack"):
        one_row("SELECT 1 WHERE %s", [False])


def test_a_column_of_another_type_costs_one_answer(store):
    name = f"changed_{uuid.uuid4().hex}"
    address = {
        "dbname": connection.settings_dict["NAME"],
        **{
            ours: connection.settings_dict[theirs]
            for ours, theirs in (
                ("user", "USER"),
                ("password", "PASSWORD"),
                ("host", "HOST"),
                ("port", "PORT"),
            )
            if connection.settings_dict[theirs]
        },
    }
    with psycopg.connect(**address, autocommit=True) as other:
        other.execute(f"CREATE TABLE {name} AS SELECT 1 AS value")
        try:
            assert all_rows(f"SELECT value FROM {name}", {}) == [(1,)]
            other.execute(f"ALTER TABLE {name} ALTER value TYPE text")
            with pytest.raises(OperationalError):
                all_rows(f"SELECT value FROM {name}", {})
            assert all_rows(f"SELECT value FROM {name}", {}) == [("1",)]
        finally:
            other.execute(f"DROP TABLE {name}")


def test_a_refusal_in_a_snapshot_leaves_the_plans(store):
    with snapshot():
        all_rows("SELECT %(number)s AS left_standing", {"number": 1})
    with pytest.raises(NotFound), snapshot():
        raise NotFound("no such thing")
    assert planned("left_standing") == [(1, 0)]
    with pytest.raises(ZeroDivisionError), snapshot():
        raise ZeroDivisionError
    assert planned("left_standing") == []


def test_instances_are_those_of_the_queryset(store, ada):
    token, _ = Token.issue(user=ada, now=NOW, name="probe", scopes=["read", "write"], expires_at=NOW)
    by_orm = Token.objects.select_related("user").get(pk=token.pk)
    statement = compiled(Token.objects.select_related("user").filter(digest=Given("digest")))
    ((found, user),) = instances(statement, (Token, User), {"digest": bytes(token.digest)})
    for read, expected in ((found, by_orm), (user, by_orm.user)):
        for field in expected._meta.concrete_fields:
            one, other = getattr(read, field.attname), getattr(expected, field.attname)
            assert (bytes(one) if isinstance(other, memoryview) else one) == other, field.name
            assert isinstance(one, type(other)) or isinstance(other, memoryview), field.name
        assert not read._state.adding
    assert instances(statement, (Token, User), {"digest": b"none"}) == []
    with pytest.raises(ValueError, match="columns"):
        instances(statement, (Token,), {"digest": bytes(token.digest)})


def test_a_compiled_queryset_holds_no_value_of_one_call(store):
    with pytest.raises(ValueError, match="values of one call"):
        compiled(Token.objects.filter(digest=b"x"))
