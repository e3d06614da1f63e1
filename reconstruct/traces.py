"""How a reconstruction is written down, and read back to be decided again.

What is written names rows by ref and digest. Their texts, stamps and sources are read from the rows themselves,
which never change; a row that is gone takes the answer with it.
"""

import hashlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

import numpy as np

from memoryconsole import search
from memoryconsole.models import Store
from memoryconsole.models.traces import row_key
from memoryconsole.traces import NotReplayable, check_digests, kept_digest
from reconstruct.core.cues import Cues, Name
from reconstruct.core.rebuild import Reconstruction
from reconstruct.core.types import (
    EntityRecords,
    EntityRelation,
    Graph,
    Mention,
    Node,
    Pool,
    RecordRelation,
    Ref,
    Row,
    Snapshot,
    StoredText,
)
from reconstruct.names import names_ever_of, names_of
from reconstruct.recall import Reading, read_recorded

Json = dict[str, Any]


def ref_of(text: str) -> Ref:
    """A ref as written in a trace. Raises ValueError or InvalidSnapshot for anything else."""
    kind, _, number = text.partition(":")
    return Ref(kind, int(number))  # type: ignore[arg-type]  # Ref judges its kind


def written(reading: Reading) -> Json:
    """What an answer was made of, without a stored text."""
    snapshot = reading.snapshot
    digests = {str(ref): digest for ref, digest in reading.digests.items()}
    return written_candidates(reading.found, digests) | {
        "query_embedded": snapshot.pool.query_embedded,
        "rows_without_ref": snapshot.pool.rows_without_ref,
        "cues": _cues(reading.cues),
        "relations": [[str(r.subject), r.predicate, str(r.object)] for r in snapshot.pool.relations],
        "mentions": [[str(mention.ref), mention.entity] for mention in snapshot.graph.mentions],
        "graph": [
            [r.number, r.subject, r.predicate, r.object, r.declared_at.isoformat()]
            for r in snapshot.graph.relations
        ],
        "records": [[e.entity, [str(row.ref) for row in e.rows], e.more] for e in snapshot.records],
        "texts": {str(text.ref): _text(text) for text in snapshot.texts},
    }


def written_candidates(found: search.Candidates, digests: Mapping[str, bytes]) -> Json:
    """What the search found and just missed, with the digests of the texts that were read."""
    terms = {term: place for place, term in enumerate(found.weighing.df)} if found.weighing else {}
    return {
        "search": _search(found),
        "candidates": [_candidate(row, terms) for row in found.rows],
        "behind": [_candidate(row, terms) for row in found.behind],
        "below": [_candidate(row, terms) for row in found.below],
        "digests": {ref: kept_digest(digest) for ref, digest in digests.items()},
    }


def _search(found: search.Candidates) -> Json:
    weighing = found.weighing
    return {
        "gate": asdict(found.gate) if found.gate else None,
        "fallback": found.gate_fallback,
        "totals": asdict(found.totals),
        "bounded": found.bounded,
        "without_vector": found.without_vector,
        "weighing": None
        if weighing is None
        else {
            "language": weighing.language,
            "total": weighing.total,
            "df": [[term, df] for term, df in weighing.df.items()],
            "lent": list(weighing.lent),
            "cue_df": list(weighing.cue_df),
            "analyzer": weighing.analyzer,
            "full": weighing.full,
            "space": weighing.space,
            "vector": b64encode(np.array(weighing.vector, dtype="<i2").tobytes()).decode(),
        },
    }


def read_weighing(seen: Mapping[str, Any]) -> search.Weighing | None:
    """The weighing of a trace's search; None for a blank query."""
    kept = seen["search"]["weighing"]
    if kept is None:
        return None
    return search.Weighing(
        language=kept["language"],
        total=kept["total"],
        df=dict(kept["df"]),
        lent=tuple(kept["lent"]),
        cue_df=tuple(kept["cue_df"]),
        analyzer=kept["analyzer"],
        full=kept["full"],
        vector=tuple(np.frombuffer(b64decode(kept["vector"]), dtype="<i2").tolist()),
        space=kept["space"],
    )


def _candidate(row: search.Candidate, terms: Mapping[str, int]) -> list[Any]:
    """[ref, score, own, votes, cues, cosine, coverage, rare, marked, places of its words among the query's]."""
    evidence = row.evidence
    words = [terms[term] for term, _ in evidence.words]
    return [
        f"{row.kind}:{row.number}", row.score, evidence.own, evidence.votes, evidence.cues, evidence.cosine,
        evidence.coverage, evidence.rare, evidence.marked, words,
    ]  # fmt: skip


def _cues(cues: Cues) -> Json | None:
    """Names and aliases by their entity's number and a digest: the words themselves are read where they are kept."""
    if not cues.entities:
        return None
    return {
        "entities": [[name.entity, _digest(name.text)] for name in cues.entities],
        "added": [[name.entity, _digest(name.text)] for name in cues.added],
        "omitted": cues.terms_omitted,
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _text(text: StoredText) -> Json:
    nodes = [[node.start, node.end, node.cosine] for node in text.nodes]
    return {"state": text.node_state, "length": text.whole_length, "nodes": nodes}


def quoted(result: Reconstruction) -> list[int]:
    """The rows in the answer, as a trace's index holds them."""
    returned = result.items[: result.returned]
    return [row_key(ref.kind, ref.number) for item in returned for ref in item.kept]


def read_back(store: Store, seen: Mapping[str, Any], preview_chars: int) -> Snapshot:
    """The snapshot a trace was decided over. Call inside `snapshot()`.

    Raises NotReplayable when a row or a name that the trace holds is gone, or is not what it was.
    """
    candidates = [ref_of(each[0]) for each in seen["candidates"]]
    records = [(entity, [ref_of(ref) for ref in refs], more) for entity, refs, more in seen["records"]]
    kept = {ref_of(text): each for text, each in seen["texts"].items()}
    recorded = read_recorded(
        store,
        {*candidates, *kept, *(ref for _, refs, _ in records for ref in refs)},
        whole={ref for ref, each in kept.items() if each["nodes"]},
        beginnings={ref for ref, each in kept.items() if not each["nodes"]},
        preview_chars=preview_chars,
    )
    check_digests(seen["digests"], {str(ref): digest for ref, digest in recorded.digests.items()})
    pool = Pool(
        rows=tuple(recorded.rows[ref] for ref in candidates),
        relations=tuple(
            RecordRelation(subject=ref_of(subject), predicate=predicate, object=ref_of(object_))
            for subject, predicate, object_ in seen["relations"]
        ),
        rows_without_ref=seen["rows_without_ref"],
        gate_fallback=seen["search"]["fallback"],
        query_embedded=seen["query_embedded"],
        cues=_read_cues(store, seen["cues"]),
    )
    return Snapshot(
        pool=pool,
        graph=graph_of(seen),
        records=tuple(
            EntityRecords(
                entity=entity, rows=tuple(_row(recorded.rows, ref, kept) for ref in refs), more=more
            )
            for entity, refs, more in records
        ),
        texts=tuple(_stored_text(ref, each, recorded.texts[ref]) for ref, each in kept.items()),
    )


def _row(rows: Mapping[Ref, Row], ref: Ref, kept: Mapping[Ref, Any]) -> Row:
    return rows[ref] if ref in kept else Row(ref=ref)


def graph_of(seen: Mapping[str, Any]) -> Graph:
    """The declared graph that a trace's walk went over."""
    return Graph(
        mentions=tuple(Mention(ref=ref_of(ref), entity=entity) for ref, entity in seen["mentions"]),
        relations=tuple(
            EntityRelation(
                number=number,
                subject=subject,
                predicate=predicate,
                object=object_,
                declared_at=datetime.fromisoformat(declared_at),
            )
            for number, subject, predicate, object_, declared_at in seen["graph"]
        ),
    )


def _stored_text(ref: Ref, kept: Mapping[str, Any], text: str) -> StoredText:
    nodes = tuple(Node(start=start, end=end, cosine=cosine) for start, end, cosine in kept["nodes"])
    return StoredText(
        ref=ref,
        text=text,
        length=None if nodes else kept["length"],
        node_state=kept["state"],
        nodes=nodes,
    )


def _read_cues(store: Store, kept: Json | None) -> Json | None:
    """`trace.cues` again, from the names the entities have. Raises NotReplayable when one is gone."""
    if kept is None:
        return None
    numbers = {number for number, _ in [*kept["entities"], *kept["added"]]}
    spelled: dict[tuple[int, str], str] = {}
    for number, text in names_of(store, numbers):
        spelled[number, _digest(text)] = text
    wanted = {(number, digest) for number, digest in [*kept["entities"], *kept["added"]]}
    if wanted - spelled.keys():
        # A name of what was merged into one of them then, or since.
        for number, text in names_ever_of(store, numbers):
            spelled.setdefault((number, _digest(text)), text)
    try:
        entities, added = (
            tuple(
                Name(entity=number, text=spelled[number, digest], key="", alias=False)
                for number, digest in each
            )
            for each in (kept["entities"], kept["added"])
        )
    except KeyError:
        raise NotReplayable("forgotten") from None
    return Cues(entities=entities, added=added, terms_omitted=kept["omitted"]).shown()


def cue_terms(store: Store, seen: Mapping[str, Any]) -> tuple[str, ...]:
    """The declared names that a trace's question brought along. Raises NotReplayable when one is gone."""
    return tuple((_read_cues(store, seen.get("cues")) or {}).get("terms", ()))
