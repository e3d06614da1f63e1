"""A store that changes through the API is answered, at each moment, as the slow reference answers it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.context_bundle.history import ENTITIES, YEARS, History
from tests.context_bundle.strategies import shifted, times
from tests.context_bundle.test_against_reference import compare_facts, slowly
from tests.properties import examples

STEPS = 8
EDGES = [shifted(year, ticks) for year in YEARS for ticks in (-1, 0, 1)]


@given(data=st.data())
@settings(slowly, max_examples=examples(8))
def test_a_history(data: st.DataObject) -> None:
    history = History(data.draw)
    for _ in range(STEPS):
        history.step()
        args = {
            "query": "Tern",
            "entity_ids": data.draw(st.lists(st.sampled_from(ENTITIES), min_size=1, max_size=2, unique=True)),
            "hops": data.draw(st.integers(1, 2)),
            "time": data.draw(times(EDGES)),
            "k": 30,
        }
        reference = history.reference()
        compare_facts(history.ask(args), reference.facts_context(args), reference, args)
