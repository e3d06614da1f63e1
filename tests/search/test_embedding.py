"""With a model, without one, with one that fails, and while a store changes from one to another."""

import uuid
from unittest import mock

import numpy as np
import pytest
from django.db import transaction

from memoryconsole import embedding, search
from memoryconsole.embedding import EmbeddingFailed, WordLlamaEmbedder, embed_texts
from memoryconsole.models import EmbeddingSpace, EntryVector, Record, Store
from tests.search.builders import NOW, Broken, ChosenCosines, add, ask, new_store, refs, running

TEXTS = {"ferry": 0.7, "tide": 0.8, "salt": 0.1}


def shown(found: search.Candidates) -> dict[int, float | None]:
    """The rows' cosines by number, to three digits."""
    cosines = {row.number: row.evidence.cosine for row in found.rows}
    return {number: None if c is None else round(c / 10_000, 3) for number, c in cosines.items()}


@pytest.fixture(scope="module")
def wordllama() -> WordLlamaEmbedder:
    return WordLlamaEmbedder()


def test_a_text_has_the_same_vector_in_any_company(wordllama: WordLlamaEmbedder) -> None:
    texts = ["ferry", "the ferry leaves at seven " * 40, "城の鍵", "x"]
    together = wordllama.embed(texts)
    for text, vector in zip(texts, together, strict=True):
        (alone,) = wordllama.embed([text])
        assert np.array_equal(np.asarray(alone), np.asarray(vector))
        assert np.asarray(vector).shape == (wordllama.dimensions,)


def test_a_long_text_is_embedded_in_slices(wordllama: WordLlamaEmbedder) -> None:
    text = "the ferry leaves at seven " * 4000
    (sliced,) = wordllama.embed([text])
    with mock.patch.object(WordLlamaEmbedder, "SLICE_TOKENS", 10**9):
        (whole,) = wordllama.embed([text])
    np.testing.assert_allclose(np.asarray(sliced), np.asarray(whole), rtol=1e-3)


def test_meaning_is_in_the_vectors(wordllama: WordLlamaEmbedder) -> None:
    boat, ship, tax = (
        np.asarray(v) for v in wordllama.embed(["a small boat", "a little ship", "income tax law"])
    )

    def cosine(a: np.ndarray, b: np.ndarray) -> float:
        return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))

    assert cosine(boat, ship) > cosine(boat, tax) + 0.2


def test_a_fingerprint_tells_models_apart(wordllama: WordLlamaEmbedder) -> None:
    assert wordllama.fingerprint == embedding.fingerprint(wordllama.embed)
    assert wordllama.fingerprint != embedding.fingerprint(
        lambda texts: wordllama.embed(["other"] * len(texts))
    )


def test_the_model_is_loaded_once_and_chosen_by_the_setting(settings: object) -> None:
    assert embedding.current() is embedding.current()
    settings.EMBEDDER = "none"  # type: ignore[attr-defined]
    assert embedding.current() is None
    assert embedding.embed_query("ferry") is None


def test_blank_texts_never_reach_a_model() -> None:
    model = mock.Mock(spec=["embed", "name", "dimensions"])
    model.dimensions, model.embed.return_value = 2, [np.array([1.0, 0.0])]
    vectors = embed_texts(model, ["", " \n", "ferry"])
    assert [vector is None for vector in vectors] == [True, True, False]
    model.embed.assert_called_once_with(["ferry"])
    assert embed_texts(model, ["", " "]) == [None, None]


@pytest.mark.parametrize(
    "answer", [[], [np.array([1.0])], [np.array([1.0, float("nan")])], [np.array([float("inf"), 0.0])]]
)
def test_a_wrong_answer_is_a_failure(answer: list[np.ndarray]) -> None:
    model = mock.Mock(dimensions=2)
    model.name = "wrong"
    model.embed.return_value = answer
    with pytest.raises(EmbeddingFailed, match="wrong"):
        embed_texts(model, ["ferry"])


def test_without_a_model_words_are_enough_and_the_answer_says_so() -> None:
    store = new_store()
    with running(None):
        add(store, "the ferry leaves", "tide table")
        found = ask(store, "ferry")
    assert refs(found) == ["mem:1"]
    assert found.query_vector is None
    assert found.without_vector is None
    assert found.advisory is not None
    assert (found.advisory["degraded"], found.advisory["severity"]) == (True, "hint")
    assert set(found.advisory) == {"degraded", "severity", "reason", "evidence", "runbook", "advisory_scope"}
    assert not EmbeddingSpace.objects.filter(store=store).exists()


def test_a_model_that_fails_stops_neither_the_write_nor_the_read() -> None:
    store = new_store()
    with running(ChosenCosines(TEXTS)):
        add(store, "ferry")
    with running(Broken(TEXTS)):
        with transaction.atomic():
            record = Record.objects.create(
                store=store, number=2, uuid=uuid.uuid4(), content="tide", digest=b"2" * 32, created_at=NOW,
                believed_at=NOW,
            )  # fmt: skip
            report = search.index(store, records=[record], now=NOW)
        found = ask(store, "tide")
    assert report == search.Indexed(entries=1, vectors=0, failure="chosen: ConnectionError", owed=True)
    assert refs(found) == ["mem:2"]
    assert found.advisory is not None
    assert found.advisory["severity"] == "fault"
    with running(ChosenCosines(TEXTS)):
        partial = ask(store, "tide")
        assert partial.without_vector == 1
        assert partial.advisory is not None
        assert (partial.advisory["severity"], partial.advisory["reason"]) == ("hint", "vectors_incomplete")
        assert "1 rows" in partial.advisory["evidence"]
        with transaction.atomic():
            assert search.fill_space(store, now=NOW) is None
        again = ask(store, "tide")
    assert again.without_vector == 0
    assert again.advisory is None


def test_a_model_that_cannot_be_loaded_is_a_fault() -> None:
    store = new_store()
    with running(None):
        add(store, "ferry")
    with mock.patch.object(embedding, "current", side_effect=EmbeddingFailed("wordllama: FileNotFoundError")):
        found = ask(store, "ferry")
    assert refs(found) == ["mem:1"]
    assert found.advisory is not None
    assert found.advisory["severity"] == "fault"


def test_vectors_of_two_models_are_never_compared() -> None:
    store = new_store()
    former, latter = ChosenCosines(TEXTS), ChosenCosines({**TEXTS, "ferry": 0.2}, fingerprint="2")
    with running(former):
        add(store, "ferry", "tide")
        assert shown(ask(store, "ferry")) == {1: 0.7, 2: 0.8}
    with running(latter):
        add(store, "salt")
        found = ask(store, "ferry")
        assert found.advisory is not None
        assert found.advisory["reason"] == "vectors_of_another_model"
        assert shown(found) == {1: None}
        space = EmbeddingSpace.objects.get(store=store, fingerprint="2")
        assert EntryVector.objects.filter(store=store, space=space).count() == 1
        assert Store.objects.get(pk=store.pk).active_space != space
        step: int | None = 0
        while step is not None:
            with transaction.atomic():
                step = search.fill_space(store, after=step, limit=1, now=NOW)
        found = ask(store, "ferry")
        assert Store.objects.get(pk=store.pk).active_space == space
        assert found.advisory is None
        assert found.without_vector == 0
    with running(former):
        found = ask(store, "ferry")
        assert found.advisory is not None
        assert found.advisory["reason"] == "vectors_of_another_model"


def test_a_store_written_without_a_model_says_so_to_one() -> None:
    store = new_store()
    with running(None):
        add(store, "ferry")
    with running(ChosenCosines(TEXTS)):
        found = ask(store, "ferry")
        assert found.advisory is not None
        assert found.advisory["reason"] == "no_vectors"
        with transaction.atomic():
            search.fill_space(store, now=NOW)
        assert ask(store, "ferry").advisory is None


def test_rows_without_a_vector_are_found_by_words() -> None:
    store = new_store()
    with running(ChosenCosines(TEXTS)):
        add(store, "ferry", "ferry without a vector")
        found = ask(store, "ferry")
    assert shown(found) == {1: 0.7, 2: None}
    # The model was asked and found nothing: none is owed.
    assert (found.without_vector, found.totals.compared, found.advisory) == (0, 1, None)
    with running(ChosenCosines({**TEXTS, "ferry without a vector": 0.5})), transaction.atomic():
        assert search.fill_space(store, now=NOW) is None
    with running(ChosenCosines(TEXTS)):
        assert ask(store, "ferry") == found


def write(store: Store, text: str) -> search.Indexed:
    number = 1 + Record.objects.filter(store=store).count()
    with transaction.atomic():
        record = Record.objects.create(
            store=store, number=number, uuid=uuid.uuid4(), content=text, digest=bytes(32), created_at=NOW,
            believed_at=NOW,
        )  # fmt: skip
        return search.index(store, records=[record], now=NOW)


def test_a_write_says_what_vectors_the_store_owes() -> None:
    store = new_store()

    def fill() -> None:
        with transaction.atomic():
            search.fill_space(store, now=NOW)

    with running(None):
        assert not write(store, "ferry").owed
    with running(ChosenCosines(TEXTS)):
        # Written without a model, and one runs now.
        assert write(store, "tide").owed
        fill()
        assert not write(store, "nothing in it").owed
        assert not write(store, "tide").owed
    with running(Broken(TEXTS)):
        assert write(store, "salt").owed
    with running(ChosenCosines(TEXTS)):
        assert write(store, "salt").owed
        fill()
    with running(ChosenCosines(TEXTS, fingerprint="2")):
        assert write(store, "tide").owed
        assert write(store, "tide").owed
        fill()
        assert not write(store, "tide").owed
    with running(None):
        assert not write(store, "tide").owed


def test_a_query_is_embedded_once() -> None:
    store = new_store()
    model = ChosenCosines(TEXTS)
    with running(model):
        add(store, "ferry")
        port = mock.Mock(side_effect=model.embed_query)
        with mock.patch.object(embedding, "embed_query", port):
            ask(store, "where is the ferry", cue_terms=["Larkspur", "Pier Nine"])
            ask(store, "   ")
    port.assert_called_once_with("where is the ferry")
