"""Every table of the first release."""

import django.contrib.auth.models
import django.contrib.auth.validators
import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.lookups
import django.utils.timezone
import pgvector.django.halfvec
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        pgvector.django.VectorExtension(),
        migrations.CreateModel(
            name='EmbeddingSpace',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.TextField()),
                ('dimensions', models.IntegerField()),
                ('fingerprint', models.TextField()),
                ('created_at', models.DateTimeField()),
            ],
            options={
                'db_table': 'mc_embedding_space',
            },
        ),
        migrations.CreateModel(
            name='Entity',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.BigIntegerField()),
                ('uuid', models.UUIDField()),
                ('project_id', models.TextField(default='')),
                ('channel', models.TextField(default='')),
                ('name', models.TextField()),
                ('declared_key', models.TextField()),
                ('declared_by', models.TextField(default='agent')),
                ('created_at', models.DateTimeField()),
            ],
            options={
                'db_table': 'mc_entity',
            },
        ),
        migrations.CreateModel(
            name='SignInFailure',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.BinaryField(max_length=32, unique=True)),
                ('count', models.IntegerField()),
                ('since', models.DateTimeField()),
            ],
            options={
                'db_table': 'mc_sign_in_failure',
            },
        ),
        migrations.CreateModel(
            name='Store',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(max_length=48, unique=True)),
                ('name', models.CharField(max_length=100)),
                ('language', models.CharField(default='english', max_length=16)),
                ('audit', models.CharField(choices=[('required', 'Required'), ('best_effort', 'Best Effort'), ('off', 'Off')], default='required', max_length=16)),
                ('created_at', models.DateTimeField()),
                ('version', models.PositiveIntegerField(default=1)),
                ('deleted_at', models.DateTimeField(null=True)),
                ('active_space', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='memoryconsole.embeddingspace')),
            ],
            options={
                'db_table': 'mc_store',
            },
        ),
        migrations.CreateModel(
            name='User',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('username', models.CharField(error_messages={'unique': 'A user with that username already exists.'}, help_text='Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.', max_length=150, unique=True, validators=[django.contrib.auth.validators.UnicodeUsernameValidator()], verbose_name='username')),
                ('first_name', models.CharField(blank=True, max_length=150, verbose_name='first name')),
                ('last_name', models.CharField(blank=True, max_length=150, verbose_name='last name')),
                ('email', models.EmailField(blank=True, max_length=254, verbose_name='email address')),
                ('is_staff', models.BooleanField(default=False, help_text='Designates whether the user can log into this admin site.', verbose_name='staff status')),
                ('is_active', models.BooleanField(default=True, help_text='Designates whether this user should be treated as active. Unselect this instead of deleting accounts.', verbose_name='active')),
                ('date_joined', models.DateTimeField(default=django.utils.timezone.now, verbose_name='date joined')),
                ('can_create_stores', models.BooleanField(default=False)),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
            ],
            options={
                'db_table': 'mc_user',
            },
            managers=[
                ('objects', django.contrib.auth.models.UserManager()),
            ],
        ),
        migrations.CreateModel(
            name='StoreCounter',
            fields=[
                ('store', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='counter', serialize=False, to='memoryconsole.store')),
                ('record', models.BigIntegerField(default=0)),
                ('summary', models.BigIntegerField(default=0)),
                ('entity', models.BigIntegerField(default=0)),
                ('association', models.BigIntegerField(default=0)),
                ('belief_at', models.DateTimeField(null=True)),
            ],
            options={
                'db_table': 'mc_store_counter',
            },
        ),
        migrations.AddField(
            model_name='store',
            name='created_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL),
        ),
        migrations.CreateModel(
            name='Session',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('session_id', models.TextField()),
                ('created_at', models.DateTimeField()),
                ('store', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store')),
            ],
            options={
                'db_table': 'mc_session',
            },
        ),
        migrations.CreateModel(
            name='Record',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.BigIntegerField()),
                ('uuid', models.UUIDField()),
                ('project_id', models.TextField(default='')),
                ('channel', models.TextField(default='')),
                ('message_id', models.TextField(default='')),
                ('source_type', models.TextField(default='')),
                ('source_id', models.TextField(default='')),
                ('source_name', models.TextField(default='')),
                ('role', models.TextField(default='')),
                ('timestamp', models.TextField(default='')),
                ('instant', models.DateTimeField(null=True)),
                ('content', models.TextField()),
                ('digest', models.BinaryField(max_length=32)),
                ('tool_call_id', models.TextField(default='')),
                ('tool_name', models.TextField(default='')),
                ('tool_calls', models.JSONField(null=True)),
                ('conversation_id', models.TextField(default='')),
                ('created_at', models.DateTimeField()),
                ('believed_at', models.DateTimeField()),
                ('deleted_at', models.DateTimeField(null=True)),
                ('session', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to='memoryconsole.session')),
                ('store', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store')),
            ],
            options={
                'db_table': 'mc_record',
            },
        ),
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('viewer', 'Viewer'), ('operator', 'Operator'), ('admin', 'Admin')], max_length=16)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                ('store', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='memoryconsole.store')),
            ],
            options={
                'db_table': 'mc_membership',
            },
        ),
        migrations.CreateModel(
            name='Job',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField()),
                ('kind', models.TextField()),
                ('arguments', models.JSONField(default=dict)),
                ('state', models.TextField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='queued')),
                ('done', models.BigIntegerField(default=0)),
                ('total', models.BigIntegerField(null=True)),
                ('message', models.TextField(default='')),
                ('errors', models.JSONField(default=list)),
                ('attempts', models.IntegerField(default=0)),
                ('created_at', models.DateTimeField()),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('leased_until', models.DateTimeField(null=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('store', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='jobs', to='memoryconsole.store')),
            ],
            options={
                'db_table': 'mc_job',
            },
        ),
        migrations.CreateModel(
            name='IndexEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.BigIntegerField()),
                ('project_id', models.TextField(null=True)),
                ('channel', models.TextField(null=True)),
                ('source_id', models.TextField(default='')),
                ('instant', models.DateTimeField(null=True)),
                ('stored_at', models.DateTimeField()),
                ('digest', models.BinaryField(max_length=8)),
                ('analyzer', models.SmallIntegerField()),
                ('keys', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
                ('forward', models.BinaryField()),
                ('length', models.IntegerField()),
                ('record', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='entries', to='memoryconsole.record')),
                ('store', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store')),
            ],
            options={
                'db_table': 'mc_index_entry',
            },
        ),
        migrations.CreateModel(
            name='IdempotencyKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('route', models.TextField()),
                ('key', models.TextField()),
                ('body_digest', models.BinaryField(max_length=32)),
                ('status', models.IntegerField()),
                ('answer', models.JSONField()),
                ('created_at', models.DateTimeField()),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL)),
                ('store', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store')),
            ],
            options={
                'db_table': 'mc_idempotency_key',
            },
        ),
        migrations.CreateModel(
            name='EntryVector',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('embedding', pgvector.django.halfvec.HalfVectorField()),
                ('space', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.embeddingspace')),
                ('entry', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='vectors', to='memoryconsole.indexentry')),
                ('store', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store')),
            ],
            options={
                'db_table': 'mc_entry_vector',
            },
        ),
        migrations.CreateModel(
            name='EntityAlias',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('project_id', models.TextField(default='')),
                ('channel', models.TextField(default='')),
                ('alias', models.TextField()),
                ('declared_key', models.TextField()),
                ('entity', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='aliases', to='memoryconsole.entity')),
                ('store', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store')),
            ],
            options={
                'db_table': 'mc_entity_alias',
            },
        ),
        migrations.AddField(
            model_name='entity',
            name='store',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store'),
        ),
        migrations.AddField(
            model_name='embeddingspace',
            name='store',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='spaces', to='memoryconsole.store'),
        ),
        migrations.CreateModel(
            name='StoreSettings',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField()),
                ('changed_at', models.DateTimeField()),
                ('default_count', models.IntegerField(null=True)),
                ('max_count', models.IntegerField(null=True)),
                ('forced_count', models.IntegerField(null=True)),
                ('top_k', models.IntegerField(null=True)),
                ('max_hops', models.IntegerField(null=True)),
                ('max_evidence', models.IntegerField(null=True)),
                ('adjacency_seconds', models.IntegerField(null=True)),
                ('default_budget', models.IntegerField(null=True)),
                ('max_budget', models.IntegerField(null=True)),
                ('forced_budget', models.IntegerField(null=True)),
                ('preview_chars', models.IntegerField(null=True)),
                ('library_max', models.IntegerField(null=True)),
                ('changed_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('store', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='settings_history', to='memoryconsole.store')),
            ],
            options={
                'db_table': 'mc_store_settings',
            },
        ),
        migrations.CreateModel(
            name='Summary',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.BigIntegerField()),
                ('uuid', models.UUIDField()),
                ('project_id', models.TextField(default='', null=True)),
                ('channel', models.TextField(default='', null=True)),
                ('depth', models.IntegerField(default=0)),
                ('source_type', models.TextField(choices=[('', 'None'), ('messages', 'Messages'), ('nodes', 'Nodes')], default='')),
                ('summary', models.TextField()),
                ('digest', models.BinaryField(max_length=32)),
                ('start', models.TextField(default='')),
                ('end', models.TextField(default='')),
                ('earliest_at', models.DateTimeField(null=True)),
                ('latest_at', models.DateTimeField(null=True)),
                ('token_count', models.IntegerField(default=0)),
                ('source_token_count', models.IntegerField(default=0)),
                ('expand_hint', models.TextField(default='')),
                ('sources_gone', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField()),
                ('believed_at', models.DateTimeField()),
                ('deleted_at', models.DateTimeField(null=True)),
                ('session', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to='memoryconsole.session')),
                ('store', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store')),
            ],
            options={
                'db_table': 'mc_summary',
            },
        ),
        migrations.CreateModel(
            name='RecordNode',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('index', models.IntegerField()),
                ('start', models.IntegerField()),
                ('end', models.IntegerField()),
                ('token_count', models.IntegerField(null=True)),
                ('embedding', pgvector.django.halfvec.HalfVectorField(null=True)),
                ('record', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='nodes', to='memoryconsole.record')),
                ('space', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.embeddingspace')),
                ('store', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store')),
                ('summary', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='nodes', to='memoryconsole.summary')),
            ],
            options={
                'db_table': 'mc_record_node',
            },
        ),
        migrations.CreateModel(
            name='Mention',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('declared_by', models.TextField(default='agent')),
                ('created_at', models.DateTimeField()),
                ('entity', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='mentions', to='memoryconsole.entity')),
                ('record', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.record')),
                ('store', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store')),
                ('summary', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.summary')),
            ],
            options={
                'db_table': 'mc_mention',
            },
        ),
        migrations.AddField(
            model_name='indexentry',
            name='summary',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='entries', to='memoryconsole.summary'),
        ),
        migrations.CreateModel(
            name='Association',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.BigIntegerField()),
                ('project_id', models.TextField(default='')),
                ('channel', models.TextField(default='')),
                ('predicate', models.TextField()),
                ('declared_by', models.TextField(default='agent')),
                ('declared_at', models.DateTimeField()),
                ('object_entity', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memoryconsole.entity')),
                ('subject_entity', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memoryconsole.entity')),
                ('anchor_record', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memoryconsole.record')),
                ('object_record', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memoryconsole.record')),
                ('subject_record', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memoryconsole.record')),
                ('store', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store')),
                ('anchor_summary', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memoryconsole.summary')),
                ('object_summary', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memoryconsole.summary')),
                ('subject_summary', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memoryconsole.summary')),
            ],
            options={
                'db_table': 'mc_association',
            },
        ),
        migrations.CreateModel(
            name='SummarySource',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('source_index', models.IntegerField()),
                ('number', models.BigIntegerField()),
                ('child', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='parents', to='memoryconsole.summary')),
                ('record', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to='memoryconsole.record')),
                ('store', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='memoryconsole.store')),
                ('summary', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='sources', to='memoryconsole.summary')),
            ],
            options={
                'db_table': 'mc_summary_source',
            },
        ),
        migrations.CreateModel(
            name='Token',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('prefix', models.CharField(max_length=12)),
                ('digest', models.BinaryField(max_length=32, unique=True)),
                ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('read', 'Read'), ('write', 'Write'), ('declare', 'Declare'), ('operate', 'Operate')], max_length=16), size=None)),
                ('created_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField(null=True)),
                ('revoked_at', models.DateTimeField(null=True)),
                ('last_used_at', models.DateTimeField(null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tokens', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'db_table': 'mc_token',
            },
        ),
        migrations.CreateModel(
            name='TokenGrant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('store', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='grants', to='memoryconsole.store')),
                ('token', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='grants', to='memoryconsole.token')),
            ],
            options={
                'db_table': 'mc_token_grant',
            },
        ),
        migrations.AddConstraint(
            model_name='store',
            constraint=models.CheckConstraint(condition=models.Q(('audit__in', ['required', 'best_effort', 'off'])), name='store_audit_known'),
        ),
        migrations.AddConstraint(
            model_name='session',
            constraint=models.UniqueConstraint(fields=('store', 'session_id'), name='session_id_once'),
        ),
        migrations.AddIndex(
            model_name='record',
            index=models.Index(condition=models.Q(('message_id', ''), _negated=True), fields=['store', 'project_id', 'message_id', '-number'], name='record_versions'),
        ),
        migrations.AddIndex(
            model_name='record',
            index=models.Index(fields=['store', 'session', 'instant', 'number'], name='record_session_order'),
        ),
        migrations.AddIndex(
            model_name='record',
            index=models.Index(condition=models.Q(('deleted_at', None), _negated=True), fields=['store', 'deleted_at'], name='record_erasing'),
        ),
        migrations.AddConstraint(
            model_name='record',
            constraint=models.UniqueConstraint(fields=('store', 'number'), name='record_number'),
        ),
        migrations.AddConstraint(
            model_name='record',
            constraint=models.UniqueConstraint(fields=('store', 'uuid'), name='record_uuid'),
        ),
        migrations.AddConstraint(
            model_name='record',
            constraint=models.CheckConstraint(condition=models.Q(('number__gt', 0)), name='record_number_positive'),
        ),
        migrations.AddConstraint(
            model_name='record',
            constraint=models.CheckConstraint(condition=models.Q(('source_type__in', ['', 'User', 'Agent', 'System'])), name='record_source_type_known'),
        ),
        migrations.AddConstraint(
            model_name='record',
            constraint=models.CheckConstraint(condition=django.db.models.lookups.LessThanOrEqual(models.Func(models.F('content'), function='char_length', output_field=models.IntegerField()), 200000), name='record_content_length'),
        ),
        migrations.AddConstraint(
            model_name='membership',
            constraint=models.UniqueConstraint(fields=('store', 'user'), name='membership_once'),
        ),
        migrations.AddConstraint(
            model_name='membership',
            constraint=models.CheckConstraint(condition=models.Q(('role__in', ['viewer', 'operator', 'admin'])), name='membership_role_known'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('state__in', ['queued', 'running'])), fields=['state', 'leased_until'], name='job_waiting'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.UniqueConstraint(fields=('store', 'uuid'), name='job_uuid'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['queued', 'running', 'done', 'failed', 'cancelled'])), name='job_state_known'),
        ),
        migrations.AddConstraint(
            model_name='idempotencykey',
            constraint=models.UniqueConstraint(fields=('store', 'user', 'route', 'key'), name='idempotency_key_once', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='entryvector',
            constraint=models.UniqueConstraint(fields=('store', 'space', 'entry'), name='entry_vector_once'),
        ),
        migrations.AddIndex(
            model_name='entityalias',
            index=models.Index(fields=['store', 'declared_key'], name='alias_key'),
        ),
        migrations.AddConstraint(
            model_name='entityalias',
            constraint=models.UniqueConstraint(fields=('store', 'entity', 'project_id', 'channel', 'declared_key'), name='alias_once'),
        ),
        migrations.AddIndex(
            model_name='entity',
            index=models.Index(fields=['store', 'declared_key'], name='entity_key'),
        ),
        migrations.AddConstraint(
            model_name='entity',
            constraint=models.UniqueConstraint(fields=('store', 'number'), name='entity_number'),
        ),
        migrations.AddConstraint(
            model_name='entity',
            constraint=models.UniqueConstraint(fields=('store', 'uuid'), name='entity_uuid'),
        ),
        migrations.AddConstraint(
            model_name='entity',
            constraint=models.CheckConstraint(condition=models.Q(('declared_by__in', ['agent', 'operator'])), name='entity_declared_by'),
        ),
        migrations.AddConstraint(
            model_name='embeddingspace',
            constraint=models.UniqueConstraint(fields=('store', 'name', 'fingerprint'), name='embedding_space_once'),
        ),
        migrations.AddConstraint(
            model_name='embeddingspace',
            constraint=models.CheckConstraint(condition=models.Q(('dimensions__gt', 0)), name='embedding_space_dimensions'),
        ),
        migrations.AddConstraint(
            model_name='storesettings',
            constraint=models.UniqueConstraint(fields=('store', 'version'), name='store_settings_version'),
        ),
        migrations.AddIndex(
            model_name='summary',
            index=models.Index(fields=['store', 'session'], name='summary_session'),
        ),
        migrations.AddIndex(
            model_name='summary',
            index=models.Index(condition=models.Q(('deleted_at', None), _negated=True), fields=['store', 'deleted_at'], name='summary_erasing'),
        ),
        migrations.AddConstraint(
            model_name='summary',
            constraint=models.UniqueConstraint(fields=('store', 'number'), name='summary_number'),
        ),
        migrations.AddConstraint(
            model_name='summary',
            constraint=models.UniqueConstraint(fields=('store', 'uuid'), name='summary_uuid'),
        ),
        migrations.AddConstraint(
            model_name='summary',
            constraint=models.CheckConstraint(condition=models.Q(('number__gt', 0)), name='summary_number_positive'),
        ),
        migrations.AddConstraint(
            model_name='summary',
            constraint=models.CheckConstraint(condition=models.Q(('source_type__in', ['', 'messages', 'nodes'])), name='summary_source_type_known'),
        ),
        migrations.AddConstraint(
            model_name='summary',
            constraint=models.CheckConstraint(condition=models.Q(('depth__gte', 0)), name='summary_depth'),
        ),
        migrations.AddConstraint(
            model_name='summary',
            constraint=models.CheckConstraint(condition=models.Q(('earliest_at', None), ('latest_at', None), ('earliest_at__lte', models.F('latest_at')), _connector='OR'), name='summary_span_forward'),
        ),
        migrations.AddConstraint(
            model_name='summary',
            constraint=models.CheckConstraint(condition=django.db.models.lookups.LessThanOrEqual(models.Func(models.F('summary'), function='char_length', output_field=models.IntegerField()), 200000), name='summary_length'),
        ),
        migrations.AddConstraint(
            model_name='recordnode',
            constraint=models.UniqueConstraint(fields=('store', 'record', 'summary', 'index'), name='node_index', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='recordnode',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('record', None), ('summary__isnull', False)), models.Q(('record__isnull', False), ('summary', None)), _connector='OR'), name='node_one_parent'),
        ),
        migrations.AddConstraint(
            model_name='recordnode',
            constraint=models.CheckConstraint(condition=models.Q(('end__gt', models.F('start')), ('index__gte', 0), ('start__gte', 0)), name='node_span_forward'),
        ),
        migrations.AddIndex(
            model_name='mention',
            index=models.Index(fields=['store', 'record'], name='mention_record'),
        ),
        migrations.AddIndex(
            model_name='mention',
            index=models.Index(fields=['store', 'summary'], name='mention_summary'),
        ),
        migrations.AddConstraint(
            model_name='mention',
            constraint=models.UniqueConstraint(fields=('store', 'entity', 'record', 'summary'), name='mention_once', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='mention',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('record__isnull', False), ('summary__isnull', True)), models.Q(('record__isnull', True), ('summary__isnull', False)), _connector='OR'), name='mention_one_place'),
        ),
        migrations.AddConstraint(
            model_name='mention',
            constraint=models.CheckConstraint(condition=models.Q(('declared_by__in', ['agent', 'operator'])), name='mention_declared_by'),
        ),
        migrations.AddIndex(
            model_name='indexentry',
            index=models.Index(fields=['store', 'stored_at', 'number'], include=('id', 'record', 'project_id', 'channel'), name='index_entry_stored'),
        ),
        migrations.AddIndex(
            model_name='indexentry',
            index=models.Index(condition=models.Q(('record__isnull', False)), fields=['record'], name='index_entry_record'),
        ),
        migrations.AddIndex(
            model_name='indexentry',
            index=models.Index(condition=models.Q(('summary__isnull', False)), fields=['summary'], name='index_entry_summary'),
        ),
        migrations.AddIndex(
            model_name='indexentry',
            index=django.contrib.postgres.indexes.GinIndex(fastupdate=False, fields=['keys'], name='index_entry_keys'),
        ),
        migrations.AddConstraint(
            model_name='indexentry',
            constraint=models.UniqueConstraint(fields=('store', 'record', 'summary'), name='index_entry_once', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='indexentry',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('record__isnull', False), ('summary__isnull', True)), models.Q(('record__isnull', True), ('summary__isnull', False)), _connector='OR'), name='index_entry_one_row'),
        ),
        migrations.AddIndex(
            model_name='association',
            index=models.Index(fields=['store', 'subject_entity'], name='association_subject_entity'),
        ),
        migrations.AddIndex(
            model_name='association',
            index=models.Index(fields=['store', 'object_entity'], name='association_object_entity'),
        ),
        migrations.AddIndex(
            model_name='association',
            index=models.Index(fields=['store', 'subject_record'], name='association_subject_record'),
        ),
        migrations.AddIndex(
            model_name='association',
            index=models.Index(fields=['store', 'subject_summary'], name='association_subject_summary'),
        ),
        migrations.AddConstraint(
            model_name='association',
            constraint=models.UniqueConstraint(fields=('store', 'number'), name='association_number'),
        ),
        migrations.AddConstraint(
            model_name='association',
            constraint=models.UniqueConstraint(fields=('store', 'project_id', 'channel', 'predicate', 'subject_entity', 'subject_record', 'subject_summary', 'object_entity', 'object_record', 'object_summary', 'anchor_record', 'anchor_summary'), name='association_once', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='association',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('subject_entity__isnull', False), ('subject_record__isnull', True), ('subject_summary__isnull', True)), models.Q(('subject_entity__isnull', True), ('subject_record__isnull', False), ('subject_summary__isnull', True)), models.Q(('subject_entity__isnull', True), ('subject_record__isnull', True), ('subject_summary__isnull', False)), _connector='OR'), name='association_one_subject'),
        ),
        migrations.AddConstraint(
            model_name='association',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('object_entity__isnull', False), ('object_record__isnull', True), ('object_summary__isnull', True)), models.Q(('object_entity__isnull', True), ('object_record__isnull', False), ('object_summary__isnull', True)), models.Q(('object_entity__isnull', True), ('object_record__isnull', True), ('object_summary__isnull', False)), _connector='OR'), name='association_one_object'),
        ),
        migrations.AddConstraint(
            model_name='association',
            constraint=models.CheckConstraint(condition=models.Q(('anchor_record', None), ('anchor_summary', None), _connector='OR'), name='association_one_anchor'),
        ),
        migrations.AddConstraint(
            model_name='association',
            constraint=models.CheckConstraint(condition=models.Q(('declared_by__in', ['agent', 'operator'])), name='association_declared_by'),
        ),
        migrations.AddConstraint(
            model_name='summarysource',
            constraint=models.UniqueConstraint(fields=('store', 'summary', 'source_index'), name='summary_source_place'),
        ),
        migrations.AddConstraint(
            model_name='summarysource',
            constraint=models.CheckConstraint(condition=models.Q(('record', None), ('child', None), _connector='OR'), name='summary_source_one_kind'),
        ),
        migrations.AddConstraint(
            model_name='summarysource',
            constraint=models.CheckConstraint(condition=models.Q(('source_index__gte', 0)), name='summary_source_index'),
        ),
        migrations.AddConstraint(
            model_name='tokengrant',
            constraint=models.UniqueConstraint(fields=('store', 'token'), name='token_grant_once'),
        ),
    ]
