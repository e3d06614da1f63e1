"""What retrieval has to say when it works with less than it could (contract: reconstruct C).

`hint`: works as configured, with words alone. `fault`: something that is configured does not work. All of
these are states of the server process, not of the caller's session; whether a session hears one again is the
audit layer's.
"""

from typing import Any


def _advisory(severity: str, reason: str, evidence: str, runbook: str) -> dict[str, Any]:
    return {
        "degraded": True,
        "severity": severity,
        "reason": reason,
        "evidence": evidence,
        "runbook": runbook,
        "advisory_scope": "process",
    }


def no_embedder() -> dict[str, Any]:
    return _advisory(
        "hint",
        "no_embedder",
        "No embedding model is configured (MEMORYCONSOLE_EMBEDDER=none): rows were found by words alone.",
        "Set MEMORYCONSOLE_EMBEDDER and restart to search by meaning too.",
    )


def embedder_failed(said: str) -> dict[str, Any]:
    return _advisory(
        "fault",
        "embedder_failed",
        f"The embedding model did not answer ({said}): rows were found by words alone.",
        "See the server's log for the cause. Nothing is lost: rows stored meanwhile are embedded later.",
    )


def other_model(stored: str, running: str) -> dict[str, Any]:
    return _advisory(
        "hint",
        "vectors_of_another_model",
        f"This store's vectors are of {stored}, the server runs {running}, and vectors of two models are not"
        " compared: rows were found by words alone.",
        "The next text stored starts a job that embeds the store with the running model; or run the former one.",
    )


def no_vectors() -> dict[str, Any]:
    return _advisory(
        "hint",
        "no_vectors",
        "This store was written without an embedding model: rows were found by words alone.",
        "The next text stored starts a job that embeds the store with the running model.",
    )


def bounded() -> dict[str, Any]:
    return _advisory(
        "hint",
        "search_bounded",
        "The question holds words of more rows than one search reads: its commonest words found no rows of their own.",
        "Ask with rarer words, or within a project or channel.",
    )


def incomplete(missing: int) -> dict[str, Any]:
    return _advisory(
        "hint",
        "vectors_incomplete",
        f"{missing} rows in scope have no vector yet: they were found by words alone.",
        "A job embeds them; where none waits, the next text stored starts one.",
    )
