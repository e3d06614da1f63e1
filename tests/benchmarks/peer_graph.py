"""Scenarios with declared associations. All invented."""

from typing import Any

from tests.benchmarks.peer_rows import BOT, MARTA, OKE, Question, Row, Scenario, day


def relation(subject: str, predicate: str, target: str, **more: str) -> dict[str, Any]:
    return {"associations": {"relations": [{"subject": subject, "predicate": predicate, "object": target}]}}


def mentions(row: str, *names: str, aliases: tuple[str, ...] = (), **more: str) -> dict[str, Any]:
    entities = [{"name": name, "aliases": list(aliases)} if aliases else {"name": name} for name in names]
    return {"associations": {"entities": entities}, "anchor_ref": row, **more}


def declared() -> Scenario:
    return Scenario(
        name="declared",
        rows=(
            Row(
                name="m1", text="The Larkspur leaves dock two at dawn.", at=day(14, "05:00:00"), source=MARTA
            ),
            Row(name="m2", text="Odalys keeps the engine journal.", at=day(15, "05:00:00"), source=OKE),
            Row(name="m3", text="Spare valves lie in shed nine.", at=day(16, "05:00:00"), source=OKE),
            Row(name="m4", text="Shed nine floods at spring tide.", at=day(17, "05:00:00"), source=MARTA),
            Row(
                name="m5", text="The pump vendor answers on Fridays only.", at=day(18, "05:00:00"), source=BOT
            ),
            Row(name="m6", text="Dawn departures need two deckhands.", at=day(19, "05:00:00"), source=BOT),
            Row(
                name="m7",
                text="Correction: the dawn boat leaves from dock three.",
                at=day(20, "05:00:00"),
                source=BOT,
            ),
            Row(name="m8", text="Unrelated: the canteen serves lentils.", at=day(21, "05:00:00"), source=BOT),
            Row(
                name="e1",
                text="A week about valves and their vendor.",
                at=day(15, "00:00:00"),
                end=day(15, "04:00:00"),
            ),
        ),
        declarations=(
            mentions("@m1", "Larkspur", aliases=("larkboat", "the morning boat")),
            mentions("@m2", "Odalys"),
            mentions("@m3", "Shed Nine"),
            mentions("@m4", "shed  nine"),
            mentions("@m5", "Vendor"),
            mentions("@e1", "Vendor"),
            relation("Odalys", "Tends", "Larkspur"),
            relation("Odalys", "stores in", "Shed Nine"),
            relation("Vendor", "supplies", "Shed Nine"),
            relation("Larkspur", "berths near", "Shed Nine"),
            relation("@m7", "corrects", "@m1"),
            relation("@m6", "explains", "@m1"),
            relation("@m8", "contradicts", "@m6"),
        ),
        questions=(
            Question("when does the Larkspur leave the dock at dawn", {"count": 3}),
            Question("dawn at the dock without a walk", {"count": 3, "max_hops": 0}),
            Question("dawn at the dock, one hop", {"count": 3, "max_hops": 1}),
            Question("dawn at the dock, one row an entity", {"count": 1, "max_evidence": 1}),
            Question("dawn at the dock, four rows", {"count": 1, "max_evidence": 4}),
            Question("dawn at the dock, many hops", {"count": 1, "max_hops": 9}),
            Question("who keeps the engine journal", {"count": 1}),
            Question("what does the larkboat need", {"count": 2}),
            Question("lentils in the canteen", {"count": 2, "top_k": 1}),
        ),
    )


def graph() -> Scenario:
    def row(name: str, number: int, text: str, **more: Any) -> Row:
        return Row(name=name, text=text, at=day(number, "05:00:00"), **more)

    return Scenario(
        name="graph",
        rows=(
            row("rack", 1, "Harpoon rack inspected by Ilse."),
            row("ropes", 2, "Harpoon ropes renewed."),
            row("june", 3, "Harpoon licence expires in June.", message_id="h-1"),
            row("august", 4, "Harpoon licence runs to August instead.", message_id="h-1"),
            row("reed", 5, "Harpoon count of project reed.", project="reed"),
            row("reed2", 6, "Harpoon recount of project reed.", project="reed"),
            row("desk", 7, "Harpoon chatter at the desk.", channel="desk"),
            row("kiln1", 8, "Kilns are fired on Thursdays."),
            row("kiln2", 9, "Kilns were fired twice.", message_id="k-1"),
            row("kiln3", 10, "Kilns were fired thrice.", message_id="k-1"),
            row("clerk1", 11, "The clerk is on leave.", message_id="h-1"),
            row("clerk2", 12, "Clerk and oven share a roof."),
            row("clerk3", 12, "The clerk keeps one more stamp."),
            row("mast", 13, "A lamp hangs from the mast.", project="reed"),
            row("far", 14, "Distant granary, five fields away."),
            row("further", 15, "Granary beyond the fields."),
            row("weeks", 8, "Seven weeks of oven smoke.", end=day(10, "06:00:00")),
        ),
        declarations=(
            mentions("@rack", "Ilse"),
            mentions("@ropes", "Jorn"),
            mentions("@august", "Clerk"),
            mentions("@kiln1", "Kiln"),
            mentions("@kiln2", "Kiln"),
            mentions("@kiln3", "Kiln"),
            mentions("@weeks", "Kiln"),
            mentions("@clerk1", "Office"),
            mentions("@clerk2", "Office", "Kiln"),
            mentions("@clerk3", "Office"),
            mentions("@reed", "Tally", project_id="reed"),
            mentions("@mast", "Lamp", project_id="reed"),
            mentions("@far", "Granary"),
            mentions("@further", "Barn"),
            mentions("@desk", "Chat", channel="desk"),
            relation("Ilse", "knows", "Kiln"),
            relation("Jorn", "owns", "Kiln"),
            relation("Ilse", "fears", "Kiln"),
            relation("Ilse", "knows", "Kiln"),
            relation("Clerk", "sits in", "Office"),
            relation("Kiln", "heats", "Kiln"),
            relation("Kiln", "warms", "Office"),
            relation("Kiln", "dries", "Granary"),
            relation("Granary", "beside", "Barn"),
            relation("Barn", "beside", "Ilse"),
            relation("Jorn", "owns", "Kiln", anchor_ref="@ropes"),
            relation("Tally", "lit by", "Lamp", project_id="reed"),
            relation("Chat", "about", "Office", channel="desk"),
            relation("Ilse", "wrote", "@rack"),
            relation("@kiln1", "corrects", "@rack"),
            relation("@june", "supersedes", "@august"),
            relation("@desk", "temporal_predecessor", "@rack"),
            relation("@desk", "supports", "@rack", channel="desk"),
            relation("@reed", "qualifies", "@reed2", project_id="moss"),
            relation("@reed2", "reminds of", "@reed", project_id="reed"),
        ),
        questions=(
            Question("harpoon rack", {"count": 10}),
            Question("harpoon rack, no walk", {"count": 10, "max_hops": 0}),
            Question("harpoon rack, one hop", {"count": 10, "max_hops": 1}),
            Question("harpoon rack, three hops", {"count": 10, "max_hops": 3}),
            Question("harpoon rack, five hops", {"count": 10, "max_hops": 5}),
            Question("harpoon rack, three rows", {"count": 10, "max_evidence": 3}),
            Question("harpoon licence", {"count": 1}),
            Question("harpoon licence, four rows", {"count": 2, "max_evidence": 4}),
            Question("harpoon in project reed", {"count": 10, "project_id": "reed"}),
            Question("harpoon in project moss", {"count": 10, "project_id": "moss"}),
            Question("harpoon in the global pool", {"count": 10, "project_id": ""}),
            Question("harpoon at the desk", {"count": 10, "channel": "desk"}),
            Question("harpoon rack on a small budget", {"count": 10, "budget": 500}),
            Question("harpoons with ilse and the kiln", {"count": 4}, shared_start=True),
        ),
    )
