"""What becomes of claims while their sources go on, against a slow model; in races; and in a restored store."""

import json
import threading

import pytest
from django.db import connection
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryconsole.declarations import RowRef
from memoryconsole.models import Claim, ClaimCurrency, ClaimOccurrence, Document, IndexEntry, Passage, Record
from memoryconsole.services import documents, testimony
from memoryconsole.services.documents import NewDocument, NewVersion
from memoryconsole.services.facts.transcript import RULE
from memoryconsole.services.ingest import NewRecord, store_records
from memoryconsole.services.standing import current_records
from memoryconsole.services.testimony import NewClaim, declare_claim
from tests.conftest import make_store
from tests.properties import examples
from tests.services.transfer_world import exported, imported

NOW = timezone.now()


def write(store, text, ref="log"):
    new = NewDocument(source_kind="file", source_ref=ref, version=NewVersion(text=text))
    return documents.ingest_document(store, new, now=timezone.now())


def say(store, *texts, **members):
    stored = store_records(store, [NewRecord(content=text, **members) for text in texts], now=timezone.now())
    return [int(row.ref.removeprefix("mem:")) for row in stored]


def declare(store, number, quote, text="a claim"):
    new = NewClaim(chunk=RowRef("mem", number), claim_text=text, quote=quote)
    return declare_claim(store, new, declared_by="agent", decider=RULE, now=timezone.now())


WORDS = ["alpha", "bravo", "charlie", "delta"]
texts = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True), min_size=1, max_size=3
)


def write_as(text):
    return "\n\n".join(f"# S{n}\n\n{' '.join(words)}" for n, words in enumerate(text))


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(texts, min_size=2, max_size=6), st.booleans())
def test_a_claim_is_current_while_each_version_still_says_it(ada, versions, as_messages):
    """Slowly: a claim on one word, declared on each version that says it, lives until the first that does not."""
    store = make_store(ada)
    model = {}
    before = None
    for version in versions:
        text = write_as(version)
        if text == before:
            continue
        before = text
        if as_messages:
            say(store, text, message_id="m")
        else:
            write(store, text)
        model = {word: current and word in text for word, current in model.items()}
        chunk = current_records(store).filter(content__contains=version[0][0]).order_by("number").first()
        word = version[0][0]
        if chunk.content.count(word) == 1:
            made = declare(store, chunk.number, word, text=word)
            assert made.created == (word not in model)
            assert made.restored == (model.get(word) is False)
            model[word] = True
    stored = {claim.claim_text: claim for claim in Claim.objects.filter(store=store)}
    assert {word: claim.is_current for word, claim in stored.items()} == model
    current = set(current_records(store).values_list("pk", flat=True))
    for claim in stored.values():
        ledger = list(
            ClaimCurrency.objects.filter(claim=claim).order_by("id").values_list("current", flat=True)
        )
        assert claim.is_current == (ledger[-1] if ledger else True)
        assert all(one != other for one, other in zip([True, *ledger], ledger, strict=False))
        places = ClaimOccurrence.objects.filter(claim=claim).select_related("record__passage__version")
        for place in [claim, *places]:
            passage = Passage.objects.filter(record=place.record_id).select_related("version").first()
            text = passage.version.text if passage else place.record.content
            assert [text[start:end] for start, end in place.spans] == [claim.source_span]
        # It is current exactly when a current text is known to say it.
        assert claim.is_current == bool(current & {place.record_id for place in [claim, *places]})


def together(*calls):
    """Run the calls at once; answers what they raised."""
    gate = threading.Barrier(len(calls))
    raised = []

    def run(call):
        try:
            gate.wait(10)
            call()
        except Exception as fault:
            raised.append(fault)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return raised


def test_two_who_declare_the_same_make_one_claim(store):
    (number,) = say(store, "The ferry is late.")
    assert together(*[lambda: declare(store, number, "late")] * 3) == []
    assert Claim.objects.filter(store=store).count() == 1


def test_a_claim_that_races_with_a_newer_version_is_closed_or_refused(store):
    (number,) = say(store, "The ferry is late.", message_id="m")
    raised = together(
        lambda: declare(store, number, "late"), lambda: say(store, "The ferry is here.", message_id="m")
    )
    assert [fault.code for fault in raised] in ([], ["state_conflict"])
    assert not Claim.objects.filter(store=store, is_current=True).exists()
    assert Claim.objects.filter(store=store).count() == 1 - len(raised)


def test_belief_instants_rise_with_each_change(store):
    write(store, "One ferry.")
    declare(store, 1, "ferry")
    write(store, "Two.")
    claim = Claim.objects.get(store=store)
    version = claim.record.passage.version
    ledger = ClaimCurrency.objects.get(claim=claim)
    newest = Record.objects.get(store=store, number=2)
    assert (
        claim.record.believed_at
        < claim.ingested_at
        < version.superseded_at
        < newest.believed_at
        < ledger.decided_at
    )
    store.counter.refresh_from_db()
    assert ledger.decided_at <= store.counter.belief_at


def test_a_restored_store_has_its_conversations_and_takes_claims(store, ada):
    say(store, "one", session_id="s")
    say(store, "two", source_type="User", source_id="u")
    other = make_store(ada, "attic")
    imported(other, ada, exported(store))
    refs = Document.objects.filter(store=other).order_by("source_ref").values_list("source_ref", flat=True)
    assert list(refs) == ["session:s", "source:User:u"]
    assert declare(other, 1, "one").created
    assert write(other, "Three.").document.number == 3


def test_versions_that_are_imported_are_followed_too(store, ada):
    say(store, "The ferry is late.", message_id="m")
    other = make_store(ada, "attic")
    say(other, "The ferry is late. Gulls.", message_id="m")
    late, gulls = (declare(other, 1, quote).claim for quote in ("late", "Gulls"))
    imported(other, ada, exported(store))
    late.refresh_from_db()
    gulls.refresh_from_db()
    assert (late.is_current, gulls.is_current) == (True, False)
    assert late.occurrences.get().record.number == 2


def test_a_file_holds_current_passages_as_records_and_older_ones_not(store, ada):
    write(store, "The walrus sleeps.")
    write(store, "The walrus left.\n\n# Two\n\nGulls.")
    lines = [json.loads(line) for line in exported(store).splitlines()]
    held = [line["content"] for line in lines if line["kind"] == "record"]
    assert held == ["The walrus left.", "# Two\n\nGulls."]
    assert lines[0]["counts"]["record"] == 2
    other = make_store(ada, "attic")
    imported(other, ada, exported(store))
    assert IndexEntry.objects.filter(store=other).count() == 2
    assert exported(other) == exported(store)


@pytest.mark.parametrize("kind", ["file", "conversation"])
def test_no_document_is_known_by_half_of_its_source(kind, store):
    """(kind, ref) together: another kind's ref, or a session of that name, is another document."""
    say(store, "one", session_id="log")
    new = NewDocument(source_kind="file", source_ref="session:log", version=NewVersion(text="x"))
    assert documents.ingest_document(store, new, now=NOW).created
    assert Document.objects.filter(store=store, source_ref="session:log").count() == 2
    assert Document.objects.filter(store=store, source_kind=kind).count() == 1


def test_currency_says_nothing_new_twice(store):
    (number,) = say(store, "late")
    made = declare(store, number, "late").claim
    for _ in range(2):
        testimony.set_currency(
            store, made.uuid, current=False, reason="reextracted", decider=RULE, now=timezone.now()
        )
    assert ClaimCurrency.objects.filter(claim=made).count() == 1
