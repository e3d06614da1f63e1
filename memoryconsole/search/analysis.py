"""What the index will hold of texts: words and vectors. Most of a write's time, and no work on the database."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memoryconsole import embedding
from memoryconsole.models import Claim, Fact, Record, Store, Summary
from memoryconsole.models.search import Part
from memoryconsole.search.analyze import index_terms
from memoryconsole.search.lexical import pack, votes
from memoryconsole.search.texts import Row, Searchable, salt, searchables
from memoryconsole.search.vectors import Whole, nothing, quantize

# Of a row, all that its words and its vector depend on.
_Key = tuple[str, Part, str, frozenset[str], datetime | None]


@dataclass(frozen=True, slots=True)
class Analysed:
    """What the index will hold of one text: its words as keys and forward bytes, and its vector."""

    keys: list[int]
    forward: bytes
    length: int
    vector: Whole | None = None


@dataclass(frozen=True, slots=True)
class Analysis:
    """What the index will hold of some rows, one entry a row, and the model that made the vectors."""

    rows: tuple[Analysed, ...]
    model: embedding.Embedder | None = None
    failure: str = ""

    def only(self, places: Iterable[int]) -> "Analysis":
        """The same for some of the rows."""
        return replace(self, rows=tuple(self.rows[place] for place in places))

    def and_(self, other: "Analysis") -> "Analysis":
        """The rows of both, these first."""
        return Analysis(self.rows + other.rows, self.model or other.model, self.failure or other.failure)


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What the index will hold of texts that are likely to be written, found again by what they are."""

    rows: Mapping[_Key, Analysed] = field(default_factory=dict)
    model: embedding.Embedder | None = None
    failure: str = ""


NOTHING = Foreseen()


def analyse(store: Store, rows: Sequence[Record | Summary | Claim]) -> Analysis:
    """The work of indexing that needs no database, and no row saved: words and vectors.

    It is most of a write's time, so it comes before the store's counter is locked. A failing embedder does not
    fail the write: the rows then have no vectors, and `failure` says why.
    """
    return _analyse(store, searchables(store, rows))


def foresee(
    store: Store, rows: Sequence[Row], *, adding: Sequence[Fact] = (), without: Sequence[Fact] = ()
) -> Foreseen:
    """The same for rows whose texts hang on what is stored beside them (statements: those of `searchables`): what
    they are going to be when the facts of `adding` are stored, and those of `without` are held no longer. Call before
    the store's counter is locked.

    What has become another text by the time it is written is analysed then.
    """
    texts = searchables(store, rows, adding=adding, without=without)
    made = _analyse(store, texts)
    found = {_key(store, text): row for text, row in zip(texts, made.rows, strict=True)}
    return Foreseen(found, made.model, made.failure)


def analyse_rest(store: Store, rows: Sequence[Searchable], foreseen: Foreseen) -> Analysis:
    """The analysis of these rows, of those alone that were not foreseen."""
    known = [foreseen.rows.get(_key(store, row)) for row in rows]
    unknown = [row for row, analysed in zip(rows, known, strict=True) if analysed is None]
    made = _analyse(store, unknown) if unknown else Analysis(())
    rest = iter(made.rows)
    entries = tuple(next(rest) if analysed is None else analysed for analysed in known)
    if len(unknown) == len(rows):
        return made
    return Analysis(entries, made.model or foreseen.model, made.failure or foreseen.failure)


def words_of(store: Store, row: Searchable) -> tuple[list[int], bytes, int]:
    """(keys, forward, length) of a row's entry."""
    terms = index_terms(row.text, store.language)
    lent = votes(row.producers, row.instant, store.language)
    keys, forward = pack(salt(store, row.part), terms.counts, lent)
    return keys, forward, terms.length


def embedded(model: embedding.Embedder | None, texts: Sequence[str]) -> list[Whole | None]:
    """A vector of whole numbers a text, pointing nowhere for a text that has none; None without a model."""
    if model is None or not texts:
        return [None] * len(texts)
    empty = nothing(model.dimensions)
    made = [None if v is None else quantize(v) for v in embedding.embed_texts(model, texts)]
    return [empty if vector is None else vector for vector in made]


def _analyse(store: Store, rows: Sequence[Searchable]) -> Analysis:
    words = [words_of(store, row) for row in rows]
    try:
        model = embedding.current()
        vectors = iter(embedded(model, [row.text for row in rows if row.part != Part.GRAPH]))
    except embedding.EmbeddingFailed as fault:
        return Analysis(rows=tuple(Analysed(*entry) for entry in words), failure=str(fault))
    entries = (
        Analysed(*entry, None if row.part == Part.GRAPH else next(vectors))
        for entry, row in zip(words, rows, strict=True)
    )
    return Analysis(rows=tuple(entries), model=model)


def _key(store: Store, row: Searchable) -> _Key:
    return store.language, row.part, row.text, row.producers, row.instant
