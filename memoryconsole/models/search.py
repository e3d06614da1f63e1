"""What recall reads: one index entry per searchable text, and its vectors. Written in the row's own
transaction.
"""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q
from pgvector.django import HalfVectorField

from memoryconsole.models.facts import Fact
from memoryconsole.models.graph import Entity, exactly_one
from memoryconsole.models.records import Record, Session
from memoryconsole.models.summaries import Summary
from memoryconsole.models.testimony import Claim


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


class Part(models.IntegerChoices):
    """What of the index an entry is in. Each part is counted, found and compared apart from the others.

    RECALL: records, and summaries that are not of other summaries. GRAPH: summaries of summaries, which are looked
    for inside their session alone. PROFILE: what an entity is called and known for.
    """

    RECALL = 0
    GRAPH = 1
    CLAIM = 2
    FACT = 3
    PROFILE = 4


class IndexPart(models.Model):
    """What a part of a store's index comes to, kept by triggers in the transaction that writes its entries, so that no
    search counts them.

    `entries`: how many there are. `last`: the largest primary key there ever was; it grows with every entry, since
    they are written one transaction of a store after the other. `removals` grows whenever entries are taken away or
    analysed again: while it stays, what was counted of a part still holds, but for the entries past the `last` of then.
    """

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE, db_index=False)
    part = models.SmallIntegerField(choices=Part.choices)
    entries = models.BigIntegerField()
    last = models.BigIntegerField()
    removals = models.BigIntegerField(default=0)

    class Meta:
        db_table = "mc_index_part"
        constraints = [models.UniqueConstraint(fields=["store", "part"], name="index_part_once")]


class IndexEntry(models.Model):
    """One searchable text, as the index knows it. Scope columns repeat the immutable row's, so that one scan
    decides.

    `keys` are 64-bit hashes of (store, part, term) for finding; `forward` holds the terms and how often each
    occurs, for exact scoring (`search/lexical.py` says how). `length` counts the words. `stored_at` is the
    row's `created_at`.
    `digest` is the beginning of the row's: enough to order ties by.
    """

    # The composite indexes below begin with the store: an index of its own would only cost.
    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE, db_index=False)
    record = models.ForeignKey(
        Record, on_delete=models.CASCADE, null=True, related_name="entries", db_index=False
    )
    summary = models.ForeignKey(
        Summary, on_delete=models.CASCADE, null=True, related_name="entries", db_index=False
    )
    claim = models.ForeignKey(
        Claim, on_delete=models.CASCADE, null=True, related_name="entries", db_index=False
    )
    fact = models.ForeignKey(
        Fact, on_delete=models.CASCADE, null=True, related_name="entries", db_index=False
    )
    entity = models.ForeignKey(
        Entity, on_delete=models.CASCADE, null=True, related_name="entries", db_index=False
    )
    part = models.SmallIntegerField(choices=Part.choices, default=Part.RECALL)
    number = models.BigIntegerField()
    project_id = models.TextField(null=True)
    channel = models.TextField(null=True)
    source_id = models.TextField(default="")
    session = models.ForeignKey(Session, on_delete=models.SET_NULL, null=True, db_index=False)
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
                fields=["store", "record", "summary", "claim", "fact", "entity"],
                name="index_entry_once",
                nulls_distinct=False,
            ),
            models.CheckConstraint(
                condition=exactly_one("record", "summary", "claim", "fact", "entity"),
                name="index_entry_one_row",
            ),
            models.CheckConstraint(
                condition=Q(part=Part.RECALL, claim=None, fact=None, entity=None)
                | Q(part=Part.GRAPH, summary__isnull=False)
                | Q(part=Part.CLAIM, claim__isnull=False)
                | Q(part=Part.FACT, fact__isnull=False)
                | Q(part=Part.PROFILE, entity__isnull=False),
                name="index_entry_part",
            ),
        ]
        indexes = [
            # The store's entries: read newest first, and filtered by project and channel, all without
            # touching the rows. A source id would fit too, but not beside both at their longest: a page of the index
            # holds 2,704 bytes a row.
            models.Index(
                fields=["store", "stored_at", "number"],
                include=["id", "record", "project_id", "channel"],
                name="index_entry_stored",
                condition=Q(part=Part.RECALL),
            ),
            # The texts of one session.
            models.Index(
                fields=["store", "session"],
                include=["id", "record"],
                name="index_entry_session",
                condition=Q(session__isnull=False),
            ),
            # What was added to a part.
            models.Index(fields=["store", "part", "id"], name="index_entry_parts"),
            # What cascades look for. An entry has one of them.
            models.Index(fields=["record"], name="index_entry_record", condition=Q(record__isnull=False)),
            models.Index(fields=["summary"], name="index_entry_summary", condition=Q(summary__isnull=False)),
            models.Index(fields=["claim"], name="index_entry_claim", condition=Q(claim__isnull=False)),
            models.Index(fields=["fact"], name="index_entry_fact", condition=Q(fact__isnull=False)),
            models.Index(fields=["entity"], name="index_entry_entity", condition=Q(entity__isnull=False)),
            # Keys are salted with the store, so one store's terms never lie under another's.
            # fastupdate off: a pending list would be scanned by every search.
            GinIndex(fields=["keys"], name="index_entry_keys", fastupdate=False),
        ]


class EntryVector(models.Model):
    """A text's vector in one space: whole numbers in a half-precision column, so that dot products are exact
    (`search/vectors.py`). `part` repeats the entry's: a scan reads one part.
    """

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE, db_index=False)
    entry = models.ForeignKey(IndexEntry, on_delete=models.CASCADE, related_name="vectors")
    space = models.ForeignKey(EmbeddingSpace, on_delete=models.CASCADE)
    part = models.SmallIntegerField(choices=Part.choices, default=Part.RECALL)
    embedding = HalfVectorField()

    class Meta:
        db_table = "mc_entry_vector"
        constraints = [
            models.UniqueConstraint(fields=["store", "space", "part", "entry"], name="entry_vector_once"),
        ]
