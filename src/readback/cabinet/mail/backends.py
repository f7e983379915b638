"""How e-mails are sent: Django's mail settings, and a backend that prints e-mails.

The backend prints them decoded, so that links can be clicked, and to standard error,
because commands print their own output to standard output.
"""

import sys
from collections.abc import Sequence
from email.utils import parseaddr, quote
from typing import Any
from urllib.parse import unquote, urlsplit

from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend

from readback.config import Config
from readback.setting_values import is_loopback

_RULE = "-" * 72
_PORTS = {"smtp": 25, "smtps": 465}
# For each attempt to connect to one of the server's addresses, and for each answer.
_TIMEOUT_SECONDS = 10


def settings(smtp_url: str) -> dict[str, Any]:
    """Return Django's EMAIL_… settings. Without a mail server, e-mails are printed."""
    if not smtp_url:
        return {"EMAIL_BACKEND": "readback.cabinet.mail.backends.TerminalBackend"}
    url = urlsplit(smtp_url)
    return {
        "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
        "EMAIL_HOST": url.hostname,
        "EMAIL_PORT": url.port or _PORTS[url.scheme],
        "EMAIL_HOST_USER": unquote(url.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(url.password or ""),
        "EMAIL_USE_SSL": url.scheme == "smtps",
        # Never send a password over an unencrypted connection.
        "EMAIL_USE_TLS": url.scheme == "smtp" and bool(url.username),
        "EMAIL_TIMEOUT": _TIMEOUT_SECONDS,
    }


def sender(mail_from: str, name: str) -> str:
    """Return the sender of e-mails, with the site's name if `mail_from` has no name."""
    own, address = parseaddr(mail_from)
    return f'"{quote(own or name)}" <{address}>'


def server_is_missing(config: Config) -> bool:
    """Return whether people on other machines cannot receive their e-mails."""
    host = urlsplit(config.effective_cabinet_url).hostname or ""
    is_local = is_loopback(host) and config.cabinet_bind.is_loopback
    return not config.smtp_url and not is_local


class TerminalBackend(BaseEmailBackend):
    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        for mail in email_messages:
            head = f"Mail to {', '.join(mail.to)}: {mail.subject}"
            print(_RULE, head, "", mail.body, _RULE, sep="\n", file=sys.stderr)
        return len(email_messages)
