"""One search for everything that reads: write with `index` and `remove`, read with `candidates`.

Pure: analyze.py (text to terms), lexical.py (terms to BM25), coverage.py (how much of a query a row holds),
vectors.py (vectors as whole numbers), fuse.py (gate, mix, ties). The write side: index.py. The read side:
retrieve.py, with words.py its lexical leg, read.py its statements, and advisories.py what it has to say; weigh.py,
which has one row's evidence again later.
"""

from memoryconsole.search.analyze import ANALYZER
from memoryconsole.search.index import (
    Analysis,
    Indexed,
    analyse,
    embedded,
    fill_space,
    index,
    index_missing,
    matching_keys,
    reanalyze,
    records_with_words,
    remove,
    space_of,
)
from memoryconsole.search.retrieve import (
    Candidate,
    Candidates,
    Evidence,
    InSession,
    Query,
    RowKind,
    Totals,
    Weighing,
    candidates,
    in_session,
    prepare,
)
from memoryconsole.search.weigh import NotWeighable, Weighed, passes, weigh

__all__ = [
    "ANALYZER",
    "Analysis",
    "Candidate",
    "Candidates",
    "Evidence",
    "InSession",
    "Indexed",
    "NotWeighable",
    "Query",
    "RowKind",
    "Totals",
    "Weighed",
    "Weighing",
    "analyse",
    "candidates",
    "embedded",
    "fill_space",
    "in_session",
    "index",
    "index_missing",
    "matching_keys",
    "passes",
    "prepare",
    "reanalyze",
    "records_with_words",
    "remove",
    "space_of",
    "weigh",
]
