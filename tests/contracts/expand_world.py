"""The data of an `api` or `expand` scenario: one fresh store, its rows made through the ORM with the numbers given.

Below the write services on purpose: a fixture may have gaps, cycles and strangers among its sources. Digests and the
index are the product's own.
"""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from unittest import mock

from django.db import transaction
from django.test import override_settings
from django.utils import timezone

from memoryconsole import search
from memoryconsole.models import (
    Membership,
    Payload,
    Record,
    Session,
    Summary,
    SummarySource,
    User,
)
from memoryconsole.services import forget
from memoryconsole.services.ingest import digest_of
from provenance.expand_query import lineage, services, synthesis
from tests.conftest import make_client, make_store
from tests.contracts.expand_values import Result
from tests.contracts.values import FormatError, require_keys

STORED_AT = datetime(2026, 1, 1, tzinfo=UTC)

COUNTERS = {"chars": len, "chars+1": lambda text: len(text) + 1 if text else 0}

_MESSAGE = {"store_id", "session_id", "role", "source", "content", "externalized_ref", "tool_call_id", "tool_calls",
            "tool_name", "snippet", "conversation_id", "timestamp"}  # fmt: skip
_NODE = {"node_id", "session_id", "depth", "summary", "source_type", "source_ids", "expand_hint", "token_count",
         "source_token_count"}  # fmt: skip
_PAYLOAD = {"ref", "session_id", "kind", "role", "content", "tool_call_id", "field_path"}
_SYNTHESIZER = {
    "configured",
    "model",
    "behavior",
    "text",
    "finish_reason",
    "timeout_seconds",
    "status",
    "side_effects",
}


class World:
    """One scenario's store, its synthesizer, and a client that may do everything in the store."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._user = User.objects.create_user(f"contracts-{uuid.uuid4().hex}")
        self.store = make_store(self._user)
        self.client = make_client(self._user, self.store)
        # What we do not expect is an answer too: a 500.
        self.client.raise_request_exception = False
        self.session = given["session"]
        self.stub = given.get("search_stub")
        self.snippets = {each["store_id"]: each.get("snippet", "") for each in given.get("messages", ())}
        self.counter = given.get("token_counter")
        if self.counter is not None and self.counter not in COUNTERS:
            raise FormatError(f"token_counter {self.counter!r}")
        self._sessions: dict[str, Session] = {}
        self.synthesizer = _Synthesizer(self, given.get("synthesizer", {"configured": False}))
        with transaction.atomic(), override_settings(EMBEDDER="none"):
            self._session(self.session)
            for row in given.get("payloads", ()):
                self._add_payload(row)
            for row in given.get("messages", ()):
                self._add_message(row)
            for row in given.get("nodes", ()):
                self._add_node(row)
            for row in given.get("nodes", ()):
                self._add_sources(row)
            records, summaries = (
                Record.objects.filter(store=self.store),
                Summary.objects.filter(store=self.store),
            )
            search.index(self.store, records=list(records), summaries=list(summaries), now=STORED_AT)

    def send(self, route: str, args: Mapping[str, Any]) -> Result:
        body = json.dumps({"session_id": self.session, **args})
        with self._in_force():
            answer = self.client.post(
                f"/api/v1/stores/{self.store.public_id}/{route}", body, content_type="application/json"
            )
        return Result(
            json.loads(answer.content),
            {
                "$status": answer.status_code,
                "$synthesis_calls": self.synthesizer.calls,
                "$synthesis_context": self.synthesizer.context,
            },
        )

    def mutate(self, args: Mapping[str, Any]) -> None:
        require_keys(args, "mutate", {"messages", "nodes", "payloads"})
        for number, change in args.get("messages", {}).items():
            if change is None:
                forget.delete_record(self.store, int(number), by=self._user, now=timezone.now())
                continue
            require_keys(change, "a changed message", {"content"})
            rows = Record.objects.filter(store=self.store, number=int(number))
            rows.update(content=change["content"], digest=digest_of(change["content"]))
        for number, change in args.get("nodes", {}).items():
            if change is None:
                forget.delete_summary(self.store, int(number), by=self._user, now=timezone.now())
                continue
            require_keys(change, "a changed node", {"summary"})
            rows = Summary.objects.filter(store=self.store, number=int(number))
            rows.update(summary=change["summary"], digest=digest_of(change["summary"]))
        for ref, change in args.get("payloads", {}).items():
            payloads = Payload.objects.filter(store=self.store, ref=ref)
            if change is None:
                payloads.delete()
                continue
            require_keys(change, "a changed payload", {"content"})
            payloads.update(content=change["content"], digest=digest_of(change["content"]))

    def set(self, args: Mapping[str, Any]) -> None:
        require_keys(args, "set", {"session", "synthesizer"})
        if "session" in args:
            self.session = args["session"]
        if "synthesizer" in args:
            self.synthesizer.become(args["synthesizer"])

    def revoke(self) -> None:
        Membership.objects.filter(store=self.store).delete()

    def rename_session(self, name: str) -> None:
        Session.objects.filter(store=self.store, session_id=self.session).update(session_id=name)

    @contextmanager
    def _in_force(self) -> Iterator[None]:
        with ExitStack() as settled:
            settled.enter_context(override_settings(EMBEDDER="none"))
            settled.enter_context(mock.patch.object(synthesis, "configured", self.synthesizer.configured))
            if self.counter is not None:
                settled.enter_context(mock.patch.object(services, "count_tokens", COUNTERS[self.counter]))
            if self.stub is not None:
                settled.enter_context(mock.patch.object(lineage, "nominate", self._nominate))
            yield

    def _nominate(self, store: Any, query: Any, session_id: str, *, limit: int) -> lineage.Nominated:
        keys = dict(Summary.objects.filter(store=store).values_list("number", "pk"))
        return lineage.Nominated(
            session=self._sessions[session_id].pk,
            nodes=tuple((number, keys[number]) for number in self.stub["nodes"][:limit]),
            hits=tuple(
                lineage.Hit(number, self.snippets.get(number, "")) for number in self.stub["messages"][:limit]
            ),
        )

    def _session(self, name: str) -> Session | None:
        if not name:
            return None
        if name not in self._sessions:
            self._sessions[name] = Session.objects.create(
                store=self.store, session_id=name, created_at=STORED_AT
            )
        return self._sessions[name]

    def _add_payload(self, row: Mapping[str, Any]) -> None:
        require_keys(row, "a payload", _PAYLOAD, {"ref", "content"})
        rest = {name: row[name] for name in _PAYLOAD - {"session_id"} if name in row}
        Payload.objects.create(
            store=self.store,
            session=self._session(row.get("session_id", "")),
            digest=digest_of(row["content"]),
            created_at=STORED_AT,
            **rest,
        )

    def _add_message(self, row: Mapping[str, Any]) -> None:
        require_keys(row, "a message", _MESSAGE, {"store_id", "session_id", "content"})
        own = {name: row[name] for name in ("role", "tool_call_id", "tool_calls", "tool_name", "conversation_id",
                                            "timestamp") if name in row}  # fmt: skip
        Record.objects.create(
            store=self.store,
            number=row["store_id"],
            uuid=uuid.uuid4(),
            session=self._session(row["session_id"]),
            channel=row.get("source", ""),
            content=row["content"],
            digest=digest_of(row["content"]),
            payload=Payload.objects.filter(store=self.store, ref=row.get("externalized_ref", "")).first(),
            created_at=STORED_AT,
            believed_at=STORED_AT,
            **own,
        )

    def _add_node(self, row: Mapping[str, Any]) -> None:
        require_keys(row, "a node", _NODE, {"node_id", "session_id", "summary", "source_type", "source_ids"})
        own = {name: row[name] for name in ("depth", "source_type", "expand_hint", "token_count",
                                            "source_token_count") if name in row}  # fmt: skip
        Summary.objects.create(
            store=self.store,
            number=row["node_id"],
            uuid=uuid.uuid4(),
            session=self._session(row["session_id"]),
            summary=row["summary"],
            digest=digest_of(row["summary"]),
            created_at=STORED_AT,
            believed_at=STORED_AT,
            **own,
        )

    def _add_sources(self, row: Mapping[str, Any]) -> None:
        model: Any = Record if row["source_type"] == "messages" else Summary
        found = {each.number: each for each in model.objects.filter(store=self.store)}
        summary = Summary.objects.get(store=self.store, number=row["node_id"])
        end = "record" if row["source_type"] == "messages" else "child"
        SummarySource.objects.bulk_create(
            SummarySource(
                store=self.store,
                summary=summary,
                source_index=place,
                number=number,
                **{end: found.get(number)},
            )
            for place, number in enumerate(row["source_ids"])
        )


@dataclass(slots=True)
class _Synthesizer:
    """What a scenario has for a synthesizer. `context`: the blocks of the last call."""

    world: World
    given: Mapping[str, Any]
    calls: int = 0
    context: Any = field(default=None)

    def __post_init__(self) -> None:
        self.become(self.given)

    def become(self, given: Mapping[str, Any]) -> None:
        require_keys(given, "a synthesizer", _SYNTHESIZER, {"configured"})
        self.given = given

    @property
    def model(self) -> str:
        return str(self.given.get("model", ""))

    @property
    def timeout_seconds(self) -> float:
        return float(self.given.get("timeout_seconds", 30))

    def configured(self) -> "_Synthesizer | None":
        return self if self.given["configured"] else None

    def synthesize(self, prompt: str, blocks: Sequence[Any], max_tokens: int) -> synthesis.Answer:
        self.calls += 1
        self.context = blocks
        for effect in self.given.get("side_effects", ()):
            require_keys(effect, "a side effect", {"rename_session"}, {"rename_session"})
            self.world.rename_session(effect["rename_session"])
        behavior = self.given["behavior"]
        if behavior == "answer":
            choice = {
                "message": {"content": self.given["text"]},
                "finish_reason": self.given.get("finish_reason"),
            }
            return synthesis.read_answer(json.dumps({"choices": [choice]}).encode())
        if behavior == "malformed":
            return synthesis.read_answer(b'{"choices": []}')
        if behavior == "timeout":
            raise synthesis.SynthesisFailed("timeout", "as the scenario has it")
        if behavior == "http_error":
            raise synthesis.SynthesisFailed("provider_error", f"{self.given['status']}")
        if behavior == "raise":
            raise RuntimeError(self.given.get("text", ""))
        raise FormatError(f"behavior {behavior!r}")
