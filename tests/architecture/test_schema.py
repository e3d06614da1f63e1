"""Rules that live in the database: every key starts with the store, every foreign key does what its model says."""

from django.apps import apps
from django.core.management import call_command
from django.db import connection, models

# Tables of the whole installation. A store's own address and what a person signs in with cannot start with a store.
GLOBAL_UNIQUES = {
    ("mc_store", "public_id"),
    ("mc_user", "username"),
    ("mc_token", "digest"),
    ("mc_sign_in_failure", "key"),
}
OF_DJANGO = {"mc_user_groups", "mc_user_user_permissions"}


def rows(statement: str) -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall()


UNIQUE_COLUMNS = """
    SELECT t.relname, array_agg(a.attname ORDER BY k.place)
    FROM pg_index i
    JOIN pg_class t ON t.oid = i.indrelid
    JOIN pg_namespace n ON n.oid = t.relnamespace AND n.nspname = current_schema()
    CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, place)
    JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.attnum
    WHERE i.indisunique AND NOT i.indisprimary AND t.relname LIKE 'mc\\_%'
    GROUP BY i.indexrelid, t.relname
"""


def test_every_unique_key_starts_with_the_store():
    keys = [(table, columns) for table, columns in rows(UNIQUE_COLUMNS) if table not in OF_DJANGO]
    assert keys
    offending = [
        (table, columns)
        for table, columns in keys
        if columns[0] != "store_id" and (table, columns[0]) not in GLOBAL_UNIQUES
    ]
    assert offending == []


def test_every_row_that_belongs_to_a_store_says_so():
    without = {
        model._meta.db_table
        for model in apps.get_app_config("memoryconsole").get_models()
        if "store" not in {field.name for field in model._meta.local_fields}
    }
    assert without == {"mc_store", "mc_user", "mc_token", "mc_sign_in_failure"}


FOREIGN_KEYS = """
    SELECT t.relname, a.attname, c.confdeltype::text
    FROM pg_constraint c
    JOIN pg_class t ON t.oid = c.conrelid
    JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = c.conkey[1]
    WHERE c.contype = 'f'
"""


def test_foreign_keys_cascade_in_the_database_as_in_the_models():
    actions = {(table, column): action for table, column, action in rows(FOREIGN_KEYS)}
    expected = {models.CASCADE: "c", models.SET_NULL: "n"}
    for model in apps.get_app_config("memoryconsole").get_models():
        for field in model._meta.local_fields:
            if field.remote_field is not None:
                key = (model._meta.db_table, field.column)
                assert actions[key] == expected[field.remote_field.on_delete], key


def test_the_migrations_are_what_the_models_say():
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)
