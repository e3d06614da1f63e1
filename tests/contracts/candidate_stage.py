"""The candidate stage of reconstruct as a scenario's `retrieval` replaces it. Nothing else is replaced."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from typing import Any
from unittest import mock

from memoryconsole import search
from memoryconsole.models import Record, Store, Summary
from memoryconsole.scope import ReadScope
from reconstruct import recall
from reconstruct.core.types import Pool
from tests.contracts.values import FormatError

Retrieval = Mapping[str, Any]


def readable(
    scope: ReadScope, kind: str, project_id: str | None, channel: str | None, source_id: str
) -> bool:
    """Whether a call with this scope reads such a row (contract, section A.7, written out once more)."""
    if scope.project_id is not None and project_id not in (scope.project_id, ""):
        return False
    if scope.channel and channel not in (scope.channel, ""):
        return False
    if not scope.source_id:
        return True
    return source_id.startswith(scope.source_id) if kind == "mem" else bool(scope.channel)


@contextmanager
def injected(retrieval: Retrieval) -> Iterator[None]:
    """In here every store's candidates are the scenario's ranking, and retrieval says what it is given."""
    told = {name: retrieval[name] for name in _TOLD if name in retrieval}
    carried = {name: told.pop(name) for name in sorted(told) if name in _CARRIED}

    def candidates(
        store: Store,
        query: search.Query,
        scope: ReadScope,
        *,
        limit: int,
        deep: bool = False,
        cue_terms: Sequence[str] = (),
    ) -> search.Candidates:
        rows = _ranked(store, scope, retrieval.get("ranking", ()))
        return search.Candidates(
            rows=tuple(_candidate(row) for row in rows[:limit]),
            totals=search.Totals(stored=len(rows), in_scope=len(rows)),
            query_vector=query.vector,
            **carried,
        )

    with (
        mock.patch.object(search, "candidates", candidates),
        mock.patch.object(recall, "Pool", partial(Pool, **told)),
    ):
        yield


# What retrieval has to say beside its rows. What the search's own answer has no member for is put where the
# reader writes it down.
_TOLD = ("rows_without_ref", "gate_fallback", "advisory", "update")
_CARRIED = frozenset(each.name for each in fields(search.Candidates))


def _candidate(row: Record | Summary) -> search.Candidate:
    return search.Candidate(
        kind="mem" if isinstance(row, Record) else "ep", number=row.number, row_id=row.pk, score=0
    )


def _ranked(store: Store, scope: ReadScope, ranking: Sequence[str]) -> list[Record | Summary]:
    rows = (_row(store, ref) for ref in ranking)
    return [row for row in rows if row is not None and _within(scope, row)]


def _row(store: Store, ref: str) -> Record | Summary | None:
    """The store's row of that ref; None when it has none, or none any more."""
    kind, _, number = ref.partition(":")
    if kind not in ("mem", "ep") or not number.isdigit():
        raise FormatError(f"{ref!r} is no ref")
    table: Any = Record if kind == "mem" else Summary
    row: Record | Summary | None = table.objects.live().filter(store=store, number=int(number)).first()
    return row


def _within(scope: ReadScope, row: Record | Summary) -> bool:
    if isinstance(row, Record):
        return readable(scope, "mem", row.project_id, row.channel, row.source_id)
    return readable(scope, "ep", row.project_id, row.channel, "")
