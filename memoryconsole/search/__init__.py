"""One search for everything that reads: write with `index` and `remove`, read with `candidates`.

Pure: analyze.py (text to terms), lexical.py (terms to BM25), coverage.py (how much of a query a row holds),
vectors.py (vectors as whole numbers), fuse.py (gate, mix, ties). The write side: index.py, with analysis.py, most of
its work. The read side: retrieve.py, with words.py its lexical leg, read.py its statements, and advisories.py what it
has to say; inside.py, the same inside one session; weigh.py, which has one row's evidence again later. Beside recall:
nominate.py with nominate_read.py, which answers with claims, passages, facts and entities, each kind from its own part
of the index. texts.py says what each kind is found by.
"""

from memoryconsole.search.analysis import NOTHING, Analysis, Foreseen, analyse, embedded, foresee
from memoryconsole.search.analyze import ANALYZER
from memoryconsole.search.index import (
    Indexed,
    fill_space,
    index,
    index_missing,
    matching_keys,
    reanalyze,
    records_with_words,
    remove,
    space_of,
)
from memoryconsole.search.inside import InSession, in_session
from memoryconsole.search.nominate import Channel, NominatedPart, Nominations, Nominator, SearchNominator
from memoryconsole.search.retrieve import (
    Candidate,
    Candidates,
    Evidence,
    Query,
    RowKind,
    Totals,
    Weighing,
    candidates,
    prepare,
)
from memoryconsole.search.weigh import NotWeighable, Weighed, passes, weigh

__all__ = [
    "ANALYZER",
    "NOTHING",
    "Analysis",
    "Candidate",
    "Candidates",
    "Channel",
    "Evidence",
    "Foreseen",
    "InSession",
    "Indexed",
    "NominatedPart",
    "Nominations",
    "Nominator",
    "NotWeighable",
    "Query",
    "RowKind",
    "SearchNominator",
    "Totals",
    "Weighed",
    "Weighing",
    "analyse",
    "candidates",
    "embedded",
    "fill_space",
    "foresee",
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
