"""`manage.py demo`: an account and a store with a lifelike conversation, loaded through the public API."""

import json
import os
import secrets
import shlex
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from memoryconsole.models import Scope, Token, User

DEMO = Path(__file__).resolve().parents[2] / "demo"
USERNAME = "demo"
TIMEOUT_S = 60.0
# Small enough that no single call holds a web thread for long on a slow machine.
RECORDS_PER_CALL = 250


class Command(BaseCommand):
    help = (
        "Create the demo account and store on a running server, once; print the sign-in and a first request."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--base-url", required=True, help="where the server answers")
        parser.add_argument(
            "--state", required=True, type=Path, help="file that remembers the demo (mode 0600)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        content = json.loads((DEMO / "harbour.json").read_text(encoding="utf-8"))
        held = json.loads((DEMO / "harbour_facts.json").read_text(encoding="utf-8"))
        base_url, state_file = options["base_url"].rstrip("/"), options["state"]
        state = _read(state_file)
        if not _known(state):
            state = _account()
            _write(state_file, state)
        with httpx.Client(
            base_url=f"{base_url}/api/v1",
            headers={"Authorization": f"Bearer {state['token']}"},
            timeout=TIMEOUT_S,
            # The server stands on this machine: a proxy from the environment has no part in it.
            trust_env=False,
        ) as api:
            if not state.get("store") or api.get(f"/stores/{state['store']}").status_code != 200:
                state["store"] = _load(api, content, held)
                _write(state_file, state)
        ask = partial(_curl, base_url, state)
        self.stdout.write(
            f"\nSign in at {base_url}/  as {USERNAME}, password {state['password']}\n"
            f"Ask the demo store what was said:\n\n{ask('reconstruct', content['question'])}\n"
            f"and what is held true, beside what sources say:\n\n{ask('context-bundle', held['question'])}"
        )


def _curl(base_url: str, state: dict[str, Any], route: str, question: dict[str, Any]) -> str:
    return (
        f"curl -s {base_url}/api/v1/stores/{state['store']}/{route} \\\n"
        f"  -H 'Authorization: Bearer {state['token']}' -H 'Content-Type: application/json' \\\n"
        f"  -d {shlex.quote(json.dumps(question, ensure_ascii=False))}"
        " | python3 -m json.tool --no-ensure-ascii\n"
    )


def _account() -> dict[str, Any]:
    """The demo account with a fresh password and a fresh token; older tokens of it end."""
    password = secrets.token_urlsafe(9)
    user, _ = User.objects.get_or_create(username=USERNAME)
    user.can_create_stores = True
    user.set_password(password)
    user.save()
    now = timezone.now()
    user.tokens.filter(revoked_at=None).update(revoked_at=now)
    _, text = Token.issue(user=user, name="make run", scopes=[scope.value for scope in Scope], now=now)
    return {"password": password, "token": text}


def _known(state: dict[str, Any]) -> bool:
    """Whether what the file remembers still opens this database, which may be another than last time."""
    token = Token.objects.filter(digest=Token.digest_of(str(state.get("token", "")))).first()
    return token is not None and token.usable_at(timezone.now())


def _load(api: httpx.Client, content: dict[str, Any], held: dict[str, Any]) -> str:
    """Create the store and fill it, in the order in which things refer to one another."""
    store = str(_post(api, "/stores", content["store"])["id"])
    refs = _load_records(api, store, content["records"])
    _load_summaries(api, store, content["summaries"], refs)
    _load_associations(api, store, content["associations"], refs)
    _load_testimony(api, store, held, refs)
    return store


def _load_records(api: httpx.Client, store: str, records: list[dict[str, Any]]) -> dict[str, str]:
    """The ref of each message id; of several versions, the one that arrived last."""
    refs = {}
    for start in range(0, len(records), RECORDS_PER_CALL):
        batch = records[start : start + RECORDS_PER_CALL]
        answer = _post(api, f"/stores/{store}/records", {"records": batch})
        for record, stored in zip(batch, answer["records"], strict=True):
            if "message_id" in record:
                refs[record["message_id"]] = stored["ref"]
    return refs


def _load_summaries(
    api: httpx.Client, store: str, summaries: list[dict[str, Any]], refs: dict[str, str]
) -> None:
    """Sources are message ids, or `sum:<key>` of an earlier summary; `refs` learns the keys."""
    for summary in summaries:
        body = {name: value for name, value in summary.items() if name not in ("key", "sources")}
        if "sources" in summary:
            body["source_ids"] = [int(refs[source].partition(":")[2]) for source in summary["sources"]]
        ref = _post(api, f"/stores/{store}/summaries", body)["ref"]
        if "key" in summary:
            refs[f"sum:{summary['key']}"] = ref


def _load_associations(
    api: httpx.Client, store: str, associations: list[dict[str, Any]], refs: dict[str, str]
) -> None:
    """One declaration for each anchor. An end `msg:<message id>` is that record, any other an entity's name."""
    for declared in associations:
        relations = [
            {name: _end(text, refs) for name, text in relation.items()} for relation in declared["relations"]
        ]
        body: dict[str, Any] = {
            "associations": {"entities": declared["entities"], "relations": relations},
        }
        if "anchor_message_id" in declared:
            body["anchor_ref"] = refs[declared["anchor_message_id"]]
        answer = _post(api, f"/stores/{store}/associations", body)
        if answer["dropped"]:
            raise CommandError(f"associations were dropped: {answer['dropped']}")


def _load_testimony(api: httpx.Client, store: str, content: dict[str, Any], refs: dict[str, str]) -> None:
    """Documents, what they and messages claim, and the facts that rest on it. Everything is named by its key."""
    documents = {row["key"]: _load_document(api, store, row) for row in content["documents"]}
    named = {name for claim in content["claims"] for name in claim["mentions"]}
    entities = {name: _entity(api, store, name) for name in sorted(named)}
    claims = {}
    for claim in content["claims"]:
        body = {name: value for name, value in claim.items() if name not in ("key", "document", "message_id")}
        if "document" in claim:
            body["chunk_id"] = _passage(api, store, documents[claim["document"]], claim["quote"])
        else:
            body["chunk_id"] = refs[claim["message_id"]]
        body["mentions"] = [{"entity_id": entities[name]} for name in claim["mentions"]]
        claims[claim["key"]] = _post(api, f"/stores/{store}/claims", body)["id"]
    facts = {row["key"]: _load_fact(api, store, row, claims, entities) for row in content["facts"]}
    for keys in content["contradictions"]:
        _post(api, f"/stores/{store}/contradictions", {"members": [facts[key] for key in keys]})


def _load_document(api: httpx.Client, store: str, row: dict[str, Any]) -> str:
    body = {name: value for name, value in row.items() if name != "key"}
    return str(_post(api, f"/stores/{store}/documents", body)["id"])


def _passage(api: httpx.Client, store: str, document: str, quote: str) -> str:
    """The first passage of a document that holds the quote."""
    answer = api.get(f"/stores/{store}/documents/{document}/passages")
    for passage in answer.raise_for_status().json()["results"]:
        if quote in passage["content"]:
            return str(passage["chunk_id"])
    raise CommandError(f"no passage of document {document} says: {quote}")


def _entity(api: httpx.Client, store: str, name: str) -> str:
    answer = _post(api, f"/stores/{store}/operations/resolve_entity", {"name": name})
    if not answer["entities"]:
        raise CommandError(f"nothing is called {name}")
    return str(answer["entities"][0]["entity_id"])


def _load_fact(
    api: httpx.Client, store: str, row: dict[str, Any], claims: dict[str, str], entities: dict[str, str]
) -> dict[str, str]:
    """Declare a fact; answers its kind and id."""
    kept = ("kind", "statement", "predicate", "window")
    body: dict[str, Any] = {name: row[name] for name in kept if name in row}
    body["subject_id"] = entities[row["subject"]]
    if "object" in row:
        body["object_id"] = entities[row["object"]]
    body["window_claim_ids"] = [claims[key] for key in row.get("window_claims", [])]
    body["evidence"] = [{"claim_id": claims[key], "stance": stance} for key, stance in row["evidence"]]
    stored = _post(api, f"/stores/{store}/facts", body)
    return {"kind": stored["kind"], "id": stored["id"]}


def _end(text: str, refs: dict[str, str]) -> str:
    kind, _, message_id = text.partition(":")
    return refs[message_id] if kind == "msg" else text


def _post(api: httpx.Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = api.post(path, json=body)
    if answer.status_code not in (200, 201):
        raise CommandError(f"POST {path} answered {answer.status_code}: {answer.text[:500]}")
    return dict(answer.json())


def _read(state_file: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(state_file.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError):
        return {}


def _write(state_file: Path, state: dict[str, Any]) -> None:
    """Replace the file whole, readable by its owner alone: it opens the demo store."""
    part = state_file.with_suffix(".part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(state, file)
    part.replace(state_file)
