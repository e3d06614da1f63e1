"""Keeping an index true when something under it changed: the model, its health, or a store's language."""

from datetime import datetime
from functools import partial

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from memoryconsole import jobs, search
from memoryconsole.models import Job, Store, User
from memoryconsole.models.jobs import JobState
from memoryconsole.services.dividing import divide_store_later
from memoryconsole.services.numbering import lock_counter


def language_changed(store: Store) -> bool:
    """Whether the store's language is another than when the caller read it; it is then brought up to date.

    Under the counter's lock: a change that commits later has a job that waits for this lock, and analyses these rows.
    """
    before = store.language
    store.refresh_from_db(fields=["language"])
    return store.language != before


def embed_later(store: Store, *, by: User | None, now: datetime) -> None:
    """Have a job write the vectors that are missing, unless one waits already."""
    _once(store, "embed", by=by, now=now)


def analyse_later(store: Store, *, by: User | None, now: datetime) -> None:
    """Have a job analyse every text of the store again.

    Always one of its own: one that waits may be taken, and read the old language, before this change commits.
    """
    jobs.start(store, "analyse", {}, by=by, now=now)


def _once(store: Store, kind: str, *, by: User | None, now: datetime) -> None:
    # A job that runs may be past what changed just now; one that waits is not.
    waiting = Job.objects.filter(store=store, kind=kind, state=JobState.QUEUED).first()
    if waiting is None:
        jobs.start(store, kind, {}, by=by, now=now)
    elif settings.CELERY_TASK_ALWAYS_EAGER:
        # It has failed, and nobody else tries it again.
        transaction.on_commit(partial(jobs.send, waiting.pk))


@jobs.handles("embed", must_finish=True)
def embed(job: Job) -> None:
    """Write the vectors of the running model that are missing, then make its space the store's active one. Nodes of
    another model, or of a time without one, are then rebuilt by a job of their own.
    """
    place: int | None = 0
    slices = 0
    while place is not None:
        with transaction.atomic():
            lock_counter(job.store)
            place = search.fill_space(job.store, after=place, now=timezone.now())
        slices += 1
        jobs.report(job, done=slices, message="slices")
    divide_store_later(job.store, by=job.created_by, now=timezone.now())


@jobs.handles("analyse", must_finish=True)
def analyse(job: Job) -> None:
    """Analyse every text again under the store's language of today, and those that never were."""
    place: int | None = 0
    slices = 0
    found = 1
    while found:
        with transaction.atomic():
            lock_counter(job.store)
            found = search.index_missing(job.store, now=timezone.now())
        jobs.report(job, done=slices, message="slices", kept=False)
    while place is not None:
        with transaction.atomic():
            lock_counter(job.store)
            place = search.reanalyze(job.store, after=place)
        slices += 1
        # Another lease begins at the first text again.
        jobs.report(job, done=slices, message="slices", kept=False)
