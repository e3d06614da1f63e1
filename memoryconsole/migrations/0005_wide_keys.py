"""Names and predicates of every allowed length: their keys are indexed by digest (see `KeyDigest`)."""

from django.db import migrations, models
from django.db.models import F

from memoryconsole.models.graph import KeyDigest

ENDS = ("subject_entity", "subject_record", "subject_summary", "object_entity", "object_record", "object_summary",
        "anchor_record", "anchor_summary")


class Migration(migrations.Migration):
    dependencies = [("memoryconsole", "0004_append_only")]
    operations = [
        migrations.RemoveConstraint("association", "association_once"),
        migrations.RemoveConstraint("entityalias", "alias_once"),
        migrations.RemoveIndex("entity", "entity_key"),
        migrations.RemoveIndex("entityalias", "alias_key"),
        migrations.AddIndex(
            "entity", models.Index(F("store"), KeyDigest("declared_key"), name="entity_key")
        ),
        migrations.AddIndex(
            "entityalias", models.Index(F("store"), KeyDigest("declared_key"), name="alias_key")
        ),
        migrations.AddConstraint(
            "association",
            models.UniqueConstraint(
                F("store"),
                F("project_id"),
                F("channel"),
                KeyDigest("predicate"),
                *(F(end) for end in ENDS),
                name="association_once",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            "entityalias",
            models.UniqueConstraint(
                F("store"),
                F("entity"),
                F("project_id"),
                F("channel"),
                KeyDigest("declared_key"),
                name="alias_once",
            ),
        ),
    ]
