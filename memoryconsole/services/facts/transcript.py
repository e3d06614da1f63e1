"""Who decided what: the rows of the transcript (contract: context-bundle A.7)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from memoryconsole.access import Actor
from memoryconsole.models import Decision, Fact, Store
from memoryconsole.models.facts import Outcome
from memoryconsole.times import write_stamp

Method = Literal["declared", "exact", "rule"]

# As many as the contract's own transcript operation tells (C.7).
SHOWN = 40
# Rows of one INSERT.
_BATCH = 2000


@dataclass(frozen=True, slots=True)
class Decider:
    """Who decides. `auto`: a rule of the server's, or an agent by its token; `human`: a person who is signed in.

    `actor` holds ids alone: a name may be forgotten, transcript and ledger may not be rewritten.
    """

    decided_by: Literal["auto", "human"]
    actor: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, actor: Actor) -> "Decider":
        if actor.token is None:
            return cls("human", {"user": actor.user.pk})
        return cls("auto", {"user": actor.user.pk, "token": actor.token.pk})

    @property
    def features(self) -> dict[str, Any]:
        """The actor as a member of a decision's features; none for a rule."""
        return {"actor": dict(self.actor)} if self.actor else {}

    @property
    def words(self) -> str:
        """The actor in a text column, such as 'user:7 token:3'; '' for a rule."""
        return " ".join(f"{kind}:{number}" for kind, number in self.actor.items())


RULE = Decider("auto")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What was decided about one fact. `related`: the fact on the other side; `features`: on what."""

    fact: Fact
    outcome: Outcome
    method: Method
    related: UUID | None = None
    features: Mapping[str, Any] = field(default_factory=dict)


def write_entries(store: Store, decider: Decider, entries: Sequence[Entry], *, at: datetime) -> None:
    """Append to the transcript, one row an entry."""
    Decision.objects.bulk_create(
        (
            Decision(
                store=store,
                subject_kind=entry.fact.kind,
                subject_uuid=entry.fact.uuid,
                outcome=entry.outcome,
                method=entry.method,
                related_uuid=entry.related,
                # A rule is nobody's decision, whoever's command it followed from.
                decided_by="auto" if entry.method == "rule" else decider.decided_by,
                decided_at=at,
                features={**({} if entry.method == "rule" else decider.features), **entry.features},
            )
            for entry in entries
        ),
        batch_size=_BATCH,
    )


def transcript_of(store: Store, kind: str, uuid: UUID) -> tuple[list[dict[str, Any]], int]:
    """The newest SHOWN entries about a fact, oldest first, and how many there are in all (two statements)."""
    rows = Decision.objects.filter(store=store, subject_kind=kind, subject_uuid=uuid)
    newest = list(rows.order_by("-id")[:SHOWN])
    return [_entry_shape(row) for row in reversed(newest)], rows.count()


def _entry_shape(row: Decision) -> dict[str, Any]:
    return {
        "outcome": row.outcome,
        "method": row.method,
        "related_id": str(row.related_uuid) if row.related_uuid else None,
        "decided_by": row.decided_by,
        "decided_at": write_stamp(row.decided_at),
        "features": row.features,
    }
