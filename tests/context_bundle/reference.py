"""What an answer of context-bundle must say, by the slowest and plainest way there is.

Written from the contract alone (sections A.3 to A.6, B, C.2, C.3, D, E, F, G), over the lists of dicts that a scenario's
`given` is made of: ids are symbols, and the order of symbols is the order of public numbers. Ranking by words is not
told here: where everything fits in the answer the rows are a set, and what the contract orders is told in that order.
"""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

Row = Mapping[str, Any]
FactKey = tuple[str, str]
"""(kind, symbol)."""

Stance = str
STANCES: tuple[Stance, Stance] = ("supports", "contradicts")

DEFAULT_INGESTED = "2026-01-01T00:00:00Z"
HOPS_OF_A_MERGE = 64
CO_MEMBERS = 25
ASSOCIATIONS = 60


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC)


def _moment(text: str | None) -> datetime | None:
    return None if text is None else moment(text)


@dataclass(frozen=True)
class Facts:
    """What `facts_context` must answer. `facts`: everything that qualifies, whatever k is.

    `negative`: unknown_entity, known_empty or None. `scope`: the entities the answer is about, with their hops;
    empty when unanchored.
    """

    negative: str | None
    facts: dict[FactKey, dict[str, Any]] = field(default_factory=dict)
    scope: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Claims:
    """What `claims_and_sources_context` must answer. `groups`: the claims that say the same, with the number of their
    documents. `chunks`: the documents (each is one passage), with the number of the anchors they touch.
    """

    negative: str | None
    groups: dict[frozenset[str], int] = field(default_factory=dict)
    chunks: dict[str, int] = field(default_factory=dict)


class Reference:
    """A store as a scenario gives it, asked at one instant."""

    def __init__(self, given: Mapping[str, Any], now: str) -> None:
        self.written_now = now
        self.now = moment(now)
        self.entities: dict[str, Row] = {row["id"]: row for row in given.get("entities", ())}
        self.documents: dict[str, Row] = {row["id"]: row for row in given.get("documents", ())}
        self.claims: dict[str, Row] = {row["id"]: row for row in given.get("claims", ())}
        self.facts: dict[FactKey, Row] = {(row["kind"], row["id"]): row for row in given.get("facts", ())}
        self.groups: list[Row] = list(given.get("groups", ()))

    # Entities (A.3)

    def survivor(self, name: str) -> str | None:
        """Where merges lead to from here; None when they lead nowhere."""
        for _ in range(HOPS_OF_A_MERGE + 1):
            row = self.entities.get(name)
            if row is None:
                return None
            if row.get("merged_into") is None:
                return name if row.get("status", "active") == "active" else None
            name = row["merged_into"]
        return None

    def current(self, name: str) -> bool:
        """Whether the entity itself is one of entities_current: active, and somebody still speaks of it."""
        return self.survivor(name) == name and any(
            self._has_provenance(each) for each in self.entities if self.survivor(each) == name
        )

    def _has_provenance(self, name: str) -> bool:
        if self.entities[name].get("provenance") is False:
            return False
        mentioning = [claim for claim in self.claims.values() if name in claim.get("mentions", ())]
        # Nobody mentions it: then it was declared, which is provenance enough (P.1).
        return not mentioning or any(not self.documents[claim["doc"]].get("deleted") for claim in mentioning)

    def end(self, name: str) -> str | None:
        """The current entity that an endpoint is read as."""
        survivor = self.survivor(name)
        return survivor if survivor is not None and self.current(survivor) else None

    # Testimony (A.2, A.4)

    def claim_is_current(self, name: str) -> bool:
        claim = self.claims[name]
        return bool(claim.get("current", True)) and not self.documents[claim["doc"]].get("deleted")

    def lineages(self, fact: Row, stance: Stance) -> dict[str, list[str]]:
        """The documents that take the stance now, each with its current claims."""
        found: dict[str, list[str]] = {}
        for claim, taken in fact.get("evidence", ()):
            if taken == stance and claim in self.claims and self.claim_is_current(claim):
                found.setdefault(self.claims[claim]["doc"], []).append(claim)
        return found

    # Facts (A.4, D)

    def believed(self, fact: Row) -> bool:
        ingested = moment(fact.get("ingested", DEFAULT_INGESTED))
        return ingested <= self.now and fact.get("invalidated") is None

    def backed(self, fact: Row) -> bool:
        return any(claim in self.claims for claim, _stance in fact.get("evidence", ()))

    def ends(self, fact: Row) -> list[str | None]:
        return [self.end(fact[name]) for name in ("subject", "object") if fact.get(name) is not None]

    def visible(self, fact: Row) -> bool:
        return self.believed(fact) and self.backed(fact) and None not in self.ends(fact)

    def matches(self, fact: Row, time: Row) -> bool:
        """The world condition (D.3)."""
        since, until = _moment(fact.get("from")), _moment(fact.get("until"))
        mode = time["mode"]
        if mode == "history":
            return since is None or since <= self.now
        if mode == "current":
            first = last = self.now
        elif mode == "at":
            first = last = moment(time["at"])
        else:
            first, last = moment(time["from"]), moment(time["to"])
        return (since is None or since <= last) and (until is None or until > first)

    @staticmethod
    def temporal_match(fact: Row) -> str:
        if fact.get("from") is None:
            return "possible"
        complete = fact.get("until") is not None or fact.get("precision") == "open"
        return "confirmed" if complete else "possible"

    def label(self, fact: Row) -> str:
        if fact["kind"] == "observation":
            return str(fact["statement"])
        names = [self.entities[end]["name"] if end is not None else "" for end in self.ends(fact)]
        predicate = fact["predicate"].removeprefix("other:").replace("_", " ")
        return f"{names[0]} {predicate} {names[1]}"

    # The scope (C.3, step 2)

    def scope(self, anchors: Sequence[str], hops: int, predicate: str | None, time: Row) -> dict[str, int]:
        """The entities in scope and how far each is from an anchor. For fewer entities than a scope holds."""
        reached = dict.fromkeys(anchors, 0)
        if time["mode"] not in ("current", "at"):
            return reached
        for hop in range(1, hops + 1):
            for fact in self.facts.values():
                if not self._walked(fact, predicate):
                    continue
                ends = [end for end in self.ends(fact) if end is not None]
                for near, far in (ends, reversed(ends)):
                    if reached.get(near) == hop - 1 and far not in reached:
                        reached[far] = hop
        return reached

    def _walked(self, fact: Row, predicate: str | None) -> bool:
        """Whether the live graph has the relation: held now, and confirmed to be so now."""
        return (
            fact["kind"] == "relation"
            and (predicate is None or fact["predicate"] == predicate)
            and self.visible(fact)
            and self.temporal_match(fact) == "confirmed"
            and self.matches(fact, {"mode": "current"})
        )

    # Groups (E)

    def group_of(self, key: FactKey) -> Row | None:
        for group in self.groups:
            if not group.get("resolved") and f"{key[0]}:{key[1]}" in group["members"]:
                return group
        return None

    def co_members(self, key: FactKey, group: Row, time: Row) -> list[FactKey]:
        """The other live members, in the order they are listed in."""
        keys = [(kind, name) for kind, _, name in (each.partition(":") for each in group["members"])]
        live = [
            each
            for each in keys
            if each != key and self.visible(self.facts[each]) and self.matches(self.facts[each], time)
        ]
        return sorted(
            live,
            key=lambda each: (moment(self.facts[each].get("ingested", DEFAULT_INGESTED)), each[0], each[1]),
        )

    # Answers

    def facts_context(self, args: Mapping[str, Any]) -> Facts:
        """For an anchored call: everything in scope qualifies. Unanchored: what may be returned, if words find it."""
        time = args.get("time", {"mode": "current"})
        predicate = args.get("predicate")
        anchors = args.get("entity_ids")
        if anchors is not None and not all(self.current(each) for each in anchors):
            return Facts("unknown_entity")
        scope = {} if anchors is None else self.scope(anchors, args.get("hops", 1), predicate, time)
        found = {
            key: self._result(key, fact, time)
            for key, fact in sorted(self.facts.items())
            if self.visible(fact)
            and self.matches(fact, time)
            and (anchors is None or any(end in scope for end in self.ends(fact)))
            and (predicate is None or fact.get("predicate") == predicate)
        }
        return Facts(None if found else "known_empty", found, scope)

    def _result(self, key: FactKey, fact: Row, time: Row) -> dict[str, Any]:
        group = self.group_of(key)
        others = [] if group is None else self.co_members(key, group, time)
        return {
            "label": self.label(fact),
            "temporal_match": self.temporal_match(fact),
            "support": fact.get("support", "current"),
            "valid_from": _moment(fact.get("from")),
            "valid_until": _moment(fact.get("until")),
            "valid_precision": fact.get("precision", "unknown"),
            "ingested_at": moment(fact.get("ingested", DEFAULT_INGESTED)),
            "totals": {stance: len(self.lineages(fact, stance)) for stance in STANCES},
            "group": None if group is None else group["id"],
            "co_members": others[:CO_MEMBERS],
            "co_total": len(others),
        }

    def evidence(self, answered: Iterable[FactKey], per_fact: int) -> list[tuple[FactKey, str, Stance]]:
        """The associations of facts that are answered in this order (C.3, step 7)."""
        ranked = {
            (key, stance): self._representatives(self.facts[key], stance)
            for key in answered
            for stance in STANCES
        }
        chosen = [
            (key, claims[depth], stance)
            for depth in range(per_fact)
            for (key, stance), claims in ranked.items()
            if depth < len(claims)
        ]
        return chosen[:ASSOCIATIONS]

    def _representatives(self, fact: Row, stance: Stance) -> list[str]:
        best = [(doc, min(claims, key=self._latest)) for doc, claims in self.lineages(fact, stance).items()]
        return [
            claim
            for _doc, claim in sorted(best, key=lambda pair: (self._latest(pair[1])[0], pair[0], pair[1]))
        ]

    def _latest(self, claim: str) -> tuple[float, str]:
        asserted = _moment(self.claims[claim].get("asserted"))
        return (float("inf") if asserted is None else -asserted.timestamp(), claim)

    def claims_and_sources(self, args: Mapping[str, Any]) -> Claims:
        """For an anchored call: every item that mentions an anchor is answered."""
        anchors = args["entity_ids"]
        if not all(self.current(each) for each in anchors):
            return Claims("unknown_entity")
        wanted = set(anchors)
        sets: dict[tuple[Any, ...], list[str]] = {}
        for name, claim in sorted(self.claims.items()):
            current = self.claim_is_current(name)
            if (current or args.get("include_superseded")) and self.touched(claim) & wanted:
                sets.setdefault(self._said(claim, current), []).append(name)
        groups = {
            frozenset(names): len({self.claims[each]["doc"] for each in names}) for names in sets.values()
        }
        chunks = {
            name: touched
            for name, document in self.documents.items()
            if not document.get("deleted") and (touched := len(self.mentioned_in(name) & wanted))
        }
        return Claims(None if groups or chunks else "known_empty", groups, chunks)

    def touched(self, claim: Row) -> set[str]:
        """The current entities a claim is tied to: those that are mentioned in its words."""
        start, end = self.words(claim)
        return self.ends_of(
            other
            for other in self.claims.values()
            if other["doc"] == claim["doc"] and self.words(other)[0] < end and start < self.words(other)[1]
        )

    def words(self, claim: Row) -> tuple[int, int]:
        """Where a claim stands in its document, which is where its mentions are."""
        quote = claim.get("quote", claim["text"])
        start = self.documents[claim["doc"]]["text"].index(quote)
        return start, start + len(quote)

    def mentioned_in(self, document: str) -> set[str]:
        return self.ends_of(claim for claim in self.claims.values() if claim["doc"] == document)

    def ends_of(self, claims: Iterable[Row]) -> set[str]:
        """The current entities that these claims mention."""
        names = {
            name
            for claim in claims
            for name in claim.get("mentions", ())
            if name in self.entities and self.entities[name].get("provenance") is not False
        }
        return {end for name in names if (end := self.end(name)) is not None}

    @staticmethod
    def _said(claim: Row, current: bool) -> tuple[Any, ...]:
        """What two claims have in common that say the same (C.2, step 5)."""
        text = " ".join(unicodedata.normalize("NFKC", claim["text"]).casefold().split())
        while text and unicodedata.category(text[0]).startswith("P"):
            text = text[1:]
        while text and unicodedata.category(text[-1]).startswith("P"):
            text = text[:-1]
        instants = (_moment(claim.get(name)) for name in ("asserted", "from", "until"))
        return (text, *instants, claim.get("precision", "unknown"), claim.get("attributed", False), current)
