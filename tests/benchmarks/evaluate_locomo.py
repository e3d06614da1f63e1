"""Retrieval quality on conversations in LoCoMo form, through the HTTP API.

    python -m tests.benchmarks.evaluate_locomo --data FILE [--base-url URL --token TOKEN]

Every conversation becomes a store, every turn a record; every question is asked with `recall`, of its own store, and
once more of the next conversation's, where every answer is a false one. Without --base-url it serves a fresh
database itself; EMBEDDER=none in the environment then serves without vectors. The last line printed is one JSON
object, also written under benchmarks/results/. The texts stay in their file: results hold figures only.
"""

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from tests.benchmarks.metrics import MEASURES, Judged, by_category, interval, judge, macro, micro
from tests.benchmarks.server import CHECKOUT, Served, file_name, revision, served

LIMIT = 20
BATCH = 500
# Turns of a session carry only the session's date: they follow one another this far apart.
TURN = timedelta(seconds=5)
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    gold: tuple[str, ...]
    category: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """`records`: bodies of the write route, in order. `sessions`: the session of each message id."""

    name: str
    records: tuple[dict[str, Any], ...]
    questions: tuple[Question, ...]

    @property
    def sessions(self) -> dict[str, str]:
        return {record["message_id"]: record["session_id"] for record in self.records}


def read_conversations(path: Path) -> list[Conversation]:
    return [_conversation(sample) for sample in json.loads(path.read_text(encoding="utf-8"))]


def _conversation(sample: Mapping[str, Any]) -> Conversation:
    records = tuple(_records(sample["conversation"]))
    known = {record["message_id"] for record in records}
    questions = []
    for asked in sample["qa"]:
        named = (ref for evidence in asked.get("evidence", ()) for ref in re.split(r"[;\s]+", evidence))
        gold = tuple(dict.fromkeys(ref for ref in named if ref in known))
        if gold:
            questions.append(Question(asked["question"], gold, asked["category"]))
    return Conversation(sample["sample_id"], records, tuple(questions))


def _records(conversation: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    sessions = [key for key in conversation if re.fullmatch(r"session_\d+", key)]
    for session in sorted(sessions, key=lambda key: int(key.removeprefix("session_"))):
        start = datetime.strptime(conversation[f"{session}_date_time"], "%I:%M %p on %d %B, %Y")
        for place, turn in enumerate(conversation[session]):
            caption = turn.get("blip_caption")
            yield {
                "message_id": turn["dia_id"],
                "session_id": session,
                "source": {"type": "User", "id": turn["speaker"]},
                "timestamp": (start.replace(tzinfo=UTC) + place * TURN).isoformat(),
                "content": f"{turn['text']}\n{caption}" if caption else turn["text"],
            }


class Api:
    """The routes this needs. Every answer that is not a success stops the run."""

    def __init__(self, where: Served) -> None:
        self._client = httpx.Client(
            base_url=f"{where.base_url}/api/v1",
            headers={"Authorization": f"Bearer {where.token}"},
            timeout=300,
        )

    def __enter__(self) -> "Api":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        answer = self._client.post(path, json=body)
        if not answer.is_success:
            raise RuntimeError(f"{path}: {answer.status_code} {answer.text}")
        return dict(answer.json())

    def store(self, conversation: Conversation) -> str:
        """Make a store that holds a conversation; answers its id."""
        store = str(self._post("/stores", {"name": conversation.name})["id"])
        for start in range(0, len(conversation.records), BATCH):
            rows = conversation.records[start : start + BATCH]
            stored = self._post(f"/stores/{store}/records", {"records": rows})["records"]
            if not all(row["created"] for row in stored):
                raise RuntimeError(f"{conversation.name}: a turn was taken for a duplicate")
        return store

    def recall(self, store: str, question: Question) -> dict[str, Any]:
        return self._post(f"/stores/{store}/recall", {"query": question.text, "limit": LIMIT})


@dataclass(frozen=True, slots=True)
class Outcome:
    """`false_returns`: of each question, whether the next conversation's store claimed to know something of it."""

    answers: tuple[Judged, ...]
    fallbacks: int
    false_returns: tuple[bool, ...]
    ask_seconds: float
    store_seconds: float
    records: int
    with_vectors: bool


def run(api: Api, conversations: Sequence[Conversation]) -> Outcome:
    started = time.perf_counter()
    stores = [api.store(conversation) for conversation in conversations]
    stored = time.perf_counter()
    answers: list[Judged] = []
    fallbacks, degraded = 0, False
    for store, conversation in zip(stores, conversations, strict=True):
        sessions = conversation.sessions
        for question in conversation.questions:
            body = api.recall(store, question)
            fallbacks += body.get("gate_fallback", False)
            degraded = degraded or "advisory" in body
            answers.append(
                judge(
                    [row["message_id"] for row in body["results"]],
                    question.gold,
                    conversation=conversation.name,
                    category=question.category,
                    session_of=sessions.__getitem__,
                )
            )
    asked = time.perf_counter()
    strangers = [*stores[1:], stores[0]]
    false_returns = [
        bool(body["results"]) and not body.get("gate_fallback", False)
        for store, conversation in zip(strangers, conversations, strict=True)
        for body in (api.recall(store, question) for question in conversation.questions)
    ]
    return Outcome(
        answers=tuple(answers),
        fallbacks=fallbacks,
        false_returns=tuple(false_returns),
        ask_seconds=asked - stored,
        store_seconds=stored - started,
        records=sum(len(conversation.records) for conversation in conversations),
        with_vectors=not degraded,
    )


def summarise(outcome: Outcome) -> dict[str, Any]:
    """The figures, as percentages with two decimals; intervals are 5 % and 95 % over conversations."""
    answers = outcome.answers
    summary: dict[str, Any] = {"questions": len(answers), "records": outcome.records}
    for measure in MEASURES:
        over_categories, over_questions = partial(macro, of=measure.of), partial(micro, of=measure.of)
        summary[f"macro_{measure.name}"] = percent(over_categories(answers))
        summary[f"macro_{measure.name}_interval"] = [
            percent(end) for end in interval(answers, over_categories)
        ]
        summary[f"micro_{measure.name}"] = percent(over_questions(answers))
    summary["categories"] = {
        CATEGORIES.get(category, str(category)): {
            "questions": len(group),
            **{measure.name: percent(micro(group, measure.of)) for measure in MEASURES},
        }
        for category, group in by_category(answers).items()
    }
    summary["false_return_rate"] = percent(sum(outcome.false_returns) / len(outcome.false_returns))
    summary["gate_fallback_rate"] = percent(outcome.fallbacks / len(answers))
    summary["vectors"] = outcome.with_vectors
    summary["recall_ms_mean"] = round(1000 * outcome.ask_seconds / len(answers), 2)
    summary["store_records_per_second"] = round(outcome.records / outcome.store_seconds)
    return summary


def percent(share: float) -> float:
    return round(100 * share, 2)


def table(summary: Mapping[str, Any]) -> str:
    names = [measure.name for measure in MEASURES]
    lines = [f"{'':<14}{'questions':>10}" + "".join(f"{name:>15}" for name in names)]
    for category, row in summary["categories"].items():
        lines.append(
            f"{category:<14}{row['questions']:>10}" + "".join(f"{row[name]:>15.2f}" for name in names)
        )
    for kind in ("macro", "micro"):
        cells = "".join(f"{summary[f'{kind}_{name}']:>15.2f}" for name in names)
        lines.append(f"{kind:<14}{summary['questions']:>10}{cells}")
    ends = [summary[f"macro_{name}_interval"] for name in names]
    lines.append(f"{'macro 5-95 %':<24}" + "".join(f"{f'{low:.1f}-{high:.1f}':>15}" for low, high in ends))
    lines.append("")
    lines.append(f"false returns on another conversation's questions: {summary['false_return_rate']:.2f} %")
    lines.append(f"own questions answered by the fallback: {summary['gate_fallback_rate']:.2f} %")
    lines.append(
        f"recall, mean: {summary['recall_ms_mean']} ms; stored: {summary['store_records_per_second']}/s"
    )
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="evaluate_locomo", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="a file in LoCoMo form")
    parser.add_argument("--base-url", help="a running server; without it, one is started")
    parser.add_argument("--token", help="a token for --base-url, with read and write, that may make stores")
    options = parser.parse_args(arguments)
    if bool(options.base_url) != bool(options.token):
        parser.error("--base-url and --token belong together")
    conversations = read_conversations(options.data)
    embedder = os.environ.get("EMBEDDER", "")
    with ExitStack() as stack:
        if options.base_url:
            where = Served(options.base_url.rstrip("/"), options.token)
        else:
            where = stack.enter_context(served(**({"MEMORYCONSOLE_EMBEDDER": embedder} if embedder else {})))
        outcome = run(stack.enter_context(Api(where)), conversations)
    summary = {
        "benchmark": "locomo",
        "data": options.data.name,
        "revision": revision(),
        "embedder": embedder or "default",
        **summarise(outcome),
    }
    print(f"revision {summary['revision']}, load {os.getloadavg()[0]:.1f}, embedder {summary['embedder']}\n")
    print(table(summary))
    line = json.dumps(summary)
    results = CHECKOUT / "benchmarks" / "results"
    results.mkdir(parents=True, exist_ok=True)
    (results / f"locomo-{file_name(summary['embedder'])}-{file_name(summary['revision'])}.json").write_text(
        line + "\n"
    )
    print(line)


if __name__ == "__main__":
    main(sys.argv[1:])
