"""Work that waits, and answers kept so that a repeated request does not repeat its effect."""

from django.db import models
from django.db.models import Q


class JobState(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Job(models.Model):
    """A piece of background work with a lease: a worker that dies loses its lease, and another goes on.

    `attempts` numbers the leases; `failures` counts those in a row that brought nothing on. `progress` is what the
    handler needs to go on where the last committed step ended.
    """

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE, related_name="jobs")
    uuid = models.UUIDField()
    kind = models.TextField()
    arguments = models.JSONField(default=dict)
    state = models.TextField(choices=JobState.choices, default=JobState.QUEUED)
    done = models.BigIntegerField(default=0)
    total = models.BigIntegerField(null=True)
    message = models.TextField(default="")
    errors = models.JSONField(default=list)
    progress = models.JSONField(default=dict)
    attempts = models.IntegerField(default=0)
    failures = models.IntegerField(default=0)
    created_by = models.ForeignKey("memoryconsole.User", on_delete=models.SET_NULL, null=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    leased_until = models.DateTimeField(null=True)

    class Meta:
        db_table = "mc_job"
        constraints = [
            models.UniqueConstraint(fields=["store", "uuid"], name="job_uuid"),
            models.CheckConstraint(condition=Q(state__in=JobState.values), name="job_state_known"),
        ]
        indexes = [
            models.Index(
                fields=["state", "leased_until"],
                name="job_waiting",
                condition=Q(state__in=["queued", "running"]),
            ),
            # A store's jobs, page by page; and those that ended long enough ago.
            models.Index(fields=["store", "created_at", "uuid"], name="job_listed"),
            models.Index(fields=["finished_at"], name="job_ended", condition=Q(finished_at__isnull=False)),
        ]


class JobChunk(models.Model):
    """A piece of the file a job reads (an import) or makes (an export), in order of `index`.

    In the database, so that any worker of any host has it, and so that it goes when the store goes.
    """

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE, db_index=False)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="chunks")
    index = models.IntegerField()
    data = models.BinaryField()

    class Meta:
        db_table = "mc_job_chunk"
        constraints = [
            models.UniqueConstraint(fields=["store", "job", "index"], name="job_chunk_index"),
        ]


class IdempotencyKey(models.Model):
    """The first answer to a keyed write: refs and states, never texts."""

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE, null=True)
    user = models.ForeignKey("memoryconsole.User", on_delete=models.CASCADE)
    route = models.TextField()
    key = models.TextField()
    body_digest = models.BinaryField(max_length=32)
    status = models.IntegerField()
    answer = models.JSONField()
    created_at = models.DateTimeField()

    class Meta:
        db_table = "mc_idempotency_key"
        constraints = [
            models.UniqueConstraint(
                fields=["store", "user", "route", "key"], name="idempotency_key_once", nulls_distinct=False
            ),
        ]
        # Those that are old enough to be dropped.
        indexes = [models.Index(fields=["created_at"], name="idempotency_key_age")]
