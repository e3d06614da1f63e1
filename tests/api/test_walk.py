"""The relation walk on a real database: any bound is answered, scopes hold at both ends, wide graphs are quick."""

import uuid

import pytest
from django.utils import timezone

from memoryconsole.models import Association, Entity, EntityAlias, Mention, Record, Store

NOW = timezone.now()


def url(store):
    return f"/api/v1/stores/{store.public_id}/reconstruct"


@pytest.fixture
def ask(api, store):
    def ask(query, **members):
        answer = api.post(url(store), {"query": query, **members}, format="json")
        assert answer.status_code == 200, answer.content
        return answer.json()

    return ask


def declare(store: Store, *names: str, **scope: str) -> list[Entity]:
    first = Entity.objects.filter(store=store).count() + 1
    return Entity.objects.bulk_create(
        Entity(store=store, number=number, uuid=uuid.uuid4(), name=name, declared_key=name.casefold(),
               created_at=NOW, **scope)
        for number, name in enumerate(names, first)
    )  # fmt: skip


def relate(store: Store, *ends: tuple[Entity, Entity]) -> None:
    first = Association.objects.filter(store=store).count() + 1
    Association.objects.bulk_create(
        Association(store=store, number=number, subject_entity=subject, predicate="near", object_entity=object_,
                    declared_at=NOW)
        for number, (subject, object_) in enumerate(ends, first)
    )  # fmt: skip


def write(store: Store, amount: int) -> list[Record]:
    """Records no query of this file finds, numbered after those that were said."""
    first = Record.objects.filter(store=store).count() + 1
    return Record.objects.bulk_create(
        Record(store=store, number=number, uuid=uuid.uuid4(), content=f"ballast {number}", digest=b"%032d" % number,
               timestamp=f"2026-01-01T00:{number % 60:02}:00Z", created_at=NOW, believed_at=NOW)
        for number in range(first, first + amount)
    )  # fmt: skip


def mention(store: Store, *places: tuple[Entity, Record]) -> None:
    Mention.objects.bulk_create(
        Mention(store=store, entity=entity, record=record, created_at=NOW) for entity, record in places
    )


def found(store, say, text="walrus"):
    (ref,) = say(text)
    return Record.objects.get(store=store, number=int(ref.split(":")[1]))


@pytest.mark.parametrize("bound", [2**31 - 2, 2**31 - 1, 2**31, 2**53 - 1])
def test_no_evidence_bound_is_too_large(ask, store, say, bound):
    start = found(store, say)
    pier, crew = declare(store, "pier", "crew")
    relate(store, (pier, crew))
    [aside] = write(store, 1)
    mention(store, (pier, start), (crew, aside))
    body = ask("walrus", max_evidence=bound, top_k=1)
    assert {claim["ref"] for item in body["items"] for claim in item["claims"]} == {aside.ref, start.ref}


def test_a_walked_claim_is_whole_and_what_was_cut_is_counted(ask, store, say):
    start = found(store, say)
    pier, crew, office = declare(store, "pier", "crew", "office")
    relate(store, (pier, crew), (crew, office))
    near, *far = write(store, 4)
    mention(store, (pier, start), (crew, near), *((office, record) for record in far))
    body = ask("walrus", max_evidence=2, top_k=1)
    [item] = body["items"]
    assert {"ref": near.ref, "as_of": near.timestamp, "why": "relation:near", "hops": 1} in item["claims"]
    # Of the office's three records two are read; one more is known to be there.
    assert item["claims_omitted"] == 2
    assert "max_evidence" in body["bounds"]["reached"]


@pytest.mark.parametrize("channel", ["", "deck"])
def test_a_relation_leads_only_to_entities_the_call_reads(ask, store, say, channel):
    start = found(store, say)
    [pier] = declare(store, "pier")
    [crew] = declare(store, "crew", channel="deck")
    [office] = declare(store, "office", channel="bridge")
    relate(store, (pier, crew), (office, pier))
    on_deck, on_bridge = write(store, 2)
    mention(store, (pier, start), (crew, on_deck), (office, on_bridge))
    [item] = ask("walrus", top_k=1, channel=channel)["items"]
    refs = {claim["ref"] for claim in item["claims"]}
    assert refs == {start.ref, on_deck.ref} | (set() if channel else {on_bridge.ref})


def test_an_alias_counts_only_where_its_entity_is_read(ask, store, say):
    say({"content": "walrus", "channel": "deck"})
    [office] = declare(store, "office", channel="bridge")
    EntityAlias.objects.create(store=store, entity=office, alias="Walrus", declared_key="walrus")
    assert ask("walrus", trace=True)["trace"]["cues"]["entities"] == ["office"]
    assert "cues" not in ask("walrus", trace=True, channel="deck")["trace"]


def test_of_a_wide_neighbourhood_an_item_keeps_what_it_may(ask, store, say):
    """50 neighbours of 41 mentions each. An item keeps 40 of them."""
    start = found(store, say)
    pier, *crews = declare(store, "pier", *(f"crew {n}" for n in range(50)))
    relate(store, *((pier, crew) for crew in crews))
    records = write(store, 50 * 41)
    mention(store, (pier, start), *((crews[n // 41], record) for n, record in enumerate(records)))
    body = ask("walrus", top_k=1)
    [item] = body["items"]
    assert (len(item["claims"]), item["claims_omitted"]) == (40, 50 * 40 - 39)
    assert "max_evidence" in body["bounds"]["reached"]
