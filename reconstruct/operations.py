"""What this floor offers to the audit layer, the console and MCP: its reads, by name."""

from typing import Any

from memoryconsole.models import Store, Trace
from memoryconsole.registry import Operation, Policy
from memoryconsole.traces import Laps, Told
from reconstruct import contents, core, services, story, why
from reconstruct.serializers import ContentsIn, RecallIn, ReconstructIn, recall_ask, reconstruct_ask


def _reconstruct_ask(body: Any) -> services.ReconstructAsk:
    return reconstruct_ask(ReconstructIn.read(body))


def _recall_ask(body: Any) -> services.RecallAsk:
    return recall_ask(RecallIn.read(body))


def _ranked_reconstruct(trace: Trace) -> list[str]:
    return [item["head"] for item in trace.told["items"][: trace.told["returned"]]]


def _ranked_recall(trace: Trace) -> list[str]:
    return list(trace.told["refs"])


def _contents_refs(body: Any) -> list[Any]:
    return list(ContentsIn.read(body)["refs"])


def _run_contents(store: Store, refs: list[Any], _call: Policy, laps: Laps) -> Told:
    return contents.get_contents(store, refs, laps)


OPERATIONS = (
    Operation(
        name="reconstruct",
        core=core.CORE,
        parse=_reconstruct_ask,
        run=services.reconstruct,
        replay=services.replay_reconstruct,
        why=why.of_reconstruct,
        refused=why.of_refused,
        ranked=_ranked_reconstruct,
        story=story.of_reconstruct,
        takes_settings=True,
        page="ask:ask",
    ),
    Operation(
        name="recall",
        core=core.CORE,
        parse=_recall_ask,
        run=services.recall,
        replay=services.replay_recall,
        why=why.of_recall,
        refused=why.of_refused,
        ranked=_ranked_recall,
        story=story.of_recall,
        takes_settings=True,
        page="ask:recall",
    ),
    Operation(
        name="contents",
        core=core.CORE,
        parse=_contents_refs,
        run=_run_contents,
        replay=contents.replay_contents,
        why=contents.why_contents,
        refused=why.of_refused,
        ranked=contents.served_refs,
        story=story.of_contents,
        unasked="texts read by ref",
    ),
)
