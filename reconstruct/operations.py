"""What this floor offers to the audit layer, the console and MCP: its reads, by name."""

from typing import Any

from memoryconsole.models import Store, Trace
from memoryconsole.models.traces import Outcome
from memoryconsole.registry import Operation, Policy, Replayed
from memoryconsole.traces import Laps, Told
from reconstruct import contents, core, services, story, why
from reconstruct.serializers import ContentsIn, RecallIn, ReconstructIn, recall_ask, reconstruct_ask


def _reconstruct_ask(body: Any) -> services.ReconstructAsk:
    return reconstruct_ask(ReconstructIn.read(body))


def _recall_ask(body: Any) -> services.RecallAsk:
    return recall_ask(RecallIn.read(body))


def _replay_reconstruct(store: Store, trace: Trace) -> Replayed:
    return services.replay_reconstruct(store, trace, _reconstruct_ask(trace.request))


def _why_reconstruct(store: Store, trace: Trace, ref: str) -> dict[str, Any]:
    if trace.outcome == Outcome.REFUSED:
        return why.of_refused(trace, ref)
    return why.of_reconstruct(store, trace, _reconstruct_ask(trace.request), ref)


def _ranked_reconstruct(trace: Trace) -> list[str]:
    # A refusal has neither.
    return [item["head"] for item in trace.told.get("items", [])[: trace.told.get("returned", 0)]]


def _replay_recall(store: Store, trace: Trace) -> Replayed:
    return services.replay_recall(store, trace, _recall_ask(trace.request))


def _why_recall(store: Store, trace: Trace, ref: str) -> dict[str, Any]:
    if trace.outcome == Outcome.REFUSED:
        return why.of_refused(trace, ref)
    return why.of_recall(store, trace, _recall_ask(trace.request), ref)


def _ranked_recall(trace: Trace) -> list[str]:
    return list(trace.told.get("refs", []))


def _contents_refs(body: Any) -> list[Any]:
    return list(ContentsIn.read(body)["refs"])


def _run_contents(store: Store, refs: list[Any], _call: Policy, laps: Laps) -> Told:
    return contents.get_contents(store, refs, laps)


def _why_contents(_store: Store, trace: Trace, ref: str) -> dict[str, Any]:
    if trace.outcome == Outcome.REFUSED:
        return why.of_refused(trace, ref)
    return contents.why_contents(trace, ref)


def _ranked_contents(trace: Trace) -> list[str]:
    return contents.served_refs(trace)


OPERATIONS = (
    Operation(
        name="reconstruct",
        core=core.CORE,
        parse=_reconstruct_ask,
        run=services.reconstruct,
        replay=_replay_reconstruct,
        why=_why_reconstruct,
        ranked=_ranked_reconstruct,
        story=story.of_reconstruct,
    ),
    Operation(
        name="recall",
        core=core.CORE,
        parse=_recall_ask,
        run=services.recall,
        replay=_replay_recall,
        why=_why_recall,
        ranked=_ranked_recall,
        story=story.of_recall,
    ),
    Operation(
        name="contents",
        core=core.CORE,
        parse=_contents_refs,
        run=_run_contents,
        replay=contents.replay_contents,
        why=_why_contents,
        ranked=_ranked_contents,
        story=story.of_contents,
        unasked="texts read by ref",
    ),
)
