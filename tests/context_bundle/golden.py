"""The world of the golden answers: a ship, who sails her and whose she is, at one instant."""

import json
import uuid
from datetime import timedelta
from typing import Any

from memoryconsole.models import Claim, DocumentVersion, Record
from tests.context_bundle.reference import moment
from tests.contracts.bundle_symbols import Symbols
from tests.contracts.bundle_world import World
from tests.contracts.scenario_files import OWN_COPY

NOW = "2026-09-30T10:15:00Z"
LEARNED = "2026-02-01T08:00:00Z"


def id_of(kind: str, number: int) -> str:
    """An id of the golden files: e entity, 0 observation, 1 relation, c claim, d document, b chunk, 9 group, f version,
    a representation.
    """
    return f"{kind}0000000-0000-4000-8000-{number:012d}"


TERN, MARIT, NORTHPIER, SKERRY, MARTIN, PIER = (id_of("e", number) for number in range(1, 7))
NAMES = {
    TERN: "Aurora Tern",
    MARIT: "Marit Solvang",
    NORTHPIER: "Northpier Ferries",
    SKERRY: "Skerry Line",
    MARTIN: "Martin Solvang",
    PIER: "Pier 4",
}
ENTITIES = [{"id": entity, "name": name} for entity, name in NAMES.items()]

# title, text, kind, modified, published.
DOCUMENTS: dict[int, tuple[str, str, str, str | None, str | None]] = {
    1: ("Harbour vessel register 2026",
        "The Aurora Tern is certified for 310 passengers. Her home berth is Pier 4.",
        "file", "2026-01-10T00:00:00Z", None),
    2: ("Coastal Gazette, 12 March 2026",
        "Skerry Line says the Aurora Tern may carry 290 passengers this season.",
        "web", None, "2026-03-12T00:00:00Z"),
    3: ("Crew list, spring 2024",
        "Marit Solvang joined Northpier Ferries in April 2022 as second officer.",
        "file", "2024-04-02T00:00:00Z", None),
    4: ("Crew list, autumn 2021", "Marit Solvang sails for Skerry Line.", "file", "2021-10-01T00:00:00Z", None),
    5: ("Agenda", "Three hundred and ten may board.", "file", None, None),
    6: ("Leaflet", "Room for 310.", "file", None, None),
    8: ("Payroll, autumn 2021", "Marit Solvang sails for Skerry Line.", "file", "2021-10-01T00:00:00Z", None),
}  # fmt: skip


def document(number: int) -> dict[str, Any]:
    title, text, kind, _modified, _published = DOCUMENTS[number]
    return {"id": id_of("d", number), "title": title, "text": text, "source_kind": kind}


CLAIMS: dict[int, dict[str, Any]] = {
    1: {"doc": 1, "text": "The Aurora Tern is certified for 310 passengers.", "mentions": [TERN],
        "asserted": "2026-01-10T00:00:00Z"},
    2: {"doc": 2, "text": "According to Skerry Line, the Aurora Tern may carry 290 passengers this season.",
        "quote": "the Aurora Tern may carry 290 passengers this season", "mentions": [TERN], "attributed": True,
        "asserted": "2026-03-12T00:00:00Z"},
    3: {"doc": 3, "text": "Marit Solvang joined Northpier Ferries in April 2022 as second officer.",
        "mentions": [MARIT], "asserted": "2024-04-02T00:00:00Z", "from": "2022-04-01T00:00:00Z",
        "until": "2022-04-30T23:59:59.999999Z", "precision": "month"},
    5: {"doc": 4, "text": "Marit Solvang sails for Skerry Line.", "mentions": [MARIT],
        "asserted": "2021-10-01T00:00:00Z"},
    6: {"doc": 5, "text": "Three hundred and ten may board."},
    7: {"doc": 6, "text": "Room for 310."},
    8: {"doc": 8, "text": "Marit Solvang sails for Skerry Line.", "mentions": [MARIT],
        "asserted": "2021-10-01T00:00:00Z"},
    31: {"doc": 3, "text": "Marit Solvang serves on the Aurora Tern.", "quote": DOCUMENTS[3][1],
         "asserted": "2024-04-02T00:00:00Z"},
    32: {"doc": 3, "text": "Marit Solvang holds a master's ticket.", "quote": "second officer",
         "asserted": "2024-04-02T00:00:00Z"},
}  # fmt: skip


def claim(number: int, **changed: Any) -> dict[str, Any]:
    row = CLAIMS[number] | {"id": id_of("c", number)} | changed
    return row | {"doc": id_of("d", row["doc"])}


def supported(*claims: int) -> list[list[str]]:
    return [[id_of("c", number), "supports"] for number in claims]


def relation(number: int, subject: str, predicate: str, end: str, window: Any, **more: Any) -> dict[str, Any]:
    since, until, precision = window
    return {"id": id_of("1", number), "kind": "relation", "subject": subject, "predicate": predicate, "object": end,
            "from": since, "until": until, "precision": precision, "ingested": LEARNED, **more}  # fmt: skip


def observation(number: int, subject: str, statement: str, **more: Any) -> dict[str, Any]:
    return {"id": id_of("0", number), "kind": "observation", "subject": subject, "statement": statement,
            "ingested": LEARNED, **more}  # fmt: skip


WORKS_FOR_NORTHPIER = relation(
    2,
    MARIT,
    "works_for",
    NORTHPIER,
    ("2022-04-01T00:00:00Z", "2025-01-01T00:00:00Z", "month"),
    evidence=supported(3),
)
WORKS_ON_TERN = relation(
    3, MARIT, "works_on", TERN, ("2023-05-01T00:00:00Z", None, "day"), evidence=supported(31)
)
WORKS_FOR_SKERRY = relation(
    5,
    MARIT,
    "works_for",
    SKERRY,
    ("2019-01-01T00:00:00Z", "2022-04-01T00:00:00Z", "month"),
    evidence=supported(5),
)
USES_PIER = relation(
    6, NORTHPIER, "uses", PIER, ("2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z", "year"),
    support="withdrawn", evidence=supported(6),
)  # fmt: skip
HOLDS_TICKET = observation(4, MARIT, "Marit Solvang holds a master's ticket", evidence=supported(32))
CERTIFIED = observation(
    1, TERN, "The Aurora Tern is certified for 310 passengers", evidence=[*supported(1, 6, 7), [id_of("c", 2), "contradicts"]]
) | {"from": "2026-01-01T00:00:00Z", "precision": "open"}  # fmt: skip
OPERATED = relation(
    20, TERN, "other:operated_by", NORTHPIER, ("2022-04-01T00:00:00Z", None, "open"), evidence=supported(3)
)


def disputed() -> list[dict[str, Any]]:
    """27 other certificates, a day and three passengers apart."""
    first = moment("2026-03-01T08:00:00Z")
    return [
        observation(100 + place, TERN, f"The Aurora Tern is certified for {200 + 3 * place} passengers", evidence=supported(7))
        | {"ingested": (first + place * timedelta(days=1)).isoformat().replace("+00:00", "Z")}
        for place in range(27)
    ]  # fmt: skip


class Verbatim(Symbols):
    """Symbols that are UUIDs already."""

    def __init__(self) -> None:
        super().__init__(())

    def uuid(self, name: str) -> uuid.UUID:
        return uuid.UUID(name)


def world(
    documents: tuple[int, ...], claims: list[dict[str, Any]], facts: Any = (), groups: Any = ()
) -> World:
    """These rows, with the ids and dates that the golden files have of their passages and versions too."""
    given = {
        "entities": ENTITIES,
        "documents": [document(number) for number in documents],
        "claims": claims,
        "facts": list(facts),
        "groups": list(groups),
    }
    made = World(given, Verbatim())
    for number in documents:
        _title, _text, _kind, modified, published = DOCUMENTS[number]
        Record.objects.filter(pk=made.records[id_of("d", number)].pk).update(uuid=id_of("b", number))
        DocumentVersion.objects.filter(document=made.documents[id_of("d", number)]).update(
            uuid=id_of("f", number),
            representation_uuid=id_of("a", number),
            source_modified_at=modified,
            published_at=published,
        )
    # The format of scenarios has no word for what kind of window a claim's is.
    Claim.objects.filter(store=made.store, uuid=id_of("c", 3)).update(valid_kind="event_time")
    return made


def golden(name: str) -> Any:
    path = next(
        path for path in sorted((OWN_COPY / "golden").glob("*.json")) if path.name.startswith(f"{name}_")
    )
    return json.loads(path.read_text(encoding="utf-8"))
