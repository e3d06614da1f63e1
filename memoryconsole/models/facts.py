"""Facts: what the store holds true, since when and until when, on whose word, and against what."""

from django.db import models
from django.db.models import F, Q

from memoryconsole.models.graph import Entity
from memoryconsole.models.testimony import Claim, Precision

_BOUNDED = ["instant", "day", "month", "quarter", "year"]


class FactKind(models.TextChoices):
    """Two namespaces of ids: a fact is known by (kind, uuid)."""

    RELATION = "relation"
    OBSERVATION = "observation"


class Support(models.TextChoices):
    """`withdrawn`: still believed, though by processing alone no current testimony is left (context-bundle A.5)."""

    CURRENT = "current"
    WITHDRAWN = "withdrawn"


class Stance(models.TextChoices):
    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"


def window_shape() -> Q:
    """The shapes that the window of a fact may have (contract: context-bundle A.4)."""
    return (
        Q(valid_precision="unknown", valid_from=None, valid_until=None)
        | Q(valid_precision="open", valid_from__isnull=False, valid_until=None)
        | Q(valid_precision__in=_BOUNDED, valid_from__isnull=False, valid_until__gt=F("valid_from"))
        | Q(valid_precision__in=_BOUNDED, valid_from__isnull=False, valid_until=None)
        | Q(valid_precision__in=_BOUNDED, valid_from=None, valid_until__isnull=False)
    )


class Fact(models.Model):
    """A relation (subject, predicate, object) or an observation (subject, statement).

    World time is [valid_from, valid_until), belief time [ingested_at, invalidated_at); None is an open end.
    Endpoints are kept as declared: reads follow merges.
    """

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE, db_index=False)
    number = models.BigIntegerField()
    kind = models.TextField(choices=FactKind.choices)
    uuid = models.UUIDField()
    subject = models.ForeignKey(Entity, on_delete=models.CASCADE, related_name="+", db_index=False)
    predicate = models.TextField(default="")
    object = models.ForeignKey(Entity, on_delete=models.CASCADE, null=True, related_name="+", db_index=False)
    statement = models.TextField(default="")
    valid_from = models.DateTimeField(null=True)
    valid_until = models.DateTimeField(null=True)
    valid_precision = models.TextField(choices=Precision.choices, default=Precision.UNKNOWN)
    ingested_at = models.DateTimeField()
    invalidated_at = models.DateTimeField(null=True)
    support = models.TextField(choices=Support.choices, default=Support.CURRENT)
    # Since when the window is as it is; earlier ones are FactWindow rows.
    window_since = models.DateTimeField()
    # Raised by every change: what If-Match compares.
    row_version = models.IntegerField(default=1)
    declared_by = models.TextField(default="agent")
    created_at = models.DateTimeField()

    class Meta:
        db_table = "mc_fact"
        constraints = [
            models.UniqueConstraint(fields=["store", "number"], name="fact_number"),
            models.UniqueConstraint(fields=["store", "kind", "uuid"], name="fact_uuid"),
            models.CheckConstraint(
                condition=(Q(kind="relation", object__isnull=False, statement="") & ~Q(predicate=""))
                | (Q(kind="observation", object=None, predicate="") & ~Q(statement="")),
                name="fact_shape",
            ),
            models.CheckConstraint(condition=window_shape(), name="fact_window_shape"),
            models.CheckConstraint(condition=Q(support__in=Support.values), name="fact_support_known"),
            models.CheckConstraint(
                condition=Q(invalidated_at=None) | Q(invalidated_at__gte=F("ingested_at")),
                name="fact_belief_forward",
            ),
        ]
        indexes = [
            models.Index(fields=["subject"], name="fact_subject"),
            models.Index(fields=["object"], name="fact_object", condition=Q(object__isnull=False)),
            # The queue of those whose support was lost.
            models.Index(fields=["store", "number"], name="fact_withdrawn", condition=Q(support="withdrawn")),
        ]


class FactEvidence(models.Model):
    """A claim for or against a fact: one row per pair. The claim's document is its lineage in every count."""

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE, db_index=False)
    fact = models.ForeignKey(Fact, on_delete=models.CASCADE, related_name="evidence", db_index=False)
    claim = models.ForeignKey(Claim, on_delete=models.CASCADE, related_name="evidence", db_index=False)
    stance = models.TextField(choices=Stance.choices)
    attached_at = models.DateTimeField()

    class Meta:
        db_table = "mc_fact_evidence"
        constraints = [
            models.UniqueConstraint(fields=["store", "fact", "claim"], name="evidence_once"),
            models.CheckConstraint(condition=Q(stance__in=Stance.values), name="evidence_stance_known"),
        ]
        indexes = [
            models.Index(fields=["fact"], name="evidence_fact"),
            models.Index(fields=["claim"], name="evidence_claim"),
        ]


class WindowCitation(models.Model):
    """A claim that the window of a fact rests on. One without any reverts to unknown."""

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE, db_index=False)
    fact = models.ForeignKey(Fact, on_delete=models.CASCADE, related_name="citations", db_index=False)
    claim = models.ForeignKey(Claim, on_delete=models.CASCADE, related_name="+")

    class Meta:
        db_table = "mc_window_citation"
        constraints = [models.UniqueConstraint(fields=["store", "fact", "claim"], name="citation_once")]
        indexes = [models.Index(fields=["fact"], name="citation_fact")]


class FactWindow(models.Model):
    """A window that a fact had before it was corrected, and while the store held it: [held_from, held_until)."""

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE, db_index=False)
    fact = models.ForeignKey(Fact, on_delete=models.CASCADE, related_name="windows", db_index=False)
    valid_from = models.DateTimeField(null=True)
    valid_until = models.DateTimeField(null=True)
    valid_precision = models.TextField(choices=Precision.choices)
    held_from = models.DateTimeField()
    held_until = models.DateTimeField()

    class Meta:
        db_table = "mc_fact_window"
        constraints = [
            models.CheckConstraint(condition=window_shape(), name="past_window_shape"),
            models.CheckConstraint(condition=Q(held_until__gte=F("held_from")), name="past_window_forward"),
        ]
        indexes = [
            models.Index(fields=["fact", "held_from"], name="past_window_order"),
        ]


class ContradictionGroup(models.Model):
    """Facts that cannot all be true, and nobody has decided between them (contract: context-bundle A.6)."""

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE, db_index=False)
    uuid = models.UUIDField()
    created_at = models.DateTimeField()
    resolved_at = models.DateTimeField(null=True)
    verdict = models.TextField(default="")
    row_version = models.IntegerField(default=1)

    class Meta:
        db_table = "mc_contradiction_group"
        constraints = [models.UniqueConstraint(fields=["store", "uuid"], name="group_uuid")]
        indexes = [
            models.Index(fields=["store", "created_at"], name="group_open", condition=Q(resolved_at=None))
        ]


class ContradictionMember(models.Model):
    """A fact's time in a group. The row stays when the fact leaves, for reads of what was believed."""

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE, db_index=False)
    group = models.ForeignKey(
        ContradictionGroup, on_delete=models.CASCADE, related_name="members", db_index=False
    )
    fact = models.ForeignKey(Fact, on_delete=models.CASCADE, related_name="memberships", db_index=False)
    joined_at = models.DateTimeField()
    left_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "mc_contradiction_member"
        constraints = [
            models.UniqueConstraint(fields=["store", "fact"], name="member_of_one", condition=Q(left_at=None))
        ]
        indexes = [
            models.Index(fields=["group"], name="member_group"),
            models.Index(fields=["fact"], name="member_fact"),
        ]


class Outcome(models.TextChoices):
    """What a decision came to: the contract's words (context-bundle A.7), and the verdicts of reviews."""

    ADD = "add"
    NOOP = "noop"
    UPDATE = "update"
    SUPERSEDE = "supersede"
    CONTRADICT = "contradict"
    SAME_AS_MERGE_PROPOSAL = "same_as_merge_proposal"
    RETRACTED_SOURCE_REMOVAL = "retracted_source_removal"
    RETRACTED = "retracted"
    RESTORE_SUPPORT = "restore_support"
    INVALIDATE_FACT = "invalidate_fact"
    UNCERTAIN = "uncertain"
    WITHDRAWN = "withdrawn"
    RESOLVED = "resolved"
    MERGE = "merge"
    UNMERGE = "unmerge"


class Decision(models.Model):
    """The transcript: one row per subject of each decision, append-only (contract: context-bundle A.7).

    `related_uuid` is the other party. `features` say who decided, and on what.
    """

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE, db_index=False)
    subject_kind = models.TextField()
    subject_uuid = models.UUIDField()
    outcome = models.TextField(choices=Outcome.choices)
    method = models.TextField()
    related_uuid = models.UUIDField(null=True)
    decided_by = models.TextField()
    decided_at = models.DateTimeField()
    features = models.JSONField(default=dict)

    class Meta:
        db_table = "mc_decision"
        constraints = [
            models.CheckConstraint(
                condition=Q(subject_kind__in=["relation", "observation", "entity"]), name="decision_subject"
            ),
            models.CheckConstraint(condition=Q(outcome__in=Outcome.values), name="decision_outcome_known"),
            models.CheckConstraint(
                condition=Q(method__in=["exact", "declared", "rule"]), name="decision_method_known"
            ),
            models.CheckConstraint(condition=Q(decided_by__in=["auto", "human"]), name="decision_decided_by"),
        ]
        indexes = [
            models.Index(
                fields=["store", "subject_kind", "subject_uuid", "id"], name="decision_subject_order"
            )
        ]
