"""Cascades in the database itself.

Django 5.2 keeps `on_delete` in Python, where a row removed below the ORM (a bulk erase, an operator's SQL) would be
refused or leave orphans. Migrations call `write_on_delete` after they create tables, so that PostgreSQL enforces what
the models say; a test compares every foreign key with its model. Keys that are already as declared are left alone: to
write one again reads its whole table.
"""

from typing import Any

from django.db import models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

_ACTIONS = {models.CASCADE: "CASCADE", models.SET_NULL: "SET NULL"}
# As pg_constraint writes them.
_LETTERS = {"CASCADE": "c", "SET NULL": "n"}


def write_on_delete(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Give every foreign key of this project's tables the ON DELETE its field declares (`RunPython`)."""
    for model in apps.get_app_config("memoryconsole").get_models():
        for field in model._meta.local_fields:
            if field.remote_field is not None and field.remote_field.on_delete in _ACTIONS:
                _write(schema_editor, field, _ACTIONS[field.remote_field.on_delete])


def _write(schema_editor: BaseDatabaseSchemaEditor, field: Any, action: str) -> None:
    connection = schema_editor.connection
    table, column = field.model._meta.db_table, field.column
    target = field.remote_field.model._meta
    with connection.cursor() as cursor:
        constraints = connection.introspection.get_constraints(cursor, table)
        cursor.execute("SELECT conname FROM pg_constraint WHERE contype = 'f' AND conrelid = %s::regclass"
                       " AND confdeltype = %s", [table, _LETTERS[action]])  # fmt: skip
        fitting = {name for (name,) in cursor.fetchall()}
    quote = connection.ops.quote_name
    for name, constraint in constraints.items():
        if constraint["foreign_key"] and constraint["columns"] == [column] and name not in fitting:
            schema_editor.execute(
                f"ALTER TABLE {quote(table)} DROP CONSTRAINT {quote(name)},"
                f" ADD CONSTRAINT {quote(name)} FOREIGN KEY ({quote(column)})"
                f" REFERENCES {quote(target.db_table)} ({quote(target.pk.column)})"
                f" ON DELETE {action} DEFERRABLE INITIALLY DEFERRED"
            )
