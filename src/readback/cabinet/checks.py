"""What Django checks at every start, beside its own: settings that work against
people, though each of them is well-formed.
"""

import logging
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Warning, register

from readback.cabinet import mail

_log = logging.getLogger(__name__)

MAIL_IS_MISSING = Warning(
    "No mail server is set, so nobody elsewhere can sign up or reset a password: "
    "the mails with their links are printed to this terminal.",
    hint="Set READBACK_SMTP_URL.",
    id="readback.W001",
)


@register()
def mail_server(**_: Any) -> list[CheckMessage]:
    return [MAIL_IS_MISSING] if mail.is_missing(settings.CONFIG) else []


def warn() -> None:
    """Say the same in the log of a server, which runs no checks by itself."""
    for message in mail_server():
        _log.warning("%s %s", message.msg, message.hint)
