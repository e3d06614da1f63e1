"""One search for everything that reads: write with `index` and `remove`, read with `candidates`.

Pure: analyze.py (text to terms), lexical.py (terms to BM25), coverage.py (how much of a query a row holds),
vectors.py (vectors as whole numbers), fuse.py (gate, mix, ties). The write side: index.py. The read side:
retrieve.py, with words.py its lexical leg, read.py its statements, and advisories.py what it has to say.
"""

from memoryconsole.search.analyze import ANALYZER
from memoryconsole.search.index import (
    Analysis,
    Indexed,
    analyse,
    fill_space,
    index,
    matching_keys,
    reanalyze,
    records_with_words,
    remove,
)
from memoryconsole.search.retrieve import (
    Candidate,
    Candidates,
    Evidence,
    Query,
    Totals,
    candidates,
    prepare,
)

__all__ = [
    "ANALYZER",
    "Analysis",
    "Candidate",
    "Candidates",
    "Evidence",
    "Indexed",
    "Query",
    "Totals",
    "analyse",
    "candidates",
    "fill_space",
    "index",
    "matching_keys",
    "prepare",
    "reanalyze",
    "records_with_words",
    "remove",
]
