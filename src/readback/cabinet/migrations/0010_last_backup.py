"""When the last backup was made, so that every cabinet can show it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cabinet", "0009_retention"),
    ]

    operations = [
        migrations.CreateModel(
            name="LastBackup",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("at", models.DateTimeField()),
            ],
        ),
    ]
