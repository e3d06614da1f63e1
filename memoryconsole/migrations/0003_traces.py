import django.contrib.postgres.fields
import django.contrib.postgres.indexes
from django.contrib.postgres.operations import BtreeGinExtension
import django.db.models.deletion
import memoryconsole.models.traces
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memoryconsole', '0002_on_delete'),
    ]

    operations = [
        # An index over (store, quoted) begins with the store, as every index does.
        BtreeGinExtension(),
        migrations.CreateModel(
            name='JobChunk',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('index', models.IntegerField()),
                ('data', models.BinaryField()),
            ],
            options={
                'db_table': 'mc_job_chunk',
            },
        ),
        migrations.CreateModel(
            name='LostTraces',
            fields=[
                ('store', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='lost_traces', serialize=False, to='memoryconsole.store')),
                ('count', models.BigIntegerField(default=0)),
                ('last_at', models.DateTimeField()),
            ],
            options={
                'db_table': 'mc_lost_traces',
            },
        ),
        migrations.CreateModel(
            name='SessionNotice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('session', models.BinaryField(max_length=16)),
                ('heard', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None)),
                ('at', models.DateTimeField()),
            ],
            options={
                'db_table': 'mc_session_notice',
            },
        ),
        migrations.CreateModel(
            name='Trace',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('operation', models.TextField()),
                ('outcome', models.TextField(choices=[('answered', 'Answered'), ('empty', 'Empty'), ('refused', 'Refused')])),
                ('reason', models.TextField(default='')),
                ('degraded', models.BooleanField(default=False)),
                ('asked_at', models.DateTimeField()),
                ('request_id', models.TextField()),
                ('agent_run', models.TextField(default='')),
                ('traceparent', models.TextField(default='')),
                ('labels', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None)),
                ('rerun_of', models.UUIDField(null=True)),
                ('core', models.TextField()),
                ('request', models.JSONField()),
                ('policy', models.JSONField(default=dict)),
                ('seen', memoryconsole.models.traces.PackedJSON(default=dict)),
                ('told', memoryconsole.models.traces.PackedJSON(default=dict)),
                ('notices', models.JSONField(default=dict)),
                ('stages', models.JSONField(default=list)),
                ('duration_us', models.BigIntegerField()),
                ('digest', models.BinaryField(max_length=32)),
                ('quoted', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), default=list, size=None)),
            ],
            options={
                'db_table': 'mc_trace',
            },
        ),
        migrations.AddField(
            model_name='job',
            name='failures',
            field=models.IntegerField(default=0),
        ),
        migrations.AddField(
            model_name='job',
            name='progress',
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name='store',
            name='trace_days',
            field=models.IntegerField(null=True),
        ),
        migrations.AddConstraint(
            model_name='store',
            constraint=models.CheckConstraint(condition=models.Q(('trace_days', None), ('trace_days__gt', 0), _connector='OR'), name='store_trace_days'),
        ),
        migrations.AddField(
            model_name='jobchunk',
            name='job',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='chunks', to='memoryconsole.job'),
        ),
        migrations.AddField(
            model_name='jobchunk',
            name='store',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store'),
        ),
        migrations.AddField(
            model_name='sessionnotice',
            name='store',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store'),
        ),
        migrations.AddField(
            model_name='trace',
            name='store',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='traces', to='memoryconsole.store'),
        ),
        migrations.AddField(
            model_name='trace',
            name='token',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='memoryconsole.token'),
        ),
        migrations.AddField(
            model_name='trace',
            name='user',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddConstraint(
            model_name='jobchunk',
            constraint=models.UniqueConstraint(fields=('store', 'job', 'index'), name='job_chunk_index'),
        ),
        migrations.AddIndex(
            model_name='sessionnotice',
            index=models.Index(fields=['store', 'at'], name='session_notice_oldest'),
        ),
        migrations.AddConstraint(
            model_name='sessionnotice',
            constraint=models.UniqueConstraint(fields=('store', 'session'), name='session_notice_once'),
        ),
        migrations.AddIndex(
            model_name='trace',
            index=models.Index(fields=['store', 'asked_at', 'id'], name='trace_newest'),
        ),
        migrations.AddIndex(
            model_name='trace',
            index=django.contrib.postgres.indexes.GinIndex(fields=['store', 'quoted'], name='trace_quoted'),
        ),
        migrations.AddConstraint(
            model_name='trace',
            constraint=models.CheckConstraint(condition=models.Q(('outcome__in', ['answered', 'empty', 'refused'])), name='trace_outcome_known'),
        ),
        migrations.AddConstraint(
            model_name='trace',
            constraint=models.CheckConstraint(condition=models.Q(('labels__len__lte', 8), ('labels__len', None), _connector='OR'), name='trace_labels_few'),
        ),
    ]
