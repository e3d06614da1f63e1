"""What a newer version of a text takes along: the mentions of what it still says. And what it leaves behind."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memoryconsole.models import Mention
from tests.api.declared import named, relation
from tests.api.harbour import Harbour
from tests.conftest import url

BERTHS = "# Berths\n\nThe Tern lies at berth four."
CREW = "# Crew\n\nMarit Solvang sails the Tern. She joined in May."


@pytest.fixture
def harbour(api, store):
    return Harbour(api, store)


@pytest.fixture
def tern(harbour):
    return harbour.entity("Aurora Tern")


@pytest.fixture
def mention(harbour, tern):
    """The entity is mentioned at these words of a passage."""

    def mention(chunk, quote, entity=tern):
        return harbour.post("/mentions", {"chunk_id": chunk, "entity_id": entity, "quote": quote})

    return mention


@pytest.fixture
def newer(harbour):
    def newer(document, text):
        return harbour.post(f"/documents/{document}/versions", {"text": text}, status=(201,))

    return newer


def chunks(harbour, anchor, query="berth tern"):
    return {chunk["chunk_id"] for chunk in harbour.said(query, entity_ids=[anchor])["chunks"]}


def mentioned(store, chunk):
    """The words at which the record is said to mention somebody; None for a mention at no place."""
    found = Mention.objects.select_related("record").filter(store=store, record__uuid=chunk).order_by("pk")
    return [m.record.content[m.char_start : m.char_end] if m.char_end else None for m in found]


def test_a_passage_that_stays_is_found_under_its_anchor_as_before(harbour, tern, mention, newer, store):
    document = harbour.document(f"{BERTHS}\n\n{CREW}\n")
    before = harbour.passages(document)[0]["chunk_id"]
    mention(before, "Tern")
    assert chunks(harbour, tern) == {before}
    newer(document, f"Foreword.\n\n{BERTHS}\n\n# Crew\n\nNobody.\n")
    passages = {row["content"]: row["chunk_id"] for row in harbour.passages(document)}
    after = passages[BERTHS]
    assert after != before
    assert chunks(harbour, tern) == {after}
    assert mentioned(store, after) == mentioned(store, before) == ["Tern"]
    # And once more, through a version that came between.
    newer(document, f"{BERTHS}\n")
    (last,) = harbour.passages(document)
    assert chunks(harbour, tern) == {last["chunk_id"]}


def test_a_mention_at_no_place_stays_with_an_unchanged_passage_alone(harbour, declare, newer, store):
    document = harbour.document(f"{BERTHS}\n\n{CREW}\n")
    for passage in harbour.passages(document):
        declare(named("Harbour"), anchor_ref=passage["ref"])
    newer(document, f"{BERTHS}\n\n{CREW} She left.\n")
    same, changed = (row["chunk_id"] for row in harbour.passages(document))
    assert (mentioned(store, same), mentioned(store, changed)) == ([None], [])


def test_in_a_changed_passage_a_claim_takes_its_mentions_along(harbour, tern, mention, newer, store):
    document = harbour.document(f"{BERTHS}\n\n{CREW}\n")
    crew = harbour.passages(document)[1]["chunk_id"]
    marit = harbour.entity("Marit")
    harbour.claim("Marit Solvang sails the Tern.", marit, chunk=crew)
    mention(crew, "the Tern")
    mention(crew, "She", marit)
    answer = newer(
        document, f"{BERTHS}\n\n# Crew\n\nIn June: Marit Solvang sails the Tern. She joined in May.\n"
    )
    assert answer["claims"] == {"carried": 1, "closed": 0}
    after = harbour.passages(document)[1]["chunk_id"]
    # What stood beside the claim is not said to stand there still.
    assert mentioned(store, after) == ["Marit Solvang sails the Tern.", "the Tern"]
    assert after in chunks(harbour, tern)


def test_a_claim_that_is_closed_takes_nothing_along(harbour, tern, mention, newer, store):
    document = harbour.document(f"{CREW}\n")
    chunk = harbour.passages(document)[0]["chunk_id"]
    harbour.claim("Marit Solvang sails the Tern.", tern, chunk=chunk)
    assert newer(document, "# Crew\n\nMarit sails.\n")["claims"] == {"carried": 0, "closed": 1}
    (passage,) = harbour.passages(document)
    assert mentioned(store, passage["chunk_id"]) == []
    assert chunks(harbour, tern) == set()


def test_of_passages_that_say_the_same_each_follows_its_own(harbour, mention, newer, store):
    document = harbour.document(
        "# Log\n\nThe Tern left.\n\n# Log\n\nThe Tern left.\n\n# Log\n\nThe Tern left.\n"
    )
    first, second, third = (row["chunk_id"] for row in harbour.passages(document))
    mention(first, "Log")
    mention(second, "Tern")
    mention(third, "left")
    newer(document, "# New\n\nWords.\n\n# Log\n\nThe Tern left.\n\n# Log\n\nThe Tern left.\n")
    _, first, second = (row["chunk_id"] for row in harbour.passages(document))
    assert (mentioned(store, first), mentioned(store, second)) == (["Log"], ["Tern", "left"])


def test_a_newer_message_takes_along_what_its_claims_mention(harbour, tern, mention, say, api, store):
    say({"content": "The Tern is late. Is the Tern full?", "message_id": "m1"})
    said = api.get(url(store, "/records/mem:1")).json()["chunk_id"]
    harbour.claim("The Tern is late.", chunk=said)
    mention(said, "The Tern")
    mention(said, "full")
    say({"content": "Sorry: The Tern is late.", "message_id": "m1"})
    newest = api.get(url(store, "/records/mem:2")).json()["chunk_id"]
    assert mentioned(store, newest) == ["The Tern"]
    assert newest in chunks(harbour, tern, "late")


def test_how_many_statements_a_version_takes_does_not_depend_on_its_passages(harbour, tern, mention, api):
    def taken(amount, ref):
        text = "".join(f"# Berth {place}\n\nThe Tern lies at berth {place}.\n\n" for place in range(amount))
        document = harbour.document(text, ref=ref)
        for row in harbour.passages(document):
            harbour.claim(row["content"].splitlines()[-1], tern, chunk=row["chunk_id"])
        with CaptureQueriesContext(
            connection,
        ) as context:
            harbour.post(f"/documents/{document}/versions", {"text": text + "# End\n\nThe end.\n"})
        return len(context)

    assert taken(2, "short") == taken(9, "long")


# What is left behind (decisions 20).


def test_the_walk_leads_to_no_passage_that_was_replaced(
    harbour, mention, newer, ask, traverse, read, declare, say
):
    document = harbour.document(f"{CREW}\n\n{BERTHS}\n")
    crew, berths = harbour.passages(document)
    declare(named("Marit"), anchor_ref=crew["ref"])
    declare(named("Marit"), anchor_ref=berths["ref"])
    (asked,) = say("The walrus sleeps.")
    declare(named("Walrus"), anchor_ref=asked)
    declare(relation("Marit", "feeds", "Walrus"))

    def walked():
        (item,) = ask("walrus", top_k=1)["items"]
        return {claim["ref"] for claim in item["claims"]}

    def where():
        return [ref for entity in traverse("Marit")["entities"] if entity["name"] == "Marit"
                for ref in entity["mentions"]]  # fmt: skip

    assert where() == [crew["ref"], berths["ref"]]
    assert walked() == {asked, crew["ref"], berths["ref"]}
    newer(document, f"{BERTHS}\n")
    (kept,) = harbour.passages(document)
    assert where() == [kept["ref"]]
    assert walked() == {asked, kept["ref"]}
    assert [item["content"] for item in read(crew["ref"])["items"]] == [crew["content"]]
