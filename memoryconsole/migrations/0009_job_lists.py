"""Lists of jobs, and what is old enough to go, by index."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memoryconsole', '0008_testimony_rows'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='idempotencykey',
            index=models.Index(fields=['created_at'], name='idempotency_key_age'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(fields=['store', 'created_at', 'uuid'], name='job_listed'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('finished_at__isnull', False)), fields=['finished_at'], name='job_ended'),
        ),
    ]
