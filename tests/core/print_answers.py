"""Prints the answers to some crowded snapshots, one a line, to be compared between hash seeds."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

from builders import harbour, linked, noded, related

from reconstruct.core import Request, Settings, Snapshot, reconstruct
from reconstruct.core.types import Context, EntityRecords, Graph, Mention, Pool, Ref, Row, StoredText

START = datetime(2026, 1, 1, tzinfo=UTC)


def crowd(seed: int) -> Snapshot:
    """Sixty rows that bundle by every key and mention a tangle of entities."""
    random = Random(seed)
    rows = tuple(
        Row(
            ref=Ref("mem", number),
            timestamp=f"stamp {number % 7}",
            instant=START + timedelta(seconds=30 * random.randrange(40)),
            context=Context(project_id=random.choice(("", "p", "q")), channel=random.choice(("", "c"))),
            message_id=random.choice(("", "", "", "a", "b", "c")),
            source_type="User",
            source_id=random.choice(("", "u1", "u2", "u3")),
        )
        for number in range(1, 61)
    )
    inside, outside = rows[:40], rows[40:]
    relations = tuple(
        related(
            f"mem:{random.randint(1, 40)}", random.choice(("corrects", "near", "qualifies")), f"mem:{end}"
        )
        for end in range(1, 12)
    )
    graph = Graph(
        mentions=tuple(Mention(ref=row.ref, entity=random.randint(1, 9)) for row in inside[:20]),
        relations=tuple(
            linked(number, random.randint(1, 9), f"p{number % 3}", random.randint(1, 9))
            for number in range(1, 15)
        ),
    )
    records = tuple(
        EntityRecords(entity=entity, rows=outside[entity : entity + 6]) for entity in range(1, 10)
    )
    texts = tuple(_text(random, row.ref) for row in rows)
    return Snapshot(pool=Pool(rows=inside, relations=relations), graph=graph, records=records, texts=texts)


def _text(random: Random, ref: Ref) -> StoredText:
    words = [random.choice(("winch ", "brake ", "frost ", "🦀 ")) * random.randint(1, 9) for _ in range(5)]
    if random.random() < 0.5:
        return StoredText(ref=ref, text="".join(words))
    cosines = tuple(random.choice((0.1, 0.5, 0.9)) for _ in words)
    return noded(str(ref), *words, cosines=cosines)


def main() -> None:
    given, request, settings = harbour()
    print(json.dumps(reconstruct(snapshot=given, request=request, settings=settings)))
    for seed in range(20):
        wanted = Request(query="winch frost", count=10, max_evidence=3 + seed % 9, trace=True)
        body = reconstruct(
            snapshot=crowd(seed), request=replace(wanted, budget=300 * (seed + 1)), settings=Settings()
        )
        print(json.dumps(body))


if __name__ == "__main__":
    main()
