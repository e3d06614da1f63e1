"""What recall reads: one index entry per searchable text, and its vectors. Written in the row's own
transaction.
"""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q
from pgvector.django import HalfVectorField

from memoryconsole.models.graph import exactly_one
from memoryconsole.models.records import Record, Session
from memoryconsole.models.summaries import Summary


class EmbeddingSpace(models.Model):
    """An embedding model as a store has met it. Vectors of two spaces are never compared.

    `fingerprint` is taken from the model's output, so that another model behind the same name is another
    space.
    """

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE, related_name="spaces")
    name = models.TextField()
    dimensions = models.IntegerField()
    fingerprint = models.TextField()
    created_at = models.DateTimeField()

    class Meta:
        db_table = "mc_embedding_space"
        constraints = [
            models.UniqueConstraint(fields=["store", "name", "fingerprint"], name="embedding_space_once"),
            models.CheckConstraint(condition=Q(dimensions__gt=0), name="embedding_space_dimensions"),
        ]


class IndexEntry(models.Model):
    """One searchable text, as the index knows it. Scope columns repeat the immutable row's, so that one scan
    decides.

    `keys` are 64-bit hashes of (store, term) for finding; `forward` holds the terms and how often each
    occurs, for exact scoring (`search/lexical.py` says how). `length` counts the words. `stored_at` is the
    row's `created_at`.
    `digest` is the beginning of the row's: enough to order ties by. `graph`: a summary of summaries, which is looked
    for inside its session alone; recall counts and sees the others.
    """

    # The composite indexes below begin with the store: an index of its own would only cost.
    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE, db_index=False)
    record = models.ForeignKey(
        Record, on_delete=models.CASCADE, null=True, related_name="entries", db_index=False
    )
    summary = models.ForeignKey(
        Summary, on_delete=models.CASCADE, null=True, related_name="entries", db_index=False
    )
    number = models.BigIntegerField()
    project_id = models.TextField(null=True)
    channel = models.TextField(null=True)
    source_id = models.TextField(default="")
    session = models.ForeignKey(Session, on_delete=models.SET_NULL, null=True, db_index=False)
    graph = models.BooleanField(default=False)
    instant = models.DateTimeField(null=True)
    stored_at = models.DateTimeField()
    digest = models.BinaryField(max_length=8)
    analyzer = models.SmallIntegerField()
    keys = ArrayField(models.BigIntegerField())
    forward = models.BinaryField()
    length = models.IntegerField()

    class Meta:
        db_table = "mc_index_entry"
        constraints = [
            models.UniqueConstraint(
                fields=["store", "record", "summary"], name="index_entry_once", nulls_distinct=False
            ),
            models.CheckConstraint(condition=exactly_one("record", "summary"), name="index_entry_one_row"),
        ]
        indexes = [
            # The store's entries: counted, read newest first, and filtered by project and channel, all without
            # touching the rows. A source id would fit too, but not beside both at their longest: a page of the index
            # holds 2,704 bytes a row.
            models.Index(
                fields=["store", "stored_at", "number"],
                include=["id", "record", "project_id", "channel"],
                name="index_entry_stored",
                condition=Q(graph=False),
            ),
            # The texts of one session.
            models.Index(
                fields=["store", "session"],
                include=["id", "record"],
                name="index_entry_session",
                condition=Q(session__isnull=False),
            ),
            # What cascades look for. An entry has one of the two.
            models.Index(fields=["record"], name="index_entry_record", condition=Q(record__isnull=False)),
            models.Index(fields=["summary"], name="index_entry_summary", condition=Q(summary__isnull=False)),
            # Keys are salted with the store, so one store's terms never lie under another's.
            # fastupdate off: a pending list would be scanned by every search.
            GinIndex(fields=["keys"], name="index_entry_keys", fastupdate=False),
        ]


class EntryVector(models.Model):
    """A text's vector in one space: whole numbers in a half-precision column, so that dot products are exact
    (`search/vectors.py`).
    """

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE, db_index=False)
    entry = models.ForeignKey(IndexEntry, on_delete=models.CASCADE, related_name="vectors")
    space = models.ForeignKey(EmbeddingSpace, on_delete=models.CASCADE)
    embedding = HalfVectorField()

    class Meta:
        db_table = "mc_entry_vector"
        constraints = [
            models.UniqueConstraint(fields=["store", "space", "entry"], name="entry_vector_once"),
        ]
