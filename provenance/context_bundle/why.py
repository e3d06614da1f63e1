"""Why something is in a traced answer of this contract, or what kept it out, and by how much.

What was decided is read off the trace. What was never nominated is looked up in the store as it is now: then `exact` is
false when anything was written since. No text is quoted.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from memoryconsole.models import Store, Trace
from memoryconsole.snapshot import snapshot
from memoryconsole.times import write_stamp
from provenance.context_bundle.core import codec
from provenance.context_bundle.core.temporal import Scope, Window
from provenance.context_bundle.core.types import ASSOCIATIONS_MAX, FACT_CANDIDATES, MembersRequest
from provenance.context_bundle.spine import standing
from provenance.context_bundle.spine.contexts import WALKED_MODES, read_beliefs
from provenance.context_bundle.spine.standing import FactStanding, SaidStanding
from reconstruct.core import why

Json = dict[str, Any]

REJECTED: Final = {
    "absent": "was nominated, and nothing that may be shown stands behind it",
    "document_gone": "was nominated; its document is deleted",
    "superseded": "was nominated; its source does not say it any more",
    "anchor_gone": "was nominated; it mentions none of the anchors",
    "not_believed": "was nominated; it was not held any more",
    "outside_time": "was nominated; its dates exclude the time asked",
    "endpoint_gone": "was nominated; one of its ends is no current entity",
    "out_of_scope": "was nominated; it is about nobody in scope",
    "other_predicate": "was nominated; its predicate is another",
    "left_group": "was nominated; it is in this contradiction no more",
}

SECOND: Final = timedelta(seconds=1)

CERTAIN: Final = (
    "beyond_k", "unknown_entity", "continuation", "time_budget", "stored_later", "not_believed"
)  # fmt: skip
"""Bounds that nothing written since can have moved."""


def shown(trace: Trace) -> list[str]:
    """What an answer lists, in its order; of a bundle what sources say before what is held."""
    return list(dict.fromkeys(ref for told in trace.told.values() for ref in told["shown"]))


def of_answer(store: Store, trace: Trace, ask: Any, ref: str) -> Json:
    """The verdict for one ref (at most four statements)."""
    inside = [found for name, told in trace.told.items() if (found := _inside(name, told, ref)) is not None]
    if inside:
        return inside[0]
    if ref in trace.seen.get("digests", ()):
        return _source(store, trace, ref)
    kept_out = [found for told in trace.told.values() if (found := _kept_out(told, ref)) is not None]
    if kept_out:
        return kept_out[0]
    with snapshot():
        found = _looked_up(store, trace, ask, ref)
        believed_at, _ = read_beliefs(store)
    changed = believed_at is not None and believed_at > trace.asked_at
    return found | {"exact": False} if changed and found["bound"] not in CERTAIN else found


def _looked_up(store: Store, trace: Trace, ask: Any, ref: str) -> Json:
    kind = ref.partition(":")[0]
    if "resolved" in trace.told:
        return _named(store, trace, ref)
    if kind in ("relation", "observation"):
        return _fact(store, trace, ask, ref)
    return _entity(store, trace, ask, ref) if kind == "entity" else _said(store, trace, ask, ref)


def of_refused(trace: Trace, ref: str) -> Json:
    """The verdict for any ref of a call that was refused."""
    return why.alone(ref, "refused", f"The call was refused ({trace.reason}): nothing was read.")


def _inside(name: str, told: Json, ref: str) -> Json | None:
    if ref in told["shown"]:
        place = told["shown"].index(ref) + 1
        return why.alone(ref, "inside", f"{ref} is in the answer, {_place(told, ref, place)}.", inside=True)
    said = [f"{stance} {fact}" for claim, stance, fact in told.get("evidence", ()) if claim == ref]
    if said:
        are = "which is" if len(said) == 1 else "which are"
        return why.alone(ref, "evidence", f"{ref} {' and '.join(said)}, {are} in the answer.", inside=True)
    for fact, others in told.get("co_members", ()):
        if ref in others:
            sentence = f"{ref} is listed as another side of {fact}: they cannot all be true."
            return why.alone(ref, "co_member", sentence, inside=True)
    for entity, hops in told.get("scope", ()):
        if entity == ref:
            how = "an anchor" if hops == 0 else f"{why.counted(hops, 'hop')} from an anchor"
            return why.alone(ref, "in_scope", f"{ref} is {how}.", inside=True)
    return None


def _source(store: Store, trace: Trace, ref: str) -> Json:
    """A passage that is not listed itself, and whose words claims in the answer show."""
    with snapshot():
        chunk_id = standing.read_chunk_id(store, ref)
    answered = {claim for told in trace.told.values() for claim, _, _ in told.get("evidence", ())}
    rows = [
        row for kept in trace.seen.values() for row in (*kept.get("claims", ()), *kept.get("claim_rows", ()))
    ]
    # Beside claims there are channels of the same name, which are of no passage.
    said = [f"claim:{row['claim_id']}" for row in rows if row.get("chunk_id", "") == chunk_id]
    claims = [claim for claim in dict.fromkeys(said) if claim in answered | set(shown(trace))]
    whose = " and ".join(claims) or "claims in the answer"
    return why.alone(ref, "source", f"{ref} is the source of {whose}, whose words are there.", inside=True)


def _place(told: Json, ref: str, place: int) -> str:
    """Its place, and where each channel had it."""
    held = [f"{rank} by {name}" for name, rank in ranks_of(told, ref)]
    return f"at place {place}" + (f"; nominated at place {', '.join(held)}" if held else "")


def ranks_of(told: Json, ref: str) -> list[tuple[str, int]]:
    """(channel, place) of each channel that nominated it."""
    channels = told.get("channels", [])
    if channels and isinstance(channels[0], list):
        channels = channels[1 if ref.startswith("mem:") else 0]
    for found, *ranks in told.get("ranks", ()):
        if found == ref:
            return [(name, rank) for name, rank in zip(channels, ranks, strict=True) if rank is not None]
    return []


def _kept_out(told: Json, ref: str) -> Json | None:
    """What the answer's own decisions say of it."""
    for representative, others in told.get("groups", ()):
        if ref in others:
            sentence = (
                f"{ref} says the same as {representative}, which stands for it; its id is listed there."
            )
            return why.alone(ref, "grouped", sentence)
    for rejected, reason in told.get("rejected", ()):
        if rejected == ref:
            return why.alone(ref, reason, f"{ref} {REJECTED[reason]}.")
    beyond = told.get("beyond", [])
    if isinstance(beyond, list) and ref in beyond:
        alike = [each for each in told["shown"] if _list_of(each) == _list_of(ref)]
        behind = [each for each in beyond if _list_of(each) == _list_of(ref)].index(ref) + 1
        place, k = len(alike) + behind, len(alike)
        sentence = f"{ref} qualified at place {place}, and the answer ends after {k}."
        return why.alone(ref, "beyond_k", sentence, value=place, limit=k, by=behind, unit="places")
    if any(found == ref for found, *_ in told.get("ranks", ())):
        return why.alone(ref, "earlier_page", f"{ref} was in an earlier page of this answer.")
    return None


def _list_of(ref: str) -> str:
    """Claims and passages are two lists; facts of both kinds are one."""
    kind = ref.partition(":")[0]
    return "facts" if kind in ("relation", "observation") else kind


def _scope(trace: Trace, name: str) -> Scope:
    return codec.read(Scope, trace.seen[name]["scope"], _no_text)  # type: ignore[arg-type]  # a union is no class


def _no_text(ref: str, digest: str) -> str:
    raise codec.Unreadable(f"a scope holds no text: {ref} {digest}")


def _unread(trace: Trace, name: str, ref: str) -> Json | None:
    """Nothing was read: an anchor is unknown, or the continuation was refused."""
    kept = trace.seen[name]
    if "spent" in kept:
        return why.alone(
            ref, "time_budget", f"{ref} was not found out about: the time for one answer was over."
        )
    if "refused" in kept:
        return why.alone(ref, "continuation", f"{ref} was not looked for: the continuation was refused.")
    if not kept.get("anchors_known", True):
        return why.alone(ref, "unknown_entity", f"{ref} was not looked for: an anchor is no current entity.")
    return None


def _named(store: Store, trace: Trace, ref: str) -> Json:
    """Why a name did not lead to an entity."""
    unread = _unread(trace, "resolved", ref)
    if unread is not None:
        return unread
    kept, shown_here = trace.seen["resolved"], trace.told["resolved"]["shown"]
    if any(f"entity:{each['entity_id']}" == ref for each in kept.get("entities", ())):
        k = len(shown_here)
        sentence = f"{ref} is near enough, at place {k + 1}, and the answer ends after {k}."
        return why.alone(ref, "beyond_k", sentence, value=k + 1, limit=k, by=1, unit="places")
    found = _elsewhere(store, trace, ref)
    if found is not None:
        return found
    if kept.get("exact"):
        sentence = (
            f"{ref} has not the name asked for. Others have it: then nobody is listed who is only near."
        )
    elif trace.told["resolved"]["beyond"]:
        sentence = f"{ref} is not among the nearest to the name asked for, and only those are listed."
    else:
        sentence = f"No name of {ref} is the name asked for, nor near enough to it."
    return why.alone(ref, "not_named", sentence)


def _entity(store: Store, trace: Trace, ask: Any, ref: str) -> Json:
    """Why an entity is not in scope."""
    found = _unread(trace, "facts", ref) or _elsewhere(store, trace, ref)
    if found is not None:
        return found
    request, told = getattr(ask, "facts", ask).request, trace.told["facts"]
    if request.entity_ids is None:
        sentence = f"{ref} is no anchor. The call named none, and nothing was walked."
    elif _scope(trace, "facts").mode not in WALKED_MODES:
        sentence = f"{ref} is no anchor, and nothing is walked for the time asked."
    elif told["truncation"]["reason"] == "expansion_budget":
        sentence = f"{ref} is no anchor, and the walk ended before it came there, if it leads there."
    else:
        sentence = f"{ref} is no anchor, and the walk did not come to it."
    return why.alone(ref, "not_in_scope", sentence)


def _elsewhere(store: Store, trace: Trace, ref: str) -> Json | None:
    """An entity that is none now, was none then, or is read as another. None: it is one."""
    row = standing.read_entity(store, ref)
    if row is None:
        return why.alone(ref, "no_such_row", f"There is no current {ref}.")
    if row.declared_at > trace.asked_at:
        return why.alone(ref, "stored_later", f"{ref} was declared after the call.")
    if row.survivor != ref:
        return why.alone(ref, "merged", f"{ref} was merged into {row.survivor}, which stands for it.")
    return None


def _fact(store: Store, trace: Trace, ask: Any, ref: str) -> Json:
    """Why a fact was never nominated."""
    unread = _unread(trace, "facts", ref)
    if unread is not None:
        return unread
    request = getattr(ask, "facts", ask).request
    scope = _scope(trace, "facts")
    row = standing.read_fact(store, ref, scope)
    if row is None:
        return why.alone(ref, "no_such_row", f"There is no {ref}, or all its testimony is gone.")
    found = _held(ref, row, scope) or _outside(ref, row.window, scope)
    if found is not None:
        return found
    if not row.ends_current:
        return why.alone(ref, "endpoint_gone", f"An end of {ref} is no current entity.")
    if isinstance(request, MembersRequest):
        return _unlisted(request, row, ref)
    if request.predicate is not None and row.predicate != request.predicate:
        return why.alone(ref, "other_predicate", f"The predicate of {ref} is not the one asked for.")
    in_scope = {entity for entity, _ in trace.told["facts"]["scope"]}
    if request.entity_ids is not None and in_scope.isdisjoint(row.ends):
        return why.alone(
            ref, "out_of_scope", f"{ref} is about none of the {len(in_scope)} entities in scope."
        )
    return _never(trace.told["facts"], ref, anchored=request.entity_ids is not None)


def _unlisted(request: MembersRequest, row: FactStanding, ref: str) -> Json:
    if row.group != request.group_id:
        return why.alone(ref, "other_group", f"{ref} is not in the contradiction asked about.")
    sentence = (
        f"{ref} is in this contradiction: the list was asked for from behind it or from its own side, or has more than "
        f"{FACT_CANDIDATES} before it."
    )
    return why.alone(ref, "earlier_page", sentence)


def _held(ref: str, row: FactStanding, scope: Scope) -> Json | None:
    if row.ingested_at > scope.believed_at:
        return why.alone(ref, "stored_later", f"{ref} was declared after the call.")
    if row.invalidated_at is not None and row.invalidated_at <= scope.believed_at:
        before = scope.believed_at - row.invalidated_at
        sentence = f"{ref} was retracted at {write_stamp(row.invalidated_at)}, {_spell(before)} before."
        return why.alone(ref, "not_believed", sentence)
    return None


def _outside(ref: str, window: Window, scope: Scope) -> Json | None:
    """By how much the window misses the time asked, in whole seconds that suffice. Its end is no part of it."""
    begins_by, ends_after = standing.bounds(scope)
    if window.valid_from is not None and window.valid_from > begins_by:
        missed = window.valid_from - begins_by
        by = -(-missed // SECOND)
        how = f"begins at {write_stamp(window.valid_from)}, {_spell(missed)} after the time asked"
    elif ends_after is not None and window.valid_until is not None and window.valid_until <= ends_after:
        missed = ends_after - window.valid_until
        by = missed // SECOND + 1
        how = f"ended at {write_stamp(window.valid_until)}, {_spell(missed)} before the time asked"
    else:
        return None
    return why.alone(ref, "outside_time", f"{ref} {how}.", by=by, unit="seconds")


def _spell(span: timedelta) -> str:
    """A span of time in its largest unit."""
    for unit, size in (
        ("day", timedelta(days=1)),
        ("hour", timedelta(hours=1)),
        ("minute", timedelta(minutes=1)),
    ):
        if span >= size:
            return why.counted(span // size, unit)
    seconds = span.total_seconds()
    return why.counted(int(seconds), "second") if seconds.is_integer() else f"{seconds:g} seconds"


def _said(store: Store, trace: Trace, ask: Any, ref: str) -> Json:
    """Why a claim or a passage was never nominated, or is not among the evidence."""
    name = "claims" if "claims" in trace.told else "facts"
    unread = _unread(trace, name, ref)
    if unread is not None:
        return unread
    row = standing.read_said(store, ref)
    if row is None:
        return why.alone(ref, "no_such_row", f"There is no {ref}, or it has been deleted.")
    if row.stored_at > trace.asked_at:
        return why.alone(ref, "stored_later", f"{ref} was stored after the call.")
    if name == "facts":
        return _no_evidence(trace.told["facts"], row, ref)
    request = getattr(ask, "claims", ask).request
    if not row.is_live:
        return why.alone(ref, "document_gone", f"The document of {ref} is deleted.")
    if not row.is_current and not (ref.startswith("claim:") and request.include_superseded):
        return why.alone(ref, "superseded", f"{ref} is not current: its source says it no more.")
    if request.entity_ids is not None and not row.mentions & set(request.entity_ids):
        sentence = f"{ref} mentions none of the anchors."
        return why.alone(ref, "no_anchor", sentence)
    return _never(trace.told["claims"], ref, anchored=request.entity_ids is not None)


def _no_evidence(told: Json, row: SaidStanding, ref: str) -> Json:
    if not row.is_current:
        return why.alone(ref, "superseded", f"{ref} is not current: it counts for no fact.")
    if not row.facts & set(told["shown"]):
        return why.alone(ref, "no_evidence", f"{ref} is evidence of no fact in the answer.")
    if len(told["evidence"]) >= ASSOCIATIONS_MAX:
        sentence = (
            f"{ref} is evidence of a fact in the answer, which shows no more than {ASSOCIATIONS_MAX} in all."
        )
        return why.alone(ref, "associations", sentence)
    sentence = f"{ref} is evidence of a fact in the answer; later testimony stands before it."
    return why.alone(ref, "evidence_per_fact", sentence)


def _never(told: Json, ref: str, *, anchored: bool) -> Json:
    truncation: Mapping[str, Any] = told["truncation"] or {}
    if anchored or truncation.get("reason") == "candidate_budget":
        sentence = f"{ref} was not among the candidates: others come before it in every channel."
        return why.alone(ref, "candidate_budget", sentence)
    return why.alone(ref, "no_match", f"{ref} shares nothing with the query that the search finds.")
