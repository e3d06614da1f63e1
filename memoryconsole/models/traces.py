"""What every contract call left behind: one trace, by refs, digests, spans and numbers, never by stored text."""

import json
import uuid
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import connection, models, transaction
from django.db.models import Q

from memoryconsole.jsons import write
from memoryconsole.refs import is_named, name_key, split_name, split_ref
from memoryconsole.statements import all_rows

MAX_LABELS = 8


class Outcome(models.TextChoices):
    """How a call ended. `reason` says why: the contract's shortfall reason, or the error's code."""

    ANSWERED = "answered"
    EMPTY = "empty"
    REFUSED = "refused"


if TYPE_CHECKING:
    AnyField = models.Field[Any, Any]
else:
    # Generic to the type checker alone.
    AnyField = models.Field


class PackedJSON(AnyField):
    """A JSON value as compressed bytes: every number and the order of members as they were written.

    For what is read whole and never searched. A trace so takes a quarter of the room, and its write half a
    millisecond less than PostgreSQL's own compression (measured on answers of ten items out of fifty candidates).
    """

    def get_internal_type(self) -> str:
        return "BinaryField"

    def from_db_value(self, value: Any, _expression: Any, _connection: Any) -> Any:
        return None if value is None else json.loads(zlib.decompress(value))

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        # The quickest level: the next ones gain a few percent of size for twice the time.
        return connection.Database.Binary(zlib.compress(write(value), 1))


class Trace(models.Model):
    """One call of a read contract. Append-only (a trigger), pruned by retention.

    `request`: the body as it was sent. `policy`: the settings in force and whose they were. `seen`: what the answer
    was made of; `told`: what was decided; both as the operation's own floor writes them. `stages`: [name,
    microseconds], in order, their sum being `duration_us`. `digest`: of the answer without its notices. `quoted`: the
    rows in the answer, as `ref_key` writes them. `core`: which version of the pure core decided.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    store = models.ForeignKey(
        "memoryconsole.Store", on_delete=models.CASCADE, related_name="traces", db_index=False
    )
    operation = models.TextField()
    outcome = models.TextField(choices=Outcome.choices)
    reason = models.TextField(default="")
    degraded = models.BooleanField(default=False)
    asked_at = models.DateTimeField()
    user = models.ForeignKey("memoryconsole.User", on_delete=models.SET_NULL, null=True, related_name="+")
    token = models.ForeignKey("memoryconsole.Token", on_delete=models.SET_NULL, null=True, related_name="+")
    request_id = models.TextField()
    agent_run = models.TextField(default="")
    traceparent = models.TextField(default="")
    labels = ArrayField(models.TextField(), default=list)
    rerun_of = models.UUIDField(null=True)
    core = models.TextField()
    request = models.JSONField()
    policy = models.JSONField(default=dict)
    seen = PackedJSON(default=dict)
    told = PackedJSON(default=dict)
    notices = models.JSONField(default=dict)
    stages = models.JSONField(default=list)
    duration_us = models.BigIntegerField()
    digest = models.BinaryField(max_length=32)
    quoted = ArrayField(models.BigIntegerField(), default=list)

    class Meta:
        db_table = "mc_trace"
        constraints = [
            models.CheckConstraint(condition=Q(outcome__in=Outcome.values), name="trace_outcome_known"),
            models.CheckConstraint(
                condition=Q(labels__len__lte=MAX_LABELS) | Q(labels__len=None), name="trace_labels_few"
            ),
        ]
        indexes = [
            models.Index(fields=["store", "asked_at", "id"], name="trace_newest"),
            # Which traces quoted a row. With its pending list: traces are written far more often than asked for.
            GinIndex(fields=["store", "quoted"], name="trace_quoted"),
        ]

    def insert(self) -> None:
        """Write this new row, in one statement that is its own transaction: every answer waits for it."""
        fields = self._meta.concrete_fields
        all_rows(
            _insert_statement(),
            {field.attname: _prepared(field, getattr(self, field.attname)) for field in fields},
        )


def _prepared(field: AnyField, value: Any) -> Any:
    if field.attname == "quoted":
        # As PostgreSQL writes an array: prepared one by one, a thousand numbers take five milliseconds.
        return f"{{{','.join(map(str, value))}}}"
    return field.get_db_prep_save(value, connection)


@cache
def _insert_statement() -> str:
    fields = Trace._meta.concrete_fields
    names = ", ".join(f'"{field.column}"' for field in fields)
    places = ", ".join(f"%({field.attname})s" for field in fields)
    # What keeps its plan is read, so that something must come back.
    return f"INSERT INTO mc_trace ({names}) VALUES ({places}) RETURNING id"  # noqa: S608  (columns of the model)


def row_key(kind: str, number: int) -> int:
    """A row's ref as one number, as `Trace.quoted` holds it: even for records, odd for summaries."""
    return number * 2 + (kind == "ep")


def ref_key(ref: str) -> int:
    """The same of any ref: below 0 for what is known by its UUID."""
    return name_key(*split_name(ref)) if is_named(ref) else row_key(*split_ref(ref))


class LostTraces(models.Model):
    """How many answers of a store left no trace although they should have (`audit` is `best_effort`)."""

    store = models.OneToOneField(
        "memoryconsole.Store", on_delete=models.CASCADE, primary_key=True, related_name="lost_traces"
    )
    count = models.BigIntegerField(default=0)
    last_at = models.DateTimeField()

    class Meta:
        db_table = "mc_lost_traces"


class SessionNotice(models.Model):
    """A notice that a caller's session has heard. `session` is the digest of (actor, session key)."""

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE, db_index=False)
    session = models.BinaryField(max_length=16)
    heard = ArrayField(models.TextField(), default=list)
    at = models.DateTimeField()

    class Meta:
        db_table = "mc_session_notice"
        constraints = [models.UniqueConstraint(fields=["store", "session"], name="session_notice_once")]
        indexes = [models.Index(fields=["store", "at"], name="session_notice_oldest")]


@contextmanager
def pruning() -> Iterator[None]:
    """A transaction in which traces may be deleted: by retention, and with their store."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('memoryconsole.pruning', 'on', true)")
        yield
