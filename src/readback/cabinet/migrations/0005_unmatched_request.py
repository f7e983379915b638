"""Requests without an accepted key, and the key that hides their addresses."""

from secrets import token_bytes
from typing import Any

from django.db import migrations, models


def make_network_key(apps: Any, editor: Any) -> None:
    apps.get_model("cabinet", "NetworkKey").objects.create(key=token_bytes(32))


class Migration(migrations.Migration):
    dependencies = [
        ("cabinet", "0004_differences"),
    ]

    operations = [
        migrations.CreateModel(
            name="NetworkKey",
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
                ("key", models.BinaryField(max_length=32)),
            ],
        ),
        migrations.CreateModel(
            name="UnmatchedRequest",
            fields=[
                ("cell", models.IntegerField(primary_key=True, serialize=False)),
                ("network", models.BinaryField(db_index=True, max_length=16)),
                ("digest", models.BinaryField(max_length=16)),
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
        ),
        migrations.RunPython(make_network_key, migrations.RunPython.noop),
    ]
