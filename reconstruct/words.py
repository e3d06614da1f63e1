"""A reconstruction in words: why it has these rows, and what the server admits about it. Pure; nothing is decided here.

Sentences are read off the contract's body and the trace's outline alone, so that page and JSON cannot disagree.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memoryconsole.pages.saying import AtRef, Named, Part, Said, listed, ordinal, plural
from memoryconsole.pages.shown import Shown
from reconstruct.core.bundle import ADJACENT, EPISODE, MESSAGE, RELATION_PREFIX, SEED

Body = Mapping[str, Any]

SHORTFALLS = {
    "count_zero": "No item was asked for: the count is 0, so nothing is quoted.",
    "no_relevant_evidence": "Nothing stored here is evidence for this question: no row holds one of its words, and none"
    " comes near its meaning.",
    "below_quality_threshold": "No stored row was strong enough to be an answer; only rows that hold some word of the"
    " question were left, and they fill no more items than these.",
    "exhausted_candidates": "What the search brought makes fewer items than were asked for.",
    "budget_exhausted": "The budget ended the answer: the next item's quote did not fit into it.",
}

# What one row is to another, as a verb between the two.
ROLES = {
    "supersedes": "supersedes",
    "supports": "supports",
    "corrects": "corrects",
    "qualifies": "qualifies",
    "contradicts": "contradicts",
    "temporal_predecessor": "came before",
}


@dataclass(frozen=True, slots=True)
class Admission:
    """Something the server did otherwise than asked, or less than it could. `kind`: '', 'warn' or 'bad'."""

    text: str
    kind: str = ""


def outcome(body: Body) -> str:
    """The headline of an answer. A degraded search that found nothing never reads as a plain no (P04)."""
    if body["returned_count"]:
        return plural(body["returned_count"], "item")
    if "advisory" in body:
        return "Nothing found, by a search that is degraded"
    return "No items asked for" if body.get("shortfall_reason") == "count_zero" else "Nothing found"


def shortfall(body: Body) -> str:
    """Why the window is not full; empty when it is."""
    reason = body.get("shortfall_reason", "")
    said = shortfall_sentence(reason, degraded="advisory" in body)
    if not reason or not body["returned_count"]:
        return said
    return f"{body['returned_count']:,} of {plural(body['effective_count'], 'item')}. {said}"


def shortfall_sentence(reason: str, *, degraded: bool) -> str:
    """A shortfall reason in words; empty for none. A degraded search cannot say that nothing is there."""
    if degraded and reason == "no_relevant_evidence":
        return (
            "The degraded search reached no row that is evidence for this question. What it could not reach may still"
            " be there."
        )
    return SHORTFALLS.get(reason, reason)


def admissions(body: Body) -> list[Admission]:
    """Everything else an answer admits, in the order a reader needs it."""
    found = [*fallback(body), *_count(body), *_budget(body), *_bounds(body.get("bounds", {}))]
    dropped = body.get("reconstruction", {}).get("excluded_without_provenance")
    if dropped:
        found.append(
            Admission(f"{plural(dropped, 'row')} had no ref to be named by, and were left out.", "warn")
        )
    if body.get("quote_selection") == "lexical_only":
        found.append(
            Admission(
                "The quoted places of long texts were chosen by words alone: the question has no vector.",
                "warn",
            )
        )
    return found


def fallback(body: Body) -> list[Admission]:
    """That no row was strong, where that is so."""
    if not body.get("gate_fallback"):
        return []
    return [
        Admission(
            "No row passed the gate. What is shown holds words of the question, and nothing says that it answers it.",
            "warn",
        )
    ]


def _count(body: Body) -> Iterable[Admission]:
    policy = body.get("count_policy", {})
    granted = plural(body["effective_count"], "item")
    if policy.get("source") == "operator_forced":
        yield Admission(
            f"{_asked(body, 'count', 'item')} The operator forces {granted} on every question.", "warn"
        )
    elif policy.get("clamped"):
        yield Admission(f"{_asked(body, 'count', 'item')} This store answers {granted} at most.", "warn")


def _budget(body: Body) -> Iterable[Admission]:
    policy = body.get("budget_policy", {})
    granted = body.get("effective_budget")
    if policy.get("source") == "operator_forced":
        yield Admission(
            f"{_asked(body, 'budget', 'character')} The operator forces one budget on every question.", "warn"
        )
    elif policy.get("reason") == "raised_to_one_excerpt":
        yield Admission(
            f"{_asked(body, 'budget', 'character')} It was raised to the length of one quote.", "warn"
        )
    elif policy.get("clamped"):
        yield Admission(
            f"{_asked(body, 'budget', 'character')} It was lowered to what this store allows.", "warn"
        )
    if withheld(body):
        yield Admission(
            f"Quotes were withheld: {body['used_budget']:,} of {granted:,} characters are used, and the next quote"
            " in turn did not fit. What it would have quoted is named below.",
            "warn",
        )


def withheld(body: Body) -> bool:
    """Whether the budget kept a quote out of the answer."""
    if "used_budget" not in body:
        return False
    return body.get("shortfall_reason") == "budget_exhausted" or any(
        item.get("excerpts_omitted") for item in body["items"]
    )


def _asked(body: Body, name: str, unit: str) -> str:
    requested = body.get(f"requested_{name}")
    return f"You named no {name}." if requested is None else f"You asked for {plural(requested, unit)}."


def _bounds(bounds: Body) -> Iterable[Admission]:
    if "effective_top_k" in bounds:
        yield Admission(
            f"{bounds['top_k']:,} candidates were to come; this store lets {bounds['effective_top_k']:,} come.",
            "warn",
        )
    omitted, reached = bounds.get("omitted", ()), bounds.get("reached", ())
    if "max_evidence" in omitted:
        yield Admission(
            f"An item had more rows than max_evidence ({bounds['max_evidence']:,}) keeps; the rest is counted on it.",
            "warn",
        )
    if "max_hops" in omitted:
        yield Admission(
            f"Declared relations lead further than max_hops ({bounds['max_hops']:,}); they were not followed.",
            "warn",
        )
    if "top_k" in reached:
        allowed = bounds.get("effective_top_k", bounds["top_k"])
        yield Admission(
            f"As many rows came as top_k allows ({allowed:,}); whether more lay beyond them, only the trace can tell."
        )
    if "max_evidence" in reached:
        yield Admission(
            f"Some entity is mentioned by more rows than were taken in (max_evidence, {bounds['max_evidence']:,})."
        )


def lowered_hops(request: Body, told: Body) -> list[Admission]:
    """That the walk goes less far than was asked for, where that is so. `told`: the trace's."""
    asked, applied = request.get("max_hops"), told["policy"]["max_hops"]
    if asked is None or asked <= applied:
        return []
    return [Admission(f"You asked for {plural(asked, 'hop')}; {applied:,} is as far as a walk goes.", "warn")]


def why(claim: Body, claims: Sequence[Body], rows: Mapping[str, Shown], adjacency_seconds: int) -> Said:
    """Why a row is in its item, as one sentence. `claims`: of the same item; `rows`: what is still stored of them."""
    label = str(claim["why"])
    others = [each["ref"] for each in claims if each["ref"] != claim["ref"]]
    if claim.get("hops") is not None:
        hops = plural(claim["hops"], "hop")
        return (
            f"Walked to: {hops} from what this item mentions, by ",
            Named(label.removeprefix(RELATION_PREFIX)),
            ".",
        )
    if label == SEED:
        return ("Found by the search on its own.",)
    if label == MESSAGE:
        return _with(
            "The same message as ", _alike(claim, others, rows, "identity"), "another candidate", "."
        )
    if label == EPISODE:
        if claim["ref"].startswith("ep:"):
            return ("An episode; other rows of this item lie inside the time it covers.",)
        episodes = [role["ref"] for role in claim.get("roles", ()) if role["role"] == "supports"]
        beside = [ref for ref in others if ref.startswith("ep:")]
        # Of several episodes only a role says which.
        episodes = episodes or (beside if len(beside) == 1 else [])
        return _with("Inside the episode ", episodes, "that covers its time", ".")
    if label == ADJACENT:
        same = _alike(claim, others, rows, "producer")
        return _with(
            f"From the same source within {adjacency_seconds:,} s of ", same, "another candidate", "."
        )
    return _declared(claim, claims, label.removeprefix(RELATION_PREFIX))


def _declared(claim: Body, claims: Sequence[Body], predicate: str) -> Said:
    """Which declared relation joined a row, and to which other, as far as the roles tell."""
    verb: Part = ROLES[predicate] if predicate in ROLES else Named(predicate)
    if subjects := _subjects(claim, predicate):
        return ("Declared: ", *listed(subjects), " ", verb, " this.")
    if objects := [each["ref"] for each in claims if claim["ref"] in _subjects(each, predicate)]:
        return ("Declared: this ", verb, " ", *listed(objects), ".")
    return ("Joined by a declared relation to another row of this item: ", Named(predicate), ".")


def _subjects(claim: Body, predicate: str) -> list[str]:
    return [role["ref"] for role in claim.get("roles", ()) if role["role"] == predicate]


def _with(before: str, refs: Sequence[str], otherwise: str, after: str) -> Said:
    return (before, *(listed(refs) or (otherwise,)), after)


def _alike(claim: Body, others: Sequence[str], rows: Mapping[str, Shown], name: str) -> list[str]:
    """The other rows of an item that share something with a claim's row, as far as both are still stored."""
    own = rows.get(claim["ref"])
    value = None if own is None else getattr(own, name)
    if value is None:
        return []
    return [ref for ref in others if ref in rows and getattr(rows[ref], name) == value]


def lead(head: str, claims: Iterable[Body]) -> Said:
    """Why an item's head leads it. `claims`: the trace's, with their ranks (0 = best; None for walked rows)."""
    ranked = sorted((claim["rank"], claim["ref"]) for claim in claims if claim["rank"] is not None)
    rank, best = ranked[0]
    if best != head:
        return ("It leads as the newest version of ", AtRef(best), ", which the search ranked best of these")
    place = f"ranked it {ordinal(rank + 1)}"
    return (f"The search {place}",) if len(ranked) == 1 else (f"It leads: the search {place}, best of these",)


def further_roles(claim: Body) -> list[Body]:
    """A claim's roles but for those that its `why` has said already."""
    said = None if "hops" in claim else str(claim["why"]).removeprefix(RELATION_PREFIX)
    return [role for role in claim.get("roles", ()) if role["role"] != said]


def role(each: Body) -> Said:
    """What another row is to a claim: "mem:12 qualifies this"."""
    ref, name = AtRef(each["ref"]), str(each["role"])
    if name == "supports" and ref.ref.startswith("ep:"):
        return (ref, " supports this: it covers the time of it")
    if name == "supersedes":
        return (ref, " supersedes this: it is a later version")
    return (ref, f" {ROLES.get(name, name)} this")


def cluster_reason(reason: str) -> str:
    """What holds an item together, in a few words."""
    return {
        MESSAGE: "versions of one message",
        EPISODE: "one episode",
        ADJACENT: "one burst of one source",
        "cluster:relation": "declared relations",
        "singleton": "a row of its own",
    }.get(reason, reason)
