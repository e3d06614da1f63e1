"""The table of what a part of a store's index comes to, and the index of what was added to a part."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memoryconsole", "0009_job_lists")]
    operations = [
        migrations.CreateModel(
            name="IndexPart",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("part", models.SmallIntegerField(choices=[(0, "Recall"), (1, "Graph"), (2, "Claim"), (3, "Fact"), (4, "Profile")])),
                ("entries", models.BigIntegerField()),
                ("last", models.BigIntegerField()),
                ("removals", models.BigIntegerField(default=0)),
                ("store", models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to="memoryconsole.store")),
            ],
            options={"db_table": "mc_index_part"},
        ),
        migrations.AddConstraint(
            model_name="indexpart",
            constraint=models.UniqueConstraint(fields=("store", "part"), name="index_part_once"),
        ),
        migrations.RemoveIndex(model_name="indexentry", name="index_entry_parts"),
        migrations.AddIndex(
            model_name="indexentry",
            index=models.Index(fields=["store", "part", "id"], name="index_entry_parts"),
        ),
    ]
