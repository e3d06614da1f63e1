"""Short ways to say what a snapshot holds. Imports nothing but the core, so that a bare script can use it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from reconstruct.core import Request, Settings, Snapshot, reconstruct
from reconstruct.core.types import (
    Context,
    EntityRecords,
    EntityRelation,
    Graph,
    Mention,
    Node,
    Pool,
    RecordRelation,
    Ref,
    Row,
    Span,
    StoredText,
)

Body = dict[str, Any]
DEFAULTS = Settings()


def ref(handle: str) -> Ref:
    kind, number = handle.split(":")
    assert kind in ("mem", "ep")
    return Ref(kind, int(number))


def when(stamp: str) -> datetime | None:
    """Readable stamps as instants (UTC unless they say otherwise), others as None."""
    try:
        instant = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)


def moment(stamp: str) -> datetime:
    instant = when(stamp)
    assert instant is not None
    return instant


def record(
    number: int,
    stamp: str = "",
    *,
    message: str = "",
    source: str = "",
    project: str | None = "",
    channel: str = "",
    source_type: str = "User",
) -> Row:
    """A record; ``project=None`` leaves its context unknown."""
    return Row(
        ref=Ref("mem", number),
        timestamp=stamp,
        instant=when(stamp),
        context=None if project is None else Context(project_id=project, channel=channel),
        message_id=message,
        source_type=source_type,
        source_id=source,
    )


def episode(number: int, start: str, end: str, *, project: str | None = "", channel: str = "") -> Row:
    first, last = when(start), when(end)
    return Row(
        ref=Ref("ep", number),
        timestamp=start,
        instant=first,
        context=None if project is None else Context(project_id=project, channel=channel),
        span=Span(start=first, end=last) if first and last else None,
    )


def related(subject: str, predicate: str, object_: str) -> RecordRelation:
    return RecordRelation(subject=ref(subject), predicate=predicate, object=ref(object_))


def linked(number: int, subject: int, predicate: str, object_: int, at: str = "2026-02-01") -> EntityRelation:
    return EntityRelation(
        number=number, subject=subject, predicate=predicate, object=object_, declared_at=moment(at)
    )


def mentions(**by_ref: tuple[int, ...]) -> tuple[Mention, ...]:
    """``mentions(mem_1=(5,))``: mem:1 mentions entity 5."""
    return tuple(
        Mention(ref=ref(name.replace("_", ":")), entity=entity)
        for name, entities in by_ref.items()
        for entity in entities
    )


def held(entity: int, *rows: Row, more: bool = False) -> EntityRecords:
    return EntityRecords(entity=entity, rows=rows, more=more)


def noded(handle: str, *parts: str, cosines: tuple[float, ...] | None = None) -> StoredText:
    """A text whose nodes are its parts."""
    nodes, start = [], 0
    for index, part in enumerate(parts):
        cosine = None if cosines is None else cosines[index]
        nodes.append(Node(start=start, end=start + len(part), cosine=cosine))
        start += len(part)
    return StoredText(ref=ref(handle), text="".join(parts), node_state="current", nodes=tuple(nodes))


def snapshot(
    *rows: Row,
    relations: tuple[RecordRelation, ...] = (),
    graph: Graph | None = None,
    records: tuple[EntityRecords, ...] = (),
    texts: Mapping[str, str | StoredText] | None = None,
    **pool: Any,
) -> Snapshot:
    """``rows`` best first. A row without a text of its own says ``text of <ref>``."""
    given = texts or {}
    known = {row.ref for row in (*rows, *(row for entry in records for row in entry.rows))}
    stored = []
    for each in sorted(known):
        text = given.get(str(each), f"text of {each}")
        stored.append(StoredText(ref=each, text=text) if isinstance(text, str) else text)
    return Snapshot(
        pool=Pool(rows=rows, relations=relations, **pool),
        graph=graph or Graph(),
        records=records,
        texts=tuple(stored),
    )


def ask(given: Snapshot, *, settings: Settings = DEFAULTS, query: str = "q", **wanted: Any) -> Body:
    return reconstruct(snapshot=given, request=Request(query=query, **wanted), settings=settings)


def heads(body: Body) -> list[str]:
    return [item["head_ref"] for item in body["items"]]


def claimed(body: Body, item: int = 0) -> list[str]:
    return [claim["ref"] for claim in body["items"][item]["claims"]]


def claim_of(body: Body, handle: str) -> Body:
    """The claim with this ref, in whichever item it is."""
    [claim] = [claim for item in body["items"] for claim in item["claims"] if claim["ref"] == handle]
    return dict(claim)


def harbour() -> tuple[Snapshot, Request, Settings]:
    """The contract's example with everything on (section I.3)."""
    winter = "2026-01-02T06:00:"
    checklist = {"message": "chk-1"}
    rows = (
        record(11, f"{winter}00+00:00", source="u1"),
        record(21, "2026-01-03T02:00:00+00:00", source="u1", **checklist),
        episode(7, "2026-01-02T04:00:00+00:00", "2026-01-02T08:00:00+00:00"),
        record(12, f"{winter}40+00:00", source="u1"),
        record(22, "2026-01-04T08:00:00+00:00", source="u2", **checklist),
        record(23, "2026-01-04T08:00:00+00:00", source="u3", **checklist),
        record(41, "2026-01-09T08:00:00+00:00", source="u1"),
        record(13, f"{winter}55+00:00", source="u1"),
    )
    texts = {
        "mem:11": noded(
            "mem:11",
            "Harbour log. ".ljust(800, "v"),
            "The winch brake sticks in frost; warm it first. ".ljust(900, "w"),
            "End of log. ".ljust(700, "x"),
        ),
        "mem:21": "Winch checklist, first wording. ".ljust(300, "a"),
        "ep:7": "Cold week: winch trouble and fixes.",
        "mem:12": "Brake pads ordered.",
        "mem:22": "Winch checklist, second wording. ".ljust(640, "b"),
        "mem:23": "Winch checklist, a second wording at the same instant.",
        "mem:13": "Frost warning tonight.",
    }
    given = snapshot(
        *rows,
        relations=(related("mem:12", "qualifies", "mem:11"),),
        graph=Graph(
            mentions=mentions(mem_11=(1,)),
            relations=(linked(1, 1, "run_by", 2), linked(2, 2, "belongs_to", 3)),
        ),
        records=(held(2, record(31, "2026-01-01T00:00:00+00:00")),),
        texts=texts,
        rows_without_ref=1,
        query_embedded=False,
        advisory={"degraded": True, "severity": "fault", "advisory_scope": "session"},
    )
    request = Request(
        query="winch brake frost", count=5, top_k=8, max_hops=1, max_evidence=4, budget=9000, trace=True
    )
    return given, request, Settings(max_count=2, max_budget=1500, default_budget=1500)
