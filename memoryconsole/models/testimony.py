"""Testimony: what a source said, where exactly, and whether it still says so."""

from django.db import models
from django.db.models import F, Q

from memoryconsole.models.documents import Document
from memoryconsole.models.records import Record


class Precision(models.TextChoices):
    """How exactly a window is known; one word for both of its ends (contract: context-bundle A.2, A.4)."""

    UNKNOWN = "unknown"
    INSTANT = "instant"
    DAY = "day"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"
    OPEN = "open"


class ClaimKind(models.TextChoices):
    """What a claim's window says about it."""

    PROPOSITION_VALIDITY = "proposition_validity"
    EVENT_TIME = "event_time"
    MEASUREMENT_PERIOD = "measurement_period"
    EFFECTIVE_PERIOD = "effective_period"


class Claim(models.Model):
    """What one source said, once. It never changes (contract: context-bundle A.2).

    `record` is the passage it was taken from, `source_span` its words there: the representation's text from
    `char_start` to `char_end` (code points, end exclusive). `spans`: every range that supports it, the origin first.
    Windows have inclusive ends. `is_current` repeats the newest row of the currency ledger.
    """

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE, db_index=False)
    number = models.BigIntegerField()
    uuid = models.UUIDField()
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="claims", db_index=False)
    record = models.ForeignKey(Record, on_delete=models.CASCADE, related_name="claims", db_index=False)
    claim_text = models.TextField()
    digest = models.BinaryField(max_length=32)
    source_span = models.TextField()
    char_start = models.IntegerField()
    char_end = models.IntegerField()
    spans = models.JSONField()
    added_context = models.JSONField(default=list)
    is_attributed = models.BooleanField(default=False)
    asserted_at = models.DateTimeField(null=True)
    valid_from = models.DateTimeField(null=True)
    valid_until = models.DateTimeField(null=True)
    valid_precision = models.TextField(choices=Precision.choices, default=Precision.UNKNOWN)
    valid_kind = models.TextField(choices=ClaimKind.choices, null=True)
    is_current = models.BooleanField(default=True)
    declared_by = models.TextField(default="agent")
    created_at = models.DateTimeField()
    ingested_at = models.DateTimeField()

    class Meta:
        db_table = "mc_claim"
        constraints = [
            models.UniqueConstraint(fields=["store", "number"], name="claim_number"),
            models.UniqueConstraint(fields=["store", "uuid"], name="claim_uuid"),
            models.CheckConstraint(
                condition=Q(char_start__gte=0, char_end__gt=F("char_start")), name="claim_span_forward"
            ),
            models.CheckConstraint(
                condition=Q(valid_precision__in=Precision.values), name="claim_precision_known"
            ),
            models.CheckConstraint(
                condition=Q(valid_kind=None) | Q(valid_kind__in=ClaimKind.values), name="claim_kind_known"
            ),
            models.CheckConstraint(
                condition=Q(valid_precision="unknown", valid_from=None, valid_until=None)
                | Q(valid_precision="open", valid_from__isnull=False, valid_until=None)
                | Q(valid_precision="instant", valid_from__isnull=False, valid_until=F("valid_from"))
                | Q(
                    valid_precision__in=["day", "month", "quarter", "year"],
                    valid_from__isnull=False,
                    valid_until__gte=F("valid_from"),
                ),
                name="claim_window_shape",
            ),
        ]
        indexes = [
            models.Index(fields=["record"], name="claim_record"),
            models.Index(fields=["document"], name="claim_document"),
        ]


class ClaimOccurrence(models.Model):
    """A further passage that says the same claim, as a newer version of its document does. Spans as in Claim."""

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE, db_index=False)
    claim = models.ForeignKey(Claim, on_delete=models.CASCADE, related_name="occurrences", db_index=False)
    record = models.ForeignKey(Record, on_delete=models.CASCADE, related_name="+")
    spans = models.JSONField()
    created_at = models.DateTimeField()

    class Meta:
        db_table = "mc_claim_occurrence"
        constraints = [
            models.UniqueConstraint(fields=["store", "claim", "record"], name="occurrence_once"),
        ]
        indexes = [models.Index(fields=["claim"], name="occurrence_claim")]


class CurrencyReason(models.TextChoices):
    REEXTRACTED = "reextracted"
    VERSION_SUPERSEDED = "version_superseded"
    VERSION_DELETED = "version_deleted"
    REVIEW_RESTORED = "review_restored"


class ClaimCurrency(models.Model):
    """The currency ledger: append-only, one row per change. Only it changes `Claim.is_current`."""

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE, db_index=False)
    claim = models.ForeignKey(Claim, on_delete=models.CASCADE, related_name="currency", db_index=False)
    current = models.BooleanField()
    reason = models.TextField(choices=CurrencyReason.choices)
    decided_at = models.DateTimeField()
    decided_by = models.TextField()
    actor = models.TextField(default="")

    class Meta:
        db_table = "mc_claim_currency"
        constraints = [
            models.CheckConstraint(
                condition=Q(reason__in=CurrencyReason.values), name="currency_reason_known"
            ),
            models.CheckConstraint(condition=Q(decided_by__in=["auto", "human"]), name="currency_decided_by"),
        ]
        indexes = [models.Index(fields=["claim", "id"], name="currency_order")]
