"""Texts to vectors: the port, and the local model behind it.

Callers use `current()` and `embed_query()` through this module, so that a test can replace either.
"""

import hashlib
import logging
import os
import threading
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from memoryconsole.divide import CharacterWindow, Window

logger = logging.getLogger(__name__)

Vector = NDArray[np.float32]

# What a model is recognised by. Never change them: every stored fingerprint would be unknown.
PROBES = (
    "The ferry leaves at seven.",
    "Invoice PO-7741 was paid twice, in March and in May.",
    "城の鍵はどこですか",
    "def total(rows): return sum(row.amount for row in rows)",
)

# A model that takes the mean of all its tokens reads any length, and the longer the text, the less its vector says
# of any part of it. Such a text is divided at this many code points: several quotes of 500 (contract: reconstruct
# A.6, recommended where no model says where its window closes).
WINDOW_CHARS = 1_800


class EmbeddingFailed(Exception):
    """The configured model did not answer. The message names the model and what it said."""


class Embedder(Protocol):
    """A model. Vectors of two fingerprints are never compared.

    `embed` gets texts that are not blank and answers one vector of `dimensions` finite components each, or
    None for a text the model finds nothing in. A text's vector depends on that text alone.
    """

    @property
    def name(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    @property
    def fingerprint(self) -> str: ...
    def embed(self, texts: Sequence[str]) -> Sequence[Vector | None]: ...


@runtime_checkable
class Windowed(Protocol):
    """A model that reads only the beginning of a long text, and can say how much."""

    @property
    def window(self) -> Window: ...


def window_of(model: Embedder | None) -> Window:
    """How much of a text the model reads: its own window where it has one, else WINDOW_CHARS."""
    return model.window if isinstance(model, Windowed) else CharacterWindow(WINDOW_CHARS)


def current() -> Embedder | None:
    """The model this process runs; None when none is configured. Raises EmbeddingFailed when it cannot be
    loaded.
    """
    return PROVIDERS[settings.EMBEDDER]()


def embed_query(text: str) -> Vector | None:
    """The vector of a query; None without a model, or when the model finds nothing in the text.

    Raises EmbeddingFailed when the model does not answer.
    """
    model = current()
    return None if model is None else embed_texts(model, [text])[0]


def embed_texts(model: Embedder, texts: Sequence[str]) -> list[Vector | None]:
    """One vector a text, None for a blank one. Raises EmbeddingFailed when the model fails or answers
    wrongly.
    """
    wanted = [place for place, text in enumerate(texts) if text.strip()]
    answer: list[Vector | None] = [None] * len(texts)
    if not wanted:
        return answer
    try:
        vectors = model.embed([texts[place] for place in wanted])
    except Exception as fault:
        logger.exception("the embedding model %s failed", model.name)
        raise EmbeddingFailed(f"{model.name}: {type(fault).__name__}") from fault
    if len(vectors) != len(wanted):
        raise EmbeddingFailed(f"{model.name}: {len(vectors)} vectors for {len(wanted)} texts")
    for place, vector in zip(wanted, vectors, strict=True):
        if vector is not None and (len(vector) != model.dimensions or not np.isfinite(vector).all()):
            raise EmbeddingFailed(f"{model.name}: a vector is not {model.dimensions} finite numbers")
        answer[place] = vector
    return answer


def fingerprint(embed: Callable[[Sequence[str]], Sequence[Vector | None]]) -> str:
    """A digest of a local model's output on fixed texts: another model behind the same name differs."""
    digest = hashlib.sha256()
    for vector in embed(PROBES):
        # Three decimals of the direction: what a rebuild of the same model on another machine keeps.
        direction = np.zeros(0) if vector is None else 1000 * vector / np.linalg.norm(vector)
        digest.update(np.rint(direction).astype("<i2").tobytes() + b";")
    return digest.hexdigest()[:32]


class WordLlamaEmbedder:
    """WordLlama: the mean of its token vectors, computed here, so that a text's cost is its own length (the
    library pads every text of a batch to the longest) and its vector does not depend on its neighbours.
    Thread-safe.
    """

    name = "wordllama-l2-supercat"
    dimensions = 256
    # A mean is taken in slices of this many tokens, so that a long text needs no more than 4 MB at once.
    SLICE_TOKENS = 4096

    def __init__(self) -> None:
        # The tokenizer's own threads deadlock in a forked worker, and are no faster here.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        import wordllama

        # Without these two arguments the library looks for its files on the network.
        folder = Path(wordllama.__file__).parent
        model = wordllama.WordLlama.load(cache_dir=folder, dim=self.dimensions, disable_download=True)
        self._tokenizer = model.tokenizer
        self._tokenizer.no_padding()
        self._table: NDArray[np.float32] = model.embedding
        self.fingerprint = fingerprint(self.embed)

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        encoded = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [self._mean(np.array(text.ids, dtype=np.int64)) for text in encoded]

    def _mean(self, ids: NDArray[np.int64]) -> Vector | None:
        if not len(ids):
            return None
        total = np.zeros(self.dimensions, dtype=np.float32)
        for start in range(0, len(ids), self.SLICE_TOKENS):
            total += self._table[ids[start : start + self.SLICE_TOKENS]].sum(axis=0)
        return total / np.float32(len(ids))


_loading = threading.Lock()


@cache
def _load_wordllama() -> Embedder:
    return WordLlamaEmbedder()


def _wordllama() -> Embedder:
    # Loaded once per process and at first use, since it takes half a second and 40 MB.
    with _loading:
        try:
            return _load_wordllama()
        except Exception as fault:
            logger.exception("the embedding model cannot be loaded")
            raise EmbeddingFailed(f"wordllama: {type(fault).__name__}") from fault


PROVIDERS: dict[str, Callable[[], Embedder | None]] = {"wordllama": _wordllama, "none": lambda: None}
