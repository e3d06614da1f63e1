"""One scenario stored here and in the other system, and what both are asked through."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np

from memoryconsole.embedding import Vector, WordLlamaEmbedder
from tests.benchmarks.peer_client import Peer, PeerFailed
from tests.benchmarks.peer_compare import named
from tests.benchmarks.peer_rows import Question, Row, Scenario

# More texts than are ever embedded here: one dimension each.
DIMENSIONS = 1024


class OneHot:
    """Vectors that put given candidates in a given order: every stored text has a dimension of its own, and a query
    the wanted similarities in them. A part of a text gets its true similarity, so that nodes are ranked as here.
    """

    def __init__(self, model: WordLlamaEmbedder) -> None:
        self._model = model
        self._places: dict[str, int] = {}
        self._queries: dict[str, list[float]] = {}
        self._lock = threading.Lock()

    def prepare(self, query: str, ranked: Sequence[str], others: Sequence[str]) -> None:
        """`ranked`: the candidates' texts, best first; `others`: the texts of rows that are none."""
        with self._lock:
            vector = np.zeros(DIMENSIONS)
            rows = {*ranked, *others}
            for text, place in self._places.items():
                if text not in rows:
                    vector[place] = self._similarity(query, text)
            for rank, text in enumerate(ranked):
                # Far above any gate, and a hundredth apart: no two are equal in single precision.
                vector[self._place(text)] = 1 - rank / 100
            self._queries[query] = vector.tolist()

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        with self._lock:
            return [self._queries.get(text) or self._one(self._place(text)) for text in texts]

    def _place(self, text: str) -> int:
        return self._places.setdefault(text, len(self._places))

    def _one(self, place: int) -> list[float]:
        vector = [0.0] * DIMENSIONS
        vector[place] = 1.0
        return vector

    def _similarity(self, query: str, text: str) -> float:
        a, b = (unit(rounded(vector)) for vector in self._model.embed([query, text]))
        return float(a @ b)


def rounded(vector: Vector | None) -> Vector | None:
    """The vector in whole numbers up to 255, as the index keeps it (`search/vectors.py`, which needs Django)."""
    return None if vector is None else np.rint(255 * vector / np.abs(vector).max())


def unit(vector: Vector | None) -> Vector:
    if vector is None:
        return np.zeros(WordLlamaEmbedder.dimensions, dtype=np.float32)
    return vector / np.linalg.norm(vector)


@dataclass(frozen=True, slots=True)
class Side:
    """A system with one scenario stored in it. `ask` and `read` answer with refs; `names` tells whose they are."""

    names: dict[str, str]
    ask: Callable[[dict[str, Any]], dict[str, Any]]
    read: Callable[[list[Any]], dict[str, Any]]

    def answer(self, question: Question, *, trace: bool) -> dict[str, Any]:
        asked = {"query": question.query, **question.bounds, **({"trace": True} if trace else {})}
        answer: dict[str, Any] = named(self.ask(asked), self.names)
        return answer

    def contents(self, entries: Sequence[Any]) -> dict[str, Any]:
        refs = {name: ref for ref, name in self.names.items()}
        answer: dict[str, Any] = named(self.read([_in_refs(entry, refs) for entry in entries]), self.names)
        return answer


def _in_refs(value: Any, refs: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _in_refs(part, refs) for key, part in value.items()}
    if isinstance(value, list):
        return [_in_refs(part, refs) for part in value]
    return refs.get(value, value) if isinstance(value, str) else value


def store_here(api: httpx.Client, scenario: Scenario) -> Side:
    def post(path: str, body: dict[str, Any]) -> Any:
        return api.post(f"{store}/{path}", json=body).raise_for_status().json()

    store = f"/stores/{api.post('/stores', json={'name': scenario.name}).raise_for_status().json()['id']}"
    records = [row for row in scenario.rows if row.end is None]
    stored = post("records", {"records": [_record(row) for row in records]})["records"]
    names = {answer["ref"]: f"@{row.name}" for row, answer in zip(records, stored, strict=True)}
    for row in scenario.rows:
        if row.end is not None:
            body = {"summary": row.text, "start": row.at, "end": row.end}
            scope = {"project_id": row.project, "channel": row.channel}
            names[post("summaries", body | scope)["ref"]] = f"@{row.name}"
    refs = {name: ref for ref, name in names.items()}
    for declaration in scenario.declarations:
        if dropped := post("associations", _in_refs(declaration, refs))["dropped"]:
            raise AssertionError(f"{scenario.name}: dropped {dropped}")
    return Side(
        names, lambda asked: post("reconstruct", asked), lambda entries: post("contents", {"refs": entries})
    )


def _record(row: Row) -> dict[str, Any]:
    return {
        "content": row.text,
        "timestamp": row.at,
        "project_id": row.project,
        "channel": row.channel,
        **({"source": row.source} if row.source else {}),
        **({"message_id": row.message_id} if row.message_id else {}),
    }


def store_there(peer: Peer, scenario: Scenario) -> Side:
    agent = scenario.name
    names: dict[str, str] = {}
    versions: dict[int, str] = {}
    for row in scenario.rows:
        scope = {"agent_id": agent, "project_id": row.project, "channel": row.channel}
        if row.end is None:
            message = {"content": row.text, "timestamp": row.at, "source": row.source}
            stored = peer.call("store", message=message, **scope)
            if row.message_id:
                versions[stored["id"]] = row.message_id
            names[f"mem:{stored['id']}"] = f"@{row.name}"
        else:
            history = [{"content": row.text, "timestamp": at} for at in (row.at, row.end)]
            stored = peer.call("archive_episode", summary=row.text, history=history, keywords="", **scope)
            names[f"ep:{_number_of(stored)}"] = f"@{row.name}"
    peer.settle(versions)
    refs = {name: ref for ref, name in names.items()}
    for declaration in scenario.declarations:
        declared = peer.call("declare_associations", agent_id=agent, **_in_refs(declaration, refs))
        if declared["dropped"]:
            raise AssertionError(f"{scenario.name}: dropped {declared['dropped']}")
    peer.wait_for_nodes()
    return Side(
        names,
        lambda asked: _best_first(peer.call("reconstruct", agent_id=agent, **asked)),
        lambda entries: peer.call("get_contents", agent_id=agent, refs=entries),
    )


def _number_of(stored: Mapping[str, Any]) -> int:
    number = stored.get("id", stored.get("episode_id"))
    if not isinstance(number, int):
        raise PeerFailed(f"archive_episode answered {dict(stored)}")
    return number


def _best_first(answer: dict[str, Any]) -> dict[str, Any]:
    """Its trace lists the least relevant candidate first."""
    if "trace" in answer:
        answer["trace"]["candidate_refs"].reverse()
    return answer
