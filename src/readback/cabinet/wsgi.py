"""The cabinet's WSGI application; `server.py` runs it with a sender of mails."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "readback.cabinet.settings")
application = get_wsgi_application()

# These need Django to be set up.
from readback.cabinet import checks  # noqa: E402
from readback.cabinet.serving import security_log  # noqa: E402

security_log.write_to_stderr()
checks.log_warnings()
