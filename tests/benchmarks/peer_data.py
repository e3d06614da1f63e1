"""What `peer` stores in both systems and asks of both. All invented."""

from typing import Any

from tests.benchmarks.peer_graph import declared, graph
from tests.benchmarks.peer_rows import BOT, MARTA, OKE, Question, Row, Scenario, day


def scenarios() -> tuple[Scenario, ...]:
    return (
        versions(), bursts(), clocks(), episodes(), declared(), graph(), long_texts(), scripts(), crowd(),
    )  # fmt: skip


def versions() -> Scenario:
    def row(name: str, message: str, at: str, text: str, **more: Any) -> Row:
        return Row(name=name, text=text, at=at, message_id=message, **more)

    return Scenario(
        name="versions",
        rows=(
            row("winch1", "w-1", day(1, "08:00:00"), "Winch drill: grease the aft winch with the red tin every Monday."),
            row("winch2", "w-1", day(3, "08:00:00"), "Winch drill, second wording: grease the aft winch with the blue tin."),
            row("winch3", "w-1", day(2, "08:00:00"), "Winch drill, wording that arrived late: the green tin for the aft winch."),
            row("code1", "w-2", "2026-03-04T10:00:00Z", "The lamp room code is four two nine one."),
            row("code2", "w-2", "2026-03-04T11:00:00+01:00", "The lamp room code is seven seven zero three."),
            row("tide1", "w-3", day(5, "06:00:00"), "Tide table for the north pier, project reed.", project="reed"),
            row("tide2", "w-3", day(6, "06:00:00"), "Tide table for the north pier, project moss.", project="moss"),
            row("tide3", "w-3", day(7, "06:00:00"), "Tide table for the north pier, newer reed sheet.", project="reed", channel="desk"),
            row("rope1", "w-4", "some time in spring", "Rope order: forty metres of hemp, undated note."),
            row("rope2", "w-4", day(8, "09:00:00"), "Rope order: fifty metres of hemp after all."),
            row("plain", "", day(9, "09:00:00"), " Paint the lamp room door before the inspection.\n"),
        ),
        questions=(
            Question("which tin greases the aft winch on Monday", {"count": 3}),
            Question("aft winch drill tin", {"count": 1, "max_evidence": 2}),
            Question("aft winch drill, one row only", {"count": 1, "max_evidence": 1}),
            Question("lamp room code", {"count": 4}),
            Question("north pier tide table", {"count": 5}),
            Question("north pier tide table for reed", {"count": 5, "project_id": "reed"}),
            Question("hemp rope order metres", {"count": 3}),
            Question("desk sheet of the north pier tide", {"count": 3, "channel": "desk"}),
        ),
        contents=("@winch1", "@code2", "mem:999999", "ep:1x"),
    )  # fmt: skip


def bursts() -> Scenario:
    def row(name: str, clock: str, text: str, source: dict[str, str] | None = MARTA, **more: Any) -> Row:
        return Row(name=name, text=text, at=day(10, clock), source=source, **more)

    return Scenario(
        name="bursts",
        rows=(
            row("b0", "12:00:00", "The crane oil pressure fell at noon."),
            row("b1", "12:00:40", "Crane oil pressure is still falling."),
            row("b2", "12:01:00", "Crane oil filter swapped, pressure rising."),
            row("b3", "12:01:01", "Crane oil pressure back to normal."),
            row("b4", "12:01:50", "Crane log signed after the oil trouble."),
            row("o1", "12:00:20", "Oke here, crane oil drum is empty.", OKE),
            row("d1", "12:00:30", "Desk channel: crane oil pressure alarm seen.", MARTA, channel="desk"),
            row("p1", "12:00:50", "Project reed: crane oil pressure report.", MARTA, project="reed"),
            row("n1", "12:00:10", "Crane oil note without an author.", None),
            row("n2", "12:00:15", "Another crane oil note without an author.", None),
        ),
        questions=(
            Question("crane oil pressure", {"count": 10}),
            Question("crane oil pressure, first of all", {"count": 1}),
            Question("crane oil at Oke's", {"count": 10, "source_id": "ok"}),
            Question("crane oil on the desk channel", {"count": 10, "channel": "desk"}),
            Question("crane oil pressure in the global pool", {"count": 10, "project_id": ""}),
            Question("crane oil, nothing asked for", {"count": 0}),
        ),
    )


def clocks() -> Scenario:
    def row(name: str, at: str, text: str, source: dict[str, str] | None = MARTA, **more: Any) -> Row:
        return Row(name=name, text=text, at=at, source=source, **more)

    return Scenario(
        name="clocks",
        rows=(
            row("bare", "2026-03-10 12:00:00", "Sluice gauge read without an offset."),
            row("east", "2026-03-10T14:00:30+02:00", "Sluice gauge read two hours east."),
            row("edge", "2026-03-10T12:01:00Z", "Sluice gauge read at the very minute."),
            row("past", "2026-03-10T12:01:00.000001+00:00", "Sluice gauge read a moment past the minute."),
            row("date", "2026-03-11", "Sluice gauge read on some day."),
            row("midnight", "2026-03-11T00:00:20+00:00", "Sluice gauge read right after midnight."),
            row("basic", "20260312T080000Z", "Sluice gauge read in the short form."),
            row("small", "2026-03-12t08:00:10z", "Sluice gauge read in small letters."),
            row("agent", "2026-03-13T08:00:00Z", "Sluice gauge read by an agent of her name.", {"type": "Agent", "id": "marta", "name": "M"}),
            row("user", "2026-03-13T08:00:05Z", "Sluice gauge read by herself."),
            row("noid", "2026-03-13T08:00:06Z", "Sluice gauge read by nobody in particular.", {"type": "User", "id": "", "name": ""}),
            row("spaced", "2026-03-14T08:00:00Z", "Sluice gauge form, first filing.", None, message_id="  f-1 "),
            row("exact", "2026-03-15T08:00:00Z", "Sluice gauge form, second filing.", None, message_id="f-1"),
            row("upper", "2026-03-16T08:00:00Z", "Sluice gauge form, filed in capitals.", None, message_id="F-1"),
            row("shift", "2026-03-10T13:00:00+02:00", "Sluice gauge shift, noon included.", None, end="2026-03-10T12:00:00Z"),
        ),
        questions=(
            Question("sluice gauge read", {"count": 10}),
            Question("sluice gauge form filing", {"count": 10}),
            Question("sluice gauge shift at noon", {"count": 10}),
        ),
    )  # fmt: skip


def episodes() -> Scenario:
    return Scenario(
        name="episodes",
        rows=(
            Row(name="s1", text="The slipway gate jammed during the storm watch.", at=day(12, "20:10:00"), source=MARTA),
            Row(name="s2", text="Slipway gate freed with the long bar.", at=day(12, "21:00:00"), source=OKE),
            Row(name="s3", text="Slipway gate hinge ordered, two weeks.", at=day(12, "23:30:00"), source=BOT),
            Row(name="s4", text="Slipway gate painted much later.", at=day(20, "10:00:00"), source=BOT),
            Row(name="s5", text="Slipway gate talk on the desk channel.", at=day(12, "20:30:00"), source=BOT, channel="desk"),
            Row(name="watch", text="Storm watch: the slipway gate jammed and was freed.", at=day(12, "20:00:00"), end=day(12, "21:00:00")),
            Row(name="whole", text="The slipway gate evening from dusk to midnight.", at=day(12, "19:00:00"), end=day(12, "23:59:00"), channel="desk"),
            Row(name="other", text="Slipway gate notes of project reed.", at=day(12, "20:00:00"), end=day(12, "23:59:00"), project="reed"),
        ),
        declarations=(
            {"associations": {"relations": [{"subject": "@watch", "predicate": "Qualifies", "object": "@s4"}]}},
        ),
        questions=(
            Question("slipway gate jammed in the storm", {"count": 10}),
            Question("slipway gate, most relevant thing", {"count": 1}),
            Question("slipway gate on the desk", {"count": 10, "channel": "desk"}),
            Question("slipway gate with little evidence", {"count": 3, "max_evidence": 2}),
            Question("slipway gate by the bot", {"count": 5, "source_id": "bot"}),
        ),
        contents=("@watch", {"ref": "@watch", "span": [0, 11]}),
    )  # fmt: skip


def long_texts() -> Scenario:
    return Scenario(
        name="long",
        rows=(
            Row(name="manual", text=manual(), at=day(22, "07:00:00"), source=MARTA),
            Row(name="wall", text="Ballast ledger " + "0123456789" * 420, at=day(23, "07:00:00"), source=OKE),
            Row(name="medium", text="Ballast pump warranty. " + "Call the yard before noon. " * 30 + "End of it.", at=day(24, "07:00:00"), source=BOT),
            Row(name="short", text="Ballast pump seal ordered.", at=day(25, "07:00:00"), source=BOT),
            Row(name="tale", text="Ballast evening, told at length. " + "Nobody slept before the tide turned. " * 16 + "Morning came.", at=day(2, "00:00:00"), end=day(2, "01:00:00")),
            Row(name="book", text="Ballast season in review. " + manual(), at=day(1, "00:00:00"), end=day(1, "01:00:00")),
        ),
        questions=(
            Question("ballast pump priming when the strainer is blocked", {"count": 5}),
            Question("ballast ledger figures", {"count": 2}),
            Question("ballast pump seal, small budget", {"count": 5, "budget": 900}),
            Question("ballast pump seal, tiny budget", {"count": 5, "budget": 1}),
            Question("ballast pump seal, huge budget", {"count": 5, "budget": 50_000}),
            Question("winter storage of the ballast hoses", {"count": 3}),
            Question("ballast evening told at length, nobody slept before the tide", {"count": 5}),
        ),
        contents=(
            {"ref": "@manual", "node": 0},
            {"ref": "@manual", "node": [1, 2]},
            {"ref": "@manual", "node": 99},
            {"ref": "@manual", "span": [3, 1_000_000]},
            {"ref": "@manual", "span": [1_000_000, 1_000_001]},
            {"ref": "@manual", "node": [2, 1]},
            {"ref": "@short", "node": 0},
            "@medium",
        ),
    )  # fmt: skip


def manual() -> str:
    """About six thousand code points: paragraphs of unequal length, lists, and one without a break."""
    subjects = ("priming", "strainer", "seal", "hose", "valve", "winter storage")
    parts = []
    for place, subject in enumerate(subjects):
        lines = [
            f"Ballast chapter {place + 1}, {subject}. Check the {subject} before step {step}. Note the time; sign the sheet!"
            for step in range(3 + 2 * place)
        ]
        parts.append((" " if place % 2 else "\n").join(lines))
    return "\n\n".join(parts)


def scripts() -> Scenario:
    texts = {
        "castle": "城の鍵は東の塔にあります。",
        "moat": "護城河の水位は昨日より低い。",
        "ending": "끝말 잇기는 금요일에 한다.",
        "flag": "Flags for the regatta: \U0001f1f3\U0001f1f1 and \U0001f1ef\U0001f1f5, crew \U0001f468‍\U0001f469‍\U0001f467.",
        "accent": "Café Zoë serves crème brûlée after the regatta.",
        "wide": "ＦＥＲＲＹ timetable in full-width letters.",
        "street": "Straße 9 is closed for the regatta.",
    }
    return Scenario(
        name="scripts",
        rows=tuple(
            Row(name=name, text=text, at=day(26, f"{9 + place:02}:00:00"), source=MARTA)
            for place, (name, text) in enumerate(texts.items())
        ),
        declarations=(
            {
                "associations": {"entities": [{"name": "城", "aliases": ["Castle"]}, {"name": "STRASSE"}]},
                "anchor_ref": "@castle",
            },
        ),
        questions=(
            Question("城", {"count": 3}),
            Question("護城", {"count": 3}),
            Question("끝말", {"count": 3}),
            Question("regatta flags and street", {"count": 5}),
            Question("where is the castle key", {"count": 3}),
        ),
    )


def crowd() -> Scenario:
    sources = (MARTA, OKE, BOT)
    return Scenario(
        name="crowd",
        rows=tuple(
            Row(
                name=f"c{n:02}",
                text=f"Buoy inspection {n}: chain worn {n % 7} mm, lamp {'steady' if n % 2 else 'dim'}." + " Logged." * (n % 5 * 12),
                at=day(27, f"{n // 4:02}:{n % 4 * 13:02}:00"),
                source=sources[n % 3],
            )
            for n in range(26)
        ),
        questions=(
            Question("buoy chain worn lamp dim"),
            Question("buoy chain inspection, ten at most", {"count": 10, "top_k": 40}),
            Question("buoy chain inspection, more than the most", {"count": 50}),
            Question("buoy chain inspection, five rows deep", {"count": 10, "top_k": 5}),
            Question("buoy chain inspection, deep", {"count": 8, "deep": True}),
            Question("buoy chain inspection under pressure", {"count": 10, "top_k": 40, "budget": 1500}),
            Question("buoy chain inspection under less pressure", {"count": 10, "top_k": 40, "budget": 2500}),
            Question("", {"count": 4, "top_k": 6}),
            Question("zzyzx quokka nebula", {"count": 2}),
        ),
    )  # fmt: skip
