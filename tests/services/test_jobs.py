"""Background work: nothing is lost when a worker dies, nothing runs twice at once."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from memoryconsole import jobs, tasks
from memoryconsole.models import IdempotencyKey, Job
from memoryconsole.models.jobs import JobState


@pytest.fixture
def kind(monkeypatch):
    """A kind of job of the test's own: `ran` collects its runs, `work` is what it does."""

    class Kind:
        name = "test"
        ran: list[int] = []
        work = staticmethod(lambda job: None)

    own = Kind()
    own.ran = []

    def handler(job):
        own.ran.append(job.attempts)
        own.work(job)

    monkeypatch.setitem(jobs._handlers, own.name, handler)
    return own


@pytest.fixture
def sent(monkeypatch):
    """What is sent to workers, instead of a broker."""
    messages: list[int] = []
    monkeypatch.setattr(tasks.run_job, "apply_async", lambda args, **_: messages.append(args[0]))
    return messages


def test_a_job_is_sent_when_its_transaction_commits_and_done_when_run(kind, sent, store, ada):
    job = jobs.start(store, kind.name, {}, by=ada, now=timezone.now())
    assert sent == [job.pk]
    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.attempts, job.leased_until) == (JobState.DONE, 1, None)


def test_a_doubled_message_runs_it_once(kind, sent, store, ada):
    job = jobs.start(store, kind.name, {}, by=ada, now=timezone.now())
    jobs.run(job.pk)
    jobs.run(job.pk)
    assert kind.ran == [1]


def test_a_job_that_somebody_holds_is_left_alone(kind, sent, store, ada):
    job = jobs.start(store, kind.name, {}, by=ada, now=timezone.now())
    kind.work = lambda held: jobs.run(held.pk)
    jobs.run(job.pk)
    assert kind.ran == [1]


def test_a_dead_workers_job_is_swept_and_finished_by_another(kind, sent, store, ada):
    job = jobs.start(store, kind.name, {}, by=ada, now=timezone.now())
    dead = timezone.now() - jobs.LEASE
    Job.objects.filter(pk=job.pk).update(state="running", attempts=1, leased_until=dead)
    sent.clear()
    jobs.sweep(now=timezone.now())
    assert job.pk in sent
    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, kind.ran) == (JobState.DONE, [2])


def test_a_lost_message_is_sent_again(kind, sent, store, ada):
    job = jobs.start(store, kind.name, {}, by=ada, now=timezone.now() - timedelta(minutes=1))
    sent.clear()
    jobs.sweep(now=timezone.now())
    assert job.pk in sent


def test_a_worker_that_lost_its_lease_cannot_write_over_its_successor(kind, sent, store, ada):
    job = jobs.start(store, kind.name, {}, by=ada, now=timezone.now())

    def slow(held):
        Job.objects.filter(pk=held.pk).update(attempts=9)  # another took it over meanwhile
        with pytest.raises(jobs.LeaseLost):
            jobs.report(held, done=1)

    kind.work = slow
    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.attempts) == (JobState.RUNNING, 9)


def test_a_failure_is_tried_again_and_then_said_without_its_text(kind, sent, store, ada):
    job = jobs.start(store, kind.name, {}, by=ada, now=timezone.now())

    def fail(held):
        raise ValueError("the stored text was: walrus")

    kind.work = fail
    for _ in range(jobs.MAX_ATTEMPTS):
        Job.objects.filter(pk=job.pk).update(leased_until=None)
        jobs.run(job.pk)
    job.refresh_from_db()
    assert job.state == JobState.FAILED
    assert "ValueError" in job.message
    assert "walrus" not in job.message


def test_a_cancelled_job_stops_at_its_next_report(kind, sent, store, ada):
    job = jobs.start(store, kind.name, {}, by=ada, now=timezone.now())

    def work(held):
        assert jobs.cancel(held, now=timezone.now())
        jobs.report(held, done=1)
        pytest.fail("went on after it was cancelled")

    kind.work = work
    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.done) == (JobState.CANCELLED, 0)
    assert jobs.cancel(job, now=timezone.now()) is False


def test_progress_is_shown(kind, sent, store, ada, api):
    job = jobs.start(store, kind.name, {}, by=ada, now=timezone.now())
    shown = []

    def work(held):
        jobs.report(held, done=3, total=7, message="half way")
        shown.append(api.get(f"/api/v1/jobs/{held.uuid}").json())

    kind.work = work
    jobs.run(job.pk)
    (body,) = shown
    assert (body["state"], body["done"], body["total"], body["message"]) == ("running", 3, 7, "half way")


def test_without_a_broker_the_write_stands_and_the_job_waits(kind, store, ada):
    from memoryconsole.celery import app

    before = app.conf.broker_url
    app.conf.broker_url = "redis+socket:///nowhere/at/all.sock"
    try:
        # More often than any pool of connections is deep.
        started = [jobs.start(store, kind.name, {}, by=ada, now=timezone.now()) for _ in range(20)]
    finally:
        app.conf.broker_url = before
    job = started[-1]
    job.refresh_from_db()
    assert job.state == JobState.QUEUED


def test_old_idempotency_keys_are_removed(store, ada, sent):
    fields = {
        "store": store,
        "user": ada,
        "route": "records",
        "body_digest": b"",
        "status": 201,
        "answer": {},
    }
    now = timezone.now()
    old = IdempotencyKey.objects.create(key="old", created_at=now - tasks.IDEMPOTENCY_KEPT * 2, **fields)
    new = IdempotencyKey.objects.create(key="new", created_at=now, **fields)
    tasks.prune()
    assert set(IdempotencyKey.objects.filter(store=store)) == {new}
    assert old.pk != new.pk


@pytest.fixture
def owed(kind, monkeypatch):
    """The same kind, which must finish."""
    monkeypatch.setattr(jobs, "_must_finish", {*jobs._must_finish, kind.name})
    return kind


def fail(held):
    raise ValueError


def test_a_job_that_kills_its_workers_ends_failed(kind, sent, store, ada):
    job = jobs.start(store, kind.name, {}, by=ada, now=timezone.now())
    dead = timezone.now() - jobs.LEASE
    Job.objects.filter(pk=job.pk).update(
        state="running", attempts=9, failures=jobs.MAX_ATTEMPTS, leased_until=dead
    )
    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, kind.ran, job.leased_until) == (JobState.FAILED, [], None)
    assert job.finished_at is not None
    jobs.sweep(now=timezone.now())
    assert sent.count(job.pk) == 1


def test_what_must_finish_is_never_given_up_and_waits_a_quarter_of_an_hour_at_most(owed, sent, store, ada):
    job = jobs.start(store, owed.name, {}, by=ada, now=timezone.now())
    owed.work = fail
    Job.objects.filter(pk=job.pk).update(failures=10_000)
    jobs.run(job.pk)
    job.refresh_from_db()
    assert job.state == JobState.QUEUED
    assert timedelta(minutes=14) < job.leased_until - timezone.now() <= jobs.LONGEST_PAUSE
    sent.clear()
    jobs.sweep(now=timezone.now() + jobs.LONGEST_PAUSE)
    assert job.pk in sent
    Job.objects.filter(pk=job.pk).update(leased_until=None)
    owed.work = lambda held: None
    jobs.run(job.pk)
    job.refresh_from_db()
    assert job.state == JobState.DONE


def test_what_must_finish_cannot_be_cancelled(owed, sent, store, ada):
    job = jobs.start(store, owed.name, {}, by=ada, now=timezone.now())
    assert jobs.cancel(job, now=timezone.now()) is False
    job.refresh_from_db()
    assert job.state == JobState.QUEUED


def test_inline_every_attempt_is_made_at_once(kind, store, ada, settings):
    settings.CELERY_TASK_ALWAYS_EAGER = True
    kind.work = fail
    job = jobs.start(store, kind.name, {}, by=ada, now=timezone.now())
    job.refresh_from_db()
    assert (job.state, kind.ran) == (JobState.FAILED, [1, 2, 3, 4, 5])

    def fail_once(held):
        if held.attempts == 1:
            raise ValueError

    kind.work = fail_once
    job = jobs.start(store, kind.name, {}, by=ada, now=timezone.now())
    job.refresh_from_db()
    assert (job.state, job.attempts) == (JobState.DONE, 2)


@pytest.mark.parametrize("address", ["foo://x", "redis://h:notaport/0"])
def test_with_a_wrong_address_of_the_broker_the_write_stands_and_the_job_waits(address, kind, store, ada):
    from memoryconsole.celery import app

    before = app.conf.broker_url
    app.conf.broker_url = address
    try:
        job = jobs.start(store, kind.name, {}, by=ada, now=timezone.now())
    finally:
        app.conf.broker_url = before
    job.refresh_from_db()
    assert job.state == JobState.QUEUED


def dead_worker(job):
    Job.objects.filter(pk=job.pk).update(leased_until=timezone.now() - timedelta(seconds=1))
    job.refresh_from_db()


def test_a_job_that_gets_further_each_time_may_lose_any_number_of_workers(kind, sent, store, ada):
    job = jobs.start(store, kind.name, {}, by=ada, now=timezone.now())

    def one_step(held):
        if held.done < 20:
            jobs.report(held, done=held.done + 1)
            raise SystemExit  # as good as killed: nothing is written of the end

    kind.work = one_step
    for _ in range(20):
        with pytest.raises(SystemExit):
            jobs.run(job.pk)
        dead_worker(job)
    assert (job.state, job.failures, job.done) == (JobState.RUNNING, 0, 20)
    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.attempts) == (JobState.DONE, 21)


def test_what_is_reported_but_not_kept_is_no_progress(kind, sent, store, ada):
    job = jobs.start(store, kind.name, {}, by=ada, now=timezone.now())

    def one_step(held):
        jobs.report(held, done=1, kept=False)
        raise SystemExit

    kind.work = one_step
    for _ in range(jobs.MAX_ATTEMPTS):
        with pytest.raises(SystemExit):
            jobs.run(job.pk)
        dead_worker(job)
    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, len(kind.ran)) == (JobState.FAILED, jobs.MAX_ATTEMPTS)


def test_a_step_stands_with_its_work_or_not_at_all(kind, sent, store, ada):
    """`advance` is part of the work's own transaction; a lost lease or a cancelled job takes the work back."""
    job = jobs.start(store, kind.name, {}, by=ada, now=timezone.now())

    def lose(held):
        with transaction.atomic():
            store.name = "lost"
            store.save()
            jobs.advance(held, done=2, progress={"place": 2})

    def work(held):
        with pytest.raises(RuntimeError):
            jobs.advance(held, done=1, progress={})
        with transaction.atomic():
            store.name = "kept"
            store.save()
            jobs.advance(held, done=1, progress={"place": 1}, message="one", errors=[{"line": 1}])
        Job.objects.filter(pk=held.pk).update(state="cancelled")
        with pytest.raises(jobs.JobCancelled):
            lose(held)
        Job.objects.filter(pk=held.pk).update(state="running", attempts=9)
        with pytest.raises(jobs.LeaseLost):
            lose(held)

    kind.work = work
    jobs.run(job.pk)
    job.refresh_from_db()
    store.refresh_from_db()
    assert (job.done, job.progress, job.message, job.errors) == (1, {"place": 1}, "one", [{"line": 1}])
    assert store.name == "kept"


def test_a_handler_that_gives_up_fails_the_job_at_once_and_says_why(kind, sent, store, ada):
    job = jobs.start(store, kind.name, {}, by=ada, now=timezone.now())

    def give_up(held):
        raise jobs.CannotFinish("the file is none")

    kind.work = give_up
    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.attempts, job.message) == (JobState.FAILED, 1, "the file is none")
    assert job.finished_at is not None


def test_inline_a_job_that_gets_further_is_run_to_its_end(kind, store, ada, settings):
    settings.CELERY_TASK_ALWAYS_EAGER = True

    def one_step(held):
        if held.done < 9:
            jobs.report(held, done=held.done + 1)
            raise ValueError

    kind.work = one_step
    job = jobs.start(store, kind.name, {}, by=ada, now=timezone.now())
    job.refresh_from_db()
    assert (job.state, job.attempts) == (JobState.DONE, 10)


def test_jobs_that_ended_long_ago_are_removed(kind, sent, store, ada):
    now = timezone.now()
    old, young, waiting = (
        jobs.start(store, kind.name, {}, by=ada, now=now - jobs.ENDED_KEPT * 2) for _ in range(3)
    )
    Job.objects.filter(pk=old.pk).update(state="done", finished_at=now - jobs.ENDED_KEPT * 2)
    Job.objects.filter(pk=young.pk).update(state="failed", finished_at=now)
    tasks.prune()
    assert set(Job.objects.filter(store=store)) == {young, waiting}
