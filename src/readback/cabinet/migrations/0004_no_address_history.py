"""The history of the API's address is gone; its table stays for older versions."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("cabinet", "0003_key_rehearsal")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.DeleteModel(name="Address")]
        ),
    ]
