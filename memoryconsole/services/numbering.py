"""A store's own numbers and belief instants, given out under one lock."""

from datetime import datetime, timedelta

from memoryconsole.models import Store, StoreCounter

# The smallest step of time that PostgreSQL keeps.
TICK = timedelta(microseconds=1)


def lock_counter(store: Store) -> StoreCounter:
    """The store's counter row, locked until the transaction ends: writers of one store follow one another.

    Call inside a transaction, before anything is read that the write depends on.
    """
    return StoreCounter.objects.select_for_update().get(store=store)


def take_numbers(counter: StoreCounter, kind: str, amount: int) -> range:
    """The next `amount` public numbers of a kind (`record`, `summary`, `entity`, `association`)."""
    last = getattr(counter, kind)
    setattr(counter, kind, last + amount)
    return range(last + 1, last + amount + 1)


def take_beliefs(counter: StoreCounter, amount: int, *, now: datetime) -> list[datetime]:
    """The next belief instants: strictly increasing in the store, at or after now, a microsecond apart."""
    first = now if counter.belief_at is None else max(now, counter.belief_at + TICK)
    instants = [first + index * TICK for index in range(amount)]
    if instants:
        counter.belief_at = instants[-1]
    return instants
