"""Whatever a declaration says: never an error, exactly what is not dropped is recorded, and a preview is its plan."""

import re
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy

import pytest
from django.db import connection
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryconsole.declarations import read_declaration, read_ref
from memoryconsole.models import Association, Entity, EntityAlias, Mention, StoreCounter
from memoryconsole.services.declare import declare
from memoryconsole.services.ingest import NewRecord, NewSummary, store_records, store_summary
from tests.conftest import make_client, make_store, url
from tests.properties import examples

PROFILE = settings(
    max_examples=examples(25),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

NAMES = st.sampled_from(
    [
        "Quay",
        "QUAY",
        " quay ",
        "ｑｕａｙ",
        "Pier",
        "Straße",
        "STRASSE",
        "ラーク丸",
        "a\\b",
        "ﷺ" * 256,
        "x" * 256,
        "kay",
    ]
)
REFS = st.sampled_from(
    ["mem:1", "mem:02", " mem:2 ", "ep:1", "mem:3", "mem:99", "ep:9", "mem:0", "mem:" + "9" * 40]
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6
    ) | st.just("y" * 257) | st.just(" "),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "x"]), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip


def mostly(good):
    """Now and then something else entirely."""
    return st.integers(0, 9).flatmap(lambda roll: JUNK if roll == 0 else good)


def member(**members):
    """An object with these members, some missing, some of them junk."""
    required = {name: mostly(value) for name, value in members.items()}
    return st.fixed_dictionaries({}, optional=required) | st.fixed_dictionaries(required)


ENTITIES = mostly(
    st.lists(mostly(member(name=NAMES, aliases=st.lists(mostly(NAMES), max_size=4))), max_size=5)
)
RELATIONS = mostly(
    st.lists(
        mostly(
            member(
                subject=NAMES | REFS,
                predicate=st.sampled_from(["near", " NEAR", "corrects", "ﷺ" * 256]),
                object=NAMES | REFS,
            )
        ),
        max_size=5,
    )
)
ASSOCIATIONS = st.fixed_dictionaries(
    {}, optional={"entities": ENTITIES, "relations": RELATIONS, "entites": JUNK}
)
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "associations": ASSOCIATIONS,
        "anchor_ref": st.sampled_from(["", "mem:1", "mem:002", "ep:1", "mem:99", "quay"]),
        "project_id": st.sampled_from(["", "p"]),
        "channel": st.sampled_from(["", "c"]),
    },
)
SEVERAL = st.lists(BODIES, min_size=1, max_size=3)


@pytest.fixture
def fresh(ada):
    """Makes a store with mem:1, mem:2 and ep:1 (mem:3 has been there), and a client for it."""

    def fresh():
        store = make_store(ada)
        now = timezone.now()
        store_records(store, [NewRecord(content=text) for text in ("one", "two", "three")], now=now)
        store_summary(store, NewSummary(summary="a week"), now=now)
        client = make_client(ada, store)
        assert client.delete(url(store, "/records/mem:3")).status_code == 202
        return store, client

    return fresh


def send(store, client, body, tail="/associations"):
    answer = client.post(url(store, tail), body, format="json")
    assert answer.status_code == 200, answer.content
    return answer.json()


def graph_of(store):
    """Everything declared in a store, without primary keys and times."""
    return {
        "entities": sorted(
            Entity.objects.filter(store=store).values_list("number", "name", "declared_key", "project_id", "channel")
        ),
        "aliases": sorted(
            EntityAlias.objects.filter(store=store).values_list("entity__number", "alias", "project_id", "channel")
        ),
        "mentions": sorted(
            Mention.objects.filter(store=store).values_list("entity__number", "record__number", "summary__number"),
            key=str,
        ),
        "associations": sorted(
            Association.objects.filter(store=store).values_list(
                "number", "predicate", "project_id", "channel", "subject_entity__number", "subject_record__number",
                "subject_summary__number", "object_entity__number", "object_record__number",
                "object_summary__number", "anchor_record__number", "anchor_summary__number",
            ),
            key=str,
        ),
    }  # fmt: skip


def without_dropped(body, dropped):
    """The body with every dropped item taken out of it, by its path."""
    body = deepcopy(body)
    associations = body.get("associations", {})
    # From the end, so that what is left keeps its place.
    for path in sorted({item["item"] for item in dropped}, key=_place, reverse=True):
        if path == "anchor_ref":
            del body["anchor_ref"]
            continue
        relation = re.match(r"(relations)\[(\d+)\](?:\.(?:subject|object))?$", path)
        entity = re.match(r"(entities)\[(\d+)\]$", path)
        alias = re.match(r"entities\[(\d+)\]\.aliases\[(\d+)\]$", path)
        inner = re.match(r"(entities|relations)\[(\d+)\]\.(\w+|\?)$", path)
        if whole := relation or entity:
            associations[whole[1]][int(whole[2])] = None
        elif alias:
            associations["entities"][int(alias[1])]["aliases"].pop(int(alias[2]))
        elif inner and (item := associations[inner[1]][int(inner[2])]) is not None:
            known = {"entities": {"name", "aliases"}, "relations": {"subject", "predicate", "object"}}[
                inner[1]
            ]
            for name in [name for name in item if name == inner[3] or name not in known]:
                del item[name]
        elif not inner:
            del associations[path]
    for kind in ("entities", "relations"):
        if kind in associations:
            associations[kind] = [item for item in associations[kind] if item is not None]
    return body


def _place(path):
    return [int(number) for number in re.findall(r"\d+", path)]


@PROFILE
@given(bodies=SEVERAL)
def test_exactly_what_is_not_dropped_is_declared(bodies, fresh):
    """The same bodies without what was dropped drop nothing and make the same graph."""
    store, client = fresh()
    other, other_client = fresh()
    for body in bodies:
        answer = send(store, client, body)
        cleaned = send(other, other_client, without_dropped(body, answer["dropped"]))
        assert cleaned["dropped"] == []
        for name in ("entities", "mentions", "relations"):
            assert cleaned[name] == answer[name]
        assert graph_of(other) == graph_of(store)


@PROFILE
@given(bodies=SEVERAL)
def test_declaring_twice_changes_nothing(bodies, fresh):
    store, client = fresh()
    for body in bodies:
        first = send(store, client, body)
        graph, counter = graph_of(store), StoreCounter.objects.filter(store=store).values().get()
        again = send(store, client, body)
        for entity in first["entities"]:
            entity["created"] = False
        assert again == first
        assert graph_of(store) == graph
        assert StoreCounter.objects.filter(store=store).values().get() == counter


@PROFILE
@given(
    bodies=SEVERAL,
    retract=st.fixed_dictionaries(
        {},
        optional={
            "relations": mostly(st.lists(mostly(st.integers(-1, 4)), max_size=4)),
            "mentions": mostly(st.lists(mostly(member(entity=st.integers(0, 3), ref=REFS)), max_size=4)),
            "x": JUNK,
        },
    ),
)
def test_a_preview_is_what_declaring_then_answers(bodies, retract, fresh):
    store, client = fresh()
    for place, body in enumerate(bodies):
        wanted = body | ({"retract": retract} if place else {})
        graph = graph_of(store)
        planned = send(store, client, wanted, "/associations/preview")
        assert graph_of(store) == graph
        done = send(store, client, wanted)
        registers = planned.pop("registers")
        assert planned.pop("result") == "preview"
        assert done.pop("result") == "declared"
        # The ids of what is new are not known before.
        for before, after in zip(planned["entities"], done["entities"], strict=True):
            after["id"] = before["id"] and after["id"]
        done["relations"] = [
            before and after for before, after in zip(planned["relations"], done["relations"], strict=True)
        ]
        assert planned == done
        grown = graph_of(store)
        known = {row[0] for row in graph["entities"]}
        assert registers["entities"] == [row[1] for row in grown["entities"] if row[0] not in known]
        assert len(registers["aliases"]) == len(grown["aliases"]) - len(graph["aliases"])
        gone = done.get("retracted", {"relations": 0, "mentions": 0})
        for name, kind in (("mentions", "mentions"), ("relations", "associations")):
            assert len(registers[name]) - gone[name] == len(grown[kind]) - len(graph[kind])


@PROFILE
@given(associations=JUNK | ASSOCIATIONS)
def test_whatever_rides_on_it_a_record_is_stored(associations, fresh):
    store, client = fresh()
    rows = [{"content": "x", "associations": associations}]
    answer = client.post(url(store, "/records"), {"records": rows}, format="json")
    assert answer.status_code == 201, answer.content
    assert answer.json()["records"][0]["ref"] == "mem:4"


@pytest.mark.parametrize(
    ("text", "ref"),
    [("mem:1", "mem:1"), ("mem:001", "mem:1"), (" ep:7\n", "ep:7"), ("mem:" + "0" * 300 + "9", "mem:9"),
     ("mem:" + "9" * 5000, "mem:0"), ("mem:0", "mem:0"), ("mem:", None), ("MEM:1", None), ("mem: 1", None),
     ("mem:１", None), ("mem:1.0", None), ("sum:1", None), (None, None), (1, None)],
)  # fmt: skip
def test_a_ref_is_canonical(text, ref):
    read = read_ref(text)
    assert (str(read) if read is not None else None) == ref


def test_two_at_once_register_a_name_once(store):
    body = {
        "entities": [{"name": "Quay", "aliases": ["kay"]}],
        "relations": [{"subject": "Quay", "predicate": "near", "object": "Pier"}],
    }

    def one(_):
        try:
            report = declare(store, read_declaration(body), declared_by="agent", now=timezone.now())
            return report.entities[0][1], report.relations[0].number
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(one, range(16)))
    assert sorted(results) == [(False, 1)] * 15 + [(True, 1)]
    assert Entity.objects.filter(store=store).count() == 2
    assert EntityAlias.objects.filter(store=store).count() == 1
