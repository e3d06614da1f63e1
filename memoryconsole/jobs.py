"""Background work that survives its worker.

A job is a row with a lease. A task only says "there is something to do": whoever runs it takes the lease, works, and
writes the outcome; a worker that dies lets the lease run out, and the sweeper (every 15 s) sends the job again. A lost
or doubled message therefore changes nothing. Handlers must be idempotent. Without a broker (MEMORYCONSOLE_JOBS_INLINE)
a job runs where it is sent, all of its attempts at once: nobody sweeps.

`attempts` numbers the leases and fences their workers. `failures` counts the leases in a row that brought nothing on:
only these end a job.
"""

import logging
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from django.conf import settings
from django.db import connection, models, transaction
from django.db.models import Q
from django.utils import timezone

from memoryconsole.models import Job, Store, User
from memoryconsole.models.jobs import JobState

log = logging.getLogger(__name__)

# A lease outlives any slice of work between two calls of `report`, which are seconds; a dead worker's job waits this
# long, and for the sweeper, so a short one mends quickly. One that is too short costs a slice done twice, no more.
LEASE = timedelta(seconds=20)
# In a row, and without anything brought on: a job that gets further each time may lose any number of workers.
MAX_ATTEMPTS = 5
# The pause between two attempts doubles up to this.
LONGEST_PAUSE = timedelta(minutes=15)
# Long enough to look at what became of an import (`docs/api.md`).
ENDED_KEPT = timedelta(days=7)

Handler = Callable[[Job], None]

_handlers: dict[str, Handler] = {}
_must_finish: set[str] = set()


class JobCancelled(Exception):
    """Raised inside a handler by `report` when somebody cancelled the job."""


class LeaseLost(Exception):
    """Raised inside a handler by `report` when the lease ran out and another worker took the job over."""


class CannotFinish(Exception):
    """Raised by a handler: the job fails now, and trying again would not help. Its owner reads the message."""


def handles(kind: str, *, must_finish: bool = False) -> Callable[[Handler], Handler]:
    """Registers the handler of a kind of job.

    `must_finish`: what the server owes (erasing what was deleted, keeping an index true): nobody can cancel it, and
    no number of failures ends it.
    """

    def register(handler: Handler) -> Handler:
        _handlers[kind] = handler
        if must_finish:
            _must_finish.add(kind)
        return handler

    return register


def start(store: Store, kind: str, arguments: dict[str, Any], *, by: User | None, now: datetime) -> Job:
    """Queue a job in the caller's transaction; it is sent when that commits."""
    job = Job.objects.create(
        store=store, uuid=uuid.uuid4(), kind=kind, arguments=arguments, created_by=by, created_at=now
    )
    transaction.on_commit(lambda: send(job.pk))
    return job


def send(job_pk: int) -> None:
    """Tell a worker. With the broker away the job stays queued: the sweeper sends it when the broker is back."""
    from memoryconsole.tasks import run_job

    if settings.CELERY_TASK_ALWAYS_EAGER:
        _run_here(job_pk)
        return
    try:
        run_job.apply_async((job_pk,), retry=False)
    except Exception as fault:
        # A transport raises what it likes, for a wrong address too, and what was written stands whatever that is.
        # Its text may quote the address, with its password.
        log.warning("job %s stays queued: no broker (%s)", job_pk, type(fault).__name__)


def _run_here(job_pk: int) -> None:
    """Run a job until it has ended, or has failed as often as is allowed and its last run brought nothing on."""
    for tried in count(1):
        run(job_pk)
        failures = Job.objects.values_list("failures", flat=True).filter(_free(timezone.now()), pk=job_pk)
        left = failures.first()
        if left is None or (left and tried >= MAX_ATTEMPTS):
            return


def run(job_pk: int) -> None:
    """Take the job's lease and do its work; does nothing when it is finished or another worker holds it."""
    job = _take(job_pk, now=timezone.now())
    if job is None:
        return
    try:
        _handlers[job.kind](job)
    except (JobCancelled, LeaseLost) as end:
        log.info("job %s stopped: %s", job.uuid, type(end).__name__)
    except CannotFinish as end:
        log.info("job %s failed: its handler gave it up", job.uuid)
        _settle(job, JobState.FAILED, message=str(end))
    except Exception as fault:
        # Whatever it was, the job must not stay "running" for ever, and its owner must see that it failed.
        log.exception("job %s failed (attempt %s)", job.uuid, job.attempts)
        _fail(job, fault)
    else:
        _settle(job, JobState.DONE)


def report(job: Job, *, done: int, total: int | None = None, message: str = "", kept: bool = True) -> None:
    """Write progress and renew the lease. Raises JobCancelled or LeaseLost when the work should stop.

    `kept`: what was done stays done if the worker dies now. It is then no failure of the job's.
    """
    changes: dict[str, Any] = {"done": done, "message": message}
    if total is not None:
        changes["total"] = total
    _renew(job, changes, kept=kept)


def advance(
    job: Job, *, done: int, progress: dict[str, Any], message: str = "", errors: list[Any] | None = None
) -> None:
    """`report` inside the transaction that does the work: both stand, or neither does, whenever the worker dies.

    `progress` is where the next lease goes on. Raises JobCancelled or LeaseLost, which roll the work back, and
    RuntimeError outside of a transaction.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("advance() outside of the transaction whose work it tells of")
    changes: dict[str, Any] = {"done": done, "message": message, "progress": progress}
    if errors is not None:
        changes["errors"] = errors
    _renew(job, changes, kept=True)


def _renew(job: Job, changes: dict[str, Any], *, kept: bool) -> None:
    if kept:
        changes["failures"] = 0
    if not _held(job).update(**changes, leased_until=timezone.now() + LEASE):
        state = Job.objects.values_list("state", flat=True).filter(pk=job.pk).first()
        raise JobCancelled if state == JobState.CANCELLED else LeaseLost
    for name, value in changes.items():
        setattr(job, name, value)


def may_cancel(job: Job) -> bool:
    """Whether a job of this kind may be cancelled at all."""
    return job.kind not in _must_finish


def cancel(job: Job, *, now: datetime) -> bool:
    """Cancel a job that has not ended. Returns whether it was still to be cancelled, and may be."""
    if not may_cancel(job):
        return False
    waiting = Job.objects.filter(pk=job.pk, state__in=[JobState.QUEUED, JobState.RUNNING])
    return bool(waiting.update(state=JobState.CANCELLED, finished_at=now, leased_until=None))


def sweep(*, now: datetime) -> int:
    """Send every job nobody holds: queued ones whose message may be lost, running ones whose worker is gone."""
    forgotten = Job.objects.filter(_free(now)).filter(
        # A fresh job's own message is probably still on its way.
        Q(state=JobState.RUNNING)
        | Q(leased_until__isnull=False)
        | Q(created_at__lt=now - timedelta(seconds=10))
    )
    waiting = list(forgotten.order_by("pk").values_list("pk", flat=True)[:1000])
    for job_pk in waiting:
        send(job_pk)
    return len(waiting)


def drop_ended(*, now: datetime) -> None:
    """Remove jobs that ended long ago, with what they kept."""
    Job.objects.filter(finished_at__lt=now - ENDED_KEPT).delete()


def _free(now: datetime) -> Q:
    expired = Q(leased_until=None) | Q(leased_until__lt=now)
    return Q(state__in=[JobState.QUEUED, JobState.RUNNING]) & expired


def _held(job: Job) -> models.QuerySet[Job]:
    # `attempts` is the lease's number: a worker that lost it cannot write over its successor.
    return Job.objects.filter(pk=job.pk, state=JobState.RUNNING, attempts=job.attempts)


def _take(job_pk: int, *, now: datetime) -> Job | None:
    job = Job.objects.filter(_free(now), pk=job_pk).first()
    if job is None:
        return None
    mine = Job.objects.filter(_free(now), pk=job_pk, attempts=job.attempts)
    if job.failures >= MAX_ATTEMPTS and job.kind not in _must_finish:
        message = f"its worker was lost {job.failures} times; the log has the details"
        mine.update(state=JobState.FAILED, message=message, finished_at=now, leased_until=None)
        log.error("job %s failed: %s", job.uuid, message)
        return None
    failures = job.failures + 1
    # A job that kills its workers is as rare as one that fails: each time its first report is waited for longer.
    taken = mine.update(
        state=JobState.RUNNING,
        attempts=job.attempts + 1,
        failures=failures,
        started_at=now,
        leased_until=now + max(LEASE, _pause(failures)),
    )
    return Job.objects.select_related("store").get(pk=job_pk) if taken else None


def _settle(job: Job, state: JobState, **changes: Any) -> None:
    _held(job).update(state=state, finished_at=timezone.now(), leased_until=None, **changes)


def _fail(job: Job, fault: Exception) -> None:
    # The message names the kind of fault only: an exception's text may quote stored content.
    message = f"{type(fault).__name__} on attempt {job.attempts}; the log has the details"
    if job.failures >= MAX_ATTEMPTS and job.kind not in _must_finish:
        _settle(job, JobState.FAILED, message=message)
    else:
        again = None if settings.CELERY_TASK_ALWAYS_EAGER else timezone.now() + _pause(job.failures)
        _held(job).update(state=JobState.QUEUED, message=message, leased_until=again)


def _pause(failures: int) -> timedelta:
    return min(LONGEST_PAUSE, timedelta(seconds=2 ** min(failures, 10)))
