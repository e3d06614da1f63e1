"""What a scenario of `peer` is made of.

Rows have names, unique in their scenario; refs in declarations and in what is read are written `@name`.
"""

from dataclasses import dataclass, field
from typing import Any

MARTA = {"type": "User", "id": "marta", "name": "Marta"}
OKE = {"type": "User", "id": "oke", "name": "Oke"}
BOT = {"type": "Agent", "id": "bot", "name": "Desk"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A record, or an episode when `end` is given (`at` is then its start)."""

    name: str
    text: str
    at: str
    end: str | None = None
    source: dict[str, str] | None = None
    message_id: str = ""
    project: str = ""
    channel: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """`bounds` are arguments of both; the query is unique, so that each has its own vector. `shared_start`: one item's
    candidates mention an entity that the walk from another item reaches.
    """

    query: str
    bounds: dict[str, Any] = field(default_factory=dict)
    shared_start: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """`declarations`: bodies of a declaration, one after another. `contents`: entries to read."""

    name: str
    rows: tuple[Row, ...]
    declarations: tuple[dict[str, Any], ...] = ()
    questions: tuple[Question, ...]
    contents: tuple[Any, ...] = ()


def day(number: int, clock: str) -> str:
    return f"2026-03-{number:02}T{clock}+00:00"
