"""What a store holds, what is still being done to it, and what it was asked lately."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse

from memoryconsole import embedding
from memoryconsole.models import (
    Association,
    Claim,
    Document,
    EmbeddingSpace,
    Entity,
    EntryVector,
    Fact,
    IndexPart,
    Job,
    LostTraces,
    Record,
    Session,
    Store,
    Summary,
)
from memoryconsole.models.documents import CONVERSATION
from memoryconsole.models.jobs import JobState
from memoryconsole.models.search import Part
from memoryconsole.pages.frame import Frame, store_page
from memoryconsole.search import advisories
from memoryconsole.services import tracing
from memoryconsole.snapshot import snapshot

ASKS_SHOWN = 10
JOBS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Held:
    """How much a store holds. Every number is exact, and that of the list behind it. Conversations are no documents
    here; `facts` are those believed now.
    """

    records: int
    summaries: int
    sessions: int
    entities: int
    associations: int
    documents: int
    claims: int
    facts: int

    @property
    def is_empty(self) -> bool:
        return not (self.records or self.summaries or self.entities or self.associations)


@dataclass(frozen=True, slots=True)
class Indexing:
    """How far the index is: texts that can be found, and those of them found by words alone so far.

    Summaries of summaries are none of them: they are looked for inside their session, and never get a vector.
    """

    entries: int
    without_vector: int
    advisory: dict[str, Any] | None


@store_page("overview")
def overview(request: HttpRequest, frame: Frame) -> HttpResponse:
    store = frame.store
    running, failure = _model()
    with snapshot():
        context = {
            "held": _held(store),
            "indexing": _indexing(store, running, failure),
            "jobs": _jobs(store),
            "states": _states(store),
            "asks": asks(frame, ASKS_SHOWN),
            "lost": LostTraces.objects.filter(store=store).first(),
        }
    return frame.render("console/overview.html", context)


def asks(frame: Frame, limit: int, **filters: Any) -> list[dict[str, Any]]:
    """The newest traces the visitor may see, as the API lists them. `filters`: those of `tracing.listed`."""
    found = tracing.listed(frame.actor, frame.store, filters).order_by("-asked_at", "-id")
    return [tracing.summary_of(trace) for trace in found[:limit]]


def _held(store: Store) -> Held:
    return Held(
        records=Record.objects.live().filter(store=store).count(),
        summaries=Summary.objects.live().filter(store=store).count(),
        sessions=Session.objects.filter(store=store).count(),
        entities=Entity.objects.filter(store=store).count(),
        associations=Association.objects.filter(store=store).count(),
        documents=Document.objects.filter(store=store, deleted_at=None)
        .exclude(source_kind=CONVERSATION)
        .count(),
        claims=Claim.objects.filter(store=store, record__deleted_at=None).count(),
        facts=Fact.objects.filter(store=store, invalidated_at=None).count(),
    )


def _model() -> tuple[embedding.Embedder | None, str]:
    """(the model this process runs, why it does not answer). Outside of any snapshot: loading one takes a while."""
    try:
        return embedding.current(), ""
    except embedding.EmbeddingFailed as fault:
        return None, str(fault)


def _indexing(store: Store, running: embedding.Embedder | None, failure: str) -> Indexing:
    counted = IndexPart.objects.filter(store=store, part=Part.RECALL).values_list("entries", flat=True)
    entries = counted.first() or 0
    vectors = EntryVector.objects.filter(store=store, space=store.active_space_id, part=Part.RECALL).count()
    advisory = None
    if failure:
        advisory = advisories.embedder_failed(failure)
    elif running is None:
        advisory = advisories.no_embedder()
    elif store.active_space_id is not None:
        space = EmbeddingSpace.objects.get(store=store, pk=store.active_space_id)
        if (space.name, space.fingerprint) != (running.name, running.fingerprint):
            advisory = advisories.other_model(space.name, running.name)
    elif entries:
        advisory = advisories.no_vectors()
    return Indexing(entries, entries - vectors, advisory)


def _jobs(store: Store) -> list[Job]:
    """What runs, waits or has failed, newest first."""
    open_states = [JobState.QUEUED, JobState.RUNNING, JobState.FAILED]
    return list(Job.objects.filter(store=store, state__in=open_states).order_by("-pk")[:JOBS_SHOWN])


def _states(store: Store) -> dict[str, int]:
    """How many jobs are in each of these states: the list above shows the newest of them only."""
    counts = {
        state.value: Count("pk", filter=Q(state=state))
        for state in (JobState.QUEUED, JobState.RUNNING, JobState.FAILED)
    }
    return dict(Job.objects.filter(store=store).aggregate(**counts))
