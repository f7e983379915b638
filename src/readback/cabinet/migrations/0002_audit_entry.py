"""The audit trail in a table of its own, whose rows outlive the account of an author.

Django's table keeps its rows: the previous version still uses it during the upgrade.
"""

from typing import Any

import django.utils.timezone
from django.db import migrations, models


def copy_entries(apps: Any, editor: Any) -> None:
    entries = apps.get_model("admin", "LogEntry").objects.order_by("pk")
    copies = apps.get_model("cabinet", "AuditEntry").objects
    for entry in entries.select_related("user", "content_type").iterator():
        model = entry.content_type.model
        copies.create(
            at=entry.action_time,
            by=entry.user.email,
            by_id=entry.user_id,
            object_type="account" if model == "user" else model,
            object_id=int(entry.object_id),
            object_name=entry.object_repr,
            change=entry.change_message,
        )


class Migration(migrations.Migration):
    dependencies = [
        ("cabinet", "0001_initial"),
        ("admin", "0003_logentry_add_action_flag_choices"),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditEntry",
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
                (
                    "at",
                    models.DateTimeField(
                        default=django.utils.timezone.now, verbose_name="time"
                    ),
                ),
                ("by", models.EmailField(max_length=254, verbose_name="operator")),
                ("by_id", models.BigIntegerField()),
                ("object_type", models.CharField(max_length=20, verbose_name="table")),
                ("object_id", models.BigIntegerField()),
                (
                    "object_name",
                    models.CharField(max_length=254, verbose_name="object"),
                ),
                ("change", models.CharField(max_length=100, verbose_name="change")),
            ],
            options={
                "verbose_name": "action",
                "verbose_name_plural": "actions",
                "indexes": [
                    models.Index(
                        fields=["object_type", "object_id"], name="cabinet_audit"
                    )
                ],
            },
        ),
        migrations.RunPython(copy_entries, migrations.RunPython.noop),
    ]
