"""Announcements, which operators write and every page shows."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cabinet", "0010_last_backup"),
    ]

    operations = [
        migrations.CreateModel(
            name="Announcement",
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
                ("text_en", models.CharField(blank=True, default="", max_length=300)),
                ("text_ru", models.CharField(blank=True, default="", max_length=300)),
                (
                    "level",
                    models.CharField(
                        choices=[
                            ("notice", "Notice"),
                            ("maintenance", "Maintenance"),
                            ("disruption", "Disruption"),
                        ],
                        max_length=12,
                    ),
                ),
                ("starts_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField(db_index=True)),
            ],
        ),
    ]
