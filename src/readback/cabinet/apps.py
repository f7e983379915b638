"""The cabinet's Django app with its system check."""

import logging
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Warning, register

from readback.cabinet.mail import backends

_log = logging.getLogger("readback.cabinet.checks")

NO_MAIL_SERVER = Warning(
    "No mail server is configured, so people on other machines cannot sign up or reset "
    "a password: e-mails with their links are printed to this terminal.",
    hint="Set READBACK_SMTP_URL.",
    id="readback.W001",
)


class CabinetConfig(AppConfig):
    """The label is the prefix of the tables."""

    name = "readback.cabinet"
    label = "cabinet"
    verbose_name = "Readback"

    def ready(self) -> None:
        # Importing it connects its signal handlers.
        from readback.cabinet.accounts import signals  # noqa: F401


@register()
def check_mail_server(**_: Any) -> list[CheckMessage]:
    """Warn of settings that are valid but would lock people out."""
    return [NO_MAIL_SERVER] if backends.server_is_missing(settings.CONFIG) else []


def log_warnings() -> None:
    """Log the same warnings in a server, which does not run the checks."""
    for message in check_mail_server():
        _log.warning("%s %s", message.msg, message.hint)
