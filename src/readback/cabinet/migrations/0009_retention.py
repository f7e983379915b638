"""Indexes by time, so that expired usage and journal are found whatever their ids."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cabinet", "0008_key_rotation"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="usage",
            index=models.Index(fields=["hour"], name="cabinet_usage_hour"),
        ),
        migrations.AddIndex(
            model_name="journalentry",
            index=models.Index(fields=["at"], name="cabinet_journal_at"),
        ),
    ]
