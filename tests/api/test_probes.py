"""Budgets, ties, outages, traces, scripts and cut characters, tried through HTTP where memories like this one went
wrong. The search is the real one.
"""

import itertools
import json
import os
import random
import subprocess
import sys
import time
import unicodedata
from pathlib import Path
from unittest import mock

import pytest
from django.db import connections

from memoryconsole import embedding
from memoryconsole.models import Record, RecordNode
from tests.conftest import make_client, make_store, url

ROOT = Path(__file__).resolve().parents[2]


def sequence(body):
    """Every quote of an answer in the contract's order: heads, then excerpts in rounds."""
    heads = [(item["head_ref"], item["content"]) for item in body["items"]]
    excerpts = ([(e["ref"], e["content"]) for e in item.get("excerpts", [])] for item in body["items"])
    return [*heads, *(quote for turn in itertools.zip_longest(*excerpts) for quote in turn if quote)]


def claims(body):
    return [claim["ref"] for item in body["items"] for claim in item["claims"]]


# The budget


def test_more_budget_takes_no_quote_away_and_nothing_slips_past_a_long_one(api, store, ask, say):
    """Three items of two or three versions, quotes of 9 to 70 characters."""
    api.patch(url(store), {"settings": {"preview_chars": 70}}, format="json")
    lengths = {"a": (30, 9, 50), "b": (70, 12), "c": (11, 60, 20)}
    say(
        *(
            {"content": f"walrus {name} ".ljust(length, "z"), "message_id": name,
             "timestamp": f"2026-01-0{3 - version}T00:00:00Z"}
            for name, versions in lengths.items()
            for version, length in enumerate(versions)
        )
    )  # fmt: skip
    full = ask("walrus", count=3, budget=20_000, top_k=100)
    whole = sequence(full)
    assert (len(full["items"]), len(whole)) == (3, 8)
    assert "budget_exhausted" not in json.dumps(full)
    before = 0
    # Around every place where one quote more fits: no other budget makes a difference.
    ends = list(itertools.accumulate(len(content) for _, content in whole))
    budgets = sorted({max(end + more, 70) for end in ends for more in (-1, 0, 1)})
    for budget in budgets:
        body = ask("walrus", count=3, budget=budget, top_k=100)
        carried = sequence(body)
        assert carried == whole[: len(carried)]
        assert len(carried) >= max(before, 1)
        before = len(carried)
        if before < len(whole):
            assert sum(len(content) for _, content in whole[: before + 1]) > budget
            assert body["effective_budget"] == budget
            assert body["used_budget"] == sum(len(content) for _, content in carried) <= budget
            omitted = sum(item.get("excerpts_omitted", 0) for item in body["items"])
            assert omitted == len(claims(body)) - before
        short = body["returned_count"] < 3
        assert body.get("shortfall_reason") == ("budget_exhausted" if short else None)
    assert before == len(whole)


def test_a_named_count_is_not_cut_by_a_budget_nobody_named(ask, say):
    say(*(f"walrus {number} " + "rests and swims. " * 40 for number in range(10)))
    body = ask("walrus", count=10)
    assert [len(item["content"]) for item in body["items"]] == [500] * 10
    assert "used_budget" not in body
    assert ask("walrus", count=10, budget=4000)["returned_count"] == 8


# Ties


TWELVE = (
    "alder",
    "birch",
    "cedar",
    "elder",
    "hazel",
    "larch",
    "maple",
    "olive",
    "pecan",
    "rowan",
    "tulip",
    "yucca",
)

WORKER = """
import django, json, sys
django.setup()
from rest_framework.test import APIClient
client = APIClient()
client.credentials(HTTP_AUTHORIZATION="Bearer " + sys.argv[1])
for store in sys.argv[2:]:
    for count in (1, 3, 10):
        body = {"query": "tide table", "count": count, "trace": True}
        answer = client.post(f"/api/v1/stores/{store}/reconstruct", body, format="json")
        assert answer.status_code == 200, answer.content
        print(answer.content.decode())
"""


def test_equal_rows_are_answered_alike_whatever_the_insert_order_the_process_and_its_hashes(ada):
    """Three stores of the same twelve rows, each asked by four processes with hash seeds of their own."""
    stores, seen = [make_store(ada) for _ in range(3)], []
    client = make_client(ada, *stores)
    for seed, store in enumerate(stores):
        rows = [{"content": f"{word} tide table", "message_id": word, "timestamp": "2026-01-01T10:00:00Z"}
                for word in random.Random(seed).sample(TWELVE, 12)]  # fmt: skip
        assert client.post(url(store, "/records"), {"records": rows}, format="json").status_code == 201
    database = connections["default"].settings_dict
    address = (
        f"postgresql://{database['USER']}:{database['PASSWORD']}@:{database['PORT']}/{database['NAME']}"
        f"?host={database['HOST'].replace('/', '%2F')}"
    )
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "memoryconsole.settings",
        "DATABASE_URL": address,
        "MEMORYCONSOLE_SECRET_KEY": "not used here",
        "MEMORYCONSOLE_ALLOWED_HOSTS": "testserver",
    }
    token = client._credentials["HTTP_AUTHORIZATION"].removeprefix("Bearer ")
    command = [sys.executable, "-c", WORKER, token, *(store.public_id for store in stores)]
    workers = [
        subprocess.Popen(
            command,
            env=environment | {"PYTHONHASHSEED": seed},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for seed in ("0", "1", "2", "4711")
    ]
    for worker in workers:
        output, said = worker.communicate(timeout=120)
        assert worker.returncode == 0, said.decode()
        seen.append(output)
    assert len(set(seen)) == 1
    lines = seen[0].decode().splitlines()
    assert len(lines) == 9
    renamed = {by_message(store, lines[place * 3 : place * 3 + 3]) for place, store in enumerate(stores)}
    assert len(renamed) == 1
    # Inserted in three orders, they do have different refs.
    assert len({tuple(lines[place * 3 : place * 3 + 3]) for place in range(3)}) == 3
    one, three, ten = (json.loads(line) for line in lines[:3])
    assert (
        one["trace"]["candidate_refs"] == three["trace"]["candidate_refs"] == ten["trace"]["candidate_refs"]
    )
    assert (one["items"], three["items"]) == (ten["items"][:1], ten["items"][:3])


def by_message(store, lines):
    names = dict(Record.objects.filter(store=store).values_list("number", "message_id"))
    text = "\n".join(lines)
    for number in sorted(names, reverse=True):
        text = text.replace(f'"mem:{number}"', f'"{names[number]}"')
    return text


# A dead embedder


def raises(_texts):
    raise ConnectionError("refused")


def times_out(_texts):
    time.sleep(0.05)
    raise TimeoutError("no answer")


class Dead:
    """The running model, which does not answer any more."""

    def __init__(self, embed):
        alive = embedding.current()
        self.name, self.dimensions, self.fingerprint = alive.name, alive.dimensions, alive.fingerprint
        self.embed = embed


@pytest.mark.parametrize("fault", [raises, times_out])
def test_a_dead_embedder_is_a_notice_and_never_nothing_stored(fault, api, store, ask, say, run_jobs):
    long = "\n\n".join(
        f"{name} log. " + "Nothing happened there. " * 60 for name in ("alpha", "walrus", "omega")
    )
    say(long)
    run_jobs(store)
    healthy = ask("zzyzx"), ask("walrus")
    with mock.patch.object(embedding, "current", return_value=Dead(fault)):
        silent, quoted, none = ask("zzyzx", count=3), ask("walrus"), ask("walrus", count=0)
        recalled = api.post(url(store, "/recall"), {"query": "zzyzx"}, format="json").json()
    assert silent["items"] == recalled["results"] == []
    for body in (silent, quoted, none, recalled):
        assert (body["advisory"]["degraded"], body["advisory"]["severity"]) == (True, "fault")
        assert body["advisory"]["reason"] == "embedder_failed"
    assert quoted["quote_selection"] == "lexical_only"
    assert quoted["items"][0]["content"].startswith("walrus log.")
    assert "quote_selection" not in silent
    for body in healthy:
        assert not {"advisory", "quote_selection"} & body.keys()


# The trace


def test_every_path_has_a_whole_trace(ask, say, store, run_jobs, settings):
    long = "\n\n".join(
        f"{name} log. " + "Nothing happened there. " * 60 for name in ("alpha", "walrus", "omega")
    )
    say(long, "the walrus sleeps", "the walrus wakes")
    run_jobs(store)
    paths = {
        "hit": ask("walrus", trace=True, count=3),
        "no hit": ask("zzyzx", trace=True),
        "count zero": ask("walrus", trace=True, count=0),
        "budget": ask("walrus log nothing", trace=True, count=3, budget=500),
    }
    with mock.patch.object(embedding, "current", return_value=Dead(raises)):
        paths["degraded"] = ask("walrus", trace=True, count=3)
    for path, body in paths.items():
        assert "null" not in json.dumps({**body, "requested_count": 0, "requested_budget": 0}), path
        told = body["reconstruction"]
        assert told.keys() == {"policy", "candidate_count", "cluster_count", "selected_count",
                               "excluded_without_provenance"}  # fmt: skip
        trace = body["trace"]
        assert len(trace["candidate_refs"]) == told["candidate_count"]
        assert len(trace["clusters"]) == told["cluster_count"]
        assert sorted(ref for cluster in trace["clusters"] for ref in cluster) == sorted(
            trace["candidate_refs"]
        )
        assert told["selected_count"] == body["returned_count"] == len(body["items"])
        assert {"count_policy", "budget_policy", "effective_budget", "used_budget", "bounds"} <= body.keys()
        by_node = {item["head_ref"] for item in body["items"] if "node" in item}
        assert by_node <= trace.get("node_order", {}).keys()
    assert paths["hit"]["trace"]["node_order"] == {"mem:1": [1, 2, 0]}
    assert "node_order" in paths["degraded"]["trace"]
    assert paths["no hit"]["trace"] == {"candidate_refs": [], "clusters": []}
    assert len(paths["count zero"]["trace"]["candidate_refs"]) == 3
    assert paths["budget"]["shortfall_reason"] == "budget_exhausted"


# Scripts


UNSPACED = {
    "做好财务护城河": ["护城", "财务", "城", "河"],
    "城の鍵は護城の中": ["城", "護城", "鍵"],
    "今日は成語しりとりをした": ["しり", "成語", "日"],
    "오늘 끝말잇기": ["끝말", "끝"],
}


@pytest.mark.parametrize("text", UNSPACED)
def test_queries_of_one_or_two_characters_find_their_row(text, ask, say):
    say(*(f"daily report {number}, nothing new" for number in range(40)))
    (ref,) = say(text)
    say("別の話", "다른 이야기")
    for query in UNSPACED[text]:
        for form in ("NFC", "NFD"):
            body = ask(unicodedata.normalize(form, query))
            assert (body["items"][0]["head_ref"], body["items"][0]["content"]) == (ref, text), query
            assert "gate_fallback" not in body


# Characters of several code points


CHARACTERS = {
    "family": "👩\u200d👩\u200d👧\u200d👦",
    "flag": "🇯🇵",
    "tone": "👍🏽",
    "keycap": "1\ufe0f\u20e3",
    "accents": "e\u0301\u0323",
    "devanagari": "क्\u200dषि",
    "hangul": "\u1112\u1161\u11ab",
}


@pytest.mark.parametrize("name", CHARACTERS)
def test_a_quote_cut_inside_a_character_is_the_stored_text(name, api, store, say):
    """The cut falls on every code point of the character, and three before and behind it."""
    character = CHARACTERS[name]
    api.patch(url(store), {"settings": {"preview_chars": 40}}, format="json")
    for before in range(40 - len(character) - 3, 44):
        text = "walrus ".ljust(before, "x") + character + " and then some more of it"
        (ref,) = say(text)
        answer = api.post(url(store, "/reconstruct"), {"query": text}, format="json")
        (item,) = json.loads(answer.content.decode("utf-8", "strict"))["items"]
        assert (item["head_ref"], item["content"]) == (ref, text[:40])
        assert (item["content_truncated"], item["content_len"]) == (True, len(text))
        assert item["node_unavailable"] == "no_nodes"


@pytest.mark.parametrize("name", CHARACTERS)
def test_nodes_and_spans_cut_inside_a_character_are_the_stored_text(name, store, ask, say, read, run_jobs):
    """A long text without any boundary is cut where the window closes: here, once on each code point."""
    character, window = CHARACTERS[name], 1800
    shifts = range(-3, len(character) + 4)
    texts = ["x" * (window - shift) + character * 600 + "." * 600 + " walrus" for shift in shifts]
    refs = say(*texts)
    run_jobs(store)
    for ref, text, shift in zip(refs, texts, shifts, strict=True):
        nodes = spans_of(store, ref)
        assert (nodes[0][0], nodes[0][1], nodes[-1][1]) == (0, window, len(text))
        assert [end for _, end in nodes[:-1]] == [start for start, _ in nodes[1:]]
        served = read(*({"ref": ref, "node": place} for place in range(len(nodes))))["items"]
        assert [item["content"] for item in served] == [text[start:end] for start, end in nodes]
        assert "".join(item["content"] for item in served) == text
        start = window - shift
        ends = range(start + 1, start + len(character) + 2)
        cut = read(*({"ref": ref, "span": [start - 1, end]} for end in ends))["items"]
        assert [item["content"] for item in cut] == [text[start - 1 : end] for end in ends]
        assert [item["range"]["span"] for item in cut] == [[start - 1, end] for end in ends]
    # And the quotes of those nodes.
    stored = dict(zip(refs, texts, strict=True))
    body = ask("walrus", count=10, top_k=100)
    assert body["returned_count"] == min(10, len(refs))
    for item in body["items"]:
        start, end = item["node"]["span"]
        assert item["content"] == stored[item["head_ref"]][start:end]


def spans_of(store, ref):
    nodes = RecordNode.objects.filter(store=store, record__number=int(ref[4:])).order_by("index")
    return list(nodes.values_list("start", "end"))
