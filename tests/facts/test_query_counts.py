"""How many statements each command takes, in a data file: a change is a decision, and none grows with its rows."""

import json
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.conftest import url
from tests.facts.world import address, contradicts, ref, supports

EXPECTED = json.loads((Path(__file__).parent / "query_counts.json").read_text())
YEAR = {"from": "2024", "precision": "year"}


class Calls:
    """Each call on facts of its own, about one ship, resting on `amount` claims each."""

    def __init__(self, world, tern, ferries, amount):
        self.world, self.tern, self.ferries = world, tern, ferries
        self.amount = amount
        self.made = 0

    def claims(self):
        return [self.world.claim() for _ in range(self.amount)]

    def fact(self, claims=None, **members):
        self.made += 1
        return self.world.observe(self.tern, f"trait {self.made}", *(claims or self.claims()), **members)

    def facts(self):
        return [self.fact() for _ in range(self.amount + 1)]

    def body(self, claims):
        self.made += 1
        return {
            "kind": "relation", "subject_id": str(self.ferries.uuid), "predicate": f"other:runs_{self.made}",
            "object_id": str(self.tern.uuid), "evidence": [supports(claim) for claim in claims],
            "window": YEAR, "window_claim_ids": [str(claim.uuid) for claim in claims],
        }  # fmt: skip

    def post(self, tail, body):
        return lambda: self.world.post(tail, body)

    def get(self, tail):
        return lambda: self.world.api.get(url(self.world.store, tail))

    def command(self, fact, name, body):
        return self.post(f"{address(fact)}/{name}", body)

    # One a name in the data file.

    def declare(self):
        return self.post("/facts", self.body(self.claims()))

    def declare_again(self):
        body = self.body(self.claims())
        self.world.post("/facts", body, status=201)
        return self.post("/facts", body)

    def list(self):
        self.facts()
        return self.get("/facts")

    def read(self):
        return self.get(address(self.facts()[0]))

    def attach(self):
        return self.command(self.fact(), "evidence", contradicts(self.world.claim()))

    def detach(self):
        claims = [*self.claims(), self.world.claim()]
        return self.command(self.fact(claims), "evidence/detach", {"claim_id": str(claims[0].uuid)})

    def window(self):
        claims = self.claims()
        body = {"window": YEAR, "window_claim_ids": [str(claim.uuid) for claim in claims]}
        return self.command(self.fact(claims), "window", body)

    def supersede(self):
        claims = self.claims()
        cited = [str(claim.uuid) for claim in claims]
        after = self.fact(claims, window=YEAR, window_claim_ids=cited)
        return self.command(self.fact(), "supersede", {"successor": ref(after)})

    def retract(self):
        return self.command(self.fact(), "retract", {"reason": "a slip"})

    def judge(self):
        claims = self.claims()
        fact = self.fact(claims)
        self.world.set_current(*claims, current=False)
        return self.command(fact, "support", {"verdict": "uncertain"})

    def contradict(self):
        return self.post("/contradictions", {"members": [ref(fact) for fact in self.facts()]})

    def list_groups(self):
        self.group()
        return self.get("/contradictions")

    def read_group(self):
        return self.get(f"/contradictions/{self.group()}")

    def extend(self):
        body = {"members": [ref(fact) for fact in self.facts()]}
        return self.post(f"/contradictions/{self.group()}/members", body)

    def resolve(self):
        facts = self.facts()
        group = self.world.group(*facts).json()["id"]
        return self.post(f"/contradictions/{group}/resolve", {"verdict": "pick", "keep": ref(facts[0])})

    def group(self):
        return self.world.group(*self.facts()).json()["id"]


def counted(call):
    with CaptureQueriesContext(connection) as captured:
        answer = call()
    assert answer.status_code in (200, 201), answer.content
    return len(captured)


@pytest.mark.parametrize("name", EXPECTED)
def test_statements_per_command_whatever_it_is_about(name, world, tern, ferries):
    # The first fact of a store also makes its embedding space.
    Calls(world, world.entity("Gannet"), ferries, 1).fact()
    few = counted(getattr(Calls(world, tern, ferries, 1), name)())
    many = counted(getattr(Calls(world, world.entity("Skerry"), ferries, 6), name)())
    assert (few, many) == (EXPECTED[name], EXPECTED[name])
