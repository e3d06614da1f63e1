"""What a part of a store's index comes to, kept by triggers: `IndexPart` says what its columns mean."""

from django.db import migrations

from memoryconsole.models.on_delete import write_on_delete

# Before anything is counted: nothing is written until the triggers are there.
WHAT_THERE_IS = """
LOCK TABLE mc_index_entry IN SHARE ROW EXCLUSIVE MODE;
INSERT INTO mc_index_part (store_id, part, entries, last, removals)
SELECT store_id, part, count(*), max(id), 0 FROM mc_index_entry GROUP BY store_id, part;
"""

# A row is made by the first entry and by nothing else: when a store goes, what its entries still do on the way must not
# bring it back. An update moves no entry to another part.
TRIGGERS = """
CREATE FUNCTION mc_index_part_counted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO mc_index_part AS p (store_id, part, entries, last, removals)
        SELECT store_id, part, count(*), max(id), 0 FROM changed GROUP BY store_id, part ORDER BY store_id, part
        ON CONFLICT (store_id, part) DO UPDATE
        SET entries = p.entries + EXCLUDED.entries, last = greatest(p.last, EXCLUDED.last);
    ELSE
        UPDATE mc_index_part AS p
        SET entries = p.entries - CASE TG_OP WHEN 'DELETE' THEN c.entries ELSE 0 END, removals = p.removals + 1
        FROM (SELECT store_id, part, count(*) AS entries FROM changed GROUP BY store_id, part) AS c
        WHERE p.store_id = c.store_id AND p.part = c.part;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER mc_index_part_added AFTER INSERT ON mc_index_entry
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION mc_index_part_counted();
CREATE TRIGGER mc_index_part_changed AFTER UPDATE ON mc_index_entry
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION mc_index_part_counted();
CREATE TRIGGER mc_index_part_removed AFTER DELETE ON mc_index_entry
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION mc_index_part_counted();
"""
NO_TRIGGERS = """
DROP TRIGGER mc_index_part_added ON mc_index_entry;
DROP TRIGGER mc_index_part_changed ON mc_index_entry;
DROP TRIGGER mc_index_part_removed ON mc_index_entry;
DROP FUNCTION mc_index_part_counted();
"""


class Migration(migrations.Migration):
    dependencies = [("memoryconsole", "0010_index_parts")]
    operations = [
        migrations.RunPython(write_on_delete, migrations.RunPython.noop),
        migrations.RunSQL(WHAT_THERE_IS, "DELETE FROM mc_index_part"),
        migrations.RunSQL(TRIGGERS, NO_TRIGGERS),
    ]
