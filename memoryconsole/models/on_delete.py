"""Cascades in the database itself.

Django 5.2 keeps `on_delete` in Python, where a row removed below the ORM (a bulk erase, an operator's SQL) would be
refused or leave orphans. Migrations call `write_on_delete` after they create tables, so that PostgreSQL enforces what
the models say; a test compares every foreign key with its model.
"""

from typing import Any

from django.db import models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

_ACTIONS = {models.CASCADE: "CASCADE", models.SET_NULL: "SET NULL"}


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
    quote = connection.ops.quote_name
    for name, constraint in constraints.items():
        if constraint["foreign_key"] and constraint["columns"] == [column]:
            schema_editor.execute(
                f"ALTER TABLE {quote(table)} DROP CONSTRAINT {quote(name)},"
                f" ADD CONSTRAINT {quote(name)} FOREIGN KEY ({quote(column)})"
                f" REFERENCES {quote(target.db_table)} ({quote(target.pk.column)})"
                f" ON DELETE {action} DEFERRABLE INITIALLY DEFERRED"
            )
