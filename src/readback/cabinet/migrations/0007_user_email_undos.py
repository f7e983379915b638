"""When changes of an account's address were undone."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cabinet", "0006_invitations_and_reminders"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="email_undos",
            field=models.JSONField(editable=False, null=True),
        ),
    ]
