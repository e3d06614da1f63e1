"""The world time of a fact that is held is corrected, or ended by its successor (contract: context-bundle A.4, A.6)."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from memoryconsole.errors import StateConflict
from memoryconsole.models import Claim, Decision, Fact, FactEvidence, FactWindow, Store, WindowCitation
from memoryconsole.models.facts import Outcome
from memoryconsole.services.facts.changing import Change, changing
from memoryconsole.services.facts.counting import VISIBLE
from memoryconsole.services.facts.declaring import citations, window_columns
from memoryconsole.services.facts.evidence import cite
from memoryconsole.services.facts.holding import FactRef, held, held_facts
from memoryconsole.services.facts.transcript import Decider
from memoryconsole.windows import BOUNDED, Precision, Window, begins_unit


def correct_window(
    store: Store,
    ref: FactRef,
    window: Window,
    window_claims: Sequence[UUID],
    *,
    by: Decider,
    if_version: int | None,
    now: datetime,
) -> tuple[Fact, bool]:
    """Give a fact another window, resting on claims of its evidence; answers it and whether anything changed.

    The window it had is kept with the time it was held. Raises NotFound, StaleResource; InvalidParameter for claims
    that are not the fact's evidence; StateConflict when the fact is held no longer.
    """
    with changing(store, by, now=now) as change:
        fact = held(store, ref, if_version=if_version)
        evidence = FactEvidence.objects.filter(VISIBLE, fact=fact).select_related("claim")
        cited = citations(window, window_claims, [each.claim for each in evidence])
        before = set(WindowCitation.objects.filter(VISIBLE, fact=fact).values_list("claim", flat=True))
        same = window_of(fact) == window
        if same and before == {claim.pk for claim in cited}:
            return fact, False
        if not same:
            _replace(change, fact, window)
        else:
            change.update([fact])
        WindowCitation.objects.filter(fact=fact).delete()
        cite(change, fact, cited)
        change.decide(fact, Outcome.UPDATE, change="citations" if same else "window")
    return fact, True


def supersede(
    store: Store,
    ref: FactRef,
    successor: FactRef,
    *,
    by: Decider,
    if_version: int | None,
    now: datetime,
) -> tuple[Fact, Fact, bool]:
    """End a fact's world time where its successor's begins; answers both and whether its window changed. One that
    ends there already keeps its window, and both transcripts tell who followed.

    Its window then rests on what the successor's rests on, beside its own citations. Contradiction groups are left
    alone. Raises NotFound, StaleResource; InvalidParameter for a successor that is unknown; StateConflict when either
    is held no longer, when the successor has no known start or does not start later, and when the fact's known end is
    earlier: a known end is never moved by what came after it.
    """
    with changing(store, by, now=now) as change:
        fact = held(store, ref, if_version=if_version)
        (after,) = held_facts(store, {"/successor": successor})
        start = _start_after(fact, after)
        changed = fact.valid_until != start
        if changed:
            _replace(change, fact, Window(fact.valid_from, start, joint_precision(fact, after)))
            cite(change, fact, _cited_by(after))
        if changed or not _superseded_by(fact, after):
            change.decide(fact, Outcome.SUPERSEDE, related=after.uuid)
            change.decide(after, Outcome.SUPERSEDE, related=fact.uuid)
    return fact, after, changed


def window_of(fact: Fact) -> Window:
    """A fact's window."""
    return Window(fact.valid_from, fact.valid_until, _precision(fact))


def joint_precision(fact: Fact, after: Fact) -> Precision:
    """How exactly the window is known that begins as the fact's does and ends where its successor's begins.

    The fact's own precision, else the successor's, else day, else instant: the first bounded one with units that
    begin at both bounds. Neither an open nor an unknown window has a unit of its own.
    """
    bounds = [bound for bound in (fact.valid_from, after.valid_from) if bound is not None]
    wanted: tuple[Precision, ...] = (_precision(fact), _precision(after), "day")
    for precision in wanted:
        if precision in BOUNDED and all(begins_unit(bound, precision) for bound in bounds):
            return precision
    return "instant"


def _precision(fact: Fact) -> Precision:
    precision: Precision = fact.valid_precision  # type: ignore[assignment]  # one of its choices
    return precision


def _start_after(fact: Fact, after: Fact) -> datetime:
    """Where the successor begins. Raises StateConflict when it cannot follow on the fact."""
    if after.valid_from is None:
        raise StateConflict("The successor has no known start")
    if fact.valid_from is not None and after.valid_from <= fact.valid_from:
        raise StateConflict("The successor does not start later than the fact")
    if fact.valid_until is not None and fact.valid_until < after.valid_from:
        raise StateConflict("The fact ended before the successor starts")
    return after.valid_from


def _superseded_by(fact: Fact, after: Fact) -> bool:
    """Whether the fact's transcript tells already that this one followed on it."""
    told = Decision.objects.filter(store=fact.store_id, subject_kind=fact.kind, subject_uuid=fact.uuid)
    return told.filter(outcome=Outcome.SUPERSEDE, related_uuid=after.uuid).exists()


def _replace(change: Change, fact: Fact, window: Window) -> None:
    """Give the fact a window and keep the one it had."""
    FactWindow.objects.create(
        store=change.store,
        fact=fact,
        **window_columns(window_of(fact)),
        held_from=fact.window_since,
        held_until=change.at,
    )
    change.update([fact], window_since=change.at, **window_columns(window))


def _cited_by(fact: Fact) -> list[Claim]:
    rows = WindowCitation.objects.filter(VISIBLE, fact=fact).select_related("claim")
    return [row.claim for row in rows]
