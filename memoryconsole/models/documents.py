"""Documents: where a text came from, across its versions. A passage of one is a record."""

from django.db import models
from django.db.models import F, Q

from memoryconsole.models.graph import KeyDigest
from memoryconsole.models.records import Record, Session

# The kind of a document that nobody sent: a session, or what one source said outside of any session.
CONVERSATION = "conversation"


class VersioningMode(models.TextChoices):
    """What it means that a newer version no longer says something.

    `snapshot`: only that. `living`: the source has withdrawn it.
    """

    SNAPSHOT = "snapshot"
    LIVING = "living"


class Origin(models.TextChoices):
    EXTERNAL = "external"
    SYSTEM_GENERATED = "system_generated"


class Document(models.Model):
    """A lineage: one source across its versions (contract: context-bundle A.1).

    A session is one (`session`), and so is all that one source said outside of any session (`source_type`,
    `source_id`); both are of the kind CONVERSATION and have one open version for ever. An ingested document carries
    project and channel, and hands them down to its passages.
    """

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE, db_index=False)
    number = models.BigIntegerField()
    uuid = models.UUIDField()
    source_kind = models.TextField()
    source_ref = models.TextField()
    title = models.TextField(default="")
    versioning_mode = models.TextField(choices=VersioningMode.choices, default=VersioningMode.SNAPSHOT)
    origin = models.TextField(choices=Origin.choices, default=Origin.EXTERNAL)
    project_id = models.TextField(default="")
    channel = models.TextField(default="")
    session = models.ForeignKey(Session, on_delete=models.CASCADE, null=True, related_name="documents")
    source_type = models.TextField(default="")
    source_id = models.TextField(default="")
    # Raised by every change: what If-Match compares.
    row_version = models.IntegerField(default=1)
    created_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "mc_document"
        constraints = [
            models.UniqueConstraint(fields=["store", "number"], name="document_number"),
            models.UniqueConstraint(fields=["store", "uuid"], name="document_uuid"),
            models.UniqueConstraint(
                "store", KeyDigest("source_kind"), KeyDigest("source_ref"), name="document_source"
            ),
            models.UniqueConstraint(
                fields=["store", "session"], name="document_of_session", condition=Q(session__isnull=False)
            ),
            models.CheckConstraint(
                condition=Q(versioning_mode__in=VersioningMode.values), name="document_mode_known"
            ),
            models.CheckConstraint(condition=Q(origin__in=Origin.values), name="document_origin_known"),
        ]
        indexes = [
            # The document of a record that is in no session.
            models.Index(
                "store",
                "source_type",
                KeyDigest("source_id"),
                name="document_of_source",
                condition=Q(source_kind=CONVERSATION, session=None),
            ),
        ]


class VersionStatus(models.TextChoices):
    READY = "ready"
    DELETED = "deleted"


class DocumentVersion(models.Model):
    """One version of a document and its representation: the text as it was sent, which all offsets count in.

    A conversation's version has no text of its own: each of its records is a representation. A version is current
    while it is the document's newest that is not deleted: `superseded_at` and `deleted_at` are None.
    """

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE, db_index=False)
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="versions", db_index=False)
    uuid = models.UUIDField()
    representation_uuid = models.UUIDField()
    version_no = models.IntegerField()
    text = models.TextField(default="")
    digest = models.BinaryField(max_length=32)
    status = models.TextField(choices=VersionStatus.choices, default=VersionStatus.READY)
    source_modified_at = models.DateTimeField(null=True)
    published_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    superseded_at = models.DateTimeField(null=True)
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "mc_document_version"
        constraints = [
            models.UniqueConstraint(fields=["store", "document", "version_no"], name="version_no_once"),
            models.UniqueConstraint(fields=["store", "uuid"], name="version_uuid"),
            models.UniqueConstraint(fields=["store", "representation_uuid"], name="version_representation"),
            models.UniqueConstraint(
                fields=["store", "document"],
                name="version_one_current",
                condition=Q(superseded_at=None, deleted_at=None),
            ),
            models.CheckConstraint(condition=Q(version_no__gt=0), name="version_no_positive"),
            models.CheckConstraint(condition=Q(status__in=VersionStatus.values), name="version_status_known"),
        ]
        indexes = [models.Index(fields=["document"], name="version_document")]


class SectionRole(models.TextChoices):
    """What part of a document a section is (contract: context-bundle A.1)."""

    BODY = "body"
    ABSTRACT = "abstract"
    INTRODUCTION = "introduction"
    RESULTS = "results"
    METHODS = "methods"
    DISCUSSION = "discussion"
    CONCLUSION = "conclusion"
    REFERENCES = "references"
    APPENDIX = "appendix"
    TABLE = "table"
    FIGURE_CAPTION = "figure_caption"
    NAV = "nav"
    BOILERPLATE = "boilerplate"
    LEGAL = "legal"


class Passage(models.Model):
    """The place of a record in an ingested document: a run of whole blocks of one section.

    Offsets are code points of the version's text, end exclusive; the record's content is that slice. `heading`: the
    section's headings, outermost first. `context_prefix` helps search and is never quoted.
    """

    record = models.OneToOneField(Record, on_delete=models.CASCADE, primary_key=True, related_name="passage")
    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE, db_index=False)
    version = models.ForeignKey(
        DocumentVersion, on_delete=models.CASCADE, related_name="passages", db_index=False
    )
    ordinal = models.IntegerField()
    char_start = models.IntegerField()
    char_end = models.IntegerField()
    section_role = models.TextField(choices=SectionRole.choices, default=SectionRole.BODY)
    heading = models.JSONField(default=list)
    context_prefix = models.TextField(default="")

    class Meta:
        db_table = "mc_passage"
        constraints = [
            models.UniqueConstraint(fields=["store", "version", "ordinal"], name="passage_ordinal"),
            models.CheckConstraint(
                condition=Q(ordinal__gte=0, char_start__gte=0, char_end__gt=F("char_start")),
                name="passage_span_forward",
            ),
            models.CheckConstraint(
                condition=Q(section_role__in=SectionRole.values), name="passage_role_known"
            ),
        ]
        indexes = [models.Index(fields=["version"], name="passage_version")]
