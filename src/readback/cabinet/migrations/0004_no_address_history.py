"""The history of the API's address is gone.

Its table stays, because version 1.0.0 writes to it at each start. A later version may
drop it.
"""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("cabinet", "0003_key_rehearsal")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.DeleteModel(name="Address")]
        ),
    ]
