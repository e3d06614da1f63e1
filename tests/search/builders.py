"""Stores to search in: rows made through the ORM, indexed by the product's own write side."""

import hashlib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

import numpy as np
from django.db import transaction

from memoryconsole import embedding, search
from memoryconsole.models import Record, Store, Summary
from memoryconsole.scope import ReadScope
from memoryconsole.snapshot import snapshot

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)
EVERYTHING = ReadScope()


def digest_of(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def new_store(**fields: Any) -> Store:
    return Store.objects.create(name="search", created_at=NOW, **fields)


def add(store: Store, *rows: "str | Mapping[str, Any]") -> list[Record]:
    """Store records, numbered from where the store stands; a text or fields of Record."""
    start = Record.objects.filter(store=store).count()
    with transaction.atomic():
        records = Record.objects.bulk_create(
            _record(store, start + place, {"content": row} if isinstance(row, str) else dict(row))
            for place, row in enumerate(rows, start=1)
        )
        search.index(store, records=records, now=NOW)
    return records


def _record(store: Store, number: int, fields: dict[str, Any]) -> Record:
    stored = {
        "number": number,
        "uuid": uuid.uuid4(),
        "digest": digest_of(fields["content"]),
        "created_at": NOW + timedelta(seconds=number),
        "believed_at": NOW,
    }
    return Record(store=store, **(stored | fields))


def add_summary(store: Store, text: str, **fields: Any) -> Summary:
    stored = {
        "number": 1 + Summary.objects.filter(store=store).count(),
        "uuid": uuid.uuid4(),
        "digest": digest_of(text),
        "created_at": NOW,
        "believed_at": NOW,
    }
    with transaction.atomic():
        summary = Summary.objects.create(store=store, summary=text, **(stored | fields))
        search.index(store, summaries=[summary], now=NOW)
    return summary


def ask(
    store: Store,
    query: "str | search.Query",
    scope: ReadScope = EVERYTHING,
    *,
    limit: int = 20,
    **options: Any,
) -> search.Candidates:
    prepared = query if isinstance(query, search.Query) else search.prepare(query)
    with snapshot():
        return search.candidates(store, prepared, scope, limit=limit, **options)


def refs(found: search.Candidates) -> list[str]:
    return [f"{row.kind}:{row.number}" for row in found.rows]


@dataclass
class ChosenCosines:
    """An embedder whose texts have the cosines given to every query; a text without one has no vector."""

    cosines: Mapping[str, float]
    name: str = "chosen"
    fingerprint: str = "1"
    dimensions: int = 2

    def embed(self, texts: Sequence[str]) -> list[embedding.Vector | None]:
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> embedding.Vector | None:
        if text in self.cosines:
            cosine = self.cosines[text]
            return np.array([cosine, (1 - cosine**2) ** 0.5], dtype=np.float32)
        return None

    def embed_query(self, text: str) -> embedding.Vector:
        return np.array([1.0, 0.0], dtype=np.float32)


class Broken(ChosenCosines):
    """An embedder that does not answer."""

    def embed(self, texts: Sequence[str]) -> list[embedding.Vector | None]:
        raise ConnectionError("nobody there")


@contextmanager
def running(model: "ChosenCosines | None") -> Iterator[None]:
    """The process runs this model, or none. A Broken one fails for queries too."""
    with mock.patch.object(embedding, "current", return_value=model):
        if model is None or isinstance(model, Broken):
            yield
            return
        with mock.patch.object(embedding, "embed_query", model.embed_query):
            yield
