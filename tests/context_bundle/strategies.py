"""Small stores, and questions to them, at the instants where windows and beliefs begin and end."""

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from tests.context_bundle.reference import moment

NOW = "2026-09-30T10:00:00Z"
TICK = timedelta(microseconds=1)


def written(instant: Any) -> str:
    return str(instant.isoformat().replace("+00:00", "Z"))


def shifted(text: str, ticks: int) -> str:
    return written(moment(text) + ticks * TICK)


# Of these a store has two, so that its windows meet each other, the questions and the present.
JOINTS = ["2020-01-01T00:00:00Z", "2022-01-01T00:00:00Z", "2024-01-01T00:00:00Z", NOW, "2027-01-01T00:00:00Z"]


def edges_of(joints: list[str]) -> list[str]:
    return [shifted(each, ticks) for each in joints for ticks in (-1, 0, 0, 1)]


ENTITIES = ["E1", "E2", "E3", "E4"]
PREDICATES = ["works_for", "works_for", "other:operated_by"]
TEXTS = ["The Tern sails.", "the tern  SAILS", "The Tern floats!", "Tern"]


@st.composite
def windows(draw: st.DrawFn, kind: str, instants: list[str]) -> dict[str, Any]:
    """`from`, `until` and `precision` of a fact, in every shape there is. Of relations many are walked."""
    shapes = ["unknown", "both", "start", "end", "instant", *["open"] * (4 if kind == "relation" else 1)]
    shape = draw(st.sampled_from(shapes))
    edges = st.sampled_from(instants)
    if shape == "unknown":
        return {"from": None, "until": None, "precision": "unknown"}
    if shape == "instant":
        since = draw(edges)
        return {"from": since, "until": shifted(since, 1), "precision": "instant"}
    ends = sorted(draw(st.lists(edges, min_size=2, max_size=2, unique_by=moment)), key=moment)
    since = ends[0] if shape != "end" else None
    until = ends[1] if shape in ("both", "end") else None
    precision = "open" if shape == "open" else draw(st.sampled_from(["instant", "day", "year"]))
    return {"from": since, "until": until, "precision": precision}


@st.composite
def entities(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Four, some of them merged away (into one with another number, so in no circle) or with nobody to speak of them."""
    rows = []
    for place, name in enumerate(ENTITIES):
        row: dict[str, Any] = {"id": name, "name": f"Name {name}"}
        if place and draw(st.integers(0, 4)) == 0:
            row |= {"merged_into": draw(st.sampled_from(ENTITIES[:place])), "status": "merged"}
        elif draw(st.integers(0, 11)) == 0:
            row["provenance"] = False
        rows.append(row)
    return rows


@st.composite
def testimony(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(documents, claims): each document says all its claims in one passage."""
    documents, claims = [], []
    for place in range(draw(st.integers(2, 3))):
        texts = draw(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=2, unique=True))
        name = f"D{place}"
        deleted = {"deleted": True} if draw(st.integers(0, 4)) == 0 else {}
        documents.append({"id": name, "text": " | ".join(texts), "source_kind": "file", **deleted})
        for text in texts:
            claim = {
                "id": f"C{len(claims)}",
                "doc": name,
                "text": text,
                "mentions": draw(st.sets(st.sampled_from(ENTITIES), max_size=2).map(sorted)),
                "current": draw(st.sampled_from([True, True, True, False])),
                "attributed": draw(st.sampled_from([False, False, True])),
                "asserted": draw(st.none() | st.sampled_from(JOINTS)),
            }
            claims.append(claim)
    return documents, claims


@st.composite
def facts(draw: st.DrawFn, claims: list[dict[str, Any]], instants: list[str]) -> list[dict[str, Any]]:
    """Five to nine of both kinds, whose ids meet; some not believed yet, or no more, or backed by nothing."""
    rows = []
    names = [f"F{place}" for place in range(5)]
    keys = st.tuples(st.sampled_from(["observation", "relation", "relation"]), st.sampled_from(names))
    for kind, name in sorted(draw(st.lists(keys, min_size=5, max_size=9, unique=True))):
        row: dict[str, Any] = {"id": name, "kind": kind, "subject": draw(st.sampled_from(ENTITIES))}
        if kind == "observation":
            row["statement"] = f"Something about the Tern {name}"
        else:
            row["predicate"] = draw(st.sampled_from(PREDICATES))
            row["object"] = draw(st.sampled_from(ENTITIES))
        row |= draw(windows(kind, instants)) | draw(beliefs())
        told = draw(
            st.lists(st.sampled_from([claim["id"] for claim in claims]), min_size=1, max_size=3, unique=True)
        )
        gone = draw(st.integers(0, 9)) == 0
        row["evidence"] = [
            ["CX" if gone else claim, draw(st.sampled_from(["supports", "supports", "contradicts"]))]
            for claim in (told[:1] if gone else told)
        ]
        rows.append(row)
    return rows


@st.composite
def beliefs(draw: st.DrawFn) -> dict[str, Any]:
    """`ingested` and perhaps `invalidated`: most are believed, the others differ from these by as little as they can."""
    early, late = "2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z"
    ingested = draw(st.sampled_from([early, early, late, late, shifted(NOW, -1), NOW, shifted(NOW, 1)]))
    gone = moment(ingested) <= moment(NOW) and draw(st.integers(0, 7)) == 0
    return {"ingested": ingested} | (
        {"invalidated": draw(st.sampled_from([NOW, shifted(NOW, 1)]))} if gone else {}
    )


@st.composite
def groups(draw: st.DrawFn, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """At most two, which share no fact: a fact is in one group alone."""
    keys = draw(st.permutations([f"{row['kind']}:{row['id']}" for row in rows]))
    cut = draw(st.integers(0, len(keys)))
    made = [keys[:cut], keys[cut:]]
    resolved = draw(st.sampled_from([False, False, True]))
    return [
        {"id": f"G{place}", "members": sorted(members), "resolved": resolved and place == 1}
        for place, members in enumerate(made)
        if len(members) > 1
    ]


@st.composite
def stores(draw: st.DrawFn, instants: list[str]) -> dict[str, Any]:
    documents, claims = draw(testimony())
    rows = draw(facts(claims, instants))
    return {
        "entities": draw(entities()),
        "documents": documents,
        "claims": claims,
        "facts": [withdrawn(draw, row, documents, claims) for row in rows],
        "groups": draw(groups(rows)),
    }


def withdrawn(
    draw: st.DrawFn, row: dict[str, Any], documents: list[Any], claims: list[Any]
) -> dict[str, Any]:
    """The fact, withdrawn perhaps if no current testimony supports it: no other fact is (contract, section A.5)."""
    deleted = {each["id"] for each in documents if each.get("deleted")}
    current = {each["id"] for each in claims if each["current"] and each["doc"] not in deleted}
    supported = any(claim in current for claim, stance in row["evidence"] if stance == "supports")
    return row if supported or not draw(st.booleans()) else row | {"support": "withdrawn"}


@st.composite
def times(draw: st.DrawFn, instants: list[str]) -> dict[str, Any]:
    instant = st.sampled_from(instants)
    mode = draw(st.sampled_from(["current", "at", "at", "overlap", "overlap", "history"]))
    if mode == "at":
        return {"mode": mode, "at": draw(instant)}
    if mode == "overlap":
        first, last = sorted(draw(st.lists(instant, min_size=2, max_size=2)), key=moment)
        return {"mode": mode, "from": first, "to": last}
    return {"mode": mode}


@st.composite
def anchors(draw: st.DrawFn, store: dict[str, Any]) -> list[str]:
    """Mostly entities that are somebody; now and then one that was merged away, or that never was."""
    somebody = [
        row["id"] for row in store["entities"] if "merged_into" not in row and "provenance" not in row
    ]
    whoever = [*ENTITIES, "E404"] if not somebody or draw(st.integers(0, 7)) == 0 else somebody
    return draw(st.lists(st.sampled_from(whoever), min_size=1, max_size=2, unique=True))


@st.composite
def fact_questions(draw: st.DrawFn, store: dict[str, Any], instants: list[str]) -> dict[str, Any]:
    """Of `combined_context`, which are `facts_context`'s too."""
    asked: dict[str, Any] = {
        "query": "Tern",
        "entity_ids": draw(anchors(store)),
        "hops": draw(st.integers(1, 2)),
    }
    if draw(st.integers(0, 3)) == 0:
        asked["predicate"] = draw(st.sampled_from(PREDICATES))
    return asked | {"time": draw(times(instants))}


@st.composite
def asked_stores(draw: st.DrawFn, questions: int = 1) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A store, and questions about it at the instants that its windows have."""
    instants = edges_of(draw(st.lists(st.sampled_from(JOINTS), min_size=2, max_size=2, unique=True)))
    store = draw(stores(instants))
    return store, [draw(fact_questions(store, instants)) for _ in range(questions)]
