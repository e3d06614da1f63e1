"""Celery tasks: thin doors to the modules that do the work."""

from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from memoryconsole import jobs
from memoryconsole.models import IdempotencyKey
from memoryconsole.services import tracing, transfer

# Long enough for any client's retries, short enough that the table stays small (`docs/api.md`).
IDEMPOTENCY_KEPT = timedelta(days=7)


@shared_task
def run_job(job_pk: int) -> None:
    jobs.run(job_pk)


@shared_task
def sweep_jobs() -> None:
    now = timezone.now()
    jobs.sweep(now=now)
    transfer.drop_files(now=now)


@shared_task
def prune() -> None:
    """What was kept for days goes. No index leads to it by its age: whole tables are read, which is no work for a
    sweep that runs every few seconds.
    """
    now = timezone.now()
    jobs.drop_ended(now=now)
    IdempotencyKey.objects.filter(created_at__lt=now - IDEMPOTENCY_KEPT).delete()
    tracing.prune(now=now)
