"""The other sides of a fact, page by page: each once, all of them, in the scope of the answer they are from."""

import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memoryconsole.models import Trace
from provenance.context_bundle.spine import contexts
from tests.api.harbour import Harbour, shown
from tests.conftest import make_client, make_store, url

MEMBERS = "contradiction_members"
OPEN = {"from": "2020-01-01T00:00:00Z", "precision": "open"}


@pytest.fixture
def harbour(api, store):
    return Harbour(api, store)


def declare(harbour, amount, relations=None):
    """(the entity, the facts of a group of so many as (kind, id)), half of them relations if nothing else is said."""
    ferry, line = harbour.entity("Aurora Tern"), harbour.entity("Skerry Line")
    claim = harbour.claim("the ferry belongs to somebody and carries many", ferry)
    facts = []
    for n in range(amount):
        if n % 2 and n // 2 < (amount if relations is None else relations):
            facts.append(("relation", harbour.relate(ferry, f"other:tie_{n}", line, claim, window=OPEN)))
        else:
            facts.append(("observation", harbour.observe(ferry, f"the ferry carries {n}", claim)))
    harbour.contradict(*facts)
    return ferry, facts


@pytest.fixture
def disputed(harbour):
    return declare(harbour, 60)


def named(rows):
    return [(row["kind"], row["fact_id"]) for row in rows]


def pages(harbour, group, mark=None):
    """Every page of a list, at most ten."""
    found = []
    while len(found) < 10 and (mark or not found):
        found.append(harbour.ask(MEMBERS, group_id=group, **({"continuation": mark} if mark else {})))
        mark = found[-1]["truncation"]["continuation"]
    return found


def cut_of(page):
    cut = page["truncation"]
    return tuple(
        cut[name] for name in ("truncated", "returned", "estimated_total", "total_is_exact", "reason")
    )


def first(harbour, ferry, **body):
    """A fact of an answer, with its block."""
    return harbour.facts(entity_ids=[ferry], k=1, **body)["facts"][0]


def test_the_block_and_its_pages_are_all_others_each_once(disputed, harbour):
    ferry, facts = disputed
    for time in ({"mode": "current"}, {"mode": "history"}, {"mode": "at", "at": "2021-01-01T00:00:00Z"}):
        answer = harbour.facts(entity_ids=[ferry], k=1, time=time)
        viewpoint = answer["facts"][0]
        block = viewpoint["contradiction"]
        found = pages(harbour, block["group_id"], block["continuation"])
        listed = [*named(block["co_members"]), *(each for page in found for each in named(page["facts"]))]
        assert len(listed) == len(set(listed)) == block["total"] == 59
        assert set(listed) | set(named([viewpoint])) == set(facts)
        assert [cut_of(page) for page in found] == [
            (True, 25, 34, True, "result_budget"),
            (False, 9, 9, True, None),
        ]
        assert all(page["temporal_scope"] == answer["temporal_scope"] for page in found)


def test_a_side_outside_of_the_time_asked_is_in_no_page(harbour):
    ferry, facts = declare(harbour, 30, relations=2)
    block = first(harbour, ferry, time={"mode": "at", "at": "2019-01-01T00:00:00Z"})["contradiction"]
    (page,) = pages(harbour, block["group_id"], block["continuation"])
    assert block["total"] == 27
    assert {*named(page["facts"])} < {each for each in facts if each[0] == "observation"}
    assert len(page["facts"]) == 2


def test_each_member_is_shown_whole(disputed, harbour):
    ferry, facts = disputed
    whole = pages(harbour, first(harbour, ferry)["contradiction"]["group_id"])
    rows = [row for page in whole for row in page["facts"]]
    assert [len(page["facts"]) for page in whole] == [25, 25, 10]
    assert named(rows) == facts
    for row in rows:
        assert (row["evidence_count"], row["contradiction"]["total"], row["contradiction"]["returned"]) == (
            1,
            59,
            25,
        )
    for page in whole:
        assert [each["total"] for each in page["evidence_totals"]] == [1, 0] * len(page["facts"])
        assert len(page["fact_evidence"]) == len(page["facts"])
    block = rows[-1]["contradiction"]
    rest = pages(harbour, block["group_id"], block["continuation"])
    assert named(block["co_members"]) + [each for page in rest for each in named(page["facts"])] == facts[:-1]


def test_a_page_can_be_asked_for_twice_and_ends_where_all_are_shown(harbour):
    ferry, _ = declare(harbour, 28)
    block = first(harbour, ferry)["contradiction"]
    one, two = (harbour.ask(MEMBERS, group_id=block["group_id"].upper(), continuation=block["continuation"])
                for _ in range(2))  # fmt: skip
    del one["freshness"], two["freshness"]
    assert one == two
    assert len(one["facts"]) == 2
    small, (one, two) = declare(harbour, 2)
    assert first(harbour, small)["contradiction"]["continuation"] is None
    (page,) = pages(harbour, first(harbour, small)["contradiction"]["group_id"])
    assert named(page["facts"]) == [one, two]


def test_who_is_retracted_between_pages_is_dropped_and_counted(disputed, harbour):
    ferry, facts = disputed
    block = first(harbour, ferry)["contradiction"]
    kind, gone = facts[40]
    harbour.post(f"/facts/{kind}/{gone}/retract", {"reason": "it was a misprint"})
    late = harbour.observe(ferry, "the ferry carries horses")
    harbour.post(
        f"/contradictions/{block['group_id']}/members", {"members": [{"kind": "observation", "id": late}]}
    )
    one, two = pages(harbour, block["group_id"], block["continuation"])
    assert (one["dropped_by_hydration"], two["dropped_by_hydration"]) == (1, 0)
    assert [len(page["facts"]) for page in (one, two)] == [25, 8]
    assert not {gone, late} & {*shown(one), *shown(two)}
    assert {row["contradiction"]["total"] for page in (one, two) for row in page["facts"]} == {58}
    assert sum(len(page["facts"]) for page in pages(harbour, block["group_id"])) == 60


def test_a_group_resolved_between_pages_has_nobody_further(harbour):
    ferry, _ = declare(harbour, 28)
    block = first(harbour, ferry)["contradiction"]
    harbour.post(f"/contradictions/{block['group_id']}/resolve", {"verdict": "all_stand"})
    (page,) = pages(harbour, block["group_id"], block["continuation"])
    assert (page["negative"]["kind"], page["facts"], page["dropped_by_hydration"]) == ("known_empty", [], 2)
    assert harbour.ask(MEMBERS, group_id=block["group_id"])["negative"]["kind"] == "known_empty"


def test_an_unknown_group_and_another_stores_are_known_empty_alike(ada, harbour):
    ferry, _ = declare(harbour, 28)
    block = first(harbour, ferry)["contradiction"]
    other = make_store(ada)
    elsewhere = Harbour(make_client(ada, other), other)
    answers = [
        elsewhere.ask(MEMBERS, group_id=block["group_id"]),
        harbour.ask(MEMBERS, group_id=str(uuid.uuid4())),
    ]
    assert [each["negative"]["kind"] for each in answers] == ["known_empty"] * 2
    assert answers[0]["negative"] == answers[1]["negative"]
    assert answers[0]["truncation"]["total_is_exact"] is True
    refused = elsewhere.ask(MEMBERS, group_id=block["group_id"], continuation=block["continuation"])
    assert (refused["negative"]["kind"], refused["truncation"], refused["facts"]) == ("boundary", None, [])


def test_a_continuation_belongs_to_its_group_and_operation(harbour):
    ferry, _ = declare(harbour, 28)
    block = first(harbour, ferry)["contradiction"]
    mark, group = block["continuation"], block["group_id"]
    of_facts = harbour.facts(entity_ids=[ferry], k=1)["truncation"]["continuation"]
    altered = mark[:40] + ("B" if mark[40] == "A" else "A") + mark[41:]
    for body in (
        {"group_id": str(uuid.uuid4()), "continuation": mark},
        {"group_id": group, "continuation": altered},
        {"group_id": group, "continuation": of_facts},
    ):
        answer = harbour.ask(MEMBERS, **body)
        assert (answer["negative"]["kind"], answer["facts"]) == ("boundary", [])
    assert harbour.facts(entity_ids=[ferry], k=1, continuation=mark)["negative"]["kind"] == "boundary"
    for body in (
        {"group_id": group, "continuation": "page two"},
        {"group_id": group, "continuation": ""},
        {"group_id": "G1"},
        {"continuation": mark},
        {"group_id": group, "k": 3},
    ):
        assert harbour.ask(MEMBERS, status=400, **body)["code"] == "invalid_parameter"


def test_more_than_are_looked_at_make_the_total_a_lower_bound(harbour, monkeypatch):
    monkeypatch.setattr(contexts, "FACT_CANDIDATES", 27)
    ferry, facts = declare(harbour, 30)
    found = pages(harbour, first(harbour, ferry)["contradiction"]["group_id"])
    assert [each for page in found for each in named(page["facts"])] == facts
    cut = found[0]["truncation"]
    assert (cut["estimated_total"], cut["total_is_exact"], cut["reason"]) == (27, False, "candidate_budget")


def test_the_operation_is_none_of_the_four(api, store):
    described = api.get(url(store, "/operations")).json()["operations"]
    assert len(described) == 4
    assert MEMBERS not in {each["name"] for each in described}


def test_a_page_is_decided_again_and_questioned(api, disputed, harbour, store):
    ferry, facts = disputed
    block = first(harbour, ferry)["contradiction"]
    body = {"group_id": block["group_id"], "continuation": block["continuation"]}
    page = harbour.ask(MEMBERS, **body)
    trace = harbour.trace(MEMBERS, **body)
    alone = harbour.observe(ferry, "the ferry is painted")
    empty = harbour.trace(MEMBERS, group_id=str(uuid.uuid4()))
    for each in (trace, empty, harbour.trace(MEMBERS, group_id=block["group_id"])):
        assert harbour.replay(each) == {"same_core": True, "result": "identical"}
    assert Trace.objects.get(pk=empty).outcome == "empty"
    assert "ferry" not in str(Trace.objects.get(pk=trace).seen)
    inside = [f"{kind}:{fact}" for kind, fact in named(page["facts"])]
    behind = f"{facts[-1][0]}:{facts[-1][1]}"
    claim = page["evidence"][0]["claim_id"]
    later = harbour.trace(MEMBERS, **body)
    bounds = {ref: harbour.why(trace, ref)["bound"] for ref in (inside[0], behind, f"claim:{claim}")}
    assert bounds == {inside[0]: "inside", behind: "beyond_k", f"claim:{claim}": "evidence"}
    assert harbour.why(trace, f"{facts[0][0]}:{facts[0][1]}")["bound"] == "co_member"
    assert harbour.why(trace, f"observation:{alone}")["bound"] == "stored_later"
    early = harbour.why(
        harbour.trace(MEMBERS, **body | {"continuation": page["truncation"]["continuation"]}), inside[0]
    )
    assert (early["bound"], early["verdict"]) == ("earlier_page", "out")
    asked = harbour.trace(MEMBERS, group_id=block["group_id"])
    assert harbour.why(asked, f"observation:{alone}")["bound"] == "other_group"
    assert harbour.why(later, f"entity:{ferry}")["bound"] == "other_kind"
    refused = harbour.trace(MEMBERS, **body | {"group_id": str(uuid.uuid4())})
    assert harbour.replay(refused)["result"] == "identical"
    assert harbour.why(refused, inside[0])["bound"] == "continuation"


def test_a_larger_group_takes_no_more_statements(harbour):
    counts = set()
    for amount in (4, 28):
        ferry, _ = declare(harbour, amount)
        group = first(harbour, ferry)["contradiction"]["group_id"]
        with CaptureQueriesContext(connection) as captured:
            harbour.ask(MEMBERS, group_id=group)
        counts.add(len(captured))
    assert len(counts) == 1
