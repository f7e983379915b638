"""Which key replaces a rotated one, and an index to find keys that expire soon."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cabinet", "0007_user_email_undos"),
    ]

    operations = [
        migrations.AddField(
            model_name="key",
            name="replaced_by",
            field=models.ForeignKey(
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="cabinet.key",
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
    ]
