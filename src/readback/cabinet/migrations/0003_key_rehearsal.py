"""The pattern of a rehearsal key. The default of the column is for older versions."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("cabinet", "0002_audit_entry")]

    operations = [
        migrations.AddField(
            model_name="key",
            name="rehearsal",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                max_length=139,
                verbose_name="rehearsal",
            ),
        ),
    ]
