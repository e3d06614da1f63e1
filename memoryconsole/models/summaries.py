"""Summaries: what stands for a stretch of conversation, and the graph from summaries down to records."""

from django.db import models
from django.db.models import F, Q

from memoryconsole.models.records import MAX_TEXT_CHARS, Record, Session, char_length
from memoryconsole.times import write_stamp


class SourceType(models.TextChoices):
    NONE = ""
    MESSAGES = "messages"
    NODES = "nodes"


class SummaryQuerySet(models.QuerySet["Summary"]):
    def live(self) -> "SummaryQuerySet":
        return self.filter(deleted_at=None)

    def episodes(self) -> "SummaryQuerySet":
        """Candidates of recall: every summary whose sources are not other summaries."""
        return self.live().exclude(source_type=SourceType.NODES)


class Summary(models.Model):
    """One summary. Its number in the store is `ep:<number>` and, in expand-query, `node_id`.

    `start` and `end` are the caller's stamps; `earliest_at` and `latest_at` what they mean. Project and channel are
    None when its sources have no common one: unknown, it then bundles with nothing.
    """

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE)
    number = models.BigIntegerField()
    uuid = models.UUIDField()
    project_id = models.TextField(default="", null=True)
    channel = models.TextField(default="", null=True)
    session = models.ForeignKey(Session, on_delete=models.SET_NULL, null=True)
    depth = models.IntegerField(default=0)
    source_type = models.TextField(choices=SourceType.choices, default=SourceType.NONE)
    summary = models.TextField()
    digest = models.BinaryField(max_length=32)
    start = models.TextField(default="")
    end = models.TextField(default="")
    earliest_at = models.DateTimeField(null=True)
    latest_at = models.DateTimeField(null=True)
    token_count = models.IntegerField(default=0)
    source_token_count = models.IntegerField(default=0)
    expand_hint = models.TextField(default="")
    sources_gone = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    believed_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True)

    objects = SummaryQuerySet.as_manager()

    class Meta:
        db_table = "mc_summary"
        constraints = [
            models.UniqueConstraint(fields=["store", "number"], name="summary_number"),
            models.UniqueConstraint(fields=["store", "uuid"], name="summary_uuid"),
            models.CheckConstraint(condition=Q(number__gt=0), name="summary_number_positive"),
            models.CheckConstraint(
                condition=Q(source_type__in=SourceType.values), name="summary_source_type_known"
            ),
            models.CheckConstraint(condition=Q(depth__gte=0), name="summary_depth"),
            models.CheckConstraint(
                condition=Q(earliest_at=None) | Q(latest_at=None) | Q(earliest_at__lte=F("latest_at")),
                name="summary_span_forward",
            ),
            models.CheckConstraint(
                condition=models.lookups.LessThanOrEqual(char_length("summary"), MAX_TEXT_CHARS),
                name="summary_length",
            ),
        ]
        indexes = [
            models.Index(fields=["store", "session"], name="summary_session"),
            models.Index(
                fields=["store", "deleted_at"], name="summary_erasing", condition=~Q(deleted_at=None)
            ),
        ]

    def __str__(self) -> str:
        return self.ref

    @property
    def ref(self) -> str:
        return f"ep:{self.number}"

    @property
    def as_of(self) -> str:
        """The stamp shown: the start as written, else when it was stored."""
        return self.start or write_stamp(self.created_at)


class SummarySource(models.Model):
    """One place in a summary's ordered list of sources. A source that is gone keeps its place.

    `number` is the source's public number (a record's or a summary's); the foreign keys are None when nothing of
    that number exists (any more), or it lies in another session.
    """

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE)
    summary = models.ForeignKey(Summary, on_delete=models.CASCADE, related_name="sources")
    source_index = models.IntegerField()
    number = models.BigIntegerField()
    record = models.ForeignKey(Record, on_delete=models.SET_NULL, null=True)
    child = models.ForeignKey(Summary, on_delete=models.SET_NULL, null=True, related_name="parents")

    class Meta:
        db_table = "mc_summary_source"
        constraints = [
            models.UniqueConstraint(fields=["store", "summary", "source_index"], name="summary_source_place"),
            models.CheckConstraint(condition=Q(record=None) | Q(child=None), name="summary_source_one_kind"),
            models.CheckConstraint(condition=Q(source_index__gte=0), name="summary_source_index"),
        ]
