"""Traces of earlier releases still replay, and say whose rules decided.

`tests/golden/<core>/` holds a store (`store.ndjson`, an export) and traces of it (`traces.json`) as that version of the
core left them. They are never rewritten. A core that decides otherwise on purpose names, in `differs.json` of the
older folder, which of its traces it answers differently: {"<core>": ["<kind>", ...]}.

A new version's folder is written by MEMORYCONSOLE_WRITE_GOLDEN=1 (it refuses to write over one).
"""

import json
import os
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from memoryconsole import registry
from memoryconsole.models import Job, Trace
from memoryconsole.services import tracing
from reconstruct.core import CORE, allocate
from tests.conftest import make_client, make_store

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
KEPT = ("operation", "outcome", "reason", "degraded", "core", "request", "policy", "seen", "told", "notices", "stages",
        "duration_us", "quoted")  # fmt: skip
ASKS = {
    "hit": ("reconstruct", {"query": "walrus tide", "count": 3}),
    "everything": ("reconstruct", {"query": "walrus tide", "count": 10, "top_k": 50, "trace": True}),
    "nothing": ("reconstruct", {"query": "zzyzx"}),
    "count zero": ("reconstruct", {"query": "walrus", "count": 0}),
    "budget exhausted": ("reconstruct", {"query": "walrus", "count": 10, "budget": 600}),
    "narrow": ("reconstruct", {"query": "walrus", "count": 4, "max_evidence": 2}),
    "walked": ("reconstruct", {"query": "otto", "count": 4, "trace": True}),
    "blank": ("reconstruct", {"query": "", "count": 4}),
    "long text": (
        "reconstruct",
        {"query": "the lamp at the far end of the breakwater", "count": 2, "trace": True},
    ),
    "refused": ("reconstruct", {"query": "walrus", "count": True}),
    "rows": ("recall", {"query": "walrus", "limit": 5}),
}


def folder_of(core: str) -> Path:
    return GOLDEN / core.replace("/", "-")


def url(store, tail):
    return f"/api/v1/stores/{store.public_id}{tail}"


def world(api, store, run_jobs):
    """Versions, a burst, an episode, a long text with nodes, a declared alias, relations and a qualification."""
    records = [
        {"content": f"walrus log {n}: the tide was {['high', 'low'][n % 2]}. " * (n + 1), "message_id": f"m{n // 2}",
         "timestamp": f"2026-01-{n // 3 + 1:02}T10:00:{n:02}Z", "source": {"type": "User", "id": f"u{n % 3}"}}
        for n in range(15)
    ]  # fmt: skip
    chapters = [f"Part {n}. " + f"Stone {n} of the breakwater was laid in fog. " * 30 for n in range(8)]
    chapters[5] += "The lamp at the far end went out twice. "
    records.append({"content": "\n\n".join(chapters), "message_id": "long", "timestamp": "2026-02-01"})
    records.append({"content": "the keeper counts whiskers at night", "timestamp": "2026-02-02"})
    assert api.post(url(store, "/records"), {"records": records}, format="json").status_code == 201
    api.post(
        url(store, "/summaries"),
        {"summary": "the walrus days", "start": "2026-01-02", "end": "2026-01-04"},
        format="json",
    )
    declared = {
        "entities": [{"name": "Otto", "aliases": ["walrus"]}],
        "relations": [
            {"subject": "Otto", "predicate": "kept by", "object": "Keeper"},
            {"subject": "mem:2", "predicate": "qualifies", "object": "mem:1"},
        ],
    }
    api.post(url(store, "/associations"), {"associations": declared, "anchor_ref": "mem:1"}, format="json")
    keeper = {"entities": [{"name": "Keeper"}]}
    api.post(url(store, "/associations"), {"associations": keeper, "anchor_ref": "mem:17"}, format="json")
    run_jobs(store)


@pytest.mark.skipif(not os.environ.get("MEMORYCONSOLE_WRITE_GOLDEN"), reason="writes a new golden folder")
def test_write_golden(api, store, run_jobs):
    folder = folder_of(CORE)
    folder.mkdir(parents=True)
    world(api, store, run_jobs)
    kept = {}
    for kind, (operation, body) in ASKS.items():
        answer = api.post(url(store, f"/{operation}"), body, format="json")
        trace = Trace.objects.get(pk=answer.headers["Trace-Id"])
        kept[kind] = {name: getattr(trace, name) for name in KEPT}
        kept[kind] |= {"digest": bytes(trace.digest).hex(), "asked_at": trace.asked_at.isoformat()}
    exported = b"".join(api.get(url(store, "/export")).streaming_content)
    (folder / "store.ndjson").write_bytes(exported)
    (folder / "traces.json").write_text(
        json.dumps(kept, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
    )


@pytest.fixture
def golden(ada, run_jobs, request):
    """(the traces of a golden folder by kind, put into a store restored from it)."""
    folder = request.param
    store = make_store(ada)
    client = make_client(ada, store)
    answer = client.post(
        url(store, "/imports"), (folder / "store.ndjson").read_bytes(), content_type="application/x-ndjson"
    )
    assert answer.status_code == 202, answer.content
    run_jobs(store)
    job = Job.objects.get(uuid=answer.json()["id"])
    assert (job.state, job.errors) == ("done", [])
    traces = {}
    for kind, kept in json.loads((folder / "traces.json").read_text(encoding="utf-8")).items():
        values = {name: kept[name] for name in KEPT}
        traces[kind] = Trace(
            store=store, user=ada, request_id="golden", digest=bytes.fromhex(kept["digest"]),
            asked_at=parse_datetime(kept["asked_at"]) or timezone.now(), **values,
        )  # fmt: skip
        traces[kind].insert()
    return folder, traces


FOLDERS = sorted(folder for folder in GOLDEN.iterdir() if folder.is_dir()) if GOLDEN.exists() else []


@pytest.mark.parametrize("golden", FOLDERS, ids=lambda folder: folder.name, indirect=True)
def test_golden_traces_replay_as_their_folder_says(golden):
    folder, traces = golden
    otherwise = folder / "differs.json"
    differs = json.loads(otherwise.read_text()).get(CORE, []) if otherwise.exists() else []
    found = {kind: tracing.replay(trace) for kind, trace in traces.items()}
    assert {kind: each["result"] for kind, each in found.items()} == {
        kind: "differs" if kind in differs else "identical" for kind in traces
    }
    assert {each["same_core"] for each in found.values()} == {folder == folder_of(CORE)}


@pytest.mark.parametrize("golden", [folder_of(CORE)], ids=["running"], indirect=True)
def test_after_an_upgrade_of_the_core_they_say_so_and_what_became_of_the_answer(golden):
    _, traces = golden
    operation = registry.operation("reconstruct")
    upgraded = mock.patch.dict(
        registry._operations, {"reconstruct": replace(operation, core="reconstruct/next")}
    )
    with upgraded:
        assert tracing.replay(traces["hit"]) == {"same_core": False, "result": "identical"}
        # A rule that decides otherwise: every quote but the first is withheld.
        with (
            mock.patch.object(allocate, "carried", return_value=1),
            mock.patch("reconstruct.core.rebuild.carried", return_value=1),
        ):
            answer = tracing.replay(traces["everything"])
    assert (answer["same_core"], answer["result"]) == (False, "differs")
    assert {"path": "/carried", "then": traces["everything"].told["carried"], "now": 1} in answer[
        "differences"
    ]
