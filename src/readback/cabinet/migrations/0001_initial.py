"""All tables of the cabinet, as `readback.api.data.store` knows them."""

from secrets import token_bytes
from typing import Any

import django.db.models.deletion
import django.db.models.functions.text
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


def make_network_key(apps: Any, editor: Any) -> None:
    """Make the key once, so that all processes hash addresses with the same one."""
    apps.get_model("cabinet", "NetworkKey").objects.create(key=token_bytes(32))


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.CreateModel(
            name="Address",
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
                ("base_url", models.CharField(max_length=400)),
                ("since", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name="CacheEntry",
            fields=[
                (
                    "cache_key",
                    models.CharField(max_length=255, primary_key=True, serialize=False),
                ),
                ("value", models.TextField()),
                ("expires", models.DateTimeField(db_index=True)),
            ],
            options={
                "db_table": "cabinet_cache",
            },
        ),
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
        migrations.CreateModel(
            name="MailTotal",
            fields=[
                (
                    "outcome",
                    models.CharField(max_length=10, primary_key=True, serialize=False),
                ),
                ("mails", models.BigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="UsageWriter",
            fields=[
                (
                    "id",
                    models.BigIntegerField(primary_key=True, serialize=False),
                ),
                ("batch", models.BigIntegerField()),
                ("at", models.DateTimeField()),
            ],
        ),
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
            name="User",
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
                ("password", models.CharField(max_length=128, verbose_name="password")),
                (
                    "last_login",
                    models.DateTimeField(
                        blank=True, null=True, verbose_name="last login"
                    ),
                ),
                (
                    "email",
                    models.EmailField(
                        max_length=254, unique=True, verbose_name="e-mail address"
                    ),
                ),
                ("is_active", models.BooleanField(default=True, verbose_name="active")),
                (
                    "is_staff",
                    models.BooleanField(default=False, verbose_name="operator"),
                ),
                (
                    "date_joined",
                    models.DateTimeField(
                        default=django.utils.timezone.now, verbose_name="joined"
                    ),
                ),
                ("language", models.CharField(blank=True, default="", max_length=2)),
            ],
            options={
                "verbose_name": "account",
                "verbose_name_plural": "accounts",
            },
        ),
        migrations.CreateModel(
            name="Key",
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
                    "label",
                    models.CharField(
                        blank=True, default="", max_length=60, verbose_name="name"
                    ),
                ),
                ("digest", models.BinaryField(max_length=32, unique=True)),
                ("last_four", models.CharField(max_length=4)),
                (
                    "created_at",
                    models.DateTimeField(
                        default=django.utils.timezone.now, verbose_name="created"
                    ),
                ),
                (
                    "expires_at",
                    models.DateTimeField(blank=True, null=True, verbose_name="expires"),
                ),
                (
                    "revoked_at",
                    models.DateTimeField(blank=True, null=True, verbose_name="revoked"),
                ),
                ("reminded_at", models.DateTimeField(editable=False, null=True)),
                (
                    "last_used_at",
                    models.DateTimeField(
                        blank=True, null=True, verbose_name="last used"
                    ),
                ),
                (
                    "explains_refusals",
                    models.BooleanField(db_default=False, default=False),
                ),
                ("last_created", models.BigIntegerField(editable=False, null=True)),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="keys",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="owner",
                    ),
                ),
                (
                    "replaced_by",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="cabinet.key",
                        verbose_name="new key",
                    ),
                ),
            ],
            options={
                "verbose_name": "key",
                "verbose_name_plural": "keys",
            },
        ),
        migrations.CreateModel(
            name="JournalEntry",
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
                ("accepted", models.BooleanField()),
                ("at", models.DateTimeField()),
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
                ("status", models.SmallIntegerField()),
                ("code", models.CharField(blank=True, default="", max_length=40)),
                ("detail", models.CharField(blank=True, default="", max_length=1000)),
                (
                    "differences",
                    models.CharField(
                        blank=True, db_default="", default="", max_length=400
                    ),
                ),
                ("request_bytes", models.IntegerField(default=0)),
                ("answer_bytes", models.IntegerField(default=0)),
                ("user_agent", models.CharField(blank=True, default="", max_length=80)),
                (
                    "client_address",
                    models.CharField(blank=True, default="", max_length=45),
                ),
                ("requests", models.IntegerField(default=1)),
                (
                    "key",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="journal",
                        to="cabinet.key",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="OutgoingMail",
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
                ("template", models.CharField(max_length=60)),
                ("address", models.EmailField(max_length=254)),
                ("sealed", models.TextField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "due_at",
                    models.DateTimeField(
                        db_index=True, default=django.utils.timezone.now
                    ),
                ),
                ("expires_at", models.DateTimeField()),
                ("attempts", models.PositiveIntegerField(default=0)),
                (
                    "account",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
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
        migrations.CreateModel(
            name="Usage",
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
                ("hour", models.DateTimeField()),
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
                ("code", models.CharField(blank=True, default="", max_length=40)),
                ("requests", models.BigIntegerField(default=0)),
                (
                    "key",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="usage",
                        to="cabinet.key",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="user",
            constraint=models.UniqueConstraint(
                django.db.models.functions.text.Lower("email"),
                name="cabinet_user_email_any_case",
            ),
        ),
        migrations.AddIndex(
            model_name="key",
            index=models.Index(
                condition=models.Q(("expires_at__isnull", False), ("revoked_at", None)),
                fields=["expires_at"],
                name="cabinet_key_expiry",
            ),
        ),
        migrations.AddIndex(
            model_name="journalentry",
            index=models.Index(
                fields=["key", "accepted", "id"], name="cabinet_journal_last"
            ),
        ),
        migrations.AddIndex(
            model_name="journalentry",
            index=models.Index(fields=["at"], name="cabinet_journal_at"),
        ),
        migrations.AddIndex(
            model_name="usage",
            index=models.Index(fields=["hour"], name="cabinet_usage_hour"),
        ),
        migrations.AddConstraint(
            model_name="usage",
            constraint=models.UniqueConstraint(
                fields=("key", "hour", "endpoint", "code"), name="cabinet_usage_cell"
            ),
        ),
        migrations.RunPython(make_network_key, migrations.RunPython.noop),
    ]
