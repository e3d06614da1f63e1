"""The plan of the way down ends no earlier than the answer: what is read to a bound is what would be read without one."""

from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryconsole.models import User
from provenance.expand_query import lineage
from tests.api.expanding import Graph
from tests.conftest import make_client, make_store
from tests.properties import SLOW_PHASES, examples

UNBOUNDED = 10_000_000
texts = st.tuples(
    st.sampled_from(["a", "word ", "é", "б", "潮", "🚢", "ab潮", "a🚢bcd"]),
    st.sampled_from([1, 2, 3, 4, 5, 7, 30, 200]),
).map(lambda made: made[0] * made[1])


@pytest.fixture
def graph(api, store):
    return Graph(api, store)


def forget(graph, numbers):
    for number in numbers:
        answer = graph.api.delete(f"/api/v1/stores/{graph.store.public_id}/records/mem:{number}")
        assert answer.status_code == 202, answer.content


def both(graph, **ask):
    """The answer as it is read, and as it is when the plan reads all there is."""
    bounded = graph.ask(**ask)
    with mock.patch.object(lineage, "SPARE_TOKENS", UNBOUNDED):
        return bounded, graph.ask(**ask)


def test_many_gaps_cost_an_answer_nothing(graph):
    rows = graph.say(*(f"gauge {n:03} reads as it did the day before" for n in range(186)))
    node = graph.sum_up("gauges", rows)
    forget(graph, rows[:150])
    bounded, whole = both(graph, node_ids=[node], context_max_tokens=700)
    assert bounded == whole
    assert bounded["context_truncated"] is False


def test_many_nodes_that_show_nothing_cost_nothing(graph):
    leaves, gone = [], []
    for n in range(12):
        rows = graph.say(*(f"gauge {n} {m}" for m in range(5)))
        gone += rows if n < 11 else []
        leaves.append(graph.sum_up(f"leaf {n}", rows))
    root = graph.sum_up("root", leaves, "nodes")
    forget(graph, gone)
    bounded, whole = both(graph, node_ids=[root], context_max_tokens=200)
    assert bounded == whole
    assert bounded["context_truncated"] is False


@settings(max_examples=examples(20), phases=SLOW_PHASES, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_plan_with_an_end_reads_what_one_without_reads(data):
    owner, _ = User.objects.get_or_create(username="ada")
    store = make_store(owner)
    graph = Graph(make_client(owner, store), store)
    leaves, rows = [], []
    for n in range(data.draw(st.integers(1, 5))):
        said = graph.say(*data.draw(st.lists(texts, min_size=1, max_size=8)))
        rows += said
        leaves.append(graph.sum_up(data.draw(texts), said))
        if n and data.draw(st.booleans()):
            leaves.append(graph.sum_up(data.draw(texts), leaves[-2:], "nodes"))
    root = graph.sum_up("root", leaves, "nodes")
    forget(graph, data.draw(st.sets(st.sampled_from(rows), max_size=len(rows) - 1)))
    for _ in range(3):
        budget = data.draw(st.integers(1, 400))
        output = data.draw(st.sampled_from(["answer", "evidence"]))
        bounded, whole = both(graph, node_ids=[root], context_max_tokens=budget, output=output)
        assert bounded == whole
