"""The examples of the contracts' documents are run as they stand there, and the answers compared, refs and all.

Every section is a store of its own. A block of http is sent; a block of json behind it is the whole answer, one
without it only has to succeed. A text with a name may stand in a body as `<name>` or, a part of it, `<name[3:9]>`. A
UUID stands for the one that the server gave where it is first answered.
"""

import json
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.utils.dateparse import parse_datetime

DOCS = Path(__file__).resolve().parents[2] / "docs"
# The least number of answers that each shows.
DOCUMENTS = {"reconstruct.md": 15, "expand-query.md": 7, "context-bundle.md": 11}

_BLOCK = re.compile(r"^```(http|json|text)(?: (\w+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TEXT = re.compile(r"<(\w+)(?:\[(\d+):(\d+)\])?>")
# Told by the server's clock: any stamp will do.
_CLOCK = (
    "declared_at",
    "checked_at",
    "created_at",
    "ingested_at",
    "evaluated_at",
    "believed_at",
    "pg_live_ts",
)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def text_of(document: str) -> str:
    return (DOCS / document).read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Example:
    """One call of the document: method, address, headers, body; and its answer, None where none is shown."""

    method: str
    address: str
    headers: dict[str, str]
    body: Any
    answer: Any


def sections(document: str) -> dict[str, list[Example]]:
    """The examples under each heading that has any."""
    found = {}
    for part in text_of(document).split("\n## ")[1:]:
        heading, _, rest = part.partition("\n")
        blocks = [match.groups() for match in _BLOCK.finditer(rest)]
        texts = {name: text.rstrip("\n") for kind, name, text in blocks if kind == "text" and name}
        calls = [(kind, text) for kind, _, text in blocks if kind != "text"]
        examples = [
            _example(text, after if kind_after == "json" else None, texts)
            for (kind, text), (kind_after, after) in pairwise([*calls, ("", "")])
            if kind == "http"
        ]
        if examples:
            found[heading] = examples
    return found


def _example(call: str, answer: str | None, texts: dict[str, str]) -> Example:
    head, _, body = call.partition("\n\n")
    (method, address), *headers = (line.split(" ", 1) for line in head.splitlines())
    return Example(
        method=method,
        address=address,
        headers={name.rstrip(":"): value for name, value in headers},
        body=_filled(json.loads(body), texts) if body else None,
        answer=None if answer is None else _filled(json.loads(answer), texts),
    )


def _filled(value: Any, texts: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _filled(member, texts) for name, member in value.items()}
    if isinstance(value, list):
        return [_filled(member, texts) for member in value]
    named = _TEXT.fullmatch(value) if isinstance(value, str) else None
    if named is None:
        return value
    text = texts[named[1]]
    return text if named[2] is None else text[int(named[2]) : int(named[3])]


def _without_clock(value: Any) -> Any:
    """The value with every stamp of the server's clock, which must be one, replaced by its name."""
    if isinstance(value, list):
        return [_without_clock(member) for member in value]
    if not isinstance(value, dict):
        return value
    for name in _CLOCK:
        assert name not in value or parse_datetime(value[name]) is not None
    return {name: name if name in _CLOCK else _without_clock(member) for name, member in value.items()}


SECTIONS = {
    (document, heading): found for document in DOCUMENTS for heading, found in sections(document).items()
}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_document_has_examples_and_every_answer_belongs_to_a_call(document):
    found = [example for examples in sections(document).values() for example in examples]
    kinds = [kind for kind, _, _ in _BLOCK.findall(text_of(document))]
    shown = [example for example in found if example.answer is not None]
    assert len(shown) == kinds.count("json") >= DOCUMENTS[document]
    assert len(found) == kinds.count("http")


@pytest.mark.parametrize(("document", "heading"), SECTIONS, ids=lambda part: part)
def test_examples_are_answered_as_the_document_says(document, heading, api, store, run_jobs, settings):
    if heading == "Notices":
        settings.EMBEDDER = "none"
    given: dict[str, str] = {}
    for example in SECTIONS[document, heading]:
        address = _as_given(example.address.replace("{store}", store.public_id), given)
        answer = api.generic(
            example.method,
            address,
            _as_given(json.dumps(example.body), given) if example.body is not None else "",
            content_type="application/json",
            headers=example.headers,
        )
        if example.answer is None:
            assert answer.status_code in (200, 201, 202), answer.content
            run_jobs(store)
            continue
        _learn(example.answer, answer.json(), given)
        expected = json.loads(_as_given(json.dumps(example.answer), given))
        assert _without_clock(answer.json()) == _without_clock(expected), answer.content.decode()


def _as_given(text: str, given: dict[str, str]) -> str:
    """A text of the document with the server's UUIDs in place of the document's."""
    return _UUID.sub(lambda found: given.get(found[0], found[0]), text)


def _learn(shown: Any, answer: Any, given: dict[str, str]) -> None:
    """Which UUIDs the server has given in the places of the document's; no two may stand for one."""
    if isinstance(shown, dict) and isinstance(answer, dict):
        for name in shown.keys() & answer.keys():
            _learn(shown[name], answer[name], given)
    elif isinstance(shown, list) and isinstance(answer, list):
        for one, other in zip(shown, answer, strict=False):
            _learn(one, other, given)
    elif (
        isinstance(shown, str)
        and isinstance(answer, str)
        and _UUID.fullmatch(shown)
        and _UUID.fullmatch(answer)
    ):
        given.setdefault(shown, answer)
        assert len(set(given.values())) == len(given)
