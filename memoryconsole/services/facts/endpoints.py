"""The entities that facts are about: whether they may be, and how a fact reads after merges."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from memoryconsole import predicates
from memoryconsole.errors import Fault, InvalidParameter, StateConflict
from memoryconsole.identity import Survivor, families, survivors
from memoryconsole.models import Fact, Store


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A current entity. `family`: the keys of all that are read as it, itself included."""

    pk: int
    family: frozenset[int]


def endpoints(store: Store, wanted: Mapping[str, UUID]) -> dict[str, Endpoint]:
    """The current entities of these ids, by the pointer to each id in the request (two statements).

    Raises StateConflict for one that was merged into another, naming that; InvalidParameter for every other id that
    is no current entity, whatever the reason.
    """
    found = {each.asked_uuid: each for each in survivors(store, uuids=set(wanted.values()))}
    faults = [
        Fault(pointer, "unknown", "No current entity of this store.")
        for pointer, uuid in wanted.items()
        if uuid not in found
    ]
    if faults:
        raise InvalidParameter.of(*faults)
    for each in found.values():
        if not each.is_asked:
            raise StateConflict(f"The entity {each.asked_uuid} was merged and is now {each.uuid}")
    members = families(store, {each.pk for each in found.values()})
    return {
        pointer: Endpoint(found[uuid].pk, frozenset(members[found[uuid].pk]))
        for pointer, uuid in wanted.items()
    }


def family_of(store: Store, entity: int) -> frozenset[int]:
    """The keys of all that are read as the survivor of an entity (one statement)."""
    return frozenset(member for members in families(store, [entity]).values() for member in members)


def ends_of(store: Store, facts: Iterable[Fact]) -> dict[int, Survivor]:
    """Whom the ends of these facts are read as, by the key of the entity each was declared for (one statement). One
    that is no current entity any more is left out.
    """
    keys = {key for fact in facts for key in (fact.subject_id, fact.object_id) if key is not None}
    return {each.asked: each for each in survivors(store, keys=keys)}


def label_of(fact: Fact, ends: Mapping[int, Survivor]) -> str:
    """The one line that names a fact. `ends`: those of `ends_of`."""
    names = [ends[key].name if key in ends else "" for key in (fact.subject_id, fact.object_id or 0)]
    return predicates.label(fact.predicate, fact.statement, names[0], names[1])


def whole(fact: Fact, ends: Mapping[int, Survivor]) -> bool:
    """Whether every end of the fact is a current entity: else it is shown to nobody (contract: A.4)."""
    return fact.subject_id in ends and (fact.object_id is None or fact.object_id in ends)
