"""How an answer is written down: canonical JSON, digests, the time each stage took. No statement is made here."""

import hashlib
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any

from memoryconsole.jsons import write
from memoryconsole.models.traces import MAX_LABELS, Outcome

# Members of an answer that say how the server is, not what the memory holds: outside digests.
NOTICES = ("advisory", "update")

# Short and plain: they stand in addresses, logs and tables. A header has no other letters: what a server makes of
# further bytes is a guess.
_LABEL = re.compile(r"[\w.:/+-]{1,64}", re.ASCII)
# W3C Trace Context, level 1: version, trace id, parent id, flags. No version is ff, and no id is all zeros.
_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


def canonical(value: Any) -> bytes:
    """JSON with sorted members and no spaces: equal values, equal bytes."""
    return write(value, ordered=True)


def digest_of(body: Mapping[str, Any], *, without: Sequence[str] = ()) -> bytes:
    """The digest of an answer, notices and the members `without` left out (SHA-256)."""
    told = {name: value for name, value in body.items() if name not in (*NOTICES, *without)}
    return hashlib.sha256(canonical(told)).digest()


def kept_digest(digest: bytes) -> str:
    """A stored text's digest as a trace keeps it: its first 64 bits, in hexadecimal."""
    return digest.hex()[:16]


class Laps:
    """A stopwatch of one call: each lap is the time since the one before, so that their sum is the whole."""

    def __init__(self, started_ns: int | None = None) -> None:
        self._last = self._start = time.perf_counter_ns() if started_ns is None else started_ns
        self._stages: dict[str, int] = {}

    def lap(self, name: str) -> None:
        """The stage `name` ends here. One that ends twice has both times."""
        now = time.perf_counter_ns()
        self._stages[name] = self._stages.get(name, 0) + now - self._last
        self._last = now

    def stages(self) -> list[list[Any]]:
        """[name, microseconds] in order. Rounded at the edges, so that the sum is `total` exactly."""
        edges, reached = [0], 0
        for spent in self._stages.values():
            reached += spent
            edges.append(round(reached / 1000))
        spans = pairwise(edges)
        return [[name, end - start] for name, (start, end) in zip(self._stages, spans, strict=True)]

    def total(self) -> int:
        """Microseconds from the start to the last lap."""
        return round((self._last - self._start) / 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """What a call says about itself, and what is known of its request."""

    request_id: str
    agent_run: str = ""
    traceparent: str = ""
    labels: tuple[str, ...] = ()

    @classmethod
    def of(cls, headers: Mapping[str, str], request_id: str) -> "Caller":
        """From `traceparent`, `X-Agent-Run` and `X-Labels` (up to eight, by commas).

        What cannot be one is left out: a label never refuses an answer.
        """
        run = headers.get("X-Agent-Run", "").strip()
        parent = headers.get("traceparent", "").strip()
        labels = [label.strip() for label in headers.get("X-Labels", "").split(",")]
        return cls(
            request_id=request_id,
            agent_run=run if _LABEL.fullmatch(run) else "",
            traceparent=parent if _TRACEPARENT.fullmatch(parent) else "",
            labels=tuple(dict.fromkeys(label for label in labels if _LABEL.fullmatch(label)))[:MAX_LABELS],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What an operation answers, and what its trace keeps of it.

    `body`: the contract's, notices included. `seen`: what the answer was made of, so that it can be decided again.
    `told`: what was decided. `quoted`: the rows in the answer (`ref_key`). `asked_at`: the snapshot's instant.
    `unreplayed`: members of the body that no replay can make again, which the trace's digest leaves out.
    """

    body: dict[str, Any]
    outcome: Outcome
    reason: str = ""
    asked_at: datetime
    policy: dict[str, Any] = field(default_factory=dict)
    seen: dict[str, Any] = field(default_factory=dict)
    told: dict[str, Any] = field(default_factory=dict)
    quoted: Sequence[int] = ()
    unreplayed: Sequence[str] = ()


class NotReplayable(Exception):
    """A trace whose answer cannot be decided again. `reason`: `forgotten` (a row it names is gone),
    `request_not_kept`, or `changed` (a row it names is not the text it was).
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def check_digests(kept: Mapping[str, str], now: Mapping[str, bytes]) -> None:
    """Raises NotReplayable when a text that a trace names by ref is gone (`forgotten`), or is another (`changed`)."""
    if kept.keys() - now.keys():
        raise NotReplayable("forgotten")
    if any(kept_digest(now[ref]) != digest for ref, digest in kept.items()):
        raise NotReplayable("changed")
