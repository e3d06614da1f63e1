"""Foreign keys cascade in PostgreSQL too."""

from django.db import migrations

from memoryconsole.models.on_delete import write_on_delete


class Migration(migrations.Migration):
    dependencies = [("memoryconsole", "0001_initial")]
    operations = [migrations.RunPython(write_on_delete, migrations.RunPython.noop)]
