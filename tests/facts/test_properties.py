"""Any sequence of commands, refused ones among them, leaves a store that holds what it must."""

from django.test import override_settings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryconsole.models import (
    Claim,
    ContradictionGroup,
    ContradictionMember,
    Decision,
    Fact,
    FactEvidence,
    FactWindow,
    IndexEntry,
    StoreCounter,
    WindowCitation,
)
from memoryconsole.services.facts.counting import lineages
from tests.conftest import make_client, make_store, make_user
from tests.facts.world import World, ref
from tests.properties import examples

CLAIMS, FACTS = 5, 6

claim = st.integers(0, CLAIMS - 1)
fact = st.integers(0, FACTS - 1)
stance = st.sampled_from(["supports", "contradicts"])
window = st.sampled_from(
    [
        {"precision": "unknown"},
        {"from": "2020", "precision": "year"},
        {"from": "2020", "until": "2021", "precision": "year"},
        {"until": "2022-06", "precision": "month"},
        {"from": "2023-05-17", "precision": "day"},
        {"from": "2021-03-01T12:00:00Z", "precision": "open"},
    ]
)
commands = st.lists(
    st.one_of(
        st.tuples(st.just("declare"), st.integers(0, 3), st.lists(st.tuples(claim, stance), min_size=1, max_size=3), window),
        st.tuples(st.just("attach"), fact, claim, stance),
        st.tuples(st.just("detach"), fact, claim),
        st.tuples(st.just("window"), fact, window, st.lists(claim, max_size=2)),
        st.tuples(st.just("supersede"), fact, fact),
        st.tuples(st.just("retract"), fact),
        st.tuples(st.just("judge"), fact, st.sampled_from(["restore_support", "invalidate_fact", "uncertain"]), claim),
        st.tuples(st.just("contradict"), st.lists(fact, min_size=2, max_size=3), st.booleans()),
        st.tuples(st.just("resolve"), fact, st.sampled_from(["pick", "all_stand"])),
        st.tuples(st.just("currency"), st.sampled_from(["processing", "source"]), claim, st.booleans()),
        st.tuples(st.just("forget"), claim),
    ),
    min_size=8,
    max_size=25,
)  # fmt: skip


class Play:
    """Plays commands over the API and keeps a count of its own of what was done."""

    def __init__(self):
        user = make_user("ada", can_create_stores=True)
        store = make_store(user)
        self.world = World(store, make_client(user, store))
        self.tern = self.world.entity("Aurora Tern")
        # Two claims share a document, one reports somebody's words.
        shared = self.world.document()
        self.claims = [
            self.world.claim(shared),
            self.world.claim(shared, text="again"),
            self.world.claim(is_attributed=True, mentions=[self.tern]),
            self.world.claim(),
            self.world.claim(is_current=False),
        ]

    def run(self, steps):
        for name, *arguments in steps:
            before = Decision.objects.filter(store=self.world.store).count()
            answer = getattr(self, name)(*arguments)
            told = Decision.objects.filter(store=self.world.store).count() - before
            if answer is not None:
                assert answer.status_code in (200, 201, 400, 404, 409), answer.content
                changed = answer.status_code < 300 and answer.json().get(
                    "changed", answer.json().get("created", True)
                )
                if answer.status_code >= 400:
                    assert told == 0
                elif changed:
                    assert told >= 1
            check(self.world.store)

    def facts(self):
        return list(Fact.objects.filter(store=self.world.store).order_by("number"))

    def at(self, place):
        facts = self.facts()
        return facts[place % len(facts)] if facts else None

    def declare(self, trait, evidence, given):
        unique = dict(evidence)
        body = {
            "kind": "observation",
            "subject_id": str(self.tern.uuid),
            "statement": f"carries {trait}",
            "evidence": [{"claim_id": str(self.claims[n].uuid), "stance": s} for n, s in unique.items()],
            "window": given,
            "window_claim_ids": [str(self.claims[n].uuid) for n in unique][: given["precision"] != "unknown"],
        }
        return self.world.post("/facts", body)

    def _command(self, place, name, body):
        row = self.at(place)
        return None if row is None else self.world.command(row, name, body, status=None)

    def attach(self, place, n, side):
        return self._command(place, "evidence", {"claim_id": str(self.claims[n].uuid), "stance": side})

    def detach(self, place, n):
        return self._command(place, "evidence/detach", {"claim_id": str(self.claims[n].uuid)})

    def window(self, place, given, cited):
        body = {"window": given, "window_claim_ids": [str(self.claims[n].uuid) for n in set(cited)]}
        return self._command(place, "window", body)

    def supersede(self, place, other):
        row = self.at(other)
        return None if row is None else self._command(place, "supersede", {"successor": ref(row)})

    def retract(self, place):
        return self._command(place, "retract", {"reason": "a slip"})

    def judge(self, place, verdict, n):
        body = {"verdict": verdict}
        if verdict == "restore_support":
            body["claim_id"] = str(self.claims[n].uuid)
        return self._command(place, "support", body)

    def contradict(self, places, join):
        rows = {row.pk: row for row in map(self.at, places) if row is not None}
        if len(rows) < 2:
            return None
        return self.world.group(*rows.values(), status=None, join=join)

    def resolve(self, place, verdict):
        row = self.at(place)
        group = ContradictionGroup.objects.filter(store=self.world.store).order_by("-created_at").first()
        if group is None:
            return None
        body = {"verdict": verdict} | ({"keep": ref(row)} if verdict == "pick" else {})
        return self.world.post(f"/contradictions/{group.uuid}/resolve", body)

    def currency(self, cause, n, current):
        self.world.change(cause, [self.claims[n]], is_current=current)

    def forget(self, n):
        self.world.forget(self.claims[n])


def check(store):
    facts = {row.pk: row for row in Fact.objects.filter(store=store)}
    claims = {row.pk: row for row in Claim.objects.filter(store=store).select_related("record", "document")}
    links = list(FactEvidence.objects.filter(store=store))
    for row in facts.values():
        check_window(row)
        check_support(row, links, claims)
        check_citations(row, claims)
        check_history(row)
    check_groups(store, facts)
    check_index(store, links)
    check_clock(store)


def check_window(row):
    shape = (row.valid_from is not None, row.valid_until is not None)
    assert {"unknown": shape == (False, False), "open": shape == (True, False)}.get(
        row.valid_precision, any(shape)
    )
    if all(shape):
        assert row.valid_from < row.valid_until


def check_support(row, links, claims):
    """The slow count: the documents of the claims that are said today."""
    documents = {
        side: {
            claims[link.claim_id].document_id
            for link in links
            if link.fact_id == row.pk and link.stance == side and is_said(claims[link.claim_id])
        }
        for side in ("supports", "contradicts")
    }
    counts = lineages(row.store, [row.pk])
    assert counts == {(row.pk, side): len(found) for side, found in documents.items() if found}
    if row.invalidated_at is None:
        assert row.support == ("current" if documents["supports"] else "withdrawn")


def is_said(claim):
    return claim.is_current and claim.record.deleted_at is None and claim.document.deleted_at is None


def check_citations(row, claims):
    cited = set(WindowCitation.objects.filter(fact=row).values_list("claim", flat=True))
    alive = {key for key in cited if claims[key].record.deleted_at is None}
    assert bool(alive) == (row.valid_precision != "unknown")


def check_history(row):
    """Past windows follow one another up to today's, without a gap; belief runs forward."""
    held = [row.ingested_at]
    for past in FactWindow.objects.filter(fact=row).order_by("held_from", "pk"):
        assert past.held_from == held[-1]
        held.append(past.held_until)
    assert held[-1] == row.window_since
    assert held == sorted(set(held))
    assert row.invalidated_at is None or row.invalidated_at >= row.window_since


def check_groups(store, facts):
    members = list(ContradictionMember.objects.filter(store=store).select_related("group"))
    live = [member for member in members if member.left_at is None]
    assert len({member.fact_id for member in live}) == len(live)
    for member in live:
        assert member.group.resolved_at is None
        assert facts[member.fact_id].invalidated_at is None
    for member in members:
        assert member.left_at is None or member.left_at > member.joined_at


def check_index(store, links):
    """Facts are found as long as they rest on a claim that may be seen, held or not."""
    found = set(IndexEntry.objects.filter(store=store, fact__isnull=False).values_list("fact", flat=True))
    assert found == {link.fact_id for link in links}


def check_clock(store):
    """What was decided later was decided at a later instant, and none is ahead of the store's clock."""
    instants = list(Decision.objects.filter(store=store).order_by("id").values_list("decided_at", flat=True))
    assert instants == sorted(instants)
    belief_at = StoreCounter.objects.get(store=store).belief_at
    assert not instants or instants[-1] == belief_at


@settings(
    max_examples=examples(15),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(steps=commands)
@override_settings(EMBEDDER="none")
def test_whatever_is_commanded(steps):
    Play().run(steps)
