"""Every kind of page once, with something on it worth looking at."""

import time
from pathlib import Path

import httpx
import pytest

from tests.browser.console import Console

QUESTION = "How often do we pour hot water over the aft winch when it ices?"
# Text that is hard on a layout, or that would be code, a template or a formula elsewhere.
AWKWARD = (
    "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen" * 6,
    '<script>alert("stored")</script> {{ 7|add:7 }} [a link](javascript:alert(1)) =HYPERLINK("http://x")',
    "الرافعة الخلفية تتجمد عند أربع درجات تحت الصفر، والمصباح الأخضر مطفأ منذ الأمس.",
    "後甲板のウインチが凍りました。お湯は使わないでください。緑のランプを確認すること。",
    "ends \u202edrawkcab daer si siht\u202c here, and a family: 👨‍👩‍👧‍👦 e\u0301\u0301\u0301",
    "first line\n\n    indented\n\ttabbed\n" + "and so on, " * 40,
)
LINES = (
    '{"content": "The spare lamp is in the forward locker.", "channel": "bridge"}',
    "this is no JSON",
    '{"content": 5}',
    '{"content": "Line four is fine again.", "message_id": "<b>four</b>"}',
)
JOB_SECONDS = 30.0

Sights = dict[str, str]


def file_of_lines(folder: Path) -> Path:
    """A file to import: two good lines, two bad ones."""
    file = folder / "watch notes.ndjson"
    file.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return file


def make_sights(console: Console) -> Sights:
    """Put the things there and name the address of each page. Leaves the demo store's texts as they are."""
    trace, other = (ask(console, QUESTION, count=count) for count in (1, 3))
    refused = _refused_trace(console)
    awkward = console.new_store('A <b>name</b> that goes on and "on" 山', *AWKWARD)
    ask(console, "winch lamp <script> 緑", awkward)
    long = next(
        row["ref"]
        for row in console.call("GET", f"/stores/{console.store}/records?limit=200")["results"]
        if len(row["content"]) > 3000
    )
    summary = console.call("GET", f"/stores/{console.store}/summaries?limit=1")["results"][0]["ref"]
    imported = import_lines(console, awkward)
    empty = console.new_store("Nothing yet")
    of_demo = {
        "overview": "",
        "ask-nothing": "ask",
        "ask": f"ask?query={QUESTION}&count=1",
        "ask-bounded": f"ask?query={QUESTION}&count=4&budget=500&top_k=5&channel=bridge",
        "ask-refused": "ask?query=winch&count=none",
        "candidates": f"ask/candidates?query={QUESTION}",
        "read": f"read/{long}?query={QUESTION}",
        "records": "records",
        "records-found": "records?text=winch&since=2025-11-01",
        "records-refused": "records?since=yesterday",
        "record": "records/mem:71",
        "record-long": f"records/{long}",
        "record-delete": "records/mem:71/delete",
        "summaries": "summaries",
        "summary": f"summaries/{summary}",
        "traces": "traces",
        "trace": f"traces/{trace}",
        "trace-why": f"traces/{trace}?ref=mem:200",
        "trace-guess": f"traces/{trace}?ref=kettle",
        "trace-refused": f"traces/{refused}",
        "compare": f"traces/{trace}/compare?b={other}",
        "jobs": "jobs",
        "settings": "settings",
        "missing": "records/mem:999999",
    }
    of_awkward = {
        "awkward-overview": "",
        "awkward-ask": "ask?query=winch lamp <script> 緑&count=6",
        "awkward-records": "records",
        "awkward-job": f"jobs/{imported}",
        **{f"awkward-record-{n}": f"records/mem:{n}" for n in range(1, len(AWKWARD) + 1)},
    }
    return {
        "home": f"{console.url}/",
        "sign-in": f"{console.url}/sign-in",
        **{name: console.at(place) for name, place in of_demo.items()},
        **{name: console.at(place, awkward) for name, place in of_awkward.items()},
        **{
            f"empty-{place or 'overview'}": console.at(place, empty)
            for place in ("", "records", "traces", "jobs")
        },
    }


def ask(console: Console, question: str, store: str = "", count: int = 3) -> str:
    """Ask over the API; the id of the trace that was left."""
    store = store or console.store
    console.call("POST", f"/stores/{store}/reconstruct", {"query": question, "count": count})
    return str(console.call("GET", f"/stores/{store}/traces?limit=1")["results"][0]["id"])


def _refused_trace(console: Console) -> str:
    with pytest.raises(httpx.HTTPStatusError, match="400"):
        ask(console, QUESTION, count=-1)
    found = console.call("GET", f"/stores/{console.store}/traces?limit=1&outcome=refused")
    return str(found["results"][0]["id"])


def import_lines(console: Console, store: str) -> str:
    """Import two good lines and two bad ones; the job's id, once it has ended."""
    answer = httpx.post(
        f"{console.url}/api/v1/stores/{store}/imports", content="\n".join(LINES).encode(), trust_env=False,
        headers={"Authorization": f"Bearer {console.token}", "Content-Type": "application/x-ndjson"},
    )  # fmt: skip
    job = str(answer.raise_for_status().json()["id"])
    until = time.monotonic() + JOB_SECONDS
    while console.call("GET", f"/jobs/{job}")["state"] != "done":
        assert time.monotonic() < until
        time.sleep(0.2)
    return job
