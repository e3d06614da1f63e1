"""A store that changes through the API, a second at a time, and the `given` it would be made from by then."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from unittest import mock

from django.test import override_settings
from django.utils import timezone
from hypothesis import strategies as st

from tests.api.harbour import Harbour
from tests.conftest import make_client, make_store, make_user
from tests.context_bundle.reference import Reference, moment
from tests.context_bundle.strategies import NOW, written
from tests.contracts.bundle_running import clock

SECOND = timedelta(seconds=1)
# Beginnings of years, at which windows meet, some of them to come.
YEARS = [f"{year}-01-01T00:00:00Z" for year in (2019, 2021, 2023, 2025, 2028)]
ENTITIES = ["E00", "E01", "E02", "E03"]
SAYINGS = ["The Tern sails.", "The Tern floats.", "She carries 310.", "She carries 290."]

Row = dict[str, Any]
Draw = Callable[[st.SearchStrategy[Any]], Any]


class History:
    """Entities and testimony to begin with. `step` changes something that can be changed, as `draw` decides."""

    def __init__(self, draw: Draw) -> None:
        ada = make_user("ada")
        store = make_store(ada)
        self._draw = draw
        self._harbour = Harbour(make_client(ada, store), store)
        self._now = moment(NOW)
        # Symbols to ids. Numbers, and so ties, are in the order in which things come to be; so are the symbols.
        self._ids: dict[str, str] = {}
        self.given: dict[str, list[Row]] = {
            name: [] for name in ("entities", "documents", "claims", "facts", "groups")
        }
        self._merges: dict[str, str] = {}
        for _ in ENTITIES:
            self._entity()
        for place in range(len(SAYINGS)):
            self._say(place)

    @property
    def now(self) -> str:
        return written(self._now)

    def reference(self) -> Reference:
        return Reference(self.given, self.now)

    def ask(self, args: Row) -> Any:
        """The answer of `facts_context` at the present instant, in symbols."""
        names = {text: name for name, text in self._ids.items()}
        sent = args | {"entity_ids": [self._ids[name] for name in args["entity_ids"]]}
        with override_settings(EMBEDDER="none"), clock(self._now):
            return _decoded(self._harbour.ask("facts_context", **sent), names)

    def step(self) -> str:
        """Do one thing, and say what."""
        commands = [name for name, possible in self._possible().items() if possible]
        # Most of what can be done needs facts.
        name = self._draw(st.sampled_from(["declare"] * 3 * ("declare" in commands) + commands))
        getattr(self, f"_{name}")()
        return str(name)

    def _possible(self) -> dict[str, Any]:
        held = self._held()
        current = [claim for claim in self.given["claims"] if claim["current"]]
        return {
            "declare": current and len(held) < 8,
            "retract": held,
            "correct": [fact for fact in held if fact["evidence"]],
            "merge": len(self._active()) > 1,
            "unmerge": self._reversible(),
            "turn": self.given["claims"],
            "attach": held and current,
            "contradict": len(self._ungrouped()) > 1,
            "resolve": self._open_groups(),
        }

    @contextmanager
    def _written(self) -> Iterator[None]:
        self._now += SECOND
        with (
            override_settings(EMBEDDER="none"),
            mock.patch.object(timezone, "now", return_value=self._now),
        ):
            yield

    def _named(self, prefix: str, text: str, rows: str) -> str:
        # More than 99 of a kind would be out of order.
        name = f"{prefix}{len(self.given[rows]):02}"
        self._ids[name] = text
        return name

    def _entity(self) -> None:
        place = len(self.given["entities"])
        with self._written():
            text = self._harbour.entity(f"Name {place}")
        self.given["entities"].append({"id": self._named("E", text, "entities"), "name": f"Name {place}"})

    def _say(self, place: int) -> None:
        # Two documents, each with two claims: what one of them says twice counts once.
        saying = SAYINGS[place]
        with self._written():
            if place % 2 == 0:
                text = " ".join(SAYINGS[place : place + 2])
                document = self._harbour.document(text)
                row = {"id": self._named("D", document, "documents"), "text": text}
                self.given["documents"].append(row)
            document = self.given["documents"][-1]["id"]
            claim = self._harbour.claim(saying, document=self._ids[document])
        name = self._named("C", claim, "claims")
        self.given["claims"].append({"id": name, "doc": document, "text": saying, "current": True})

    def _held(self) -> list[Row]:
        return [fact for fact in self.given["facts"] if fact.get("invalidated") is None]

    def _active(self) -> list[str]:
        return [row["id"] for row in self.given["entities"] if row.get("merged_into") is None]

    def _reversible(self) -> list[str]:
        """The merges whose survivor is still itself."""
        active = self._active()
        return [row["id"] for row in self.given["entities"] if row.get("merged_into") in active]

    def _open_groups(self) -> list[Row]:
        return [group for group in self.given["groups"] if not group.get("resolved")]

    def _ungrouped(self) -> list[Row]:
        return [
            fact
            for fact in self._held()
            if not any(_key(fact) in group["members"] for group in self._open_groups())
        ]

    def _window(self) -> Row:
        shape = self._draw(st.sampled_from(["unknown", "open", "both", "start", "end"]))
        first, last = sorted(
            self._draw(st.lists(st.sampled_from(YEARS), min_size=2, max_size=2, unique=True))
        )
        return {
            "from": first if shape in ("open", "both", "start") else None,
            "until": last if shape in ("both", "end") else None,
            "precision": shape if shape in ("unknown", "open") else "year",
        }

    def _post(self, fact: Row, command: str, body: Row) -> Any:
        with self._written():
            return self._harbour.post(f"/facts/{fact['kind']}/{self._ids[_name(fact)]}/{command}", body)

    def _declare(self) -> None:
        claims = [claim["id"] for claim in self.given["claims"] if claim["current"]]
        evidence = [[self._draw(st.sampled_from(claims)), "supports"]]
        others = [claim["id"] for claim in self.given["claims"] if claim["id"] != evidence[0][0]]
        if self._draw(st.booleans()):
            against = self._draw(st.sampled_from(others))
            if against in claims:
                evidence.append([against, self._draw(st.sampled_from(["supports", "contradicts"]))])
        place = len(self.given["facts"])
        kind = self._draw(st.sampled_from(["observation", "relation"]))
        fact: Row = {"kind": kind, "subject": self._draw(st.sampled_from(self._active()))} | self._window()
        # No two facts say the same, or the second would be the first.
        if kind == "observation":
            fact |= {"statement": f"Remark {place} on the Tern"}
        else:
            fact |= {
                "predicate": f"other:joins_{place}",
                "object": self._draw(st.sampled_from(self._active())),
            }
        body = {name: fact[name] for name in ("kind", "predicate", "statement") if name in fact}
        body |= {f"{end}_id": self._ids[fact[end]] for end in ("subject", "object") if end in fact}
        body |= {"window": {name: fact[name] for name in ("from", "until", "precision")}}
        if fact["precision"] != "unknown":
            body["window_claim_ids"] = [self._ids[evidence[0][0]]]
        body["evidence"] = [{"claim_id": self._ids[claim], "stance": stance} for claim, stance in evidence]
        with self._written():
            answer = self._harbour.post("/facts", body, status=(201,))
        # Its id alone would not do: ids of the two kinds are two namespaces.
        name = f"F{place:02}"
        self._ids[name] = answer["id"]
        ingested = answer["validity"]["ingested_at"]
        assert self._now <= moment(ingested) < self._now + SECOND
        self.given["facts"].append(fact | {"id": name, "evidence": evidence, "ingested": ingested})

    def _retract(self) -> None:
        fact = self._draw(st.sampled_from(self._held()))
        fact["invalidated"] = self._post(fact, "retract", {"reason": "wrong"})["validity"]["invalidated_at"]

    def _correct(self) -> None:
        fact = self._draw(st.sampled_from([each for each in self._held() if each["evidence"]]))
        window = self._window()
        cited = [] if window["precision"] == "unknown" else [self._ids[fact["evidence"][0][0]]]
        self._post(fact, "window", {"window": window, "window_claim_ids": cited})
        fact |= window

    def _merge(self) -> None:
        active = self._draw(st.permutations(self._active()))
        survivor, absorbed = active[0], active[1]
        with self._written():
            answer = self._harbour.merge(self._ids[survivor], self._ids[absorbed])
        self._merges[absorbed] = answer["merge_id"]
        self._row("entities", absorbed)["merged_into"] = survivor

    def _unmerge(self) -> None:
        absorbed = self._draw(st.sampled_from(self._reversible()))
        with self._written():
            self._harbour.post(f"/merges/{self._merges.pop(absorbed)}/reverse", {})
        del self._row("entities", absorbed)["merged_into"]

    def _turn(self) -> None:
        """A claim is said to be current no more, or again."""
        claim = self._draw(st.sampled_from(self.given["claims"]))
        current = not claim["current"]
        body = {"current": current, "reason": "review_restored" if current else "reextracted"}
        with self._written():
            self._harbour.post(f"/claims/{self._ids[claim['id']]}/currency", body)
        claim["current"] = current
        self._settle()

    def _attach(self) -> None:
        fact = self._draw(st.sampled_from(self._held()))
        had = {claim for claim, _stance in fact["evidence"]}
        fresh = [claim["id"] for claim in self.given["claims"] if claim["current"] and claim["id"] not in had]
        if not fresh:
            return
        claim, stance = (
            self._draw(st.sampled_from(fresh)),
            self._draw(st.sampled_from(["supports", "contradicts"])),
        )
        self._post(fact, "evidence", {"claim_id": self._ids[claim], "stance": stance})
        fact["evidence"].append([claim, stance])
        self._settle()

    def _contradict(self) -> None:
        facts = self._draw(st.permutations(self._ungrouped()))[: self._draw(st.integers(2, 3))]
        with self._written():
            answer = self._harbour.contradict(*((fact["kind"], self._ids[_name(fact)]) for fact in facts))
        group = {"id": self._named("G", answer["id"], "groups"), "members": sorted(map(_key, facts))}
        self.given["groups"].append(group)

    def _resolve(self) -> None:
        group = self._draw(st.sampled_from(self._open_groups()))
        members = [fact for fact in self._held() if _key(fact) in group["members"]]
        body: Row = {"verdict": "all_stand"}
        kept = self._draw(st.sampled_from([*members, None]))
        if kept is not None:
            body = {"verdict": "pick", "keep": {"kind": kept["kind"], "id": self._ids[_name(kept)]}}
        with self._written():
            self._harbour.post(f"/contradictions/{self._ids[group['id']]}/resolve", body)
        group["resolved"] = True
        for fact in members if kept is not None else ():
            if fact is not kept:
                fact["invalidated"] = self.now

    def _settle(self) -> None:
        """What is held on nobody's current word is withdrawn until somebody says so again (contract, section A.5)."""
        current = {claim["id"] for claim in self.given["claims"] if claim["current"]}
        for fact in self._held():
            supported = any(claim in current and stance == "supports" for claim, stance in fact["evidence"])
            fact["support"] = "current" if supported else "withdrawn"

    def _row(self, rows: str, name: str) -> Row:
        return next(row for row in self.given[rows] if row["id"] == name)


def _name(fact: Row) -> str:
    return str(fact["id"])


def _key(fact: Row) -> str:
    return f"{fact['kind']}:{fact['id']}"


def _decoded(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _decoded(member, names) for key, member in value.items()}
    if isinstance(value, list):
        return [_decoded(each, names) for each in value]
    return names.get(value, value) if isinstance(value, str) else value
