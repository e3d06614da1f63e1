"""Why a row is in a traced answer of this contract, or what kept it out. Read off the trace; no text is quoted."""

from typing import Any

from memoryconsole.models import Record, Store, Summary, Trace
from memoryconsole.refs import split_ref
from memoryconsole.snapshot import snapshot
from reconstruct.core import why

Json = dict[str, Any]


def shown(trace: Trace) -> list[str]:
    """The rows of an answer's blocks, in context order."""
    return list(dict.fromkeys(entry[0] for block in trace.told["blocks"] for entry in block["shown"]))


def opened(trace: Trace) -> list[str]:
    """The rows of a page."""
    told = trace.told
    own = [f"ep:{told['node_id']}"] if "node_id" in told else []
    own += [f"mem:{told['store_id']}"] if "store_id" in told else []
    return [*own, *told.get("shown", [])]


def of_query(store: Store, trace: Trace, _ask: object, ref: str) -> Json:
    """The verdict for one ref of a traced expand-query (at most two statements)."""
    told = trace.told
    for block in told["blocks"]:
        for entry in block["shown"]:
            if entry[0] == ref:
                how = f"{ref} is in the context: {_words(block)}."
                cut = " It was cut to the budget." if entry[3] else ""
                return why.alone(ref, "inside", how + cut, inside=True)
    if any(entry[0] == ref for block in told["dropped"] for entry in block["shown"]):
        return why.alone(
            ref, "budget", f"{ref} was read; the list with its block did not fit into the budget."
        )
    session_id = trace.seen["session_id"]
    with snapshot():
        row = _row(store, ref)
    if row is None:
        return why.alone(ref, "no_such_row", f"There is no {ref}, or it has been deleted.")
    if row.created_at > trace.asked_at:
        return why.alone(ref, "stored_later", f"{ref} was stored after the call.")
    elsewhere = row.session is None or row.session.session_id != session_id
    if elsewhere:
        return why.alone(ref, "other_session", f"{ref} is not of the session that was asked about.")
    kind, number = split_ref(ref)
    if kind == "ep" and number in told["pending"]:
        return why.alone(
            ref, "budget", f"The way down ended before {ref}: the budget or its visits were used up."
        )
    if any(block["more"] for block in told["blocks"]) or told["pending"]:
        sentence = f"{ref} was not selected, and the way down, which the budget ended early, did not show it."
        return why.alone(ref, "not_reached", sentence)
    return why.alone(ref, "not_reached", f"{ref} was not selected and lies below nothing that was.")


def of_page(_store: Store, trace: Trace, _ask: object, ref: str) -> Json:
    """The verdict for one ref of a traced expansion."""
    if ref in opened(trace):
        return why.alone(ref, "inside", f"{ref} is on the page that was opened.", inside=True)
    return why.alone(ref, "not_asked", f"{ref} is not what the locator names, nor on the page of it.")


def of_refused(trace: Trace, ref: str) -> Json:
    """The verdict for any ref of a call that was refused."""
    return why.alone(ref, "refused", f"The call was refused ({trace.reason}): nothing was read.")


def _words(block: Json) -> str:
    if block["type"] == "summary":
        return "a selected summary"
    if block["type"] == "raw_messages":
        return "found by the search"
    return f"below ep:{block['node']}, {why.counted(block['depth'] + 1, 'step')} down"


def _row(store: Store, ref: str) -> Record | Summary | None:
    kind, number = split_ref(ref)
    if kind == "ep":
        summaries = Summary.objects.live().defer("summary").select_related("session")
        return summaries.filter(store=store, number=number).first()
    records = Record.objects.live().defer("content").select_related("session")
    return records.filter(store=store, number=number).first()
