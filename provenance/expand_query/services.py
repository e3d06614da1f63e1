"""expand-query and expand: each answered once, and decided again from its trace."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal

from django.conf import settings

from memoryconsole import search
from memoryconsole.errors import NotFound
from memoryconsole.models import Store, Trace
from memoryconsole.models.traces import Outcome, row_key
from memoryconsole.refs import split_ref
from memoryconsole.registry import Replayed
from memoryconsole.snapshot import snapshot
from memoryconsole.traces import Laps, NotReplayable, Told, check_digests, kept_digest
from provenance.expand_query import core, lineage, outline, synthesis
from provenance.expand_query.core import Context, Scope, SynthesisStatus, TokenCounter, Window
from provenance.expand_query.core.blocks import Block, Message, MessagesBlock

Json = dict[str, Any]

NO_MATCH: Final = "No matching summaries or raw messages found in the current session."
"""Contract, section B.7."""

EXCERPT_CHARS: Final = 300
"""Contract, section B.7: of a match's summary, and of a hit's window where the search gives no snippet."""

count_tokens: TokenCounter = core.estimate_tokens
"""How tokens are counted. The same for every call of an installation, so that a replay counts alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAsk:
    """An expand-query call as parsed. `node_ids` win over `query`. `context_max_tokens` None: the operator's."""

    session_id: str
    prompt: str
    query: str = ""
    node_ids: tuple[int, ...] = ()
    max_results: int = 5
    max_tokens: int = 2000
    context_max_tokens: int | None = None
    output: Literal["answer", "evidence"] = "answer"

    @property
    def budget(self) -> int:
        """Tokens of context."""
        return self.context_max_tokens or max(self.max_tokens, settings.CONTEXT_TOKENS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandAsk:
    """An expand call as parsed: one of the three locators, and what part of its target is asked for."""

    session_id: str
    window: Window
    node_id: int | None = None
    store_id: int | None = None
    externalized_ref: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis:
    """What became of the answer. `reason`: '' when it was completed."""

    status: SynthesisStatus
    reason: str = ""
    model: str = ""
    timeout_seconds: float | None = None
    text: str = ""
    truncated: bool = False

    def shown(self) -> Json:
        more = {"answer_truncated": True} if self.truncated else {}
        return {"status": self.status} | ({"reason": self.reason} if self.reason else {}) | more

    @property
    def error(self) -> str:
        if self.reason == "timeout":
            return f"expand_query synthesis timed out after {self.timeout_seconds:g}s"
        if self.reason == "blank":
            return "expand_query synthesis returned an empty answer"
        return f"expand_query synthesis unavailable: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What was read for a call, once its snapshot is closed. `tokens`: of the evidence as a list, in that mode."""

    context: Context
    nodes: tuple[core.Node, ...] = ()
    snippets: Mapping[int, str]
    tokens: int | None = None

    @property
    def matched(self) -> bool:
        return bool(self.context.blocks or self.context.dropped)


def expand_query(store: Store, ask: QueryAsk, laps: Laps | None = None) -> Told:
    """The contract's body: what was found and read, an answer where one was made, and what it was given.

    The snapshot is closed before a synthesizer is called. Raises NotFound for a session the store does not have.
    """
    laps = laps or Laps()
    query = None if ask.node_ids else search.prepare(ask.query)
    laps.lap("embed")
    with snapshot() as at:
        nominated = _nominated(store, ask, query)
        laps.lap("search")
        reading = lineage.read(store, ask.session_id, nominated, budget=ask.budget)
        laps.lap("plan")
        found = _collected(reading, ask)
    laps.lap("context")
    made = _synthesized(ask, found)
    laps.lap("synthesis")
    body = _respond(ask, found, made)
    laps.lap("provenance")
    return _told(ask, reading, found, made, body, at)


def replay_query(store: Store, trace: Trace, ask: QueryAsk) -> Replayed:
    """A traced call decided again over the rows that the trace names; what a synthesizer said is not asked again.

    Raises NotReplayable.
    """
    seen = trace.seen
    with snapshot():
        numbers = seen["selected"]
        chosen = lineage.select(store, ask.session_id, numbers)
        if chosen is None or len(chosen.nodes) < len(numbers):
            raise NotReplayable("forgotten")
        hits = tuple(map(lineage.Hit, seen["hits"]))
        budget = trace.policy["settings"]["context_max_tokens"]
        ask = replace(ask, context_max_tokens=budget)
        reading = lineage.read(store, ask.session_id, replace(chosen, hits=hits), budget=budget)
        try:
            found = _collected(reading, ask)
        except KeyError:
            raise NotReplayable("forgotten") from None
        _check(store, seen, reading.digests)
    made = Synthesis(**trace.told["synthesis"])
    body = _respond(ask, found, made)
    told = outline.of_query(reading, found.context, _kept(made))
    if made.status == "completed":
        # What it said then is not kept; its digest is what it was.
        del body["answer"]
        told["answer_sha256"] = trace.told["answer_sha256"]
    return Replayed(body, told)


def _check(store: Store, seen: Json, now: Mapping[str, bytes]) -> None:
    """Raises NotReplayable when a row or a text that the trace names is gone, or a text is another."""
    then: Mapping[str, str] = seen["digests"]
    missing = then.keys() - now.keys()
    rows = {ref for ref in missing if not ref.startswith("payload:")}
    # Traces of before this was kept name no next source.
    unread = rows | set(seen.get("next", ())) - now.keys()
    if unread - lineage.live_refs(store, unread) or missing - rows:
        raise NotReplayable("forgotten")
    check_digests({ref: digest for ref, digest in then.items() if ref in now}, now)


def _nominated(store: Store, ask: QueryAsk, query: search.Query | None) -> lineage.Nominated:
    if query is None:
        found = lineage.select(store, ask.session_id, ask.node_ids[: ask.max_results])
    else:
        found = lineage.nominate(store, query, ask.session_id, limit=ask.max_results)
    if found is None:
        raise NotFound("Session not found")
    return found


def _collected(reading: lineage.Reading, ask: QueryAsk) -> _Found:
    """The context. Its texts are read while it is collected: call inside the snapshot."""
    nodes = reading.nodes
    context = core.collect(
        nodes, reading.lineage, budget=ask.budget, count=count_tokens, hits=reading.rows, query=ask.query
    )
    tokens = None
    if ask.output == "evidence":
        context, tokens = core.fit_serialized(context, budget=ask.budget, count=count_tokens)
    snippets = {hit.number: hit.snippet for hit in reading.hits}
    return _Found(context=context, nodes=tuple(nodes), snippets=snippets, tokens=tokens)


def _synthesized(ask: QueryAsk, found: _Found) -> Synthesis:
    if not found.matched:
        return Synthesis(status="not_run", reason="no_matches")
    if ask.output == "evidence":
        return Synthesis(status="not_run", reason="not_requested")
    synthesizer = synthesis.configured()
    if synthesizer is None:
        return Synthesis(status="not_run", reason="synthesizer_not_configured")
    made = Synthesis(status="completed", model=synthesizer.model, timeout_seconds=synthesizer.timeout_seconds)
    blocks = core.write_blocks(found.context.blocks)
    try:
        answer = synthesizer.synthesize(ask.prompt, blocks, ask.max_tokens)
    except synthesis.SynthesisFailed as fault:
        return replace(made, status="failed", reason=fault.reason)
    return replace(made, text=answer.text, truncated=answer.truncated)


def _respond(ask: QueryAsk, found: _Found, made: Synthesis) -> Json:
    """The body of the contract (section B.7)."""
    pagination = core.context_pagination(found.context)
    told: Json = {"prompt": ask.prompt, "query": ask.query}
    if ask.output == "evidence":
        told |= {"output": ask.output, "evidence": core.write_blocks(found.context.blocks)}
        told |= {"context_max_tokens": ask.budget, "context_tokens": found.tokens}
    elif not found.matched:
        told["answer"] = NO_MATCH
    else:
        told |= _answer(made) | {"max_tokens": ask.max_tokens, "context_max_tokens": ask.budget}
    if found.matched or ask.output == "evidence":
        told |= {"context_truncated": bool(pagination), "context_pagination": pagination}
    told |= _matches(found) | _omitted(ask, found) | {"synthesis": made.shown()}
    told["evidence_provenance"] = core.build_provenance(
        found.context.blocks,
        scope=Scope.of_session(ask.session_id),
        synthesis_status=made.status,
        context_truncated=bool(pagination),
    )
    return told


def _answer(made: Synthesis) -> Json:
    if made.status == "not_run":
        return {}
    if made.status == "completed":
        return {"answer": made.text, "model": made.model}
    timeout = {"timeout_seconds": made.timeout_seconds} if made.reason == "timeout" else {}
    return {"error": made.error, "degraded": True, **timeout, "model": made.model}


def _matches(found: _Found) -> Json:
    return {
        "node_ids": [node.node_id for node in found.nodes],
        "matches": [
            {
                "node_id": node.node_id,
                "depth": node.depth,
                "summary": node.summary[:EXCERPT_CHARS],
                "expand_hint": node.expand_hint,
            }
            for node in found.nodes
        ],
        "raw_matches": [
            {
                "store_id": hit.store_id,
                "role": hit.role,
                "snippet": found.snippets.get(hit.store_id or 0) or hit.page.content[:EXCERPT_CHARS],
                "search_rank": hit.search_rank,
            }
            for hit in _hits(found.context.blocks)
        ],
    }


def _hits(blocks: tuple[Block, ...]) -> list[Message]:
    raw = [block for block in blocks if isinstance(block, MessagesBlock) and block.type == "raw_messages"]
    return [message for block in raw for message in block.messages if message is not None]


def _omitted(ask: QueryAsk, found: _Found) -> Json:
    """The explicit ids that were not used. One of another session is not found, like one that never was."""
    selected = {node.node_id for node in found.nodes}
    not_found = [each for each in ask.node_ids[: ask.max_results] if each not in selected]
    over_limit = list(ask.node_ids[ask.max_results :])
    if not (not_found or over_limit):
        return {}
    return {"node_ids_omitted": {"not_found": not_found, "over_limit": over_limit}}


def _kept(made: Synthesis) -> Json:
    """A synthesis as its trace keeps it: not what it said."""
    kept = {
        name: getattr(made, name) for name in ("status", "reason", "model", "timeout_seconds", "truncated")
    }
    return {name: value for name, value in kept.items() if value or name == "status"}


def _told(
    ask: QueryAsk, reading: lineage.Reading, found: _Found, made: Synthesis, body: Json, at: datetime
) -> Told:
    budget = {"context_max_tokens": ask.budget}
    return Told(
        body=body,
        outcome=Outcome.ANSWERED if found.matched else Outcome.EMPTY,
        reason=made.reason if made.status == "failed" or not found.matched else "",
        asked_at=at,
        policy={"settings": budget, "synthesizer": made.model or None},
        seen=outline.seen(reading, found.context),
        told=outline.of_query(reading, found.context, _kept(made)) | outline.answered(made.text),
        quoted=outline.quoted(found.context.blocks),
        unreplayed=("answer",) if made.status == "completed" else (),
    )


def expand(store: Store, ask: ExpandAsk, laps: Laps | None = None) -> Told:
    """A bounded page of what a locator names. Every locator is authorized anew, whoever emitted it.

    Raises NotFound, the same for what is foreign and what never was.
    """
    laps = laps or Laps()
    with snapshot() as at:
        body, digests, quoted, following = _opened(store, ask)
    laps.lap("expand")
    return Told(
        body=body,
        outcome=Outcome.ANSWERED,
        asked_at=at,
        seen={"digests": {ref: kept_digest(digest) for ref, digest in digests.items()}, "next": following},
        told=outline.of_page(body),
        quoted=quoted,
    )


def replay_expand(store: Store, trace: Trace, ask: ExpandAsk) -> Replayed:
    """The same page of the same texts. Raises NotReplayable."""
    with snapshot():
        try:
            body, digests, _, _ = _opened(store, ask)
        except NotFound:
            raise NotReplayable("forgotten") from None
        _check(store, trace.seen, digests)
    return Replayed(body, outline.of_page(body))


_Opened = tuple[Json, dict[str, bytes], list[int], list[str]]
"""(a page, the digests of its texts, the rows in it, the ref of the source that its cursor points at, if any)."""


def _opened(store: Store, ask: ExpandAsk) -> _Opened:
    """Call inside the snapshot."""
    numbers = () if ask.node_id is None else (ask.node_id,)
    chosen = lineage.select(store, ask.session_id, numbers)
    if chosen is None:
        raise NotFound("Session not found")
    if ask.node_id is not None:
        return _opened_node(store, ask, chosen)
    if ask.store_id is not None:
        read = lineage.read_message(store, chosen.session, ask.store_id)
        if read is None:
            raise NotFound(f"Message store_id {ask.store_id} not found")
        row, conversation_id, digest = read
        body = core.expand_message(row, conversation_id, ask.window, count_tokens)
        return body, {f"mem:{ask.store_id}": digest}, [row_key("mem", ask.store_id)], []
    opened = lineage.read_payload(store, chosen.session, ask.externalized_ref or "")
    if opened is None:
        raise NotFound(f"Externalized payload {ask.externalized_ref} not found in current session")
    payload, text, digest = opened
    return (
        core.expand_payload(payload, text, ask.window, count_tokens),
        {f"payload:{payload.ref}": digest},
        [],
        [],
    )


def _opened_node(store: Store, ask: ExpandAsk, chosen: lineage.Nominated) -> _Opened:
    if not chosen.nodes:
        raise NotFound(f"Node {ask.node_id} not found in current session")
    most = ask.window.max_tokens + lineage.SPARE_TOKENS
    if ask.window.source_limit is not None:
        most = min(most, ask.window.source_limit)
    node, below, texts = lineage.read_node(
        store, ask.session_id, chosen, offset=ask.window.source_offset, most=most
    )
    body = core.expand_node(node, below, ask.window, count_tokens)
    pages, kind = body["pagination"], "ep" if node.source_type == "nodes" else "mem"
    following = (
        outline.source_at(kind, node.sources, pages["next_source_offset"]) if pages["has_more"] else []
    )
    return body, texts.asked, [row_key(*split_ref(ref)) for ref in texts.asked], following
