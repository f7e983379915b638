"""Unmatched requests as plain rows; they live for minutes, so none are moved."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cabinet", "0012_leave_notice"),
    ]

    operations = [
        migrations.DeleteModel(name="UnmatchedRequest"),
        migrations.CreateModel(
            name="UnmatchedRequest",
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
                ("network", models.BinaryField(max_length=16)),
                ("at", models.DateTimeField(db_index=True)),
                (
                    "endpoint",
                    models.CharField(
                        choices=[
                            ("models", "models"),
                            ("chat", "chat"),
                            ("other", "other"),
                        ],
                        max_length=8,
                    ),
                ),
                ("code", models.CharField(max_length=40)),
                ("detail", models.CharField(blank=True, default="", max_length=1000)),
                ("user_agent", models.CharField(blank=True, default="", max_length=80)),
                ("requests", models.BigIntegerField(default=1)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["network", "id"], name="cabinet_unmatched")
                ],
            },
        ),
    ]
