"""Payloads: large texts kept outside the rows they came in, which then hold a short placeholder."""

from django.db import models
from django.db.models import Q

from memoryconsole.models.records import Session, char_length

# A text that is kept apart may be longer than a record's; it is still read whole when one is shown.
MAX_PAYLOAD_CHARS = 1_000_000
# A unique key holds 2,704 bytes; a character takes up to four.
MAX_REF_CHARS = 512

INGEST_PAYLOAD = "ingest_payload"
"""The kind that is never shown in a placeholder's stead (contract: expand-query A.4)."""


class Payload(models.Model):
    """One text kept outside its row. Key: (store, ref). `session` owns it; without an owner nobody is shown it.

    A record names its payload by a foreign key, never by what its text says.
    """

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE, db_index=False)
    ref = models.TextField()
    session = models.ForeignKey(Session, on_delete=models.SET_NULL, null=True, related_name="payloads")
    kind = models.TextField(default="tool_result")
    role = models.TextField(default="")
    tool_call_id = models.TextField(default="")
    field_path = models.TextField(default="")
    content = models.TextField()
    digest = models.BinaryField(max_length=32)
    created_at = models.DateTimeField()

    class Meta:
        db_table = "mc_payload"
        constraints = [
            models.UniqueConstraint(fields=["store", "ref"], name="payload_ref"),
            models.CheckConstraint(condition=~Q(ref=""), name="payload_ref_not_blank"),
            models.CheckConstraint(
                condition=models.lookups.LessThanOrEqual(char_length("content"), MAX_PAYLOAD_CHARS),
                name="payload_content_length",
            ),
        ]

    @property
    def content_bytes(self) -> int:
        return len(self.content.encode())
