"""Records: what was said, stored exactly as given, and the sessions they belong to."""

from typing import Any

from django.db import models
from django.db.models import F, Func, OuterRef, Q, Subquery
from pgvector.django import HalfVectorField

# Nothing longer is stored, nothing is trimmed.
MAX_TEXT_CHARS = 200_000


def storable(text: str) -> bool:
    """Whether PostgreSQL can hold the text: no NUL, no lone surrogate."""
    return "\0" not in text and not any("\ud800" <= char <= "\udfff" for char in text)


def char_length(field: str) -> Func:
    return Func(F(field), function="char_length", output_field=models.IntegerField())


class Session(models.Model):
    """One conversation, named by its caller. Key: (store, session id)."""

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE)
    session_id = models.TextField()
    created_at = models.DateTimeField()

    class Meta:
        db_table = "mc_session"
        constraints = [models.UniqueConstraint(fields=["store", "session_id"], name="session_id_once")]


class RecordQuerySet(models.QuerySet["Record"]):
    def live(self) -> "RecordQuerySet":
        return self.filter(deleted_at=None)

    def latest_versions(self, store: Any, keys: set[tuple[str, str]]) -> "dict[tuple[str, str], Record]":
        """The newest live row of each (project, message id) asked for, in one query, with its payload's digest."""
        rows = (
            self.live()
            .filter(
                store=store,
                project_id__in={project_id for project_id, _ in keys},
                message_id__in={message_id for _, message_id in keys},
            )
            .order_by("project_id", "message_id", "-number")
            .distinct("project_id", "message_id")
            .annotate(payload_digest=F("payload__digest"))
            .only("number", "project_id", "message_id", "digest")
        )
        return {(row.project_id, row.message_id): row for row in rows}

    def with_successors(self) -> "list[tuple[Record, int | None]]":
        """The rows, each with the number of the next version of its message in time: the earliest one with a later
        readable instant, in whatever channel; None where there is none (one statement).
        """
        later = (
            Record.objects.live()
            .filter(
                store=OuterRef("store"),
                project_id=OuterRef("project_id"),
                message_id=OuterRef("message_id"),
                instant__gt=OuterRef("instant"),
            )
            .exclude(message_id="")
            .order_by("instant", "number")
            .values("number")[:1]
        )
        rows: Any = self.annotate(successor=Subquery(later))
        return [(row, row.successor) for row in rows]


class Record(models.Model):
    """One stored text. Its number in the store is `mem:<number>`.

    `timestamp` is the caller's text; `instant` is what it means (None: unknown time). `content` never changes over
    the API: a changed text under the same (project, message id) is a new row.
    """

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE)
    number = models.BigIntegerField()
    uuid = models.UUIDField()
    project_id = models.TextField(default="")
    channel = models.TextField(default="")
    session = models.ForeignKey(Session, on_delete=models.SET_NULL, null=True)
    message_id = models.TextField(default="")
    source_type = models.TextField(default="")
    source_id = models.TextField(default="")
    source_name = models.TextField(default="")
    role = models.TextField(default="")
    timestamp = models.TextField(default="")
    instant = models.DateTimeField(null=True)
    content = models.TextField()
    digest = models.BinaryField(max_length=32)
    tool_call_id = models.TextField(default="")
    tool_name = models.TextField(default="")
    tool_calls = models.JSONField(null=True)
    conversation_id = models.TextField(default="")
    # What the text is a placeholder for.
    payload = models.ForeignKey(
        "memoryconsole.Payload",
        on_delete=models.SET_NULL,
        null=True,
        related_name="records",
        db_index=False,
    )
    created_at = models.DateTimeField()
    believed_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True)

    objects = RecordQuerySet.as_manager()

    class Meta:
        db_table = "mc_record"
        constraints = [
            models.UniqueConstraint(fields=["store", "number"], name="record_number"),
            models.UniqueConstraint(fields=["store", "uuid"], name="record_uuid"),
            models.CheckConstraint(condition=Q(number__gt=0), name="record_number_positive"),
            models.CheckConstraint(
                condition=Q(source_type__in=["", "User", "Agent", "System"]), name="record_source_type_known"
            ),
            models.CheckConstraint(
                condition=models.lookups.LessThanOrEqual(char_length("content"), MAX_TEXT_CHARS),
                name="record_content_length",
            ),
        ]
        indexes = [
            models.Index(
                fields=["store", "project_id", "message_id", "-number"],
                name="record_versions",
                condition=~Q(message_id=""),
            ),
            models.Index(fields=["store", "session", "instant", "number"], name="record_session_order"),
            models.Index(
                fields=["store", "deleted_at"], name="record_erasing", condition=~Q(deleted_at=None)
            ),
            # What a payload's end looks for: few rows have one.
            models.Index(fields=["payload"], name="record_payload", condition=Q(payload__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.ref

    @property
    def ref(self) -> str:
        return f"mem:{self.number}"


class RecordNode(models.Model):
    """A span of a long text with a vector of its own: read after items are chosen, never searched.

    Exactly one parent: a record or a summary. Offsets are code points of the stored text, end exclusive.
    """

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE)
    record = models.ForeignKey(Record, on_delete=models.CASCADE, null=True, related_name="nodes")
    summary = models.ForeignKey(
        "memoryconsole.Summary", on_delete=models.CASCADE, null=True, related_name="nodes"
    )
    index = models.IntegerField()
    start = models.IntegerField()
    end = models.IntegerField()
    token_count = models.IntegerField(null=True)
    space = models.ForeignKey("memoryconsole.EmbeddingSpace", on_delete=models.CASCADE, null=True)
    embedding = HalfVectorField(null=True)

    class Meta:
        db_table = "mc_record_node"
        constraints = [
            models.UniqueConstraint(
                fields=["store", "record", "summary", "index"], name="node_index", nulls_distinct=False
            ),
            models.CheckConstraint(
                condition=Q(record=None, summary__isnull=False) | Q(record__isnull=False, summary=None),
                name="node_one_parent",
            ),
            models.CheckConstraint(
                condition=Q(index__gte=0, start__gte=0, end__gt=F("start")), name="node_span_forward"
            ),
        ]
