"""The same memories and the same questions, here and in the `cpersona` package, whose own description of its tool is
what `reconstruct` was made from.

    python -m tests.benchmarks.peer [--environment FOLDER]

The package is installed into an environment of its own (thrown away, unless a folder is named) and driven through
MCP. Every question is asked twice of it. Once its retrieval is given the very candidates that ours found, in their
order: what differs then is the reconstruction. Once it finds for itself, with the vectors of our embedder: what differs
then besides is retrieval. Latency is measured in that second run. `docs/peer.md` says what came out and why. The last
line printed is one JSON object; with every difference it is written under benchmarks/results/.
"""

import argparse
import json
import logging
import os
import secrets
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx

from memoryconsole.embedding import WINDOW_CHARS, WordLlamaEmbedder
from tests.benchmarks.bench import stages
from tests.benchmarks.peer_client import PACKAGE, PeerFailed, embedding_server, install, running
from tests.benchmarks.peer_compare import ASPECTS, differences, view
from tests.benchmarks.peer_data import scenarios
from tests.benchmarks.peer_known import KNOWN, known
from tests.benchmarks.peer_rows import Question, Scenario
from tests.benchmarks.peer_sides import OneHot, Side, store_here, store_there, unit
from tests.benchmarks.server import CHECKOUT, Served, file_name, manage, revision, say, served

ROUNDS = 3
SHOWN_CHARS = 160
# The other system without its own text search: what its vectors say is what it finds.
VECTORS_ONLY = {"CPERSONA_FTS_ENABLED": "false", "CPERSONA_EPISODE_PENALTY_ENABLED": "false"}

Row = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--environment", type=Path, help="keep the package's environment in this folder")
    parser.add_argument("--details", action="store_true", help="print every difference with both sides")
    options = parser.parse_args()
    # The embedding model's library turns on the log of everything.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    load = os.getloadavg()[0]
    print(f"load {load:.1f}, revision {revision()}, {PACKAGE}")
    result: dict[str, Any] = {"benchmark": "peer", "revision": revision(), "load": load, "package": PACKAGE}
    with tempfile.TemporaryDirectory(prefix="peer-") as folder:
        try:
            say(f"installing {PACKAGE}")
            python = install(options.environment or Path(folder) / "environment")
            result |= measure(python, Path(folder))
        except PeerFailed as failed:
            result["failed"] = str(failed)
    if "failed" not in result:
        show(result, details=options.details)
    folder_out = CHECKOUT / "benchmarks" / "results"
    folder_out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, ensure_ascii=False)
    (folder_out / f"peer-{file_name(revision())}.json").write_text(text + "\n", encoding="utf-8")
    print(json.dumps({name: part for name, part in result.items() if name not in ("rows", "contents")}))
    return 1 if "failed" in result or result["unexplained"] else 0


def measure(python: Path, folder: Path) -> dict[str, Any]:
    model = WordLlamaEmbedder()
    given = OneHot(model)
    with ExitStack() as stack:
        real = stack.enter_context(
            embedding_server(lambda texts: [unit(v).tolist() for v in model.embed(texts)], WINDOW_CHARS)
        )
        fixed = stack.enter_context(embedding_server(given.embed, WINDOW_CHARS))
        finder = stack.enter_context(running(python, folder / "found", real))
        taker = stack.enter_context(running(python, folder / "given", fixed, **VECTORS_ONLY))
        here = stack.enter_context(served(MEMORYCONSOLE_JOBS_INLINE="1", EMBEDDER="wordllama"))
        api = stack.enter_context(client(here))
        rows: list[Row] = []
        contents: list[Row] = []
        latency: list[tuple[float, float]] = []
        for scenario in scenarios():
            say(f"scenario {scenario.name}")
            ours = store_here(api, scenario)
            found, taken = store_there(finder, scenario), store_there(taker, scenario)
            rows += [
                row for question in scenario.questions
                for row in asked(scenario, question, ours, taken, found, given)
            ]  # fmt: skip
            contents += read(scenario, ours, taken)
            latency += timed(scenario, ours, found)
        own_clock = stages(here)
    return summary(rows, contents, latency) | {"our_stages_p50_ms": own_clock}


def client(serving: Served) -> httpx.Client:
    """With a token of its own: the benchmark declares associations."""
    variables = {
        **os.environ,
        "DATABASE_URL": serving.database_url,
        "DJANGO_SETTINGS_MODULE": "memoryconsole.settings",
        "MEMORYCONSOLE_SECRET_KEY": secrets.token_urlsafe(32),
    }
    scopes = [part for scope in ("read", "write", "declare", "operate") for part in ("--scope", scope)]
    token = manage(variables, "token", "peer", "--can-create-stores", *scopes).strip().splitlines()[-1]
    return httpx.Client(
        base_url=f"{serving.base_url}/api/v1",
        headers={"Authorization": f"Bearer {token}"},
        timeout=120,
        trust_env=False,
    )


def asked(
    scenario: Scenario, question: Question, ours: Side, taken: Side, found: Side, given: OneHot
) -> Iterator[Row]:
    """The question's two rows: over our candidates, and over what each side found."""
    traced = ours.answer(question, trace=True)
    here = view(ours.answer(question, trace=False), traced)
    # What lies at the ends of a text is not kept there.
    texts = {f"@{row.name}": row.text.strip() for row in scenario.rows}
    pool = [texts[name] for name in traced["trace"]["candidate_refs"]]
    given.prepare(question.query, pool, [text for text in texts.values() if text not in pool])
    for run, side in (("given", taken), ("found", found)):
        there = view(side.answer(question, trace=False), side.answer(question, trace=True))
        yield {
            "scenario": scenario.name, "query": question.query, "bounds": question.bounds, "run": run,
            "pools": [here["pool"], there["pool"]], **compare(here, there, question, run),
        }  # fmt: skip


def compare(ours: dict[str, Any], theirs: dict[str, Any], question: Question, run: str) -> dict[str, Any]:
    """One question's row: per aspect None when equal, else the differences and what is known of each."""
    walked = {claim["ref"] for item in ours["claims"] for claim in item if "hops" in claim}
    row: Row = {}
    for aspect in ASPECTS:
        found = differences(ours[aspect], theirs[aspect])
        row[aspect] = [
            {
                "at": path,
                "ours": a,
                "theirs": b,
                "why": known(aspect, path, a, b, question=question, walked=walked),
            }
            for path, a, b in found
        ] or None
    if run == "found" and row["pool"]:
        for aspect in ASPECTS:
            for entry in row[aspect] or ():
                entry["why"] = entry["why"] or "retrieval"
    return row


def read(scenario: Scenario, ours: Side, theirs: Side) -> list[Row]:
    """Parts of texts, each asked for alone: one entry never changes another's answer."""
    answers = []
    for entry in scenario.contents:
        found = differences(ours.contents([entry]), theirs.contents([entry]))
        listed = [
            {"at": path, "ours": a, "theirs": b, "why": known("contents", path, a, b)} for path, a, b in found
        ]
        answers.append({"scenario": scenario.name, "entry": entry, "contents": listed or None})
    return answers


def timed(scenario: Scenario, ours: Side, theirs: Side) -> list[tuple[float, float]]:
    """Seconds of each question here and there, in turn, so that the machine's noise falls on both alike."""
    took = []
    for number in range(ROUNDS):
        for question in scenario.questions:
            seconds = {}
            for side in (ours, theirs) if number % 2 else (theirs, ours):
                began = time.perf_counter()
                side.answer(question, trace=False)
                seconds[id(side)] = time.perf_counter() - began
            took.append((seconds[id(ours)], seconds[id(theirs)]))
    return took


def summary(
    rows: Sequence[Row], contents: Sequence[Row], latency: Sequence[tuple[float, float]]
) -> dict[str, Any]:
    entries = [entry for row in [*rows, *contents] for entry in _entries(row)]
    equal = {
        run: {
            aspect: sum(row[aspect] is None for row in rows if row["run"] == run) for aspect in ASPECTS
        } | {"questions": sum(row["run"] == run for row in rows)}
        for run in ("given", "found")
    }  # fmt: skip
    equal["given"]["contents"] = sum(row["contents"] is None for row in contents)
    equal["given"]["entries"] = len(contents)
    pools = [row["pools"] for row in rows if row["run"] == "found"]
    here, there = (sorted(column) for column in zip(*latency, strict=True))
    return {
        "equal": equal,
        "candidates": {
            "overlap": round(statistics.fmean(overlap(*pair) for pair in pools), 3),
            "only_ours_empty": sum(not ours and bool(theirs) for ours, theirs in pools),
            "only_theirs_empty": sum(not theirs and bool(ours) for ours, theirs in pools),
        },
        "reasons": dict(Counter(entry["why"] for entry in entries if entry["why"])),
        "unexplained": sum(entry["why"] is None for entry in entries),
        "latency_ms": {"ours": _quantiles(here), "theirs": _quantiles(there)},
        "latency_ratio": round(statistics.median(here) / statistics.median(there), 2),
        "rows": rows,
        "contents": contents,
    }


def overlap(ours: Sequence[str], theirs: Sequence[str]) -> float:
    """Shared candidates of all, 0 to 1; two empty pools are the same."""
    every = {*ours, *theirs}
    return len({*ours} & {*theirs}) / len(every) if every else 1.0


def _entries(row: Mapping[str, Any]) -> list[Row]:
    return [entry for aspect in (*ASPECTS, "contents") for entry in row.get(aspect) or ()]


def _quantiles(ordered: Sequence[float]) -> dict[str, float]:
    return {
        "p50": round(statistics.median(ordered) * 1000, 1),
        "p95": round(ordered[int(len(ordered) * 0.95)] * 1000, 1),
    }


def show(result: Mapping[str, Any], *, details: bool) -> None:
    for run, title in (("given", "over the same candidates"), ("found", "each with its own retrieval")):
        print(f"\n{title}\n  {'':44} {' '.join(f'{aspect:>9}' for aspect in ASPECTS)}")
        for row in result["rows"]:
            if row["run"] == run:
                marks = (_mark(row[aspect]) for aspect in ASPECTS)
                print(
                    f"  {row['scenario']:9} {row['query'][:34]:34} {' '.join(f'{mark:>9}' for mark in marks)}"
                )
    print("\nparts of texts")
    for row in result["contents"]:
        print(f"  {row['scenario']:9} {json.dumps(row['entry']):50} {_mark(row['contents'])}")
    for row in [*result["rows"], *result["contents"]]:
        for aspect in (*ASPECTS, "contents"):
            for entry in row.get(aspect) or ():
                if details or entry["why"] is None:
                    show_entry(row, aspect, entry)
    pools = result["candidates"]
    print(
        f"\ncandidates found by both, of all: {pools['overlap']:.0%}; none but ours: {pools['only_theirs_empty']},",
        end=" ",
    )
    print(f"none but theirs: {pools['only_ours_empty']}")
    print("\nwhy (docs/peer.md)")
    for name, count in result["reasons"].items():
        print(f"  {name:20} {count:4}  {KNOWN[name]}")
    print(f"  {'unexplained':20} {result['unexplained']:4}")
    ours, theirs = result["latency_ms"]["ours"], result["latency_ms"]["theirs"]
    print("\n                  ours    theirs   ratio")
    for name in ("p50", "p95"):
        print(f"  {name} ms {ours[name]:12} {theirs[name]:9} {ours[name] / theirs[name]:7.2f}")
    spent = " ".join(f"{name} {took}" for name, took in result["our_stages_p50_ms"].items())
    print(f"  ours by stages, p50 ms: {spent}")


def show_entry(row: Row, aspect: str, entry: Row) -> None:
    asked_for = row.get("query", json.dumps(row.get("entry")))
    print(f"\n  [{row.get('run', 'contents')}] {row['scenario']}: {asked_for!r} {row.get('bounds', '')}")
    print(f"    {aspect}{entry['at']}  ({entry['why'] or 'unexplained'})")
    for side in ("ours", "theirs"):
        print(f"      {side:6} {json.dumps(entry[side], ensure_ascii=False)[:SHOWN_CHARS]}")


def _mark(found: Sequence[Row] | None) -> str:
    """`=` when equal, else the reasons' initials; `?` for one without a reason."""
    if found is None:
        return "="
    return "".join(sorted({(entry["why"] or "?")[0] for entry in found}))


if __name__ == "__main__":
    sys.exit(main())
