"""Documents, testimony, facts and time; entities that merge; an index in parts."""

import django.db.models.deletion
import memoryconsole.models.graph
from django.contrib.postgres.operations import BtreeGinExtension, CreateExtension, TrigramExtension
from django.db import migrations, models

# Summaries of summaries were a flag of their entries. Checked at once, or nothing could be altered afterwards.
PARTS = """
SET CONSTRAINTS ALL IMMEDIATE;
UPDATE mc_index_entry SET part = 1 WHERE graph;
UPDATE mc_entry_vector AS v SET part = 1 FROM mc_index_entry AS e WHERE e.id = v.entry_id AND e.part = 1;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('memoryconsole', '0006_payloads'),
    ]

    operations = [
        TrigramExtension(),
        BtreeGinExtension(),
        CreateExtension("fuzzystrmatch"),
        migrations.CreateModel(
            name='Claim',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.BigIntegerField()),
                ('uuid', models.UUIDField()),
                ('claim_text', models.TextField()),
                ('digest', models.BinaryField(max_length=32)),
                ('source_span', models.TextField()),
                ('char_start', models.IntegerField()),
                ('char_end', models.IntegerField()),
                ('spans', models.JSONField()),
                ('added_context', models.JSONField(default=list)),
                ('is_attributed', models.BooleanField(default=False)),
                ('asserted_at', models.DateTimeField(null=True)),
                ('valid_from', models.DateTimeField(null=True)),
                ('valid_until', models.DateTimeField(null=True)),
                ('valid_precision', models.TextField(choices=[('unknown', 'Unknown'), ('instant', 'Instant'), ('day', 'Day'), ('month', 'Month'), ('quarter', 'Quarter'), ('year', 'Year'), ('open', 'Open')], default='unknown')),
                ('valid_kind', models.TextField(choices=[('proposition_validity', 'Proposition Validity'), ('event_time', 'Event Time'), ('measurement_period', 'Measurement Period'), ('effective_period', 'Effective Period')], null=True)),
                ('is_current', models.BooleanField(default=True)),
                ('declared_by', models.TextField(default='agent')),
                ('created_at', models.DateTimeField()),
                ('ingested_at', models.DateTimeField()),
            ],
            options={
                'db_table': 'mc_claim',
            },
        ),
        migrations.CreateModel(
            name='ClaimCurrency',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('current', models.BooleanField()),
                ('reason', models.TextField(choices=[('reextracted', 'Reextracted'), ('version_superseded', 'Version Superseded'), ('version_deleted', 'Version Deleted'), ('review_restored', 'Review Restored')])),
                ('decided_at', models.DateTimeField()),
                ('decided_by', models.TextField()),
                ('actor', models.TextField(default='')),
            ],
            options={
                'db_table': 'mc_claim_currency',
            },
        ),
        migrations.CreateModel(
            name='ClaimOccurrence',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('spans', models.JSONField()),
                ('created_at', models.DateTimeField()),
            ],
            options={
                'db_table': 'mc_claim_occurrence',
            },
        ),
        migrations.CreateModel(
            name='ContradictionGroup',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField()),
                ('created_at', models.DateTimeField()),
                ('resolved_at', models.DateTimeField(null=True)),
                ('verdict', models.TextField(default='')),
                ('row_version', models.IntegerField(default=1)),
            ],
            options={
                'db_table': 'mc_contradiction_group',
            },
        ),
        migrations.CreateModel(
            name='ContradictionMember',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('joined_at', models.DateTimeField()),
                ('left_at', models.DateTimeField(null=True)),
            ],
            options={
                'db_table': 'mc_contradiction_member',
            },
        ),
        migrations.CreateModel(
            name='Decision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('subject_kind', models.TextField()),
                ('subject_uuid', models.UUIDField()),
                ('outcome', models.TextField(choices=[('add', 'Add'), ('noop', 'Noop'), ('update', 'Update'), ('supersede', 'Supersede'), ('contradict', 'Contradict'), ('same_as_merge_proposal', 'Same As Merge Proposal'), ('retracted_source_removal', 'Retracted Source Removal'), ('retracted', 'Retracted'), ('restore_support', 'Restore Support'), ('invalidate_fact', 'Invalidate Fact'), ('uncertain', 'Uncertain'), ('withdrawn', 'Withdrawn'), ('resolved', 'Resolved'), ('merge', 'Merge'), ('unmerge', 'Unmerge')])),
                ('method', models.TextField()),
                ('related_uuid', models.UUIDField(null=True)),
                ('decided_by', models.TextField()),
                ('decided_at', models.DateTimeField()),
                ('features', models.JSONField(default=dict)),
            ],
            options={
                'db_table': 'mc_decision',
            },
        ),
        migrations.CreateModel(
            name='Document',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.BigIntegerField()),
                ('uuid', models.UUIDField()),
                ('source_kind', models.TextField()),
                ('source_ref', models.TextField()),
                ('title', models.TextField(default='')),
                ('versioning_mode', models.TextField(choices=[('snapshot', 'Snapshot'), ('living', 'Living')], default='snapshot')),
                ('origin', models.TextField(choices=[('external', 'External'), ('system_generated', 'System Generated')], default='external')),
                ('project_id', models.TextField(default='')),
                ('channel', models.TextField(default='')),
                ('source_type', models.TextField(default='')),
                ('source_id', models.TextField(default='')),
                ('row_version', models.IntegerField(default=1)),
                ('created_at', models.DateTimeField()),
                ('deleted_at', models.DateTimeField(null=True)),
            ],
            options={
                'db_table': 'mc_document',
            },
        ),
        migrations.CreateModel(
            name='DocumentVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField()),
                ('representation_uuid', models.UUIDField()),
                ('version_no', models.IntegerField()),
                ('text', models.TextField(default='')),
                ('digest', models.BinaryField(max_length=32)),
                ('status', models.TextField(choices=[('ready', 'Ready'), ('deleted', 'Deleted')], default='ready')),
                ('source_modified_at', models.DateTimeField(null=True)),
                ('published_at', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField()),
                ('superseded_at', models.DateTimeField(null=True)),
                ('deleted_at', models.DateTimeField(null=True)),
            ],
            options={
                'db_table': 'mc_document_version',
            },
        ),
        migrations.CreateModel(
            name='Fact',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.BigIntegerField()),
                ('kind', models.TextField(choices=[('relation', 'Relation'), ('observation', 'Observation')])),
                ('uuid', models.UUIDField()),
                ('predicate', models.TextField(default='')),
                ('statement', models.TextField(default='')),
                ('valid_from', models.DateTimeField(null=True)),
                ('valid_until', models.DateTimeField(null=True)),
                ('valid_precision', models.TextField(choices=[('unknown', 'Unknown'), ('instant', 'Instant'), ('day', 'Day'), ('month', 'Month'), ('quarter', 'Quarter'), ('year', 'Year'), ('open', 'Open')], default='unknown')),
                ('ingested_at', models.DateTimeField()),
                ('invalidated_at', models.DateTimeField(null=True)),
                ('support', models.TextField(choices=[('current', 'Current'), ('withdrawn', 'Withdrawn')], default='current')),
                ('window_since', models.DateTimeField()),
                ('row_version', models.IntegerField(default=1)),
                ('declared_by', models.TextField(default='agent')),
                ('created_at', models.DateTimeField()),
            ],
            options={
                'db_table': 'mc_fact',
            },
        ),
        migrations.CreateModel(
            name='FactEvidence',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('stance', models.TextField(choices=[('supports', 'Supports'), ('contradicts', 'Contradicts')])),
                ('attached_at', models.DateTimeField()),
            ],
            options={
                'db_table': 'mc_fact_evidence',
            },
        ),
        migrations.CreateModel(
            name='FactWindow',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('valid_from', models.DateTimeField(null=True)),
                ('valid_until', models.DateTimeField(null=True)),
                ('valid_precision', models.TextField(choices=[('unknown', 'Unknown'), ('instant', 'Instant'), ('day', 'Day'), ('month', 'Month'), ('quarter', 'Quarter'), ('year', 'Year'), ('open', 'Open')])),
                ('held_from', models.DateTimeField()),
                ('held_until', models.DateTimeField()),
            ],
            options={
                'db_table': 'mc_fact_window',
            },
        ),
        migrations.CreateModel(
            name='MergeEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField()),
                ('merged_at', models.DateTimeField()),
                ('merged_by', models.TextField(default='')),
                ('reversed_at', models.DateTimeField(null=True)),
                ('reversed_by', models.TextField(default='')),
            ],
            options={
                'db_table': 'mc_merge_event',
            },
        ),
        migrations.CreateModel(
            name='Passage',
            fields=[
                ('record', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='passage', serialize=False, to='memoryconsole.record')),
                ('ordinal', models.IntegerField()),
                ('char_start', models.IntegerField()),
                ('char_end', models.IntegerField()),
                ('section_role', models.TextField(choices=[('body', 'Body'), ('abstract', 'Abstract'), ('introduction', 'Introduction'), ('results', 'Results'), ('methods', 'Methods'), ('discussion', 'Discussion'), ('conclusion', 'Conclusion'), ('references', 'References'), ('appendix', 'Appendix'), ('table', 'Table'), ('figure_caption', 'Figure Caption'), ('nav', 'Nav'), ('boilerplate', 'Boilerplate'), ('legal', 'Legal')], default='body')),
                ('heading', models.JSONField(default=list)),
                ('context_prefix', models.TextField(default='')),
            ],
            options={
                'db_table': 'mc_passage',
            },
        ),
        migrations.CreateModel(
            name='WindowCitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
            ],
            options={
                'db_table': 'mc_window_citation',
            },
        ),
        migrations.RemoveConstraint(
            model_name='entryvector',
            name='entry_vector_once',
        ),
        migrations.RemoveConstraint(
            model_name='indexentry',
            name='index_entry_once',
        ),
        migrations.RemoveConstraint(
            model_name='indexentry',
            name='index_entry_one_row',
        ),
        migrations.RemoveConstraint(
            model_name='mention',
            name='mention_once',
        ),
        migrations.RemoveIndex(
            model_name='indexentry',
            name='index_entry_stored',
        ),
        migrations.AddField(
            model_name='entity',
            name='declared',
            field=models.BooleanField(default=True),
        ),
        migrations.AddField(
            model_name='entity',
            name='merged_into',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='absorbed', to='memoryconsole.entity'),
        ),
        migrations.AddField(
            model_name='entity',
            name='resolve_key',
            field=models.TextField(default=''),
        ),
        migrations.AddField(
            model_name='entity',
            name='row_version',
            field=models.IntegerField(default=1),
        ),
        migrations.AddField(
            model_name='entity',
            name='status',
            field=models.TextField(choices=[('active', 'Active'), ('merged', 'Merged'), ('retired', 'Retired')], default='active'),
        ),
        migrations.AddField(
            model_name='entityalias',
            name='resolve_key',
            field=models.TextField(default=''),
        ),
        migrations.AddField(
            model_name='entryvector',
            name='part',
            field=models.SmallIntegerField(choices=[(0, 'Recall'), (1, 'Graph'), (2, 'Claim'), (3, 'Fact'), (4, 'Profile')], default=0),
        ),
        migrations.AddField(
            model_name='indexentry',
            name='entity',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='entries', to='memoryconsole.entity'),
        ),
        migrations.AddField(
            model_name='indexentry',
            name='part',
            field=models.SmallIntegerField(choices=[(0, 'Recall'), (1, 'Graph'), (2, 'Claim'), (3, 'Fact'), (4, 'Profile')], default=0),
        ),
        migrations.RunSQL(PARTS, migrations.RunSQL.noop),
        migrations.RemoveField(
            model_name='indexentry',
            name='graph',
        ),
        migrations.AddField(
            model_name='mention',
            name='char_end',
            field=models.IntegerField(null=True),
        ),
        migrations.AddField(
            model_name='mention',
            name='char_start',
            field=models.IntegerField(null=True),
        ),
        migrations.AddField(
            model_name='store',
            name='belief_horizon_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='storecounter',
            name='claim',
            field=models.BigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='storecounter',
            name='document',
            field=models.BigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='storecounter',
            name='fact',
            field=models.BigIntegerField(default=0),
        ),
        migrations.AddIndex(
            model_name='entity',
            index=models.Index(models.F('store'), memoryconsole.models.graph.KeyDigest('resolve_key'), name='entity_resolve_key'),
        ),
        migrations.AddIndex(
            model_name='entity',
            index=models.Index(condition=models.Q(('merged_into__isnull', False)), fields=['store', 'merged_into'], name='entity_absorbed'),
        ),
        migrations.AddIndex(
            model_name='entityalias',
            index=models.Index(models.F('store'), memoryconsole.models.graph.KeyDigest('resolve_key'), name='alias_resolve_key'),
        ),
        migrations.AddConstraint(
            model_name='entity',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['active', 'merged', 'retired'])), name='entity_status_known'),
        ),
        migrations.AddConstraint(
            model_name='entity',
            constraint=models.CheckConstraint(condition=models.Q(('merged_into', None), ('status', 'merged'), _connector='OR'), name='entity_merged_status'),
        ),
        migrations.AddConstraint(
            model_name='entryvector',
            constraint=models.UniqueConstraint(fields=('store', 'space', 'part', 'entry'), name='entry_vector_once'),
        ),
        migrations.AddConstraint(
            model_name='mention',
            constraint=models.UniqueConstraint(fields=('store', 'entity', 'record', 'summary', 'char_start', 'char_end'), name='mention_once', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='mention',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('char_end', None), ('char_start', None)), models.Q(('char_end__gt', models.F('char_start')), ('char_start__gte', 0)), _connector='OR'), name='mention_span_forward'),
        ),
        migrations.AddField(
            model_name='claim',
            name='record',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='claims', to='memoryconsole.record'),
        ),
        migrations.AddField(
            model_name='claim',
            name='store',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store'),
        ),
        migrations.AddField(
            model_name='indexentry',
            name='claim',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='entries', to='memoryconsole.claim'),
        ),
        migrations.AddField(
            model_name='claimcurrency',
            name='claim',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='currency', to='memoryconsole.claim'),
        ),
        migrations.AddField(
            model_name='claimcurrency',
            name='store',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store'),
        ),
        migrations.AddField(
            model_name='claimoccurrence',
            name='claim',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='occurrences', to='memoryconsole.claim'),
        ),
        migrations.AddField(
            model_name='claimoccurrence',
            name='record',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memoryconsole.record'),
        ),
        migrations.AddField(
            model_name='claimoccurrence',
            name='store',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store'),
        ),
        migrations.AddField(
            model_name='contradictiongroup',
            name='store',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store'),
        ),
        migrations.AddField(
            model_name='contradictionmember',
            name='group',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='members', to='memoryconsole.contradictiongroup'),
        ),
        migrations.AddField(
            model_name='contradictionmember',
            name='store',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store'),
        ),
        migrations.AddField(
            model_name='decision',
            name='store',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store'),
        ),
        migrations.AddField(
            model_name='document',
            name='session',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='documents', to='memoryconsole.session'),
        ),
        migrations.AddField(
            model_name='document',
            name='store',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store'),
        ),
        migrations.AddField(
            model_name='claim',
            name='document',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='claims', to='memoryconsole.document'),
        ),
        migrations.AddField(
            model_name='documentversion',
            name='document',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='memoryconsole.document'),
        ),
        migrations.AddField(
            model_name='documentversion',
            name='store',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store'),
        ),
        migrations.AddField(
            model_name='fact',
            name='object',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memoryconsole.entity'),
        ),
        migrations.AddField(
            model_name='fact',
            name='store',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store'),
        ),
        migrations.AddField(
            model_name='fact',
            name='subject',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memoryconsole.entity'),
        ),
        migrations.AddField(
            model_name='contradictionmember',
            name='fact',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='memoryconsole.fact'),
        ),
        migrations.AddField(
            model_name='indexentry',
            name='fact',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='entries', to='memoryconsole.fact'),
        ),
        migrations.AddIndex(
            model_name='indexentry',
            index=models.Index(condition=models.Q(('part', 0)), fields=['store', 'stored_at', 'number'], include=('id', 'record', 'project_id', 'channel'), name='index_entry_stored'),
        ),
        migrations.AddIndex(
            model_name='indexentry',
            index=models.Index(condition=models.Q(('part__gt', 0)), fields=['store', 'part', 'id'], name='index_entry_parts'),
        ),
        migrations.AddIndex(
            model_name='indexentry',
            index=models.Index(condition=models.Q(('claim__isnull', False)), fields=['claim'], name='index_entry_claim'),
        ),
        migrations.AddIndex(
            model_name='indexentry',
            index=models.Index(condition=models.Q(('fact__isnull', False)), fields=['fact'], name='index_entry_fact'),
        ),
        migrations.AddIndex(
            model_name='indexentry',
            index=models.Index(condition=models.Q(('entity__isnull', False)), fields=['entity'], name='index_entry_entity'),
        ),
        migrations.AddConstraint(
            model_name='indexentry',
            constraint=models.UniqueConstraint(fields=('store', 'record', 'summary', 'claim', 'fact', 'entity'), name='index_entry_once', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='indexentry',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('claim__isnull', True), ('entity__isnull', True), ('fact__isnull', True), ('record__isnull', False), ('summary__isnull', True)), models.Q(('claim__isnull', True), ('entity__isnull', True), ('fact__isnull', True), ('record__isnull', True), ('summary__isnull', False)), models.Q(('claim__isnull', False), ('entity__isnull', True), ('fact__isnull', True), ('record__isnull', True), ('summary__isnull', True)), models.Q(('claim__isnull', True), ('entity__isnull', True), ('fact__isnull', False), ('record__isnull', True), ('summary__isnull', True)), models.Q(('claim__isnull', True), ('entity__isnull', False), ('fact__isnull', True), ('record__isnull', True), ('summary__isnull', True)), _connector='OR'), name='index_entry_one_row'),
        ),
        migrations.AddConstraint(
            model_name='indexentry',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('claim', None), ('entity', None), ('fact', None), ('part', 0)), models.Q(('part', 1), ('summary__isnull', False)), models.Q(('claim__isnull', False), ('part', 2)), models.Q(('fact__isnull', False), ('part', 3)), models.Q(('entity__isnull', False), ('part', 4)), _connector='OR'), name='index_entry_part'),
        ),
        migrations.AddField(
            model_name='factevidence',
            name='claim',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='evidence', to='memoryconsole.claim'),
        ),
        migrations.AddField(
            model_name='factevidence',
            name='fact',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='evidence', to='memoryconsole.fact'),
        ),
        migrations.AddField(
            model_name='factevidence',
            name='store',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store'),
        ),
        migrations.AddField(
            model_name='factwindow',
            name='fact',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='windows', to='memoryconsole.fact'),
        ),
        migrations.AddField(
            model_name='factwindow',
            name='store',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store'),
        ),
        migrations.AddField(
            model_name='mergeevent',
            name='absorbed',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memoryconsole.entity'),
        ),
        migrations.AddField(
            model_name='mergeevent',
            name='store',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store'),
        ),
        migrations.AddField(
            model_name='mergeevent',
            name='survivor',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memoryconsole.entity'),
        ),
        migrations.AddField(
            model_name='passage',
            name='store',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store'),
        ),
        migrations.AddField(
            model_name='passage',
            name='version',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='passages', to='memoryconsole.documentversion'),
        ),
        migrations.AddField(
            model_name='windowcitation',
            name='claim',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memoryconsole.claim'),
        ),
        migrations.AddField(
            model_name='windowcitation',
            name='fact',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='citations', to='memoryconsole.fact'),
        ),
        migrations.AddField(
            model_name='windowcitation',
            name='store',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store'),
        ),
        migrations.AddIndex(
            model_name='claimcurrency',
            index=models.Index(fields=['claim', 'id'], name='currency_order'),
        ),
        migrations.AddConstraint(
            model_name='claimcurrency',
            constraint=models.CheckConstraint(condition=models.Q(('reason__in', ['reextracted', 'version_superseded', 'version_deleted', 'review_restored'])), name='currency_reason_known'),
        ),
        migrations.AddConstraint(
            model_name='claimcurrency',
            constraint=models.CheckConstraint(condition=models.Q(('decided_by__in', ['auto', 'human'])), name='currency_decided_by'),
        ),
        migrations.AddIndex(
            model_name='claimoccurrence',
            index=models.Index(fields=['claim'], name='occurrence_claim'),
        ),
        migrations.AddConstraint(
            model_name='claimoccurrence',
            constraint=models.UniqueConstraint(fields=('store', 'claim', 'record'), name='occurrence_once'),
        ),
        migrations.AddIndex(
            model_name='contradictiongroup',
            index=models.Index(condition=models.Q(('resolved_at', None)), fields=['store', 'created_at'], name='group_open'),
        ),
        migrations.AddConstraint(
            model_name='contradictiongroup',
            constraint=models.UniqueConstraint(fields=('store', 'uuid'), name='group_uuid'),
        ),
        migrations.AddIndex(
            model_name='decision',
            index=models.Index(fields=['store', 'subject_kind', 'subject_uuid', 'id'], name='decision_subject_order'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.CheckConstraint(condition=models.Q(('subject_kind__in', ['relation', 'observation', 'entity'])), name='decision_subject'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.CheckConstraint(condition=models.Q(('outcome__in', ['add', 'noop', 'update', 'supersede', 'contradict', 'same_as_merge_proposal', 'retracted_source_removal', 'retracted', 'restore_support', 'invalidate_fact', 'uncertain', 'withdrawn', 'resolved', 'merge', 'unmerge'])), name='decision_outcome_known'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.CheckConstraint(condition=models.Q(('method__in', ['exact', 'declared', 'rule'])), name='decision_method_known'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.CheckConstraint(condition=models.Q(('decided_by__in', ['auto', 'human'])), name='decision_decided_by'),
        ),
        migrations.AddIndex(
            model_name='document',
            index=models.Index(models.F('store'), models.F('source_type'), memoryconsole.models.graph.KeyDigest('source_id'), condition=models.Q(('session', None), ('source_kind', 'conversation')), name='document_of_source'),
        ),
        migrations.AddConstraint(
            model_name='document',
            constraint=models.UniqueConstraint(fields=('store', 'number'), name='document_number'),
        ),
        migrations.AddConstraint(
            model_name='document',
            constraint=models.UniqueConstraint(fields=('store', 'uuid'), name='document_uuid'),
        ),
        migrations.AddConstraint(
            model_name='document',
            constraint=models.UniqueConstraint(models.F('store'), memoryconsole.models.graph.KeyDigest('source_kind'), memoryconsole.models.graph.KeyDigest('source_ref'), name='document_source'),
        ),
        migrations.AddConstraint(
            model_name='document',
            constraint=models.UniqueConstraint(condition=models.Q(('session__isnull', False)), fields=('store', 'session'), name='document_of_session'),
        ),
        migrations.AddConstraint(
            model_name='document',
            constraint=models.CheckConstraint(condition=models.Q(('versioning_mode__in', ['snapshot', 'living'])), name='document_mode_known'),
        ),
        migrations.AddConstraint(
            model_name='document',
            constraint=models.CheckConstraint(condition=models.Q(('origin__in', ['external', 'system_generated'])), name='document_origin_known'),
        ),
        migrations.AddIndex(
            model_name='claim',
            index=models.Index(fields=['record'], name='claim_record'),
        ),
        migrations.AddIndex(
            model_name='claim',
            index=models.Index(fields=['document'], name='claim_document'),
        ),
        migrations.AddConstraint(
            model_name='claim',
            constraint=models.UniqueConstraint(fields=('store', 'number'), name='claim_number'),
        ),
        migrations.AddConstraint(
            model_name='claim',
            constraint=models.UniqueConstraint(fields=('store', 'uuid'), name='claim_uuid'),
        ),
        migrations.AddConstraint(
            model_name='claim',
            constraint=models.CheckConstraint(condition=models.Q(('char_end__gt', models.F('char_start')), ('char_start__gte', 0)), name='claim_span_forward'),
        ),
        migrations.AddConstraint(
            model_name='claim',
            constraint=models.CheckConstraint(condition=models.Q(('valid_precision__in', ['unknown', 'instant', 'day', 'month', 'quarter', 'year', 'open'])), name='claim_precision_known'),
        ),
        migrations.AddConstraint(
            model_name='claim',
            constraint=models.CheckConstraint(condition=models.Q(('valid_kind', None), ('valid_kind__in', ['proposition_validity', 'event_time', 'measurement_period', 'effective_period']), _connector='OR'), name='claim_kind_known'),
        ),
        migrations.AddConstraint(
            model_name='claim',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('valid_from', None), ('valid_precision', 'unknown'), ('valid_until', None)), models.Q(('valid_from__isnull', False), ('valid_precision', 'open'), ('valid_until', None)), models.Q(('valid_from__isnull', False), ('valid_precision', 'instant'), ('valid_until', models.F('valid_from'))), models.Q(('valid_from__isnull', False), ('valid_precision__in', ['day', 'month', 'quarter', 'year']), ('valid_until__gte', models.F('valid_from'))), _connector='OR'), name='claim_window_shape'),
        ),
        migrations.AddIndex(
            model_name='documentversion',
            index=models.Index(fields=['document'], name='version_document'),
        ),
        migrations.AddConstraint(
            model_name='documentversion',
            constraint=models.UniqueConstraint(fields=('store', 'document', 'version_no'), name='version_no_once'),
        ),
        migrations.AddConstraint(
            model_name='documentversion',
            constraint=models.UniqueConstraint(fields=('store', 'uuid'), name='version_uuid'),
        ),
        migrations.AddConstraint(
            model_name='documentversion',
            constraint=models.UniqueConstraint(fields=('store', 'representation_uuid'), name='version_representation'),
        ),
        migrations.AddConstraint(
            model_name='documentversion',
            constraint=models.UniqueConstraint(condition=models.Q(('deleted_at', None), ('superseded_at', None)), fields=('store', 'document'), name='version_one_current'),
        ),
        migrations.AddConstraint(
            model_name='documentversion',
            constraint=models.CheckConstraint(condition=models.Q(('version_no__gt', 0)), name='version_no_positive'),
        ),
        migrations.AddConstraint(
            model_name='documentversion',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['ready', 'deleted'])), name='version_status_known'),
        ),
        migrations.AddIndex(
            model_name='fact',
            index=models.Index(fields=['subject'], name='fact_subject'),
        ),
        migrations.AddIndex(
            model_name='fact',
            index=models.Index(condition=models.Q(('object__isnull', False)), fields=['object'], name='fact_object'),
        ),
        migrations.AddIndex(
            model_name='fact',
            index=models.Index(condition=models.Q(('support', 'withdrawn')), fields=['store', 'number'], name='fact_withdrawn'),
        ),
        migrations.AddConstraint(
            model_name='fact',
            constraint=models.UniqueConstraint(fields=('store', 'number'), name='fact_number'),
        ),
        migrations.AddConstraint(
            model_name='fact',
            constraint=models.UniqueConstraint(fields=('store', 'kind', 'uuid'), name='fact_uuid'),
        ),
        migrations.AddConstraint(
            model_name='fact',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind', 'relation'), ('object__isnull', False), ('statement', ''), models.Q(('predicate', ''), _negated=True)), models.Q(('kind', 'observation'), ('object', None), ('predicate', ''), models.Q(('statement', ''), _negated=True)), _connector='OR'), name='fact_shape'),
        ),
        migrations.AddConstraint(
            model_name='fact',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('valid_from', None), ('valid_precision', 'unknown'), ('valid_until', None)), models.Q(('valid_from__isnull', False), ('valid_precision', 'open'), ('valid_until', None)), models.Q(('valid_from__isnull', False), ('valid_precision__in', ['instant', 'day', 'month', 'quarter', 'year']), ('valid_until__gt', models.F('valid_from'))), models.Q(('valid_from__isnull', False), ('valid_precision__in', ['instant', 'day', 'month', 'quarter', 'year']), ('valid_until', None)), models.Q(('valid_from', None), ('valid_precision__in', ['instant', 'day', 'month', 'quarter', 'year']), ('valid_until__isnull', False)), _connector='OR'), name='fact_window_shape'),
        ),
        migrations.AddConstraint(
            model_name='fact',
            constraint=models.CheckConstraint(condition=models.Q(('support__in', ['current', 'withdrawn'])), name='fact_support_known'),
        ),
        migrations.AddConstraint(
            model_name='fact',
            constraint=models.CheckConstraint(condition=models.Q(('invalidated_at', None), ('invalidated_at__gte', models.F('ingested_at')), _connector='OR'), name='fact_belief_forward'),
        ),
        migrations.AddIndex(
            model_name='contradictionmember',
            index=models.Index(fields=['group'], name='member_group'),
        ),
        migrations.AddIndex(
            model_name='contradictionmember',
            index=models.Index(fields=['fact'], name='member_fact'),
        ),
        migrations.AddConstraint(
            model_name='contradictionmember',
            constraint=models.UniqueConstraint(condition=models.Q(('left_at', None)), fields=('store', 'fact'), name='member_of_one'),
        ),
        migrations.AddIndex(
            model_name='factevidence',
            index=models.Index(fields=['fact'], name='evidence_fact'),
        ),
        migrations.AddIndex(
            model_name='factevidence',
            index=models.Index(fields=['claim'], name='evidence_claim'),
        ),
        migrations.AddConstraint(
            model_name='factevidence',
            constraint=models.UniqueConstraint(fields=('store', 'fact', 'claim'), name='evidence_once'),
        ),
        migrations.AddConstraint(
            model_name='factevidence',
            constraint=models.CheckConstraint(condition=models.Q(('stance__in', ['supports', 'contradicts'])), name='evidence_stance_known'),
        ),
        migrations.AddIndex(
            model_name='factwindow',
            index=models.Index(fields=['fact', 'held_from'], name='past_window_order'),
        ),
        migrations.AddConstraint(
            model_name='factwindow',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('valid_from', None), ('valid_precision', 'unknown'), ('valid_until', None)), models.Q(('valid_from__isnull', False), ('valid_precision', 'open'), ('valid_until', None)), models.Q(('valid_from__isnull', False), ('valid_precision__in', ['instant', 'day', 'month', 'quarter', 'year']), ('valid_until__gt', models.F('valid_from'))), models.Q(('valid_from__isnull', False), ('valid_precision__in', ['instant', 'day', 'month', 'quarter', 'year']), ('valid_until', None)), models.Q(('valid_from', None), ('valid_precision__in', ['instant', 'day', 'month', 'quarter', 'year']), ('valid_until__isnull', False)), _connector='OR'), name='past_window_shape'),
        ),
        migrations.AddConstraint(
            model_name='factwindow',
            constraint=models.CheckConstraint(condition=models.Q(('held_until__gte', models.F('held_from'))), name='past_window_forward'),
        ),
        migrations.AddIndex(
            model_name='mergeevent',
            index=models.Index(fields=['store', 'merged_at'], name='merge_order'),
        ),
        migrations.AddConstraint(
            model_name='mergeevent',
            constraint=models.UniqueConstraint(fields=('store', 'uuid'), name='merge_uuid'),
        ),
        migrations.AddConstraint(
            model_name='mergeevent',
            constraint=models.UniqueConstraint(condition=models.Q(('reversed_at', None)), fields=('store', 'absorbed'), name='merge_in_force'),
        ),
        migrations.AddConstraint(
            model_name='mergeevent',
            constraint=models.CheckConstraint(condition=models.Q(('survivor', models.F('absorbed')), _negated=True), name='merge_of_two'),
        ),
        migrations.AddIndex(
            model_name='passage',
            index=models.Index(fields=['version'], name='passage_version'),
        ),
        migrations.AddConstraint(
            model_name='passage',
            constraint=models.UniqueConstraint(fields=('store', 'version', 'ordinal'), name='passage_ordinal'),
        ),
        migrations.AddConstraint(
            model_name='passage',
            constraint=models.CheckConstraint(condition=models.Q(('char_end__gt', models.F('char_start')), ('char_start__gte', 0), ('ordinal__gte', 0)), name='passage_span_forward'),
        ),
        migrations.AddConstraint(
            model_name='passage',
            constraint=models.CheckConstraint(condition=models.Q(('section_role__in', ['body', 'abstract', 'introduction', 'results', 'methods', 'discussion', 'conclusion', 'references', 'appendix', 'table', 'figure_caption', 'nav', 'boilerplate', 'legal'])), name='passage_role_known'),
        ),
        migrations.AddIndex(
            model_name='windowcitation',
            index=models.Index(fields=['fact'], name='citation_fact'),
        ),
        migrations.AddConstraint(
            model_name='windowcitation',
            constraint=models.UniqueConstraint(fields=('store', 'fact', 'claim'), name='citation_once'),
        ),
    ]
