"""The only reader of expand-query: a session's graph in, frozen values out. Call inside `snapshot()`.

The way down is planned first, without a text: one statement walks the graph as the core will, depth first and in
stored order, and ends where the budget must be used up. It brings the first 1,500 texts along. Others follow in the
order in which the core asks for them, 250 at a time, and only as far as it asks.

Statements: one for the session and its selected summaries, one for the plan, and one per 250 further texts. A search
takes three in the place of the first, one or two more where there are vectors, and one in a store of more than 20,000
texts.
What is read on the way depends on the budget, never on the size of the session.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from memoryconsole import search
from memoryconsole.models import Store
from memoryconsole.models.payloads import INGEST_PAYLOAD
from memoryconsole.refs import numbers_by_kind
from memoryconsole.statements import all_rows
from provenance.expand_query.core import Lineage, Message, Node, Payload
from provenance.expand_query.core.blocks import PATH_HOPS
from provenance.expand_query.core.collect import PENDING_SHOWN
from provenance.expand_query.core.pages import ASCII_CHARS_PER_TOKEN
from provenance.expand_query.texts import (
    FIRST_TEXTS,
    HYDRATED,
    PAYLOAD_FACTS,
    Texts,
    read_payload_facts,
    select_texts,
)

SPARE_TOKENS: Final = 64
"""Read beyond the budget, so that small budgets find their way past gaps and empty texts (contract, section B.5)."""

VISIT_TOKENS: Final = 17
"""What the path of a node that shows anything costs at least: 70 characters of JSON, by the estimate of section B.4 and
less.
"""

HOP_TOKENS: Final = 7
"""What each further hop of a path costs at least: 31 characters of JSON."""

PLACES_PER_TOKEN: Final = 4
"""Places looked at for each token of the budget, gaps among them: a gap costs an answer nothing, and a graph may hold
nothing else. As many as the core visits nodes (section B.5).
"""

COUNTED_OCTETS: Final = 8192
"""Characters of longer texts are not counted: they would have to be unpacked for it."""

OCTETS_TO_TOKENS: Final = "10 / 64"
"""No text counts fewer tokens by the estimate: 6.4 bytes of UTF-8 to a token is what a fifth of four-byte characters
comes to. A counter that finds fewer is told that there is more than was read.
"""


def _least_tokens(text: str) -> str:
    """SQL of what a text counts at least by the estimate: four characters to a token are the most."""
    counted = f"char_length({text}) / {ASCII_CHARS_PER_TOKEN} + least(char_length({text}), 1)"
    return f"""CASE WHEN octet_length({text}) <= {COUNTED_OCTETS} THEN {counted}
                     ELSE octet_length({text}) * {OCTETS_TO_TOKENS} END"""


@dataclass(frozen=True, slots=True)
class Hit:
    """A row that a search found. `snippet`: what the search shows of it, if it shows anything."""

    number: int
    snippet: str = ""


@dataclass(frozen=True, slots=True)
class Nominated:
    """What a search found inside a session: summaries by public number and primary key, and rows, best first."""

    session: int
    nodes: tuple[tuple[int, int], ...] = ()
    hits: tuple[Hit, ...] = ()


@dataclass(slots=True)
class Reading:
    """What was found in a session, and its texts, read while they are asked for.

    `selected`: in the order of the request or of the search. `lineage`: what lies below. `digests`: by ref, of every
    text that was asked for.
    """

    session_id: str
    selected: tuple[int, ...]
    hits: tuple[Hit, ...]
    texts: Texts

    @property
    def lineage(self) -> Lineage:
        return Lineage(nodes=self.texts.nodes, messages=self.texts.messages)

    @property
    def nodes(self) -> list[Node]:
        return [self.texts.nodes[number] for number in self.selected]

    @property
    def rows(self) -> list[Message]:
        """The hits, each with its own whole text."""
        return [self.texts.found(hit.number, rank) for rank, hit in enumerate(self.hits, start=1)]

    @property
    def digests(self) -> dict[str, bytes]:
        return self.texts.asked


def nominate(store: Store, query: search.Query, session_id: str, *, limit: int) -> Nominated | None:
    """The summaries and rows of a session that may answer a query, at most `limit` of each. None: no such session.

    A port: whatever finds them, the rest is the same.
    """
    found = search.in_session(store, query, session_id, limit=limit)
    if found is None:
        return None
    return Nominated(
        session=found.session,
        nodes=tuple((each.number, each.row_id) for each in found.summaries),
        hits=tuple(Hit(each.number) for each in found.records),
    )


def select(store: Store, session_id: str, numbers: Sequence[int]) -> Nominated | None:
    """The live summaries of the session among these numbers, in their order. None: no such session."""
    rows = all_rows(
        """
        SELECT n.id, s.number, s.id FROM mc_session AS n
        LEFT JOIN mc_summary AS s ON s.store_id = n.store_id AND s.session_id = n.id AND s.deleted_at IS NULL
            AND s.number = ANY(%(numbers)s::bigint[])
        WHERE n.store_id = %(store)s AND n.session_id = %(session)s
        """,
        {"numbers": list(numbers), "store": store.pk, "session": session_id},
    )
    if not rows:
        return None
    keys = {number: pk for _, number, pk in rows if number is not None}
    return Nominated(rows[0][0], tuple((number, keys[number]) for number in numbers if number in keys))


def read(store: Store, session_id: str, nominated: Nominated, *, budget: int) -> Reading:
    """The plan of the way down from what was nominated, as far as `budget` tokens can reach (one statement)."""
    steps, read = _plan(store, nominated, budget + SPARE_TOKENS) if nominated.nodes else ([], [])
    sources: dict[int, list[int | None]] = {}
    order: dict[tuple[str, int], None] = {("ep", number): None for number, _ in nominated.nodes}
    order |= dict.fromkeys(("mem", hit.number) for hit in nominated.hits)
    for number, kind, listed in steps:
        # The first visit reads furthest: a later one had less left.
        sources.setdefault(number, listed)
        order |= dict.fromkeys((kind, each) for each in listed if each is not None)
    texts = Texts(store, nominated.session, list(order), sources)
    texts.keep(read)
    return Reading(session_id, tuple(number for number, _ in nominated.nodes), nominated.hits, texts)


def read_node(
    store: Store, session_id: str, nominated: Nominated, *, offset: int, most: int
) -> tuple[Node, Lineage, Texts]:
    """One summary with at most `most` of its sources from place `offset` on, none of its rows hydrated."""
    ((number, key),) = nominated.nodes
    rows = all_rows(
        """
        SELECT CASE WHEN r.id IS NOT NULL OR c.id IS NOT NULL THEN s.number END, s.record_id IS NULL
        FROM mc_summary_source AS s
        LEFT JOIN mc_record AS r ON r.id = s.record_id AND r.deleted_at IS NULL
        LEFT JOIN mc_summary AS c ON c.id = s.child_id AND c.deleted_at IS NULL AND c.session_id = %(session)s
        WHERE s.store_id = %(store)s AND s.summary_id = %(summary)s AND s.source_index >= %(offset)s
        ORDER BY s.source_index LIMIT %(most)s
        """,
        {
            "session": nominated.session,
            "store": store.pk,
            "summary": key,
            "offset": offset,
            "most": most,
        },
    )
    order = [("ep" if is_child else "mem", found) for found, is_child in rows if found is not None]
    # An offset may lie far beyond the last source: places are made up only where one follows.
    sources = {number: [None] * offset + [found for found, _ in rows] if rows else []}
    texts = Texts(store, nominated.session, [("ep", number), *order], sources, hydrate=False)
    return texts.nodes[number], Lineage(nodes=texts.nodes, messages=texts.messages), texts


def read_message(store: Store, session: int, number: int) -> tuple[Message, str, bytes] | None:
    """(a row of any session of the store with its own text, its conversation id, its digest); None: no such row."""
    texts = Texts(store, session, [("mem", number)], {}, hydrate=False)
    try:
        row = texts.found(number, None)
    except KeyError:
        return None
    kept = texts.rows[number]
    return row, kept.conversation_id, kept.digest


def read_payload(store: Store, session: int, ref: str) -> tuple[Payload, str, bytes] | None:
    """(a payload's facts, its text, its digest), when the session may open it; None otherwise.

    It may open what it owns, and what another session owns when a row of that session, which stands for the payload,
    is a source of one of this session's summaries: such a row was shown with its payload.
    """
    rows = all_rows(
        f"""
        SELECT {PAYLOAD_FACTS}, p.content, p.digest FROM mc_payload AS p
        LEFT JOIN mc_session AS o ON o.id = p.session_id
        WHERE p.store_id = %(store)s AND p.ref = %(ref)s AND (p.session_id = %(session)s OR EXISTS (
            SELECT FROM mc_record AS r
            JOIN mc_summary_source AS s ON s.record_id = r.id
            JOIN mc_summary AS n ON n.id = s.summary_id
            WHERE r.payload_id = p.id AND r.session_id = p.session_id AND r.deleted_at IS NULL
                AND p.kind <> %(ingest)s AND n.session_id = %(session)s AND n.deleted_at IS NULL))
        """,  # noqa: S608  (columns of this module)
        {"store": store.pk, "ref": ref, "session": session, "ingest": INGEST_PAYLOAD},
    )
    if not rows:
        return None
    facts, content, digest = rows[0]
    return read_payload_facts(json.loads(facts)), content, bytes(digest)


def live_refs(store: Store, refs: Iterable[str]) -> set[str]:
    """Those of the refs whose rows are there (one statement)."""
    wanted = numbers_by_kind(refs)
    rows = all_rows(
        """
        SELECT 'mem:' || number FROM mc_record
        WHERE store_id = %(store)s AND number = ANY(%(mem)s::bigint[]) AND deleted_at IS NULL
        UNION ALL SELECT 'ep:' || number FROM mc_summary
        WHERE store_id = %(store)s AND number = ANY(%(ep)s::bigint[]) AND deleted_at IS NULL
        """,
        {"store": store.pk, "mem": wanted["mem"], "ep": wanted["ep"]},
    )
    return {ref for (ref,) in rows}


# `stack` holds the nodes still to visit, next first, and the selected ones last, `many` of them; `depths` how many
# nodes are above each; `path` the nodes above the one just visited, and it. `spent` is the least that the way so far
# can have cost, `looked` the places on it. From where either is used up only the selected nodes are still visited, and
# each lists its first sources: those are what an answer says it did not get to.
_PLAN: Final = f"""
    WITH RECURSIVE way (step, node, numbers, rows, stack, depths, many, path, spent, looked) AS (
        SELECT 0, NULL::bigint, NULL::bigint[], NULL::boolean, %(roots)s::bigint[],
               array_fill(0, ARRAY[%(many)s::integer]), %(many)s::integer, '{{}}'::bigint[], 0::bigint, 0::bigint
        UNION ALL
        SELECT w.step + 1, w.stack[1], seen.numbers, seen.rows,
               CASE WHEN after.goes_on THEN seen.todo || w.stack[2:]
                    ELSE w.stack[cardinality(w.stack) - after.many + 1:] END,
               CASE WHEN after.goes_on
                    THEN array_fill(w.depths[1] + 1, ARRAY[cardinality(seen.todo)]) || w.depths[2:]
                    ELSE array_fill(0, ARRAY[after.many]) END,
               after.many, here.path, after.spent, after.looked
        FROM way AS w
        CROSS JOIN LATERAL (SELECT w.path[1:w.depths[1]] || w.stack[1] AS path) AS here
        CROSS JOIN LATERAL (
            SELECT array_agg(number ORDER BY place) AS numbers, bool_or(record) AS rows,
                   coalesce(array_agg(child ORDER BY place)
                            FILTER (WHERE child IS NOT NULL AND child <> ALL(here.path)), '{{}}') AS todo,
                   coalesce(sum(cost), 0) AS cost, bool_or(number IS NOT NULL) AS found, count(*) AS places
            FROM (
                SELECT place, number, record, child, cost, sum(cost) OVER sofar - cost AS before,
                       row_number() OVER sofar AS nth
                FROM (
                    SELECT s.source_index AS place, c.id AS child, s.record_id IS NOT NULL AS record,
                           CASE WHEN r.id IS NOT NULL OR c.id IS NOT NULL THEN s.number END AS number,
                           CASE WHEN r.id IS NULL AND c.id IS NULL THEN 0 ELSE
                               {_least_tokens("coalesce(p.content, r.content, c.summary)")} END::int AS cost
                    FROM mc_summary_source AS s
                    LEFT JOIN mc_record AS r ON r.id = s.record_id AND r.deleted_at IS NULL
                    LEFT JOIN mc_payload AS p ON p.id = r.payload_id AND {HYDRATED}
                    LEFT JOIN mc_summary AS c ON c.id = s.child_id AND c.deleted_at IS NULL
                        AND c.session_id = %(session)s
                    WHERE s.store_id = %(store)s AND s.summary_id = w.stack[1]
                    ORDER BY s.source_index LIMIT %(most)s) AS places
                WINDOW sofar AS (ORDER BY place ROWS UNBOUNDED PRECEDING)) AS summed
            WHERE before < %(most)s - w.spent OR nth <= {PENDING_SHOWN}) AS seen
        CROSS JOIN LATERAL (
            SELECT w.spent + seen.cost + CASE WHEN w.depths[1] > 0 AND seen.found
                       THEN {VISIT_TOKENS} + {HOP_TOKENS} * (least(w.depths[1], {PATH_HOPS}) - 1) ELSE 0 END AS spent,
                   w.looked + 1 + seen.places AS looked, w.many - (w.depths[1] = 0)::int AS many) AS sums
        CROSS JOIN LATERAL (
            SELECT sums.*, sums.spent < %(most)s AND sums.looked < {PLACES_PER_TOKEN} * %(most)s AS goes_on) AS after
        WHERE cardinality(w.stack) > 0
    ), listed AS (
        SELECT way.step, u.number, way.rows, way.numbers FROM way JOIN mc_summary AS u ON u.id = way.node
        WHERE way.numbers IS NOT NULL
    ), first AS (
        SELECT * FROM (
            SELECT -1 AS step, 0 AS place, FALSE AS record, number FROM unnest(%(selected)s::bigint[]) AS number
            UNION ALL SELECT -1, 0, TRUE, number FROM unnest(%(hits)s::bigint[]) AS number
            UNION ALL SELECT step, place, rows, source
            FROM listed, unnest(numbers) WITH ORDINALITY AS each (source, place)
            WHERE source IS NOT NULL) AS wanted
        ORDER BY step, place LIMIT {FIRST_TEXTS}
    )
    {select_texts("ARRAY(SELECT number FROM first WHERE NOT record)", "ARRAY(SELECT number FROM first WHERE record)")}
    UNION ALL
    SELECT 'steps', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
           coalesce(json_agg(json_build_array(number, CASE WHEN rows THEN 'mem' ELSE 'ep' END, numbers)
                             ORDER BY step), '[]')::text
    FROM listed
"""  # noqa: S608  (constants of this module)


_Step = tuple[int, str, list[int | None]]
"""(number, kind of its sources, their numbers with None at gaps) of a visited summary."""


def _plan(store: Store, nominated: Nominated, most: int) -> tuple[list[_Step], list[tuple[Any, ...]]]:
    """(the steps in order of visits, rows of the first texts on the way)."""
    rows = all_rows(
        _PLAN,
        {
            "roots": [pk for _, pk in nominated.nodes],
            "many": len(nominated.nodes),
            "selected": [number for number, _ in nominated.nodes],
            "hits": [hit.number for hit in nominated.hits],
            "session": nominated.session,
            "store": store.pk,
            "most": most,
            "hydrate": True,
            "ingest": INGEST_PAYLOAD,
        },
    )
    (steps,) = (json.loads(row[-1]) for row in rows if row[0] == "steps")
    return steps, [row for row in rows if row[0] != "steps"]
