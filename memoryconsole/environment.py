"""What the operator may set: every environment variable, its kind, default and meaning, in one table.

The table is the documentation's source (`docs/settings.md` is compared with it by a test). A wrong value stops
the start with every fault named, never with a silent default.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit


class EnvironmentFault(Exception):
    """One or more variables cannot be used. The message names each."""


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    read: Callable[[str], Any]
    default: Any
    meaning: str


def whole(minimum: int = 0, maximum: int = 2**31 - 1) -> Callable[[str], int]:
    """Read a decimal integer in [minimum, maximum]."""

    def read(text: str) -> int:
        if not text.lstrip("-").isascii() or not text.lstrip("-").isdigit():
            raise ValueError("expected a whole number")
        value = int(text)
        if not minimum <= value <= maximum:
            raise ValueError(f"expected {minimum} to {maximum}")
        return value

    return read


def text(value: str) -> str:
    return value


def switch(value: str) -> bool:
    if value not in ("0", "1"):
        raise ValueError("expected 0 or 1")
    return value == "1"


def names(value: str) -> list[str]:
    return [part.strip() for part in value.split(",") if part.strip()]


def one_of(*choices: str) -> Callable[[str], str]:
    def read(value: str) -> str:
        if value not in choices:
            raise ValueError(f"expected one of {', '.join(choices)}")
        return value

    return read


def endpoint(value: str) -> str:
    """Read the base address of an HTTP service, without credentials, query or fragment."""
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("expected http:// or https:// and a host")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("holds more than a host and a path")
    if parts.port == 0:  # asking for it raises ValueError when it is no number
        raise ValueError("names no port")
    parts.hostname.encode("idna")  # raises UnicodeError, a ValueError, for a name that nothing could look up
    return value


def secret(value: str) -> str:
    """Read what goes into one HTTP header. A line's end that came along would be refused there, and shown in a log."""
    if not all("!" <= character <= "~" for character in value):
        raise ValueError("expected printable ASCII without spaces or line ends")
    return value


def broker(value: str) -> str:
    """Read a broker's address: one of the schemes that work is sent over, with a port that is a number."""
    parts = urlsplit(value)
    if parts.scheme not in ("redis", "rediss", "redis+socket", "amqp", "amqps"):
        raise ValueError("expected redis://, rediss://, redis+socket://, amqp:// or amqps://")
    if parts.scheme != "redis+socket" and not parts.hostname:
        raise ValueError("names no host")
    if parts.port == 0:  # asking for it raises ValueError when it is no number
        raise ValueError("names no port")
    return value


# The reconstruct policy: contract section B. Names are the contract's, upper-cased after RECONSTRUCT_.
RECONSTRUCT = (
    Variable("default_count", whole(1), 1, "items when the caller names no count"),
    Variable("max_count", whole(1), 10, "ceiling on items"),
    Variable("forced_count", whole(1), None, "when set, overrides every caller's count"),
    Variable("top_k", whole(1), 20, "candidate depth when the caller names none"),
    Variable("max_hops", whole(0), 2, "relation hops when the caller names none (5 at most are walked)"),
    Variable("max_evidence", whole(1), 40, "claims per item and records per reached entity when not named"),
    Variable("adjacency_seconds", whole(0), 60, "a burst's width in seconds; 0 turns the key off"),
    Variable("default_budget", whole(0), 4000, "quoted characters when the caller names no budget"),
    Variable("max_budget", whole(1), 20000, "ceiling on quoted characters"),
    Variable("forced_budget", whole(1), None, "when set, overrides every caller's budget"),
    Variable("preview_chars", whole(0), 500, "characters of one quote; 0 quotes whole texts"),
    Variable("library_max", whole(1), 10000, "ceiling on candidate depth"),
)

VARIABLES = (
    Variable(
        "MEMORYCONSOLE_SECRET_KEY",
        text,
        None,
        "signs sessions and cursors; required with a DATABASE_URL, else kept in the state folder",
    ),
    Variable("MEMORYCONSOLE_DEBUG", switch, False, "developer mode: detailed error pages"),
    Variable("MEMORYCONSOLE_ALLOWED_HOSTS", names, ["localhost", "127.0.0.1", "[::1]"], "host names served"),
    Variable("MEMORYCONSOLE_CSRF_TRUSTED_ORIGINS", names, [], "origins behind a TLS proxy"),
    Variable("MEMORYCONSOLE_HTTPS", switch, False, "served behind TLS: secure cookies, HSTS, redirects"),
    Variable("DATABASE_URL", text, None, "PostgreSQL 17+ with pgvector; unset: the embedded server"),
    Variable("MEMORYCONSOLE_POOL_SIZE", whole(1, 200), 8, "database connections per process"),
    Variable(
        "MEMORYCONSOLE_PREPARED_STATEMENTS",
        switch,
        True,
        "keep the plans of frequent statements with a connection; `0` behind a pooler that hands out a connection a "
        "transaction and does not know prepared statements",
    ),
    Variable("CELERY_BROKER_URL", broker, None, "Redis or Valkey; unset: the embedded broker"),
    Variable(
        "MEMORYCONSOLE_JOBS_INLINE", switch, False, "run background work inside the request (no broker)"
    ),
    Variable(
        "MEMORYCONSOLE_EMBEDDER", one_of("wordllama", "none"), "wordllama", "what turns texts into vectors"
    ),
    Variable("MEMORYCONSOLE_MAX_BODY_BYTES", whole(1024), 8 * 1024 * 1024, "largest request body"),
    Variable(
        "MEMORYCONSOLE_TRACE_DAYS",
        whole(1, 36500),
        90,
        "days a trace is kept, where a store does not say otherwise",
    ),
    Variable(
        "MEMORYCONSOLE_MAX_IMPORT_BYTES", whole(1024), 256 * 1024 * 1024, "largest file that can be imported"
    ),
    Variable(
        "MEMORYCONSOLE_CONTEXT_TOKENS",
        whole(1, 1_000_000),
        32_000,
        "tokens of context when expand-query names none",
    ),
    Variable(
        "MEMORYCONSOLE_SYNTHESIS_URL",
        endpoint,
        None,
        "an OpenAI-compatible endpoint's base; unset: no synthesis",
    ),
    Variable("MEMORYCONSOLE_SYNTHESIS_MODEL", text, "default", "the model asked for there"),
    Variable("MEMORYCONSOLE_SYNTHESIS_KEY", secret, None, "the key sent there, and shown nowhere"),
    Variable(
        "MEMORYCONSOLE_SYNTHESIS_SECONDS", whole(1, 600), 30, "seconds a synthesis may take, all in all"
    ),
    Variable("MEMORYCONSOLE_SYNTHESIS_MAX_BYTES", whole(1024), 1024 * 1024, "longest reply of the endpoint"),
    Variable("MEMORYCONSOLE_LOG_LEVEL", one_of("DEBUG", "INFO", "WARNING", "ERROR"), "INFO", "log level"),
    *(
        Variable(f"MEMORYCONSOLE_RECONSTRUCT_{v.name.upper()}", v.read, v.default, v.meaning)
        for v in RECONSTRUCT
    ),
)


def read_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """Every variable's value by its name, defaults filled in.

    Raises EnvironmentFault naming each variable that cannot be read. An empty string counts as unset.
    """
    values: dict[str, Any] = {}
    faults: list[str] = []
    for variable in VARIABLES:
        raw = environ.get(variable.name, "")
        if raw == "":
            values[variable.name] = variable.default
            continue
        try:
            values[variable.name] = variable.read(raw)
        except ValueError as fault:
            faults.append(f"{variable.name}: {fault}")
    if faults:
        raise EnvironmentFault("; ".join(faults))
    return values


def reconstruct_policy(values: Mapping[str, Any]) -> dict[str, int | None]:
    """The reconstruct settings by their contract names (section B)."""
    return {v.name: values[f"MEMORYCONSOLE_RECONSTRUCT_{v.name.upper()}"] for v in RECONSTRUCT}
