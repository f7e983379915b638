"""When the owner of an account was told that it will be deactivated as a leaver."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cabinet", "0011_announcement"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="leave_notice_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
    ]
