"""A row in short, as pages show it."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Shown:
    """A live row in short. `text`: the beginning of it; `timestamp`: as stored; `source`: its producer."""

    ref: str
    text: str
    length: int
    timestamp: str
    project_id: str | None
    channel: str | None
    message_id: str
    source: dict[str, str]

    @property
    def identity(self) -> tuple[str | None, str] | None:
        """What makes two rows versions of one message; None for a row that is no version of anything."""
        return (self.project_id, self.message_id) if self.message_id else None

    @property
    def producer(self) -> tuple[Any, ...] | None:
        """What makes two rows the words of one producer in one place; None for an unknown one."""
        source = self.source
        return (source["type"], source["id"], self.project_id, self.channel) if source["id"] else None
