"""The data of a scenario: one fresh store per agent, its rows made through the ORM with the numbers given.

Below the write services on purpose: a fixture may break rules that live there, and no database constraint.
Stamps, folded keys, digests and the index are the product's own.
"""

import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from django.db import transaction
from rest_framework.test import APIClient

from memoryconsole import jobs
from memoryconsole.folding import declared_key
from memoryconsole.models import (
    Association,
    Entity,
    EntityAlias,
    Job,
    Mention,
    Record,
    RecordNode,
    Store,
    StoreCounter,
    Summary,
    User,
)
from memoryconsole.services.ingest import digest_of
from memoryconsole.times import read_stamp
from tests.conftest import make_client, make_store
from tests.contracts.embedder import InjectedEmbedder
from tests.contracts.values import FormatError, text_of

# The agent whose store is asked when a scenario names none.
DEFAULT_AGENT = "a"
# Rows are stored one after the other from here on; declarations without a time of their own share this one.
STORED_FROM = datetime(2026, 1, 1, tzinfo=UTC)
TICK = timedelta(microseconds=1)

Row = Mapping[str, Any]
End = Record | Summary | Entity


class World:
    """The stores of one run of a scenario's data, by agent, and a client that may do everything in them."""

    def __init__(self, given: Row, agents: Iterable[str], embedder: InjectedEmbedder) -> None:
        self._embedder = embedder
        # Without a password: hashing one takes longer than most scenarios.
        self._user = User.objects.create_user(f"contracts-{uuid.uuid4().hex}")
        homes = {home_of(row) for kind in _KINDS for row in given.get(kind, ())}
        names = sorted({DEFAULT_AGENT, *agents, *homes})
        self.stores = {agent: make_store(self._user, name=agent) for agent in names}
        self.client = make_client(self._user, *self.stores.values())
        self._rows: dict[tuple[str, str], Record | Summary] = {}
        self._entities: list[tuple[str, Entity]] = []
        self._ticks = count(1)
        with transaction.atomic():
            for kind, add in _KINDS.items():
                for place, row in enumerate(given.get(kind, ()), start=1):
                    getattr(self, add)(row, place)
            self._set_counters()

    def row(self, ref: str, agent: str = DEFAULT_AGENT) -> Record | Summary:
        """The row behind a ref: the agent's own, else the default agent's, whom a foreign graph may name."""
        for owner in (agent, DEFAULT_AGENT):
            if (owner, ref) in self._rows:
                return self._rows[owner, ref]
        raise FormatError(f"{ref} is no row of the scenario")

    def empty_store(self) -> tuple[Store, APIClient]:
        """One more store, and a client for it."""
        store = make_store(self._user, name="fresh")
        return store, make_client(self._user, store)

    def drop_nodes(self, ref: str) -> None:
        row = self.row(ref)
        owner = {"record" if isinstance(row, Record) else "summary": row}
        RecordNode.objects.filter(store=self.stores[DEFAULT_AGENT], **owner).delete()

    def finish_jobs(self) -> None:
        """Do all the background work that waits, and what that work starts."""
        waiting = Job.objects.filter(store__in=self.stores.values(), state="queued").order_by("pk")
        while (job := waiting.first()) is not None:
            jobs.run(job.pk)
            job.refresh_from_db()
            if job.state != "done":
                raise AssertionError(f"the job {job.kind} is {job.state}: {job.message}")

    def _add_record(self, row: Row, place: int) -> None:
        source = row.get("source", {})
        text = text_of(row["content"])
        stamp = row.get("timestamp", "")
        record = Record.objects.create(
            **self._home(row),
            number=row["id"],
            uuid=uuid.uuid4(),
            message_id=row.get("message_id", ""),
            source_type=source.get("type", ""),
            source_id=source.get("id", ""),
            timestamp=stamp,
            instant=read_stamp(stamp),
            content=text,
            digest=digest_of(text),
            **self._stored_at(),
        )
        self._rows[home_of(row), record.ref] = record
        self._embedder.index(record.store, records=[record], similarity=row.get("similarity"))
        if "nodes" in row:
            self._add_nodes(record, row["nodes"])

    def _add_nodes(self, record: Record, nodes: Row) -> None:
        space = self._embedder.space(record.store, nodes["model"])
        spans = zip(nodes["spans"], nodes["similarity"], strict=True)
        RecordNode.objects.bulk_create(
            RecordNode(
                store=record.store,
                record=record,
                index=index,
                start=start,
                end=end,
                space=space,
                embedding=self._embedder.vector(similarity),
            )
            for index, ((start, end), similarity) in enumerate(spans)
        )

    def _add_episode(self, row: Row, place: int) -> None:
        text = text_of(row["summary"])
        start, end = row.get("start") or "", row.get("end") or ""
        summary = Summary.objects.create(
            **self._home(row),
            number=row["id"],
            uuid=uuid.uuid4(),
            summary=text,
            digest=digest_of(text),
            start=start,
            end=end,
            earliest_at=read_stamp(start),
            latest_at=read_stamp(end),
            **self._stored_at(),
        )
        self._rows[home_of(row), summary.ref] = summary
        self._embedder.index(summary.store, summaries=[summary], similarity=None)

    def _add_entity(self, row: Row, place: int) -> None:
        home = self._home(row)
        entity = Entity.objects.create(
            **home,
            number=row.get("id", place),
            uuid=uuid.uuid4(),
            name=row["name"],
            declared_key=declared_key(row["name"]),
            created_at=STORED_FROM,
        )
        EntityAlias.objects.bulk_create(
            EntityAlias(**home, entity=entity, alias=alias, declared_key=declared_key(alias))
            for alias in row.get("aliases", ())
        )
        Mention.objects.bulk_create(
            Mention(
                store=home["store"],
                entity=entity,
                created_at=STORED_FROM,
                **_as_end("", self.row(ref, home_of(row))),
            )
            for ref in row.get("mentions", ())
        )
        self._entities.append((home_of(row), entity))

    def _add_relation(self, row: Row, place: int) -> None:
        declared_at = read_stamp(row["declared_at"]) if "declared_at" in row else STORED_FROM
        if declared_at is None:
            raise FormatError(f"declared_at {row['declared_at']!r}")
        Association.objects.create(
            **self._home(row),
            number=row.get("id", place),
            predicate=declared_key(row["predicate"]),
            declared_at=declared_at,
            **_as_end("subject_", self._end(row["subject"], row)),
            **_as_end("object_", self._end(row["object"], row)),
        )

    def _end(self, name: str, relation: Row) -> End:
        """What an end of a relation names: an entity of the relation's own agent, or a row."""
        if (home_of(relation), name) in self._rows or name.startswith(("mem:", "ep:")):
            return self.row(name, home_of(relation))
        context = (relation.get("project", ""), relation.get("channel", ""))
        named = [
            entity
            for agent, entity in self._entities
            if agent == home_of(relation) and entity.declared_key == declared_key(name)
        ]
        # Names are not unique: the relation's own context comes first.
        named.sort(key=lambda entity: ((entity.project_id, entity.channel) != context, entity.number))
        if not named:
            raise FormatError(f"a relation names {name!r}, which is no entity of the scenario")
        return named[0]

    def _home(self, row: Row) -> dict[str, Any]:
        return {
            "store": self.stores[home_of(row)],
            "project_id": row.get("project", ""),
            "channel": row.get("channel", ""),
        }

    def _stored_at(self) -> dict[str, datetime]:
        instant = STORED_FROM + next(self._ticks) * TICK
        return {"created_at": instant, "believed_at": instant}

    def _set_counters(self) -> None:
        """What the product writes from now on is numbered, and believed, after what is there."""
        for store in self.stores.values():
            counted = {"record": Record, "summary": Summary, "entity": Entity, "association": Association}
            StoreCounter.objects.filter(store=store).update(
                belief_at=STORED_FROM + timedelta(seconds=1),
                **{name: _highest(model, store) for name, model in counted.items()},
            )


_KINDS = {
    "records": "_add_record",
    "episodes": "_add_episode",
    "entities": "_add_entity",
    "relations": "_add_relation",
}


def home_of(row: Row) -> str:
    return str(row.get("agent", DEFAULT_AGENT))


def _as_end(prefix: str, end: End) -> dict[str, End]:
    kind = {Record: "record", Summary: "summary", Entity: "entity"}[type(end)]
    return {f"{prefix}{kind}": end}


def _highest(model: Any, store: Store) -> int:
    return max(model.objects.filter(store=store).values_list("number", flat=True), default=0)
