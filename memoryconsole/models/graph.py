"""Declared entities, their names, where they are mentioned, and declared associations."""

import hashlib
from collections.abc import Iterable
from typing import TypeVar

from django.db import models
from django.db.models import F, Func, Q

from memoryconsole.models.records import Record
from memoryconsole.models.summaries import Summary

Named = TypeVar("Named", "Entity", "EntityAlias")

DECLARED_BY = ["agent", "operator"]


def exactly_one(*fields: str) -> Q:
    """A condition: one of the foreign keys is set and the others are not."""
    either = Q()
    for chosen in fields:
        either |= Q(**{f"{name}__isnull": name != chosen for name in fields})
    return either


class KeyDigest(Func):
    """SHA-256 of a text column, as indexes keep it.

    A row of a B-tree holds 2,704 bytes. A name has at most 256 code points, but its key may be eighteen times as
    long (U+FDFA), so indexes and unique constraints hold the digest. The text becomes bytes by `decode`, which is
    immutable as an index demands; a backslash is that format's one special character and is doubled.
    """

    template = r"sha256(decode(replace(%(expressions)s, '\', '\\'), 'escape'))"
    output_field = models.BinaryField()


def digest_of_key(key: str) -> bytes:
    """What `KeyDigest` makes of a column that holds `key`."""
    return hashlib.sha256(key.encode()).digest()


def with_keys(names: "models.QuerySet[Named]", keys: Iterable[str]) -> "models.QuerySet[Named]":
    """Entities or aliases whose `declared_key` is one of `keys`, found by index."""
    digests = sorted({digest_of_key(key) for key in keys})
    return names.alias(key_digest=KeyDigest("declared_key")).filter(key_digest__in=digests)


class EntityStatus(models.TextChoices):
    ACTIVE = "active"
    MERGED = "merged"
    RETIRED = "retired"


class Entity(models.Model):
    """A thing or a person. Names are not unique.

    `declared_key` serves declared associations, `resolve_key` (accents stripped too) looks names up. A merged entity
    stays, and its names, mentions and facts are read as those of `merged_into`, as far as that leads. `declared`:
    somebody declared it, which is provenance enough; an entity that is not lives by its mentions.
    """

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE)
    number = models.BigIntegerField()
    uuid = models.UUIDField()
    project_id = models.TextField(default="")
    channel = models.TextField(default="")
    name = models.TextField()
    declared_key = models.TextField()
    resolve_key = models.TextField(default="")
    status = models.TextField(choices=EntityStatus.choices, default=EntityStatus.ACTIVE)
    merged_into = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="absorbed")
    declared = models.BooleanField(default=True)
    declared_by = models.TextField(default="agent")
    # Raised by every change: what If-Match compares.
    row_version = models.IntegerField(default=1)
    created_at = models.DateTimeField()

    class Meta:
        db_table = "mc_entity"
        constraints = [
            models.UniqueConstraint(fields=["store", "number"], name="entity_number"),
            models.UniqueConstraint(fields=["store", "uuid"], name="entity_uuid"),
            models.CheckConstraint(condition=Q(declared_by__in=DECLARED_BY), name="entity_declared_by"),
            models.CheckConstraint(condition=Q(status__in=EntityStatus.values), name="entity_status_known"),
            # An entity whose survivor is erased stays merged, and is found no more.
            models.CheckConstraint(
                condition=Q(merged_into=None) | Q(status=EntityStatus.MERGED), name="entity_merged_status"
            ),
        ]
        indexes = [
            models.Index("store", KeyDigest("declared_key"), name="entity_key"),
            models.Index("store", KeyDigest("resolve_key"), name="entity_resolve_key"),
            models.Index(
                fields=["store", "merged_into"],
                name="entity_absorbed",
                condition=Q(merged_into__isnull=False),
            ),
        ]


class EntityAlias(models.Model):
    """Another name of an entity, in the scope that declared it."""

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE)
    entity = models.ForeignKey(Entity, on_delete=models.CASCADE, related_name="aliases")
    project_id = models.TextField(default="")
    channel = models.TextField(default="")
    alias = models.TextField()
    declared_key = models.TextField()
    resolve_key = models.TextField(default="")

    class Meta:
        db_table = "mc_entity_alias"
        constraints = [
            models.UniqueConstraint(
                "store", "entity", "project_id", "channel", KeyDigest("declared_key"), name="alias_once"
            ),
        ]
        indexes = [
            models.Index("store", KeyDigest("declared_key"), name="alias_key"),
            models.Index("store", KeyDigest("resolve_key"), name="alias_resolve_key"),
        ]


class Mention(models.Model):
    """A record or a summary names an entity, because somebody declared so.

    `char_start`, `char_end`: where in the record's or summary's text (code points, end exclusive); None: somewhere.
    """

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE)
    entity = models.ForeignKey(Entity, on_delete=models.CASCADE, related_name="mentions")
    record = models.ForeignKey(Record, on_delete=models.CASCADE, null=True)
    summary = models.ForeignKey(Summary, on_delete=models.CASCADE, null=True)
    char_start = models.IntegerField(null=True)
    char_end = models.IntegerField(null=True)
    declared_by = models.TextField(default="agent")
    created_at = models.DateTimeField()

    class Meta:
        db_table = "mc_mention"
        constraints = [
            models.UniqueConstraint(
                fields=["store", "entity", "record", "summary", "char_start", "char_end"],
                name="mention_once",
                nulls_distinct=False,
            ),
            models.CheckConstraint(
                condition=Q(char_start=None, char_end=None)
                | Q(char_start__gte=0, char_end__gt=F("char_start")),
                name="mention_span_forward",
            ),
            models.CheckConstraint(condition=exactly_one("record", "summary"), name="mention_one_place"),
            models.CheckConstraint(condition=Q(declared_by__in=DECLARED_BY), name="mention_declared_by"),
        ]
        indexes = [
            models.Index(fields=["store", "record"], name="mention_record"),
            models.Index(fields=["store", "summary"], name="mention_summary"),
        ]


class MergeEvent(models.Model):
    """Two entities were said to be one, and perhaps later not (`reversed_at`). Facts and names are not rewritten."""

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE, db_index=False)
    uuid = models.UUIDField()
    survivor = models.ForeignKey(Entity, on_delete=models.CASCADE, related_name="+")
    absorbed = models.ForeignKey(Entity, on_delete=models.CASCADE, related_name="+")
    merged_at = models.DateTimeField()
    merged_by = models.TextField(default="")
    reversed_at = models.DateTimeField(null=True)
    reversed_by = models.TextField(default="")

    class Meta:
        db_table = "mc_merge_event"
        constraints = [
            models.UniqueConstraint(fields=["store", "uuid"], name="merge_uuid"),
            models.UniqueConstraint(
                fields=["store", "absorbed"], name="merge_in_force", condition=Q(reversed_at=None)
            ),
            models.CheckConstraint(condition=~Q(survivor=F("absorbed")), name="merge_of_two"),
        ]
        indexes = [models.Index(fields=["store", "merged_at"], name="merge_order")]


class AssociationQuerySet(models.QuerySet["Association"]):
    def joining(self, row: Entity | Record | Summary) -> "AssociationQuerySet":
        """Those that have the row as an end, or as their anchor."""
        joined = Q()
        for end in _JOINED_AT[type(row)]:
            joined |= Q(**{end: row})
        return self.filter(joined)


_JOINED_AT: dict[type, tuple[str, ...]] = {
    Entity: ("subject_entity", "object_entity"),
    Record: ("subject_record", "object_record", "anchor_record"),
    Summary: ("subject_summary", "object_summary", "anchor_summary"),
}


class Association(models.Model):
    """A declared relation: subject, predicate, object, each end an entity, a record or a summary.

    `predicate` is stored normalised. Every end and the anchor cascade: no declaration outlives what it joins.
    """

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE)
    number = models.BigIntegerField()
    project_id = models.TextField(default="")
    channel = models.TextField(default="")
    subject_entity = models.ForeignKey(Entity, on_delete=models.CASCADE, null=True, related_name="+")
    subject_record = models.ForeignKey(Record, on_delete=models.CASCADE, null=True, related_name="+")
    subject_summary = models.ForeignKey(Summary, on_delete=models.CASCADE, null=True, related_name="+")
    predicate = models.TextField()
    object_entity = models.ForeignKey(Entity, on_delete=models.CASCADE, null=True, related_name="+")
    object_record = models.ForeignKey(Record, on_delete=models.CASCADE, null=True, related_name="+")
    object_summary = models.ForeignKey(Summary, on_delete=models.CASCADE, null=True, related_name="+")
    anchor_record = models.ForeignKey(Record, on_delete=models.CASCADE, null=True, related_name="+")
    anchor_summary = models.ForeignKey(Summary, on_delete=models.CASCADE, null=True, related_name="+")
    declared_by = models.TextField(default="agent")
    declared_at = models.DateTimeField()

    objects = AssociationQuerySet.as_manager()

    class Meta:
        db_table = "mc_association"
        constraints = [
            models.UniqueConstraint(fields=["store", "number"], name="association_number"),
            models.UniqueConstraint(
                "store",
                "project_id",
                "channel",
                KeyDigest("predicate"),
                "subject_entity",
                "subject_record",
                "subject_summary",
                "object_entity",
                "object_record",
                "object_summary",
                "anchor_record",
                "anchor_summary",
                name="association_once",
                nulls_distinct=False,
            ),
            models.CheckConstraint(
                condition=exactly_one("subject_entity", "subject_record", "subject_summary"),
                name="association_one_subject",
            ),
            models.CheckConstraint(
                condition=exactly_one("object_entity", "object_record", "object_summary"),
                name="association_one_object",
            ),
            models.CheckConstraint(
                condition=Q(anchor_record=None) | Q(anchor_summary=None), name="association_one_anchor"
            ),
            models.CheckConstraint(condition=Q(declared_by__in=DECLARED_BY), name="association_declared_by"),
        ]
        indexes = [
            models.Index(fields=["store", "subject_entity"], name="association_subject_entity"),
            models.Index(fields=["store", "object_entity"], name="association_object_entity"),
            models.Index(fields=["store", "subject_record"], name="association_subject_record"),
            models.Index(fields=["store", "subject_summary"], name="association_subject_summary"),
        ]
