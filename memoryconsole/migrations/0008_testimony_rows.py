"""What the new tables need beside their columns: cascades, rows for what there was, indexes of names, and triggers."""

from typing import Any

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from memoryconsole.folding import resolve_key
from memoryconsole.models.on_delete import write_on_delete

# Every session is a document, and so is what each source said outside of sessions.
CONVERSATIONS = """
SET CONSTRAINTS ALL IMMEDIATE;
INSERT INTO mc_document (store_id, number, uuid, source_kind, source_ref, title, versioning_mode, origin, project_id,
                         channel, session_id, source_type, source_id, row_version, created_at)
SELECT store_id, row_number() OVER (PARTITION BY store_id ORDER BY created_at, session_id NULLS FIRST, source_type,
                                    source_id COLLATE "C"),
       gen_random_uuid(), 'conversation',
       CASE WHEN session_id IS NULL THEN 'source:' || source_type || ':' || source_id ELSE 'session:' || name END,
       '', 'snapshot', 'system_generated', '', '', session_id, source_type, source_id, 1, created_at
FROM (SELECT store_id, id AS session_id, session_id AS name, '' AS source_type, '' AS source_id, created_at
      FROM mc_session
      UNION ALL
      SELECT store_id, NULL, '', source_type, source_id, min(created_at) FROM mc_record
      WHERE session_id IS NULL GROUP BY store_id, source_type, source_id) AS conversation;
INSERT INTO mc_document_version (store_id, document_id, uuid, representation_uuid, version_no, text, digest, status,
                                 created_at)
SELECT store_id, id, gen_random_uuid(), gen_random_uuid(), 1, '', sha256(''), 'ready', created_at FROM mc_document;
UPDATE mc_store_counter AS c SET document = d.last
FROM (SELECT store_id, max(number) AS last FROM mc_document GROUP BY store_id) AS d WHERE d.store_id = c.store_id;
"""

# What names are looked up by: whole (digests, in the models), nearly (trigrams), and by their sound.
NAMES = """
CREATE INDEX mc_entity_like ON mc_entity USING gin (store_id, resolve_key gin_trgm_ops) WITH (fastupdate = off);
CREATE INDEX mc_entity_sound ON mc_entity USING gin (store_id, daitch_mokotoff(resolve_key)) WITH (fastupdate = off);
CREATE INDEX mc_alias_like ON mc_entity_alias USING gin (store_id, resolve_key gin_trgm_ops) WITH (fastupdate = off);
CREATE INDEX mc_alias_sound ON mc_entity_alias USING gin (store_id, daitch_mokotoff(resolve_key))
    WITH (fastupdate = off);
"""

# Decisions and the currency ledger only grow. What is forgotten takes its rows along: erasing says what it is, as
# pruning does, by the setting `memoryconsole.pruning` in its transaction; a cascade comes from such an erasure.
APPEND_ONLY = """
CREATE FUNCTION mc_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND (current_setting('memoryconsole.pruning', true) = 'on' OR pg_trigger_depth() > 1) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER mc_decision_append_only BEFORE UPDATE OR DELETE ON mc_decision
    FOR EACH ROW EXECUTE FUNCTION mc_append_only();
CREATE TRIGGER mc_claim_currency_append_only BEFORE UPDATE OR DELETE ON mc_claim_currency
    FOR EACH ROW EXECUTE FUNCTION mc_append_only();
"""


def write_resolve_keys(apps: Any, _schema_editor: BaseDatabaseSchemaEditor) -> None:
    """The look-up keys of the names there are, in slices."""
    for model, field in ((apps.get_model("memoryconsole", "Entity"), "name"),
                         (apps.get_model("memoryconsole", "EntityAlias"), "alias")):  # fmt: skip
        last = 0
        while rows := list(model.objects.filter(pk__gt=last).order_by("pk")[:2000]):
            for row in rows:
                row.resolve_key = resolve_key(getattr(row, field))
            model.objects.bulk_update(rows, ["resolve_key"])
            last = rows[-1].pk


class Migration(migrations.Migration):
    dependencies = [("memoryconsole", "0007_testimony")]
    operations = [
        migrations.RunPython(write_on_delete, migrations.RunPython.noop),
        migrations.RunPython(write_resolve_keys, migrations.RunPython.noop),
        migrations.RunSQL(CONVERSATIONS, migrations.RunSQL.noop),
        migrations.RunSQL(NAMES, migrations.RunSQL.noop),
        migrations.RunSQL(APPEND_ONLY, migrations.RunSQL.noop),
    ]
