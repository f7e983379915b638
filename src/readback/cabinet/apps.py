"""The cabinet's Django app, and the warnings of a server that starts."""

import logging

from django.apps import AppConfig
from django.conf import settings

from readback.cabinet.mail import backends

_log = logging.getLogger("readback.cabinet.checks")


class CabinetConfig(AppConfig):
    """The label is the prefix of the tables."""

    name = "readback.cabinet"
    label = "cabinet"
    verbose_name = "Readback"

    def ready(self) -> None:
        # Importing it connects its signal handlers.
        from readback.cabinet.accounts import signals  # noqa: F401


def log_warnings() -> None:
    """Warn of settings that are valid but would lock people out."""
    if backends.server_is_missing(settings.CONFIG):
        _log.warning(
            "No mail server is configured, so people on other machines cannot sign up "
            "or reset a password: e-mails go to standard error. Set READBACK_SMTP_URL."
        )
