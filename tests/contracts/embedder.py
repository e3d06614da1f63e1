"""The embedding port of a scenario: a model that knows no texts, only the cosines its fixtures were given."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from unittest import mock

import numpy as np

from memoryconsole import embedding, search
from memoryconsole.models import EmbeddingSpace, Store
from tests.contracts.values import FormatError

Vector = embedding.Vector

# Vectors are made of whole numbers up to this, so that the index, which rounds to such, keeps every cosine.
_LARGEST = 127
# One component for the cosine; the squares of the others add up to whatever number is needed.
DIMENSIONS = 12
_MADE_AT = datetime(2026, 1, 1, tzinfo=UTC)


class InjectedEmbedder:
    """Every query has one vector, every row the cosine it was given to it; a row given none has no vector."""

    dimensions = DIMENSIONS

    def __init__(self, name: str, *, available: bool = True) -> None:
        self.name = name
        self.fingerprint = f"contracts:{name}"
        self.available = available
        self.asked: list[str] = []
        self._row_vector: Vector | None = None

    @contextmanager
    def injected(self) -> Iterator[None]:
        """In here the product's port leads to this model."""
        with (
            mock.patch.object(embedding, "current", return_value=self),
            mock.patch.object(embedding, "embed_query", self.embed_query),
        ):
            yield

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """The vector of each row that is being indexed."""
        return [self._row_vector] * len(texts)

    def embed_query(self, text: str) -> Vector | None:
        # A blank text is never sent to a model.
        if not text.strip():
            return None
        if text not in self.asked:
            self.asked.append(text)
        return self.vector(1.0) if self.available else None

    def index(self, store: Store, *, similarity: float | None, **rows: Any) -> None:
        """Index rows (`records=` or `summaries=`) with the vector of that cosine."""
        self._row_vector = None if similarity is None else self.vector(similarity)
        try:
            indexed = search.index(store, **rows, now=_MADE_AT)
        finally:
            self._row_vector = None
        if indexed.failure:
            raise AssertionError(f"the row was not indexed: {indexed.failure}")

    def space(self, store: Store, name: str) -> EmbeddingSpace:
        """The space of a model of that name, which may be another than this."""
        space, _ = EmbeddingSpace.objects.get_or_create(
            store=store,
            name=name,
            fingerprint=f"contracts:{name}",
            defaults={"dimensions": DIMENSIONS, "created_at": _MADE_AT},
        )
        return space

    @staticmethod
    def vector(similarity: float) -> Vector:
        """Whole numbers, the largest of them 127, with this cosine to every query (off by 1e-4 at most)."""
        if isinstance(similarity, bool) or not -1 <= similarity <= 1:
            raise FormatError(f"{similarity!r} is no cosine")
        if similarity == 0:
            along, rest = 0, _LARGEST**2
        else:
            # rest / along ** 2 is the square of the tangent.
            tangent = math.sqrt(1 / similarity**2 - 1)
            along = _LARGEST if tangent <= 1 else math.ceil(_LARGEST / tangent)
            rest = round((along * tangent) ** 2)
        components = [along if similarity >= 0 else -along]
        while rest:
            components.append(min(math.isqrt(rest), _LARGEST))
            rest -= components[-1] ** 2
        return np.array(components + [0] * (DIMENSIONS - len(components)), dtype=np.float32)
