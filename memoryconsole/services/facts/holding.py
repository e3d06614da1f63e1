"""Facts by their refs: found, of the version their caller knows, and still held. And how holding one ends."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memoryconsole.errors import Fault, InvalidParameter, NotFound, StaleResource, StateConflict
from memoryconsole.models import Fact, Store
from memoryconsole.models.facts import FactKind, Outcome
from memoryconsole.services.facts import finding
from memoryconsole.services.facts.changing import changing
from memoryconsole.services.facts.counting import visible_facts
from memoryconsole.services.facts.transcript import Decider


@dataclass(frozen=True, slots=True)
class FactRef:
    """How a fact is named outside: relation and observation ids are two namespaces."""

    kind: FactKind
    uuid: UUID


def seen(store: Store, ref: FactRef) -> Fact:
    """The fact, held or not. Raises NotFound, also for one that no visible testimony stands behind."""
    fact = visible_facts(store).filter(kind=ref.kind, uuid=ref.uuid).first()
    if fact is None:
        raise NotFound("No such fact")
    return fact


def held(store: Store, ref: FactRef, *, if_version: int | None) -> Fact:
    """The fact, to be changed. Call under the store's counter lock.

    Raises NotFound, StaleResource when it is at another version, StateConflict when it is held no longer.
    """
    fact = seen(store, ref)
    if if_version is not None and fact.row_version != if_version:
        raise StaleResource(f"The fact is at version {fact.row_version}")
    if fact.invalidated_at is not None:
        raise StateConflict("The fact is held no longer")
    return fact


def held_facts(store: Store, wanted: Mapping[str, FactRef]) -> list[Fact]:
    """The facts of a request, given with the pointer to each ref, in that order, each once (one statement). Call
    under the store's counter lock.

    Raises InvalidParameter for one that is unknown, StateConflict for one that is held no longer.
    """
    rows = visible_facts(store).filter(uuid__in={ref.uuid for ref in wanted.values()})
    facts = {FactRef(FactKind(row.kind), row.uuid): row for row in rows}
    unknown = [
        Fault(pointer, "unknown", "No fact of this store.")
        for pointer, ref in wanted.items()
        if ref not in facts
    ]
    if unknown:
        raise InvalidParameter.of(*unknown)
    found = [facts[ref] for ref in dict.fromkeys(wanted.values())]
    for fact in found:
        if fact.invalidated_at is not None:
            raise StateConflict(f"The {fact.kind} {fact.uuid} is held no longer")
    return found


def retract(
    store: Store, ref: FactRef, reason: str, *, by: Decider, if_version: int | None, now: datetime
) -> Fact:
    """Hold a fact no longer; its world time stays. Raises NotFound, StaleResource, StateConflict."""
    foreseen = finding.foresee(store, lost=[seen(store, ref)])
    with changing(store, by, foreseen=foreseen, now=now) as change:
        fact = held(store, ref, if_version=if_version)
        change.close_belief([fact], Outcome.RETRACTED, reason=reason)
    return fact
