"""Traces are append-only in the database itself, and the new foreign keys cascade there too."""

from django.db import migrations

from memoryconsole.models.on_delete import write_on_delete

# What may happen to a trace: a person or a token that goes away lets go of it, and pruning removes it. Pruning says
# what it is by the setting `memoryconsole.pruning` in its transaction.
FORWARD = """
CREATE FUNCTION mc_trace_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    kept mc_trace;
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF current_setting('memoryconsole.pruning', true) = 'on' THEN
            RETURN OLD;
        END IF;
        RAISE EXCEPTION 'traces are append-only' USING ERRCODE = 'restrict_violation';
    END IF;
    kept := NEW;
    IF NEW.user_id IS NULL THEN kept.user_id := OLD.user_id; END IF;
    IF NEW.token_id IS NULL THEN kept.token_id := OLD.token_id; END IF;
    IF kept IS DISTINCT FROM OLD THEN
        RAISE EXCEPTION 'traces are append-only' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER mc_trace_append_only BEFORE UPDATE OR DELETE ON mc_trace
    FOR EACH ROW EXECUTE FUNCTION mc_trace_append_only();
"""
BACK = "DROP TRIGGER mc_trace_append_only ON mc_trace; DROP FUNCTION mc_trace_append_only();"


class Migration(migrations.Migration):
    dependencies = [("memoryconsole", "0003_traces")]
    operations = [
        migrations.RunPython(write_on_delete, migrations.RunPython.noop),
        migrations.RunSQL(FORWARD, BACK),
    ]
