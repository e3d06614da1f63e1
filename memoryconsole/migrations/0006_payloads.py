"""Payloads, and an index that knows sessions and summaries of summaries."""

import django.db.models.deletion
import django.db.models.lookups
from django.db import migrations, models

from memoryconsole.models.on_delete import write_on_delete

# Entries say which session their row is in; checked at once, or nothing could be altered afterwards. Summaries of
# summaries have had no entries: the job that analyses a store's texts writes those that are missing.
FORWARD = """
SET CONSTRAINTS ALL IMMEDIATE;
UPDATE mc_index_entry AS e SET session_id = r.session_id FROM mc_record AS r
    WHERE r.id = e.record_id AND r.session_id IS NOT NULL;
UPDATE mc_index_entry AS e SET session_id = s.session_id FROM mc_summary AS s
    WHERE s.id = e.summary_id AND s.session_id IS NOT NULL;
INSERT INTO mc_job (store_id, uuid, kind, arguments, state, done, message, errors, progress, attempts, failures,
                    created_at)
    SELECT s.store_id, gen_random_uuid(), 'analyse', '{}'::jsonb, 'queued', 0, '', '[]'::jsonb, '{}'::jsonb,
           0, 0, now()
    FROM (SELECT DISTINCT store_id FROM mc_summary WHERE source_type = 'nodes' AND deleted_at IS NULL) AS s;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('memoryconsole', '0005_wide_keys'),
    ]

    operations = [
        migrations.CreateModel(
            name='Payload',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('ref', models.TextField()),
                ('kind', models.TextField(default='tool_result')),
                ('role', models.TextField(default='')),
                ('tool_call_id', models.TextField(default='')),
                ('field_path', models.TextField(default='')),
                ('content', models.TextField()),
                ('digest', models.BinaryField(max_length=32)),
                ('created_at', models.DateTimeField()),
            ],
            options={
                'db_table': 'mc_payload',
            },
        ),
        migrations.RemoveIndex(
            model_name='indexentry',
            name='index_entry_stored',
        ),
        migrations.AddField(
            model_name='indexentry',
            name='graph',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='indexentry',
            name='session',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, to='memoryconsole.session'),
        ),
        migrations.AddField(
            model_name='payload',
            name='session',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='payloads', to='memoryconsole.session'),
        ),
        migrations.AddField(
            model_name='payload',
            name='store',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store'),
        ),
        migrations.AddField(
            model_name='record',
            name='payload',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='records', to='memoryconsole.payload'),
        ),
        migrations.AddConstraint(
            model_name='payload',
            constraint=models.UniqueConstraint(fields=('store', 'ref'), name='payload_ref'),
        ),
        migrations.AddConstraint(
            model_name='payload',
            constraint=models.CheckConstraint(condition=models.Q(('ref', ''), _negated=True), name='payload_ref_not_blank'),
        ),
        migrations.AddConstraint(
            model_name='payload',
            constraint=models.CheckConstraint(condition=django.db.models.lookups.LessThanOrEqual(models.Func(models.F('content'), function='char_length', output_field=models.IntegerField()), 1000000), name='payload_content_length'),
        ),
        migrations.RunPython(write_on_delete, migrations.RunPython.noop),
        migrations.RunSQL(FORWARD, migrations.RunSQL.noop),
        migrations.AddIndex(
            model_name='indexentry',
            index=models.Index(condition=models.Q(('graph', False)), fields=['store', 'stored_at', 'number'], include=('id', 'record', 'project_id', 'channel'), name='index_entry_stored'),
        ),
        migrations.AddIndex(
            model_name='indexentry',
            index=models.Index(condition=models.Q(('session__isnull', False)), fields=['store', 'session'], include=('id', 'record'), name='index_entry_session'),
        ),
        migrations.AddIndex(
            model_name='record',
            index=models.Index(condition=models.Q(('payload__isnull', False)), fields=['payload'], name='record_payload'),
        ),
    ]
